//! Invariants of the accounts, re-added from containers and asks; and the state's digest.
//! May touch: the state, read only.
//! Must not: repair anything.

use std::collections::BTreeMap;

use yarn_types::Resource;

use super::{
    Sched,
    app::{App, Turn},
    container::Container,
    ids::{AppIdx, ContainerIdx, LabelIdx, NodeIdx, QueueIdx, UserIdx},
    label::{Offer, PerLabel},
};

/// What containers and applications add up to.
#[derive(Default)]
struct Sums {
    nodes: BTreeMap<NodeIdx, (Resource, u32)>,
    apps: BTreeMap<AppIdx, (PerLabel, PerLabel, u32, u32)>,
    queues: BTreeMap<QueueIdx, OfQueue>,
    users: BTreeMap<(QueueIdx, UserIdx), OfUser>,
    runnable: BTreeMap<UserIdx, u32>,
}

#[derive(Default)]
struct OfQueue {
    held: PerLabel,
    kept: PerLabel,
    pending: PerLabel,
    am_used: PerLabel,
    containers: u32,
    outstanding: u32,
    runnable: u32,
}

#[derive(Default)]
struct OfUser {
    held: PerLabel,
    am_used: PerLabel,
    apps: u32,
    active: u32,
    pending: u32,
    demanding: u32,
}

fn same<T: Copy + PartialEq + std::fmt::Debug>(
    what: impl FnOnce() -> String,
    kept: T,
    sum: T,
) -> Result<(), String> {
    if kept == sum {
        return Ok(());
    }
    Err(format!("{}: kept {kept:?}, adds up to {sum:?}", what()))
}

impl Sched {
    /// Adds everything up again.
    ///
    /// # Errors
    /// The first account that is not what its containers, reservations and asks add up to.
    pub fn check(&self) -> Result<(), String> {
        let mut sums = Sums::default();
        for (idx, c) in self.containers.iter() {
            self.add_container(&mut sums, idx, c)?;
        }
        for (at, a) in self.apps.iter().enumerate() {
            let idx = AppIdx(u32::try_from(at).unwrap_or(u32::MAX));
            if let Some(a) = a {
                self.add_app(&mut sums, idx, a)?;
            }
        }
        self.check_nodes(&sums)?;
        self.check_queues(&sums)?;
        self.check_users(&sums)
    }

    fn add_container(
        &self,
        sums: &mut Sums,
        idx: ContainerIdx,
        c: &Container,
    ) -> Result<(), String> {
        let n = self.nodes.get(c.node).ok_or("a container's node is gone")?;
        let a = self.app(c.app).ok_or("a container's application is gone")?;
        let of_app = sums.apps.entry(c.app).or_default();
        if c.reserved {
            of_app.1.add(n.label, c.resource);
            of_app.3 += 1;
            same(
                || format!("reservation on {}", n.host),
                n.reserved,
                Some(idx),
            )?;
            let known = a.reservations.get(&c.key).and_then(|of| of.get(&c.node));
            same(|| format!("reservation of {}", a.id), known, Some(&idx))?;
        } else {
            of_app.0.add(n.label, c.resource);
            of_app.2 += 1;
            let node = sums.nodes.entry(c.node).or_default();
            *node = (node.0.plus(c.resource), node.1 + 1);
        }
        for queue in self.tree.chain(a.queue) {
            let of = sums.queues.entry(queue).or_default();
            of.held.add(n.label, c.resource);
            of.containers += 1;
            if c.reserved {
                of.kept.add(n.label, c.resource);
            }
        }
        let user = sums.users.entry((a.queue, a.user)).or_default();
        user.held.add(n.label, c.resource);
        Ok(())
    }

    fn add_app(&self, sums: &mut Sums, idx: AppIdx, a: &App) -> Result<(), String> {
        let mut wanted = PerLabel::default();
        let mut count = 0;
        let counts = matches!(a.turn, Turn::Pending | Turn::Active);
        for (_, asks) in a.asks.iter().filter(|_| counts) {
            wanted.add(asks.label, asks.pending());
            count += asks.count().unsigned_abs();
        }
        let id = a.id;
        same(|| format!("demand of {id}"), &a.counted, &wanted)?;
        same(
            || format!("outstanding of {id}"),
            a.counted_containers,
            count,
        )?;
        let (live, reserved, number, held) = sums.apps.remove(&idx).unwrap_or_default();
        same(|| format!("held by {id}"), &a.used, &live)?;
        same(|| format!("reserved by {id}"), &a.reserved, &reserved)?;
        same(|| format!("containers of {id}"), a.live, number)?;
        let kept: usize = a.reservations.values().map(BTreeMap::len).sum();
        same(|| format!("reservations of {id}"), kept, held as usize)?;
        for queue in self.tree.chain(a.queue) {
            let of = sums.queues.entry(queue).or_default();
            for label in wanted.labels() {
                of.pending.add(label, wanted.get(label));
            }
            of.outstanding += count;
            of.runnable += u32::from(counts);
        }
        let active = a.turn == Turn::Active;
        let leaf = &self.tree.get(a.queue).leaf;
        let table = match a.turn {
            Turn::Active => leaf.active.get(&a.order).copied(),
            Turn::Pending => leaf.pending.get(&a.order).copied(),
            Turn::NotRunnable => leaf.not_runnable.get(&a.submitted).copied(),
            Turn::None => Some(idx),
        };
        same(|| format!("place of {id} in its leaf"), table, Some(idx))?;
        if active {
            let of = sums.queues.entry(a.queue).or_default();
            of.am_used.add(a.am.label, a.am.size);
        }
        *sums.runnable.entry(a.user).or_default() += u32::from(counts);
        let user = sums.users.entry((a.queue, a.user)).or_default();
        user.apps += 1;
        user.active += u32::from(active);
        user.pending += u32::from(a.turn == Turn::Pending);
        user.demanding += u32::from(count > 0);
        if active {
            user.am_used.add(a.am.label, a.am.size);
        }
        Ok(())
    }

    fn check_nodes(&self, sums: &Sums) -> Result<(), String> {
        let mut sums_of = vec![Offer::default(); self.labels.len()];
        let mut largest = Resource::ZERO;
        for (idx, n) in self.nodes.iter() {
            let held = sums.nodes.get(&idx).copied().unwrap_or_default();
            same(|| format!("node {}", n.host), (n.used, n.containers), held)?;
            let reserved = n.reserved.map(|r| self.containers.get(r).map(|c| c.node));
            if reserved.is_some_and(|node| node != Some(idx)) {
                return Err(format!("node {} keeps a reservation that is gone", n.host));
            }
            if n.usable {
                sums_of[n.label.at()].add(n.offer());
                largest = largest.max(n.total);
            }
        }
        for (idx, label) in self.labels.iter() {
            let what = || format!("partition '{}'", label.name);
            same(what, label.offered, sums_of[idx.at()])?;
        }
        let kept = (self.nodes.usable, self.nodes.count);
        let found = (self.nodes.usable().count(), self.nodes.iter().count());
        same(|| "nodes".to_owned(), kept, found)?;
        same(|| "largest node".to_owned(), self.nodes.largest(), largest)?;
        let reserved = self.nodes.iter().filter_map(|(_, n)| n.reserved);
        let what = || "reservations".to_owned();
        same(what, self.nodes.reservations().count(), reserved.count())?;
        let killable = self.nodes.iter().filter(|(_, n)| !n.killable.is_empty());
        let what = || "nodes with killable containers".to_owned();
        same(what, self.nodes.killable().count(), killable.count())
    }

    fn check_queues(&self, sums: &Sums) -> Result<(), String> {
        let none = OfQueue::default();
        for (idx, q) in self.tree.iter() {
            let of = sums.queues.get(&idx).unwrap_or(&none);
            let path = &q.path;
            for at in 0..self.labels.len() {
                let label = LabelIdx(u8::try_from(at).unwrap_or(u8::MAX));
                let usage = q.usage(label);
                let what = |s: &'static str| move || format!("{s} {path} in partition {at}");
                same(what("held in"), usage.used, of.held.get(label))?;
                same(what("reserved in"), usage.reserved, of.kept.get(label))?;
                same(what("wanted in"), usage.pending, of.pending.get(label))?;
                same(
                    what("ApplicationMasters of"),
                    usage.am_used,
                    of.am_used.get(label),
                )?;
            }
            let kept = (q.containers, q.pending_containers, q.runnable);
            let sum = (of.containers, of.outstanding, of.runnable);
            same(|| format!("counts of {path}"), kept, sum)?;
        }
        let gone = sums.queues.keys().find(|idx| !self.tree.get(**idx).live);
        gone.map_or(Ok(()), |idx| Err(format!("{idx:?} is gone but not empty")))
    }

    fn check_users(&self, sums: &Sums) -> Result<(), String> {
        let none = OfUser::default();
        for (idx, q) in self.tree.iter() {
            let mut by_active = PerLabel::default();
            let (mut active, mut apps) = (0, 0);
            for (user, u) in &q.leaf.users {
                let of = sums.users.get(&(idx, *user)).unwrap_or(&none);
                let what = || format!("{user:?} in {}", q.path);
                same(what, (&u.used, &u.am_used), (&of.held, &of.am_used))?;
                let kept = (u.apps, u.active_apps, u.pending_apps, u.demanding);
                same(what, kept, (of.apps, of.active, of.pending, of.demanding))?;
                same(what, u.active, of.demanding > 0 && of.active > 0)?;
                apps += u.apps;
                if u.active {
                    active += 1;
                    for label in u.used.labels() {
                        by_active.add(label, u.used.get(label));
                    }
                }
            }
            let sums = &q.leaf.sums;
            let what = || format!("active users of {}", q.path);
            same(
                what,
                (&sums.used_by_active, sums.active),
                (&by_active, active),
            )?;
            same(|| format!("applications of {}", q.path), q.leaf.apps, apps)?;
        }
        for (user, count) in &sums.runnable {
            let what = || format!("runnable applications of {user:?}");
            same(what, self.runnable_of(*user), *count)?;
        }
        Ok(())
    }

    /// Feeds every figure that decides anything into `into`, in a fixed order.
    pub fn digest(&self, into: &mut impl FnMut(u64)) {
        let resource = |r: Resource, into: &mut dyn FnMut(u64)| {
            for lane in r.0 {
                into(lane.cast_unsigned());
            }
        };
        for (idx, q) in self.tree.iter() {
            into(u64::from(idx.0));
            for usage in &q.usage {
                resource(usage.used, into);
                resource(usage.reserved, into);
                resource(usage.pending, into);
                resource(usage.am_used, into);
            }
            into(u64::from(q.containers));
            into(u64::from(q.runnable));
        }
        for (idx, n) in self.nodes.iter() {
            into(u64::from(idx.0));
            into(u64::from(n.usable));
            into(u64::from(n.label.0));
            into(n.reserved.map_or(0, |r| u64::from(r.slot) + 1));
            resource(n.used, into);
            resource(n.total, into);
        }
        for a in self.apps.iter().flatten() {
            into(u64::from(a.id.id));
            into(u64::from(a.queue.0));
            into(u64::from(a.priority.cast_unsigned()));
            resource(a.used.sum(), into);
            resource(a.reserved.sum(), into);
            resource(a.counted.sum(), into);
        }
    }
}
