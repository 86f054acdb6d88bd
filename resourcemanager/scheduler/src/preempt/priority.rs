//! Takes containers of queues of lower priority where one of higher priority has waited long on its
//! reservation, both below their guarantees perhaps (`QueuePriorityContainerCandidateSelector`).
//! May touch: the round.
//! Must not: take an AM.

use std::{cmp::Ordering, collections::BTreeSet};

use yarn_types::Resource;

use super::{
    Action,
    nodes::{Board, boards, insert_sorted},
    round::{Place, Round},
};

/// What is being done for reservations.
struct Work {
    boards: Vec<Board>,
    /// Nodes that were changed in this round.
    touched: BTreeSet<usize>,
    /// By partition, then queue: what was freed for it.
    freed: Vec<Vec<Resource>>,
}

/// Chooses for reservations older than the delay, until their queues have their guarantees.
pub(super) fn select(round: &mut Round<'_>) {
    if !round.may_have_reservations() {
        return;
    }
    let boards = boards(round);
    let mut waiting = Vec::new();
    for (node, board) in boards.iter().enumerate() {
        let Some(place) = board.reserved else {
            continue;
        };
        let queue = queue_of(round, place);
        if (0..round.snapshot.queues.len()).any(|other| outranks(round, queue, other)) {
            insert_sorted(&mut waiting, (place, node), |a, b| {
                order(round, a.0, b.0).is_lt()
            });
        }
    }
    let queues = round.snapshot.queues.len();
    let mut work = Work {
        touched: BTreeSet::new(),
        freed: vec![vec![Resource::ZERO; queues]; round.snapshot.partitions.len()],
        boards,
    };
    for (place, node) in waiting {
        let age = round.now.since(round.container(place).created);
        if age >= round.conf.underutilized_delay_ms {
            serve(round, &mut work, place, node);
        }
    }
}

/// Frees the node of a reservation, or moves it where that is allowed.
fn serve(round: &mut Round<'_>, work: &mut Work, place: Place, node: usize) {
    let queue = queue_of(round, place);
    let partition = work.boards[node].partition;
    if satisfied(round, work, partition, queue) {
        return;
    }
    let wanted = round.container(place).size;
    if let Some(victims) = enough(round, work, wanted, queue, node, false) {
        work.touched.insert(node);
        let freed = &mut work.freed[partition][queue];
        *freed = freed.plus(wanted);
        for victim in victims {
            round.allowed = round.allowed.minus(round.container(victim).size);
            round.choose(victim);
        }
    } else if round.conf.underutilized_move_reservation {
        relocate(round, work, place);
    }
}

/// Whether a queue holds its guarantee, counting what was freed for it but not what is reserved.
fn satisfied(round: &Round<'_>, work: &Work, partition: usize, queue: usize) -> bool {
    let shares = &round.snapshot.queues[queue].shares;
    let share = shares.get(partition).copied().unwrap_or_default();
    let held = share
        .used
        .minus(share.reserved)
        .plus(work.freed[partition][queue]);
    let cluster = round.table.cluster;
    !round.rules.less(held, share.guaranteed, cluster)
}

/// The containers to take so that `wanted` fits on a node; none when that can't be.
fn enough(
    round: &Round<'_>,
    work: &Work,
    wanted: Resource,
    queue: usize,
    node: usize,
    elsewhere: bool,
) -> Option<Vec<Place>> {
    let board = &work.boards[node];
    if work.touched.contains(&node) || (elsewhere && board.reserved.is_some()) {
        return None;
    }
    let rules = round.rules;
    let mut running = Vec::with_capacity(board.running.len());
    for place in &board.running {
        insert_sorted(&mut running, *place, |a, b| order(round, *a, *b).is_lt());
    }
    let mut lacking = wanted.minus(board.unallocated);
    for place in running.iter().filter(|place| round.chosen.contains(place)) {
        lacking = lacking.minus(round.container(*place).size);
    }
    let mut victims = Vec::new();
    if rules.fits(lacking, Resource::ZERO) {
        return Some(victims);
    }
    let mut allowed = round.allowed;
    for place in running {
        let container = round.container(place);
        if round.chosen.contains(&place)
            || container.am
            || !outranks(round, queue, queue_of(round, place))
        {
            continue;
        }
        if !rules.less(allowed, container.size, round.table.cluster) {
            allowed = allowed.minus(container.size);
            lacking = lacking.minus(container.size);
            victims.push(place);
        }
        if rules.fits(lacking, Resource::ZERO) {
            return Some(victims);
        }
    }
    None
}

/// Moves a reservation to the first node of its partition where enough could be taken.
fn relocate(round: &mut Round<'_>, work: &mut Work, place: Place) {
    let container = round.container(place);
    if container.pinned {
        return;
    }
    let queue = queue_of(round, place);
    for node in 0..work.boards.len() {
        if work.boards[node].partition != container.asked {
            continue;
        }
        if enough(round, work, container.size, queue, node, true).is_some() {
            work.touched.insert(node);
            round.at_once.push(Action::MoveReservation {
                reservation: container.key,
                to: node,
            });
            return;
        }
    }
}

fn queue_of(round: &Round<'_>, place: Place) -> usize {
    round.snapshot.apps[place.0].queue
}

/// Queues of higher priority first, else the older first.
fn order(round: &Round<'_>, a: Place, b: Place) -> Ordering {
    let (qa, qb) = (queue_of(round, a), queue_of(round, b));
    if outranks(round, qa, qb) {
        Ordering::Less
    } else if outranks(round, qb, qa) {
        Ordering::Greater
    } else {
        let created = |place| round.container(place).created;
        created(a).cmp(&created(b))
    }
}

/// Leaf `a` has priority over leaf `b`: of their ancestors below the lowest common one, that of
/// `a` has the higher priority.
fn outranks(round: &Round<'_>, a: usize, b: usize) -> bool {
    let queues = &round.snapshot.queues;
    if a == b || !queues[a].leaf || !queues[b].leaf {
        return false;
    }
    let path = |mut queue: usize| {
        let mut path = vec![queue];
        while let Some(parent) = queues[queue].parent.filter(|p| *p < queue) {
            path.push(parent);
            queue = parent;
        }
        path
    };
    let (pa, pb) = (path(a), path(b));
    let differ = pa.iter().rev().zip(pb.iter().rev()).find(|(x, y)| x != y);
    differ.is_some_and(|(x, y)| round.table.priorities[*x] > round.table.priorities[*y])
}

#[cfg(test)]
#[path = "priority_test.rs"]
mod tests;
