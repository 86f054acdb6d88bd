//! Tests: the NodeManager's life cycles, event by event, and laws over random histories.
//! May touch: the module under test.
//! Must not: sleep, or read clocks.

use yarn_types::{ContainerState, Resource};

use super::*;
use crate::{
    container::State,
    effect::Reply,
    event::{CallId, Signal, StartSpec},
    launch::diagnostics::Tails,
    reject::{Reject, TokenUse},
};

pub(crate) const RM: i64 = 1_700_000_000_000;
const WALL: i64 = 1_800_000_000_000;

pub(crate) fn conf() -> NmConf {
    NmConf {
        sigkill_delay_ms: 250,
        kill_wait_ms: 5000,
        log_retain_ms: 10_800_000,
        diagnostics_bytes_max: 10_000,
        track_stopped_ms: 600_000,
        work_preserving: true,
        gpus: false,
        label_resync_ms: None,
        link: LinkConf {
            connect_wait_ms_max: Some(900_000),
            retry_interval_ms: 30_000,
            quick_retries: 10,
            quick_interval_ms: 1000,
        },
    }
}

pub(crate) fn app(n: u32) -> ApplicationId {
    ApplicationId {
        cluster_timestamp: RM,
        id: n,
    }
}

pub(crate) fn cid(n: u64) -> ContainerId {
    app(1).attempt(1).container(0, n)
}

pub(crate) fn spec(container: ContainerId) -> StartSpec {
    StartSpec {
        container,
        user: "alice".into(),
        resource: Resource::new(1024, 1),
        priority: 7,
        created_wall_ms: WALL,
        expires_wall_ms: WALL + 600_000,
        rm_identifier: RM,
        allocation_request_id: 3,
        version: 0,
        guaranteed: true,
        gpus: Vec::new(),
        gpu_count: 0,
        aux_services: Vec::new(),
        fault: None,
    }
}

pub(crate) struct Bench {
    pub(crate) nm: Nm,
    now: Millis,
    effects: Vec<Action>,
}

impl Bench {
    pub(crate) fn new(conf: NmConf) -> Self {
        let mut bench = Self {
            nm: Nm::new(conf),
            now: Millis(0),
            effects: Vec::new(),
        };
        bench.apply(Event::WallClock { wall_ms: WALL });
        bench
    }

    pub(crate) fn registered() -> Self {
        let mut bench = Self::new(conf());
        bench.apply(Event::Begin);
        bench.apply(Event::Registered {
            rm_identifier: RM,
            gpu_seq: None,
        });
        bench.beat(HeartbeatAnswer {
            response_id: 1,
            ..Default::default()
        });
        bench
    }

    pub(crate) fn apply(&mut self, event: Event) -> Vec<Action> {
        let mut out = Vec::new();
        self.nm.apply(self.now, event, &mut out);
        assert_eq!(self.nm.check(), Vec::<String>::new());
        self.effects = out.into_iter().map(|e| e.action).collect();
        self.effects.clone()
    }

    pub(crate) fn beat(&mut self, answer: HeartbeatAnswer) -> Vec<Action> {
        self.apply(Event::HeartbeatAnswered(Box::new(answer)))
    }

    pub(crate) fn at(&mut self, ms: u64) -> Vec<Action> {
        self.now = Millis(ms);
        self.apply(Event::Tick)
    }

    pub(crate) fn start(&mut self, s: StartSpec) -> Result<(), Reject> {
        let caller = app(1).attempt(1);
        self.apply(Event::Start {
            call: CallId(1),
            caller,
            starts: vec![s],
        });
        self.effects
            .iter()
            .find_map(|a| match a {
                Action::Reply {
                    reply: Ok(Reply::Containers { failed, .. }),
                    ..
                } => Some(failed.first().map_or(Ok(()), |(_, r)| Err(r.clone()))),
                Action::Reply { reply: Err(r), .. } => Some(Err(r.clone())),
                _ => None,
            })
            .expect("a start is answered at once")
    }

    pub(crate) fn running(&mut self, n: u64) {
        let container = cid(n);
        self.start(spec(container)).unwrap();
        self.apply(Event::Localized { container });
        self.apply(Event::Launched { container });
        assert_eq!(self.state(n), State::Running);
    }

    pub(crate) fn exited(&mut self, n: u64, exit_code: i32) -> Vec<Action> {
        let (container, message) = (cid(n), String::new());
        self.apply(Event::Exited {
            container,
            exit_code,
            message,
            tails: Tails::default(),
        })
    }

    pub(crate) fn state(&self, n: u64) -> State {
        self.nm.container(cid(n)).unwrap().state()
    }

    pub(crate) fn report(&self, n: u64) -> ContainerReport {
        self.nm.container(cid(n)).unwrap().report()
    }

    pub(crate) fn heartbeat(&self) -> Option<(i32, Vec<ContainerReport>)> {
        self.effects.iter().find_map(|a| match a {
            Action::Tell(ToRm::Heartbeat {
                response_id,
                containers,
                ..
            }) => Some((*response_id, containers.clone())),
            _ => None,
        })
    }
}

pub(crate) fn beat(response_id: i32) -> HeartbeatAnswer {
    HeartbeatAnswer {
        response_id,
        next_interval_ms: 1000,
        ..Default::default()
    }
}

#[test]
fn a_container_that_ends_well_is_reported_at_once() {
    let mut b = Bench::registered();
    b.running(1);
    // The launch itself went out of turn, with the response id in sequence.
    let (id, statuses) = b.heartbeat().expect("a launch is reported out of turn");
    assert_eq!((id, statuses[0].state), (1, ContainerState::Running));
    b.beat(beat(2));
    assert_eq!(b.exited(1, 0), [Action::Teardown { container: cid(1) }]);
    b.apply(Event::TornDown {
        container: cid(1),
        dirty: None,
    });
    let (id, statuses) = b.heartbeat().expect("an end is reported out of turn");
    assert_eq!(id, 2);
    assert_eq!(
        (statuses[0].state, statuses[0].exit_code),
        (ContainerState::Complete, 0)
    );
    assert_eq!(statuses[0].diagnostics, "");
    // Delivered: not sent again, kept until the ResourceManager says so.
    b.beat(beat(3));
    b.at(1000);
    assert_eq!(b.heartbeat().unwrap().1, []);
    let acked = HeartbeatAnswer {
        containers_to_be_removed: vec![cid(1)],
        ..beat(4)
    };
    assert_eq!(b.beat(acked), [Action::Forget { container: cid(1) }]);
}

#[test]
fn kills_carry_the_code_and_text_of_who_wanted_them() {
    let by_am = |b: &mut Bench| {
        let caller = app(1).attempt(1);
        b.apply(Event::Stop {
            call: CallId(2),
            caller,
            containers: vec![cid(1)],
        })
    };
    let by_rm = |b: &mut Bench| {
        b.at(1000);
        b.beat(HeartbeatAnswer {
            containers_to_cleanup: vec![cid(1)],
            ..beat(3)
        })
    };
    let by_end = |b: &mut Bench| {
        b.at(1000);
        b.beat(HeartbeatAnswer {
            applications_to_cleanup: vec![app(1)],
            ..beat(3)
        })
    };
    let by_monitor = |b: &mut Bench| {
        let (container, diagnostics) = (cid(1), "too much".to_owned());
        b.apply(Event::OverLimit {
            container,
            exit_code: -104,
            diagnostics,
        })
    };
    type Way<'a> = &'a dyn Fn(&mut Bench) -> Vec<Action>;
    let cases: [(Way<'_>, i32, &str); 4] = [
        (&by_am, -105, "Container killed by the ApplicationMaster."),
        (&by_rm, -106, "Container Killed by ResourceManager"),
        (
            &by_end,
            -107,
            "Container killed on application-finish event: Application killed by ResourceManager",
        ),
        (&by_monitor, -104, "too much"),
    ];
    for (kill, code, text) in cases {
        let mut b = Bench::registered();
        b.running(1);
        b.beat(beat(2));
        let effects = kill(&mut b);
        let term = Action::Signal {
            container: cid(1),
            signal: Signal::Term,
        };
        assert!(effects.contains(&term), "{text}: {effects:?}");
        b.exited(1, 143);
        b.apply(Event::TornDown {
            container: cid(1),
            dirty: None,
        });
        let report = b.report(1);
        assert_eq!(report.exit_code, code);
        assert!(
            report.diagnostics.contains(&format!("]{text}\n[")),
            "{}",
            report.diagnostics
        );
        assert!(
            report
                .diagnostics
                .contains("]Container killed on request. Exit code is 143\n")
        );
        assert!(
            !report.diagnostics.contains("external"),
            "{}",
            report.diagnostics
        );
    }
}

#[test]
fn a_container_that_ignores_sigterm_gets_sigkill() {
    let mut b = Bench::registered();
    b.running(1);
    let caller = app(1).attempt(1);
    b.apply(Event::Stop {
        call: CallId(2),
        caller,
        containers: vec![cid(1)],
    });
    let kill = Action::Signal {
        container: cid(1),
        signal: Signal::Kill,
    };
    assert!(!b.at(249).contains(&kill));
    assert_eq!(b.nm.next_wake(), Some(Millis(250)));
    assert!(b.at(250).contains(&kill));
    assert!(!b.at(251).contains(&kill));
}

#[test]
fn a_kill_while_the_process_is_being_started_follows_it() {
    let mut b = Bench::registered();
    b.start(spec(cid(1))).unwrap();
    b.apply(Event::Localized { container: cid(1) });
    let caller = app(1).attempt(1);
    let effects = b.apply(Event::Stop {
        call: CallId(2),
        caller,
        containers: vec![cid(1)],
    });
    assert!(!effects.iter().any(|a| matches!(a, Action::Signal { .. })));
    let effects = b.apply(Event::Launched { container: cid(1) });
    assert_eq!(
        effects,
        [Action::Signal {
            container: cid(1),
            signal: Signal::Term
        }]
    );
    b.exited(1, 137);
    b.apply(Event::TornDown {
        container: cid(1),
        dirty: None,
    });
    assert_eq!(b.report(1).exit_code, -105);
}

#[test]
fn a_kill_while_localizing_ends_without_a_process() {
    let mut b = Bench::registered();
    b.start(spec(cid(1))).unwrap();
    let caller = app(1).attempt(1);
    let effects = b.apply(Event::Stop {
        call: CallId(2),
        caller,
        containers: vec![cid(1)],
    });
    assert!(effects.contains(&Action::CancelLocalization { container: cid(1) }));
    // The answer that was on its way means nothing any more.
    assert_eq!(b.apply(Event::Localized { container: cid(1) }), []);
    b.apply(Event::TornDown {
        container: cid(1),
        dirty: None,
    });
    assert_eq!(b.report(1).exit_code, -105);
    assert!(
        b.report(1)
            .diagnostics
            .contains("Container is killed before being launched.")
    );
}

#[test]
fn failed_localization_ends_with_minus_1000() {
    let mut b = Bench::registered();
    b.start(spec(cid(1))).unwrap();
    let diagnostics = "no such file".to_owned();
    b.apply(Event::LocalizationFailed {
        container: cid(1),
        diagnostics,
    });
    b.apply(Event::TornDown {
        container: cid(1),
        dirty: None,
    });
    let report = b.report(1);
    assert_eq!(
        (report.state, report.exit_code),
        (ContainerState::Complete, -1000)
    );
    assert!(report.diagnostics.contains("no such file"));
}

#[test]
fn exit_codes_of_the_process_itself() {
    let mut b = Bench::registered();
    b.running(1);
    b.exited(1, 3);
    b.apply(Event::TornDown {
        container: cid(1),
        dirty: None,
    });
    let text = b.report(1).diagnostics;
    assert_eq!(b.report(1).exit_code, 3);
    assert!(
        text.contains("Exception from container-launch.\nContainer id: container_"),
        "{text}"
    );
    assert!(
        text.contains("]Container exited with a non-zero exit code 3. "),
        "{text}"
    );
    b.running(2);
    b.exited(2, 137);
    b.apply(Event::TornDown {
        container: cid(2),
        dirty: None,
    });
    assert_eq!(b.report(2).exit_code, 137);
    assert!(
        b.report(2)
            .diagnostics
            .ends_with("]Killed by external signal\n")
    );
}

#[test]
fn starts_are_judged_in_hadoops_order() {
    let mut b = Bench::new(conf());
    assert_eq!(b.start(spec(cid(1))), Err(Reject::NotYetReady));
    let mut b = Bench::registered();
    let foreign = app(2).attempt(1).container(0, 1);
    let owner = foreign.attempt;
    let caller = app(1).attempt(1);
    let all_wrong = StartSpec {
        expires_wall_ms: WALL - 1,
        rm_identifier: RM + 1,
        aux_services: vec!["spark_shuffle".to_owned()],
        ..spec(foreign)
    };
    assert_eq!(
        b.start(all_wrong.clone()),
        Err(Reject::OtherApplication {
            token: TokenUse::Start,
            caller,
            owner
        })
    );
    let mut s = StartSpec {
        container: cid(1),
        ..all_wrong
    };
    assert!(matches!(b.start(s.clone()), Err(Reject::Expired { .. })));
    s.expires_wall_ms = WALL + 1;
    assert_eq!(b.start(s.clone()), Err(Reject::PreviousRm(cid(1))));
    s.rm_identifier = RM;
    let aux = b.start(s.clone()).unwrap_err();
    assert_eq!(
        aux.to_string(),
        "The auxService:spark_shuffle does not exist"
    );
    s.aux_services.clear();
    assert_eq!(b.start(s.clone()), Ok(()));
    assert_eq!(b.start(s), Err(Reject::Relaunch(cid(1))));
}

#[test]
fn a_forgotten_container_is_not_started_twice_while_its_token_lives() {
    let mut b = Bench::registered();
    b.running(1);
    b.beat(beat(2));
    b.exited(1, 0);
    b.apply(Event::TornDown {
        container: cid(1),
        dirty: None,
    });
    b.beat(HeartbeatAnswer {
        containers_to_be_removed: vec![cid(1)],
        ..beat(3)
    });
    assert!(b.nm.container(cid(1)).is_none());
    b.at(600_000);
    assert_eq!(b.start(spec(cid(1))), Err(Reject::Relaunch(cid(1))));
    b.at(600_001);
    assert!(matches!(b.start(spec(cid(1))), Err(Reject::Expired { .. })));
}
