//! How nodes leave: lost, shut down, decommissioned, rebooted; and who is told.
//! May touch: `Rm`.
//! Must not: forget a node that has gone (lists show it).

use yarn_types::{ContainerId, NodeState};

use super::{NodeEvent, NodeOutbox};
use crate::{
    container::{EndCause, Ended},
    effect::{Action, Effect, Note},
    liveness::Watched,
    rm::Rm,
    sched::NodeIdx,
};

impl Rm {
    /// Takes an active node out of the cluster; its containers end as lost.
    pub(crate) fn node_leaves(
        &mut self,
        idx: NodeIdx,
        event: NodeEvent,
        reason: &str,
        out: &mut Vec<Effect>,
    ) {
        let node = &mut self.nodes[idx.at()];
        let was = node.state;
        if !node.step(event) {
            return;
        }
        node.outbox = NodeOutbox::default();
        node.admin_total = None;
        node.tell_resource = false;
        node.decommissioning = None;
        self.deadlines.remove(Watched::Node(idx));
        self.deadlines.remove(Watched::Decommission(idx));
        self.deadlines.remove(Watched::Overcommit(idx));
        self.end_containers_on(idx, out);
        self.sched.remove_node(idx);
        self.forget_nm_tokens(idx);
        self.node_changed(idx, was, reason, out);
    }

    /// Ends every container that a node holds, because it is gone or may not be used.
    pub(crate) fn end_containers_on(&mut self, idx: NodeIdx, out: &mut Vec<Effect>) {
        let held: Vec<ContainerId> = self.nodes[idx.at()].containers.iter().copied().collect();
        for id in held {
            self.end_container(id, Ended::by_rm(EndCause::NodeLost), out);
        }
    }

    /// Tells the operator and, once with its next answer, every live application.
    pub(crate) fn node_changed(
        &mut self,
        idx: NodeIdx,
        was: NodeState,
        reason: &str,
        out: &mut Vec<Effect>,
    ) {
        let node = &self.nodes[idx.at()];
        if node.state == was {
            return;
        }
        out.push(Effect::now(Action::Note(Note::Node {
            node: node.id.clone(),
            state: node.state,
            reason: reason.to_owned(),
        })));
        for app in self.apps.values_mut().filter(|app| !app.state.is_final()) {
            app.node_updates.insert(idx);
        }
    }

    pub(crate) fn host_allowed(&self, host: &str) -> bool {
        let lists = &self.hosts;
        let named = |list: &[std::sync::Arc<str>]| list.iter().any(|h| **h == *host);
        (lists.include.is_empty() || named(&lists.include)) && !named(&lists.exclude)
    }

    /// Every attempt needs a fresh NMToken for the node (it registered again, or it is gone).
    pub(crate) fn forget_nm_tokens(&mut self, idx: NodeIdx) {
        for attempt in self
            .apps
            .values_mut()
            .filter_map(|app| app.attempts.last_mut())
        {
            attempt.nm_tokens.remove(&idx);
        }
    }
}
