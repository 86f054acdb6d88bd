//! Deletes files of containers, applications and caches, late and off the async threads.
//! May touch: what it is told to delete.
//! Must not: follow a link, on the way to a path or below it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::safe_fs::remove_tree;

/// One thing to delete: `rel` below `root`. Only `root` is trusted; every step below it is taken
/// without following links, since accounts own directories there. That makes root's deletion as
/// safe as the owner's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// A configured local or log directory.
    pub root: PathBuf,
    /// Path below it.
    pub rel: PathBuf,
}

/// Deletes in the background (`DeletionService`).
#[derive(Debug, Clone)]
pub struct Deleter {
    permits: Arc<Semaphore>,
    threads: u32,
    debug_delay: Option<Duration>,
}

impl Deleter {
    /// `threads` is `yarn.nodemanager.delete.thread-count` (4), `debug_delay_s` is
    /// `yarn.nodemanager.delete.debug-delay-sec` (0; below 0 nothing is ever deleted).
    pub fn new(threads: u32, debug_delay_s: i64) -> Self {
        let threads = threads.max(1);
        Self {
            permits: Arc::new(Semaphore::new(threads as usize)),
            threads,
            debug_delay: u64::try_from(debug_delay_s).ok().map(Duration::from_secs),
        }
    }

    /// Deletes after the debug delay. Returns at once; failures are logged.
    pub fn delete(&self, deletion: Deletion) {
        self.delete_after(Duration::ZERO, deletion);
    }

    /// Deletes after `delay` and the debug delay; for logs, `delay` is
    /// `yarn.nodemanager.log.retain-seconds`.
    pub fn delete_after(&self, delay: Duration, deletion: Deletion) {
        let Some(debug_delay) = self.debug_delay else {
            return;
        };
        let permits = Arc::clone(&self.permits);
        tokio::spawn(async move {
            tokio::time::sleep(delay + debug_delay).await;
            let Ok(_permit) = permits.acquire().await else {
                return;
            };
            let done = tokio::task::spawn_blocking(move || {
                if let Err(e) = remove_tree(&deletion.root, &deletion.rel) {
                    tracing::warn!(error = %e, "a file or directory was not deleted");
                }
            });
            let _ = done.await;
        });
    }

    /// Waits until deletions that run now are done; those still delayed are not waited for.
    pub async fn settle(&self) {
        let _ = self.permits.acquire_many(self.threads).await;
    }
}

/// Splits a cached resource's path at the local directory it lies in, to delete its directory.
pub fn deletion_of(local_dirs: &[PathBuf], path: &Path) -> Option<Deletion> {
    let root = local_dirs.iter().find(|d| path.starts_with(d))?;
    let rel = path.strip_prefix(root).ok()?.parent()?.to_owned();
    Some(Deletion {
        root: root.clone(),
        rel,
    })
}

#[cfg(test)]
#[path = "deletion_test.rs"]
mod tests;
