//! Shares in mixed mode: each resource by itself, amounts before percentages before weights
//! (`CapacitySchedulerQueueCapacityHandler`, `ResourceCalculationDriver`).
//! May touch: the tree in the making.
//! Must not: refuse: what does not fit is cut, with a warning.

use yarn_types::LANES;

use super::{CapTree, Warning, WarningKind, round};
use crate::conf::{CapacityKind, CapacityVector, LaneCapacity};

const ORDER: [CapacityKind; 3] = [
    CapacityKind::Absolute,
    CapacityKind::Percent,
    CapacityKind::Weight,
];

pub(super) fn compute(tree: &mut CapTree<'_>) {
    for queue in 0..tree.queues.len() {
        if tree.queues[queue].parent.is_none() {
            for label in tree.configured(queue) {
                let total = tree.partitions.total(label);
                let own = &mut tree.shares[queue][label];
                own.effective_min = total;
                own.effective_max = total;
                own.abs_capacity = 1.0;
                own.abs_max_capacity = own.max_capacity;
                if (own.weight - 1.0).abs() < f32::EPSILON {
                    own.normalized_weight = 1.0;
                }
            }
        }
        if tree.children[queue].is_empty() {
            continue;
        }
        for label in 0..tree.partitions.names.len().max(1) {
            Branch::new(tree, queue, label).share();
        }
        for child in tree.children[queue].clone() {
            for label in tree.configured(child) {
                fractions(tree, queue, child, label);
            }
        }
    }
}

/// `setQueueCapacities`: the figures that follow from the amounts.
fn fractions(tree: &mut CapTree<'_>, parent: usize, child: usize, label: usize) {
    let (calculator, types) = (tree.calculator, tree.types);
    let total = tree.partitions.total(label);
    let above = tree.shares[parent][label];
    let own = &mut tree.shares[child][label];
    let part = |a, b| round::quotient(calculator, a, b, total, types);
    own.capacity = part(own.effective_min, above.effective_min);
    own.max_capacity = part(own.effective_max, above.effective_max);
    own.abs_capacity = own.capacity * above.abs_capacity;
    own.abs_max_capacity = own.max_capacity * above.abs_max_capacity;
}

/// The children of one parent in one partition; amounts are in units of the wire.
struct Branch<'t, 'a> {
    tree: &'t mut CapTree<'a>,
    parent: usize,
    label: usize,
    children: Vec<usize>,
    /// Left after the kinds that are done; weights and percentages are of this.
    batch: [f64; LANES],
    /// Left after the children that are done.
    overall: [f64; LANES],
    /// By how much children's amounts are scaled down.
    ratio: [f64; LANES],
    weights: [f64; LANES],
}

impl<'t, 'a> Branch<'t, 'a> {
    fn new(tree: &'t mut CapTree<'a>, parent: usize, label: usize) -> Self {
        let mut children = round::java_order(&tree.children[parent], |c| {
            tree.queues[c].conf.path.as_str()
        });
        children.retain(|c| tree.confs[*c][label].is_some());
        let mut left = [0.0; LANES];
        for (lane, left) in left.iter_mut().enumerate() {
            let min = tree.shares[parent][label].effective_min;
            *left = round::to_wire(min.0[lane], lane, tree.types) as f64;
        }
        Self {
            tree,
            parent,
            label,
            children,
            batch: left,
            overall: left,
            ratio: [1.0; LANES],
            weights: [0.0; LANES],
        }
    }

    fn share(&mut self) {
        for lane in 0..self.tree.types.len() {
            self.prepare(lane);
        }
        for lane in 0..self.tree.types.len() {
            for kind in ORDER {
                let mut used = 0.0;
                for child in self.children.clone() {
                    let Some((own, most)) = self.lane(child, lane) else {
                        continue;
                    };
                    if own.kind == kind {
                        let got = self.share_lane(child, lane, own, most);
                        self.overall[lane] -= got;
                        used += got;
                    }
                }
                self.batch[lane] -= used;
            }
        }
        let configured = self.tree.confs[self.parent][self.label].is_some();
        let left = self.batch.iter().take(self.tree.types.len());
        if configured && left.into_iter().any(|l| *l != 0.0) {
            self.warn(WarningKind::BranchUnderutilized, self.parent);
        }
    }

    fn vectors(&self, child: usize) -> Option<(&'a CapacityVector, &'a CapacityVector)> {
        let conf = self.tree.confs[child][self.label]?;
        (!conf.vector.is_empty).then_some((&conf.vector, &conf.max_vector))
    }

    /// A child's capacity and maximum in `lane`, in units of the wire.
    fn lane(&self, child: usize, lane: usize) -> Option<(LaneCapacity, LaneCapacity)> {
        let (own, most) = self.vectors(child)?;
        let wire = |mut l: LaneCapacity| {
            if l.kind == CapacityKind::Absolute {
                l.value /= self.tree.types.scale(lane) as f64;
            }
            l
        };
        Some((wire(own.lanes[lane]), wire(most.lanes[lane])))
    }

    /// Sums that the kinds need (`setNormalizedResourceRatio`, `calculateResourcePrerequisites`).
    fn prepare(&mut self, lane: usize) {
        let mut amounts: i64 = 0;
        for child in self.children.clone() {
            let Some((own, _)) = self.lane(child, lane) else {
                continue;
            };
            match own.kind {
                CapacityKind::Absolute => amounts = round::cut(amounts as f64 + own.value),
                CapacityKind::Weight => self.weights[lane] += own.value,
                CapacityKind::Percent => {}
            }
        }
        let has = round::cut(self.batch[lane]);
        if amounts != 0 && has < amounts {
            self.ratio[lane] = f64::from(has as f32 / amounts as f32);
            self.warn(WarningKind::BranchDownscaled, self.parent);
        }
    }

    fn warn(&mut self, kind: WarningKind, queue: usize) {
        self.tree.warnings.push(Warning { kind, queue });
    }

    /// Gives a child its part of one resource; answers how much (`setChildResources`).
    fn share_lane(
        &mut self,
        child: usize,
        lane: usize,
        own: LaneCapacity,
        most: LaneCapacity,
    ) -> f64 {
        let min = rounded(self.minimum(lane, own), own.kind);
        let max = rounded(self.maximum(lane, most), most.kind);
        let (min, max) = self.fitted(child, lane, min, max);
        let types = self.tree.types;
        let shares = &mut self.tree.shares[child][self.label];
        shares.effective_min.0[lane] = round::from_wire(min, lane, types);
        shares.effective_max.0[lane] = round::from_wire(max, lane, types);
        min
    }

    fn total(&self, lane: usize) -> f64 {
        let total = self.tree.partitions.total(self.label);
        round::to_wire(total.0[lane], lane, self.tree.types) as f64
    }

    /// The parent's guarantee and maximum in `lane`.
    fn parent_has(&self, lane: usize) -> (f64, f64) {
        let shares = &self.tree.shares[self.parent][self.label];
        let wire = |v: i64| round::to_wire(v, lane, self.tree.types) as f64;
        (
            wire(shares.effective_min.0[lane]),
            wire(shares.effective_max.0[lane]),
        )
    }

    fn minimum(&self, lane: usize, own: LaneCapacity) -> f64 {
        let (has, _) = self.parent_has(lane);
        let left = self.batch[lane] / has;
        let total = self.total(lane);
        // Hadoop's order of multiplications, for the same last bit
        match own.kind {
            CapacityKind::Absolute => self.ratio[lane] * left * own.value,
            CapacityKind::Percent => total * (has / total * left * own.value / 100.0),
            CapacityKind::Weight => {
                let part = own.value / self.weights[lane];
                if (part - 1.0).abs() < f64::EPSILON {
                    return self.batch[lane]; // no rounding loss for the only one
                }
                total * (has / total * left * part)
            }
        }
    }

    fn maximum(&self, lane: usize, most: LaneCapacity) -> f64 {
        let (_, has) = self.parent_has(lane);
        let total = self.total(lane);
        match most.kind {
            CapacityKind::Absolute => most.value,
            CapacityKind::Percent => total * (has / total * most.value / 100.0),
            CapacityKind::Weight => 0.0, // refused when the configuration was read
        }
    }

    /// `validateCalculatedResources`.
    fn fitted(&mut self, child: usize, lane: usize, mut min: f64, mut max: f64) -> (f64, f64) {
        let (_, above) = self.parent_has(lane);
        // without memory there is nothing else
        let memory = self.tree.shares[child][self.label]
            .effective_min
            .memory_mb();
        if lane > 0 && memory == 0 {
            min = 0.0;
        }
        if max != 0.0 && max > above {
            self.warn(WarningKind::QueueMaxResourceExceedsParent, child);
        }
        max = if max == 0.0 { above } else { max.min(above) };
        if max < min {
            self.warn(WarningKind::QueueExceedsMaxResource, child);
            min = max;
        }
        if min > self.overall[lane] {
            self.warn(WarningKind::QueueOverutilized, child);
            min = self.overall[lane];
        }
        if min.is_nan() {
            min = 0.0; // a part of nothing
        }
        if min == 0.0 {
            self.warn(WarningKind::QueueZeroResource, child);
        }
        (min, max)
    }
}

/// `DefaultQueueResourceRoundingStrategy`.
fn rounded(value: f64, kind: CapacityKind) -> f64 {
    match kind {
        CapacityKind::Weight => (value + 0.5).floor(),
        CapacityKind::Absolute | CapacityKind::Percent => value.floor(),
    }
}
