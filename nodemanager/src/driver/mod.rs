//! The one thread that owns `Nm`: takes events in order, carries out effects in order.
//! May touch: the core, the monotonic and the wall clock.
//! Must not: block on anything but its inbox.

mod effects;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use nm_core::{CallId, Event, Nm, NmConf, Reject, Reply};
use tokio::sync::oneshot;
use yarn_types::{ContainerId, Millis, limits::INBOX_LEN_MAX};

pub use effects::Hands;

use crate::runner::Launch;

/// Longest sleep between two looks at the wall clock.
const CLOCK_LOOK_MS: u64 = 10_000;
/// A difference of the wall clock that is worth an event.
const CLOCK_JUMP_MS: i64 = 500;

/// Answers one call.
pub type Answer = Box<dyn FnOnce(Result<Reply, Reject>) + Send>;
/// Looks at the state.
pub type Question = Box<dyn FnOnce(&Nm, i64) + Send>;

enum Input {
    Event(Event),
    Call {
        event: Box<dyn FnOnce(CallId) -> Event + Send>,
        launches: Launches,
        answer: Answer,
    },
    Question(Question),
}

/// Launch contexts on their way to a container that the core may accept.
pub type Launches = BTreeMap<ContainerId, Launch>;

/// Where to send events; cheap to copy.
#[derive(Clone)]
pub struct Inbox {
    sender: mpsc::Sender<Input>,
    /// Calls that wait to be applied.
    calls: Arc<AtomicUsize>,
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox")
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

impl Inbox {
    /// Sends an event of the daemon itself; never refused.
    pub fn event(&self, event: Event) {
        // The driver outlives every sender but those of a process that is ending.
        let _ = self.sender.send(Input::Event(event));
    }

    /// Too many calls wait: the next is to be answered "server too busy".
    pub fn is_full(&self) -> bool {
        self.calls.load(Ordering::Relaxed) >= INBOX_LEN_MAX
    }

    /// Sends a call from the network.
    pub fn call(
        &self,
        event: impl FnOnce(CallId) -> Event + Send + 'static,
        launches: Launches,
        answer: impl FnOnce(Result<Reply, Reject>) + Send + 'static,
    ) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let (event, answer) = (Box::new(event), Box::new(answer));
        // As in `event`; a dropped answer tells its client.
        let _ = self.sender.send(Input::Call {
            event,
            launches,
            answer,
        });
    }

    /// Asks something of the state; the second argument of `question` is the wall time, ms.
    /// `None` when the daemon is ending.
    pub async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Nm, i64) -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = oneshot::channel();
        let question: Question = Box::new(move |nm, wall_ms| {
            let _ = sender.send(question(nm, wall_ms));
        });
        self.sender.send(Input::Question(question)).ok()?;
        receiver.await.ok()
    }
}

/// Wall milliseconds since 1970.
pub fn wall_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// An inbox and what is needed to start its thread.
pub fn inbox() -> (Inbox, Waiting) {
    let (sender, receiver) = mpsc::channel();
    let calls = Arc::new(AtomicUsize::new(0));
    (
        Inbox {
            sender,
            calls: Arc::clone(&calls),
        },
        Waiting { receiver, calls },
    )
}

/// The receiving end before the thread runs.
pub struct Waiting {
    receiver: mpsc::Receiver<Input>,
    calls: Arc<AtomicUsize>,
}

impl Waiting {
    /// Starts the thread. It ends when every [`Inbox`] is gone.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(self, conf: NmConf, hands: Hands) -> std::io::Result<()> {
        let driver = Driver {
            nm: Nm::new(conf),
            started: Instant::now(),
            wall_seen_ms: i64::MIN / 2,
            next_call: 0,
            hands,
        };
        std::thread::Builder::new()
            .name("driver".to_owned())
            .spawn(move || driver.run(&self.receiver, &self.calls))
            .map(drop)
    }
}

struct Driver {
    nm: Nm,
    started: Instant,
    /// Offset of the wall clock as told to the core last.
    wall_seen_ms: i64,
    next_call: u64,
    hands: Hands,
}

impl Driver {
    fn run(mut self, receiver: &mpsc::Receiver<Input>, calls: &AtomicUsize) {
        loop {
            self.look_at_clock();
            let now = self.now();
            let wake = self
                .nm
                .next_wake()
                .map_or(CLOCK_LOOK_MS, |at| at.since(now));
            match receiver.recv_timeout(Duration::from_millis(wake.min(CLOCK_LOOK_MS))) {
                Ok(input) => self.take(input, calls),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // What waits is served before the clock.
            while let Ok(input) = receiver.try_recv() {
                self.take(input, calls);
            }
            let now = self.now();
            if self.nm.next_wake().is_some_and(|at| at <= now) {
                self.apply(Event::Tick, None);
            }
        }
    }

    fn take(&mut self, input: Input, calls: &AtomicUsize) {
        match input {
            Input::Event(event) => self.apply(event, None),
            Input::Call {
                event,
                launches,
                answer,
            } => {
                calls.fetch_sub(1, Ordering::Relaxed);
                self.next_call += 1;
                let id = CallId(self.next_call);
                self.apply(event(id), Some((launches, answer)));
            }
            Input::Question(question) => {
                let wall_ms = self.nm.wall_ms(self.now());
                question(&self.nm, wall_ms);
            }
        }
    }

    fn apply(&mut self, event: Event, call: Option<(Launches, Answer)>) {
        let mut effects = Vec::new();
        let now = self.now();
        tracing::trace!(now = now.0, ?event, "event");
        self.nm.apply(now, event, &mut effects);
        self.hands.carry_out(effects, call);
    }

    fn now(&self) -> Millis {
        Millis(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn look_at_clock(&mut self) {
        let now_ms = i64::try_from(self.now().0).unwrap_or(i64::MAX);
        let offset = wall_ms().saturating_sub(now_ms);
        if offset.abs_diff(self.wall_seen_ms) > CLOCK_JUMP_MS.unsigned_abs() {
            self.wall_seen_ms = offset;
            self.apply(Event::WallClock { wall_ms: wall_ms() }, None);
        }
    }
}
