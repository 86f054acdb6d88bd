//! Lists of cases with reasons: known to be wrong, or dependent on pacing.
//! May touch: the two lists.
//! Must not: run cases.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, bail};

/// Reasons by id of case.
pub type Reasons = BTreeMap<String, String>;

/// Reads the rows of a Markdown table that begin with a case's id in back quotes; a list that is
/// not there is empty.
///
/// # Errors
/// An unreadable list, or a row without a reason.
pub fn read(path: &Path) -> anyhow::Result<Reasons> {
    if !path.exists() {
        return Ok(Reasons::new());
    }
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("read {shown}"))?;
    let mut reasons = Reasons::new();
    for (i, line) in text.lines().enumerate() {
        let Some(row) = line.strip_prefix("| `") else {
            continue;
        };
        let Some((id, rest)) = row.split_once('`') else {
            bail!("{shown}:{}: no closing back quote after the id", i + 1);
        };
        let reason = rest.trim().trim_matches('|').trim();
        if reason.is_empty() {
            bail!("{shown}:{}: case {id} has no reason", i + 1);
        }
        reasons.insert(id.to_owned(), reason.to_owned());
    }
    Ok(reasons)
}
