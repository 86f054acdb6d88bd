//! Tests: laws of the NodeManager over random histories.
//! May touch: the module under test.
//! Must not: sleep, or read clocks.

use proptest::prelude::*;

use super::{tests::*, *};
use crate::{CallId, launch::diagnostics::Tails};

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let id = || (1_u64..4).prop_map(cid);
    let caller = app(1).attempt(1);
    let why = String::new;
    let event = prop_oneof![
        1 => Just(Event::Tick),
        1 => Just(Event::Begin),
        1 => Just(Event::Registered { rm_identifier: RM, gpu_seq: None }),
        1 => Just(Event::RmUnreachable { reason: why() }),
        1 => Just(Event::Unregistered),
        4 => id().prop_map(move |c| Event::Start { call: CallId(1), caller, starts: vec![spec(c)] }),
        1 => id().prop_map(move |c| Event::Stop { call: CallId(1), caller, containers: vec![c] }),
        3 => id().prop_map(|container| Event::Localized { container }),
        1 => id().prop_map(|container| Event::LocalizationFailed { container, diagnostics: "x".into() }),
        3 => id().prop_map(|container| Event::Launched { container }),
        1 => id().prop_map(|container| Event::LaunchFailed { container, exit_code: -1, diagnostics: "x".into() }),
        3 => (id(), prop_oneof![Just(0), Just(1), Just(143)]).prop_map(|(container, exit_code)| {
            Event::Exited { container, exit_code, message: String::new(), tails: Tails::default() }
        }),
        1 => id().prop_map(|container| Event::OverLimit {
            container, exit_code: -104, diagnostics: "x".into()
        }),
        3 => id().prop_map(|container| Event::TornDown { container, dirty: None }),
        1 => Just(Event::AppCleaned { app: app(1) }),
        6 => (any::<bool>(), any::<bool>(), id(), 0_u8..12).prop_map(|(remove, finish, c, action)| {
            Event::HeartbeatAnswered(Box::new(HeartbeatAnswer {
                action: if action == 0 { NodeAction::Resync } else { NodeAction::Normal },
                containers_to_be_removed: if remove { vec![c] } else { Vec::new() },
                applications_to_cleanup: if finish && action == 1 { vec![app(1)] } else { Vec::new() },
                ..beat(1)
            }))
        }),
        1 => Just(Event::Shutdown { reason: why() }),
    ];
    proptest::collection::vec((0_u64..2000, event), 1..60)
}

proptest! {
    #[test]
    fn invariants_hold_and_replay_is_equal(history in events()) {
        let (mut a, mut b) = (Nm::new(conf()), Nm::new(conf()));
        let (mut out_a, mut out_b) = (Vec::new(), Vec::new());
        let mut now = Millis(0);
        let mut last: BTreeMap<ContainerId, bool> = BTreeMap::new();
        for (step, event) in history {
            now = now.plus(step);
            a.apply(now, event.clone(), &mut out_a);
            b.apply(now, event.clone(), &mut out_b);
            prop_assert_eq!(a.check(), Vec::<String>::new(), "after {:?}", event);
            // What is over stays over.
            for c in a.containers() {
                let done = last.insert(c.spec.container, c.is_done()).unwrap_or(false);
                prop_assert!(!done || c.is_done());
            }
        }
        prop_assert_eq!(a, b);
        prop_assert_eq!(&out_a, &out_b);
        let exits = out_a.iter().filter(|e| matches!(e.action, Action::Exit { .. })).count();
        prop_assert!(exits <= 1, "said Exit {} times", exits);
    }

    /// Whatever happened before: once everything answers, a stop comes to its end.
    #[test]
    fn a_stop_always_ends(history in events()) {
        let mut nm = Nm::new(conf());
        let mut out = Vec::new();
        let mut now = Millis(0);
        for (step, event) in history {
            now = now.plus(step);
            nm.apply(now, event, &mut out);
        }
        nm.apply(now, Event::Shutdown { reason: String::new() }, &mut out);
        for _ in 0..50 {
            if let Some(wake) = nm.next_wake() {
                now = now.max(wake);
                nm.apply(now, Event::Tick, &mut out);
            }
        }
        let exits = out.iter().filter(|e| matches!(e.action, Action::Exit { .. })).count();
        prop_assert_eq!(exits, 1);
    }
}
