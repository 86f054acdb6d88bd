//! What siblings must be together in legacy mode (`AbstractParentQueue.setChildQueues`).
//! May touch: the parsed queues.
//! Must not: know what is used.

use std::fmt::Write as _;

use yarn_types::Resource;

use super::{LabelConf, PREFIX, QueueConf, labels, queue::Env, read::Reader};

/// Hadoop's tolerance of capacity sums, as a share.
const PRECISION: f32 = 0.0005;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Weight,
    Absolute,
    Percent,
}

/// Checks the children of every parent; those that are listed in `queues` after it.
pub(super) fn siblings(reader: &mut Reader<'_>, env: &Env<'_>, queues: &[QueueConf]) {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); queues.len()];
    for (at, queue) in queues.iter().enumerate() {
        if let Some(parent) = queue.parent {
            children[parent].push(at);
        }
    }
    let refused = |reader: &Reader<'_>, queue: &QueueConf| {
        let key = format!("{PREFIX}{}.", queue.path);
        reader.problems.iter().any(|p| {
            let suffix = p.key.strip_prefix(&key).unwrap_or_default();
            suffix == "capacity" || suffix.starts_with("accessible-node-labels.")
        })
    };
    for (parent, children) in queues.iter().zip(&children) {
        let children: Vec<&QueueConf> = children.iter().map(|at| &queues[*at]).collect();
        if !parent.is_parent || children.is_empty() {
            continue;
        }
        if children.iter().any(|c| refused(reader, c)) {
            continue; // the sum would say of a bad value that it is none
        }
        if let Err(reason) = of_parent(env, parent, &children) {
            reader.problem(&format!("{PREFIX}{}.queues", parent.path), reason);
        }
    }
}

fn of_parent(env: &Env<'_>, parent: &QueueConf, children: &[&QueueConf]) -> Result<(), String> {
    let kind = kind_of(parent, children)?;
    let own = kind_of(parent, &[parent])?;
    if kind == Kind::Absolute || own == Kind::Absolute {
        if kind != own && parent.path != "root" {
            return Err(format!(
                "Parent={}: When absolute minResource is used, we must make sure both parent and child all use absolute minResource",
                parent.path
            ));
        }
        for label in &parent.labels {
            amounts(env, parent, label, children)?;
        }
    }
    if kind == Kind::Percent {
        for label in &parent.labels {
            sum(parent, label, own, children)?;
        }
    }
    Ok(())
}

/// How `queues` have their capacities; Hadoop's walk over them, whose order decides what it calls
/// a mixture: an amount takes back the percentages before it.
fn kind_of(parent: &QueueConf, queues: &[&QueueConf]) -> Result<Kind, String> {
    let (mut percent, mut weight, mut absolute) = (false, false, false);
    let mut details = String::new();
    for queue in queues {
        for label in &parent.labels {
            let name = &label.label;
            let own = queue.label(name);
            let mut note = |mode: &str| {
                let path = &queue.path;
                let _ = write!(details, "{{Queue={path}, label={name} uses {mode} mode}}. ");
            };
            if own.is_some_and(|l| l.capacity > 0.0) {
                percent = true;
            }
            if own.is_some_and(|l| l.weight >= 0.0) {
                weight = true;
                note("weight");
            }
            if own.is_some_and(|l| l.is_absolute) {
                absolute = true;
                percent = false;
                note("absolute");
            }
            if percent {
                note("percentage");
            }
        }
    }
    let kinds = u8::from(percent) + u8::from(weight) + u8::from(absolute);
    if kinds > 1 && queues.first().is_some_and(|q| q.path != "root") {
        return Err(format!(
            "Parent queue '{}' have children queue used mixed of  weight mode, percentage and absolute mode, it is not allowed, please double check, details:{details}",
            parent.path
        ));
    }
    Ok(if weight || queues.is_empty() {
        Kind::Weight
    } else if absolute {
        Kind::Absolute
    } else {
        Kind::Percent
    })
}

fn amounts(
    env: &Env<'_>,
    parent: &QueueConf,
    label: &LabelConf,
    children: &[&QueueConf],
) -> Result<(), String> {
    let own = |c: &&QueueConf| {
        c.label(&label.label)
            .map_or(Resource::ZERO, |l| l.min_resource)
    };
    let sum = children
        .iter()
        .map(own)
        .fold(Resource::ZERO, Resource::plus);
    if label.min_resource.is_zero() || !labels::greater(env, sum, label.min_resource) {
        return Ok(());
    }
    Err(format!(
        "Parent Queues capacity: {} is less than to its children:{} for queue:{}",
        env.types.show(label.min_resource),
        env.types.show(sum),
        parent.name
    ))
}

fn sum(
    parent: &QueueConf,
    label: &LabelConf,
    own: Kind,
    children: &[&QueueConf],
) -> Result<(), String> {
    let of = |c: &&QueueConf| c.label(&label.label).map_or(0.0, |l| l.capacity);
    let sum: f32 = children.iter().map(of).fold(0.0, |a, b| a + b);
    let name = &parent.name;
    let begin = format!(
        "Illegal capacity sum of {sum:?} for children of queue {name} for label={}. ",
        label.label
    );
    let strict = own == Kind::Percent && !parent.allow_zero_sum;
    if (1.0 - sum).abs() > PRECISION {
        if sum.abs() > PRECISION {
            return Err(format!("{begin}It should be either 0 or 1.0"));
        }
        if strict && label.capacity.abs() > PRECISION {
            return Err(format!(
                "{begin}It is set to 0, but parent percent != 0, and doesn't allow children capacity to set to 0"
            ));
        }
    } else if strict && label.capacity <= 0.0 {
        return Err(format!(
            "{begin}queue={name} has zero capacity, but childqueues have positive capacities"
        ));
    }
    Ok(())
}
