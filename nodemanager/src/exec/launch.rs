//! Prepares, starts, signals and awaits the processes of a container.
//! May touch: the container's directories and processes.
//! Must not: fork this process (its heap is large), decide when to do what.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use isolator::LaunchSpec;
use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use nm_core::launch::env::{ContainerFacts, NodeFacts, environment};
use nm_core::launch::{DIRECTORY_INFO, Link, SCRIPT_FILE, Script, TOKENS_FILE};
use thiserror::Error;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

use super::account::Account;
use super::dirs::{self, ContainerPaths};
use super::safe_fs::{Dir, FsError, Owner};

/// Longest message kept of what a launch says before it redirects its output, in bytes.
const EARLY_OUTPUT_BYTES_MAX: u64 = 4096;

/// The two programs that the NodeManager starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    /// `container-launch`.
    pub launch: PathBuf,
    /// `container-localizer`.
    pub localizer: PathBuf,
}

impl Binaries {
    /// Both beside the running executable, where an installation has them.
    ///
    /// # Errors
    /// When the executable's path is unknown or a program is missing; the text names it.
    pub fn beside_executable() -> std::io::Result<Self> {
        let exe = std::env::current_exe()?;
        let dir = exe.parent().unwrap_or(Path::new("/"));
        let find = |name: &str| {
            let path = dir.join(name);
            if path.is_file() {
                return Ok(path);
            }
            let text = format!(
                "{}: not found; it belongs beside {}",
                path.display(),
                exe.display()
            );
            Err(std::io::Error::new(std::io::ErrorKind::NotFound, text))
        };
        Ok(Self {
            launch: find("container-launch")?,
            localizer: find("container-localizer")?,
        })
    }
}

/// Why a container did not start.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// A directory or file could not be made.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The launcher could not be started or spoken to.
    #[error("cannot run {program}: {source}")]
    Launcher {
        /// Path of the launcher.
        program: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The specification could not be encoded.
    #[error(transparent)]
    Spec(#[from] isolator::SpecError),
    /// The launcher refused or failed; its own words.
    #[error("{0}")]
    Refused(String),
    /// A resource's key would leave the container's directory.
    #[error("resource key {0:?} is not a relative path inside the container's directory")]
    LinkName(String),
}

/// All that is known of a container when its resources are there.
#[derive(Debug, Clone)]
pub struct LaunchRequest<'a> {
    /// Where its files lie.
    pub paths: &'a ContainerPaths,
    /// Who runs it.
    pub account: &'a Account,
    /// Facts of the node.
    pub node: &'a NodeFacts,
    /// `environment` of the launch context.
    pub env: &'a BTreeMap<String, String>,
    /// `command` of the launch context.
    pub commands: &'a [String],
    /// Localised resources.
    pub links: &'a [Link],
    /// Credentials in Hadoop's token storage format.
    pub tokens: &'a [u8],
    /// Value of `LOCALIZATION_COUNTERS`.
    pub localization_counters: &'a str,
    /// Metadata of aux services in base64.
    pub aux_metadata: &'a BTreeMap<String, String>,
    /// Variables about the container's devices; the application cannot set them.
    pub devices: &'a [(String, String)],
    /// `yarn.nodemanager.log-container-debug-info.enabled`.
    pub debug_info: bool,
    /// `yarn.nodemanager.container-executor.os.sched.priority.adjustment`, if set.
    pub nice: Option<i32>,
    /// `cgroup.procs` files to join; empty without cgroups.
    pub cgroup_procs: &'a [PathBuf],
}

/// A container whose directories, links and files are made.
#[derive(Debug, Clone)]
pub struct Prepared {
    spec: LaunchSpec,
    container_id: String,
}

/// Makes directories, links and files of a container. Blocking: call it off the async threads.
///
/// # Errors
/// [`LaunchError::Fs`] and [`LaunchError::LinkName`].
pub fn prepare(request: &LaunchRequest<'_>) -> Result<Prepared, LaunchError> {
    let paths = request.paths;
    let made = dirs::create_container_dirs(paths, request.account)?;
    let owner = dirs::owner_of(request.account);
    for link in request.links {
        make_link(&made.work, link, owner)?;
    }
    let text = script_text(request);
    // nmPrivate has the script and the credentials as well: stock's layout, and what a user did
    // to his own copy can be compared.
    made.private
        .write_new(SCRIPT_FILE, 0o600, None, text.as_bytes())?;
    let private_tokens = format!("{}.tokens", paths.container_id);
    made.private
        .write_new(&private_tokens, 0o600, None, request.tokens)?;
    made.work
        .write_new(TOKENS_FILE, 0o600, owner, request.tokens)?;
    made.work
        .write_new(SCRIPT_FILE, 0o700, owner, text.as_bytes())?;
    if request.debug_info {
        made.log
            .write_new(SCRIPT_FILE, 0o640, owner, text.as_bytes())?;
        let info = super::listing::directory_info(&made.work);
        made.log
            .write_new(DIRECTORY_INFO, 0o640, owner, info.as_bytes())?;
    }
    let spec = LaunchSpec {
        argv: vec![
            "/bin/bash".to_owned(),
            path_text(&paths.work_dir().join(SCRIPT_FILE)),
        ],
        env: start_env(request),
        work_dir: paths.work_dir(),
        account: request.account.ids(),
        umask: 0o022,
        nice: request.nice,
        cgroup_procs: request.cgroup_procs.to_vec(),
        pid_file: Some(paths.pid_file()),
        exit_code_file: Some(paths.exit_code_file()),
        supervise: true,
    };
    Ok(Prepared {
        spec,
        container_id: paths.container_id.clone(),
    })
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What the shell starts with: enough to find commands and to be known again after a crash.
fn start_env(request: &LaunchRequest<'_>) -> Vec<(String, String)> {
    let mut env = vec![(
        "CONTAINER_ID".to_owned(),
        request.paths.container_id.clone(),
    )];
    if request.node.whitelist.iter().any(|name| name == "PATH")
        && let Some(path) = request.node.nm_env.get("PATH")
    {
        env.push(("PATH".to_owned(), path.clone()));
    }
    env
}

fn script_text(request: &LaunchRequest<'_>) -> String {
    let paths = request.paths;
    let texts = |dirs: Vec<PathBuf>| dirs.iter().map(|d| path_text(d)).collect::<Vec<_>>();
    let user_dir = dirs::user_dir(&paths.user);
    let facts = ContainerFacts {
        container_id: paths.container_id.clone(),
        user: paths.user.clone(),
        work_dir: path_text(&paths.work_dir()),
        log_dir: path_text(&paths.log_dir()),
        app_dirs: texts(paths.app_dirs()),
        // With the slash at the end that stock has.
        user_dirs: paths
            .local_dirs
            .iter()
            .map(|d| path_text(&d.join(&user_dir)) + "/")
            .collect(),
        log_dirs: texts(paths.log_dirs()),
        localization_counters: request.localization_counters.to_owned(),
        aux_metadata: request.aux_metadata.clone(),
        devices: request.devices.to_vec(),
    };
    let env = environment(request.node, &facts, request.env);
    Script {
        env: &env,
        links: request.links,
        commands: request.commands,
        log_dir: &facts.log_dir,
        debug_info: request.debug_info,
    }
    .text()
}

/// Makes one link; a key with slashes gets its directories.
fn make_link(work: &Dir, link: &Link, owner: Option<Owner>) -> Result<(), LaunchError> {
    let bad = || LaunchError::LinkName(link.name.clone());
    let mut names: Vec<&str> = link
        .name
        .split('/')
        .filter(|n| !n.is_empty() && *n != ".")
        .collect();
    let name = names.pop().ok_or_else(bad)?;
    let leaves = link.name.starts_with('/') || name == ".." || names.contains(&"..");
    if leaves || link.name.contains('\0') {
        return Err(bad());
    }
    let mut dir = work.descend(Path::new(""))?;
    for parent in names {
        dir = dir.ensure(OsStr::new(parent), 0o755, owner)?;
    }
    Ok(dir.link(Path::new(&link.target), OsStr::new(name), owner)?)
}

/// How a container ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExitStatus {
    /// Exit code of the script, or 128+n after signal n.
    pub code: i32,
    /// What it said before it redirected its output; for `launch_exception`.
    pub message: String,
}

/// Signals a running container; cheap to copy to wherever kills are ordered.
#[derive(Debug, Clone)]
pub struct Handle {
    pid: Pid,
    launcher: Pid,
    ended: Arc<AtomicBool>,
}

/// Awaits a running container's end. Dropping it leaves the container running.
#[derive(Debug)]
pub struct Waiter {
    child: Child,
    early_output: tokio::task::JoinHandle<String>,
    handle: Handle,
    program: PathBuf,
}

/// Starts a prepared container and returns when its shell runs.
///
/// # Errors
/// [`LaunchError::Refused`] with the launcher's words when nothing was started.
pub async fn start(
    binaries: &Binaries,
    prepared: &Prepared,
) -> Result<(Handle, Waiter), LaunchError> {
    let program = binaries.launch.clone();
    let broken = |source| LaunchError::Launcher {
        program: program.clone(),
        source,
    };
    let mut child =
        spawn_launcher(&binaries.launch, &prepared.container_id, &prepared.spec).await?;
    drop(child.stdin.take());
    let launcher = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .unwrap_or(0);
    let early_output = tokio::spawn(read_capped(child.stderr.take()));
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out.take(64))
            .read_line(&mut line)
            .await
            .map_err(broken)?;
    }
    let pid = line
        .trim()
        .strip_prefix("pid ")
        .and_then(|n| n.parse::<i32>().ok());
    let Some(pid) = pid else {
        let _ = child.wait().await;
        let said = early_output.await.unwrap_or_default();
        return Err(LaunchError::Refused(said.trim().to_owned()));
    };
    let handle = Handle {
        pid: Pid::from_raw(pid),
        launcher: Pid::from_raw(launcher),
        ended: Arc::new(AtomicBool::new(false)),
    };
    Ok((
        handle.clone(),
        Waiter {
            child,
            early_output,
            handle,
            program,
        },
    ))
}

/// Names the pid file to those who look for processes of a NodeManager's local directories.
pub(super) const PID_FILE_ENV: &str = "HEDDLE_PID_FILE";

/// Starts `container-launch` with `spec`; its standard streams are pipes and stdin is still open.
///
/// Nothing here may make the standard library fork: no `pre_exec`, no `uid`, no `gid`. With
/// posix_spawn the start costs the same however large this process is.
///
/// # Errors
/// [`LaunchError::Launcher`] and [`LaunchError::Spec`].
pub async fn spawn_launcher(
    program: &Path,
    container_id: &str,
    spec: &LaunchSpec,
) -> Result<Child, LaunchError> {
    let broken = |source| LaunchError::Launcher {
        program: program.to_owned(),
        source,
    };
    let frame = isolator::spec::encode(spec)?;
    let mut child = Command::new(program)
        .env_clear()
        // By this a later NodeManager knows what its predecessor left.
        .env("CONTAINER_ID", container_id)
        .envs(spec.pid_file.iter().map(|file| (PID_FILE_ENV, file)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(broken)?;
    if let Some(stdin) = child.stdin.as_mut() {
        stdin.write_all(&frame).await.map_err(broken)?;
    }
    Ok(child)
}

/// Reads to the end, keeping the first bytes only: a container may write here for days.
pub(super) async fn read_capped(from: Option<tokio::process::ChildStderr>) -> String {
    let Some(mut from) = from else {
        return String::new();
    };
    let mut kept = Vec::new();
    let _ = (&mut from)
        .take(EARLY_OUTPUT_BYTES_MAX)
        .read_to_end(&mut kept)
        .await;
    let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&kept).into_owned()
}

impl Waiter {
    /// Pid of the container's main process.
    pub fn pid(&self) -> i32 {
        self.handle.pid()
    }

    /// Waits until the container's main process has ended and its whole tree is gone.
    ///
    /// # Errors
    /// [`LaunchError::Launcher`] when the system does not tell.
    pub async fn wait(mut self) -> Result<ExitStatus, LaunchError> {
        let status = self.child.wait().await;
        self.handle.ended.store(true, Ordering::Release);
        let status = status.map_err(|source| LaunchError::Launcher {
            program: self.program,
            source,
        })?;
        let code = isolator::apply::process::code_of(status);
        if status.code().is_none() {
            // The launcher itself was killed and can no longer clean up; the session is ours.
            let _ = nix::sys::signal::killpg(self.handle.pid, Signal::SIGKILL);
        }
        let message = self.early_output.await.unwrap_or_default();
        Ok(ExitStatus {
            code,
            message: message.trim().to_owned(),
        })
    }
}

impl Handle {
    /// Pid of the container's main process, its session and its process group.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// Pid of the launcher, under which the whole tree hangs.
    pub fn launcher_pid(&self) -> i32 {
        self.launcher.as_raw()
    }

    /// Sends `signal` to the container's process group. `false` when nothing of it is left.
    ///
    /// # Errors
    /// What the system answers, e.g. that it is not permitted.
    pub fn signal(&self, signal: Signal) -> std::io::Result<bool> {
        if self.ended.load(Ordering::Acquire) {
            return Ok(false);
        }
        match nix::sys::signal::killpg(self.pid, signal) {
            Ok(()) => Ok(true),
            Err(Errno::ESRCH) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// SIGTERM, then SIGKILL after `delay` if the container still runs
    /// (`yarn.nodemanager.sleep-delay-before-sigkill.ms`, default 250 ms). The [`Waiter`] tells
    /// of the end; the launcher kills what left the process group.
    ///
    /// # Errors
    /// What the system answers.
    pub async fn kill(&self, delay: Duration) -> std::io::Result<()> {
        if !self.signal(Signal::SIGTERM)? {
            return Ok(());
        }
        tokio::time::sleep(delay).await;
        self.signal(Signal::SIGKILL).map(drop)
    }
}

#[cfg(test)]
#[path = "launch_test.rs"]
mod tests;
