//! Running applications changed by request: queue, priority, lifetime.
//! May touch: `Rm`.
//! Must not: check who may call (the shell does, before the event).

use yarn_types::{ApplicationId, ApplicationState};

use super::{App, text};
use crate::{
    attempt::Ending,
    effect::{Action, Effect, Record},
    event::Who,
    liveness::Watched,
    reject::{Reject, RejectKind},
    rm::Rm,
    sched::AppIdx,
    store::After,
    times::iso8601,
};

/// Hadoop's words for an application whose time is over (`RMAppLifetimeMonitor`).
const TIME_OVER: &str =
    "Application is killed by ResourceManager as it has exceeded the lifetime period.";

/// How far an application is, as far as changes go.
enum Stage {
    /// The scheduler has it.
    Live,
    /// It ended.
    Ended,
    /// Neither.
    Between(ApplicationState),
}

impl Rm {
    fn stage(&self, id: ApplicationId) -> Result<(AppIdx, Stage), Reject> {
        let idx = self.app_by_id.get(&id).copied();
        let Some((idx, app)) = idx.and_then(|idx| Some((idx, self.apps.get(&idx)?))) else {
            return Err(text::absent(id));
        };
        let seen = app.seen_state();
        let stage = match seen {
            _ if app.state.is_final() => Stage::Ended,
            ApplicationState::Submitted
            | ApplicationState::Accepted
            | ApplicationState::Running => Stage::Live,
            _ => Stage::Between(seen),
        };
        Ok((idx, stage))
    }

    /// `moveApplicationAcrossQueues`; the record that the answer must wait for.
    pub(crate) fn move_app(
        &mut self,
        id: ApplicationId,
        queue: &str,
        out: &mut Vec<Effect>,
    ) -> Result<u64, Reject> {
        let (idx, stage) = self.stage(id)?;
        if !matches!(stage, Stage::Live) {
            let state = self.apps.get(&idx).map(App::seen_state);
            let state = state.map_or_else(String::new, |s| s.to_string());
            return Err(Reject::new(
                RejectKind::Yarn,
                format!("App in {state} state cannot be moved."),
            ));
        }
        self.sched.move_app(idx, queue)?;
        if let (Some(path), Some(app)) = (self.sched.queue_of(idx), self.apps.get_mut(&idx)) {
            app.queue = path.to_string();
        }
        Ok(self.store_change(id, idx, out))
    }

    /// `updateApplicationPriority`: the priority now, and the record that the answer must wait for.
    pub(crate) fn set_priority(
        &mut self,
        id: ApplicationId,
        priority: i32,
        caller: Option<&Who>,
        out: &mut Vec<Effect>,
    ) -> Result<(i32, Option<u64>), Reject> {
        let (idx, stage) = self.stage(id)?;
        let now = self.apps.get(&idx).map_or(0, |app| app.priority);
        match stage {
            Stage::Ended => Ok((now, None)),
            Stage::Between(state) => Err(Reject::new(
                RejectKind::Yarn,
                format!("Application in {state} state cannot update priority."),
            )),
            Stage::Live => {
                let queue = self.sched.queue_of(idx).unwrap_or_default();
                let caller = caller.map(Who::caller);
                let asked = Some(priority);
                let priority = self.sched.checked_priority(id, &queue, asked, caller)?;
                let priority = self.sched.set_priority(idx, priority);
                if let Some(app) = self.apps.get_mut(&idx) {
                    app.priority = priority;
                }
                Ok((priority, Some(self.store_change(id, idx, out))))
            }
        }
    }

    /// `updateApplicationTimeouts` for LIFETIME: ends the application at `expiry_wall_ms`. The
    /// record that the answer must wait for.
    pub(crate) fn set_expiry(
        &mut self,
        id: ApplicationId,
        expiry_wall_ms: i64,
        out: &mut Vec<Effect>,
    ) -> Result<Option<u64>, Reject> {
        let (idx, stage) = self.stage(id)?;
        let refuse = |text: String| Err(Reject::new(RejectKind::Yarn, text));
        match stage {
            Stage::Ended => return Ok(None),
            Stage::Between(state) => {
                return refuse(format!(
                    "Application is in {state} state can not update timeout."
                ));
            }
            Stage::Live => {}
        }
        let wall = self.wall_now();
        if expiry_wall_ms < wall {
            return refuse(format!(
                "Expire time is less than current time, current-time={} expire-time={}",
                iso8601(wall),
                iso8601(expiry_wall_ms)
            ));
        }
        let started = self
            .apps
            .get(&idx)
            .map_or(wall, |app| app.submitted_wall_ms);
        let asked_s = expiry_wall_ms.saturating_sub(started).max(1000) / 1000;
        let allowed_s = self.sched.lifetime_s(idx, asked_s);
        let expiry = if allowed_s < asked_s {
            started.saturating_add(allowed_s.saturating_mul(1000))
        } else {
            // to the millisecond, as it was asked for
            expiry_wall_ms
        };
        self.expire_at(idx, id, expiry);
        Ok(Some(self.store_change(id, idx, out)))
    }

    /// The scheduler took an application: its time runs from its submission.
    pub(crate) fn start_lifetime(&mut self, idx: AppIdx) {
        let Some(app) = self.apps.get(&idx) else {
            return;
        };
        let (id, started) = (app.submission.app, app.submitted_wall_ms);
        let lifetime_s = self.sched.lifetime_s(idx, app.submission.lifetime_s);
        if lifetime_s > 0 {
            self.expire_at(
                idx,
                id,
                started.saturating_add(lifetime_s.saturating_mul(1000)),
            );
        }
    }

    fn expire_at(&mut self, idx: AppIdx, id: ApplicationId, wall_ms: i64) {
        let left_ms = u64::try_from(wall_ms.saturating_sub(self.wall_now())).unwrap_or(0);
        self.deadlines
            .set(Watched::Lifetime(id), self.now.plus(left_ms));
        if let Some(app) = self.apps.get_mut(&idx) {
            app.expires_wall_ms = Some(wall_ms);
        }
    }

    /// An application's time is over.
    pub(crate) fn on_lifetime_over(&mut self, id: ApplicationId, out: &mut Vec<Effect>) {
        self.deadlines.remove(Watched::Lifetime(id));
        #[cfg(feature = "mutants")]
        if self.mutant == Some(crate::mutant::Mutant::ForgetLifetime) {
            return;
        }
        let Some(idx) = self.app_by_id.get(&id).copied() else {
            return;
        };
        let Some(app) = self.apps.get_mut(&idx) else {
            return;
        };
        if !app.state.is_final() && app.step(super::AppEvent::Kill) {
            self.end_current_attempt(idx, Ending::killed(TIME_OVER.to_owned()), out);
        }
    }

    fn store_change(&mut self, app: ApplicationId, idx: AppIdx, out: &mut Vec<Effect>) -> u64 {
        let seq = self.store.push(After::ChangeSaved);
        let of = self.apps.get(&idx);
        let record = Record::AppChanged {
            app,
            queue: of.map_or_else(String::new, |app| app.queue.clone()),
            priority: of.map_or(0, |app| app.priority),
            expires_wall_ms: of.and_then(|app| app.expires_wall_ms),
        };
        out.push(Effect::now(Action::Store { seq, record }));
        seq
    }
}
