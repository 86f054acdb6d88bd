//! What every queue would hold, ideally, and what it should lose
//! (`AbstractPreemptableResourceCalculator`, `PreemptableResourceCalculator`).
//! May touch: the working table.
//! Must not: know containers.

use yarn_types::Resource;

use super::{QueueRow, Rules, Snapshot, table::Table};
use crate::{
    conf::PreemptionConf,
    num::{compare_need, equal_parts, parts_of, share_of, times_cut},
};

/// Which selector asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Purpose {
    /// What is reserved counts as demand, and nothing is expected to end by itself.
    pub(super) reserved: bool,
    /// Queues at their guarantee go on to share evenly.
    pub(super) balance: bool,
}

/// Computes the table for one selector.
pub(super) struct Ideal<'a> {
    /// The picture.
    pub(super) snapshot: &'a Snapshot,
    /// The settings.
    pub(super) conf: &'a PreemptionConf,
    /// The comparisons.
    pub(super) rules: &'a Rules<'a>,
    /// What it is for.
    pub(super) purpose: Purpose,
    /// The most that the round may take.
    pub(super) allowed: Resource,
}

impl Ideal<'_> {
    /// `computeIdealAllocation`.
    pub(super) fn compute(&self, table: &mut Table) {
        for partition in 0..self.snapshot.partitions.len() {
            self.extras(table, partition);
            let Some(root) = table.rows[partition].first_mut() else {
                continue;
            };
            root.ideal_assigned = root.guaranteed;
            for queue in 0..table.children.len() {
                self.level(table, partition, queue);
            }
        }
        for partition in 0..self.snapshot.partitions.len() {
            self.to_obtain(table, partition);
        }
    }

    /// What is too much: a leaf's may be taken or not, a parent's as far as its children's may.
    fn extras(&self, table: &mut Table, partition: usize) {
        let total = self.snapshot.partitions[partition].total;
        for queue in (0..table.children.len()).rev() {
            let children = &table.children[queue];
            let rows = &mut table.rows[partition];
            let over = rows[queue].used.minus(rows[queue].guaranteed);
            let extra = if self.rules.less(over, Resource::ZERO, total) {
                Resource::ZERO
            } else {
                over
            };
            let below = children
                .iter()
                .map(|child| rows[*child].preemptable_extra)
                .fold(Resource::ZERO, Resource::plus);
            let (preemptable, untouchable) = if children.is_empty() {
                if self.snapshot.queues[queue].disabled {
                    (Resource::ZERO, extra)
                } else {
                    (extra, Resource::ZERO)
                }
            } else if self.rules.less(below, extra, total) {
                (below, extra.minus(below))
            } else {
                (self.rules.min(below, extra, total), Resource::ZERO)
            };
            rows[queue].preemptable_extra = preemptable;
            rows[queue].untouchable_extra = untouchable;
        }
    }

    /// Shares a parent's ideal among its children (`computeIdealResourceDistribution`).
    fn level(&self, table: &mut Table, partition: usize, parent: usize) {
        let children = table.children[parent].clone();
        if children.is_empty() {
            return;
        }
        let of = table.rows[partition][parent].ideal_assigned;
        let mut unassigned = of;
        let (entitled, others): (Vec<usize>, Vec<usize>) = children.iter().partition(|child| {
            self.rules
                .some(table.rows[partition][**child].guaranteed, of)
        });
        self.share_out(table, (partition, of), &entitled, &mut unassigned, false);
        if !others.is_empty() && self.rules.some(unassigned, of) {
            self.share_out(table, (partition, of), &others, &mut unassigned, true);
        }
        self.losses(table, (partition, of), &children);
    }

    /// What each child should lose, scaled to what the round allows.
    fn losses(&self, table: &mut Table, (partition, of): (usize, Resource), children: &[usize]) {
        let rules = self.rules;
        let mut needed = Resource::ZERO;
        for child in children {
            let row = &table.rows[partition][*child];
            if rules.more(row.used, row.ideal_assigned, of) {
                needed = needed.plus(row.used.minus(row.ideal_assigned));
            }
        }
        let scale = if rules.more(needed, self.allowed, of) {
            rules
                .calculator
                .portion(self.allowed, needed, of, rules.types)
        } else {
            1.0
        };
        for child in children {
            let killable = table.killable[partition][*child];
            let row = &mut table.rows[partition][*child];
            let wanted = rules.min(row.used.plus(row.pending), row.guaranteed, of);
            let keep = rules.max(wanted, row.ideal_assigned, of);
            let used = row.used.minus(killable);
            row.to_be_preempted = if rules.more(used, keep, of) {
                share_of(used.minus(keep), scale, rules.types)
            } else {
                Resource::ZERO
            };
        }
    }

    /// Hands `unassigned` out to the queues that want more, the most underserved first
    /// (`computeFixpointAllocation`).
    ///
    /// `unassigned` is reduced by what the queues hold and by the first amount accepted, not by
    /// later ones: so Hadoop sees what is left for queues without a guarantee.
    fn share_out(
        &self,
        table: &mut Table,
        (partition, of): (usize, Resource),
        queues: &[usize],
        unassigned: &mut Resource,
        evenly: bool,
    ) {
        let rules = self.rules;
        let mut hungry = self.start(table, (partition, of), queues, unassigned);
        let mut left = *unassigned;
        let mut first = true;
        while !hungry.is_empty() && rules.some(left, of) {
            let parts = Self::parts(&table.rows[partition], &hungry, evenly);
            let taken = self.most_underserved(table, (partition, of), &mut hungry, parts);
            let round = left;
            for (queue, _, part) in taken {
                if !rules.calculator.any_above_zero(left, rules.types) {
                    break;
                }
                let offer = rules.calculator.times_up_by(round, &part, rules.types);
                let accepted = self.offer(table, (partition, of), queue, offer.min(left));
                let row = &mut table.rows[partition][queue];
                row.ideal_assigned = row.ideal_assigned.plus(accepted);
                if rules.some(accepted, of) {
                    hungry.push(queue);
                }
                left = left.minus(accepted);
                if first {
                    *unassigned = left;
                    first = false;
                }
                left = left.at_least_zero();
            }
        }
        self.sort(table, (partition, of), &mut hungry);
        for queue in hungry {
            table.note(partition, queue);
        }
    }

    /// Gives every queue what it holds, at most its guarantee and what may not be taken; returns
    /// those that want more.
    fn start(
        &self,
        table: &mut Table,
        (partition, of): (usize, Resource),
        queues: &[usize],
        unassigned: &mut Resource,
    ) -> Vec<usize> {
        let mut hungry = Vec::with_capacity(queues.len());
        for queue in queues {
            let row = &mut table.rows[partition][*queue];
            row.ideal_assigned = if self.rules.more(row.used, row.guaranteed, of) {
                row.guaranteed.min(row.used).plus(row.untouchable_extra)
            } else {
                row.used
            };
            *unassigned = unassigned.minus(row.ideal_assigned);
            let wants = row.used.plus(row.pending);
            if self.rules.less(row.ideal_assigned, wants, of) {
                hungry.push(*queue);
            }
        }
        hungry
    }

    /// By queue of `hungry`, its part of what is offered.
    fn parts(rows: &[QueueRow], hungry: &[usize], evenly: bool) -> Vec<Parts> {
        let mut sum = Resource::ZERO;
        for queue in hungry {
            sum = sum.plus(rows[*queue].guaranteed);
        }
        let part = |queue: &usize| {
            if evenly {
                equal_parts(hungry.len())
            } else {
                parts_of(rows[*queue].guaranteed, sum, hungry.len())
            }
        };
        let none = (0.0, 0);
        hungry
            .iter()
            .map(|queue| (*queue, none, part(queue)))
            .collect()
    }

    /// Takes the queues that are equally the most underserved out of `hungry`.
    fn most_underserved(
        &self,
        table: &mut Table,
        (partition, of): (usize, Resource),
        hungry: &mut Vec<usize>,
        mut parts: Vec<Parts>,
    ) -> Vec<Parts> {
        for part in &mut parts {
            part.1 = self.need(table, (partition, of), part.0);
        }
        parts.sort_by(|a, b| compare_need(a.1, b.1));
        let Some(most) = parts.first().map(|(_, need, _)| *need) else {
            return Vec::new();
        };
        let equal = |(_, need, _): &Parts| compare_need(most, *need).is_ge();
        let count = parts.iter().take_while(|part| equal(part)).count();
        // the first that is not among them is noted, too
        for (queue, ..) in parts.iter().take(count + 1) {
            table.note(partition, *queue);
        }
        let rest = parts.split_off(count);
        *hungry = rest.into_iter().map(|(queue, ..)| queue).collect();
        parts
    }

    fn sort(&self, table: &Table, (partition, of): (usize, Resource), hungry: &mut [usize]) {
        let need = |queue: &usize| self.need(table, (partition, of), *queue);
        hungry.sort_by(|a, b| compare_need(need(a), need(b)));
    }

    /// The part of its guarantee that a queue would hold, and its priority.
    fn need(&self, table: &Table, (partition, of): (usize, Resource), queue: usize) -> (f64, i32) {
        let row = &table.rows[partition][queue];
        let part = if self.rules.some(row.guaranteed, of) {
            f64::from(self.rules.calculator.portion(
                row.ideal_assigned,
                row.guaranteed,
                of,
                self.rules.types,
            ))
        } else {
            f64::from(i32::MAX)
        };
        (part, table.priorities[queue])
    }

    /// What a queue accepts of an offer (`TempQueuePerPartition.offer`).
    fn offer(
        &self,
        table: &Table,
        (partition, of): (usize, Resource),
        queue: usize,
        offer: Resource,
    ) -> Resource {
        let rules = self.rules;
        let row = &table.rows[partition][queue];
        let pending = if self.purpose.reserved {
            row.pending
        } else {
            row.pending_less_reserved
        };
        let below_max = row.max.minus(row.ideal_assigned).at_least_zero();
        let wanted = row.used.plus(pending).minus(row.ideal_assigned);
        let mut accepted = below_max.min(rules.min(offer, wanted, of));
        if !self.purpose.balance && table.children[queue].is_empty() {
            let most = rules.max(row.used, row.guaranteed, of);
            let room = most.minus(row.ideal_assigned);
            let room = rules.max(room, Resource::ZERO, of);
            accepted = rules.min(accepted, room, of);
        }
        accepted.at_least_zero().min(offer)
    }

    /// What every leaf should lose in this round: nothing within the dead zone, and less where some
    /// containers are expected to end by themselves.
    fn to_obtain(&self, table: &mut Table, partition: usize) {
        let rules = self.rules;
        let cluster = table.cluster;
        let only = self.only_gpus_short(table, partition);
        let zone = 1.0 + self.conf.max_ignored_over_capacity;
        let natural = [self.conf.natural_termination_factor; yarn_types::LANES];
        for (queue, row) in table.rows[partition].iter_mut().enumerate() {
            let facts = &self.snapshot.queues[queue];
            if !facts.leaf || facts.disabled {
                continue;
            }
            let ignored = times_cut(row.guaranteed, zone, rules.types);
            row.to_obtain = Resource::ZERO;
            if !rules.more(row.used, ignored, cluster) {
                continue;
            }
            row.to_obtain = row.to_be_preempted;
            if !self.purpose.reserved && rules.some(row.to_obtain, cluster) {
                let up = rules
                    .calculator
                    .times_up_by(row.to_obtain, &natural, rules.types);
                row.to_obtain = up;
            }
            if let Some(lane) = only {
                row.to_obtain = Resource::ZERO.with(lane, row.to_obtain.0[lane]);
            }
        }
    }

    /// The lane of GPUs, when at every level what is free does for all that is due except GPUs: a
    /// container without GPUs would end in vain. What is reserved waits for room on one node,
    /// whatever is free elsewhere.
    fn only_gpus_short(&self, table: &Table, partition: usize) -> Option<usize> {
        let gpus = self.rules.gpu_lane().filter(|_| !self.purpose.reserved)?;
        let total = self.snapshot.partitions[partition].total;
        if total.0[gpus] == 0 {
            return None;
        }
        let rows = &table.rows[partition];
        let mut due = vec![Resource::ZERO; rows.len()];
        for (queue, row) in rows.iter().enumerate().rev() {
            if self.snapshot.queues[queue].leaf {
                let wanted = row.ideal_assigned.min(row.used.plus(row.pending));
                due[queue] = wanted.minus(row.used).at_least_zero();
            }
            for child in &table.children[queue] {
                due[queue] = due[queue].plus(due[*child]);
            }
            let most = if queue == 0 { total } else { row.max };
            let free = most.minus(row.used).at_least_zero();
            let short = |lane: usize| lane != gpus && due[queue].0[lane] > free.0[lane];
            if (0..self.rules.types.len()).any(short) {
                return None;
            }
        }
        Some(gpus)
    }
}

/// A queue, how much it needs, and its part of an offer by lane.
type Parts = (usize, (f64, i32), [f64; yarn_types::LANES]);

#[cfg(test)]
#[path = "ideal_test.rs"]
mod tests;
