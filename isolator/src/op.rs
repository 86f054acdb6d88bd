//! One enum of kernel actions; `plan` orders them, `apply` does them.
//! May touch: nothing.
//! Must not: act.

use std::path::PathBuf;

/// One action on the process that is about to become the container's main process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Lead a new session, so that one signal reaches the whole container.
    NewSession,
    /// Write the own pid into a `cgroup.procs` file.
    JoinCgroup(PathBuf),
    /// Set the scheduling priority.
    Nice(i32),
    /// Set the file mode creation mask.
    Umask(u32),
    /// Change directory; done while privileged, since the way there may be closed to the account.
    ChangeDir(PathBuf),
    /// Replace the supplementary groups.
    SetGroups(Vec<u32>),
    /// Set real, effective and saved group id.
    SetGid(u32),
    /// Set real, effective and saved user id; nothing privileged can follow.
    SetUid(u32),
    /// Die with the launcher (after `SetUid`: the kernel forgets it on an id change).
    DieWithParent,
}
