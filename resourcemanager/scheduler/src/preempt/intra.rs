//! Takes containers from applications for others of the same leaf (`IntraQueueCandidatesSelector`).
//! May touch: the round.
//! Must not: take an AM.

use std::collections::BTreeMap;

use yarn_types::Resource;

use super::{
    intra_plan::{Plan, Planner},
    round::{Need, Place, Round},
};
use crate::conf::IntraOrder;

/// By partition and queue.
type Plans = BTreeMap<(usize, usize), Plan>;

/// Chooses in the leaves that wanted more.
pub(super) fn select(round: &mut Round<'_>) {
    let mut plans = plans(round);
    round.deduct_chosen();
    deduct_from_plans(round, &mut plans);
    for partition in 0..round.snapshot.partitions.len() {
        for queue in round.table.underserved[partition].clone() {
            let facts = &round.snapshot.queues[queue];
            if facts.leaf && !facts.intra_disabled && !facts.disabled {
                from_leaf(round, &plans, partition, queue);
            }
        }
    }
}

/// A plan for each leaf that wanted more and uses enough of its guarantee
/// (`computeIntraQueuePreemptionDemand`).
fn plans(round: &Round<'_>) -> Plans {
    let mut plans = Plans::new();
    for (partition, queues) in round.table.underserved.iter().enumerate() {
        for queue in queues {
            if !round.snapshot.queues[*queue].leaf || !used_enough(round, partition, *queue) {
                continue;
            }
            let planner = Planner {
                round,
                partition,
                queue: *queue,
            };
            if let Some(plan) = planner.plan() {
                plans.insert((partition, *queue), plan);
            }
        }
    }
    plans
}

fn used_enough(round: &Round<'_>, partition: usize, queue: usize) -> bool {
    let rules = round.rules;
    let total = round.snapshot.partitions[partition].total;
    let row = &round.table.rows[partition][queue];
    let least = round.snapshot.minimum_allocation;
    let guaranteed = rules.max(row.guaranteed, least, total);
    let part = rules
        .calculator
        .portion(row.used, guaranteed, total, rules.types);
    part >= round.conf.intra.minimum_threshold
}

/// What earlier selectors chose counts against every application of the leaf.
fn deduct_from_plans(round: &Round<'_>, plans: &mut Plans) {
    for place in &round.chosen {
        let container = round.container(*place);
        let partition = round.partition(&container);
        let queue = round.snapshot.apps[place.0].queue;
        let total = round.snapshot.partitions[partition].total;
        let Some(plan) = plans.get_mut(&(partition, queue)) else {
            continue;
        };
        for app in &mut plan.apps {
            if round.rules.more(app.actually, container.size, total) {
                app.actually = app.actually.minus(container.size);
            }
        }
    }
}

fn from_leaf(round: &mut Round<'_>, plans: &Plans, partition: usize, queue: usize) {
    let Some(plan) = plans.get(&(partition, queue)) else {
        return;
    };
    let sum = plan.apps.iter().map(|app| app.actually);
    let mut due = sum.fold(Resource::ZERO, Resource::plus);
    if let Some(lane) = only_gpus_short(round, (partition, queue), due) {
        due = Resource::ZERO.with(lane, due.0[lane]);
    }
    let mut needs = vec![None; round.snapshot.partitions.len()];
    needs[partition] = Some(Need::new(due));
    let losers = plan.apps.iter().filter(|app| !app.actually.is_zero());
    let losers: Vec<(usize, usize)> = losers.map(|app| (app.app, app.user)).collect();
    let mut rolling: BTreeMap<usize, Resource> = BTreeMap::new();
    for (app, user) in losers {
        let shares = round.snapshot.users.get(user).map(|user| &user.shares);
        let share = shares.and_then(|shares| shares.get(partition));
        let used = rolling
            .entry(user)
            .or_insert_with(|| share.map_or(Resource::ZERO, |share| share.used));
        from_app(round, plans, (app, user), &mut needs, used);
    }
}

/// The lane of GPUs, when they are due and what is free at every level does for the rest: a
/// container without GPUs would end in vain.
fn only_gpus_short(
    round: &Round<'_>,
    (partition, leaf): (usize, usize),
    due: Resource,
) -> Option<usize> {
    let gpus = round.rules.gpu_lane().filter(|lane| due.0[*lane] > 0)?;
    let total = round.snapshot.partitions[partition].total;
    let rows = &round.table.rows[partition];
    let mut at = Some(leaf);
    while let Some(queue) = at {
        let most = if queue == 0 { total } else { rows[queue].max };
        let free = most.minus(rows[queue].used);
        let short = |lane: usize| lane != gpus && due.0[lane] > free.0[lane].max(0);
        if (0..round.rules.types.len()).any(short) {
            return None;
        }
        at = round.snapshot.queues[queue].parent;
    }
    Some(gpus)
}

/// Takes containers of an application, AMs never, until it or its user would have too little
/// (`preemptFromLeastStarvedApp`).
fn from_app(
    round: &mut Round<'_>,
    plans: &Plans,
    (app, user): (usize, usize),
    needs: &mut [Option<Need>],
    used: &mut Resource,
) {
    for place in round.victims(app) {
        if needs.iter().all(Option::is_none) {
            return;
        }
        let container = round.container(place);
        if round.chosen.contains(&place) || container.killable || container.am {
            continue;
        }
        if keeps(round, plans, place, user, *used) {
            break;
        }
        if !round.take(needs, place, round.conf.intra.conservative_drf) {
            continue;
        }
        if round.conf.intra.order == IntraOrder::UserLimitFirst {
            *used = used.minus(container.size);
        }
    }
}

/// Whether a container is kept because of the plan (`skipContainerBasedOnIntraQueuePolicy`):
/// where users count, when its user would come down to its limit.
fn keeps(round: &Round<'_>, plans: &Plans, place: Place, user: usize, used: Resource) -> bool {
    let container = round.container(place);
    let queue = round.snapshot.apps[place.0].queue;
    let Some(plan) = plans.get(&(round.partition(&container), queue)) else {
        return false;
    };
    let Some(planned) = plan.users.get(&user) else {
        return false;
    };
    let limit = planned.limit.plus(planned.am_used);
    let after = used.minus(container.size);
    round.conf.intra.order == IntraOrder::UserLimitFirst
        && !round.rules.more(after, limit, round.table.cluster)
}

#[cfg(test)]
#[path = "intra_test.rs"]
mod tests;
