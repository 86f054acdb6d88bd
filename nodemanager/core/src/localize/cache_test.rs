//! Tests of sharing, failure and eviction.
//! May touch: nothing outside memory.
//! Must not: fetch anything.

use super::*;
use crate::localize::resource::{ResourceKind, ResourceUrl};

fn key(path: &str) -> ResourceKey {
    let url = ResourceUrl {
        scheme: "file".into(),
        path: path.into(),
        ..Default::default()
    };
    ResourceKey {
        url,
        timestamp_ms: 1,
        kind: ResourceKind::File,
        pattern: None,
    }
}

fn fetch(cache: &mut Cache<u32>, scope: Scope, path: &str, who: u32) -> FetchId {
    match cache.request(scope, key(path), &who) {
        Answer::Fetch { id, .. } => id,
        other => panic!("expected a fetch, got {other:?}"),
    }
}

#[test]
fn concurrent_requests_for_one_resource_are_one_fetch() {
    let mut cache = Cache::new(8192);
    let id = fetch(&mut cache, Scope::Public, "/a", 1);
    assert_eq!(
        cache.request(Scope::Public, key("/a"), &2),
        Answer::Wait { id }
    );
    let done = cache.fetched(5, id, "/c/filecache/10/a", 7);
    assert_eq!(
        done,
        Done {
            waiters: vec![1, 2],
            stale: false
        }
    );
    let ready = Answer::Ready {
        id,
        path: "/c/filecache/10/a".into(),
        size: 7,
    };
    assert_eq!(cache.request(Scope::Public, key("/a"), &3), ready);
}

#[test]
fn users_and_timestamps_do_not_share() {
    let mut cache = Cache::new(8192);
    let private = |user: &str| Scope::Private { user: user.into() };
    fetch(&mut cache, private("alice"), "/a", 1);
    match cache.request(private("bob"), key("/a"), &2) {
        Answer::Fetch { dir, .. } => assert_eq!(dir, "usercache/bob/filecache/10"),
        other => panic!("{other:?}"),
    }
    let newer = ResourceKey {
        timestamp_ms: 2,
        ..key("/a")
    };
    assert!(matches!(
        cache.request(private("alice"), newer, &1),
        Answer::Fetch { .. }
    ));
}

#[test]
fn a_failure_reaches_all_who_wait_and_is_not_remembered() {
    let mut cache = Cache::new(8192);
    let id = fetch(&mut cache, Scope::Public, "/a", 1);
    cache.request(Scope::Public, key("/a"), &2);
    cache.release(1, &1);
    assert_eq!(
        cache.failed(id),
        Done {
            waiters: vec![2],
            stale: false
        }
    );
    fetch(&mut cache, Scope::Public, "/a", 3);
}

#[test]
fn least_recently_used_goes_first_and_what_is_in_use_stays() {
    let mut cache = Cache::new(8192);
    for (n, path) in [(1, "/a"), (2, "/b"), (3, "/c"), (4, "/d")] {
        let id = fetch(&mut cache, Scope::Public, path, n);
        cache.fetched(1, id, path, 100);
    }
    cache.release(10, &2);
    cache.release(20, &1);
    cache.release(30, &3);
    let gone = |cache: &mut Cache<u32>, target| -> Vec<String> {
        cache.cleanup(target).into_iter().map(|r| r.path).collect()
    };
    assert!(gone(&mut cache, 400).is_empty());
    assert_eq!(gone(&mut cache, 250), ["/b", "/a"]);
    assert_eq!(gone(&mut cache, 0), ["/c"]);
    assert_eq!(cache.size(), 100);
}

#[test]
fn an_applications_resources_go_with_it_even_while_fetched() {
    let mut cache = Cache::new(8192);
    let scope = Scope::Application {
        user: "u".into(),
        app_id: "a1".into(),
    };
    let ready = fetch(&mut cache, scope.clone(), "/x", 1);
    cache.fetched(1, ready, "/x", 5);
    let late = fetch(&mut cache, scope, "/y", 1);
    assert_eq!(cache.size(), 0);
    let removed = cache.application_finished("u", "a1");
    assert_eq!(
        removed.iter().map(|r| r.path.as_str()).collect::<Vec<_>>(),
        ["/x"]
    );
    assert!(cache.fetched(2, late, "/y", 5).stale);
}

#[test]
fn a_vanished_file_is_fetched_again() {
    let mut cache = Cache::new(8192);
    let id = fetch(&mut cache, Scope::Public, "/a", 1);
    cache.fetched(1, id, "/a", 1);
    cache.lost(id);
    fetch(&mut cache, Scope::Public, "/a", 1);
    cache.release(3, &1);
}
