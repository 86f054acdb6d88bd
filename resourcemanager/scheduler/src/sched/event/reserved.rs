//! Reservations in event-driven assignment: fulfilled before anything else, dropped when idle.
//! May touch: reservations, through `commit.rs`.
//! Must not: hold room for what nobody wants.

use yarn_types::Resource;

use super::super::{
    Sched,
    app::{App, Turn},
    assign::{Mode, Proposal},
    container::Container,
    ids::{ContainerIdx, LabelIdx, NodeIdx},
    node::Node,
};

impl Sched {
    /// Grants what `reservation` waits for when it fits, or drops it when its ask, application or
    /// node is no longer what it was made for; true when either happened.
    pub(super) fn try_reserved(&mut self, reservation: ContainerIdx) -> bool {
        let Some(c) = self.containers.get(reservation).filter(|c| c.reserved) else {
            return false;
        };
        let (Some(a), Some(n)) = (self.app(c.app), self.nodes.get(c.node)) else {
            return self.unreserve(reservation);
        };
        let Some(mode) = self.still_wanted(c, a, n) else {
            return self.unreserve(reservation);
        };
        let kill = if self.below_guarantee(a.queue, n.label) {
            self.kill_for(c.node, c.resource)
        } else {
            let fits = self.conf.calculator.fits(c.resource, n.free());
            fits.then(Vec::new)
        };
        let Some(kill) = kill else { return false };
        let Some(locality) = self.level(a, c.key, c.node) else {
            return self.unreserve(reservation);
        };
        let proposal = Proposal {
            app: c.app,
            node: c.node,
            key: c.key,
            size: c.resource,
            locality,
            mode,
            reserve: false,
            from: Some(reservation),
            unreserve: None,
            kill,
        };
        self.accepts(&proposal) && self.commit_accepted(&proposal)
    }

    fn still_wanted(&self, c: &Container, a: &App, n: &Node) -> Option<Mode> {
        let asks = a.asks.get(c.key)?;
        let reserved = a.reserved_count(c.key);
        let wanted = usize::try_from(asks.count()).unwrap_or(0) >= reserved.max(1);
        let holds = a.turn == Turn::Active
            && asks.size == c.resource
            && !a.avoids(&n.host, &n.rack)
            && self.conf.calculator.fits(c.resource, n.total);
        if !wanted || !holds {
            return None;
        }
        if asks.label == n.label {
            return Some(Mode::Respect);
        }
        let shares = asks.label == LabelIdx::DEFAULT && !self.labels.get(n.label).exclusive;
        shares.then_some(Mode::Ignore)
    }

    /// The killable containers of `node` that must end for `size` to fit, oldest first; none where
    /// it fits as it is, `None` where it does not even so.
    pub(super) fn kill_for(&self, node: NodeIdx, size: Resource) -> Option<Vec<ContainerIdx>> {
        let n = self.nodes.get(node)?;
        let calc = self.conf.calculator;
        let mut room = n.free();
        let mut kill = Vec::new();
        if calc.fits(size, room) {
            return Some(kill);
        }
        for idx in &n.killable {
            let Some(c) = self.containers.get(*idx) else {
                continue;
            };
            kill.push(*idx);
            room = room.plus(c.resource);
            if calc.fits(size, room) {
                return Some(kill);
            }
        }
        None
    }
}
