//! The driver's thread: drain the inbox, apply each event, schedule, carry out effects, replies last.
//! May touch: the core, the store port, clocks.
//! Must not: let an effect out before the record it waits for is stored.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rm_core::{
    Action, CallId, Effect, Event, Reject, Reply, effect::Note, event::AmRequest, view::View,
};
use tokio::sync::oneshot;
use yarn_types::{ApplicationAttemptId, Millis};

use super::{Core, Driver, Hands, Refusal, Waiter, Work, clock::Clock, inbox::Batch};
use crate::{journal::Journal, store::Store};

/// Least time between two pictures of everything (taking one copies the whole state).
const VIEW_INTERVAL: Duration = Duration::from_millis(20);

/// The thread's state.
pub struct Run<C> {
    driver: Driver<C>,
    core: C,
    store: Box<dyn Store>,
    hands: Box<dyn Hands>,
    clock: Clock,
    waiters: HashMap<CallId, Waiter>,
    /// Effects that wait for a record, by its number, in order of their making.
    held: BTreeMap<u64, Vec<Action>>,
    stored_seq: u64,
    effects: Vec<Effect>,
    replies: Vec<(CallId, Result<Box<Reply>, Reject>)>,
    /// Number of events behind the last reply to anyone.
    replied_seq: u64,
    view: Option<(Instant, Arc<View>)>,
    view_readers: Vec<oneshot::Sender<Arc<View>>>,
    /// When each attempt's latest asks were read from the wire.
    asked: HashMap<ApplicationAttemptId, Instant>,
    journal: Option<Journal>,
}

impl<C: Core> Run<C> {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn spawn(
        driver: &Driver<C>,
        core: C,
        store: Box<dyn Store>,
        hands: Box<dyn Hands>,
        journal: Option<Journal>,
    ) -> io::Result<JoinHandle<()>> {
        let mut run = Self::new(driver, core, store, hands);
        run.journal = journal;
        thread::Builder::new()
            .name("driver".to_owned())
            .spawn(move || run.run())
    }

    fn new(driver: &Driver<C>, core: C, store: Box<dyn Store>, hands: Box<dyn Hands>) -> Self {
        Self {
            driver: driver.clone(),
            core,
            store,
            hands,
            clock: Clock::start(),
            waiters: HashMap::new(),
            held: BTreeMap::new(),
            stored_seq: 0,
            effects: Vec::new(),
            replies: Vec::new(),
            replied_seq: 0,
            view: None,
            view_readers: Vec::new(),
            asked: HashMap::new(),
            journal: None,
        }
    }

    fn run(&mut self) {
        if let (Some(journal), Some(rm)) = (&mut self.journal, self.core.journaled()) {
            journal.begin(rm);
        }
        let mut spare = Batch::default();
        let mut more = false;
        loop {
            let wait = if more {
                Some(Duration::ZERO)
            } else {
                self.wait()
            };
            let mut batch = self.driver.inbox.take(wait, spare);
            let idle = batch.priority.is_empty() && batch.ordinary.is_empty();
            if batch.closed && idle {
                if let (Some(journal), Some(rm)) = (&mut self.journal, self.core.journaled()) {
                    journal.close(rm);
                }
                return;
            }
            more = self.step(&mut batch);
            spare = batch;
        }
    }

    /// How long the inbox may stay empty.
    fn wait(&self) -> Option<Duration> {
        let tick = self.core.next_wake().map(|at| self.clock.until(at));
        let view = match &self.view {
            Some((taken, _)) if !self.view_readers.is_empty() => {
                Some(VIEW_INTERVAL.saturating_sub(taken.elapsed()))
            }
            _ => None,
        };
        tick.into_iter().chain(view).min()
    }

    /// One batch; true when the scheduler has more to do.
    fn step(&mut self, batch: &mut Batch<Work<C>>) -> bool {
        let now = self.clock.now();
        if let Some(wall_ms) = self.clock.wall_news(now) {
            self.apply(now, Event::WallClock { wall_ms });
        }
        let mut reads = Vec::new();
        for work in batch.priority.drain(..).chain(batch.ordinary.drain(..)) {
            match work {
                Work::Event {
                    event,
                    received,
                    waiter,
                } => {
                    self.waiters.extend(waiter);
                    self.note_asks(&event, received);
                    if let Event::Stored { seq } = *event {
                        self.stored_seq = self.stored_seq.max(seq);
                    }
                    self.apply(now, *event);
                }
                Work::Read(read) => reads.push(read),
                Work::View(reader) => self.view_readers.push(reader),
            }
        }
        if self.core.next_wake().is_some_and(|at| at <= now) {
            self.apply(now, Event::Tick);
        }
        let more = self.pass(now);
        self.carry_out();
        if let (Some(journal), Some(rm)) = (&mut self.journal, self.core.journaled()) {
            journal.end(rm);
        }
        for read in reads {
            read(Some(&self.core));
        }
        self.serve_views();
        more
    }

    fn apply(&mut self, now: Millis, event: Event) {
        if let Some(journal) = &mut self.journal {
            journal.event(now, &event);
        }
        self.core.apply(now, event, &mut self.effects);
    }

    /// Passes until nothing is left to place or someone waits.
    fn pass(&mut self, now: Millis) -> bool {
        loop {
            if let Some(journal) = &mut self.journal {
                journal.pass(now);
            }
            if !self.core.pass(now, &mut self.effects) {
                return false;
            }
            if !self.driver.inbox.is_empty() {
                return true;
            }
        }
    }

    fn carry_out(&mut self) {
        let stored_seq = self.stored_seq;
        while let Some(entry) = self.held.first_entry() {
            if *entry.key() > stored_seq {
                break;
            }
            for action in entry.remove() {
                self.act(action);
            }
        }
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect.when {
                Some(seq) if seq > stored_seq => {
                    self.held.entry(seq).or_default().push(effect.action);
                }
                _ => self.act(effect.action),
            }
        }
        self.effects = effects;
        let replies = std::mem::take(&mut self.replies);
        if !replies.is_empty() {
            self.replied_seq = self.core.seq();
        }
        for (call, reply) in replies {
            if let Some(waiter) = self.waiters.remove(&call) {
                waiter(reply.map_err(Refusal::Reject));
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Reply { call, reply } => self.replies.push((call, reply)),
            Action::Store { seq, record } => self.store.put(seq, record),
            other => {
                self.measure(&other);
                self.hands.act(other);
            }
        }
    }

    /// Remembers when new asks came in, for the grant latency.
    fn note_asks(&mut self, event: &Event, received: Instant) {
        if let Event::Am {
            attempt,
            request: AmRequest::Allocate(allocate),
            ..
        } = event
            && allocate.asks.iter().any(|ask| ask.count > 0)
        {
            self.asked.insert(*attempt, received);
        }
    }

    fn measure(&mut self, action: &Action) {
        match action {
            Action::Note(Note::Granted { container, .. }) => {
                if let Some(asked) = self.asked.get(&container.attempt) {
                    let micros = u64::try_from(asked.elapsed().as_micros()).unwrap_or(u64::MAX);
                    tracing::info!(
                        target: "latency",
                        event = "grant",
                        app = %container.app(),
                        container = %container,
                        micros,
                    );
                }
            }
            Action::AttemptEnded { attempt } => {
                self.asked.remove(attempt);
            }
            _ => {}
        }
    }

    /// Answers those who want a picture, at most every [`VIEW_INTERVAL`], never with an older one than
    /// any client was told of.
    fn serve_views(&mut self) {
        if self.view_readers.is_empty() {
            return;
        }
        let fresh = match &self.view {
            Some((_, view)) if view.seq >= self.replied_seq => Some(Arc::clone(view)),
            Some((taken, _)) if taken.elapsed() < VIEW_INTERVAL => None,
            _ => Some(self.take_view()),
        };
        let Some(view) = fresh else { return };
        for reader in self.view_readers.drain(..) {
            // A reader that went away needs no picture.
            let _ = reader.send(Arc::clone(&view));
        }
    }

    fn take_view(&mut self) -> Arc<View> {
        let view = Arc::new(self.core.view(self.clock.now()));
        self.view = Some((Instant::now(), Arc::clone(&view)));
        view
    }
}

#[cfg(test)]
#[path = "run_test.rs"]
mod tests;
