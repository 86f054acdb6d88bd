//! Takes containers where something is reserved, just enough for it
//! (`ReservedContainerCandidatesSelector`).
//! May touch: the round.
//! Must not: take an AM.

use yarn_types::Resource;

use super::{
    ideal::Purpose,
    nodes::{Board, boards},
    round::{Place, Round},
};

/// By queue and partition, what may be taken.
type Quotas = Vec<Vec<Option<Resource>>>;

/// Chooses on the nodes where that costs least, compared to what is reserved.
pub(super) fn select(round: &mut Round<'_>) {
    round.compute(Purpose {
        reserved: true,
        balance: false,
    });
    if !round.may_have_reservations() {
        return;
    }
    let mut quotas = quotas(round);
    let boards = boards(round);
    let mut worth: Vec<(f32, &Board)> = Vec::new();
    for board in boards.iter().filter(|board| board.reserved.is_some()) {
        if let Some((cost, _)) = on_node(round, board, &mut quotas, true) {
            worth.push((cost, board));
        }
    }
    worth.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (_, board) in worth {
        if let Some((_, places)) = on_node(round, board, &mut quotas, false) {
            for place in places {
                round.choose(place);
            }
        }
    }
}

fn quotas(round: &Round<'_>) -> Quotas {
    let cluster = round.table.cluster;
    let quota = |queue: usize| {
        let facts = &round.snapshot.queues[queue];
        let open = facts.leaf && !facts.disabled;
        let of = |rows: &Vec<super::QueueRow>| {
            let amount = rows[queue].to_obtain;
            (open && round.rules.some(amount, cluster)).then_some(amount)
        };
        round.table.rows.iter().map(of).collect()
    };
    (0..round.snapshot.queues.len()).map(quota).collect()
}

/// What to take on a node, the newest containers first, and its cost; none when it would not do or
/// is not needed.
fn on_node(
    round: &mut Round<'_>,
    board: &Board,
    quotas: &mut Quotas,
    look: bool,
) -> Option<(f32, Vec<Place>)> {
    let rules = round.rules;
    let wanted = round.container(board.reserved?).size;
    let mut room = board.unallocated.plus(board.killable);
    if rules.fits(wanted, room) {
        return None;
    }
    let mut selected = Vec::new();
    let mut cost = Resource::ZERO;
    for place in board.running.iter().rev() {
        let container = round.container(*place);
        if container.killable || container.am {
            continue;
        }
        let queue = round.snapshot.apps[place.0].queue;
        let Some(quota) = quotas[queue][board.partition].as_mut() else {
            continue;
        };
        if !rules.fits(container.size, *quota) || !rules.fits(container.size, round.allowed) {
            continue;
        }
        if !look {
            *quota = quota.minus(container.size);
            round.allowed = round.allowed.minus(container.size);
        }
        if !round.chosen.contains(place) {
            selected.push(*place);
            cost = cost.plus(container.size);
        }
        room = room.plus(container.size);
        if rules.fits(wanted, room) {
            return Some((rules.calculator.cost(cost, wanted, rules.types), selected));
        }
    }
    if !look {
        // Hadoop gives the quotas back, but not what the round may take
        for place in selected {
            let queue = round.snapshot.apps[place.0].queue;
            if let Some(quota) = quotas[queue][board.partition].as_mut() {
                *quota = quota.plus(round.container(place).size);
            }
        }
    }
    None
}

#[cfg(test)]
#[path = "reserved_test.rs"]
mod tests;
