//! The driver: one thread that owns the core; everything reaches the core through its inbox.
//! May touch: the core, clocks, threads.
//! Must not: know sockets or wire messages, or let two threads see the core.

mod clock;
mod inbox;
mod run;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use rm_core::{Action, CallId, Effect, Event, Reject, Reply, Rm, view::View};
use tokio::sync::oneshot;
use yarn_types::{Millis, limits::INBOX_LEN_MAX};

pub use clock::wall_ms;
pub use run::Run;

use inbox::Inbox;

/// Why a call got no [`Reply`].
#[derive(Clone, PartialEq, Debug)]
pub enum Refusal {
    /// The inbox is full or the driver is stopping: the client may try again.
    Busy,
    /// The core refused.
    Reject(Reject),
}

/// Called once with the answer, on the driver's thread: must be quick and must not block.
pub type Waiter = Box<dyn FnOnce(Result<Box<Reply>, Refusal>) + Send>;

/// What the driver needs of a core; [`Rm`] in the daemon, a scripted one in tests of the driver.
pub trait Core: Send + 'static {
    /// Applies one event.
    fn apply(&mut self, now: Millis, event: Event, effects: &mut Vec<Effect>);
    /// One bounded scheduling pass; true when there is more to do.
    fn pass(&mut self, now: Millis, effects: &mut Vec<Effect>) -> bool;
    /// When a [`Event::Tick`] is due.
    fn next_wake(&self) -> Option<Millis>;
    /// Number of events applied.
    fn seq(&self) -> u64;
    /// A picture of everything.
    fn view(&self, now: Millis) -> View;
    /// The core that a journal is kept of.
    fn journaled(&self) -> Option<&Rm> {
        None
    }
}

impl Core for Rm {
    fn apply(&mut self, now: Millis, event: Event, effects: &mut Vec<Effect>) {
        Rm::apply(self, now, event, effects);
    }

    fn pass(&mut self, now: Millis, effects: &mut Vec<Effect>) -> bool {
        Rm::pass(self, now, effects)
    }

    fn next_wake(&self) -> Option<Millis> {
        Rm::next_wake(self)
    }

    fn seq(&self) -> u64 {
        Rm::seq(self)
    }

    fn view(&self, now: Millis) -> View {
        Rm::view(self, now)
    }

    fn journaled(&self) -> Option<&Rm> {
        Some(self)
    }
}

/// Carries out what the driver does not do itself: all actions but replies and records.
pub trait Hands: Send + 'static {
    /// Does `action`; must be quick and must not block.
    fn act(&mut self, action: Action);
}

type Read<C> = Box<dyn FnOnce(Option<&C>) + Send>;

/// One item of the inbox.
pub(crate) enum Work<C> {
    /// An event, and who waits for its answer.
    Event {
        event: Box<Event>,
        received: Instant,
        waiter: Option<(CallId, Waiter)>,
    },
    /// A query about one thing.
    Read(Read<C>),
    /// Someone wants a picture of everything.
    View(oneshot::Sender<Arc<View>>),
}

/// The way to the core; cheap to clone.
pub struct Driver<C = Rm> {
    inbox: Arc<Inbox<Work<C>>>,
    calls: Arc<AtomicU64>,
}

impl<C> Clone for Driver<C> {
    fn clone(&self) -> Self {
        Self {
            inbox: Arc::clone(&self.inbox),
            calls: Arc::clone(&self.calls),
        }
    }
}

impl<C: Core> Default for Driver<C> {
    fn default() -> Self {
        Self::with_inbox_len_max(INBOX_LEN_MAX)
    }
}

impl<C: Core> Driver<C> {
    /// A driver that nobody serves yet; see [`Run`]. At most `inbox_len_max` calls wait.
    pub fn with_inbox_len_max(inbox_len_max: usize) -> Self {
        Self {
            inbox: Arc::new(Inbox::new(inbox_len_max)),
            calls: Arc::new(AtomicU64::new(1)),
        }
    }

    /// Sends the event that `event` makes of a fresh call id; `waiter` gets the answer. `received` is
    /// when the request was read from its connection.
    pub fn call(
        &self,
        received: Instant,
        event: impl FnOnce(CallId) -> Event,
        waiter: impl FnOnce(Result<Box<Reply>, Refusal>) + Send + 'static,
    ) {
        let call = CallId(self.calls.fetch_add(1, Ordering::Relaxed));
        let work = Work::Event {
            event: Box::new(event(call)),
            received,
            waiter: Some((call, Box::new(waiter))),
        };
        if let Err(Work::Event {
            waiter: Some((_, waiter)),
            ..
        }) = self.inbox.push(work)
        {
            waiter(Err(Refusal::Busy));
        }
    }

    /// Sends news of the store, timers, launcher or files; never refused while the driver runs.
    pub fn tell(&self, event: Event) {
        self.inbox.push_priority(Work::Event {
            event: Box::new(event),
            received: Instant::now(),
            waiter: None,
        });
    }

    /// Runs `read` on the core after the batch that it arrives in; with `None` when the inbox is full.
    pub fn read(&self, read: impl FnOnce(Option<&C>) + Send + 'static) {
        if let Err(Work::Read(read)) = self.inbox.push(Work::Read(Box::new(read))) {
            read(None);
        }
    }

    /// A picture that holds everything any client was told before this call; `None` when the inbox is
    /// full or the driver stops.
    pub async fn view(&self) -> Option<Arc<View>> {
        let (tell, told) = oneshot::channel();
        self.inbox.push(Work::View(tell)).ok()?;
        told.await.ok()
    }

    /// Stops the driver after what already waits.
    pub fn close(&self) {
        self.inbox.close();
    }
}
