//! Calls of ApplicationMasterProtocol: register, allocate, finish.
//! May touch: `Rm`.
//! Must not: mint tokens or keep answers' bytes (the shell does).

use yarn_types::{ApplicationAttemptId, ContainerId, FinalStatus, NodeId};

use super::{Ending, LifeEvent, LifeState, MasterLink, Progress};
use crate::{
    app::AppEvent,
    container::{EndCause, Ended},
    effect::{Action, Allocated, Effect, Registered, Reply, UpdateError},
    event::{Allocate, AmRequest, CallId},
    node::next_response_id,
    reject::{Reject, RejectKind},
    rm::Rm,
    sched::{self, AppIdx},
};

/// A call of `allocate` that is answered after the pass.
#[derive(Clone, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Waiting {
    pub(crate) call: CallId,
    pub(crate) attempt: ApplicationAttemptId,
    pub(crate) what: WaitingFor,
}

/// What it is answered with.
#[derive(Clone, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) enum WaitingFor {
    /// The outbox.
    Answer {
        response_id: i32,
        update_errors: Vec<UpdateError>,
    },
    /// The last answer once more.
    Again,
}

impl Rm {
    pub(crate) fn on_am(
        &mut self,
        call: CallId,
        id: ApplicationAttemptId,
        request: AmRequest,
        out: &mut Vec<Effect>,
    ) {
        let (seq, reply) = match request {
            AmRequest::Register {
                host,
                rpc_port,
                tracking_url,
            } => (
                None,
                self.on_register(id, host, rpc_port, &tracking_url, out),
            ),
            AmRequest::Allocate(allocate) => match self.on_allocate(id, *allocate, out) {
                Ok(what) => {
                    self.waiting.push(Waiting {
                        call,
                        attempt: id,
                        what,
                    });
                    return;
                }
                Err(reject) => (None, Err(reject)),
            },
            AmRequest::Finish {
                status,
                diagnostics,
                tracking_url,
            } => match self.on_finish(id, status, diagnostics, &tracking_url, out) {
                Ok((seq, done)) => (seq, Ok(Reply::Unregistered(done))),
                Err(reject) => (None, Err(reject)),
            },
        };
        let reply = reply.map(Box::new);
        out.push(Effect::once_stored(seq, Action::Reply { call, reply }));
    }

    fn on_register(
        &mut self,
        id: ApplicationAttemptId,
        host: String,
        rpc_port: i32,
        tracking_url: &str,
        out: &mut Vec<Effect>,
    ) -> Result<Reply, Reject> {
        let Some((idx, attempt)) = self.attempt_mut(id) else {
            return Err(not_in_cache(id));
        };
        match attempt.link {
            MasterLink::Gone => return Err(not_in_cache(id)),
            MasterLink::Registered { .. } => {
                return Err(Reject::new(
                    RejectKind::InvalidApplicationMasterRequest,
                    format!("Application Master is already registered : {}", id.app),
                ));
            }
            MasterLink::Expected => {}
        }
        attempt.link = MasterLink::Registered {
            last: 0,
            answered: false,
        };
        let early = attempt.state == LifeState::Allocated;
        if attempt.step(LifeEvent::Registered) {
            attempt.host = if host.is_empty() {
                "N/A".to_owned()
            } else {
                host
            };
            attempt.rpc_port = rpc_port;
            attempt.tracking_url = url(tracking_url);
            if early {
                self.master_launched(idx, id);
            }
            self.ping_master(id);
            if let Some(app) = self.apps.get_mut(&idx) {
                app.step(AppEvent::AttemptRegistered);
            }
        } else if attempt.state == LifeState::UnmanagedSaving {
            let text = "Unmanaged AM must register after AM attempt reaches LAUNCHED state.";
            self.end_current_attempt(idx, Ending::failed(text.to_owned()), out);
        }
        let from_previous_attempts = self.kept_containers(idx, id);
        // their new sizes are told with them
        drop(self.send_updated(id));
        let mut nm_tokens: Vec<NodeId> = Vec::new();
        for grant in &from_previous_attempts {
            nm_tokens.extend(self.new_nm_token(id, grant.container));
        }
        let queue = self
            .apps
            .get(&idx)
            .map(|app| app.queue.clone())
            .unwrap_or_default();
        Ok(Reply::Registered(Box::new(Registered {
            maximum_capability: self.sched.maximum_capability(),
            queue,
            from_previous_attempts,
            nm_tokens,
        })))
    }

    /// Containers of earlier attempts that still run.
    fn kept_containers(
        &mut self,
        idx: AppIdx,
        id: ApplicationAttemptId,
    ) -> Vec<crate::effect::Grant> {
        if !self
            .apps
            .get(&idx)
            .is_some_and(|app| app.submission.keep_containers)
        {
            return Vec::new();
        }
        let first = ContainerId {
            attempt: id.app.attempt(0),
            id: 0,
        };
        let own = ContainerId { attempt: id, id: 0 };
        let kept: Vec<ContainerId> = self.containers.range(first..own).map(|(c, _)| *c).collect();
        kept.into_iter().filter_map(|c| self.send_out(c)).collect()
    }

    /// The node of a container, when the attempt needs a (new) NMToken for it.
    fn new_nm_token(&mut self, id: ApplicationAttemptId, container: ContainerId) -> Option<NodeId> {
        let node = self.containers.get(&container)?.node;
        let (_, attempt) = self.attempt_mut(id)?;
        let new = attempt.nm_tokens.insert(node);
        new.then(|| self.nodes[node.at()].id.clone())
    }

    fn on_allocate(
        &mut self,
        id: ApplicationAttemptId,
        mut request: Allocate,
        out: &mut Vec<Effect>,
    ) -> Result<WaitingFor, Reject> {
        let Some((idx, attempt)) = self.attempt_mut(id) else {
            return Err(unknown_attempt(id));
        };
        let last = match attempt.link {
            MasterLink::Gone => return Err(unknown_attempt(id)),
            MasterLink::Expected => {
                return Err(Reject::new(
                    RejectKind::ApplicationMasterNotRegistered,
                    format!(
                        "AM is not registered for known application attempt: {id} or RM had \
                         restarted after AM registered.  AM should re-register."
                    ),
                ));
            }
            MasterLink::Registered { last, answered } => {
                if next_response_id(request.response_id) == last && request.response_id != last {
                    // Nothing was answered since registration: there is nothing to repeat.
                    let empty = WaitingFor::Answer {
                        response_id: last,
                        update_errors: Vec::new(),
                    };
                    let what = if answered { WaitingFor::Again } else { empty };
                    self.ping_served(id);
                    return Ok(what);
                }
                last
            }
        };
        if request.response_id != last {
            return Err(Reject::new(
                RejectKind::InvalidApplicationMasterRequest,
                format!(
                    "Invalid responseId in AllocateRequest from application attempt: {id} expect \
                     responseId to be {last} but get {}",
                    request.response_id
                ),
            ));
        }
        attempt.progress = Progress::filtered(request.progress);
        // `RMAppAttemptImpl.StatusUpdateTransition`.
        if let Some(page) = &request.tracking_url
            && matches!(attempt.state, LifeState::Running)
        {
            attempt.tracking_url = url(page);
        }
        let served = attempt.state.is_served();
        self.ping_served(id);
        let mut asks = self.validate_allocate(idx, id, &mut request)?;
        let (resizes, update_errors) = self.judge_updates(idx, &request.updates);
        let response_id = next_response_id(last);
        self.confirm_told(id, response_id);
        if served {
            self.resize(&resizes);
            for container in &request.releases {
                if self
                    .containers
                    .get(container)
                    .is_some_and(|c| c.app == idx && !c.is_am)
                {
                    self.end_container(*container, Ended::by_rm(EndCause::Released), out);
                }
            }
            self.avoid_places(idx, id, &request);
            self.discount_undelivered(idx, &mut asks);
            if !asks.is_empty() {
                self.sched.update_asks(self.now, idx, &asks);
            }
        }
        Ok(WaitingFor::Answer {
            response_id,
            update_errors,
        })
    }

    fn avoid_places(&mut self, idx: AppIdx, id: ApplicationAttemptId, request: &Allocate) {
        let (add, remove) = (&request.blacklist_additions, &request.blacklist_removals);
        if add.is_empty() && remove.is_empty() {
            return;
        }
        self.sched.update_blacklist(idx, add, remove);
        if let Some((_, attempt)) = self.attempt_mut(id) {
            attempt.blacklist.extend(add.iter().cloned());
            attempt.blacklist.retain(|place| !remove.contains(place));
        }
    }

    /// Counts in a call are absolute, as of the last answer that the ApplicationMaster read. What
    /// was granted since is on its way with this call's answer and must not be granted again.
    fn discount_undelivered(&self, idx: AppIdx, asks: &mut [sched::Ask]) {
        #[cfg(feature = "mutants")]
        if self.mutant == Some(crate::mutant::Mutant::GrantAgain) {
            return;
        }
        let attempt = self.apps.get(&idx).and_then(|app| app.attempts.last());
        let Some(attempt) = attempt.filter(|a| !a.outbox.granted.is_empty()) else {
            return;
        };
        let undelivered = attempt
            .outbox
            .granted
            .iter()
            .filter_map(|c| self.containers.get(c));
        for container in undelivered {
            let node = &self.nodes[container.node.at()];
            for ask in asks.iter_mut() {
                let same_key = ask.key.priority == container.priority
                    && ask.key.request_id == container.allocation_request_id
                    && ask.size == container.resource;
                let same_place =
                    *ask.place == *"*" || ask.place == node.id.host || ask.place == node.rack;
                if same_key && same_place {
                    ask.count = (ask.count - 1).max(0);
                }
            }
        }
    }

    /// A call came: the ApplicationMaster lives. One that unregistered has its own deadline.
    fn ping_served(&mut self, id: ApplicationAttemptId) {
        let served = self
            .attempt_mut(id)
            .is_some_and(|(_, a)| matches!(a.state, LifeState::Launched | LifeState::Running));
        if served {
            self.ping_master(id);
        }
    }

    /// Everything that Hadoop refuses before it changes anything (`DefaultAMSProcessor.allocate`).
    fn validate_allocate(
        &self,
        idx: AppIdx,
        id: ApplicationAttemptId,
        request: &mut Allocate,
    ) -> Result<Vec<sched::Ask>, Reject> {
        if request.scheduling_requests {
            return Err(Reject::new(
                RejectKind::Yarn,
                format!(
                    "Found non empty SchedulingRequest in AllocateRequest for application={id}, \
                     but the configured yarn.resourcemanager.placement-constraints.handler cannot \
                     handle placement constraints. Rejecting this allocate operation"
                ),
            ));
        }
        let app = self.apps.get(&idx);
        if let Some(label) = app.and_then(|app| app.submission.label.as_ref()) {
            for ask in request
                .asks
                .iter_mut()
                .filter(|a| a.label.is_none() && *a.place == *"*")
            {
                ask.label = Some(label.clone());
            }
        }
        let asks = self.sched.validate_asks(idx, &request.asks)?;
        if request
            .blacklist_additions
            .iter()
            .any(|place| **place == *"*")
        {
            return Err(Reject::new(
                RejectKind::InvalidResourceBlacklistRequest,
                "Cannot add * to the blacklist!",
            ));
        }
        let keeps = app.is_some_and(|app| app.submission.keep_containers);
        let foreign = request.releases.iter().find(|c| c.attempt != id && !keeps);
        if let Some(foreign) = foreign {
            return Err(Reject::new(
                RejectKind::InvalidContainerRelease,
                format!(
                    "Cannot release container : {foreign} not belonging to this application \
                     attempt : {id}"
                ),
            ));
        }
        Ok(asks)
    }

    /// A new call proves that the last answer arrived: nodes may forget what it told of.
    fn confirm_told(&mut self, id: ApplicationAttemptId, response_id: i32) {
        let Some((_, attempt)) = self.attempt_mut(id) else {
            return;
        };
        attempt.link = MasterLink::Registered {
            last: response_id,
            answered: true,
        };
        for (node, container) in std::mem::take(&mut attempt.outbox.told) {
            self.acknowledge(node, container);
        }
    }

    fn on_finish(
        &mut self,
        id: ApplicationAttemptId,
        status: FinalStatus,
        diagnostics: String,
        tracking_url: &str,
        out: &mut Vec<Effect>,
    ) -> Result<(Option<u64>, bool), Reject> {
        let idx = self.app_by_id.get(&id.app).copied();
        let Some((idx, app)) = idx.and_then(|idx| Some((idx, self.apps.get(&idx)?))) else {
            return Err(not_in_cache(id));
        };
        if app.state.is_end_stored() {
            return Ok((None, true));
        }
        let unmanaged = app.submission.unmanaged;
        let Some((_, attempt)) = self.attempt_mut(id) else {
            return Err(not_in_cache(id));
        };
        match attempt.link {
            MasterLink::Gone => return Err(not_in_cache(id)),
            MasterLink::Expected => {
                return Err(Reject::new(
                    RejectKind::ApplicationMasterNotRegistered,
                    format!(
                        "Application Master is trying to unregister before registering for: {}",
                        id.app
                    ),
                ));
            }
            MasterLink::Registered { .. } => {}
        }
        self.ping_served(id);
        let target = if unmanaged {
            LifeState::Finished
        } else {
            LifeState::Finishing
        };
        let url = Some(url(tracking_url));
        let ending = Ending {
            target,
            diagnostics,
            status: Some(status),
            tracking_url: url,
        };
        if self
            .attempt_mut(id)
            .is_some_and(|(_, a)| a.state == LifeState::Running)
        {
            self.unregister_master(idx, ending, out);
        }
        // True only once the application's end lasts; when that is under way, the answer waits.
        let app = self.apps.get(&idx);
        let seq = app.filter(|app| app.unregistering()).map(|app| app.end_seq);
        Ok(match seq {
            Some(seq) => (self.store.unless_stored(seq), true),
            None => (None, unmanaged),
        })
    }

    /// Answers the waiting allocates from their attempts' outboxes.
    pub(crate) fn answer_waiting(&mut self, out: &mut Vec<Effect>) {
        for waiting in std::mem::take(&mut self.waiting) {
            let id = waiting.attempt;
            let reply = match waiting.what {
                WaitingFor::Again => match self.attempt_mut(id) {
                    Some((_, a)) if a.link != MasterLink::Gone => Ok(Reply::AllocatedAgain),
                    _ => Err(unknown_attempt(id)),
                },
                WaitingFor::Answer {
                    response_id,
                    update_errors,
                } => self
                    .drain_outbox(id, response_id)
                    .map(|allocated| {
                        Reply::Allocated(Box::new(Allocated {
                            update_errors,
                            ..allocated
                        }))
                    })
                    .ok_or_else(|| unknown_attempt(id)),
            };
            let reply = reply.map(Box::new);
            out.push(Effect::now(Action::Reply {
                call: waiting.call,
                reply,
            }));
        }
    }

    fn drain_outbox(&mut self, id: ApplicationAttemptId, response_id: i32) -> Option<Allocated> {
        let (idx, attempt) = self.attempt_mut(id)?;
        if attempt.link == MasterLink::Gone {
            return None;
        }
        let served = attempt.state.is_served();
        let granted = if served {
            std::mem::take(&mut attempt.outbox.granted)
        } else {
            Vec::new()
        };
        let preempting = std::mem::take(&mut attempt.preempting);
        let finished = std::mem::take(&mut attempt.outbox.finished);
        attempt
            .outbox
            .told
            .extend(finished.iter().map(|(node, c)| (*node, c.container)));
        let completed = finished
            .into_iter()
            .map(|(_, completed)| completed)
            .collect();
        let preempting = preempting.into_iter();
        let preempting = preempting.filter(|id| self.containers.contains_key(id));
        let preempting: Vec<ContainerId> = preempting.collect();
        let sizes = preempting.iter().filter_map(|id| self.containers.get(id));
        let asked_back = sizes.fold(yarn_types::Resource::ZERO, |sum, c| sum.plus(c.resource));
        let mut nm_tokens = Vec::new();
        let mut grants = Vec::new();
        for container in granted {
            nm_tokens.extend(self.new_nm_token(id, container));
            grants.extend(self.send_out(container));
        }
        let updated = if served {
            self.send_updated(id)
        } else {
            Vec::new()
        };
        for (_, grant) in &updated {
            nm_tokens.extend(self.new_nm_token(id, grant.container));
        }
        let app = self.apps.get_mut(&idx)?;
        let updates = std::mem::take(&mut app.node_updates);
        let application_priority = app.priority;
        let updated_nodes = updates.into_iter();
        let updated_nodes =
            updated_nodes.filter_map(|at| Some(self.node_report(at, self.nodes.get(at.at())?)));
        Some(Allocated {
            response_id,
            grants,
            nm_tokens,
            completed,
            limit: self.sched.headroom(idx),
            num_cluster_nodes: i32::try_from(self.sched.num_cluster_nodes()).unwrap_or(i32::MAX),
            updated_nodes: updated_nodes.collect(),
            preempting,
            preempting_units: self.sched.in_smallest_containers(asked_back),
            updated,
            update_errors: Vec::new(),
            application_priority,
        })
    }

    /// A completed container's status is still to be read by its ApplicationMaster.
    pub(crate) fn awaits_acknowledgement(&self, id: ContainerId) -> bool {
        let app = self
            .app_by_id
            .get(&id.app())
            .and_then(|idx| self.apps.get(idx));
        app.and_then(|app| app.attempts.last())
            .is_some_and(|attempt| {
                attempt
                    .outbox
                    .finished
                    .iter()
                    .any(|(_, c)| c.container == id)
                    || attempt.outbox.told.iter().any(|(_, c)| *c == id)
            })
    }
}

/// The tracking URL as kept: empty for none (`RMAppAttemptImpl.sanitizeTrackingUrl`).
fn url(text: &str) -> String {
    if text.trim().is_empty() {
        String::new()
    } else {
        text.to_owned()
    }
}

fn not_in_cache(id: ApplicationAttemptId) -> Reject {
    Reject::new(
        RejectKind::InvalidApplicationMasterRequest,
        format!("Application doesn't exist in cache {id}"),
    )
}

fn unknown_attempt(id: ApplicationAttemptId) -> Reject {
    Reject::new(
        RejectKind::ApplicationAttemptNotFound,
        format!("Application attempt {id} doesn't exist in ApplicationMasterService cache."),
    )
}
