//! Orders the actions of a launch and refuses what must never run.
//! May touch: the specification it is given.
//! Must not: act, look at the machine.

use thiserror::Error;

use crate::op::Op;
use crate::spec::LaunchSpec;

/// Why a specification is refused before anything is done.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// Containers never run as root.
    #[error("refusing to start a process as root: uid {uid}, gid {gid}, groups {groups:?}")]
    Root {
        /// Asked user id.
        uid: u32,
        /// Asked group id.
        gid: u32,
        /// Asked supplementary groups.
        groups: Vec<u32>,
    },
    /// Only root can become another account.
    #[error("uid {own} cannot start a process as uid {wanted}")]
    NotPrivileged {
        /// Effective user id of the launcher.
        own: u32,
        /// Asked user id.
        wanted: u32,
    },
    /// `argv[0]` or `work_dir` is missing or relative.
    #[error("{field} must be an absolute path, got {value:?}")]
    NotAbsolute {
        /// Field of the specification.
        field: &'static str,
        /// Its value.
        value: String,
    },
}

/// The actions for `spec` when the launcher's effective user id is `own_uid`.
///
/// # Errors
/// [`PlanError`] as its variants say.
pub fn plan(spec: &LaunchSpec, own_uid: u32) -> Result<Vec<Op>, PlanError> {
    let program = spec.argv.first().map_or("", String::as_str);
    if !program.starts_with('/') {
        return Err(PlanError::NotAbsolute {
            field: "argv[0]",
            value: program.to_owned(),
        });
    }
    if !spec.work_dir.is_absolute() {
        let value = spec.work_dir.display().to_string();
        return Err(PlanError::NotAbsolute {
            field: "work_dir",
            value,
        });
    }
    let mut ops = vec![Op::NewSession];
    ops.extend(spec.cgroup_procs.iter().cloned().map(Op::JoinCgroup));
    ops.extend(spec.nice.map(Op::Nice));
    ops.push(Op::Umask(spec.umask & 0o777));
    ops.push(Op::ChangeDir(spec.work_dir.clone()));
    match &spec.account {
        Some(a) if a.uid == 0 || a.gid == 0 || a.groups.contains(&0) => {
            return Err(PlanError::Root {
                uid: a.uid,
                gid: a.gid,
                groups: a.groups.clone(),
            });
        }
        Some(a) if own_uid == 0 => {
            ops.push(Op::SetGroups(a.groups.clone()));
            ops.push(Op::SetGid(a.gid));
            ops.push(Op::SetUid(a.uid));
        }
        Some(a) if a.uid != own_uid => {
            return Err(PlanError::NotPrivileged {
                own: own_uid,
                wanted: a.uid,
            });
        }
        None if own_uid == 0 => {
            return Err(PlanError::Root {
                uid: 0,
                gid: 0,
                groups: vec![],
            });
        }
        _ => {}
    }
    if spec.supervise {
        ops.push(Op::DieWithParent);
    }
    Ok(ops)
}

#[cfg(test)]
#[path = "plan_test.rs"]
mod tests;
