//! Shares in legacy mode: one figure per queue and partition
//! (`AbstractParentQueue.updateClusterResource`, `AbstractCSQueue.updateEffectiveResources`).
//! May touch: the tree in the making.
//! Must not: warn: what is inconsistent was refused when the configuration was read.

use std::cmp::Ordering;

use yarn_types::{LANES, Resource};

use super::{CapTree, round};
use crate::num;

/// By how much amounts below a parent are scaled down, by lane; nothing is 1.
type MinRatio = [Option<f32>; LANES];

pub(super) fn compute(tree: &mut CapTree<'_>) {
    let count = tree.partitions.names.len().max(1);
    // partitions that a queue has figures for, settings or not (`getExistingNodeLabels`)
    let mut existing: Vec<Vec<bool>> = tree
        .confs
        .iter()
        .map(|confs| confs.iter().map(Option::is_some).collect())
        .collect();
    let mut ratios: Vec<Vec<MinRatio>> = vec![Vec::new(); tree.queues.len()];
    for queue in 0..tree.queues.len() {
        let labels: Vec<usize> = (0..count).filter(|l| existing[queue][*l]).collect();
        if tree.queues[queue].parent.is_none() {
            for label in &labels {
                let own = &mut tree.shares[queue][*label];
                if own.weight > 0.0 {
                    own.normalized_weight = 1.0;
                }
            }
        }
        absolute(tree, queue, &labels);
        weigh(tree, queue, &labels, &mut existing);
        let parent = tree.queues[queue].parent;
        for label in tree.configured(queue) {
            let above = parent.and_then(|p| ratios[p].get(label).copied());
            effective(tree, queue, label, above.unwrap_or_default());
        }
        if !tree.children[queue].is_empty() {
            ratios[queue] = (0..count).map(|l| min_ratio(tree, queue, l)).collect();
        }
    }
}

/// `CSQueueUtils.updateAbsoluteCapacitiesByNodeLabels`.
fn absolute(tree: &mut CapTree<'_>, queue: usize, labels: &[usize]) {
    for label in labels {
        let above = tree.queues[queue].parent.map(|p| tree.shares[p][*label]);
        let own = &mut tree.shares[queue][*label];
        let share = own.capacity.max(own.normalized_weight);
        if share > 0.0 {
            own.abs_capacity = share * above.map_or(1.0, |a| a.abs_capacity);
        }
        if own.max_capacity > 0.0 {
            own.abs_max_capacity = own.max_capacity * above.map_or(1.0, |a| a.abs_max_capacity);
        }
    }
}

/// Gives created children a weight, and all weighted children their part of the sum.
fn weigh(tree: &mut CapTree<'_>, queue: usize, labels: &[usize], existing: &mut [Vec<bool>]) {
    let children = tree.children[queue].clone();
    for child in children.iter().filter(|c| tree.queues[**c].dynamic) {
        for label in labels {
            let own = &mut tree.shares[*child][*label];
            if own.weight < 0.0 {
                own.weight = 1.0;
            }
            existing[*child][*label] = true;
        }
    }
    let weighted = |c: &usize| labels.iter().any(|l| tree.shares[*c][*l].weight >= 0.0);
    if !children.iter().any(weighted) {
        return;
    }
    for label in labels {
        let with = || children.iter().filter(|c| existing[**c][*label]);
        let sum: f32 = with()
            .map(|c| tree.shares[*c][*label].weight.max(0.0))
            .fold(0.0, |a, b| a + b);
        if sum.abs() <= 1e-6 {
            continue;
        }
        for child in with().copied().collect::<Vec<_>>() {
            let own = &mut tree.shares[child][*label];
            own.normalized_weight = own.weight / sum;
        }
    }
}

/// `updateEffectiveResources`; of root everything.
fn effective(tree: &mut CapTree<'_>, queue: usize, label: usize, ratio: MinRatio) {
    let total = tree.partitions.total(label);
    let Some(parent) = tree.queues[queue].parent else {
        let own = &mut tree.shares[queue][label];
        own.effective_min = total;
        own.effective_max = total;
        return;
    };
    let types = tree.types;
    let above = tree.shares[parent][label];
    let calculator = tree.calculator;
    let is_absolute = tree.confs[queue]
        .first()
        .and_then(|c| c.as_ref())
        .is_some_and(|c| c.is_absolute);
    let own = &mut tree.shares[queue][label];
    if !is_absolute {
        own.effective_min = num::share_of(total, own.abs_capacity, types);
        own.effective_max = num::share_of(total, own.abs_max_capacity, types);
        return;
    }
    let mut min = own.configured_min;
    for (lane, ratio) in ratio.iter().enumerate() {
        if let Some(ratio) = ratio {
            let wire = round::to_wire(min.0[lane], lane, types);
            min.0[lane] = round::scaled(wire, *ratio).saturating_mul(types.scale(lane));
        }
    }
    own.effective_min = min;
    let most = if above.configured_max.is_zero() {
        above.effective_max
    } else {
        above.configured_max
    };
    own.effective_max = if own.configured_max.is_zero() {
        most
    } else {
        calculator.min(own.configured_max, most, total, types)
    };
    let cluster = tree.partitions.cluster();
    let part = |a, b| round::quotient(calculator, a, b, cluster, types);
    own.capacity = part(own.effective_min, above.effective_min);
    own.max_capacity = part(own.effective_max, above.effective_max);
    own.abs_capacity = own.capacity * above.abs_capacity;
    own.abs_max_capacity = own.max_capacity * above.abs_max_capacity;
}

/// `recalculateEffectiveMinRatio`: what the parent has over the sum of its children's amounts,
/// where that sum is more.
fn min_ratio(tree: &CapTree<'_>, queue: usize, label: usize) -> MinRatio {
    let children = tree.children[queue].iter();
    let sum = children
        .map(|c| tree.shares[*c][label].configured_min)
        .fold(Resource::ZERO, Resource::plus);
    let own = tree.shares[queue][label].effective_min;
    let is_root = tree.queues[queue].parent.is_none();
    let cluster = tree.partitions.cluster();
    let order = tree.calculator.compare(own, sum, cluster, tree.types);
    if order != Ordering::Less || (is_root && own.is_zero()) {
        return [None; LANES];
    }
    let mut ratio = [None; LANES];
    for (lane, part) in ratio.iter_mut().enumerate().take(tree.types.len()) {
        let asked = round::to_wire(sum.0[lane], lane, tree.types);
        let has = round::to_wire(own.0[lane], lane, tree.types);
        if asked != 0 {
            *part = Some(has as f32 / asked as f32);
        }
    }
    ratio
}
