//! `Replay`: a core that takes what a journal says and proves that it comes to the same state.
//! May touch: `rm-core`.
//! Must not: go on after a difference.

use std::io::Read;

use rm_core::{
    Event, Rm,
    event::{AdminRequest, AmRequest, ClientRequest, NodeRequest},
};
use yarn_types::Millis;

use crate::{Item, JournalError, Reader};

/// A place in a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Position {
    /// Number of the last event, from the start of the ResourceManager.
    pub event: u64,
    /// Its time, monotonic milliseconds.
    pub now: Millis,
    /// The event in words.
    pub what: String,
}

/// The first place at which replay and journal are known to differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Where it shows.
    pub at: Position,
    /// Number of the last event after which they agreed.
    pub agreed: u64,
    /// What differs: `mark`, `digest` or `snapshot`.
    pub what: &'static str,
    /// What the journal says.
    pub journal: u64,
    /// What the replay came to.
    pub replay: u64,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Position { event, now, what } = &self.at;
        write!(
            f,
            "first difference: {} {:016x} instead of {:016x} at event {event}, {} ms, {what}; \
             equal up to event {}",
            self.what, self.replay, self.journal, now.0, self.agreed
        )
    }
}

/// Why a replay stopped before the end.
#[derive(thiserror::Error, Debug)]
pub enum ReplayError {
    /// The journal is not whole.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The core came to another state.
    #[error("{0}")]
    Difference(Box<Difference>),
    /// Items stand where they cannot.
    #[error("the segment does not begin with a header and a snapshot")]
    NoSnapshot,
}

/// A replay in progress.
#[derive(Default)]
pub struct Replay {
    rm: Option<Rm>,
    now: Millis,
    last: Position,
    agreed: u64,
    digests: u64,
}

impl Replay {
    /// Digests that were compared.
    pub fn digests(&self) -> u64 {
        self.digests
    }

    /// The last event that the core took or is taking.
    pub fn position(&self) -> &Position {
        &self.last
    }

    /// The core as it is now.
    pub fn rm(&self) -> Option<&Rm> {
        self.rm.as_ref()
    }

    /// Takes a whole segment; `at` is told of every event before the core takes it. A second segment
    /// must begin with the state in which the first ended.
    ///
    /// # Errors
    /// The journal is damaged or cut here, or the core differs.
    pub fn segment(
        &mut self,
        from: impl Read,
        mut at: impl FnMut(&Position),
    ) -> Result<(), ReplayError> {
        let mut reader = Reader::new(from);
        if !matches!(reader.next_item()?, Some(Item::Header(_))) {
            return Err(ReplayError::NoSnapshot);
        }
        match reader.next_item()? {
            Some(Item::Snapshot(rm)) => self.begin(*rm)?,
            _ => return Err(ReplayError::NoSnapshot),
        }
        while let Some(item) = reader.next_item()? {
            self.take(item, &mut at)?;
        }
        Ok(())
    }

    fn begin(&mut self, snapshot: Rm) -> Result<(), ReplayError> {
        let event = snapshot.seq();
        if let Some(rm) = self.rm.take() {
            let (journal, replay) = (snapshot.digest(), rm.digest());
            self.equal("snapshot", journal, replay)?;
        } else {
            self.last.event = event;
        }
        self.agreed = event;
        self.rm = Some(snapshot);
        Ok(())
    }

    fn equal(&mut self, what: &'static str, journal: u64, replay: u64) -> Result<(), ReplayError> {
        if journal == replay {
            self.agreed = self.last.event;
            return Ok(());
        }
        Err(ReplayError::Difference(Box::new(Difference {
            at: self.last.clone(),
            agreed: self.agreed,
            what,
            journal,
            replay,
        })))
    }

    fn take(&mut self, item: Item, at: &mut impl FnMut(&Position)) -> Result<(), ReplayError> {
        let Some(rm) = &mut self.rm else {
            return Err(ReplayError::NoSnapshot);
        };
        let mut effects = Vec::new();
        match item {
            Item::Header(_) | Item::Snapshot(_) => return Err(ReplayError::NoSnapshot),
            Item::Now(now) => self.now = now,
            Item::Event(event) => {
                self.last = Position {
                    event: rm.seq() + 1,
                    now: self.now,
                    what: describe(&event),
                };
                at(&self.last);
                rm.apply(self.now, *event, &mut effects);
            }
            Item::Pass => {
                rm.pass(self.now, &mut effects);
            }
            Item::Mark(journal) => {
                let replay = rm.mark();
                return self.equal("mark", journal, replay);
            }
            Item::Digest(journal) => {
                let replay = rm.digest();
                self.digests += 1;
                return self.equal("digest", journal, replay);
            }
        }
        Ok(())
    }
}

/// An event in a few words: which call, and of whom.
pub fn describe(event: &Event) -> String {
    match event {
        Event::Tick => "tick".to_owned(),
        Event::WallClock { wall_ms } => format!("wall clock {wall_ms}"),
        Event::Stored { seq } => format!("record {seq} stored"),
        Event::NmKeyActivated => "new key of NMTokens".to_owned(),
        Event::Reload { .. } => "refreshQueues".to_owned(),
        Event::Client { request, .. } => describe_client(request),
        Event::Am {
            attempt, request, ..
        } => match request {
            AmRequest::Register { .. } => format!("registerApplicationMaster of {attempt}"),
            AmRequest::Allocate(a) => format!("allocate {} of {attempt}", a.response_id),
            AmRequest::Finish { .. } => format!("finishApplicationMaster of {attempt}"),
        },
        Event::Node { request, .. } => match request {
            NodeRequest::Register(r) => format!("registerNodeManager of {}", r.node),
            NodeRequest::Heartbeat(h) => format!("nodeHeartbeat {} of {}", h.response_id, h.node),
            NodeRequest::Unregister { node } => format!("unRegisterNodeManager of {node}"),
        },
        Event::AmLaunched { attempt } => format!("{attempt} launched"),
        Event::AmLaunchFailed { attempt, .. } => format!("{attempt} could not be launched"),
        Event::Hosts(_) => "host lists at start".to_owned(),
        Event::Labels { .. } => "node labels at start".to_owned(),
        Event::DynamicResources(_) => "dynamic resources at start".to_owned(),
        Event::Admin { request, .. } => describe_admin(request).to_owned(),
    }
}

fn describe_client(request: &ClientRequest) -> String {
    match request {
        ClientRequest::NewApplication => "getNewApplication".to_owned(),
        ClientRequest::Submit(s) => format!("submitApplication {}", s.app),
        ClientRequest::Kill { app, .. } => format!("forceKillApplication {app}"),
        ClientRequest::FailAttempt { attempt, .. } => format!("failApplicationAttempt {attempt}"),
        ClientRequest::Move { app, queue, .. } => {
            format!("moveApplicationAcrossQueues {app} to {queue}")
        }
        ClientRequest::SetPriority { app, .. } => format!("updateApplicationPriority {app}"),
        ClientRequest::SetExpiry { app, .. } => format!("updateApplicationTimeouts {app}"),
        ClientRequest::SignalContainer { container, .. } => {
            format!("signalToContainer {container}")
        }
    }
}

fn describe_admin(request: &AdminRequest) -> &'static str {
    match request {
        AdminRequest::RefreshNodes { .. } | AdminRequest::DecommissionNow => "refreshNodes",
        AdminRequest::UpdateNodeResource(_) => "updateNodeResource",
        AdminRequest::RefreshNodesResources(_) => "refreshNodesResources",
        AdminRequest::ClusterMaxPriority(_) => "refreshClusterMaxPriority",
        AdminRequest::Labels(_) => "change of node labels",
    }
}
