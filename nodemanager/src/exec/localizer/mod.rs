//! Brings the resources of containers: asks the cache, fetches what is missing, once each.
//! May touch: cache directories, the localiser's process (through `batch`).
//! Must not: read a source itself; that happens with the account's rights only.

mod batch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use container_localizer::protocol::Limits;
use nm_core::launch::Link;
use nm_core::localize::{Answer, Cache, FetchId, LocalResource, Removal, Visibility};
use thiserror::Error;
use tokio::sync::watch;

use super::account::Account;
use super::deletion::{Deleter, Deletion, deletion_of};
use super::launch::Binaries;
use nm_core::disks::Report;

/// How a fetch ended: path and bytes, or the text for diagnostics.
type Outcome = Result<(String, u64), String>;

/// Settings of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalizerConf {
    /// `yarn.nodemanager.local-cache.max-files-per-directory`, 8192.
    pub files_per_dir_max: u32,
    /// `yarn.nodemanager.localizer.cache.target-size-mb`, 10240 MiB, in bytes.
    pub target_bytes: u64,
    /// Caps of one resource.
    pub limits: Limits,
}

impl Default for LocalizerConf {
    fn default() -> Self {
        Self {
            files_per_dir_max: 8192,
            target_bytes: 10_240 << 20,
            limits: Limits::default(),
        }
    }
}

/// What a container needs.
#[derive(Debug, Clone)]
pub struct Needs {
    /// Submitter.
    pub user: String,
    /// `application_…`.
    pub app_id: String,
    /// `container_…`.
    pub container_id: String,
    /// Who runs the container, and so who reads its resources.
    pub account: Account,
    /// Resources by the key under which the container sees them.
    pub resources: Vec<(String, LocalResource)>,
    /// Usable local directories.
    pub local: Report,
}

/// `LocalizationCounter`: what `LOCALIZATION_COUNTERS` lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes fetched.
    pub bytes_missed: u64,
    /// Bytes found in the cache.
    pub bytes_cached: u64,
    /// Resources fetched.
    pub files_missed: u64,
    /// Resources found in the cache.
    pub files_cached: u64,
    /// Duration, ms.
    pub millis: u64,
}

impl Counters {
    /// `localizationCountersAsString`.
    pub fn text(&self) -> String {
        format!(
            "{},{},{},{},{}",
            self.bytes_missed, self.bytes_cached, self.files_missed, self.files_cached, self.millis
        )
    }
}

/// All resources are in place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Localized {
    /// Where each is, for the launch.
    pub links: Vec<Link>,
    /// Counters.
    pub counters: Counters,
}

/// Why a container's resources are not all there; its exit status is -1000.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LocalizeError {
    /// One resource failed; the text names it and the reason.
    #[error("{0}")]
    Resource(String),
    /// No local directory is usable.
    #[error("No space available in any of the local directories.")]
    NoLocalDir,
}

/// The cache and its fetches. Share it in an `Arc`.
#[derive(Debug)]
pub struct Localizer {
    binaries: Binaries,
    conf: LocalizerConf,
    deleter: Deleter,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    cache: Cache<String>,
    in_flight: BTreeMap<FetchId, watch::Receiver<Option<Outcome>>>,
    turn: u64,
}

/// A fetch this request has to make.
#[derive(Debug)]
struct Mine {
    id: FetchId,
    dir: String,
    resource: LocalResource,
    done: watch::Sender<Option<Outcome>>,
}

/// One resource on its way.
enum Step {
    Ready(String, u64),
    Pending(watch::Receiver<Option<Outcome>>),
}

impl Localizer {
    /// An empty cache; what an earlier NodeManager cached must have been cleared.
    pub fn new(binaries: Binaries, conf: LocalizerConf, deleter: Deleter) -> Self {
        let cache = Cache::new(conf.files_per_dir_max);
        let state = State {
            cache,
            in_flight: BTreeMap::new(),
            turn: 0,
        };
        Self {
            binaries,
            conf,
            deleter,
            started: Instant::now(),
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Brings all resources of a container, which holds them until [`Localizer::release`] (also
    /// after a failure). Fetches go on when this future is dropped: others may wait for them.
    ///
    /// # Errors
    /// [`LocalizeError`], whose text goes into the container's diagnostics.
    pub async fn localize(self: &Arc<Self>, needs: &Needs) -> Result<Localized, LocalizeError> {
        let begin = Instant::now();
        let (steps, mine, turn) = self.plan(needs);
        if !mine.is_empty() {
            let Some(local_dir) = needs.local.pick(turn).map(Path::to_owned) else {
                self.give_up(mine, &LocalizeError::NoLocalDir.to_string());
                return Err(LocalizeError::NoLocalDir);
            };
            let (public, own): (Vec<Mine>, Vec<Mine>) = mine
                .into_iter()
                .partition(|m| m.resource.visibility == Visibility::Public);
            for fetches in [public, own].into_iter().filter(|f| !f.is_empty()) {
                let (this, needs, local_dir) = (Arc::clone(self), needs.clone(), local_dir.clone());
                tokio::spawn(async move { batch::run(&this, &needs, &local_dir, fetches).await });
            }
        }
        let mut localized = Localized::default();
        let counters = &mut localized.counters;
        for ((name, _), step) in needs.resources.iter().zip(steps) {
            let target = match step {
                Step::Ready(path, size) => {
                    counters.files_cached += 1;
                    counters.bytes_cached = counters.bytes_cached.saturating_add(size);
                    path
                }
                Step::Pending(receiver) => {
                    let (path, size) = outcome(receiver).await.map_err(LocalizeError::Resource)?;
                    counters.files_missed += 1;
                    counters.bytes_missed = counters.bytes_missed.saturating_add(size);
                    path
                }
            };
            localized.links.push(Link {
                target,
                name: name.clone(),
            });
        }
        counters.millis = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(localized)
    }

    /// Asks the cache for every resource, in one step.
    fn plan(&self, needs: &Needs) -> (Vec<Step>, Vec<Mine>, u64) {
        let mut state = self.state();
        let state = &mut *state;
        let (mut steps, mut mine) = (Vec::new(), Vec::new());
        for (_, resource) in &needs.resources {
            let scope = resource.scope(&needs.user, &needs.app_id);
            let who = &needs.container_id;
            let mut answer = state.cache.request(scope.clone(), resource.key(), who);
            if let Answer::Ready { id, path, .. } = &answer
                && std::fs::symlink_metadata(path).is_err()
            {
                state.cache.lost(*id);
                answer = state.cache.request(scope, resource.key(), who);
            }
            steps.push(match answer {
                Answer::Ready { path, size, .. } => Step::Ready(path, size),
                Answer::Wait { id } => Step::Pending(match state.in_flight.get(&id) {
                    Some(receiver) => receiver.clone(),
                    // Cannot be: the two tables change together. A closed channel is an error text.
                    None => watch::channel(None).1,
                }),
                Answer::Fetch { id, dir } => {
                    let (done, receiver) = watch::channel(None);
                    state.in_flight.insert(id, receiver.clone());
                    mine.push(Mine {
                        id,
                        dir,
                        resource: resource.clone(),
                        done,
                    });
                    Step::Pending(receiver)
                }
            });
        }
        state.turn += 1;
        (steps, mine, state.turn)
    }

    /// Ends a fetch: the cache first, then those who wait.
    fn finish(&self, fetch: &Mine, local_dir: &Path, outcome: Outcome) {
        let mut state = self.state();
        state.in_flight.remove(&fetch.id);
        match &outcome {
            Ok((path, size)) => {
                let now_ms = self.now_ms();
                if state.cache.fetched(now_ms, fetch.id, path, *size).stale {
                    let root = local_dir.to_owned();
                    self.deleter.delete(Deletion {
                        root,
                        rel: PathBuf::from(&fetch.dir),
                    });
                }
            }
            Err(_) => drop(state.cache.failed(fetch.id)),
        }
        drop(state);
        fetch.done.send_replace(Some(outcome));
    }

    fn give_up(&self, fetches: Vec<Mine>, reason: &str) {
        for fetch in fetches {
            self.finish(&fetch, Path::new("/"), Err(reason.to_owned()));
        }
    }

    /// The container has ended: what it held can be evicted.
    pub fn release(&self, container_id: &str) {
        let now_ms = self.now_ms();
        self.state().cache.release(now_ms, &container_id.to_owned());
    }

    /// The application has ended: its own resources leave the cache. The files go with the
    /// application's directories, which the caller deletes.
    pub fn application_finished(&self, user: &str, app_id: &str) {
        self.state().cache.application_finished(user, app_id);
    }

    /// Deletes unused resources until the cache fits its target size; to be called every
    /// `yarn.nodemanager.localizer.cache.cleanup.interval-ms`. Returns the bytes given up.
    pub fn cleanup(&self, local_dirs: &[PathBuf]) -> u64 {
        let removed: Vec<Removal> = self.state().cache.cleanup(self.conf.target_bytes);
        let bytes = removed.iter().map(|r| r.size).sum();
        for removal in removed {
            if let Some(deletion) = deletion_of(local_dirs, Path::new(&removal.path)) {
                self.deleter.delete(deletion);
            } else {
                tracing::warn!(path = %removal.path, "not in a local directory: kept");
            }
        }
        bytes
    }
}

/// Waits for the end of a fetch.
async fn outcome(mut receiver: watch::Receiver<Option<Outcome>>) -> Outcome {
    match receiver.wait_for(Option::is_some).await {
        Ok(value) => value
            .clone()
            .unwrap_or_else(|| Err("no outcome".to_owned())),
        Err(_) => Err("the localiser ended without an answer".to_owned()),
    }
}

#[cfg(test)]
#[path = "localizer_test.rs"]
mod tests;
