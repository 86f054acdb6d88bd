//! Checks rules against the tree when they are loaded (`MappingRuleValidationContextImpl`).
//! May touch: the rules and the queue tree, read only.
//! Must not: place anything.

use std::collections::BTreeSet;

use super::{
    Action, QueueKind, QueueLookup, Rule,
    target::{Target, cut, is_dynamic, look, with_full_root},
    variables::{IMMUTABLE, split},
};

/// Everything that is wrong with the rules, in order.
pub(super) fn check(rules: &[Rule], tree: &dyn QueueLookup) -> Vec<String> {
    let mut known: BTreeSet<&str> = IMMUTABLE.iter().copied().collect();
    known.insert("%default");
    let mut wrong = Vec::new();
    for rule in rules {
        let result = match &rule.action {
            Action::Reject => Ok(()),
            Action::Set { variable, .. } if IMMUTABLE.contains(&variable.as_str()) => Err(format!(
                "Variable '{variable}' is immutable cannot add to the modified variable list."
            )),
            Action::Set { variable, .. } => {
                known.insert(variable);
                Ok(())
            }
            Action::Place { queue, .. } => check_path(queue, &known, tree),
        };
        wrong.extend(result.err());
    }
    wrong
}

fn check_path(queue: &str, known: &BTreeSet<&str>, tree: &dyn QueueLookup) -> Result<(), String> {
    if queue.is_empty() {
        return Err("Queue path is empty.".to_owned());
    }
    if is_static(queue, known)? {
        check_static(queue, tree)
    } else {
        check_dynamic(queue, known, tree)
    }
}

/// Whether no part is a variable; parts after the first variable are not looked at.
fn is_static(path: &str, known: &BTreeSet<&str>) -> Result<bool, String> {
    for part in split(path) {
        if part.is_empty() {
            return Err(format!("Path segment cannot be empty '{path}'."));
        }
        if known.contains(part) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn check_static(queue: &str, tree: &dyn QueueLookup) -> Result<(), String> {
    let (parent, leaf) = cut(queue);
    let full = parent.map_or_else(|| leaf.to_owned(), |parent| format!("{parent}.{leaf}"));
    let parent = parent.unwrap_or("null");
    let normalized = with_full_root(&full, tree)?;
    match look(&normalized, tree) {
        Target::Creatable => Ok(()),
        Target::Exists => match tree.find(&normalized).map(|queue| queue.kind) {
            Some(QueueKind::Leaf) => Ok(()),
            _ => Err(format!("Target queue '{full}' but it's not a leaf queue.")),
        },
        Target::AmbiguousParent => Err(format!(
            "Target queue path '{full}' contains an ambiguous parent queue '{parent}' reference."
        )),
        Target::AmbiguousQueue => Err(format!("Target queue is an ambiguous leaf queue '{full}'.")),
        Target::Empty => Err("Mapping rule did not specify a target queue.".to_owned()),
        Target::NoParent => Err(format!(
            "Target queue does not exist and has no parent defined '{full}'."
        )),
        Target::NoDynamicParent => Err(format!(
            "Mapping rule specified a parent queue '{parent}', but it is not a dynamic parent \
             queue, and no queue exists with name '{leaf}' under it."
        )),
    }
}

/// Only the part before the first variable can be checked.
fn check_dynamic(
    queue: &str,
    known: &BTreeSet<&str>,
    tree: &dyn QueueLookup,
) -> Result<(), String> {
    let (parent, leaf) = cut(queue);
    let full = parent.map_or_else(|| leaf.to_owned(), |parent| format!("{parent}.{leaf}"));
    let fixed: Vec<&str> = split(&full)
        .into_iter()
        .take_while(|part| !known.contains(part))
        .collect();
    if fixed.is_empty() {
        return Ok(());
    }
    let normalized = with_full_root(&fixed.join("."), tree)?;
    if let Some(found) = tree.find(&normalized) {
        if found.kind == QueueKind::Leaf {
            return Err(format!(
                "Queue path '{full}' is invalid because '{normalized}' is a leaf queue, which can \
                 have no other queues under it."
            ));
        }
        return Ok(());
    }
    if fixed.len() > 1 {
        let parent = with_full_root(&fixed[..fixed.len() - 1].join("."), tree)?;
        if tree.find(&parent).is_some_and(|q| is_dynamic(q.kind)) {
            return Ok(());
        }
    }
    Err(format!("No eligible parent found on path '{full}'."))
}
