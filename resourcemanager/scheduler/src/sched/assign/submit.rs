//! Proposals are tested once more against every limit and committed
//! (`CapacityScheduler.tryCommit`).
//! May touch: asks; accounts through `commit.rs`.
//! Must not: search.

use yarn_types::Resource;

use super::{Assignment, Mode, Proposal};
use crate::sched::{Granted, Sched, Told, app::Turn, ids::ContainerIdx};

impl Sched {
    /// Commits what a walk found; true when something was granted or reserved.
    pub(super) fn submit_assignment(&mut self, assignment: Assignment) -> bool {
        if let Some(excess) = assignment.excess {
            self.unreserve(excess);
        }
        assignment
            .proposal
            .is_some_and(|p| self.submit_proposal(&p))
    }

    /// Commits one proposal, unless a limit speaks against it after all.
    fn submit_proposal(&mut self, p: &Proposal) -> bool {
        self.accepts(p) && self.carry_out(p)
    }

    /// Commits a proposal that was tested just now.
    pub(in crate::sched) fn carry_out(&mut self, p: &Proposal) -> bool {
        if p.reserve && p.from.is_some() {
            if let Some(a) = self.app_mut(p.app) {
                let n = &mut a.asks.opportunities_mut(p.key).re_reservations;
                *n = n.saturating_add(1);
            }
            return true;
        }
        if let Some(other) = p.unreserve {
            self.unreserve(other);
        }
        for container in &p.kill {
            if let Some(app) = self.containers.get(*container).map(|c| c.app)
                && self.release(*container)
            {
                self.told.push(Told::Kill {
                    container: *container,
                    app,
                    released: true,
                });
            }
        }
        let asked = self
            .app(p.app)
            .and_then(|a| a.asks.get(p.key))
            .map(|asks| asks.label)
            .unwrap_or_default();
        if p.reserve {
            if let Some(a) = self.app_mut(p.app) {
                a.asks.opportunities_mut(p.key).re_reservations = 0;
            }
            return self.reserve(p.app, p.node, p.size, p.key, asked).is_some();
        }
        if let Some(from) = p.from {
            self.unreserve(from);
        }
        self.grant(p)
    }

    fn grant(&mut self, p: &Proposal) -> bool {
        let Some((host, rack)) = self
            .nodes
            .get(p.node)
            .map(|n| (n.host.clone(), n.rack.clone()))
        else {
            return false;
        };
        let Some(a) = self.app_mut(p.app) else {
            return false;
        };
        let Some((label, asked_at)) = a.asks.get(p.key).map(|asks| (asks.label, asks.asked_at))
        else {
            return false;
        };
        let is_am = a.am.waiting;
        a.am.waiting = false;
        a.asks.granted(p.key, &host, &rack, p.locality);
        let done = match p.key.update {
            Some(target) => self.grow(target, p.size),
            None => self
                .place(p.app, p.node, p.size, p.key, label, is_am)
                .map(|container| {
                    self.told.push(Told::Granted(Granted {
                        app: p.app,
                        node: p.node,
                        container,
                        resource: p.size,
                        key: p.key,
                        locality: p.locality,
                        is_am,
                        asked_at,
                    }));
                })
                .is_some(),
        };
        self.count_demand(p.app);
        done
    }

    /// An increase is granted.
    fn grow(&mut self, target: ContainerIdx, by: Resource) -> bool {
        let Some((app, size)) = self.containers.get(target).map(|c| (c.app, c.resource)) else {
            return false;
        };
        let resource = size.plus(by);
        self.set_size(target, resource);
        self.told.push(Told::Resized {
            container: target,
            app,
            resource,
        });
        true
    }

    pub(in crate::sched) fn accepts(&self, p: &Proposal) -> bool {
        self.accepts_but(p, false)
    }

    /// [`Self::accepts`]; where `user_tested`, it is known that the user is within its limit.
    pub(in crate::sched) fn accepts_but(&self, p: &Proposal, user_tested: bool) -> bool {
        let (Some(a), Some(n)) = (self.app(p.app), self.nodes.get(p.node)) else {
            return false;
        };
        if a.turn != Turn::Active {
            return false;
        }
        if n.reserved != p.from {
            return false;
        }
        if p.reserve && p.from.is_some() {
            return true;
        }
        let killed = p
            .kill
            .iter()
            .filter_map(|idx| self.containers.get(*idx))
            .fold(Resource::ZERO, |sum, c| sum.plus(c.resource));
        if !p.reserve && !self.conf.calculator.fits(p.size, n.free().plus(killed)) {
            return false;
        }
        p.from.is_some() || self.limits_accept(p, killed, user_tested)
    }

    /// The user's and every queue's limit, with what the proposal gives up taken off.
    fn limits_accept(&self, p: &Proposal, killed: Resource, user_tested: bool) -> bool {
        let (calc, types, cluster) = (self.conf.calculator, &self.conf.types, self.cluster_total());
        let (Some(a), Some(n)) = (self.app(p.app), self.nodes.get(p.node)) else {
            return false;
        };
        let label = n.label;
        let given_up = p
            .unreserve
            .and_then(|idx| self.containers.get(idx))
            .map_or(Resource::ZERO, |c| c.resource)
            .plus(killed);
        let within = || {
            let users = &self.tree.get(a.queue).leaf.users;
            let of_user = users
                .get(&a.user)
                .map_or(Resource::ZERO, |u| u.used.get(label));
            let limit = self.user_limit(a.queue, a.user, label, p.mode, true);
            calc.compare(of_user.minus(given_up), limit, cluster, types)
                .is_le()
        };
        if !user_tested && !within() {
            return false;
        }
        let by = p.size.minus(given_up);
        self.tree.chain(a.queue).all(|idx| {
            let q = self.tree.get(idx);
            let most = match p.mode {
                Mode::Respect => self.maximum(idx, label),
                Mode::Ignore => self.labels.total(label),
            };
            calc.fits(q.usage(label).used.plus(by), most)
        })
    }
}
