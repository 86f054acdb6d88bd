//! Device rules through the cgroup v1 devices controller, in its allow-list mode.
//! May touch: `devices.allow`, `devices.deny` and `devices.list` of the cgroup it is given.
//! Must not: use the deny-list mode: `devices.list` does not show what is denied there.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::{Rule, RuleSet};
use crate::isolation::{Difference, Error};

/// The list of a cgroup that allows everything.
const ALLOW_ALL: &str = "a *:* rwm";

fn write(dir: &Path, file: &str, line: &str) -> Result<(), Error> {
    let path = dir.join(file);
    std::fs::write(&path, line).map_err(|source| Error::File {
        what: format!("writing {line:?}"),
        path,
        source,
    })
}

/// Lines of `devices.list`.
fn lines(dir: &Path) -> Result<BTreeSet<String>, Error> {
    let path = dir.join("devices.list");
    let text = std::fs::read_to_string(&path).map_err(|source| Error::File {
        what: "reading".to_owned(),
        path,
        source,
    })?;
    Ok(text.lines().map(str::to_owned).collect())
}

fn wanted(rules: &RuleSet) -> Result<BTreeSet<String>, Error> {
    Ok(rules.allow_list()?.iter().map(Rule::line).collect())
}

/// Makes the list of `dir` exactly `rules`. Where it already is an allow-list only the
/// differences are written, so that running processes keep what stays allowed; otherwise
/// everything is denied first, which the kernel refuses once the cgroup has children.
///
/// # Errors
/// [`Error::File`]; EPERM means that the parent cgroup does not allow it.
pub fn apply(dir: &Path, rules: &RuleSet) -> Result<(), Error> {
    let wanted = wanted(rules)?;
    let mut held = lines(dir)?;
    if held.remove(ALLOW_ALL) {
        write(dir, "devices.deny", "a")?;
        held.clear();
    }
    for extra in held.difference(&wanted) {
        write(dir, "devices.deny", extra)?;
    }
    for missing in wanted.difference(&held) {
        write(dir, "devices.allow", missing)?;
    }
    Ok(())
}

/// Compares `devices.list` with `rules`, line by line.
pub fn verify(dir: &Path, rules: &RuleSet) -> Vec<Difference> {
    let (held, wanted) = match (lines(dir), wanted(rules)) {
        (Ok(held), Ok(wanted)) => (held, wanted),
        (Err(Error::File { source, .. }), _) if source.kind() == io::ErrorKind::NotFound => {
            return vec![Difference::NoCgroup(dir.to_owned())];
        }
        (Err(e), _) | (_, Err(e)) => {
            let (dir, reason) = (dir.to_owned(), e.to_string());
            return vec![Difference::Unreadable { dir, reason }];
        }
    };
    if held.contains(ALLOW_ALL) {
        return vec![Difference::Open(dir.to_owned())];
    }
    let line = |rule: &String| (dir.to_owned(), rule.clone());
    let missing = wanted.difference(&held).map(|rule| {
        let (dir, rule) = line(rule);
        Difference::Missing { dir, rule }
    });
    let extra = held.difference(&wanted).map(|rule| {
        let (dir, rule) = line(rule);
        Difference::Extra { dir, rule }
    });
    missing.chain(extra).collect()
}

/// Lets the cgroup reach every device again that its parent may reach.
///
/// # Errors
/// [`Error::File`]; the kernel refuses it while the cgroup has children.
pub fn release(dir: &Path) -> Result<(), Error> {
    write(dir, "devices.allow", "a")
}
