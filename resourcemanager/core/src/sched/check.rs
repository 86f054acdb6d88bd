//! Invariants of the accounts, re-added from the containers; and the state's digest.
//! May touch: the state, read only.
//! Must not: repair anything.

use std::collections::BTreeMap;

use yarn_types::Resource;

use super::{
    Am, Sched,
    ids::{AppIdx, NodeIdx, QueueIdx, UserIdx},
};

impl Sched {
    /// Adds everything up again.
    ///
    /// # Errors
    /// The first account that is not what its containers and asks add up to, or is over what there is.
    pub fn check(&self) -> Result<(), String> {
        let mut nodes: BTreeMap<NodeIdx, (Resource, u32)> = BTreeMap::new();
        let mut apps: BTreeMap<AppIdx, (Resource, u32)> = BTreeMap::new();
        let mut users: BTreeMap<(QueueIdx, UserIdx), Resource> = BTreeMap::new();
        let mut queues = vec![(Resource::ZERO, 0_u32); self.tree.queues.len()];
        for alloc in self.allocs.iter() {
            let add = |sum: &mut (Resource, u32)| *sum = (sum.0.plus(alloc.resource), sum.1 + 1);
            add(nodes.entry(alloc.node).or_default());
            add(apps.entry(alloc.app).or_default());
            let user = users.entry((alloc.queue, alloc.user)).or_default();
            *user = user.plus(alloc.resource);
            for idx in self.tree.chain(alloc.queue) {
                add(&mut queues[idx.at()]);
            }
        }
        self.check_nodes(&nodes)?;
        for (index, a) in self.apps.iter().enumerate() {
            let idx = AppIdx(u32::try_from(index).unwrap_or(u32::MAX));
            let held = apps.get(&idx).copied().unwrap_or_default();
            match a {
                Some(a) if (a.used, a.containers) != held => {
                    return Err(format!(
                        "application {} holds {:?}, its containers {held:?}",
                        a.id, a.used
                    ));
                }
                None if held.1 > 0 => return Err(format!("{idx:?} is gone but holds {held:?}")),
                _ => {}
            }
        }
        self.check_queues(&queues, &users)
    }

    fn check_nodes(&self, held: &BTreeMap<NodeIdx, (Resource, u32)>) -> Result<(), String> {
        for (idx, node) in self.nodes.iter() {
            let sum = held.get(&idx).copied().unwrap_or_default();
            if (node.used, node.containers) != sum {
                return Err(format!(
                    "node {} holds {:?}, its containers {sum:?}",
                    node.host, node.used
                ));
            }
        }
        match held.keys().find(|idx| self.nodes.get(**idx).is_none()) {
            Some(idx) => Err(format!("{idx:?} is gone but holds containers")),
            None => Ok(()),
        }
    }

    fn check_queues(
        &self,
        queues: &[(Resource, u32)],
        users: &BTreeMap<(QueueIdx, UserIdx), Resource>,
    ) -> Result<(), String> {
        let mut pending = vec![Resource::ZERO; queues.len()];
        let mut ams = vec![Resource::ZERO; queues.len()];
        for a in self.apps.iter().flatten() {
            for idx in self.tree.chain(a.queue) {
                pending[idx.at()] = pending[idx.at()].plus(a.counted.0);
            }
            if let Am::Asked { size, .. } | Am::Placed { size } = a.am {
                ams[a.queue.at()] = ams[a.queue.at()].plus(size);
            }
        }
        for (index, q) in self.tree.queues.iter().enumerate() {
            let path = &q.conf.path;
            if (q.used, q.containers) != queues[index] {
                return Err(format!(
                    "queue {path} holds {:?}, its containers {:?}",
                    q.used, queues[index]
                ));
            }
            if q.pending != pending[index] {
                return Err(format!(
                    "queue {path} wants {:?}, its applications {:?}",
                    q.pending, pending[index]
                ));
            }
            if q.leaf.am_used != ams[index] {
                return Err(format!(
                    "ApplicationMasters of {path} hold {:?}, not {:?}",
                    q.leaf.am_used, ams[index]
                ));
            }
            for (user, of_user) in &q.leaf.users {
                let idx = QueueIdx(u16::try_from(index).unwrap_or(u16::MAX));
                let sum = users.get(&(idx, *user)).copied().unwrap_or_default();
                if of_user.used != sum {
                    return Err(format!(
                        "{user:?} holds {:?} in {path}, not {sum:?}",
                        of_user.used
                    ));
                }
            }
        }
        Ok(())
    }

    /// No node holds more than it offers (a law of runs in which no total shrinks).
    ///
    /// # Errors
    /// The first node that does.
    pub fn check_never_over(&self) -> Result<(), String> {
        let over = |free: Resource| !self.conf.calculator.fits(Resource::ZERO, free);
        match self.nodes.iter().find(|(_, n)| over(n.free())) {
            Some((_, n)) => Err(format!(
                "node {} offers {:?} and holds {:?}",
                n.host, n.total, n.used
            )),
            None => Ok(()),
        }
    }

    /// Feeds every figure that decides anything into `into`, in a fixed order.
    pub fn digest(&self, into: &mut impl FnMut(u64)) {
        let resource = |r: Resource, into: &mut dyn FnMut(u64)| {
            for lane in r.0 {
                into(lane.cast_unsigned());
            }
        };
        for q in &self.tree.queues {
            resource(q.used, into);
            resource(q.pending, into);
            resource(q.leaf.am_used, into);
            into(u64::from(q.containers));
        }
        for (idx, node) in self.nodes.iter() {
            into(u64::from(idx.0));
            into(u64::from(node.usable));
            resource(node.used, into);
            resource(node.total, into);
        }
        for a in self.apps.iter().flatten() {
            into(u64::from(a.id.id));
            into(u64::from(a.queue.0));
            resource(a.used, into);
            resource(a.counted.0, into);
        }
    }
}
