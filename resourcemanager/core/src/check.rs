//! `Rm::check`: what must hold after every event, across life cycles and scheduler.
//! May touch: every field, read only.
//! Must not: change anything.

use std::collections::BTreeMap;

use yarn_types::{ApplicationAttemptId, MILLI, NodeState, Resource};

use crate::{
    app::AppState,
    attempt::{Attempt, LifeState, MasterLink},
    container::{Container, HeldState},
    liveness::Watched,
    node::Node,
    rm::Rm,
    sched::{AppIdx, NodeIdx},
    store::After,
};

impl Rm {
    /// The first invariant that does not hold, in words.
    pub fn check(&self) -> Result<(), String> {
        self.sched.check().map_err(|e| format!("scheduler: {e}"))?;
        self.deadlines
            .check()
            .map_err(|e| format!("deadlines: {e}"))?;
        self.check_containers()?;
        self.check_apps()?;
        self.check_nodes()?;
        self.check_gpus()?;
        self.check_deadlines()?;
        self.check_store()
    }

    /// Every live container belongs to a live application and an active node, stands in both
    /// their books, and the scheduler counts exactly these.
    fn check_containers(&self) -> Result<(), String> {
        let mut by_app: BTreeMap<AppIdx, (Resource, u32)> = BTreeMap::new();
        let mut by_node: BTreeMap<NodeIdx, (Resource, u32)> = BTreeMap::new();
        for (id, c) in &self.containers {
            let app = self
                .apps
                .get(&c.app)
                .ok_or(format!("{id} has no application"))?;
            if app.state.is_final() {
                return Err(format!("{id} lives but its application is {:?}", app.state));
            }
            let node = self
                .nodes
                .get(c.node.at())
                .ok_or(format!("{id} has no node"))?;
            if !node.is_active() {
                return Err(format!("{id} is on {} which is {}", node.id, node.state));
            }
            if !c.confirmed.fits(c.resource) {
                return Err(format!("{id} is confirmed with {:?}", c.confirmed));
            }
            if self.sched.size_of(c.alloc).is_some_and(|s| s != c.resource) {
                return Err(format!("{id} holds another size than the scheduler says"));
            }
            if !node.containers.contains(id) {
                return Err(format!("{id} is not in the books of {}", node.id));
            }
            let sum = by_app.entry(c.app).or_default();
            *sum = (sum.0.plus(c.resource), sum.1 + 1);
            let sum = by_node.entry(c.node).or_default();
            *sum = (sum.0.plus(c.resource), sum.1 + 1);
        }
        for (idx, app) in &self.apps {
            let usage = self.sched.app_usage(*idx);
            let own = by_app.get(idx).copied().unwrap_or_default();
            if (usage.used, usage.used_containers) != own {
                return Err(format!(
                    "{} holds {own:?} but the scheduler counts {:?}",
                    app.submission.app,
                    (usage.used, usage.used_containers)
                ));
            }
        }
        for (idx, node) in (0..).map(NodeIdx).zip(&self.nodes) {
            let own = by_node.get(&idx).copied().unwrap_or_default();
            if self.sched.node_used(idx) != own {
                return Err(format!(
                    "{} holds {own:?} but the scheduler counts {:?}",
                    node.id,
                    self.sched.node_used(idx)
                ));
            }
        }
        Ok(())
    }

    fn check_apps(&self) -> Result<(), String> {
        if self.app_by_id.len() != self.apps.len() {
            return Err("applications and their ids differ in number".to_owned());
        }
        let ended = self
            .apps
            .values()
            .filter(|app| app.state.is_final())
            .count();
        if ended != self.completed.len() || ended > self.conf.max_completed_applications {
            return Err(format!(
                "{ended} applications ended, {} listed",
                self.completed.len()
            ));
        }
        for (idx, app) in &self.apps {
            let id = app.submission.app;
            if self.app_by_id.get(&id) != Some(idx) {
                return Err(format!("{id} is not found by its id"));
            }
            let live = app.attempts.iter().filter(|a| !a.state.is_final()).count();
            let want_live = match app.state {
                AppState::Accepted
                | AppState::Running
                | AppState::Killing
                | AppState::Finishing => 1..=1,
                AppState::FinalSaving => 0..=1,
                _ => 0..=0,
            };
            if !want_live.contains(&live) {
                return Err(format!("{id} is {:?} with {live} live attempts", app.state));
            }
            for (number, attempt) in (1_u32..).zip(&app.attempts) {
                if attempt.id != id.attempt(number) {
                    return Err(format!("{} is attempt number {number}", attempt.id));
                }
                self.check_attempt(attempt)?;
            }
        }
        Ok(())
    }

    fn check_attempt(&self, attempt: &Attempt) -> Result<(), String> {
        let id = attempt.id;
        if attempt.state.is_final() && (attempt.link != MasterLink::Gone || attempt.token_live) {
            return Err(format!("{id} is over but may still call"));
        }
        if (attempt.state == LifeState::FinalSaving) != attempt.ending.is_some() {
            return Err(format!(
                "{id} is {:?} but its ending says otherwise",
                attempt.state
            ));
        }
        for granted in &attempt.outbox.granted {
            let state = self.containers.get(granted).map(|c| c.state);
            if !matches!(state, Some(HeldState::Allocated | HeldState::Running)) {
                return Err(format!("{granted} waits for {id} but is {state:?}"));
            }
        }
        let outbox = &attempt.outbox;
        if let Some(id) = outbox
            .updated
            .keys()
            .find(|c| !self.containers.contains_key(c))
        {
            return Err(format!("the new size of {id} waits but it has ended"));
        }
        let finished = outbox.finished.iter().map(|(_, c)| c.container);
        for done in finished.chain(outbox.told.iter().map(|(_, c)| *c)) {
            if self.containers.contains_key(&done) {
                return Err(format!("{done} has ended for {id} but still counts"));
            }
        }
        Ok(())
    }

    fn check_nodes(&self) -> Result<(), String> {
        for (idx, node) in (0..).map(NodeIdx).zip(&self.nodes) {
            if self.node_by_id.get(&node.id) != Some(&idx) {
                return Err(format!("{} is not found by its id", node.id));
            }
            let going = node.state == NodeState::Decommissioning;
            if node.decommissioning.is_some() != going {
                return Err(format!("{} is {} but waits: {going}", node.id, node.state));
            }
            if node.is_active() && node.total != self.offered(idx) {
                return Err(format!("{} does not offer what it should", node.id));
            }
            if let Some(id) = node
                .containers
                .iter()
                .find(|id| !self.containers.contains_key(id))
            {
                return Err(format!(
                    "{id} is in the books of {} but does not live",
                    node.id
                ));
            }
        }
        Ok(())
    }

    /// A device has one holder, which is healthy when it counts; what containers were granted is
    /// what they hold; and the scheduler grants as far as devices are free.
    fn check_gpus(&self) -> Result<(), String> {
        for (idx, node) in (0..).map(NodeIdx).zip(&self.nodes) {
            let id = &node.id;
            let Some(gpus) = &node.gpus else {
                match self.sched.gpu_room(idx) {
                    Some(room) => return Err(format!("{id} has room {room} and no devices")),
                    None => continue,
                }
            };
            gpus.check().map_err(|e| format!("{id}: {e}"))?;
            if let Some((container, why)) = gpus.lost().first() {
                return Err(format!("{container} still counts: {why}"));
            }
            for (holder, counts) in gpus.holders() {
                if counts && !node.containers.contains(&holder) {
                    return Err(format!("{holder} holds a device of {id} and does not live"));
                }
            }
            for container in node
                .containers
                .iter()
                .filter_map(|c| self.containers.get(c))
            {
                let held = gpus.held_by(container.id).len();
                if held != self.devices_in(container.resource) {
                    return Err(format!(
                        "{} was granted {:?} and holds {held} devices",
                        container.id, container.resource
                    ));
                }
            }
            let (total, free) = (self.offered(idx), gpus.free().len());
            let room = i64::try_from(free)
                .unwrap_or(i64::MAX)
                .saturating_mul(MILLI);
            let known = self.sched.gpu_room(idx);
            if node.is_active() && (node.total != total || known != Some(room)) {
                return Err(format!(
                    "{id} offers {:?} and has room {known:?}; its devices say {total:?} and {room}",
                    node.total
                ));
            }
        }
        Ok(())
    }

    /// Who is watched exists, and who must be watched is.
    fn check_deadlines(&self) -> Result<(), String> {
        let mut masters = std::collections::BTreeSet::new();
        let mut nodes = std::collections::BTreeSet::new();
        let mut increases = 0;
        for (who, _) in self.deadlines.iter() {
            match who {
                Watched::Master(id) => {
                    masters.insert(id);
                }
                Watched::Node(idx) => {
                    nodes.insert(idx);
                }
                Watched::Container(id) => {
                    let state = self.containers.get(&id).map(|c| c.state);
                    if state != Some(HeldState::Acquired) {
                        return Err(format!("{id} is watched but is {state:?}"));
                    }
                }
                Watched::Increase(id) => {
                    let grown =
                        |c: &Container| c.state == HeldState::Running && c.confirmed != c.resource;
                    if !self.containers.get(&id).is_some_and(grown) {
                        return Err(format!("{id} is watched but has not grown"));
                    }
                    increases += 1;
                }
                Watched::Lifetime(id) => {
                    let app = self.app_by_id.get(&id).and_then(|idx| self.apps.get(idx));
                    if app.is_none_or(|app| app.state.is_final()) {
                        return Err(format!("{id} has a lifetime but ended"));
                    }
                }
                Watched::Decommission(idx) => {
                    let waits = self.nodes.get(idx.at());
                    if waits.is_none_or(|node| node.decommissioning.is_none()) {
                        return Err(format!("{idx:?} is to go but does not wait"));
                    }
                }
                Watched::Overcommit(idx) => {
                    if !self.nodes.get(idx.at()).is_some_and(Node::is_active) {
                        return Err(format!("{idx:?} is over-committed but gone"));
                    }
                }
                Watched::Monitor(_) => {}
            }
        }
        let grown = self
            .containers
            .values()
            .filter(|c| c.confirmed != c.resource);
        let grown = grown.filter(|c| c.state == HeldState::Running).count();
        if grown != increases {
            return Err(format!(
                "{grown} containers have grown, {increases} are watched"
            ));
        }
        for (idx, node) in (0..).map(NodeIdx).zip(&self.nodes) {
            if node.is_active() != nodes.contains(&idx) {
                return Err(format!(
                    "{} is {} but its watch differs",
                    node.id, node.state
                ));
            }
        }
        for attempt in self.apps.values().flat_map(|app| &app.attempts) {
            check_watched(attempt, masters.contains(&attempt.id))?;
        }
        Ok(())
    }

    /// Whatever waits for the store has its record on the way: nothing can wait for ever.
    fn check_store(&self) -> Result<(), String> {
        let waiting: Vec<After> = self.store.waiting().collect();
        for app in self.apps.values() {
            let id = app.submission.app;
            let saving = app.state == AppState::NewSaving;
            if saving && !waiting.contains(&After::AppSaved(id)) {
                return Err(format!("{id} waits for a record that is not on its way"));
            }
            let ending = app.state == AppState::FinalSaving;
            if ending && !waiting.contains(&After::AppEndSaved(id)) {
                return Err(format!("{id} waits for the record of its end"));
            }
            let Some(attempt) = app.current() else {
                continue;
            };
            let saving = matches!(
                attempt.state,
                LifeState::AllocatedSaving | LifeState::UnmanagedSaving
            );
            if saving && !waiting.contains(&After::AttemptSaved(attempt.id)) {
                return Err(format!("{} waits for its record", attempt.id));
            }
            let ending = attempt.state == LifeState::FinalSaving;
            if ending && !waiting.contains(&After::AttemptEndSaved(attempt.id)) {
                return Err(format!("{} waits for the record of its end", attempt.id));
            }
        }
        Ok(())
    }
}

fn check_watched(attempt: &Attempt, watched: bool) -> Result<(), String> {
    let id: ApplicationAttemptId = attempt.id;
    let must = matches!(
        attempt.state,
        LifeState::Launched | LifeState::Running | LifeState::Finishing
    );
    if (must && !watched) || (attempt.state.is_final() && watched) {
        return Err(format!("{id} is {:?}, watched: {watched}", attempt.state));
    }
    Ok(())
}
