//! An ApplicationMaster of a run: the model master with its plan and its calls in flight.
//! May touch: `testkit`'s model.
//! Must not: reach the core except by messages.

use rm_core::{CallId, Reject, RejectKind, Reply, effect::Grant, event::AmRequest};
use testkit::ModelMaster;
use yarn_types::{ApplicationAttemptId, FinalStatus, Resource};

use crate::node::CALL_TIMEOUT_MS;

/// A master with its clockwork.
pub(crate) struct SimMaster {
    pub model: ModelMaster,
    /// Containers that must end with status 0.
    pub want: usize,
    pub size: Resource,
    pub in_flight: Option<(CallId, u64)>,
    pub next_ms: u64,
    /// Its process has ended, with this status to be told by its node.
    pub exited: Option<i32>,
    /// It stays silent from here on, but its process lives.
    pub stuck: bool,
}

impl SimMaster {
    pub(crate) fn new(
        attempt: ApplicationAttemptId,
        want: usize,
        size: Resource,
        start_ms: u64,
    ) -> Self {
        let mut model = ModelMaster::new(attempt);
        model.ask(i32::try_from(want).unwrap_or(i32::MAX), size);
        Self {
            model,
            want,
            size,
            in_flight: None,
            next_ms: start_ms,
            exited: None,
            stuck: false,
        }
    }

    fn succeeded(&self) -> usize {
        self.model
            .ended
            .values()
            .filter(|status| **status == 0)
            .count()
    }

    /// The call that is due at `now_ms`, if any.
    pub(crate) fn due(&mut self, now_ms: u64) -> Option<AmRequest> {
        if self.exited.is_some() || self.stuck {
            return None;
        }
        match self.in_flight {
            Some((_, give_up)) if now_ms < give_up => return None,
            None if now_ms < self.next_ms => return None,
            _ => {}
        }
        Some(if !self.model.registered {
            AmRequest::Register {
                host: "am".to_owned(),
                rpc_port: 1,
                tracking_url: String::new(),
            }
        } else if self.succeeded() >= self.want {
            AmRequest::Finish {
                status: FinalStatus::Succeeded,
                diagnostics: String::new(),
                tracking_url: String::new(),
            }
        } else {
            AmRequest::Allocate(Box::new(self.model.allocate()))
        })
    }

    pub(crate) fn called(&mut self, call: CallId, now_ms: u64) {
        self.in_flight = Some((call, now_ms + CALL_TIMEOUT_MS));
    }

    /// An answer to call `call`; the containers to start, and those with a new size. One that is
    /// not waited for is thrown away.
    pub(crate) fn on_reply(
        &mut self,
        call: CallId,
        reply: &Result<Reply, Reject>,
        now_ms: u64,
    ) -> (Vec<Grant>, Vec<Grant>) {
        let waited = self.in_flight.is_some_and(|(waited, _)| waited == call);
        if !waited || self.exited.is_some() {
            return (Vec::new(), Vec::new());
        }
        self.in_flight = None;
        self.next_ms = now_ms + 1_000;
        match reply {
            Ok(Reply::Registered(registered)) => self.model.on_registered(registered),
            Ok(Reply::Allocated(allocated)) => {
                let before = self.model.ended.len();
                self.model.on_allocated(allocated);
                let failed = allocated
                    .completed
                    .iter()
                    .filter(|c| c.exit_status != 0)
                    .count();
                if self.model.ended.len() > before && failed > 0 {
                    self.model
                        .ask(i32::try_from(failed).unwrap_or(i32::MAX), self.size);
                }
                let updated = allocated.updated.iter();
                return (
                    allocated.grants.clone(),
                    updated.map(|(_, grant)| grant.clone()).collect(),
                );
            }
            Ok(Reply::Unregistered(true)) => {
                self.model.unregistered = true;
                self.exited = Some(0);
            }
            Ok(_) => {}
            Err(reject) => self.on_reject(reject),
        }
        (Vec::new(), Vec::new())
    }

    fn on_reject(&mut self, reject: &Reject) {
        match reject.kind {
            RejectKind::ApplicationMasterNotRegistered => self.model.registered = false,
            // Also when the answer to an earlier registration was lost: as with Hadoop's client, a
            // master that is told "already registered" gives up.
            RejectKind::ApplicationAttemptNotFound
            | RejectKind::InvalidApplicationMasterRequest => self.exited = Some(1),
            _ => self
                .model
                .complaints
                .push(format!("refused: {}", reject.message)),
        }
    }
}
