//! What happens to containers: grant, hand-out, start, end.
//! May touch: `Rm`.
//! Must not: talk to ApplicationMasters or nodes except through their outboxes.

use yarn_types::{ContainerId, Resource, exit};

use super::{Container, EndCause, HeldEvent, HeldState};
use crate::{
    effect::{Action, Completed, Effect, Grant, Note},
    liveness::Watched,
    rm::Rm,
    sched::{Granted, NodeIdx},
};

/// How a container ended, as its ApplicationMaster will read it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ended {
    pub(crate) cause: EndCause,
    pub(crate) exit_status: i32,
    pub(crate) diagnostics: String,
}

impl Ended {
    /// Ended by the RM for `cause`: exit status -100 and Hadoop's words.
    pub(crate) fn by_rm(cause: EndCause) -> Self {
        Self {
            cause,
            exit_status: exit::ABORTED,
            diagnostics: cause.text().unwrap_or_default().to_owned(),
        }
    }
}

impl Rm {
    /// The scheduler gave a container; it goes to the attempt, or back at once where nobody waits.
    pub(crate) fn on_granted(&mut self, granted: &Granted, out: &mut Vec<Effect>) {
        let epoch = self.epoch;
        let (now, wall) = (self.now, self.wall_now());
        let Some(attempt) = self
            .apps
            .get_mut(&granted.app)
            .and_then(|a| a.attempts.last_mut())
        else {
            self.take_back(granted);
            return;
        };
        let wanted = if granted.is_am {
            attempt.state.awaits_container()
        } else {
            attempt.state.is_served()
        };
        if !wanted {
            self.take_back(granted);
            return;
        }
        attempt.last_container += 1;
        let id = attempt.id.container(epoch, attempt.last_container);
        if self
            .grant_devices(granted.node, id, granted.resource)
            .is_none()
        {
            self.sched.release(granted.container);
            let text = format!("{id} is taken back: its node has too few free devices");
            out.push(Effect::now(Action::Note(Note::Text(text))));
            return;
        }
        if let Some((_, attempt)) = self.attempt_mut(id.attempt)
            && !granted.is_am
        {
            attempt.outbox.granted.push(id);
        }
        self.containers.insert(
            id,
            Container {
                id,
                state: HeldState::Allocated,
                app: granted.app,
                node: granted.node,
                alloc: granted.container,
                resource: granted.resource,
                priority: granted.key.priority,
                allocation_request_id: granted.key.request_id,
                is_am: granted.is_am,
                granted_at: now,
                created_wall_ms: wall,
                version: 0,
                confirmed: granted.resource,
            },
        );
        self.by_account.insert(granted.container, id);
        if let Some(app) = self.apps.get(&granted.app) {
            self.counters
                .count(&app.queue, |c| c.containers_allocated += 1);
            self.health
                .granted(granted.node, id, &app.queue, granted.resource);
        }
        let node = &mut self.nodes[granted.node.at()];
        node.containers.insert(id);
        out.push(Effect::now(Action::Note(Note::Granted {
            container: id,
            node: node.id.clone(),
            resource: granted.resource,
            waited_ms: now.since(granted.asked_at),
        })));
        if granted.is_am {
            self.on_master_granted(id, out);
        }
    }

    /// A grant that nobody waits for; its node's room for devices is as before.
    fn take_back(&mut self, granted: &Granted) {
        self.sched.release(granted.container);
        self.gpus_changed(granted.node);
    }

    /// [`Self::hand_out`], and the container's token leaves the RM with it: from now on only its
    /// node can free its devices.
    pub(crate) fn send_out(&mut self, id: ContainerId) -> Option<Grant> {
        let grant = self.hand_out(id)?;
        let node = self.containers.get(&id)?.node;
        if let Some(gpus) = &mut self.nodes[node.at()].gpus {
            gpus.told(id);
        }
        Some(grant)
    }

    /// The container's owner is told of it: from now on it must start in time.
    pub(crate) fn hand_out(&mut self, id: ContainerId) -> Option<Grant> {
        let expiry = self.now.plus(self.conf.container_allocation_expiry_ms);
        let container = self.containers.get_mut(&id)?;
        if container.step(HeldEvent::Acquired) {
            self.deadlines.set(Watched::Container(id), expiry);
        }
        if let Some(app) = self.apps.get_mut(&container.app) {
            app.ran_nodes.insert(container.node);
        }
        let container = self.containers.get(&id)?;
        Some(self.grant_of(container))
    }

    /// A container as its ApplicationMaster and its node are told of it.
    pub(crate) fn grant_of(&self, container: &Container) -> Grant {
        let id = container.id;
        let node = &self.nodes[container.node.at()];
        Grant {
            container: id,
            node: node.id.clone(),
            node_http_address: node.http_address(),
            resource: container.resource,
            priority: container.priority,
            allocation_request_id: container.allocation_request_id,
            created_wall_ms: container.created_wall_ms,
            is_am: container.is_am,
            version: container.version,
            gpus: node.gpus.as_ref().map_or_else(Vec::new, |g| g.held_by(id)),
        }
    }

    /// Its node says it runs, with the size that it has there.
    pub(crate) fn on_container_running(&mut self, id: ContainerId, size: Resource) {
        let Some(container) = self.containers.get_mut(&id) else {
            return;
        };
        if !container.step(HeldEvent::Launched) {
            self.on_size_seen(id, size);
            return;
        }
        if let Some(app) = self.apps.get_mut(&container.app) {
            app.ran_nodes.insert(container.node);
        }
        self.deadlines.remove(Watched::Container(id));
        if let Some(gpus) = &mut self.nodes[container.node.at()].gpus {
            gpus.told(id);
        }
        self.on_size_reported(id, size);
    }

    /// Ends a live container: account, node, attempt. False when it is not live (any more).
    pub(crate) fn end_container(
        &mut self,
        id: ContainerId,
        ended: Ended,
        out: &mut Vec<Effect>,
    ) -> bool {
        let Some(container) = self.containers.remove(&id) else {
            return false;
        };
        self.deadlines.remove(Watched::Container(id));
        self.deadlines.remove(Watched::Increase(id));
        self.by_account.remove(&container.alloc);
        let released =
            self.sched.release(container.alloc) || self.released.remove(&container.alloc);
        assert!(
            released,
            "container {id} was not in the scheduler's account"
        );
        let node = &mut self.nodes[container.node.at()];
        node.containers.remove(&id);
        node.outbox.updates.remove(&id);
        // A container that nobody was told of cannot run; any other may, until its node is told.
        if ended.cause != EndCause::Finished && container.state != HeldState::Allocated {
            node.kill(id);
        }
        let node_waits = node.decommissioning.is_some();
        if let Some(gpus) = &mut node.gpus {
            gpus.ended(id);
            #[cfg(feature = "mutants")]
            if self.mutant == Some(crate::mutant::Mutant::FreeAtRelease) {
                gpus.completed(id);
            }
            self.gpus_changed(container.node);
        }
        if node_waits {
            self.offer_changed(container.node);
        }
        self.count_end(&container, ended.cause);
        self.count_release(
            (container.app, container.node),
            id,
            container.resource,
            ended.cause == EndCause::Preempted,
        );
        let Some(app) = self.apps.get_mut(&container.app) else {
            return true;
        };
        let node_idx = container.node;
        if container.is_am {
            self.acknowledge(node_idx, id);
            self.on_master_container_ended(id, &ended, out);
        } else if let Some(attempt) = app.attempts.last_mut() {
            attempt.outbox.granted.retain(|granted| *granted != id);
            attempt.outbox.updated.remove(&id);
            #[cfg(feature = "mutants")]
            if self.mutant == Some(crate::mutant::Mutant::ForgetEnd) {
                return true;
            }
            if attempt.state.is_final() {
                self.acknowledge(node_idx, id);
            } else {
                let diagnostics = ended.diagnostics;
                let exit_status = ended.exit_status;
                let resource = container.resource;
                let completed = Completed {
                    container: id,
                    exit_status,
                    diagnostics,
                    resource,
                };
                attempt.outbox.finished.push((node_idx, completed));
            }
        }
        true
    }

    /// What an ended container adds to the figures of its application and queue.
    fn count_end(&mut self, container: &Container, cause: EndCause) {
        let lived_ms = i64::try_from(self.now.since(container.granted_at)).unwrap_or(i64::MAX);
        let Some(app) = self.apps.get_mut(&container.app) else {
            return;
        };
        app.resource_millis = app.resource_millis.plus(container.resource.times(lived_ms));
        self.counters
            .count(&app.queue, |c| c.containers_released += 1);
        if cause == EndCause::Preempted {
            let taken = container.resource;
            app.preempted = app.preempted.plus(taken);
            app.preempted_millis = app.preempted_millis.plus(taken.times(lived_ms));
            self.counters.count(&app.queue, |c| {
                c.containers_preempted += 1;
                c.preempted = c.preempted.plus(taken);
                c.preempted_millis = c.preempted_millis.plus(taken.times(lived_ms));
            });
            if container.is_am {
                app.preempted_masters += 1;
            } else {
                app.preempted_containers += 1;
            }
        }
    }

    /// The node may forget a completed container.
    pub(crate) fn acknowledge(&mut self, node: NodeIdx, id: ContainerId) {
        if let Some(node) = self.nodes.get_mut(node.at()) {
            node.acknowledge(id);
        }
    }
}
