//! `ModelMaster`: an ApplicationMaster that wants a number of containers to run to their end.
//! May touch: the events and replies of `rm-core`.
//! Must not: know time (its caller paces it).

use std::collections::{BTreeMap, BTreeSet};

use rm_core::{
    effect::{Allocated, Grant, Registered},
    event::{Allocate, Ask, Update, UpdateKind},
};
use yarn_types::{ApplicationAttemptId, ContainerId, NodeId, Resource};

/// One attempt's master.
#[derive(Clone, Debug)]
pub struct ModelMaster {
    /// Its attempt.
    pub attempt: ApplicationAttemptId,
    /// It has registered.
    pub registered: bool,
    /// Its application's end was acknowledged.
    pub unregistered: bool,
    /// Response id of the last answer.
    pub response_id: i32,
    /// Outstanding by size; the absolute counts that the next call sends. The place in this list
    /// plus one is the priority.
    pub wanted: Vec<(Resource, i32)>,
    /// Containers it holds, with their nodes.
    pub held: BTreeMap<ContainerId, Grant>,
    /// Every container it was ever given.
    pub given: BTreeSet<ContainerId>,
    /// Every container whose end it was told, with the exit status.
    pub ended: BTreeMap<ContainerId, i32>,
    /// Nodes for which it has an NMToken.
    pub nm_tokens: BTreeSet<NodeId>,
    /// Containers that the next call gives back.
    pub releases: Vec<ContainerId>,
    /// Changes of containers that the next call asks for.
    pub updates: Vec<Update>,
    /// What was wrong with an answer; a law was broken.
    pub complaints: Vec<String>,
}

impl ModelMaster {
    /// A master that has not registered.
    pub fn new(attempt: ApplicationAttemptId) -> Self {
        Self {
            attempt,
            registered: false,
            unregistered: false,
            response_id: 0,
            wanted: Vec::new(),
            held: BTreeMap::new(),
            given: BTreeSet::new(),
            ended: BTreeMap::new(),
            nm_tokens: BTreeSet::new(),
            releases: Vec::new(),
            updates: Vec::new(),
            complaints: Vec::new(),
        }
    }

    /// Wants `count` more containers of `size`.
    pub fn ask(&mut self, count: i32, size: Resource) {
        match self.wanted.iter_mut().find(|(s, _)| *s == size) {
            Some((_, wanted)) => *wanted += count,
            None => self.wanted.push((size, count)),
        }
    }

    /// The RM's answer to its registration.
    pub fn on_registered(&mut self, reply: &Registered) {
        self.registered = true;
        self.nm_tokens.extend(reply.nm_tokens.iter().cloned());
        for grant in &reply.from_previous_attempts {
            self.given.insert(grant.container);
            self.held.insert(grant.container, grant.clone());
        }
    }

    /// Its next call. Sizes differ in priority, as YARN's clients keep them apart.
    pub fn allocate(&self) -> Allocate {
        let asks = (1..)
            .zip(&self.wanted)
            .map(|(priority, (size, count))| Ask {
                priority,
                allocation_request_id: 0,
                place: "*".into(),
                capability: *size,
                count: (*count).max(0),
                relax_locality: true,
                label: None,
                opportunistic: false,
                unknown_resource: None,
            });
        Allocate {
            response_id: self.response_id,
            progress: 0.1,
            asks: asks.collect(),
            releases: self.releases.clone(),
            updates: self.updates.clone(),
            ..Allocate::default()
        }
    }

    /// The RM's answer.
    pub fn on_allocated(&mut self, reply: &Allocated) {
        if reply.response_id != self.response_id.wrapping_add(1) & i32::MAX {
            // A late copy of an answer that was read already.
            return;
        }
        self.response_id = reply.response_id;
        self.releases.clear();
        self.updates.clear();
        self.nm_tokens.extend(reply.nm_tokens.iter().cloned());
        for grant in &reply.grants {
            self.take(grant);
        }
        for (_, grant) in &reply.updated {
            self.take_size(grant);
        }
        for done in &reply.completed {
            if self
                .ended
                .insert(done.container, done.exit_status)
                .is_some()
            {
                self.complaints
                    .push(format!("{} ended twice", done.container));
            }
            self.held.remove(&done.container);
        }
    }

    fn take_size(&mut self, grant: &Grant) {
        let id = grant.container;
        match self.held.get_mut(&id) {
            Some(held) if grant.version <= held.version => self
                .complaints
                .push(format!("{id} has version {} again", grant.version)),
            Some(held) => *held = grant.clone(),
            None => self
                .complaints
                .push(format!("{id} has a new size and is not held")),
        }
    }

    /// Wants a container that it holds to get the size `to`.
    pub fn resize(&mut self, container: ContainerId, kind: UpdateKind, to: Resource) {
        self.updates.push(Update {
            container,
            version: self.held.get(&container).map_or(0, |held| held.version),
            kind,
            opportunistic: false,
            capability: Some(to),
            named: [2].into(),
            unknown_resource: None,
        });
    }

    fn take(&mut self, grant: &Grant) {
        if !self.given.insert(grant.container) {
            self.complaints
                .push(format!("{} was granted twice", grant.container));
        }
        if !self.nm_tokens.contains(&grant.node) {
            self.complaints.push(format!(
                "no NMToken for {} of {}",
                grant.node, grant.container
            ));
        }
        let by_priority = usize::try_from(grant.priority - 1).unwrap_or(usize::MAX);
        match self.wanted.get_mut(by_priority) {
            Some((_, count)) => {
                *count -= 1;
                if *count < 0 {
                    self.complaints
                        .push(format!("{} is more than was asked for", grant.container));
                }
            }
            None => self
                .complaints
                .push(format!("{} was never asked for", grant.container)),
        }
        self.held.insert(grant.container, grant.clone());
    }

    /// Outstanding containers.
    pub fn outstanding(&self) -> i32 {
        self.wanted.iter().map(|(_, count)| (*count).max(0)).sum()
    }
}
