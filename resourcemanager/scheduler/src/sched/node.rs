//! Nodes as the scheduler sees them: what is offered, what is free, their partition, who may get it.
//! May touch: its own arena; the partitions' totals.
//! Must not: change `used` (only `commit.rs` does).

use std::{collections::BTreeMap, sync::Arc};

use yarn_types::{MILLI, Resource};

use super::{
    Sched,
    ids::{ContainerIdx, LabelIdx, NodeIdx},
};

/// A node.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Node {
    pub host: Arc<str>,
    pub rack: Arc<str>,
    pub label: LabelIdx,
    pub total: Resource,
    pub used: Resource,
    pub containers: u32,
    pub usable: bool,
    /// The reservation on it.
    pub reserved: Option<ContainerIdx>,
    /// Containers that may be taken when their place is needed (lazy preemption).
    pub killable: Vec<ContainerIdx>,
    /// Lane and amount of GPUs that devices are free for; `None` for a node that sent no list of
    /// devices, where the sum alone counts.
    pub gpu_room: Option<(usize, i64)>,
}

impl Node {
    /// What can still be granted; below zero when the total shrank under what is used.
    pub fn free(&self) -> Resource {
        let mut free = self.total.minus(self.used);
        if let Some((lane, room)) = self.gpu_room {
            free.0[lane] = free.0[lane].min(room);
        }
        free
    }
}

/// All nodes.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Nodes {
    slots: Vec<Option<Node>>,
    /// Nodes that may get containers.
    pub usable: usize,
    /// Nodes registered.
    pub count: usize,
    /// Order that multi-node placement looks at nodes in, by partition; made by `resort_nodes`.
    pub sorted: BTreeMap<LabelIdx, Vec<NodeIdx>>,
    /// The maximum allocation follows the largest node.
    pub dynamic_maximum: bool,
}

impl Nodes {
    pub fn get(&self, idx: NodeIdx) -> Option<&Node> {
        self.slots.get(idx.at())?.as_ref()
    }

    pub fn get_mut(&mut self, idx: NodeIdx) -> Option<&mut Node> {
        self.slots.get_mut(idx.at())?.as_mut()
    }

    pub fn iter(&self) -> impl Iterator<Item = (NodeIdx, &Node)> {
        (0..)
            .map(NodeIdx)
            .zip(&self.slots)
            .filter_map(|(idx, n)| Some((idx, n.as_ref()?)))
    }

    pub fn usable(&self) -> impl Iterator<Item = (NodeIdx, &Node)> {
        self.iter().filter(|(_, n)| n.usable)
    }

    /// The largest amount that one usable node offers, lane by lane.
    pub fn largest(&self) -> Resource {
        self.usable()
            .fold(Resource::ZERO, |max, (_, n)| max.max(n.total))
    }

    /// Lane and amount of the free devices of usable nodes of `label`, where any has a list.
    pub fn idle_gpus(&self, label: LabelIdx) -> Option<(usize, i64)> {
        let of_label = self.usable().filter(|(_, n)| n.label == label);
        let rooms = of_label.filter_map(|(_, n)| {
            let lane = n.gpu_room?.0;
            Some((lane, n.free().0[lane].max(0)))
        });
        rooms.reduce(|(lane, sum), (_, room)| (lane, sum.saturating_add(room)))
    }
}

impl Sched {
    /// A node joins; usable at once.
    pub fn add_node(
        &mut self,
        node: NodeIdx,
        host: &Arc<str>,
        rack: &Arc<str>,
        total: Resource,
        label: LabelIdx,
    ) {
        self.add_nodes([(node, Arc::clone(host), Arc::clone(rack), total, label)]);
    }

    /// Nodes join together, with host, rack, what they offer and their partition; shares and
    /// limits are computed once.
    pub fn add_nodes(
        &mut self,
        nodes: impl IntoIterator<Item = (NodeIdx, Arc<str>, Arc<str>, Resource, LabelIdx)>,
    ) {
        for (node, host, rack, total, label) in nodes {
            self.put_node(node, host, rack, total, label);
        }
        self.nodes_changed();
    }

    fn put_node(
        &mut self,
        node: NodeIdx,
        host: Arc<str>,
        rack: Arc<str>,
        total: Resource,
        label: LabelIdx,
    ) {
        let slots = &mut self.nodes.slots;
        if slots.len() <= node.at() {
            slots.resize(node.at() + 1, None);
        }
        slots[node.at()] = Some(Node {
            host,
            rack,
            label,
            total,
            used: Resource::ZERO,
            containers: 0,
            usable: true,
            reserved: None,
            killable: Vec::new(),
            gpu_room: None,
        });
    }

    /// What a node offers changed.
    pub fn set_total(&mut self, node: NodeIdx, total: Resource) {
        if let Some(n) = self.nodes.get_mut(node) {
            n.total = total;
            self.nodes_changed();
        }
    }

    /// Whether a node may get new containers.
    pub fn set_usable(&mut self, node: NodeIdx, usable: bool) {
        if let Some(n) = self.nodes.get_mut(node) {
            n.usable = usable;
            if !usable {
                self.drop_reservation_on(node);
            }
            self.nodes_changed();
        }
    }

    /// A node leaves; its containers were released before.
    pub fn remove_node(&mut self, node: NodeIdx) {
        self.drop_reservation_on(node);
        if let Some(slot) = self.nodes.slots.get_mut(node.at()) {
            *slot = None;
            self.nodes_changed();
        }
    }

    fn drop_reservation_on(&mut self, node: NodeIdx) {
        if let Some(reserved) = self.nodes.get(node).and_then(|n| n.reserved) {
            self.unreserve(reserved);
        }
    }

    /// `devices` whole GPUs of a node are free for new grants (its device ledger says so).
    pub fn set_free_devices(&mut self, node: NodeIdx, devices: usize) {
        let Some(lane) = self.conf.types.gpu_lane() else {
            return;
        };
        let amount = i64::try_from(devices)
            .unwrap_or(i64::MAX)
            .saturating_mul(MILLI);
        let Some(n) = self.nodes.get_mut(node) else {
            return;
        };
        let before = n.gpu_room.replace((lane, amount));
        self.touch_node(node);
        if before.is_none_or(|(_, room)| room < amount) {
            self.grown();
        }
    }

    /// A node's sum of GPUs alone counts (again): it has no list of devices.
    pub fn forget_devices(&mut self, node: NodeIdx) {
        if let Some(n) = self.nodes.get_mut(node)
            && n.gpu_room.take().is_some()
        {
            self.touch_node(node);
            self.grown();
        }
    }

    /// GPUs that a node may still grant by its devices, in the lane's amount; `None` without list.
    pub fn gpu_room(&self, node: NodeIdx) -> Option<i64> {
        self.nodes.get(node)?.gpu_room.map(|(_, room)| room)
    }

    /// Nodes that may get new containers.
    pub fn num_cluster_nodes(&self) -> usize {
        self.nodes.usable
    }

    /// Offered by the usable nodes.
    pub fn cluster_total(&self) -> Resource {
        self.labels.cluster()
    }

    /// Held on a node, and by how many containers.
    pub fn node_used(&self, node: NodeIdx) -> (Resource, u32) {
        self.nodes
            .get(node)
            .map_or((Resource::ZERO, 0), |n| (n.used, n.containers))
    }

    /// From now on the maximum allocation follows the largest node
    /// (`ClusterNodeTracker.setForceConfiguredMaxAllocation(false)`).
    pub fn follow_largest_node(&mut self) {
        self.nodes.dynamic_maximum = true;
    }

    /// The largest container that can be asked for: the configured maximum, at most what the
    /// largest present node offers once that counts.
    pub fn maximum_allocation(&self) -> Resource {
        let configured = self.conf.types.maximum_allocation();
        if self.nodes.dynamic_maximum && self.nodes.usable > 0 {
            configured.min(self.nodes.largest())
        } else {
            configured
        }
    }

    /// The largest container that a present node could hold and that may be asked for.
    pub fn maximum_capability(&self) -> Resource {
        let configured = self.conf.types.maximum_allocation();
        if self.nodes.usable == 0 {
            configured
        } else {
            configured.min(self.nodes.largest())
        }
    }

    /// The partitions' totals are summed up again and everything that hangs on them follows.
    pub(super) fn nodes_changed(&mut self) {
        for idx in 0..self.labels.len() {
            let label = LabelIdx(u8::try_from(idx).unwrap_or(u8::MAX));
            let of_label = self.nodes.usable().filter(|(_, n)| n.label == label);
            let (total, nodes) = of_label.fold((Resource::ZERO, 0), |(sum, count), (_, n)| {
                (sum.plus(n.total), count + 1)
            });
            let entry = self.labels.get_mut(label);
            (entry.total, entry.nodes) = (total, nodes);
        }
        self.nodes.usable = self.nodes.usable().count();
        self.nodes.count = self.nodes.iter().count();
        self.cluster_changed();
    }
}
