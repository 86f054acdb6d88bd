//! How attempts start: ask, grant, store, launch.
//! May touch: `Rm`.
//! Must not: launch (the shell's launcher does, on `LaunchAm`).

use std::{collections::BTreeSet, sync::Arc};

use yarn_types::{ApplicationAttemptId, ContainerId, exit};

use super::{AmOutbox, Attempt, Ending, LifeEvent, LifeState, MasterLink, Progress};
use crate::{
    effect::{Action, Effect, Record},
    liveness::Watched,
    rm::Rm,
    sched::AppIdx,
    store::After,
};

impl Rm {
    /// The next attempt of an accepted application.
    pub(crate) fn start_attempt(&mut self, idx: AppIdx, out: &mut Vec<Effect>) {
        let (now, wall) = (self.now, self.wall_now());
        let Some(app) = self.apps.get_mut(&idx) else {
            return;
        };
        let number = u32::try_from(app.attempts.len() + 1).unwrap_or(u32::MAX);
        let id = app.submission.app.attempt(number);
        let unmanaged = app.submission.unmanaged;
        // What earlier attempts' containers still have to tell goes to this one.
        let outbox = match app.attempts.last_mut() {
            Some(previous) => std::mem::take(&mut previous.outbox),
            None => AmOutbox::default(),
        };
        let state = if unmanaged {
            LifeState::UnmanagedSaving
        } else {
            LifeState::Scheduled
        };
        app.attempts.push(Attempt {
            id,
            state,
            before_end: state,
            ending: None,
            link: MasterLink::Expected,
            am_container: None,
            am_node: None,
            am_gone: unmanaged,
            am_exit_status: exit::INVALID,
            launching: false,
            token_live: false,
            host: "N/A".to_owned(),
            rpc_port: -1,
            tracking_url: String::new(),
            diagnostics: String::new(),
            final_status: None,
            progress: Progress::default(),
            started_wall_ms: wall,
            finished_wall_ms: 0,
            ended_at: None,
            last_container: 0,
            nm_tokens: BTreeSet::new(),
            outbox,
            preempting: BTreeSet::new(),
            blacklist: BTreeSet::new(),
        });
        if unmanaged {
            self.sched.start_attempt(now, idx, None);
            self.store_attempt(id, None, out);
        } else {
            let am = app.submission.am_resource;
            let label = app.submission.am_label.as_deref();
            let label = label.and_then(|label| self.sched.label(label));
            let avoided = self.am_avoids(idx);
            self.sched.avoid_for_am(idx, &avoided);
            self.sched
                .start_attempt(now, idx, Some((am, label.unwrap_or_default())));
        }
    }

    fn store_attempt(
        &mut self,
        attempt: ApplicationAttemptId,
        container: Option<ContainerId>,
        out: &mut Vec<Effect>,
    ) {
        let seq = self.store.push(After::AttemptSaved(attempt));
        let record = Record::AttemptStored { attempt, container };
        out.push(Effect::now(Action::Store { seq, record }));
    }

    /// The ApplicationMaster's container was granted.
    pub(crate) fn on_master_granted(&mut self, container: ContainerId, out: &mut Vec<Effect>) {
        // Hadoop hands the container to itself here, so the time to start it runs from now.
        self.hand_out(container);
        let node = self.containers.get(&container).map(|c| c.node);
        let Some((_, attempt)) = self.attempt_mut(container.attempt) else {
            return;
        };
        attempt.step(LifeEvent::Granted);
        attempt.am_container = Some(container);
        attempt.am_node = node;
        self.store_attempt(container.attempt, Some(container), out);
    }

    /// The attempt's start lasts: launch, or for an unmanaged one wait for its registration.
    pub(crate) fn on_attempt_saved(&mut self, id: ApplicationAttemptId, out: &mut Vec<Effect>) {
        let Some((idx, attempt)) = self.attempt_mut(id) else {
            return;
        };
        if !attempt.step(LifeEvent::Saved) {
            return;
        }
        attempt.token_live = true;
        let unmanaged = attempt.state == LifeState::Launched;
        let am_container = attempt.am_container;
        attempt.launching = am_container.is_some();
        out.push(Effect::now(Action::AttemptStarted {
            attempt: id,
            unmanaged,
        }));
        if unmanaged {
            self.master_launched(idx, id);
            return;
        }
        let Some(grant) = am_container.and_then(|c| self.send_out(c)) else {
            return;
        };
        let Some(app) = self.apps.get(&idx) else {
            return;
        };
        out.push(Effect::now(Action::LaunchAm {
            attempt: id,
            user: app.submission.user.clone(),
            grant: Box::new(grant),
            submitted_wall_ms: app.submitted_wall_ms,
        }));
    }

    /// The NodeManager took the ApplicationMaster's container.
    pub(crate) fn on_am_launched(&mut self, id: ApplicationAttemptId) {
        if let Some((idx, attempt)) = self.attempt_mut(id)
            && attempt.step(LifeEvent::Launched)
        {
            self.master_launched(idx, id);
        }
    }

    /// From now on the ApplicationMaster must be heard of.
    pub(crate) fn master_launched(&mut self, idx: AppIdx, id: ApplicationAttemptId) {
        let wall = self.wall_now();
        if let Some(app) = self.apps.get_mut(&idx)
            && app.launched_wall_ms == 0
        {
            app.launched_wall_ms = wall;
        }
        self.ping_master(id);
    }

    /// The ApplicationMaster was heard of.
    pub(crate) fn ping_master(&mut self, id: ApplicationAttemptId) {
        self.deadlines
            .set(Watched::Master(id), self.now.plus(self.conf.am_expiry_ms));
    }

    /// The launcher gave up (`RMAppAttemptImpl.LaunchFailedTransition`).
    pub(crate) fn on_am_launch_failed(
        &mut self,
        id: ApplicationAttemptId,
        diagnostics: String,
        out: &mut Vec<Effect>,
    ) {
        if let Some((idx, attempt)) = self.attempt_mut(id)
            && attempt.state == LifeState::Allocated
        {
            self.end_current_attempt(idx, Ending::failed(diagnostics), out);
        }
    }

    /// Hosts that the next ApplicationMaster is kept off: those that failed one, while they are
    /// fewer than the configured share of the nodes (`SimpleBlacklistManager`).
    pub(crate) fn am_avoids(&self, idx: AppIdx) -> Vec<Arc<str>> {
        let Some(share) = self.conf.am_blacklist_share else {
            return Vec::new();
        };
        let failed = self.apps.get(&idx).map(|app| &app.am_failed_hosts);
        let failed: Vec<Arc<str>> = failed.into_iter().flatten().cloned().collect();
        if share.is_above(failed.len(), self.sched.num_cluster_nodes()) {
            failed
        } else {
            Vec::new()
        }
    }

    /// The current attempt of a container's application.
    pub(crate) fn current_attempt_of(
        &mut self,
        container: ContainerId,
    ) -> Option<(AppIdx, &mut Attempt)> {
        let idx = *self.app_by_id.get(&container.app())?;
        let attempt = self.apps.get_mut(&idx)?.attempts.last_mut()?;
        Some((idx, attempt))
    }

    /// An attempt by id, with its application's index; only the current one of an application
    /// ever changes.
    pub(crate) fn attempt_mut(
        &mut self,
        id: ApplicationAttemptId,
    ) -> Option<(AppIdx, &mut Attempt)> {
        let idx = *self.app_by_id.get(&id.app)?;
        let attempt = self.apps.get_mut(&idx)?.attempts.last_mut()?;
        (attempt.id == id).then_some((idx, attempt))
    }
}
