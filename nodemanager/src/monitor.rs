//! The loops that watch memory and the size of the resource cache.
//! May touch: `exec::monitor`, the cache, the inbox, time.
//! Must not: kill anything (the core says who ends).

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use nm_core::Event;
use tokio::time::MissedTickBehavior;

use crate::{
    driver::Inbox,
    exec::{
        localizer::Localizer,
        monitor::{Monitor, NodeUsage, Utilization, node_usage},
    },
};

/// What containers and the whole machine used at the last poll; heartbeats carry it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Sum over containers; CPU in vcores of the node.
    pub containers: Utilization,
    /// The machine; CPU as a fraction, 0 to 1.
    pub node: Utilization,
}

/// The last usage, shared between the loop that polls and the tracker that tells.
pub type SharedUsage = Arc<Mutex<Usage>>;

/// Polls memory every `interval_ms`, for ever.
pub async fn watch(
    monitor: Arc<Mutex<Monitor>>,
    usage: SharedUsage,
    inbox: Inbox,
    interval_ms: u64,
) {
    let started = Instant::now();
    let mut before = NodeUsage::default();
    let mut ticks = tokio::time::interval(Duration::from_millis(interval_ms));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let monitor = Arc::clone(&monitor);
        let now_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let poll = tokio::task::spawn_blocking(move || {
            let mut monitor = monitor.lock().unwrap_or_else(PoisonError::into_inner);
            (monitor.poll(now_ms), node_usage(Path::new("/proc")))
        });
        let Ok((poll, node)) = poll.await else {
            continue;
        };
        *usage.lock().unwrap_or_else(PoisonError::into_inner) = Usage {
            containers: poll.used,
            node: Utilization {
                pmem_mb: node.pmem_mb,
                vmem_mb: node.vmem_mb,
                cpu_vcores: node.cpu_since(&before),
            },
        };
        before = node;
        for over in poll.over {
            let Ok(container) = over.container_id.parse() else {
                continue;
            };
            tracing::warn!(%container, exit_code = over.exit_status, "beyond its memory");
            let (exit_code, diagnostics) = (over.exit_status, over.diagnostics);
            inbox.event(Event::OverLimit {
                container,
                exit_code,
                diagnostics,
            });
        }
    }
}

/// Fits the resource cache to its size every `interval_ms`, for ever.
pub async fn fit_cache(localizer: Arc<Localizer>, local_dirs: Vec<PathBuf>, interval_ms: u64) {
    let mut ticks = tokio::time::interval(Duration::from_millis(interval_ms));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let bytes = localizer.cleanup(&local_dirs);
        if bytes > 0 {
            tracing::info!(bytes, "resources left the cache");
        }
    }
}
