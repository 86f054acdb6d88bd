//! Calls of ApplicationClientProtocol that change something.
//! May touch: `Rm`.
//! Must not: check who may call (the shell does, before the event).

use std::collections::BTreeSet;

use yarn_types::{ApplicationAttemptId, ApplicationId, ApplicationState, ContainerId, Resource};

use super::{App, AppEvent, AppState, text};
use crate::{
    attempt::Ending,
    effect::{Action, Effect, Record, Reply},
    event::{CallId, ClientRequest, SignalCommand, Submission},
    reject::{Reject, RejectKind},
    rm::Rm,
    sched::AppIdx,
    store::After,
};

/// The queue that a client means: without a name, `default`.
pub(super) fn queue_name(asked: &str) -> &str {
    let name = asked.trim();
    if name.is_empty() { "default" } else { name }
}

impl Rm {
    pub(crate) fn on_client(
        &mut self,
        call: CallId,
        request: ClientRequest,
        out: &mut Vec<Effect>,
    ) {
        let (seq, reply) = match request {
            ClientRequest::NewApplication => (None, Ok(self.new_application())),
            ClientRequest::Submit(submission) => match self.submit(*submission, out) {
                Ok(seq) => (seq, Ok(Reply::Done)),
                Err(reject) => (None, Err(reject)),
            },
            ClientRequest::Kill {
                app,
                user,
                peer,
                diagnostics,
            } => {
                let words = text::killed(app, &user, &peer, &diagnostics);
                (
                    None,
                    self.kill_app(app, words, out).map(Reply::KillCompleted),
                )
            }
            ClientRequest::FailAttempt { attempt, user: _ } => {
                (None, self.fail_attempt(attempt, out).map(|()| Reply::Done))
            }
            ClientRequest::Move { app, queue } => match self.move_app(app, &queue, out) {
                Ok(seq) => (Some(seq), Ok(Reply::Done)),
                Err(reject) => (None, Err(reject)),
            },
            ClientRequest::SetPriority {
                app,
                priority,
                caller,
            } => match self.set_priority(app, priority, caller.as_ref(), out) {
                Ok((now, seq)) => (seq, Ok(Reply::Priority(now))),
                Err(reject) => (None, Err(reject)),
            },
            ClientRequest::SetExpiry {
                app,
                expiry_wall_ms,
            } => match self.set_expiry(app, expiry_wall_ms, out) {
                Ok(seq) => (seq, Ok(Reply::Done)),
                Err(reject) => (None, Err(reject)),
            },
            ClientRequest::SignalContainer { container, command } => {
                (None, self.signal(container, command).map(|()| Reply::Done))
            }
        };
        let reply = reply.map(Box::new);
        out.push(Effect::once_stored(seq, Action::Reply { call, reply }));
    }

    fn new_application(&mut self) -> Reply {
        let app = loop {
            self.last_app = self.last_app.checked_add(1).unwrap_or(1);
            let id = ApplicationId {
                cluster_timestamp: self.cluster_timestamp,
                id: self.last_app,
            };
            // A client may have submitted an id that it was never given.
            if !self.app_by_id.contains_key(&id) {
                break id;
            }
        };
        Reply::NewApplication {
            app,
            maximum_capability: self.sched.maximum_capability(),
        }
    }

    /// The record that the answer must wait for, if any.
    fn submit(
        &mut self,
        mut submission: Submission,
        out: &mut Vec<Effect>,
    ) -> Result<Option<u64>, Reject> {
        let id = submission.app;
        if let Some(app) = self.app_by_id.get(&id).and_then(|idx| self.apps.get(idx)) {
            return Ok(self.store.unless_stored(app.saved_seq));
        }
        if let Some(name) = &submission.unknown_resource {
            return Err(Reject::new(
                RejectKind::InvalidResourceRequest,
                format!("Unknown resource name {name} asked for the ApplicationMaster of {id}"),
            ));
        }
        let idx = AppIdx(self.next_app);
        let placed = self.place_submission(&mut submission)?;
        if !submission.unmanaged {
            let queue = queue_name(&submission.queue);
            let size = submission.am_resource;
            let default = self.conf.am_default_label.as_deref();
            let label = submission.asked_am_label(default);
            let (size, label) = self.sched.validate_am(queue, size, label)?;
            submission.am_resource = size;
            submission.am_label = Some(self.sched.label_name(label).to_string());
        }
        self.check_submitter(&mut submission, placed)?;
        self.next_app += 1;
        let seq = self.store.push(After::AppSaved(id));
        let app = self.new_app(submission, placed, seq);
        self.app_by_id.insert(id, idx);
        self.apps.insert(idx, app);
        let record = Record::AppSubmitted { app: id };
        out.push(Effect::now(Action::Store { seq, record }));
        Ok(Some(seq))
    }

    fn new_app(&self, submission: Submission, placed: bool, saved_seq: u64) -> App {
        let asked = submission.max_attempts;
        let max_attempts = if asked == 0 {
            self.conf.am_max_attempts
        } else {
            asked.min(self.conf.am_global_max_attempts)
        };
        let path = queue_name(&submission.queue);
        App {
            state: AppState::NewSaving,
            seen_before: ApplicationState::NewSaving,
            target: AppState::Failed,
            diagnostics: String::new(),
            end_diagnostics: String::new(),
            attempts: Vec::new(),
            max_attempts,
            scheduled: false,
            queue: path.to_owned(),
            placed,
            priority: submission.priority.unwrap_or(0).max(0),
            saved_seq,
            end_seq: 0,
            submitted_at: self.now,
            submitted_wall_ms: self.wall_now(),
            expires_wall_ms: None,
            launched_wall_ms: 0,
            finished_wall_ms: 0,
            resource_millis: Resource::ZERO,
            ran_nodes: BTreeSet::new(),
            preempted_containers: 0,
            preempted_masters: 0,
            preempted: Resource::ZERO,
            preempted_millis: Resource::ZERO,
            am_failed_hosts: BTreeSet::new(),
            node_updates: BTreeSet::new(),
            submission,
        }
    }

    /// The submission lasts: the scheduler decides (`RMAppImpl.AddApplicationToSchedulerTransition`).
    pub(crate) fn on_app_saved(&mut self, id: ApplicationId, out: &mut Vec<Effect>) {
        let Some(idx) = self.app_by_id.get(&id).copied() else {
            return;
        };
        let Some(app) = self.apps.get_mut(&idx) else {
            return;
        };
        if !app.step(AppEvent::Saved) {
            return;
        }
        let app = app.clone();
        let taken = self.ready(&app);
        let taken = taken.and_then(|submitted| self.sched.submit(idx, &submitted));
        let priority = match taken {
            Ok(priority) => priority,
            Err(reject) => {
                self.end_app(
                    idx,
                    AppEvent::Rejected,
                    AppState::Failed,
                    reject.message,
                    out,
                );
                return;
            }
        };
        let Some(app) = self.apps.get_mut(&idx) else {
            return;
        };
        app.scheduled = true;
        app.step(AppEvent::Accepted);
        app.priority = priority;
        if let Some(path) = self.sched.queue_of(idx) {
            app.queue = path.to_string();
        }
        self.start_lifetime(idx);
        if let Some(app) = self.apps.get(&idx) {
            self.counters.count(&app.queue, |c| c.apps_submitted += 1);
        }
        self.start_attempt(idx, out);
    }

    fn kill_app(
        &mut self,
        id: ApplicationId,
        words: String,
        out: &mut Vec<Effect>,
    ) -> Result<bool, Reject> {
        let idx = self.app_by_id.get(&id).copied();
        let Some((idx, app)) = idx.and_then(|idx| Some((idx, self.apps.get_mut(&idx)?))) else {
            return Err(Reject::new(
                RejectKind::ApplicationNotFound,
                format!("Trying to kill an absent application {id}"),
            ));
        };
        if app.state.is_end_stored() {
            return Ok(true);
        }
        let unmanaged = app.submission.unmanaged;
        match app.state {
            AppState::NewSaving | AppState::Submitted => {
                self.end_app(idx, AppEvent::Kill, AppState::Killed, words, out);
            }
            _ => {
                if app.step(AppEvent::Kill) {
                    self.end_current_attempt(idx, Ending::killed(words), out);
                }
            }
        }
        Ok(unmanaged)
    }

    fn fail_attempt(
        &mut self,
        id: ApplicationAttemptId,
        out: &mut Vec<Effect>,
    ) -> Result<(), Reject> {
        let idx = self.app_by_id.get(&id.app).copied();
        let Some((idx, app)) = idx.and_then(|idx| Some((idx, self.apps.get(&idx)?))) else {
            return Err(text::absent(id.app));
        };
        let Some(attempt) = app.attempts.iter().find(|a| a.id == id) else {
            return Err(Reject::new(
                RejectKind::ApplicationAttemptNotFound,
                format!("ApplicationAttempt {id} doesn't exist in RM."),
            ));
        };
        if app.state.is_final() || attempt.state.is_final() {
            return Ok(());
        }
        self.end_current_attempt(
            idx,
            Ending::failed("Attempt failed by user.".to_owned()),
            out,
        );
        Ok(())
    }

    fn signal(&mut self, id: ContainerId, command: SignalCommand) -> Result<(), Reject> {
        let Some(container) = self.containers.get(&id) else {
            return Err(Reject::new(
                RejectKind::Yarn,
                format!("Trying to signal an absent container {id}"),
            ));
        };
        self.nodes[container.node.at()]
            .outbox
            .signals
            .insert(id, command);
        Ok(())
    }
}
