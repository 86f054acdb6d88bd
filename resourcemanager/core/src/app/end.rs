//! How applications end: what an ended attempt means, storing the end, forgetting.
//! May touch: `Rm`.
//! Must not: end attempts (the attempt's handlers do).

use yarn_types::{ApplicationId, FinalStatus};

use super::{AppEvent, AppState, text::FailedText};
use crate::{
    effect::{Action, Effect, Record},
    liveness::Watched,
    rm::Rm,
    sched::AppIdx,
    store::After,
};

impl Rm {
    /// The application starts to end: its end is stored first
    /// (`RMAppImpl.FinalSavingTransition`).
    pub(crate) fn end_app(
        &mut self,
        idx: AppIdx,
        event: AppEvent,
        target: AppState,
        diagnostics: String,
        out: &mut Vec<Effect>,
    ) {
        let wall = self.wall_now();
        let Some(app) = self.apps.get_mut(&idx) else {
            return;
        };
        if !app.step(event) {
            return;
        }
        let id = app.submission.app;
        app.target = target;
        app.end_diagnostics.clone_from(&diagnostics);
        app.finished_wall_ms = wall;
        let seq = self.store.push(After::AppEndSaved(id));
        app.end_seq = seq;
        let status = match target {
            AppState::Failed => FinalStatus::Failed,
            AppState::Killed => FinalStatus::Killed,
            _ => app
                .current()
                .and_then(crate::attempt::Attempt::ending_status)
                .unwrap_or(FinalStatus::Undefined),
        };
        let record = Record::AppEnded {
            app: id,
            status,
            diagnostics,
        };
        out.push(Effect::now(Action::Store { seq, record }));
    }

    /// The end lasts (`RMAppImpl.FinalStateSavedTransition`).
    pub(crate) fn on_app_end_saved(&mut self, id: ApplicationId, out: &mut Vec<Effect>) {
        let Some(idx) = self.app_by_id.get(&id).copied() else {
            return;
        };
        let Some(app) = self.apps.get_mut(&idx) else {
            return;
        };
        let target = app.target;
        if app.step(AppEvent::EndSaved(target)) && target.is_final() {
            self.finish_app(idx, out);
        }
    }

    /// The current attempt ended well (`RMAppImpl.ATTEMPT_FINISHED`).
    pub(crate) fn on_attempt_finished(
        &mut self,
        idx: AppIdx,
        diagnostics: &str,
        out: &mut Vec<Effect>,
    ) {
        let Some(app) = self.apps.get_mut(&idx) else {
            return;
        };
        match app.state {
            AppState::Finishing => {
                diagnostics.clone_into(&mut app.end_diagnostics);
                app.step(AppEvent::AttemptFinished);
                self.finish_app(idx, out);
            }
            AppState::FinalSaving if app.target == AppState::Finishing => {
                diagnostics.clone_into(&mut app.end_diagnostics);
                app.target = AppState::Finished;
            }
            _ => {}
        }
    }

    /// The current attempt was killed.
    pub(crate) fn on_attempt_killed(&mut self, idx: AppIdx, words: &str, out: &mut Vec<Effect>) {
        self.end_app(
            idx,
            AppEvent::AttemptKilled,
            AppState::Killed,
            words.to_owned(),
            out,
        );
    }

    /// The current attempt failed: another follows, or the application ends
    /// (`RMAppImpl.AttemptFailedTransition`).
    pub(crate) fn on_attempt_failed(
        &mut self,
        idx: AppIdx,
        diagnostics: &str,
        out: &mut Vec<Effect>,
    ) {
        let failures = self.counted_failures(idx);
        let global_max_attempts = self.conf.am_global_max_attempts;
        let Some(app) = self.apps.get_mut(&idx) else {
            return;
        };
        // An application that asked for one attempt gets one, whatever ended it.
        let beyond = app.max_attempts <= 1 || failures >= app.max_attempts;
        if !app.submission.unmanaged && !beyond {
            if app.state == AppState::Killing {
                let words = diagnostics.to_owned();
                self.end_app(
                    idx,
                    AppEvent::AttemptFailedRetry,
                    AppState::Killed,
                    words,
                    out,
                );
            } else if app.step(AppEvent::AttemptFailedRetry) {
                self.start_attempt(idx, out);
            }
            return;
        }
        let text = FailedText {
            app: app.submission.app,
            unmanaged: app.submission.unmanaged,
            beyond,
            max_attempts: app.max_attempts,
            global_max_attempts,
            validity_ms: app.submission.attempt_failures_validity_ms,
            attempt: diagnostics,
        }
        .write();
        self.end_app(
            idx,
            AppEvent::AttemptFailedLast,
            AppState::Failed,
            text,
            out,
        );
    }

    /// Failed attempts that count against the maximum: not those lost to preemption, hardware or
    /// the RM, nor those outside the validity interval.
    pub(crate) fn counted_failures(&self, idx: AppIdx) -> u32 {
        let Some(app) = self.apps.get(&idx) else {
            return 0;
        };
        let interval = app
            .submission
            .attempt_failures_validity_ms
            .filter(|ms| *ms > 0);
        let counts = |attempt: &&crate::attempt::Attempt| {
            let recent =
                interval.is_none_or(|ms| attempt.ended_at.is_some_and(|at| at.plus(ms) > self.now));
            attempt.ended_at.is_some() && attempt.counts_as_failure() && recent
        };
        u32::try_from(app.attempts.iter().filter(counts).count()).unwrap_or(u32::MAX)
    }

    /// Nothing of it runs any more (`RMAppImpl.FinalTransition`).
    fn finish_app(&mut self, idx: AppIdx, out: &mut Vec<Effect>) {
        let Some(app) = self.apps.get_mut(&idx) else {
            return;
        };
        app.diagnostics = std::mem::take(&mut app.end_diagnostics);
        app.node_updates.clear();
        let id = app.submission.app;
        for node in std::mem::take(&mut app.ran_nodes) {
            let node = &mut self.nodes[node.at()];
            if node.is_active() {
                node.outbox.ended_apps.insert(id);
            }
        }
        if app.scheduled {
            let state = app.state;
            self.counters.count(&app.queue, |c| match state {
                AppState::Failed => c.apps_failed += 1,
                AppState::Killed => c.apps_killed += 1,
                _ => c.apps_completed += 1,
            });
            self.sched.remove_app(idx);
        }
        self.deadlines.remove(Watched::Lifetime(id));
        out.push(Effect::now(Action::AppEnded { app: id }));
        self.completed.push_back(idx);
        while self.completed.len() > self.conf.max_completed_applications {
            let Some(old) = self.completed.pop_front() else {
                break;
            };
            let Some(old) = self.apps.remove(&old) else {
                continue;
            };
            self.app_by_id.remove(&old.submission.app);
            out.push(Effect::now(Action::AppForgotten {
                app: old.submission.app,
            }));
        }
    }
}
