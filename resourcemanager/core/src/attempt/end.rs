//! How attempts end: crash, expiry, kill, unregistration; storing that; cleaning up.
//! May touch: `Rm`.
//! Must not: decide whether another attempt follows (the application does).

use yarn_types::{ApplicationAttemptId, ApplicationId, ContainerId, FinalStatus, limits};

use super::{Ending, LifeEvent, LifeState, MasterLink};
use crate::{
    app::{AppEvent, AppState},
    container::{EndCause, Ended, HeldState},
    effect::{Action, Effect, Record},
    liveness::Watched,
    rm::Rm,
    sched::AppIdx,
    store::After,
};

impl Rm {
    /// The current attempt starts to end: that is stored first; until then it shows its old state
    /// (`RMAppAttemptImpl.FinalSavingTransition`). Nothing happens when it is ending already.
    pub(crate) fn end_current_attempt(
        &mut self,
        idx: AppIdx,
        ending: Ending,
        out: &mut Vec<Effect>,
    ) {
        let (now, wall) = (self.now, self.wall_now());
        let page = self.app_page(idx);
        let Some(attempt) = self.apps.get_mut(&idx).and_then(|a| a.attempts.last_mut()) else {
            return;
        };
        if !attempt.step(LifeEvent::End) {
            return;
        }
        let id = attempt.id;
        attempt.finished_wall_ms = wall;
        attempt.ended_at = Some(now);
        // Do not leave the tracking URL pointing at an ApplicationMaster that is going.
        attempt.tracking_url = page;
        attempt.blacklist.clear();
        let status = ending.status.unwrap_or(match ending.target {
            LifeState::Failed => FinalStatus::Failed,
            LifeState::Killed => FinalStatus::Killed,
            _ => FinalStatus::Undefined,
        });
        let diagnostics = ending.diagnostics.clone();
        attempt.ending = Some(ending);
        self.sched.end_attempt(idx);
        let seq = self.store.push(After::AttemptEndSaved(id));
        let record = Record::AttemptEnded {
            attempt: id,
            status,
            diagnostics,
        };
        out.push(Effect::now(Action::Store { seq, record }));
    }

    /// The attempt's end lasts (`RMAppAttemptImpl.FinalStateSavedTransition`).
    pub(crate) fn on_attempt_end_saved(&mut self, id: ApplicationAttemptId, out: &mut Vec<Effect>) {
        let Some((idx, attempt)) = self.attempt_mut(id) else {
            return;
        };
        let Some(ending) = attempt.ending.take() else {
            return;
        };
        // Its container may have ended while the end was being stored.
        let target = match ending.target {
            LifeState::Finishing if attempt.am_gone => LifeState::Finished,
            other => other,
        };
        attempt.step(LifeEvent::EndSaved(target));
        let ran = matches!(attempt.before_end, LifeState::Launched | LifeState::Running);
        if target != LifeState::Failed && (ran || target != LifeState::Killed) {
            attempt.progress = super::Progress(1.0); // stock shows a killed one as done, too
        }
        if matches!(target, LifeState::Finishing | LifeState::Finished) {
            attempt.tracking_url = ending.tracking_url.unwrap_or_default();
            attempt.final_status = ending.status;
        }
        // As in Hadoop a kill leaves its words with the application alone.
        if target != LifeState::Killed {
            attempt.diagnostics.push_str(&ending.diagnostics);
        }
        truncate(&mut attempt.diagnostics);
        if target == LifeState::Finishing {
            // Its container has as long to exit as it had to call.
            self.ping_master(id);
        } else {
            self.finish_attempt(idx, &ending.diagnostics, out);
        }
    }

    /// The ApplicationMaster's container ended (`RMAppAttemptImpl.ContainerFinishedTransition`).
    pub(crate) fn on_master_container_ended(
        &mut self,
        container: ContainerId,
        ended: &Ended,
        out: &mut Vec<Effect>,
    ) {
        let page = self
            .app_by_id
            .get(&container.app())
            .map(|idx| self.app_page(*idx));
        let page = page.unwrap_or_default();
        let Some((idx, attempt)) = self.attempt_mut(container.attempt) else {
            return;
        };
        if attempt.am_container != Some(container) {
            return;
        }
        attempt.am_gone = true;
        let state = attempt.state;
        let failed_on = attempt
            .am_node
            .filter(|_| super::blames_node(ended.exit_status));
        if let (Some(node), Some(app)) = (failed_on, self.apps.get_mut(&idx)) {
            let host = self.nodes[node.at()].id.host.clone();
            app.am_failed_hosts.insert(host);
        }
        match state {
            LifeState::Finishing => self.on_master_gone(idx, out),
            LifeState::FinalSaving
            | LifeState::Finished
            | LifeState::Failed
            | LifeState::Killed => {}
            _ => {
                if let Some((_, attempt)) = self.attempt_mut(container.attempt) {
                    attempt.am_exit_status = ended.exit_status;
                }
                let text = crash_text(container.attempt, ended, &page);
                self.end_current_attempt(idx, Ending::failed(text), out);
            }
        }
    }

    /// An unregistered ApplicationMaster has exited, or has had its time for that.
    fn on_master_gone(&mut self, idx: AppIdx, out: &mut Vec<Effect>) {
        let Some(attempt) = self.apps.get_mut(&idx).and_then(|a| a.attempts.last_mut()) else {
            return;
        };
        if attempt.step(LifeEvent::AmGone) {
            self.finish_attempt(idx, "", out);
        }
    }

    /// An ApplicationMaster was silent for too long, or did not exit in time.
    pub(crate) fn on_master_expired(&mut self, id: ApplicationAttemptId, out: &mut Vec<Effect>) {
        let Some((idx, attempt)) = self.attempt_mut(id) else {
            return;
        };
        match attempt.state {
            LifeState::Finishing => self.on_master_gone(idx, out),
            LifeState::FinalSaving => {
                if let Some(ending) = &mut attempt.ending
                    && ending.target == LifeState::Finishing
                {
                    ending.target = LifeState::Finished;
                }
            }
            _ => {
                let text = format!("ApplicationMaster for attempt {id} timed out");
                self.end_current_attempt(idx, Ending::failed(text), out);
            }
        }
    }

    /// The attempt is over: token, containers, outbox; then its application hears of it
    /// (`RMAppAttemptImpl.BaseFinalTransition`).
    fn finish_attempt(&mut self, idx: AppIdx, words: &str, out: &mut Vec<Effect>) {
        let failures = self.counted_failures(idx);
        let Some(app) = self.apps.get_mut(&idx) else {
            return;
        };
        let (max_attempts, keep) = (app.max_attempts, app.submission.keep_containers);
        // one that is being killed meanwhile, or runs its master itself, has no other attempt
        let goes_on = app.state != AppState::Killing && !app.submission.unmanaged;
        let Some(attempt) = app.attempts.last_mut() else {
            return;
        };
        let (id, state) = (attempt.id, attempt.state);
        attempt.link = MasterLink::Gone;
        attempt.nm_tokens.clear();
        if state != LifeState::Finished {
            "N/A".clone_into(&mut attempt.host);
            attempt.rpc_port = -1;
        }
        let another = goes_on && max_attempts > 1 && failures < max_attempts;
        let keep = keep && state == LifeState::Failed && another;
        let diagnostics = attempt.diagnostics.clone();
        if std::mem::take(&mut attempt.token_live) {
            out.push(Effect::now(Action::AttemptEnded { attempt: id }));
        }
        let stop = match (attempt.am_container, attempt.am_node) {
            (Some(container), Some(node)) if attempt.launching && !attempt.am_gone => {
                Some((container, node))
            }
            _ => None,
        };
        if let Some((container, node)) = stop {
            let node = self.nodes[node.at()].id.clone();
            out.push(Effect::now(Action::StopAm {
                attempt: id,
                container,
                node,
            }));
        }
        self.deadlines.remove(Watched::Master(id));
        self.end_containers_of(id.app, keep, out);
        if !keep {
            self.acknowledge_all(idx);
        }
        match state {
            LifeState::Finished => self.on_attempt_finished(idx, &diagnostics, out),
            LifeState::Killed => self.on_attempt_killed(idx, words, out),
            _ => self.on_attempt_failed(idx, &diagnostics, out),
        }
    }

    /// Ends the containers of an application, except, with `keep`, running ones that are no
    /// ApplicationMaster's.
    fn end_containers_of(&mut self, app: ApplicationId, keep: bool, out: &mut Vec<Effect>) {
        let first = ContainerId {
            attempt: app.attempt(0),
            id: 0,
        };
        let last = ContainerId {
            attempt: app.attempt(u32::MAX),
            id: u64::MAX,
        };
        let kept = |state: HeldState, is_am: bool| keep && !is_am && state == HeldState::Running;
        let ids: Vec<ContainerId> = self
            .containers
            .range(first..=last)
            .filter(|(_, c)| !kept(c.state, c.is_am))
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            self.end_container(id, Ended::by_rm(EndCause::AttemptEnded), out);
        }
    }

    /// Nobody will read these statuses any more: the nodes may forget the containers.
    fn acknowledge_all(&mut self, idx: AppIdx) {
        let Some(attempt) = self.apps.get_mut(&idx).and_then(|a| a.attempts.last_mut()) else {
            return;
        };
        let outbox = std::mem::take(&mut attempt.outbox);
        let finished = outbox
            .finished
            .into_iter()
            .map(|(node, c)| (node, c.container));
        for (node, container) in finished.chain(outbox.told) {
            self.acknowledge(node, container);
        }
    }

    /// The ApplicationMaster unregisters (`RMAppAttemptImpl.AMUnregisteredTransition`).
    pub(crate) fn unregister_master(&mut self, idx: AppIdx, ending: Ending, out: &mut Vec<Effect>) {
        self.end_current_attempt(idx, ending, out);
        let target = AppState::Finishing;
        self.end_app(
            idx,
            AppEvent::AttemptUnregistered,
            target,
            String::new(),
            out,
        );
    }

    /// The RM's page of an application.
    pub(crate) fn app_page(&self, idx: AppIdx) -> String {
        let Some(app) = self.apps.get(&idx) else {
            return String::new();
        };
        format!("{}/cluster/app/{}", self.conf.web_url, app.submission.app)
    }
}

/// `RMAppAttemptImpl.getAMContainerCrashedDiagnostics`.
fn crash_text(attempt: ApplicationAttemptId, ended: &Ended, page: &str) -> String {
    format!(
        "AM Container for {attempt} exited with  exitCode: {}\nFailing this attempt.Diagnostics: \
         {}For more detailed output, check the application tracking page: {page} Then click on \
         links to logs of each attempt.\n",
        ended.exit_status, ended.diagnostics
    )
}

/// Keeps the last part of a text within the limit, as Hadoop's bounded buffer does.
fn truncate(text: &mut String) {
    if text.len() > limits::DIAGNOSTICS_BYTES_MAX {
        let mut cut = text.len() - limits::DIAGNOSTICS_BYTES_MAX;
        while !text.is_char_boundary(cut) {
            cut += 1;
        }
        text.drain(..cut);
    }
}
