//! Containers that change their size: requests, grants, what nodes say of it, and the way back.
//! May touch: `Rm`.
//! Must not: look for room (the scheduler does).

use std::{borrow::Cow, collections::BTreeSet};

use yarn_types::{ApplicationAttemptId, ContainerId, Resource};

use super::{Container, HeldState};
use crate::{
    effect::{Grant, UpdateError},
    event::{Update, UpdateKind},
    liveness::Watched,
    rm::Rm,
    sched::{AppIdx, ContainerIdx, NodeIdx},
};

/// First lane of the types that a running container keeps: memory and vcores can change.
const FIXED_LANES_FROM: usize = 2;

/// Too little, too much, or no size at all.
const OUTSIDE: Cow<'static, str> = Cow::Borrowed("RESOURCE_OUTSIDE_ALLOWED_RANGE");

/// A request that was found good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Resize {
    container: ContainerId,
    kind: UpdateKind,
    to: Resource,
}

/// Memory and vcores of `a` are those of `b`.
fn same_size(a: Resource, b: Resource) -> bool {
    (a.memory_mb(), a.vcores()) == (b.memory_mb(), b.vcores())
}

impl Rm {
    /// Sorts update requests into those to carry out and those to refuse
    /// (`RMServerUtils.validateAndSplitUpdateResourceRequests`).
    pub(crate) fn judge_updates(
        &self,
        app: AppIdx,
        updates: &[Update],
    ) -> (Vec<Resize>, Vec<UpdateError>) {
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        let mut seen: BTreeSet<ContainerId> = BTreeSet::new();
        for (at, update) in updates.iter().enumerate() {
            let container = self.containers.get(&update.container);
            let container = container.filter(|c| c.app == app);
            match self.judge_update(container, update, &seen) {
                Ok(resize) => {
                    seen.insert(update.container);
                    good.push(resize);
                }
                Err(reason) => bad.push(UpdateError {
                    at,
                    reason,
                    version: container.map_or(-1, |c| c.version),
                }),
            }
        }
        (good, bad)
    }

    fn judge_update(
        &self,
        container: Option<&Container>,
        update: &Update,
        seen: &BTreeSet<ContainerId>,
    ) -> Result<Resize, Cow<'static, str>> {
        let c = container.ok_or("INVALID_CONTAINER_ID")?;
        if update.version != c.version {
            return Err("INCORRECT_CONTAINER_VERSION_ERROR".into());
        }
        if seen.contains(&c.id) {
            return Err("UPDATE_OUTSTANDING_ERROR".into());
        }
        let name = match update.kind {
            UpdateKind::Promote => Some("PROMOTE_EXECUTION_TYPE"),
            UpdateKind::Demote => Some("DEMOTE_EXECUTION_TYPE"),
            _ if update.opportunistic => Some("OPPORTUNISTIC"),
            _ => None,
        };
        if let Some(name) = name {
            let text = format!("{name} is refused: opportunistic containers are not built");
            return Err(text.into());
        }
        let asked = self.with_fixed_lanes(c, update)?;
        let Ok(Some(to)) = self.sched.resized(c.alloc, asked) else {
            return Err(OUTSIDE);
        };
        if update.kind == UpdateKind::Decrease && !to.fits(c.resource) {
            return Err(OUTSIDE);
        }
        Ok(Resize {
            container: c.id,
            kind: update.kind,
            to,
        })
    }

    /// The size asked for, with the types in it that cannot change while a container runs.
    fn with_fixed_lanes(
        &self,
        c: &Container,
        update: &Update,
    ) -> Result<Resource, Cow<'static, str>> {
        if let Some(name) = &update.unknown_resource {
            return Err(format!("unknown resource name {name}").into());
        }
        let mut asked = update.capability.ok_or(OUTSIDE)?;
        for (lane, t) in self.sched.types().iter().enumerate().skip(FIXED_LANES_FROM) {
            let held = c.resource.0[lane];
            let changes = match update.kind {
                // an increase leaves alone what is named smaller
                UpdateKind::Increase => asked.0[lane] > held,
                _ => update.named.contains(&lane) && asked.0[lane] != held,
            };
            if changes {
                let types = self.sched.types();
                return Err(format!(
                    "{} of a running container cannot change: it holds {} and {} was asked for; \
                     name what it holds, or release it and ask for another",
                    t.name,
                    types.wire(lane, c.resource),
                    types.wire(lane, asked),
                )
                .into());
            }
            asked = asked.with(lane, held);
        }
        Ok(asked)
    }

    /// Carries out requests that were found good (`AbstractYarnScheduler.handleContainerUpdates`):
    /// what grows asks the scheduler, what shrinks has done so at once.
    pub(crate) fn resize(&mut self, good: &[Resize]) {
        let of = |kind| good.iter().filter(move |r| r.kind == kind);
        for wanted in of(UpdateKind::Increase) {
            if let Some(c) = self.containers.get(&wanted.container) {
                self.sched.ask_to_grow(self.now, c.alloc, wanted.to);
            }
        }
        for wanted in of(UpdateKind::Decrease) {
            self.shrink(wanted.container, wanted.to);
        }
    }

    fn shrink(&mut self, id: ContainerId, to: Resource) {
        let Some(c) = self.containers.get_mut(&id) else {
            return;
        };
        self.sched.shrink(c.alloc, to);
        c.version = c.version.saturating_add(1);
        (c.resource, c.confirmed) = (to, to);
        let (node, running) = (c.node, c.state == HeldState::Running);
        self.deadlines.remove(Watched::Increase(id));
        if self.nodes[node.at()].decommissioning.is_some() {
            // what was given back is nobody's any more
            self.offer_changed(node);
        }
        if running {
            self.tell_node(node, id, UpdateKind::Decrease);
        }
        self.tell_owner(id, UpdateKind::Decrease);
    }

    /// The scheduler granted an increase.
    pub(crate) fn on_grown(&mut self, account: ContainerIdx, size: Resource) {
        let Some(id) = self.by_account.get(&account).copied() else {
            return;
        };
        if let Some(c) = self.containers.get_mut(&id) {
            c.resource = size;
            c.version = c.version.saturating_add(1);
        }
        self.watch_increase(id);
        self.tell_owner(id, UpdateKind::Increase);
    }

    /// A running container that is larger for us than for its node must be used so in time.
    fn watch_increase(&mut self, id: ContainerId) {
        let Some(c) = self.containers.get(&id) else {
            return;
        };
        if c.state == HeldState::Running && c.confirmed != c.resource {
            let expiry = self.now.plus(self.conf.container_allocation_expiry_ms);
            self.deadlines.set(Watched::Increase(id), expiry);
        }
    }

    fn tell_owner(&mut self, id: ContainerId, kind: UpdateKind) {
        if let Some((_, attempt)) = self.current_attempt_of(id) {
            attempt.outbox.updated.insert(id, kind);
        }
    }

    fn tell_node(&mut self, node: NodeIdx, id: ContainerId, kind: UpdateKind) {
        let node = &mut self.nodes[node.at()];
        if node.is_active() {
            node.outbox.updates.insert(id, kind);
        }
    }

    /// Hands new sizes out; each comes with a token that its node takes once
    /// (`SchedulerApplicationAttempt.pullNewlyUpdatedContainers`).
    pub(crate) fn send_updated(&mut self, id: ApplicationAttemptId) -> Vec<(UpdateKind, Grant)> {
        let Some((_, attempt)) = self.attempt_mut(id) else {
            return Vec::new();
        };
        let mut updated: Vec<(ContainerId, UpdateKind)> =
            std::mem::take(&mut attempt.outbox.updated)
                .into_iter()
                .collect();
        updated.sort_by_key(|(_, kind)| *kind);
        let mut sent = Vec::new();
        for (container, kind) in updated {
            let Some(grant) = self.send_out(container) else {
                continue;
            };
            if kind == UpdateKind::Increase {
                self.watch_increase(container);
                if self.conf.auto_update
                    && let Some(c) = self.containers.get(&container)
                {
                    self.tell_node(c.node, container, kind);
                }
            }
            sent.push((kind, grant));
        }
        sent
    }

    /// What a heartbeat's answer tells the node of sizes.
    pub(crate) fn sizes_for_node(
        &self,
        updates: impl IntoIterator<Item = (ContainerId, UpdateKind)>,
    ) -> Vec<(UpdateKind, Grant)> {
        let of = |(id, kind)| Some((kind, self.grant_of(self.containers.get(&id)?)));
        updates.into_iter().filter_map(of).collect()
    }

    /// A node says that a container has grown there, or, registering, how large it is
    /// (`RMContainerImpl.NMReportedContainerChangeIsDoneTransition`).
    pub(crate) fn on_size_reported(&mut self, id: ContainerId, size: Resource) {
        let Some(c) = self.containers.get_mut(&id) else {
            return;
        };
        if c.state != HeldState::Running {
            return;
        }
        let lanes = 0..FIXED_LANES_FROM;
        let size = lanes.fold(c.resource, |all, lane| all.with(lane, size.0[lane]));
        // A node that names no size has the last that it was told.
        let smaller = size.memory_mb() == 0 || size.fits(c.resource);
        if same_size(size, c.resource) {
            c.confirmed = c.resource;
            self.deadlines.remove(Watched::Increase(id));
        } else if smaller {
            // An increase that is not used yet goes on waiting.
            c.confirmed = c.confirmed.max(size).min(c.resource);
            if self.deadlines.at(Watched::Increase(id)).is_none() {
                self.watch_increase(id);
            }
        } else {
            c.confirmed = c.resource;
            let node = c.node;
            self.deadlines.remove(Watched::Increase(id));
            self.tell_node(node, id, UpdateKind::Decrease);
        }
    }

    /// The size that a heartbeat shows: it can prove that an increase is in use, and nothing
    /// else, since it may be older than our last word.
    pub(crate) fn on_size_seen(&mut self, id: ContainerId, size: Resource) {
        let c = self.containers.get(&id);
        if c.is_some_and(|c| c.confirmed != c.resource && same_size(size, c.resource)) {
            self.on_size_reported(id, size);
        }
    }

    /// An increase was not used in time: back to the size that the node is known to keep to
    /// (`AbstractYarnScheduler.rollbackContainerUpdate`).
    pub(crate) fn on_increase_expired(&mut self, id: ContainerId) {
        if let Some(confirmed) = self.containers.get(&id).map(|c| c.confirmed) {
            self.shrink(id, confirmed);
        }
    }
}
