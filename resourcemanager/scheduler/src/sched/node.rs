//! Nodes as the scheduler sees them: what is offered, what is free, their partition, who may get it.
//! May touch: its own arena; the partitions' totals.
//! Must not: change `used` (only `commit.rs` does).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use yarn_types::{MILLI, Resource};

use super::{
    Sched,
    ids::{ContainerIdx, LabelIdx, NodeIdx},
    label::Offer,
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
    /// It only waits for what it runs (DECOMMISSIONING): room that comes free there is nobody's.
    pub going: bool,
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

    /// What it counts for in its partition.
    pub fn offer(&self) -> Offer {
        if !self.usable {
            return Offer::default();
        }
        let idle = self.gpu_room.map(|(lane, _)| self.free().0[lane].max(0));
        Offer {
            total: self.total,
            nodes: 1,
            listed: u32::from(idle.is_some()),
            idle_gpus: idle.unwrap_or(0),
        }
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
    /// Nodes with a reservation.
    reserved: BTreeSet<NodeIdx>,
    /// Nodes with containers that may be taken when their place is needed.
    killable: BTreeSet<NodeIdx>,
    /// How many usable nodes offer the same.
    sizes: BTreeMap<Resource, u32>,
    /// The maximum allocation follows the largest node.
    pub dynamic_maximum: bool,
}

impl Nodes {
    pub fn get(&self, idx: NodeIdx) -> Option<&Node> {
        self.slots.get(idx.at())?.as_ref()
    }

    fn get_mut(&mut self, idx: NodeIdx) -> Option<&mut Node> {
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
        let sizes = self.sizes.keys();
        sizes.fold(Resource::ZERO, |max, size| max.max(*size))
    }

    /// The reservations on nodes.
    pub fn reservations(&self) -> impl Iterator<Item = ContainerIdx> {
        self.reserved
            .iter()
            .filter_map(|idx| self.get(*idx)?.reserved)
    }

    /// Nodes with containers that may be taken when their place is needed.
    pub fn killable(&self) -> impl Iterator<Item = (NodeIdx, &Node)> {
        let nodes = self.killable.iter();
        nodes.filter_map(|idx| Some((*idx, self.get(*idx)?)))
    }

    /// Notes whether a node has a reservation and containers that may be taken.
    fn note(&mut self, idx: NodeIdx) {
        let n = self.slots.get(idx.at()).and_then(Option::as_ref);
        let (reserved, killable) = n.map_or((false, false), |n| {
            (n.reserved.is_some(), !n.killable.is_empty())
        });
        for (set, is_in) in [
            (&mut self.reserved, reserved),
            (&mut self.killable, killable),
        ] {
            if is_in {
                set.insert(idx);
            } else {
                set.remove(&idx);
            }
        }
    }

    fn count_size(&mut self, total: Resource, up: bool) {
        if up {
            *self.sizes.entry(total).or_insert(0) += 1;
        } else if let Some(count) = self.sizes.get_mut(&total) {
            *count -= 1;
            if *count == 0 {
                self.sizes.remove(&total);
            }
        }
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
        self.totals_changed();
    }

    fn put_node(
        &mut self,
        node: NodeIdx,
        host: Arc<str>,
        rack: Arc<str>,
        total: Resource,
        label: LabelIdx,
    ) {
        self.take_node(node);
        let slots = &mut self.nodes.slots;
        if slots.len() <= node.at() {
            slots.resize(node.at() + 1, None);
        }
        self.nodes.count += 1;
        slots[node.at()] = Some(Node {
            host,
            rack,
            label,
            total,
            used: Resource::ZERO,
            containers: 0,
            usable: false,
            going: false,
            reserved: None,
            killable: Vec::new(),
            gpu_room: None,
        });
        self.change_node(node, |n| n.usable = true);
    }

    /// Takes a node out of the arena and the sums.
    fn take_node(&mut self, node: NodeIdx) {
        self.change_node(node, |n| {
            n.usable = false;
            n.killable.clear();
        });
        if let Some(slot) = self.nodes.slots.get_mut(node.at())
            && slot.take().is_some()
        {
            self.nodes.count -= 1;
        }
    }

    /// Changes a node; what is summed up over nodes follows, and it is looked at again.
    pub(super) fn change_node<T>(
        &mut self,
        node: NodeIdx,
        change: impl FnOnce(&mut Node) -> T,
    ) -> Option<T> {
        let n = self.nodes.get_mut(node)?;
        let (from, before) = (n.label, n.offer());
        let out = change(n);
        let (to, after) = (n.label, n.offer());
        self.nodes.note(node);
        if from != to || before != after {
            self.labels.get_mut(from).offered.take(before);
            self.labels.get_mut(to).offered.add(after);
        }
        if (before.nodes, before.total) != (after.nodes, after.total) {
            for (of, up) in [(before, false), (after, true)] {
                if of.nodes > 0 {
                    self.nodes.count_size(of.total, up);
                }
            }
            self.nodes.usable = self.nodes.usable + after.nodes as usize - before.nodes as usize;
        }
        self.touch_node(node);
        Some(out)
    }

    /// What a node offers changed.
    pub fn set_total(&mut self, node: NodeIdx, total: Resource) {
        let set = |n: &mut Node| std::mem::replace(&mut n.total, total) != total;
        if self.change_node(node, set) == Some(true) {
            self.totals_changed();
        }
    }

    /// Whether a node may get new containers.
    pub fn set_usable(&mut self, node: NodeIdx, usable: bool) {
        let set = |n: &mut Node| std::mem::replace(&mut n.usable, usable) != usable;
        if self.change_node(node, set) == Some(true) {
            if !usable {
                self.drop_reservation_on(node);
            }
            self.totals_changed();
        }
    }

    /// Whether a node only waits for what it runs. Then room is not held there, and its containers
    /// are no victims: nobody could have their place.
    pub fn set_going(&mut self, node: NodeIdx, going: bool) {
        let set = |n: &mut Node| std::mem::replace(&mut n.going, going) != going;
        if self.change_node(node, set) != Some(true) {
            return;
        }
        if going {
            self.drop_reservation_on(node);
            self.change_node(node, |n| n.killable.clear());
        }
        self.stir();
    }

    /// A node leaves; its containers were released before.
    pub fn remove_node(&mut self, node: NodeIdx) {
        self.drop_reservation_on(node);
        if self.nodes.get(node).is_some() {
            self.take_node(node);
            self.totals_changed();
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
        let room = Some((lane, amount));
        let before = self.nodes.get(node).map(|n| n.gpu_room);
        if before.is_none_or(|before| before == room) {
            return;
        }
        self.change_node(node, |n| n.gpu_room = room);
        if before.flatten().is_none_or(|(_, room)| room < amount) {
            self.stir();
        }
    }

    /// A node's sum of GPUs alone counts (again): it has no list of devices.
    pub fn forget_devices(&mut self, node: NodeIdx) {
        let had = |n: &Node| n.gpu_room.is_some();
        if self.nodes.get(node).is_some_and(had) {
            self.change_node(node, |n| n.gpu_room = None);
            self.stir();
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
}
