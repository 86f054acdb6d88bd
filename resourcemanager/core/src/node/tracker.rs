//! Calls of ResourceTracker: register, heartbeat, unregister.
//! May touch: `Rm`.
//! Must not: know keys or the wire (the shell adds those).

use std::{cmp::Ordering, collections::BTreeSet, sync::Arc};

use yarn_types::{ApplicationId, ContainerId, ContainerState, NodeId, NodeState, Resource};

use super::{Node, NodeEvent, NodeOutbox, version};
use crate::{
    container::{EndCause, Ended, HeldState},
    effect::{Action, Effect, HeartbeatReply, NodeAction, Note, Reply},
    event::{CallId, Heartbeat, NodeContainer, NodeHealth, NodeRegistration, NodeRequest},
    liveness::Watched,
    rm::Rm,
    sched::NodeIdx,
};

impl Rm {
    pub(crate) fn on_node(&mut self, call: CallId, request: NodeRequest, out: &mut Vec<Effect>) {
        let reply = match request {
            NodeRequest::Register(registration) => self.on_register_node(*registration, out),
            NodeRequest::Heartbeat(heartbeat) => self.on_heartbeat(*heartbeat, out),
            NodeRequest::Unregister { node } => {
                if let Some(idx) = self.node_by_id.get(&node).copied() {
                    self.node_leaves(idx, NodeEvent::Shutdown, "unregistered", out);
                }
                Reply::Done
            }
        };
        out.push(Effect::now(Action::Reply {
            call,
            reply: Ok(Box::new(reply)),
        }));
    }

    fn on_register_node(&mut self, r: NodeRegistration, out: &mut Vec<Effect>) -> Reply {
        if let Some(diagnostics) = self.node_refusal(&r) {
            out.push(Effect::now(Action::Note(Note::Text(diagnostics.clone()))));
            return Reply::NodeRegistered {
                action: NodeAction::Shutdown,
                diagnostics,
                resource: None,
                gpu_seq: None,
                labels_accepted: false,
            };
        }
        let healthy = r.health.as_ref().is_none_or(|h| h.healthy);
        let idx = if let Some(idx) = self.node_by_id.get(&r.node).copied() {
            idx
        } else {
            let idx = NodeIdx(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
            self.node_by_id.insert(r.node.clone(), idx);
            self.nodes.push(new_node(&r));
            idx
        };
        let (labels_accepted, refused) = self.says_labels(&r.node, r.labels.as_ref(), out);
        self.refresh_node(idx, &r, healthy, out);
        self.deadlines
            .set(Watched::Node(idx), self.now.plus(self.conf.nm_expiry_ms));
        self.forget_nm_tokens(idx);
        self.reconcile_containers(idx, r.containers, out);
        self.settle_gpus(idx, out);
        let idle = r.running_apps.is_empty();
        let node = &mut self.nodes[idx.at()];
        for app in r.running_apps {
            let ended = self.app_by_id.get(&app).and_then(|i| self.apps.get(i));
            if ended.is_none_or(|a| a.state.is_final()) {
                node.outbox.ended_apps.insert(app);
            }
        }
        if idle {
            // Its next heartbeat tells it to stop.
            self.goes_when_idle(idx, out);
        }
        Reply::NodeRegistered {
            action: NodeAction::Normal,
            diagnostics: refused,
            resource: self.dynamic.get(&r.node).copied(),
            gpu_seq: self.gpu_seq(idx),
            labels_accepted,
        }
    }

    /// Whether the labels that a node sent were taken, and why not.
    fn says_labels(
        &mut self,
        node: &NodeId,
        labels: Option<&BTreeSet<Arc<str>>>,
        out: &mut Vec<Effect>,
    ) -> (bool, String) {
        let Some(labels) = labels else {
            return (false, String::new());
        };
        match self.node_says_label(node, labels, out) {
            Ok(()) => (true, String::new()),
            Err(reject) => (false, reject.message),
        }
    }

    /// Why a node may not register (`ResourceTrackerService.registerNodeManager`).
    fn node_refusal(&self, r: &NodeRegistration) -> Option<String> {
        let host = &r.node.host;
        if let Some(minimum) = &self.conf.nm_minimum_version
            && version::compare(&r.version, minimum) == Ordering::Less
        {
            return Some(format!(
                "Disallowed NodeManager Version {}, is less than the minimum version {minimum} \
                 sending SHUTDOWN signal to NodeManager.",
                r.version
            ));
        }
        if !self.host_allowed(host) && !self.is_decommissioning(&r.node) {
            return Some(format!(
                "Disallowed NodeManager from  {host}, Sending SHUTDOWN signal to the NodeManager."
            ));
        }
        let minimum = self.conf.node_minimum;
        let total = self.dynamic.get(&r.node).copied().unwrap_or(r.total);
        if total.memory_mb() < minimum.memory_mb() || total.vcores() < minimum.vcores() {
            return Some(format!(
                "NodeManager from  {host} doesn't satisfy minimum allocations, Sending SHUTDOWN \
                 signal to the NodeManager. Node capabilities are {}; minimums are {}mb and {} \
                 vcores",
                self.sched.types().show(total),
                minimum.memory_mb(),
                minimum.vcores()
            ));
        }
        None
    }

    /// A node that its host's exclusion lets finish what it runs.
    fn is_decommissioning(&self, id: &NodeId) -> bool {
        let node = self.node_by_id.get(id).map(|idx| &self.nodes[idx.at()]);
        node.is_some_and(|node| node.state == NodeState::Decommissioning)
    }

    /// Takes over what a registration says of the node itself, new or known.
    fn refresh_node(
        &mut self,
        idx: NodeIdx,
        r: &NodeRegistration,
        healthy: bool,
        out: &mut Vec<Effect>,
    ) {
        let wall = self.wall_now();
        let node = &self.nodes[idx.at()];
        let was = node.state;
        let moved = node.is_active() && *node.rack != *r.rack;
        if moved {
            // A node that moved to another rack starts anew there.
            self.end_containers_on(idx, out);
            self.sched.remove_node(idx);
        }
        let gpus = self.registered_gpus(idx, r.gpus.as_ref(), &r.containers);
        let node = &self.nodes[idx.at()];
        let admin_total = self.dynamic.get(&r.node).copied().or(node.admin_total);
        let total = if was == NodeState::Decommissioning {
            self.sched.node_used(idx).0
        } else {
            self.capped(r.total, gpus.as_ref(), admin_total)
        };
        let node = &mut self.nodes[idx.at()];
        if was == NodeState::New || !node.is_active() || moved {
            *node = Node {
                state: node.state,
                decommissioning: node.decommissioning.take(),
                ..new_node(r)
            };
            let label = self.partition_of(&r.node);
            self.sched
                .add_node(idx, &r.node.host, &r.rack, total, label);
        } else {
            if node.total != total {
                self.sched.set_total(idx, total);
            }
            if gpus.is_none() {
                self.sched.forget_devices(idx);
            }
        }
        let event = if healthy {
            NodeEvent::Registered
        } else {
            NodeEvent::RegisteredUnhealthy
        };
        let node = &mut self.nodes[idx.at()];
        node.step(event);
        node.http_port = r.http_port;
        node.total = total;
        node.registered = r.total;
        node.admin_total = admin_total;
        node.gpus = gpus;
        node.version.clone_from(&r.version);
        node.response_id = 0;
        node.answered = false;
        node.heartbeat_wall_ms = wall;
        if node.health_wall_ms == 0 {
            node.health_wall_ms = wall;
        }
        if let Some(health) = &r.health {
            node.take_health(health);
        }
        if was == NodeState::Decommissioning {
            self.sched.set_going(idx, true);
        } else {
            self.sched.set_usable(idx, healthy);
            if !healthy && was != NodeState::Unhealthy {
                self.end_containers_on(idx, out);
            }
        }
        self.node_changed(idx, was, "registered", out);
    }

    /// After a registration: what the node no longer has has ended, what it has beyond our books
    /// must go (`RMNodeImpl.ReconnectNodeTransition`).
    fn reconcile_containers(
        &mut self,
        idx: NodeIdx,
        reported: Vec<NodeContainer>,
        out: &mut Vec<Effect>,
    ) {
        let listed: BTreeSet<ContainerId> = reported.iter().map(|c| c.id).collect();
        let sizes: Vec<_> = reported.iter().map(|c| (c.id, c.resource)).collect();
        self.on_statuses(idx, reported, out);
        self.on_sizes(idx, &sizes);
        self.end_unlisted(idx, &listed, out);
    }

    /// Ends containers that ran on the node and are missing from its list
    /// (`RMNodeImpl.findLostContainers`); those not started yet cannot be listed.
    fn end_unlisted(
        &mut self,
        idx: NodeIdx,
        listed: &BTreeSet<ContainerId>,
        out: &mut Vec<Effect>,
    ) {
        let held = &self.nodes[idx.at()].containers;
        let running = |id: &&ContainerId| {
            self.containers
                .get(id)
                .is_some_and(|c| c.state == HeldState::Running)
        };
        let lost: Vec<ContainerId> = held
            .iter()
            .filter(|id| !listed.contains(id))
            .filter(running)
            .copied()
            .collect();
        for id in lost {
            self.end_container(id, Ended::by_rm(EndCause::NodeLost), out);
        }
    }

    fn on_heartbeat(&mut self, h: Heartbeat, out: &mut Vec<Effect>) -> Reply {
        let at = self.node_by_id.get(&h.node).copied();
        if !self.host_allowed(&h.node.host) && !self.is_decommissioning(&h.node) {
            let host = &h.node.host;
            let node = &h.node;
            return odd(
                NodeAction::Shutdown,
                format!("Disallowed NodeManager nodeId: {node} hostname: {host}"),
            );
        }
        let Some(idx) = at.filter(|idx| self.nodes[idx.at()].is_active()) else {
            return odd(
                NodeAction::Resync,
                format!("Node not found resyncing {}", h.node),
            );
        };
        self.deadlines
            .set(Watched::Node(idx), self.now.plus(self.conf.nm_expiry_ms));
        if let Some(reply) = self.out_of_turn(idx, &h, out) {
            return reply;
        }
        let wall = self.wall_now();
        let node = &mut self.nodes[idx.at()];
        node.response_id = next_response_id(node.response_id);
        node.answered = true;
        node.heartbeat_wall_ms = wall;
        let mut outbox = std::mem::take(&mut node.outbox);
        self.note_decommissioning_apps(idx, &h.containers);
        self.on_gpu_changes(idx, h.gpus.as_ref(), out);
        self.gpu_answer_received(idx, &h.containers);
        self.on_health(idx, &h.health, out);
        let known: Vec<NodeContainer> = h
            .containers
            .into_iter()
            .filter(|c| !outbox.kill.contains(&c.id) || done(c))
            .collect();
        let mut listed: BTreeSet<ContainerId> = known.iter().map(|c| c.id).collect();
        listed.extend(outbox.kill.iter().copied());
        self.on_statuses(idx, known, out);
        self.on_sizes(idx, &h.increased);
        self.end_unlisted(idx, &listed, out);
        self.node_turn(idx, out);
        if self.goes_when_idle(idx, out) {
            let text = format!("DECOMMISSIONING {} is ready to be decommissioned", h.node);
            return odd(NodeAction::Shutdown, text);
        }
        let node = &mut self.nodes[idx.at()];
        // What this heartbeat itself gave cause for goes out with its own answer.
        let mut more = std::mem::take(&mut node.outbox);
        let mut updates = std::mem::take(&mut outbox.updates);
        updates.append(&mut more.updates);
        let told = std::mem::take(&mut node.tell_resource);
        let mut reply = answer(node.response_id, outbox, more);
        reply.containers_to_update = self.sizes_for_node(updates);
        let (accepted, refused) = self.says_labels(&h.node, h.labels.as_ref(), out);
        (reply.labels_accepted, reply.diagnostics) = (accepted, refused);
        let node = &mut self.nodes[idx.at()];
        reply.resource = node.admin_total.filter(|_| told);
        reply.gpu_seq = self.gpu_seq(idx);
        self.gpu_cleanup_listed(idx, &reply.containers_to_cleanup);
        Reply::Heartbeat(Box::new(reply))
    }

    /// The answer to a heartbeat that is not the next one: a repeated one, or one out of step.
    fn out_of_turn(&mut self, idx: NodeIdx, h: &Heartbeat, out: &mut Vec<Effect>) -> Option<Reply> {
        let node = &mut self.nodes[idx.at()];
        if next_response_id(h.response_id) == node.response_id && h.response_id != node.response_id
        {
            let (answered, response_id) = (node.answered, node.response_id);
            self.on_gpu_changes(idx, h.gpus.as_ref(), out);
            if answered {
                return Some(Reply::HeartbeatAgain);
            }
            // Nothing was answered since registration: there is nothing to repeat.
            return Some(Reply::Heartbeat(Box::new(HeartbeatReply {
                gpu_seq: self.gpu_seq(idx),
                ..empty_answer(response_id)
            })));
        }
        if h.response_id != node.response_id {
            let text = format!(
                "Too far behind rm response id:{} nm response id:{}",
                node.response_id, h.response_id
            );
            self.node_leaves(idx, NodeEvent::Rebooting, &text, out);
            return Some(odd(NodeAction::Resync, text));
        }
        if let Some(text) = self.gpus_out_of_step(idx, h.gpus.as_ref()) {
            // Its containers stay: the registration says which devices they have.
            out.push(Effect::now(Action::Note(Note::Text(text.clone()))));
            return Some(odd(NodeAction::Resync, text));
        }
        None
    }

    fn on_health(&mut self, idx: NodeIdx, health: &NodeHealth, out: &mut Vec<Effect>) {
        let node = &mut self.nodes[idx.at()];
        node.take_health(health);
        let was = node.state;
        let event = if health.healthy {
            NodeEvent::Healthy
        } else {
            NodeEvent::Sick
        };
        if !node.step(event) {
            return;
        }
        self.sched.set_usable(idx, health.healthy);
        if !health.healthy {
            // As in Hadoop an unhealthy node leaves the scheduler with all it holds
            // (`RMNodeImpl.reportNodeUnusable`).
            self.end_containers_on(idx, out);
        }
        self.node_changed(idx, was, &health.report, out);
    }

    /// What a node says of containers. Unknown ones are killed or forgotten there; a status that
    /// comes twice changes nothing.
    fn on_statuses(&mut self, idx: NodeIdx, statuses: Vec<NodeContainer>, out: &mut Vec<Effect>) {
        for status in statuses {
            let id = status.id;
            let here = self.containers.get(&id).is_some_and(|c| c.node == idx);
            if done(&status) {
                let ended = Ended {
                    cause: EndCause::Finished,
                    exit_status: status.exit_status,
                    diagnostics: status.diagnostics,
                };
                if here {
                    self.end_container(id, ended, out);
                } else if !self.awaits_acknowledgement(id) {
                    self.acknowledge(idx, id);
                }
                self.gpu_completed(idx, id);
            } else if here {
                self.on_container_running(id, status.resource);
            } else {
                self.stray_container(idx, id);
            }
        }
    }

    /// How large containers are on their node.
    fn on_sizes(&mut self, idx: NodeIdx, sizes: &[(ContainerId, Resource)]) {
        for (id, size) in sizes {
            if self.containers.get(id).is_some_and(|c| c.node == idx) {
                self.on_size_reported(*id, *size);
            }
        }
    }

    /// A container runs that the books do not have: it must go, with its application when that is
    /// not live.
    fn stray_container(&mut self, idx: NodeIdx, id: ContainerId) {
        let app: ApplicationId = id.app();
        let live = self.app_by_id.get(&app).and_then(|i| self.apps.get(i));
        let live = live.is_some_and(|a| !a.state.is_final());
        let node = &mut self.nodes[idx.at()];
        node.kill(id);
        if !live {
            node.outbox.ended_apps.insert(app);
        }
    }
}

impl Node {
    fn take_health(&mut self, health: &NodeHealth) {
        self.health_report.clone_from(&health.report);
        self.health_wall_ms = health.reported_wall_ms;
    }
}

fn done(status: &NodeContainer) -> bool {
    status.state == ContainerState::Complete
}

fn new_node(r: &NodeRegistration) -> Node {
    Node {
        id: r.node.clone(),
        http_port: r.http_port,
        rack: r.rack.clone(),
        total: r.total,
        registered: r.total,
        admin_total: None,
        tell_resource: false,
        decommissioning: None,
        version: r.version.clone(),
        state: NodeState::New,
        // Hadoop's words until the node says more.
        health_report: "Healthy".to_owned(),
        health_wall_ms: 0,
        heartbeat_wall_ms: 0,
        response_id: 0,
        answered: false,
        containers: BTreeSet::new(),
        outbox: NodeOutbox::default(),
        gpus: None,
    }
}

/// The id after `id`; wraps within Java's non-negative `int`.
pub(crate) fn next_response_id(id: i32) -> i32 {
    id.wrapping_add(1) & i32::MAX
}

fn odd(action: NodeAction, diagnostics: String) -> Reply {
    Reply::Heartbeat(Box::new(HeartbeatReply {
        action,
        diagnostics,
        ..empty_answer(0)
    }))
}

fn empty_answer(response_id: i32) -> HeartbeatReply {
    HeartbeatReply {
        response_id,
        action: NodeAction::Normal,
        diagnostics: String::new(),
        containers_to_cleanup: Vec::new(),
        applications_to_cleanup: Vec::new(),
        containers_to_be_removed: Vec::new(),
        containers_to_signal: Vec::new(),
        containers_to_update: Vec::new(),
        gpu_seq: None,
        resource: None,
        labels_accepted: false,
    }
}

fn answer(response_id: i32, mut first: NodeOutbox, more: NodeOutbox) -> HeartbeatReply {
    first.kill.extend(more.kill);
    first.ended_apps.extend(more.ended_apps);
    first.acknowledged.extend(more.acknowledged);
    first.signals.extend(more.signals);
    HeartbeatReply {
        containers_to_cleanup: first.kill.into_iter().collect(),
        applications_to_cleanup: first.ended_apps.into_iter().collect(),
        containers_to_be_removed: first.acknowledged.into_iter().collect(),
        containers_to_signal: first.signals.into_iter().collect(),
        ..empty_answer(response_id)
    }
}
