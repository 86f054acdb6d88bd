//! Device rules on cgroup v2: one eBPF program per container, attached without a link.
//! May touch: programs attached to the cgroup it is given, its own by name.
//! Must not: replace or detach programs of others (systemd attaches its own).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::RuleSet;
use super::bpf::{self, ProgramInfo};
use super::program::assemble;
use crate::isolation::{Difference, Error};

/// Name by which our programs are known in the kernel (`bpftool prog`).
pub const PROGRAM_NAME: &str = "heddle_devices";

/// The program of a rule set as the kernel knows it. The kernel's digest of the instructions
/// stands for the rules: it is computed at load, before the kernel rewrites anything, so an
/// attached program with this digest decides exactly as these rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attached {
    /// Number of the program when it was attached.
    pub id: u32,
    /// Digest in hexadecimal.
    pub tag: String,
}

fn failed(dir: &Path, call: &'static str) -> impl Fn(io::Error) -> Error {
    let path = dir.to_owned();
    move |source| Error::Bpf {
        call,
        path: path.clone(),
        source,
    }
}

fn open(dir: &Path) -> Result<File, Error> {
    File::open(dir).map_err(|source| Error::File {
        what: "opening".to_owned(),
        path: dir.to_owned(),
        source,
    })
}

fn load(dir: &Path, rules: &RuleSet) -> Result<(OwnedFd, ProgramInfo), Error> {
    let program = bpf::load(&assemble(rules), PROGRAM_NAME).map_err(failed(dir, "load"))?;
    let info = bpf::info(program.as_fd()).map_err(failed(dir, "describe"))?;
    Ok((program, info))
}

/// Our programs on the cgroup, oldest first.
fn ours(dir: &Path, cgroup: &File) -> Result<Vec<(OwnedFd, ProgramInfo)>, Error> {
    let ids = bpf::query(cgroup.as_fd(), false).map_err(failed(dir, "query"))?;
    let mut found = Vec::new();
    for id in ids {
        let program = match bpf::program_fd(id) {
            Ok(program) => program,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue, // gone meanwhile
            Err(e) => return Err(failed(dir, "find")(e)),
        };
        let info = bpf::info(program.as_fd()).map_err(failed(dir, "describe"))?;
        if info.name == PROGRAM_NAME {
            found.push((program, info));
        }
    }
    Ok(found)
}

/// Attaches the program of `rules`. An older one of ours is replaced in one step: programs on a
/// cgroup are joined by *and*, so attaching beside it would give no new rights.
///
/// # Errors
/// [`Error::Bpf`], [`Error::File`].
pub fn apply(dir: &Path, rules: &RuleSet) -> Result<Attached, Error> {
    let cgroup = open(dir)?;
    let (program, info) = load(dir, rules)?;
    let mut old = ours(dir, &cgroup)?.into_iter();
    let replaced = old.next();
    bpf::attach(
        cgroup.as_fd(),
        program.as_fd(),
        replaced.as_ref().map(|(fd, _)| fd.as_fd()),
    )
    .map_err(failed(dir, "attach"))?;
    for (further, _) in old {
        bpf::detach(cgroup.as_fd(), further.as_fd()).map_err(failed(dir, "detach"))?;
    }
    Ok(Attached {
        id: info.id,
        tag: info.tag,
    })
}

/// What [`apply`] would attach, without attaching it: for a check by a process that did not
/// apply the rules.
///
/// # Errors
/// [`Error::Bpf`].
pub fn expected(dir: &Path, rules: &RuleSet) -> Result<Attached, Error> {
    let (_, info) = load(dir, rules)?;
    Ok(Attached {
        id: info.id,
        tag: info.tag,
    })
}

/// Compares what is attached with `wanted`, by the kernel's digest.
pub fn verify(dir: &Path, wanted: &Attached) -> Vec<Difference> {
    let found = match open(dir).and_then(|cgroup| ours(dir, &cgroup)) {
        Ok(found) => found,
        Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return vec![Difference::NoCgroup(dir.to_owned())];
        }
        Err(e) => {
            let (dir, reason) = (dir.to_owned(), e.to_string());
            return vec![Difference::Unreadable { dir, reason }];
        }
    };
    if found.is_empty() {
        return vec![Difference::Open(dir.to_owned())];
    }
    found
        .into_iter()
        .filter(|(_, info)| info.tag != wanted.tag)
        .map(|(_, info)| Difference::Program {
            dir: dir.to_owned(),
            id: info.id,
            tag: info.tag,
            wanted: wanted.tag.clone(),
        })
        .collect()
}

/// Takes our programs off the cgroup; those of others stay.
///
/// # Errors
/// [`Error::Bpf`], [`Error::File`].
pub fn release(dir: &Path) -> Result<(), Error> {
    let cgroup = open(dir)?;
    for (program, _) in ours(dir, &cgroup)? {
        bpf::detach(cgroup.as_fd(), program.as_fd()).map_err(failed(dir, "detach"))?;
    }
    Ok(())
}
