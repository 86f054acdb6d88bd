//! Lazy preemption: containers that may be killed as soon as their place is needed
//! (`PreemptionManager`, `PreemptableQueue`).
//! May touch: sizes of containers by queue, partition and node.
//! Must not: kill.

use std::collections::BTreeMap;

use yarn_types::Resource;

use super::ContainerKey;

/// A killable container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KillableContainer {
    /// Its leaf and all queues above, leaf first, as the scheduler numbers them.
    pub queues: Vec<usize>,
    /// The partition of its node.
    pub partition: usize,
    /// Its node.
    pub node: usize,
    /// Its size.
    pub size: Resource,
}

/// All killable containers, and their sums by queue and by node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Killable {
    containers: BTreeMap<ContainerKey, KillableContainer>,
    queues: BTreeMap<(usize, usize), Resource>,
    nodes: BTreeMap<usize, Resource>,
}

impl Killable {
    /// Lets a container be killed when its place is needed; false when it was so already.
    pub fn add(&mut self, key: ContainerKey, container: KillableContainer) -> bool {
        if self.containers.contains_key(&key) {
            return false;
        }
        self.count(&container, Resource::plus);
        self.containers.insert(key, container);
        true
    }

    /// Forgets a container that ended, or that is wanted no longer.
    pub fn remove(&mut self, key: ContainerKey) -> Option<KillableContainer> {
        let container = self.containers.remove(&key)?;
        self.count(&container, Resource::minus);
        Some(container)
    }

    /// A container is in another queue or partition now (`moveKillableContainer`).
    pub fn relocate(&mut self, key: ContainerKey, queues: Vec<usize>, partition: usize) {
        if let Some(mut container) = self.remove(key) {
            container.queues = queues;
            container.partition = partition;
            self.add(key, container);
        }
    }

    /// A container has another size now (`updateKillableContainerResource`).
    pub fn resize(&mut self, key: ContainerKey, size: Resource) {
        if let Some(mut container) = self.remove(key) {
            container.size = size;
            self.add(key, container);
        }
    }

    /// Whether a container may be killed.
    pub fn contains(&self, key: ContainerKey) -> bool {
        self.containers.contains_key(&key)
    }

    /// What may be killed of a queue in a partition (`getKillableResource`).
    pub fn of_queue(&self, queue: usize, partition: usize) -> Resource {
        let sum = self.queues.get(&(queue, partition));
        sum.copied().unwrap_or_default()
    }

    /// What may be killed on a node (`SchedulerNode.getTotalKillableResources`).
    pub fn of_node(&self, node: usize) -> Resource {
        self.nodes.get(&node).copied().unwrap_or_default()
    }

    /// The containers that may be killed on a node, in the order of their numbers.
    pub fn on_node(&self, node: usize) -> impl Iterator<Item = (ContainerKey, &KillableContainer)> {
        let here = self.containers.iter().filter(move |(_, c)| c.node == node);
        here.map(|(key, container)| (*key, container))
    }

    /// Nothing may be killed.
    pub fn is_empty(&self) -> bool {
        self.containers.is_empty()
    }

    fn count(&mut self, container: &KillableContainer, by: fn(Resource, Resource) -> Resource) {
        for queue in &container.queues {
            let sum = self
                .queues
                .entry((*queue, container.partition))
                .or_default();
            *sum = by(*sum, container.size);
        }
        let sum = self.nodes.entry(container.node).or_default();
        *sum = by(*sum, container.size);
    }
}

#[cfg(test)]
#[path = "killable_test.rs"]
mod tests;
