//! Starts the program, supervises its tree, kills and reaps what it leaves.
//! May touch: the own process and its children; this is the one place with `unsafe`.
//! Must not: be called from a process with other threads (the launcher has one).
#![allow(unsafe_code)] // close_range has no safe wrapper, and code between fork and exec is unsafe by nature

use std::ffi::CString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Gid, Pid, Uid, chdir, getpid, setgroups, setresgid, setresuid, setsid};

use super::{ApplyError, proc, write_whole};
use crate::op::Op;
use crate::spec::LaunchSpec;

/// Rounds of killing before the launcher leaves what will not die (about five seconds).
const KILL_ROUNDS_MAX: u32 = 2500;
/// Pause between two rounds.
const KILL_ROUND_PAUSE: std::time::Duration = std::time::Duration::from_millis(2);

/// Reads the specification from `input` and carries it out. The result is the exit code of the
/// launcher: the container's own under supervision; without it a success never returns.
///
/// # Errors
/// [`ApplyError`] when the program was not started; nothing of it runs then.
pub fn run(input: &mut impl Read) -> Result<i32, ApplyError> {
    close_inherited();
    // Own session: a Ctrl-C meant for the NodeManager must not reach the launcher.
    let _ = setsid();
    let spec = crate::spec::read(input)?;
    let ops = crate::plan::plan(&spec, Uid::effective().as_raw())?;
    if spec.supervise {
        supervise(&spec, ops)
    } else {
        Err(become_program(&spec, &ops))
    }
}

/// Closes every descriptor above standard error.
fn close_inherited() {
    // SAFETY: called first in `main`, before this process has opened anything of its own above 2.
    unsafe {
        nix::libc::syscall(nix::libc::SYS_close_range, 3, u32::MAX, 0);
    }
}

/// Replaces the launcher by the program; returns only the failure.
fn become_program(spec: &LaunchSpec, ops: &[Op]) -> ApplyError {
    let program = spec.argv.first().cloned().unwrap_or_default();
    let start = |source| ApplyError::Start {
        program: program.clone(),
        source,
    };
    let pid = getpid().as_raw();
    if let Err(e) = write_pid_file(spec, pid) {
        return e;
    }
    // Opened before the account changes: the program may lie in a home closed to the account.
    let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
    let file = match nix::fcntl::open(program.as_str(), flags, Mode::empty()) {
        Ok(file) => file,
        Err(e) => return start(e.into()),
    };
    // The launcher already leads a session of its own.
    for op in ops.iter().filter(|op| **op != Op::NewSession) {
        if let Err(source) = apply(op, pid) {
            return start(source);
        }
    }
    let c_strings = |texts: Vec<String>| -> Result<Vec<CString>, std::ffi::NulError> {
        texts.into_iter().map(CString::new).collect()
    };
    let env = spec
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let (argv, env) = match (c_strings(spec.argv.clone()), c_strings(env)) {
        (Ok(argv), Ok(env)) => (argv, env),
        (Err(e), _) | (_, Err(e)) => return start(e.into()),
    };
    let failure = nix::unistd::execveat(&file, c"", &argv, &env, AtFlags::AT_EMPTY_PATH);
    start(
        failure
            .err()
            .map_or_else(|| io::Error::other("exec returned"), io::Error::from),
    )
}

/// Starts the program as a child, reports `pid N` on standard output, waits for it, then kills
/// and reaps its whole tree. As subreaper the launcher is the parent of every orphan.
fn supervise(spec: &LaunchSpec, ops: Vec<Op>) -> Result<i32, ApplyError> {
    nix::sys::prctl::set_child_subreaper(true).map_err(|e| ApplyError::Call {
        call: "prctl(PR_SET_CHILD_SUBREAPER)",
        source: e.into(),
    })?;
    let launcher = getpid().as_raw();
    let mut cmd = command(spec);
    let early_output = io::stderr()
        .as_fd()
        .try_clone_to_owned() // close-on-exec
        .map_err(|source| ApplyError::Call {
            call: "dup(2)",
            source,
        })?;
    // What the script says before it redirects itself goes to the NodeManager, as in stock.
    cmd.stdin(Stdio::null())
        .stdout(Stdio::from(early_output))
        .stderr(Stdio::inherit());
    // SAFETY: the launcher has one thread, so nothing can hold a lock across the fork.
    unsafe {
        cmd.pre_exec(move || ops.iter().try_for_each(|op| apply(op, launcher)));
    }
    let child = cmd.spawn().map_err(|source| ApplyError::Start {
        program: spec.argv.first().cloned().unwrap_or_default(),
        source,
    })?;
    let main = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    if let Err(e) = write_pid_file(spec, main.as_raw()) {
        let _ = kill(main, Signal::SIGKILL);
        kill_left();
        return Err(e);
    }
    let mut out = io::stdout();
    // A NodeManager that died meanwhile is no reason to leave the container unsupervised.
    let _ = writeln!(out, "pid {main}").and_then(|()| out.flush());
    let code = wait_for(main);
    kill_left();
    if let Some(file) = &spec.exit_code_file {
        write_whole(file, &format!("{code}\n"))?;
    }
    Ok(code)
}

/// The program with its environment; pid files are written around it.
fn command(spec: &LaunchSpec) -> Command {
    let mut argv = spec.argv.iter();
    let mut cmd = Command::new(argv.next().map_or("", String::as_str));
    cmd.args(argv)
        .env_clear()
        .envs(spec.env.iter().map(|(k, v)| (k, v)));
    cmd
}

/// Writes pid and start time, by which a later NodeManager tells the process from a recycled pid.
fn write_pid_file(spec: &LaunchSpec, pid: i32) -> Result<(), ApplyError> {
    let Some(file) = &spec.pid_file else {
        return Ok(());
    };
    let start = proc::stat(pid).map_or(0, |s| s.start_ticks);
    let mut start_file = file.as_os_str().to_owned();
    start_file.push(".start");
    write_whole(start_file.as_ref(), &format!("{start}\n"))?;
    write_whole(file, &format!("{pid}\n"))
}

/// One action on the calling process.
fn apply(op: &Op, launcher: i32) -> io::Result<()> {
    let step = |name: &str, result: Result<(), Errno>| {
        result.map_err(|e| io::Error::new(io::Error::from(e).kind(), format!("{name}: {e}")))
    };
    match op {
        Op::NewSession => setsid().map(drop).map_err(io::Error::from),
        Op::JoinCgroup(file) => std::fs::write(file, getpid().to_string()),
        Op::Nice(value) => {
            // SAFETY: setpriority takes plain integers and touches no memory of ours.
            let rc = unsafe { nix::libc::setpriority(nix::libc::PRIO_PROCESS, 0, *value) };
            if rc == 0 {
                Ok(())
            } else {
                Err(io::Error::last_os_error())
            }
        }
        Op::Umask(mask) => {
            nix::sys::stat::umask(Mode::from_bits_truncate(*mask));
            Ok(())
        }
        Op::ChangeDir(dir) => step("chdir", chdir(dir)),
        Op::SetGroups(groups) => {
            let groups: Vec<Gid> = groups.iter().copied().map(Gid::from_raw).collect();
            step("setgroups", setgroups(&groups))
        }
        Op::SetGid(gid) => {
            let gid = Gid::from_raw(*gid);
            step("setresgid", setresgid(gid, gid, gid))
        }
        Op::SetUid(uid) => {
            let uid = Uid::from_raw(*uid);
            step("setresuid", setresuid(uid, uid, uid))
        }
        Op::DieWithParent => {
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from)?;
            // The launcher may have died before the line above took effect.
            if nix::unistd::getppid().as_raw() == launcher {
                Ok(())
            } else {
                Err(io::Error::other("the launcher is gone"))
            }
        }
    }
}

/// Reaps adopted orphans until `main` ends; `main` itself stays a zombie, so that its pid and
/// group cannot be given to another process while the rest is killed.
fn wait_for(main: Pid) -> i32 {
    loop {
        match waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
            Ok(status) if status.pid() == Some(main) => return exit_code(status),
            Ok(status) => {
                if let Some(pid) = status.pid() {
                    let _ = waitpid(pid, Some(WaitPidFlag::WNOHANG));
                }
            }
            Err(Errno::EINTR) => {}
            Err(_) => return 255, // no child left: cannot happen while `main` is unreaped
        }
    }
}

/// A shell's view of how a process ended: its code, or 128+n after signal n.
fn exit_code(status: WaitStatus) -> i32 {
    match status {
        WaitStatus::Exited(_, code) => code,
        WaitStatus::Signaled(_, signal, _) => 128 + signal as i32,
        _ => 255,
    }
}

/// As [`exit_code`], for the standard library's status.
pub fn code_of(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Kills every descendant until only zombies are left; those go to init when the launcher exits.
/// Gives up after [`KILL_ROUNDS_MAX`] rounds: a process stuck in the kernel must not hold the
/// container's completion for ever.
fn kill_left() {
    let own = getpid().as_raw();
    for _ in 0..KILL_ROUNDS_MAX {
        let left = proc::descendants(own, &proc::all());
        let killed = left
            .iter()
            .filter(|pid| kill(Pid::from_raw(**pid), Signal::SIGKILL).is_ok());
        // None killed: none left, or all beyond our rights (setuid programs below an
        // unprivileged NodeManager).
        if killed.count() == 0 {
            return;
        }
        std::thread::sleep(KILL_ROUND_PAUSE);
    }
}
