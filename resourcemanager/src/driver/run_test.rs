//! Order of the driver: records before replies, actions before replies, pictures after replies.
//! May touch: the driver with a scripted core.
//! Must not: start a thread or sleep.

use std::sync::{Mutex, mpsc};

use rm_core::{RejectKind, effect::Record, event::ClientRequest};
use yarn_types::ApplicationId;

use super::*;

const APP: ApplicationId = ApplicationId {
    cluster_timestamp: 1,
    id: 1,
};

/// Answers a submission once its record is stored, a new application at once, a kill with a refusal.
#[derive(Default)]
struct Scripted {
    events: u64,
    passes: u32,
    wake: Option<Millis>,
    ticks: u32,
}

impl Core for Scripted {
    fn apply(&mut self, _: Millis, event: Event, effects: &mut Vec<Effect>) {
        self.events += 1;
        match event {
            Event::Client {
                call,
                request: ClientRequest::NewApplication,
            } => {
                let seq = self.events;
                let record = Record::AppSubmitted { app: APP };
                let reply = Ok(Box::new(Reply::Done));
                let action = Action::Reply { call, reply };
                let when = Some(seq);
                effects.push(Effect { when, action });
                let when = None;
                effects.push(Effect {
                    when,
                    action: Action::Store { seq, record },
                });
                effects.push(Effect {
                    when,
                    action: Action::AppEnded { app: APP },
                });
            }
            Event::Client { call, .. } => {
                let reply = Err(Reject::new(RejectKind::Yarn, "no"));
                effects.push(Effect {
                    when: None,
                    action: Action::Reply { call, reply },
                });
            }
            Event::Tick => {
                self.ticks += 1;
                self.wake = None;
            }
            _ => {}
        }
    }

    fn pass(&mut self, _: Millis, _: &mut Vec<Effect>) -> bool {
        self.passes += 1;
        !self.passes.is_multiple_of(3)
    }

    fn next_wake(&self) -> Option<Millis> {
        self.wake
    }

    fn seq(&self) -> u64 {
        self.events
    }

    fn view(&self, _: Millis) -> View {
        View {
            seq: self.events,
            ..View::default()
        }
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Hands for Log {
    fn act(&mut self, action: Action) {
        if let Action::AppEnded { .. } = action {
            self.add("act");
        }
    }
}

struct SlowStore(Log);

impl Store for SlowStore {
    fn put(&mut self, _: u64, _: Record) {
        self.0.add("put");
    }
}

fn run(inbox_len_max: usize) -> (Driver<Scripted>, Run<Scripted>, Log) {
    let driver = Driver::with_inbox_len_max(inbox_len_max);
    let log = Log::default();
    let store = Box::new(SlowStore(log.clone()));
    let run = Run::new(&driver, Scripted::default(), store, Box::new(log.clone()));
    (driver, run, log)
}

fn turn(driver: &Driver<Scripted>, run: &mut Run<Scripted>) -> bool {
    let mut batch = driver.inbox.take(Some(Duration::ZERO), Batch::default());
    run.step(&mut batch)
}

fn call(driver: &Driver<Scripted>, log: &Log, request: ClientRequest) {
    let log = log.clone();
    driver.call(
        Instant::now(),
        |call| Event::Client { call, request },
        move |answer| match answer {
            Ok(_) => log.add("reply"),
            Err(Refusal::Busy) => log.add("busy"),
            Err(Refusal::Reject(e)) => log.add(&e.message),
        },
    );
}

fn kill() -> ClientRequest {
    ClientRequest::Kill {
        app: APP,
        user: "alice".into(),
        peer: String::new(),
        diagnostics: String::new(),
    }
}

#[test]
fn a_reply_waits_for_its_record_and_goes_out_after_every_action() {
    let (driver, mut run, log) = run(8);
    call(&driver, &log, ClientRequest::NewApplication);
    call(&driver, &log, kill());
    turn(&driver, &mut run);
    assert_eq!(
        log.take(),
        ["put", "act", "no"],
        "the record is not stored yet"
    );
    let seq = run.held.first_key_value().map(|(seq, _)| *seq).unwrap();
    driver.tell(Event::Stored { seq: seq - 1 });
    turn(&driver, &mut run);
    assert!(log.take().is_empty());
    driver.tell(Event::Stored { seq });
    turn(&driver, &mut run);
    assert_eq!(log.take(), ["reply"]);
    assert!(run.waiters.is_empty());
}

#[test]
fn a_full_inbox_answers_busy_at_once() {
    let (driver, mut run, log) = run(1);
    call(&driver, &log, kill());
    call(&driver, &log, kill());
    assert_eq!(log.take(), ["busy"]);
    turn(&driver, &mut run);
    assert_eq!(log.take(), ["no"]);
}

#[test]
fn a_pass_goes_on_until_done_unless_someone_waits() {
    let (driver, mut run, log) = run(8);
    assert!(!turn(&driver, &mut run));
    assert_eq!(run.core.passes, 3);
    let mut batch = driver.inbox.take(Some(Duration::ZERO), Batch::default());
    call(&driver, &log, kill());
    assert!(run.step(&mut batch), "a waiting call is served first");
    assert_eq!(run.core.passes, 4);
}

#[test]
fn a_tick_comes_when_it_is_due() {
    let (driver, mut run, _) = run(8);
    run.core.wake = Some(Millis(u64::MAX));
    turn(&driver, &mut run);
    assert_eq!(run.core.ticks, 0);
    run.core.wake = Some(Millis(0));
    turn(&driver, &mut run);
    assert_eq!(run.core.ticks, 1);
}

#[test]
fn queries_run_after_their_batch_and_pictures_hold_what_was_told() {
    let (driver, mut run, log) = run(8);
    let (tell, told) = mpsc::channel();
    driver.read(move |core| tell.send(core.unwrap().events).unwrap());
    call(&driver, &log, kill());
    turn(&driver, &mut run);
    assert_eq!(told.recv().unwrap(), run.core.events);

    let (tell, mut told) = oneshot::channel();
    driver.inbox.push(Work::View(tell)).ok().unwrap();
    turn(&driver, &mut run);
    let first = told.try_recv().unwrap();
    assert!(first.seq >= run.replied_seq);
    // Events that told nobody anything leave the picture good enough.
    driver.tell(Event::NmKeyActivated);
    let (tell, mut told) = oneshot::channel();
    driver.inbox.push(Work::View(tell)).ok().unwrap();
    turn(&driver, &mut run);
    assert!(Arc::ptr_eq(&first, &told.try_recv().unwrap()));
    // After a reply a new picture is due, but not sooner than the interval allows.
    call(&driver, &log, kill());
    turn(&driver, &mut run);
    let (tell, mut told) = oneshot::channel();
    driver.inbox.push(Work::View(tell)).ok().unwrap();
    turn(&driver, &mut run);
    if let Some((taken, _)) = &mut run.view {
        *taken = taken.checked_sub(VIEW_INTERVAL).unwrap();
    }
    turn(&driver, &mut run);
    let second = told.try_recv();
    let second = second.unwrap();
    assert!(second.seq >= run.replied_seq && !Arc::ptr_eq(&first, &second));
}
