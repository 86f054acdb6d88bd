//! `/jmx`: the gauges of Hadoop's `NodeManagerMetrics`.
//! May touch: the core, by questions.
//! Must not: show a number that nobody measures.

use actix_web::{
    HttpResponse,
    web::{Data, Query},
};
use nm_core::{Nm, container::State};
use serde_json::Value;
use yarn_types::Resource;
use yarn_web::{Bean, JmxQuery, jmx_answer};

use super::Site;

/// GET `/jmx`.
pub(super) async fn jmx(site: Data<Site>, query: Query<JmxQuery>) -> HttpResponse {
    let total = site.offer.now();
    match site.inbox.ask(move |nm, _| gauges(nm, total)).await {
        Some(attributes) => {
            let bean = Bean::new("NodeManager", "NodeManagerMetrics", attributes);
            jmx_answer(vec![bean], &query)
        }
        None => HttpResponse::ServiceUnavailable().finish(),
    }
}

fn gauges(nm: &Nm, total: Resource) -> Vec<(String, Value)> {
    let states: Vec<State> = nm.containers().map(nm_core::Container::state).collect();
    let count = |of: &dyn Fn(&State) -> bool| states.iter().filter(|state| of(state)).count();
    let live = nm.containers().filter(|c| c.state() != State::Done);
    let used = live.fold(Resource::ZERO, |sum, c| sum.plus(c.report().resource));
    let available = total.minus(used).at_least_zero();
    // Whole GiB: what is held is rounded up, what is left down, as Hadoop does.
    let up = |mb: i64| (mb + 1023).div_euclid(1024);
    let down = |mb: i64| mb.div_euclid(1024);
    [
        (
            "ContainersIniting",
            count(&|s| matches!(s, State::New | State::Localizing)),
        ),
        ("ContainersRunning", count(&|s| *s == State::Running)),
        ("AllocatedContainers", count(&|s| *s != State::Done)),
        ("ApplicationsRunning", nm.apps().count()),
        // Nothing here is opportunistic, is paused or starts anew in place.
        ("ContainersReIniting", 0),
        ("ContainersPaused", 0),
        ("ContainersRolledBackOnFailure", 0),
        ("ContainersGuaranteedQueued", 0),
        ("ContainersOpportunisticQueued", 0),
        ("RunningOpportunisticContainers", 0),
        ("AllocatedOpportunisticGB", 0),
        ("AllocatedOpportunisticVCores", 0),
    ]
    .map(|(name, value)| (name.to_owned(), value.into()))
    .into_iter()
    .chain(
        [
            ("AllocatedGB", up(used.memory_mb())),
            ("AvailableGB", down(available.memory_mb())),
            ("AllocatedVCores", used.vcores()),
            ("AvailableVCores", available.vcores()),
        ]
        .map(|(name, value)| (name.to_owned(), value.into())),
    )
    .collect()
}
