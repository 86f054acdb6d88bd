//! Laws of a town that are judged by what was before an event and what is after it, with figures of
//! their own: shares and settings, not the scheduler's tests.
//! May touch: the core's public face.
//! Must not: repair anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rm_core::{
    Action, Effect, Event, Rm,
    effect::Note,
    event::NodeRequest,
    sched::{AppIdx, ContainerIdx, NodeIdx, QueueFigures},
};
use yarn_types::{ApplicationState, ContainerId, NodeId, NodeState, Resource};

use super::World;
use crate::{Options, Preemption};

/// The largest container of a town with what it may grow by.
const LARGEST: Resource = Resource([7_168, 2, 3_000, 0, 0, 0, 0, 0]);
/// An application whose lifetime is over must have ended within this time: its attempt's end and
/// its own are stored before.
const LIFETIME_SLACK_MS: u64 = 12_000;

/// What a law looks back at.
pub(super) struct Seen {
    queues: BTreeMap<Arc<str>, QueueFigures>,
    users: BTreeMap<(Arc<str>, Arc<str>), Resource>,
    marked: BTreeSet<ContainerIdx>,
    /// Reservations of each application.
    reserved: BTreeMap<AppIdx, BTreeSet<u32>>,
    killable: bool,
}

impl Seen {
    /// The state as it is; applications have the numbers below `apps`.
    pub fn of(rm: &Rm, apps: usize) -> Self {
        let sched = rm.sched();
        let queues = sched.queues();
        let mut users = BTreeMap::new();
        for q in queues.iter().filter(|q| q.children.is_empty()) {
            for (user, figures) in sched.user_figures(q.idx) {
                let used = figures.used.first().copied().unwrap_or_default();
                users.insert((q.path.clone(), user), used);
            }
        }
        let killable = queues.iter().any(|q| !sched.killable_of(q.idx).is_zero());
        let queues = queues.into_iter().map(|q| (q.path.clone(), q));
        let apps = (0..u32::try_from(apps).unwrap_or(0)).map(AppIdx);
        let reserved = apps.filter_map(|app| {
            let figures = sched.app_figures(app)?;
            let nodes = figures.reservations.iter().map(|(node, _)| node.0);
            Some((app, nodes.collect()))
        });
        Self {
            queues: queues.collect(),
            users,
            marked: sched.marked_for_preemption().into_iter().collect(),
            reserved: reserved.collect(),
            killable,
        }
    }
}

/// Placing happens in this event or in the pass after it, and nothing else that a law would
/// mistake for it.
pub(super) fn places(event: &Event, options: &Options) -> bool {
    match event {
        Event::Am { .. } => true,
        Event::Node { request, .. } => {
            options.heartbeat_paced && matches!(request, NodeRequest::Heartbeat(_))
        }
        _ => false,
    }
}

/// A share of the cluster: that of the lane of which it takes most.
fn dominant(of: Resource, total: Resource) -> f64 {
    let lanes = of.0.iter().zip(total.0);
    lanes
        .filter(|(_, total)| *total > 0)
        .map(|(of, total)| *of as f64 / total as f64)
        .fold(0.0, f64::max)
}

/// The flag of a queue, or of the nearest one above that has it.
fn disabled(queues: &BTreeMap<Arc<str>, QueueFigures>, path: &str) -> bool {
    let mut at = queues.get(path);
    while let Some(q) = at {
        if let Some(flag) = q.conf.disable_preemption {
            return flag;
        }
        at = q.parent.as_ref().and_then(|p| queues.get(p));
    }
    false
}

impl World {
    /// What [`Self::judge`] wants to know of the state before an event.
    pub(super) fn look(&self) -> Option<Seen> {
        let town = self.options.town;
        town.then(|| Seen::of(&self.rm, self.options.apps))
    }

    /// Judges an event and its passes.
    pub(super) fn judge(
        &mut self,
        before: &Seen,
        placing: bool,
        effects: &[Effect],
    ) -> Result<(), String> {
        let after = Seen::of(&self.rm, self.options.apps);
        if placing {
            self.keeps_maxima(before, &after)?;
            self.keeps_user_limits(before, &after)?;
        }
        for effect in effects {
            let granted = match &effect.action {
                Action::Note(Note::Granted {
                    container, node, ..
                }) => Some((*container, node)),
                _ => None,
            };
            if let Some((container, node)) = granted {
                self.keeps_nodes(container, node)?;
            }
        }
        self.asks_back_rightly(before, &after)?;
        self.reservations_are_wanted()?;
        self.count_deeds(before, &after);
        Ok(())
    }

    /// No queue gets more of a type than its maximum, in the partitions that are nobody else's.
    fn keeps_maxima(&self, before: &Seen, after: &Seen) -> Result<(), String> {
        let sched = self.rm.sched();
        for (label, partition) in sched.label_figures().iter().enumerate() {
            if label > 0 && !partition.exclusive {
                continue;
            }
            for (path, q) in &after.queues {
                let was = before.queues.get(path).and_then(|q| q.usage.get(label));
                let (Some(was), Some(is)) = (was, q.usage.get(label)) else {
                    continue;
                };
                for lane in 0..sched.types().len() {
                    let (used, most) = (is.used.0[lane], is.effective_max.0[lane]);
                    if used > was.used.0[lane] && used > most {
                        return Err(format!(
                            "{path} was given {:?} of partition '{}', its maximum is {:?}",
                            is.used, partition.name, is.effective_max
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// No user gets more of a leaf than its guarantee times `user-limit-factor`, but for the one
    /// container with which the limit is passed.
    fn keeps_user_limits(&self, before: &Seen, after: &Seen) -> Result<(), String> {
        let total = self.rm.sched().cluster_total();
        for ((path, user), used) in &after.users {
            let key = (path.clone(), user.clone());
            let was = before.users.get(&key).copied().unwrap_or_default();
            let Some(q) = after.queues.get(path).filter(|_| !used.fits(was)) else {
                continue;
            };
            let guaranteed = q.usage.first().map(|u| u.effective_min);
            let guaranteed = guaranteed.unwrap_or_default().max(Resource::new(1024, 1));
            let factor = f64::from(q.conf.user_limit_factor);
            // rounded up to whole smallest containers
            let most =
                dominant(guaranteed, total) * factor + dominant(Resource::new(1024, 1), total);
            let without_last = dominant(*used, total) - dominant(LARGEST, total);
            if factor >= 0.0 && without_last > most {
                return Err(format!(
                    "{user} was given {used:?} in {path}, which has {guaranteed:?} and a \
                     user-limit-factor of {factor}"
                ));
            }
        }
        Ok(())
    }

    /// What did not ask for an exclusive partition is not placed in it, and nothing on a node that
    /// only waits for what it runs.
    fn keeps_nodes(&mut self, container: ContainerId, node: &NodeId) -> Result<(), String> {
        let Some(seen) = self.rm.node(node) else {
            return Err(format!(
                "{container} was placed on {node}, which is unknown"
            ));
        };
        if seen.state == NodeState::Decommissioning {
            return Err(format!(
                "{container} was placed on {node}, which is DECOMMISSIONING"
            ));
        }
        let Some(label) = seen.label else {
            return Ok(());
        };
        if &*label == "shared" {
            self.report.count("placed in a shared partition", 1);
        }
        let partitions = self.rm.sched().label_figures();
        let exclusive = partitions.iter().any(|p| p.name == label && p.exclusive);
        let asked = super::town::label_of(container.app());
        if exclusive && asked != Some(&*label) {
            return Err(format!(
                "{container}, which asks for partition {asked:?}, was placed on {node} of the \
                 exclusive partition '{label}'"
            ));
        }
        Ok(())
    }

    /// Containers are asked back only where preemption is not disabled, and between queues only
    /// of one that holds more than its guarantee.
    fn asks_back_rightly(&mut self, before: &Seen, after: &Seen) -> Result<(), String> {
        let new: BTreeSet<ContainerIdx> =
            after.marked.difference(&before.marked).copied().collect();
        if new.is_empty() {
            return Ok(());
        }
        let sched = self.rm.sched();
        let (mut between, mut within) = (0, 0);
        for app in (0..u32::try_from(self.options.apps).unwrap_or(0)).map(AppIdx) {
            let (Some(figures), Some(path)) = (sched.app_figures(app), sched.queue_of(app)) else {
                continue;
            };
            for c in figures.containers.iter().filter(|c| new.contains(&c.idx)) {
                if disabled(&before.queues, &path) {
                    return Err(format!(
                        "a container is asked back of {path}, whose preemption is disabled"
                    ));
                }
                let label = sched.label_of(c.node).map_or(0, |l| usize::from(l.0));
                let usage = before.queues.get(&path).and_then(|q| q.usage.get(label));
                let Some(usage) = usage else { continue };
                // nodes may have left in the same event
                let least = after.queues.get(&path).and_then(|q| q.usage.get(label));
                let least = least.map_or(usage.effective_min, |u| u.effective_min);
                if !usage.used.fits(usage.effective_min) || !usage.used.fits(least) {
                    between += 1;
                    continue;
                }
                within += 1;
                if self.options.preemption == Preemption::BetweenQueues {
                    return Err(format!(
                        "a container is asked back of {path}, which holds {:?} of the {:?} that it \
                         is guaranteed",
                        usage.used, usage.effective_min
                    ));
                }
            }
        }
        self.report.count("asked back over the guarantee", between);
        self.report.count("asked back within a queue", within);
        Ok(())
    }

    /// Whoever holds a reservation lives and knows of it. Without heartbeats to come back to it, it
    /// must be active besides: one that a move made wait keeps nobody from the room.
    fn reservations_are_wanted(&self) -> Result<(), String> {
        let sched = self.rm.sched();
        let waits = self.options.heartbeat_paced;
        for (idx, node) in (0..).map(NodeIdx).zip(self.rm.nodes()) {
            let Some(app) = sched.node_figures(idx).and_then(|n| n.reserved_app) else {
                continue;
            };
            let wanted = sched
                .app_figures(app)
                .is_some_and(|a| (a.active || waits) && a.reservations.iter().any(|r| r.0 == idx));
            if !wanted {
                return Err(format!(
                    "a reservation on {} is left of an application that has ended or stopped",
                    node.id
                ));
            }
        }
        Ok(())
    }

    /// An application whose lifetime is over ends.
    pub(super) fn keeps_lifetimes(&self) -> Result<(), String> {
        let wall = self.rm.started().0;
        for app in self.rm.apps() {
            let live = matches!(
                app.state,
                ApplicationState::Accepted | ApplicationState::Running
            );
            let Some(at) = app.expires_wall_ms.filter(|_| live) else {
                continue;
            };
            let over = u64::try_from(at.saturating_sub(wall)).unwrap_or(0);
            // whoever was away counts nobody's time
            if self.now_ms > over + self.town.paused_ms + LIFETIME_SLACK_MS {
                return Err(format!("{} lives on after its lifetime", app.id));
            }
        }
        Ok(())
    }

    /// Counts what a run is to show.
    fn count_deeds(&mut self, before: &Seen, after: &Seen) {
        let mut made = 0;
        for (app, nodes) in &after.reserved {
            let had = before.reserved.get(app);
            made += nodes
                .iter()
                .filter(|n| had.is_none_or(|h| !h.contains(n)))
                .count();
        }
        self.report.count("reservations", made as u64);
        let dynamic = |seen: &Seen| -> BTreeSet<Arc<str>> {
            let queues = seen.queues.values().filter(|q| q.dynamic);
            queues.map(|q| q.path.clone()).collect()
        };
        let (had, has) = (dynamic(before), dynamic(after));
        self.report
            .count("queues created", has.difference(&had).count() as u64);
        self.report
            .count("queues expired", had.difference(&has).count() as u64);
        let lazy = after.killable && !before.killable;
        self.report.count("made killable", u64::from(lazy));
    }

    /// Counts what can be seen at the end only.
    pub(super) fn count_ends(&mut self) {
        for app in self.rm.apps() {
            let over = app
                .expires_wall_ms
                .is_some_and(|at| at <= app.finished_wall_ms);
            let killed = app.state == ApplicationState::Killed;
            self.report
                .count("lifetimes over", u64::from(over && killed));
        }
        let of = &self.report;
        for (what, times) in [
            ("containers preempted", of.preempted),
            ("refreshes refused", of.refused as u64),
            ("restarts from a snapshot", of.restarts as u64),
        ] {
            self.report.count(what, times);
        }
    }

    /// Counts nodes that go because of the lists.
    pub(super) fn count_decommissioned(&mut self) {
        let gone = self.rm.nodes().iter().any(|n| {
            matches!(
                n.state,
                NodeState::Decommissioned | NodeState::Decommissioning
            )
        });
        let was = std::mem::replace(&mut self.town.decommissioned, gone);
        self.report.count("decommissioned", u64::from(gone && !was));
    }
}
