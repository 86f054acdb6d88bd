//! Graceful decommission: nodes that may finish what runs on them, then go.
//! May touch: `Rm`.
//! Must not: read host files (the shell does).

use std::collections::BTreeSet;

use yarn_types::{ApplicationId, Millis, NodeState};

use super::NodeEvent;
use crate::{
    effect::Effect,
    event::{Decommission, HostLists, NodeContainer},
    liveness::Watched,
    rm::Rm,
    sched::NodeIdx,
};

/// What a DECOMMISSIONING node waits for (`DecommissioningNodesWatcher`).
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Decommissioning {
    /// When it began.
    pub since: Millis,
    /// Seconds from then to the end of all patience; negative for none.
    pub timeout_s: i32,
    /// Applications that had containers there since then: their files may be wanted.
    pub apps: BTreeSet<ApplicationId>,
}

impl Rm {
    /// New lists: nodes go, stay, or come back (`NodesListManager.handleExcludeNodeList`).
    pub(crate) fn refresh_nodes(
        &mut self,
        lists: HostLists,
        how: Decommission,
        out: &mut Vec<Effect>,
    ) {
        self.hosts = lists;
        for idx in self.active_nodes() {
            let node = &self.nodes[idx.at()];
            let waits = node.state == NodeState::Decommissioning;
            if self.host_allowed(&node.id.host) {
                if waits {
                    self.recommission(idx, out);
                }
                continue;
            }
            match how {
                Decommission::Normal => self.goes_now(idx, "excluded", out),
                Decommission::Graceful { timeout_s } => {
                    let own = self.hosts.timeouts_s.get(&node.id.host).copied();
                    let timeout_s = own.unwrap_or(timeout_s);
                    self.decommission_gracefully(idx, timeout_s, out);
                }
            }
        }
    }

    /// `refreshNodes` FORCEFUL (`NodesListManager.refreshNodesForcefully`).
    pub(crate) fn decommission_now(&mut self, out: &mut Vec<Effect>) {
        for idx in self.active_nodes() {
            if self.nodes[idx.at()].state == NodeState::Decommissioning {
                self.goes_now(idx, "decommissioned by force", out);
            }
        }
    }

    fn active_nodes(&self) -> Vec<NodeIdx> {
        let indexed = (0..).map(NodeIdx).zip(&self.nodes);
        let active = indexed.filter(|(_, node)| node.is_active());
        active.map(|(idx, _)| idx).collect()
    }

    /// A host that neither list names, where the include list counts, is not tracked: its node is
    /// SHUTDOWN, not DECOMMISSIONED.
    fn goes_now(&mut self, idx: NodeIdx, reason: &str, out: &mut Vec<Effect>) {
        let host = &self.nodes[idx.at()].id.host;
        let untracked = !self.hosts.include.is_empty()
            && !self.hosts.include.contains(host)
            && !self.hosts.exclude.contains(host);
        let event = if untracked {
            NodeEvent::Shutdown
        } else {
            NodeEvent::Decommission
        };
        self.node_leaves(idx, event, reason, out);
    }

    fn decommission_gracefully(&mut self, idx: NodeIdx, timeout_s: i32, out: &mut Vec<Effect>) {
        let now = self.now;
        let node = &mut self.nodes[idx.at()];
        let was = node.state;
        if let Some(waits) = &mut node.decommissioning {
            waits.timeout_s = timeout_s;
        } else {
            if !node.step(NodeEvent::GracefulDecommission) {
                return;
            }
            node.decommissioning = Some(Decommissioning {
                since: now,
                timeout_s,
                apps: node.containers.iter().map(|c| c.app()).collect(),
            });
        }
        self.watch_decommission(idx);
        self.offer_changed(idx);
        self.sched.set_going(idx, true);
        self.node_changed(idx, was, "excluded, may finish what it runs", out);
    }

    fn watch_decommission(&mut self, idx: NodeIdx) {
        let Some(waits) = &self.nodes[idx.at()].decommissioning else {
            return;
        };
        let who = Watched::Decommission(idx);
        match u64::try_from(waits.timeout_s) {
            Ok(s) => {
                let at = waits.since.plus(s.saturating_mul(1000));
                self.deadlines.remove(who);
                self.deadlines.set(who, at);
            }
            Err(_) => self.deadlines.remove(who),
        }
    }

    fn recommission(&mut self, idx: NodeIdx, out: &mut Vec<Effect>) {
        let node = &mut self.nodes[idx.at()];
        let was = node.state;
        if !node.step(NodeEvent::Recommission) {
            return;
        }
        node.decommissioning = None;
        self.deadlines.remove(Watched::Decommission(idx));
        self.offer_changed(idx);
        self.sched.set_going(idx, false);
        self.sched.set_usable(idx, true);
        self.node_changed(idx, was, "not excluded any more", out);
    }

    /// All patience is over.
    pub(crate) fn on_decommission_timeout(&mut self, idx: NodeIdx, out: &mut Vec<Effect>) {
        if self.nodes[idx.at()].state == NodeState::Decommissioning {
            self.goes_now(idx, "decommissioning timed out", out);
        }
    }

    /// What a DECOMMISSIONING node says of containers keeps their applications in mind.
    pub(crate) fn note_decommissioning_apps(&mut self, idx: NodeIdx, said: &[NodeContainer]) {
        if let Some(waits) = &mut self.nodes[idx.at()].decommissioning {
            waits.apps.extend(said.iter().map(|c| c.id.app()));
        }
    }

    /// A DECOMMISSIONING node without containers, whose applications have ended, goes; true when
    /// it did.
    pub(crate) fn goes_when_idle(&mut self, idx: NodeIdx, out: &mut Vec<Effect>) -> bool {
        let (apps, ids) = (&self.apps, &self.app_by_id);
        let node = &mut self.nodes[idx.at()];
        let Some(waits) = &mut node.decommissioning else {
            return false;
        };
        waits.apps.retain(|app| {
            let app = ids.get(app).and_then(|idx| apps.get(idx));
            app.is_some_and(|app| !app.state.is_final())
        });
        let idle = waits.apps.is_empty() && node.containers.is_empty();
        if idle {
            self.goes_now(idx, "excluded and idle", out);
        }
        idle
    }
}
