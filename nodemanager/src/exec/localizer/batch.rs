//! One run of `container-localizer`: several fetches as one account.
//! May touch: the localiser's process and directories, the destination of PUBLIC resources.
//! Must not: follow what the account could have put in the way.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use container_localizer::protocol::{Fetched, Kind, Request, Response};
use isolator::LaunchSpec;
use nm_core::localize::{LocalResource, ResourceKind, Visibility};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::super::dirs;
use super::super::launch::{PID_FILE_ENV, read_capped, spawn_launcher};
use super::super::safe_fs::{Dir, FsError, Owner, give_tree, remove_tree};
use super::{Localizer, Mine, Needs};

/// Mode of directories between a cache and its resources.
const CACHE_DIR: u32 = 0o755;
/// Name of the directory PUBLIC resources are made in, out of everybody's reach.
const STAGE: &str = "public";

/// The directories of one run.
struct Site {
    /// Name of the run, and of its directory in `nmPrivate`.
    name: String,
    /// That directory.
    private: PathBuf,
    /// Where the localiser starts.
    work_dir: PathBuf,
    /// The stage, for PUBLIC resources.
    stage: Option<Dir>,
}

/// Fetches all of `fetches` (all PUBLIC or none) and ends each of them.
pub(super) async fn run(
    localizer: &Localizer,
    needs: &Needs,
    local_dir: &Path,
    fetches: Vec<Mine>,
) {
    let public = fetches
        .iter()
        .all(|f| f.resource.visibility == Visibility::Public);
    let prepared = {
        let (needs, local_dir) = (needs.clone(), local_dir.to_owned());
        tokio::task::spawn_blocking(move || prepare(&needs, &local_dir, public)).await
    };
    let site = match prepared {
        Ok(Ok(site)) => site,
        Ok(Err(e)) => return localizer.give_up(fetches, &e.to_string()),
        Err(e) => return localizer.give_up(fetches, &e.to_string()),
    };
    let mut rest = fetches.into_iter();
    match Session::start(localizer, needs, &site).await {
        Err(reason) => localizer.give_up(rest.by_ref().collect(), &reason),
        Ok(mut session) => {
            for fetch in rest.by_ref() {
                let outcome = session
                    .fetch(localizer, needs, local_dir, &site, &fetch)
                    .await;
                let broken = outcome.as_ref().is_err_and(|e| e.broken);
                localizer.finish(&fetch, local_dir, outcome.map_err(|e| e.text));
                if broken {
                    break;
                }
            }
            let said = session.end().await;
            localizer.give_up(
                rest.collect(),
                &format!("container-localizer ended: {said}"),
            );
        }
    }
    clean(local_dir, needs, site).await;
}

fn prepare(needs: &Needs, local_dir: &Path, public: bool) -> Result<Site, FsError> {
    dirs::create_app_dirs(local_dir, &needs.user, &needs.app_id, &needs.account)?;
    let name = format!(
        "{}{}",
        needs.container_id,
        if public { ".public" } else { ".private" }
    );
    let root = Dir::open(local_dir)?;
    let private = dirs::private_dir_of(&root, &needs.app_id, &name)?;
    let private_path = local_dir.join(dirs::private_dir(&needs.app_id, &name));
    if !public {
        let work_dir = local_dir.join(dirs::app_dir(&needs.user, &needs.app_id));
        return Ok(Site {
            name,
            private: private_path,
            work_dir,
            stage: None,
        });
    }
    // The stage belongs to the account but lies where it cannot come: only the localiser, started
    // inside, can write here. What it made is then taken from the account for good.
    let stage = private.create(OsStr::new(STAGE), 0o700, dirs::owner_of(&needs.account))?;
    let work_dir = private_path.join(STAGE);
    Ok(Site {
        name,
        private: private_path,
        work_dir,
        stage: Some(stage),
    })
}

async fn clean(local_dir: &Path, needs: &Needs, site: Site) {
    let rel = dirs::private_dir(&needs.app_id, &site.name);
    let root = local_dir.to_owned();
    let done = tokio::task::spawn_blocking(move || {
        drop(site);
        remove_tree(&root, &rel)
    });
    if let Ok(Err(e)) = done.await {
        tracing::warn!(error = %e, "a localiser's private directory was not deleted");
    }
}

/// Why a fetch failed; `broken` when the process cannot be asked again.
struct Failure {
    text: String,
    broken: bool,
}

impl Failure {
    fn of(text: impl std::fmt::Display) -> Self {
        Self {
            text: text.to_string(),
            broken: false,
        }
    }

    fn broken(text: impl std::fmt::Display) -> Self {
        Self {
            text: text.to_string(),
            broken: true,
        }
    }
}

/// A running localiser; asked and answering in turns.
struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    said: tokio::task::JoinHandle<String>,
}

impl Session {
    async fn start(localizer: &Localizer, needs: &Needs, site: &Site) -> Result<Self, String> {
        let pid_file = site.private.join(format!("{}.pid", site.name));
        let spec = LaunchSpec {
            argv: vec![localizer.binaries.localizer.to_string_lossy().into_owned()],
            env: vec![
                ("CONTAINER_ID".to_owned(), site.name.clone()),
                (
                    PID_FILE_ENV.to_owned(),
                    pid_file.to_string_lossy().into_owned(),
                ),
            ],
            work_dir: site.work_dir.clone(),
            account: needs.account.ids(),
            umask: 0o022,
            nice: None,
            cgroup_procs: Vec::new(),
            pid_file: Some(pid_file),
            exit_code_file: None,
            supervise: false,
        };
        let mut child = spawn_launcher(&localizer.binaries.launch, &site.name, &spec)
            .await
            .map_err(|e| e.to_string())?;
        let said = tokio::spawn(read_capped(child.stderr.take()));
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok(Self {
                child,
                input,
                output: BufReader::new(output),
                said,
            }),
            _ => Err("container-localizer has no standard streams".to_owned()),
        }
    }

    async fn fetch(
        &mut self,
        localizer: &Localizer,
        needs: &Needs,
        local_dir: &Path,
        site: &Site,
        fetch: &Mine,
    ) -> Result<(String, u64), Failure> {
        let rel = PathBuf::from(&fetch.dir);
        let number = rel.file_name().unwrap_or(OsStr::new("")).to_owned();
        let parent = rel.parent().unwrap_or(Path::new("")).to_owned();
        let owner = match site.stage {
            Some(_) => None,
            None => dirs::owner_of(&needs.account),
        };
        let cache = {
            let (local_dir, parent) = (local_dir.to_owned(), parent.clone());
            tokio::task::spawn_blocking(move || cache_dir(&local_dir, &parent, owner)).await
        };
        let cache = cache.map_err(Failure::of)?.map_err(Failure::of)?;
        let dest = match site.stage {
            Some(_) => PathBuf::from(&number),
            None => local_dir.join(&rel),
        };
        let request = request(fetch, dest, localizer);
        let fetched = self.ask(&request).await?;
        if let Some(warning) = &fetched.warning {
            tracing::warn!(container = %needs.container_id, "{warning}");
        }
        let path = local_dir.join(&rel).join(&fetched.name);
        if let Some(stage) = &site.stage {
            publish(stage, &cache, &number, needs.account.switch).map_err(Failure::of)?;
        }
        Ok((path.to_string_lossy().into_owned(), fetched.size))
    }

    async fn ask(&mut self, request: &Request) -> Result<Fetched, Failure> {
        let mut line = serde_json::to_string(request).map_err(Failure::of)?;
        line.push('\n');
        let mut answer = String::new();
        let read = match self.input.write_all(line.as_bytes()).await {
            Ok(()) => self.output.read_line(&mut answer).await,
            // It ended before it was asked: what it said tells more than the closed pipe.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(0),
            Err(e) => Err(e),
        };
        if read.map_err(Failure::broken)? == 0 {
            let said = (&mut self.said).await.unwrap_or_default();
            let said = said.trim();
            return Err(Failure::broken(format!(
                "container-localizer ended: {said}"
            )));
        }
        let response: Response = serde_json::from_str(&answer).map_err(Failure::broken)?;
        if response.id != request.id {
            return Err(Failure::broken(
                "container-localizer answered another request",
            ));
        }
        response.result.map_err(Failure::of)
    }

    /// Closes its input, upon which it ends, and returns what it said.
    async fn end(mut self) -> String {
        drop(self.input);
        let _ = self.child.wait().await;
        if self.said.is_finished() {
            String::new()
        } else {
            self.said.await.unwrap_or_default()
        }
    }
}

/// The directory a resource's own directory is made in; levels below the cache are created.
fn cache_dir(local_dir: &Path, parent: &Path, owner: Option<Owner>) -> Result<Dir, FsError> {
    let mut dir = Dir::open(local_dir)?;
    for name in parent.components() {
        dir = dir.ensure(name.as_os_str(), CACHE_DIR, owner)?;
    }
    Ok(dir)
}

fn request(fetch: &Mine, dest: PathBuf, localizer: &Localizer) -> Request {
    let LocalResource {
        url,
        size,
        timestamp_ms,
        kind,
        visibility,
        pattern,
    } = fetch.resource.clone();
    Request {
        id: fetch.id.0,
        url: url.to_string(),
        scheme: url.scheme,
        path: url.path,
        size,
        timestamp_ms,
        kind: match kind {
            ResourceKind::Archive => Kind::Archive,
            ResourceKind::File => Kind::File,
            ResourceKind::Pattern => Kind::Pattern,
        },
        public: visibility == Visibility::Public,
        pattern,
        dest,
        limits: localizer.conf.limits,
    }
}

/// Takes a finished PUBLIC resource from the account and moves it into the cache.
fn publish(stage: &Dir, cache: &Dir, number: &OsStr, switch: bool) -> Result<(), FsError> {
    if switch {
        let own = Owner {
            uid: nix::unistd::Uid::effective().as_raw(),
            gid: nix::unistd::Gid::effective().as_raw(),
        };
        give_tree(stage, number, own)?;
    }
    nix::fcntl::renameat(stage.as_fd(), number, cache.as_fd(), number).map_err(|e| FsError {
        what: "move into the cache",
        path: cache.path().join(number),
        source: e.into(),
    })
}
