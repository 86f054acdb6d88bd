//! Takes containers from the last applications of queues that hold too much
//! (`FifoCandidatesSelector`).
//! May touch: the round.
//! Must not: know why a queue should lose something.

use yarn_types::Resource;

use super::{
    Action,
    ideal::Purpose,
    round::{Need, Place, Round},
};
use crate::num::share_of;

/// Chooses for all leaves.
pub(super) fn select(round: &mut Round<'_>, purpose: Purpose) {
    round.compute(purpose);
    round.deduct_chosen();
    for queue in 0..round.snapshot.queues.len() {
        let facts = &round.snapshot.queues[queue];
        if facts.leaf && !facts.disabled {
            from_leaf(round, queue);
        }
    }
}

/// Containers that share another partition go first; AMs last.
fn from_leaf(round: &mut Round<'_>, queue: usize) {
    let mut needs = round.needs(queue);
    if needs.iter().all(Option::is_none) {
        return;
    }
    sharing(round, queue, &mut needs);
    let mut ams = Vec::new();
    let mut am_size = Resource::ZERO;
    for app in round.in_order(queue).into_iter().rev() {
        if needs.iter().all(Option::is_none) {
            break;
        }
        from_app(round, app, &mut needs, &mut ams, &mut am_size);
    }
    let share = round.table.rows[0][queue].guaranteed;
    let percent = round.snapshot.queues[queue].max_am_percent;
    let kept = share_of(share, percent, round.rules.types);
    for place in ams {
        if needs.iter().all(Option::is_none)
            || !round.rules.more(am_size, kept, round.table.cluster)
        {
            break;
        }
        if round.take(&mut needs, place, round.conf.conservative_drf) {
            am_size = am_size.minus(round.container(place).size);
        }
    }
}

/// Containers without a label on the nodes of a partition that lets them: the last application's
/// newest first.
fn sharing(round: &mut Round<'_>, queue: usize, needs: &mut [Option<Need>]) {
    for partition in 1..needs.len() {
        if needs[partition].is_none() {
            continue;
        }
        for index in (0..round.apps[queue].len()).rev() {
            let app = round.apps[queue][index];
            for at in (0..round.containers(app).len()).rev() {
                let container = round.container((app, at));
                let shares = container.asked == 0 && !container.reserved;
                if shares && round.partition(&container) == partition {
                    round.take(needs, (app, at), round.conf.conservative_drf);
                }
            }
        }
    }
}

/// Reservations are dropped, then containers taken; AMs are only noted.
fn from_app(
    round: &mut Round<'_>,
    app: usize,
    needs: &mut [Option<Need>],
    ams: &mut Vec<Place>,
    am_size: &mut Resource,
) {
    let conservative = round.conf.conservative_drf;
    for at in 0..round.containers(app).len() {
        let place = (app, at);
        let container = round.container(place);
        if !container.reserved || round.chosen.contains(&place) {
            continue;
        }
        if needs.iter().all(Option::is_none) {
            return;
        }
        round.take(needs, place, conservative);
        round.at_once.push(Action::DropReservation(container.key));
    }
    for place in round.victims(app) {
        if needs.iter().all(Option::is_none) {
            return;
        }
        let container = round.container(place);
        if round.chosen.contains(&place) || container.killable {
            continue;
        }
        if container.am {
            ams.push(place);
            *am_size = am_size.plus(container.size);
            continue;
        }
        round.take(needs, place, conservative);
    }
}

#[cfg(test)]
#[path = "fifo_test.rs"]
mod tests;
