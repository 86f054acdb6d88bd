//! Whether a queue that a rule names can be used (`MappingRuleValidationHelper`).
//! May touch: the queue tree, read only.
//! Must not: create the queue.

use super::{Placed, QueueKind, QueueLookup, variables::split};

/// What stands at a queue path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Creatable,
    Exists,
    NoParent,
    NoDynamicParent,
    AmbiguousParent,
    AmbiguousQueue,
    Empty,
}

/// Parent and name, cut at the last dot and trimmed (`QueuePath`).
pub(super) fn cut(path: &str) -> (Option<&str>, &str) {
    match path.rsplit_once('.') {
        Some((parent, name)) => (Some(parent.trim()), name.trim()),
        None => (None, path),
    }
}

/// Replaces the first part by its full path.
pub(super) fn with_full_root(path: &str, tree: &dyn QueueLookup) -> Result<String, String> {
    let parts = split(path);
    let first = parts.first().copied().unwrap_or_default();
    let Some(root) = tree.find(first) else {
        let what = if tree.is_ambiguous(first) {
            "is ambiguous"
        } else {
            "does not exist"
        };
        return Err(format!(
            "Path root '{first}' {what}. Path '{path}' is invalid"
        ));
    };
    let mut whole = vec![root.path.as_str()];
    whole.extend(parts.iter().skip(1));
    Ok(whole.join("."))
}

/// Whether queues may be created below `kind`.
pub(super) fn is_dynamic(kind: QueueKind) -> bool {
    matches!(
        kind,
        QueueKind::Managed | QueueKind::Parent { dynamic: true }
    )
}

/// What stands at a path whose first part is complete.
pub(super) fn look(path: &str, tree: &dyn QueueLookup) -> Target {
    if path.is_empty() {
        return Target::Empty;
    }
    if tree.find(path).is_some() {
        return Target::Exists;
    }
    if tree.is_ambiguous(path) {
        return Target::AmbiguousQueue;
    }
    let parts = split(path);
    let (parent, grand) = match parts.len() {
        0 | 1 => return Target::NoParent,
        n => (parts[..n - 1].join("."), parts[..n - 2].join(".")),
    };
    if tree.is_ambiguous(&parent) {
        return Target::AmbiguousParent;
    }
    if let Some(parent) = tree.find(&parent) {
        return if is_dynamic(parent.kind) {
            Target::Creatable
        } else {
            Target::NoDynamicParent
        };
    }
    if grand.is_empty() {
        return Target::NoParent;
    }
    if tree.is_ambiguous(&grand) {
        return Target::AmbiguousParent;
    }
    // one missing level between may be created too, but not below a v1 parent
    match tree.find(&grand).map(|queue| queue.kind) {
        Some(QueueKind::Parent { dynamic: true }) => Target::Creatable,
        _ => Target::NoDynamicParent,
    }
}

/// The full path of the queue that a rule came to, and whether it is yet to be created.
///
/// # Errors
/// Why it cannot be used (`CSMappingPlacementRule.validateAndNormalizeQueue`).
pub(super) fn normalize(
    queue: &str,
    may_create: bool,
    tree: &dyn QueueLookup,
) -> Result<Placed, String> {
    let (parent, leaf) = cut(queue);
    let whole = parent.map_or_else(|| leaf.to_owned(), |parent| format!("{parent}.{leaf}"));
    if whole.split('.').any(str::is_empty) {
        return Err(format!("Invalid path returned by rule: '{queue}'"));
    }
    let placed = match parent {
        Some(parent) => below(parent, leaf, may_create, tree)?,
        None => by_name(leaf, tree)?,
    };
    let at_path = tree.find(&placed.queue);
    if at_path.is_some_and(|queue| queue.kind != QueueKind::Leaf) {
        return Err(format!(
            "Mapping rule returned a non-leaf queue '{}', cannot place application in it.",
            placed.queue
        ));
    }
    Ok(placed)
}

fn below(
    parent: &str,
    leaf: &str,
    may_create: bool,
    tree: &dyn QueueLookup,
) -> Result<Placed, String> {
    let queue = with_full_root(&format!("{parent}.{leaf}"), tree)?;
    let create = match look(&queue, tree) {
        Target::Exists => false,
        Target::Creatable if may_create => true,
        Target::Creatable => {
            return Err(format!(
                "Mapping rule doesn't allow auto-creation of the queue '{queue}'."
            ));
        }
        Target::AmbiguousParent => {
            return Err(format!(
                "Mapping rule specified a parent queue '{parent}', but it is ambiguous."
            ));
        }
        Target::AmbiguousQueue => {
            return Err(format!(
                "Mapping rule specified a target queue '{queue}', but it is ambiguous."
            ));
        }
        Target::Empty => return Err("Mapping rule did not specify a target queue.".to_owned()),
        Target::NoParent => {
            return Err(
                "Mapping rule did not specify an existing queue nor a dynamic parent queue."
                    .to_owned(),
            );
        }
        Target::NoDynamicParent => {
            return Err(format!(
                "Mapping rule specified a parent queue '{parent}', but it is not a dynamic parent \
                 queue, and no queue exists with name '{leaf}' under it."
            ));
        }
    };
    Ok(Placed { queue, create })
}

fn by_name(leaf: &str, tree: &dyn QueueLookup) -> Result<Placed, String> {
    match tree.find(leaf) {
        Some(queue) => Ok(Placed {
            queue: queue.path,
            create: false,
        }),
        None if tree.is_ambiguous(leaf) => Err(format!(
            "Queue '{leaf}' specified in mapping rule is ambiguous"
        )),
        None => Err(format!(
            "Queue '{leaf}' specified in mapping rule does not exist."
        )),
    }
}
