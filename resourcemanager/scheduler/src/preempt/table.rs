//! The working table: a row for each queue in each partition, made anew in every round.
//! May touch: a snapshot.
//! Must not: choose containers.

use yarn_types::Resource;

use super::{QueueRow, Rules, Snapshot};

/// The rows of all partitions, and who was offered resources there.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Table {
    /// By partition, then by queue.
    pub(super) rows: Vec<Vec<QueueRow>>,
    /// Killable amounts, by partition, then by queue.
    pub(super) killable: Vec<Vec<Resource>>,
    /// By partition: queues in the order in which they were found to want more, each once.
    pub(super) underserved: Vec<Vec<usize>>,
    noted: Vec<Vec<bool>>,
    /// Children of each queue.
    pub(super) children: Vec<Vec<usize>>,
    /// Priority of each queue among its siblings; 0 where its parent has no priorities.
    pub(super) priorities: Vec<i32>,
    /// Sum of the partitions.
    pub(super) cluster: Resource,
}

impl Table {
    /// The rows before any computation; a parent's demand is that of its leaves.
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        let queues = &snapshot.queues;
        let mut children = vec![Vec::new(); queues.len()];
        let mut priorities = vec![0; queues.len()];
        for (index, queue) in queues.iter().enumerate() {
            let Some(parent) = queue.parent.filter(|p| *p < index) else {
                continue;
            };
            children[parent].push(index);
            if queues[parent].priority_order {
                priorities[index] = queue.priority;
            }
        }
        let totals = snapshot.partitions.iter().map(|p| p.total);
        let mut table = Self {
            rows: Vec::with_capacity(snapshot.partitions.len()),
            killable: Vec::with_capacity(snapshot.partitions.len()),
            underserved: vec![Vec::new(); snapshot.partitions.len()],
            noted: vec![vec![false; queues.len()]; snapshot.partitions.len()],
            children,
            priorities,
            cluster: totals.fold(Resource::ZERO, Resource::plus),
        };
        for partition in 0..snapshot.partitions.len() {
            table.add_partition(snapshot, partition);
        }
        table
    }

    fn add_partition(&mut self, snapshot: &Snapshot, partition: usize) {
        let place = snapshot.partitions[partition];
        let share = |queue: usize| {
            let shares = &snapshot.queues[queue].shares;
            shares.get(partition).copied().unwrap_or_default()
        };
        let row = |queue: usize| {
            let share = share(queue);
            let leaf = snapshot.queues[queue].leaf;
            let asked = |r: Resource| if leaf { r } else { Resource::ZERO };
            QueueRow {
                guaranteed: share.guaranteed,
                max: if share.max.is_zero() && !place.exclusive {
                    place.total
                } else {
                    share.max
                },
                used: share.used,
                pending: asked(share.pending),
                pending_less_reserved: asked(share.pending_less_reserved),
                ..QueueRow::default()
            }
        };
        let mut rows: Vec<QueueRow> = (0..snapshot.queues.len()).map(row).collect();
        for index in (0..rows.len()).rev() {
            for child in &self.children[index] {
                let below = rows[*child];
                let row = &mut rows[index];
                row.pending = row.pending.plus(below.pending);
                row.pending_less_reserved =
                    row.pending_less_reserved.plus(below.pending_less_reserved);
            }
        }
        self.rows.push(rows);
        let killable = (0..snapshot.queues.len()).map(|queue| share(queue).killable);
        self.killable.push(killable.collect());
    }

    /// Notes that a queue wanted more (`addPartitionToUnderServedQueues`).
    pub(super) fn note(&mut self, partition: usize, queue: usize) {
        let noted = &mut self.noted[partition][queue];
        if !*noted {
            *noted = true;
            self.underserved[partition].push(queue);
        }
    }

    /// Takes what earlier selectors chose off what is still to be obtained
    /// (`TempQueuePerPartition.deductActuallyToBePreempted`: an amount that would not stay above
    /// nothing is left as it is).
    pub(super) fn deduct(
        &mut self,
        rules: &Rules<'_>,
        total: Resource,
        (partition, queue): (usize, usize),
        size: Resource,
    ) {
        let Some(row) = self.rows[partition].get_mut(queue) else {
            return;
        };
        if rules.more(row.to_obtain, size, total) {
            row.to_obtain = row.to_obtain.minus(size);
        }
        row.to_obtain = rules.max(row.to_obtain, Resource::ZERO, total);
    }
}
