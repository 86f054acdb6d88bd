//! The link to the ResourceManager: when to register, to send a heartbeat, to give up.
//! May touch: times and counters.
//! Must not: know what a heartbeat carries.

use yarn_types::Millis;

/// Where the link is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkState {
    /// Not begun: the ports are not open yet.
    Idle,
    /// Registering is due, waits for its time, or is on its way.
    Registering,
    /// Registered.
    Registered,
    /// Over: given up, refused, or said goodbye.
    Closed,
}

/// How long to go on without a ResourceManager.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkConf {
    /// `yarn.nodemanager.resourcemanager.connect.max-wait.ms`; `None`: for ever (-1).
    pub connect_wait_ms_max: Option<u64>,
    /// `yarn.nodemanager.resourcemanager.connect.retry-interval.ms`.
    pub retry_interval_ms: u64,
    /// `ipc.client.connect.max.retries`: quick attempts before each slow one.
    pub quick_retries: u32,
    /// `ipc.client.connect.retry.interval`, between quick attempts.
    pub quick_interval_ms: u64,
}

/// What is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due {
    /// Send a registration.
    Register,
    /// Send a heartbeat.
    Heartbeat,
}

/// Heartbeat interval before the ResourceManager named one (`nextHeartBeatInterval` 0 or less).
pub const HEARTBEAT_MS_DEFAULT: u64 = 1000;

/// The link's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    state: LinkState,
    conf: LinkConf,
    rm_identifier: Option<i64>,
    response_id: i32,
    interval_ms: u64,
    due: Millis,
    in_flight: bool,
    /// Something happened since the last request that the ResourceManager waits for.
    urgent: bool,
    failing_since: Option<Millis>,
    failures: u32,
}

impl Link {
    /// A link that has not begun.
    pub fn new(conf: LinkConf) -> Self {
        Self {
            state: LinkState::Idle,
            conf,
            rm_identifier: None,
            response_id: 0,
            interval_ms: HEARTBEAT_MS_DEFAULT,
            due: Millis(0),
            in_flight: false,
            urgent: false,
            failing_since: None,
            failures: 0,
        }
    }

    /// Where the link is.
    pub fn state(&self) -> LinkState {
        self.state
    }

    /// `rm_identifier` of the registration in force.
    pub fn rm_identifier(&self) -> Option<i64> {
        self.rm_identifier
    }

    /// Response id for the next heartbeat.
    pub fn response_id(&self) -> i32 {
        self.response_id
    }

    /// A request is on its way.
    pub fn in_flight(&self) -> bool {
        self.in_flight
    }

    /// Registers as soon as nothing is on its way.
    pub fn register(&mut self, now: Millis) {
        self.state = LinkState::Registering;
        self.rm_identifier = None;
        self.due = now;
    }

    /// The ResourceManager took the registration; a heartbeat follows at once.
    pub fn on_registered(&mut self, rm_identifier: i64, now: Millis) {
        self.recovered();
        self.state = LinkState::Registered;
        self.rm_identifier = Some(rm_identifier);
        self.response_id = 0;
        self.due = now;
    }

    /// A heartbeat was answered.
    pub fn on_answered(&mut self, response_id: i32, next_interval_ms: i64, now: Millis) {
        self.recovered();
        self.response_id = response_id;
        self.interval_ms = u64::try_from(next_interval_ms)
            .ok()
            .filter(|ms| *ms > 0)
            .unwrap_or(HEARTBEAT_MS_DEFAULT);
        self.due = now.plus(self.interval_ms);
    }

    /// A request got no answer. False when it is time to give up.
    pub fn on_failed(&mut self, now: Millis) -> bool {
        self.in_flight = false;
        self.failures = self.failures.saturating_add(1);
        let since = *self.failing_since.get_or_insert(now);
        let give_up_at = self.conf.connect_wait_ms_max.map(|max| since.plus(max));
        if give_up_at.is_some_and(|at| now >= at) {
            self.close();
            return false;
        }
        let slow = self
            .failures
            .is_multiple_of(self.conf.quick_retries.saturating_add(1));
        let wait = if slow {
            self.conf.retry_interval_ms
        } else {
            self.conf.quick_interval_ms
        };
        let due = now.plus(wait);
        // The last attempt is made when the time is over, not a slow interval later.
        self.due = give_up_at.map_or(due, |at| due.min(at));
        true
    }

    /// Sends nothing more.
    pub fn close(&mut self) {
        self.state = LinkState::Closed;
        self.rm_identifier = None;
        self.in_flight = false;
    }

    /// What to send now; `urgent`: something happened that the ResourceManager waits for. While
    /// it does not answer, attempts keep their pace.
    pub fn take_due(&mut self, now: Millis, urgent: bool) -> Option<Due> {
        self.urgent |= urgent;
        let early = self.urgent && self.failing_since.is_none();
        if self.in_flight || (now < self.due && !early) {
            return None;
        }
        let due = match self.state {
            LinkState::Registering if now >= self.due => Due::Register,
            LinkState::Registered => Due::Heartbeat,
            _ => return None,
        };
        self.in_flight = true;
        self.urgent = false;
        Some(due)
    }

    /// When [`take_due`](Self::take_due) has something to say.
    pub fn next_wake(&self) -> Option<Millis> {
        let waits = matches!(self.state, LinkState::Registering | LinkState::Registered);
        (waits && !self.in_flight).then_some(self.due)
    }

    fn recovered(&mut self) {
        self.in_flight = false;
        self.failing_since = None;
        self.failures = 0;
    }
}
