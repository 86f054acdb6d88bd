//! What is on each node.
//! May touch: the round, read only.
//! Must not: choose.

use yarn_types::Resource;

use super::round::{Place, Round};

/// One node.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Board {
    /// Its partition.
    pub(super) partition: usize,
    /// Its size less what runs there.
    pub(super) unallocated: Resource,
    /// What may be killed at any time.
    pub(super) killable: Resource,
    /// Containers that run there, by application and number.
    pub(super) running: Vec<Place>,
    /// What is reserved there.
    pub(super) reserved: Option<Place>,
}

/// All nodes; what is on them is there of nodes with reservations, and of all where a reservation
/// may move.
pub(super) fn boards(round: &Round<'_>) -> Vec<Board> {
    let snapshot = round.snapshot;
    let board = |node: &super::Node| Board {
        partition: node.partition,
        unallocated: node.total,
        ..Board::default()
    };
    let mut boards: Vec<Board> = snapshot.nodes.iter().map(board).collect();
    for app in round.apps_on_boards() {
        for (at, container) in round.containers(app).iter().enumerate() {
            let Some(board) = boards.get_mut(container.node) else {
                continue;
            };
            if container.reserved {
                board.reserved = Some((app, at));
                continue;
            }
            board.running.push((app, at));
            board.unallocated = board.unallocated.minus(container.size);
            if container.killable {
                board.killable = board.killable.plus(container.size);
            }
        }
    }
    boards
}

/// Sorts by an order that need not be one: each is put before the first later one it precedes.
/// Never fails, whatever the order says.
pub(super) fn insert_sorted<T>(list: &mut Vec<T>, item: T, before: impl Fn(&T, &T) -> bool) {
    let at = list.partition_point(|other| !before(&item, other));
    list.insert(at, item);
}
