//! Updates of containers: which tokens change what, and what the ResourceManager hears.
//! May touch: the test bench of `nm`.
//! Must not: sleep.

use std::sync::Arc;

use yarn_types::{Resource, gpu::DeviceGrant};

use crate::{
    Action, CallId, Event, HeartbeatAnswer, Reject, Reply, StartSpec, ToRm, UpdateSpec,
    nm::tests::{Bench, app, cid, spec},
    reject::TokenUse,
};

fn wider(version: i32, memory_mb: i64) -> UpdateSpec {
    let s = spec(cid(1));
    UpdateSpec {
        container: s.container,
        resource: Resource::new(memory_mb, 2),
        version,
        expires_wall_ms: s.expires_wall_ms,
        rm_identifier: s.rm_identifier,
        guaranteed: true,
        gpus: Vec::new(),
        gpu_count: 0,
    }
}

fn update(b: &mut Bench, attempt_of: u32, u: UpdateSpec) -> (Vec<Action>, Result<(), Reject>) {
    let effects = b.apply(Event::Update {
        call: CallId(9),
        caller: app(attempt_of).attempt(1),
        updates: vec![u],
    });
    let answer = effects.iter().find_map(|a| match a {
        Action::Reply {
            reply: Ok(Reply::Containers { failed, .. }),
            ..
        } => Some(failed.first().map_or(Ok(()), |(_, r)| Err(r.clone()))),
        _ => None,
    });
    (effects, answer.expect("answered at once"))
}

fn resized(effects: &[Action]) -> Option<Resource> {
    effects.iter().find_map(|a| match a {
        Action::Resize { resource, .. } => Some(*resource),
        _ => None,
    })
}

/// Sizes in the heartbeat among `effects`, of containers that grew.
fn told(effects: &[Action]) -> Option<Vec<i64>> {
    effects.iter().find_map(|a| match a {
        Action::Tell(ToRm::Heartbeat { increased, .. }) => {
            Some(increased.iter().map(|r| r.resource.memory_mb()).collect())
        }
        _ => None,
    })
}

fn answered(b: &mut Bench, response_id: i32) -> Vec<Action> {
    b.beat(HeartbeatAnswer {
        response_id,
        next_interval_ms: 1000,
        ..Default::default()
    })
}

#[test]
fn a_newer_token_changes_size_version_and_limits_and_is_told_at_once() {
    let mut b = Bench::registered();
    b.running(1);
    answered(&mut b, 2);
    let (effects, answer) = update(&mut b, 1, wider(1, 4096));
    answer.unwrap();
    assert_eq!(resized(&effects), Some(Resource::new(4096, 2)));
    assert_eq!(
        told(&effects),
        Some(vec![4096]),
        "it does not wait for its turn"
    );
    let report = b.report(1);
    assert_eq!(
        (report.version, report.resource),
        (1, Resource::new(4096, 2))
    );
    // answered: told
    answered(&mut b, 3);
    assert_eq!(told(&b.at(5000)), Some(vec![]));
}

#[test]
fn an_increase_is_told_until_an_answer_proves_that_it_arrived() {
    let mut b = Bench::registered();
    b.running(1);
    answered(&mut b, 2);
    update(&mut b, 1, wider(1, 4096)).1.unwrap();
    b.apply(Event::RmUnreachable {
        reason: "gone".to_owned(),
    });
    assert_eq!(told(&b.at(5000)), Some(vec![4096]), "again");
    // this answer may be the memory of the first
    let again = answered(&mut b, 3);
    assert_eq!(told(&again), Some(vec![4096]));
    answered(&mut b, 4);
    assert_eq!(told(&b.at(9000)), Some(vec![]));
}

#[test]
fn tokens_that_change_nothing_are_refused_in_hadoops_words() {
    let mut b = Bench::registered();
    b.running(1);
    update(&mut b, 1, wider(2, 2048)).1.unwrap();
    let container = cid(1);
    let text = |r: &Result<(), Reject>| r.as_ref().unwrap_err().to_string();
    let (_, old) = update(&mut b, 1, wider(2, 4096));
    assert_eq!(
        text(&old),
        format!("Container {container} has update version [2] >= requested version [2]")
    );
    let late = UpdateSpec {
        expires_wall_ms: 1,
        ..wider(3, 4096)
    };
    let (_, late) = update(&mut b, 1, late);
    let start = "Unauthorized request to increase container resource.\nThis token is expired.";
    assert!(text(&late).starts_with(start), "{late:?}");
    let (_, foreign) = update(&mut b, 2, wider(3, 4096));
    assert!(matches!(
        foreign,
        Err(Reject::OtherApplication {
            token: TokenUse::Update,
            ..
        })
    ));
    let other_rm = UpdateSpec {
        rm_identifier: 1,
        ..wider(3, 4096)
    };
    assert_eq!(
        update(&mut b, 1, other_rm).1,
        Err(Reject::PreviousRm(container))
    );
    let unknown = UpdateSpec {
        container: cid(7),
        ..wider(1, 4096)
    };
    assert_eq!(update(&mut b, 1, unknown).1, Err(Reject::Unknown(cid(7))));
    let other = UpdateSpec {
        guaranteed: false,
        ..wider(3, 4096)
    };
    assert_eq!(
        update(&mut b, 1, other).1,
        Err(Reject::ExecutionType(container))
    );
    assert_eq!(b.report(1).resource, Resource::new(2048, 2));
}

#[test]
fn a_running_container_keeps_its_devices() {
    let mut b = Bench::registered();
    let grant = |n: u32, epoch| DeviceGrant {
        uuid: Arc::from(format!("GPU-{n}")),
        epoch,
    };
    // the node manages no devices, so the container ends; its token still says what it was given
    let start = StartSpec {
        gpus: vec![grant(0, 1), grant(1, 1)],
        gpu_count: 2,
        ..spec(cid(1))
    };
    let _ = b.start(start);
    b.running(2);
    for gpus in [vec![grant(0, 1)], vec![grant(0, 2)]] {
        let more = UpdateSpec {
            container: cid(2),
            gpu_count: gpus.len(),
            gpus,
            ..wider(1, 4096)
        };
        assert_eq!(update(&mut b, 1, more).1, Err(Reject::Devices(cid(2))));
    }
}

#[test]
fn a_heartbeats_answer_shrinks_a_container_and_is_not_told_back() {
    let mut b = Bench::registered();
    b.running(1);
    answered(&mut b, 2);
    b.at(5000);
    let answer = HeartbeatAnswer {
        response_id: 3,
        next_interval_ms: 1000,
        containers_to_update: vec![UpdateSpec {
            resource: Resource::new(512, 1),
            ..wider(1, 0)
        }],
        ..Default::default()
    };
    assert_eq!(
        resized(&b.beat(answer.clone())),
        Some(Resource::new(512, 1))
    );
    let next = b.at(7000);
    assert_eq!(told(&next), Some(vec![]));
    // the same once more changes nothing
    let again = HeartbeatAnswer {
        response_id: 4,
        ..answer
    };
    assert_eq!(resized(&b.beat(again)), None);
    assert_eq!(b.report(1).version, 1);
}
