//! A queue's capacities and limits by partition (`CSQueueUtils.loadCapacitiesByLabelsFromConf`,
//! `AbstractCSQueue.updateConfigurableResourceLimits`).
//! May touch: the raw entries, the parent's settings.
//! Must not: look at siblings (`check.rs` does).

use std::cmp::Ordering;

use yarn_types::Resource;

use super::{
    CapacityKind, CapacityVector, LabelConf, PREFIX,
    number::float,
    queue::{Env, Place},
    read::Reader,
    vector,
};

/// The queue's settings for the default partition and every label that its keys (of root: any
/// queue's keys) name.
pub(super) fn read(reader: &mut Reader<'_>, env: &Env<'_>, place: Place<'_>) -> Vec<LabelConf> {
    let mut names = vec![String::new()];
    let own = if place.parent.is_none() {
        Some(env.all_labels)
    } else {
        env.labels.get(place.path)
    };
    names.extend(own.into_iter().flatten().cloned());
    let labels: Vec<LabelConf> = names
        .iter()
        .map(|name| label(reader, env, place, name))
        .collect();
    let is_absolute = labels[0].is_absolute;
    let mixed = labels.iter().any(|l| l.is_absolute != is_absolute);
    if env.legacy && place.parent.is_some() && mixed {
        let reason = format!(
            "Queue '{}' should use either percentage based capacity configuration or absolute resource.",
            place.path
        );
        reader.problem(&place.key("capacity"), reason);
    }
    labels
}

fn label(reader: &mut Reader<'_>, env: &Env<'_>, place: Place<'_>, name: &str) -> LabelConf {
    let key = |suffix: &str| {
        if name.is_empty() {
            place.key(suffix)
        } else {
            place.key(&format!("accessible-node-labels.{name}.{suffix}"))
        }
    };
    let (capacity_key, max_key) = (key("capacity"), key("maximum-capacity"));
    let capacity = capacity(reader, place, name, &capacity_key);
    let max_capacity = max_capacity(reader, place, name, &max_key);
    let mut weight = weight(reader, place, name, &capacity_key);
    let (min_resource, max_resource) =
        resources(reader, env, place, name, (&capacity_key, &max_key));
    let (vector, max_vector) = vectors(reader, env, place, (&capacity_key, &max_key));
    if let Some(same) = same_weight(&vector, env) {
        weight = same;
    }
    let am_default = am_default(reader, place);
    let user_default = reader.float(&format!("{PREFIX}minimum-user-limit-percent"), 100.0);
    let user_default = reader.float(&place.key("minimum-user-limit-percent"), user_default);
    LabelConf {
        label: name.to_owned(),
        capacity,
        max_capacity,
        weight,
        is_absolute: is_absolute(reader, env, &capacity_key, &vector),
        min_resource,
        max_resource,
        vector,
        max_vector,
        am_percent: reader.float(&key("maximum-am-resource-percent"), am_default),
        user_limit_percent: reader.float(&key("minimum-user-limit-percent"), user_default),
    }
}

/// `CapacityConfigType.ABSOLUTE_RESOURCE`.
fn is_absolute(reader: &Reader<'_>, env: &Env<'_>, key: &str, vector: &CapacityVector) -> bool {
    if env.legacy {
        return reader.text(key).is_some_and(vector::is_amounts);
    }
    let mut lanes = vector.lanes.iter().take(env.types.len());
    !vector.is_empty && lanes.all(|l| l.kind == CapacityKind::Absolute)
}

/// A created leaf may give all of it to ApplicationMasters unless its template says otherwise.
fn am_default(reader: &mut Reader<'_>, place: Place<'_>) -> f32 {
    let cluster = reader.float(&format!("{PREFIX}maximum-am-resource-percent"), 0.1);
    let created = place.dynamic && !place.is_parent;
    let default = if created { 1.0 } else { cluster };
    reader.float(&place.key("maximum-am-resource-percent"), default)
}

/// Written in brackets or as a weight: no percentage.
fn is_other(text: &str) -> bool {
    vector::is_amounts(text) || vector::is_vector(text)
}

/// `getNonLabeledQueueCapacity`, `getLabeledQueueCapacity`: a share, 0 to 1.
fn capacity(reader: &mut Reader<'_>, place: Place<'_>, name: &str, key: &str) -> f32 {
    let text = reader.text(key);
    if place.parent.is_none() {
        let other = |t: &str| is_other(t) || t.ends_with('w');
        let hundred = |t: &str| float(t).is_ok_and(|v| (v - 100.0).abs() < f32::EPSILON);
        if text.is_some_and(|t| !other(t) && !hundred(t)) {
            reader.remark(key, "the capacity of root is always 100");
        }
        return 1.0;
    }
    match text {
        None => 0.0,
        Some(t) if is_other(t) || t.ends_with('w') => 0.0,
        Some(_) => percent(reader, place, name, key, true).unwrap_or(0.0),
    }
}

fn percent(
    reader: &mut Reader<'_>,
    place: Place<'_>,
    name: &str,
    key: &str,
    checked: bool,
) -> Option<f32> {
    let value = reader.parsed(key, float)?;
    if checked && !(0.0..=100.0).contains(&value) {
        let path = place.path;
        let reason = if name.is_empty() {
            format!("Illegal capacity of {value:?} for queue {path}")
        } else {
            format!(
                "Illegal capacity of {value:?} for node-label={name} in queue={path}, valid capacity should in range of [0, 100]."
            )
        };
        reader.problem(key, reason);
        return None;
    }
    Some(value / 100.0)
}

/// `getNonLabeledQueueMaximumCapacity`, `getLabeledQueueMaximumCapacity`.
fn max_capacity(reader: &mut Reader<'_>, place: Place<'_>, name: &str, key: &str) -> f32 {
    let Some(text) = reader.text(key) else {
        return 1.0;
    };
    if is_other(text) || (!name.is_empty() && place.parent.is_none()) {
        return 1.0;
    }
    if !name.is_empty() {
        if text.ends_with('w') {
            return 1.0;
        }
        return percent(reader, place, name, key, true).unwrap_or(1.0);
    }
    match percent(reader, place, name, key, false) {
        None => 1.0,
        Some(share) if (share * 100.0 + 1.0).abs() < f32::EPSILON => 1.0, // -1: none
        Some(share) => {
            if share < 0.0 {
                let reason = format!(
                    "a maximum of {:?} percent leaves nothing to queue {}; write 0 to 100, or -1 for no maximum",
                    share * 100.0,
                    place.path
                );
                reader.problem(key, reason);
            }
            share
        }
    }
}

/// The weight, -1 when none is written.
fn weight(reader: &mut Reader<'_>, place: Place<'_>, name: &str, key: &str) -> f32 {
    let Some(text) = reader.text(key).filter(|t| t.ends_with('w')) else {
        return -1.0;
    };
    let number = text.split('w').next().unwrap_or_default();
    match float(number) {
        Err(reason) => {
            reader.problem(key, reason);
            -1.0
        }
        Ok(weight) => {
            let unset = (weight + 1.0).abs() <= 1e-6;
            if (weight < -1e-6 && !unset) || weight > 10_000.0 {
                let reason = format!(
                    "Illegal weight={weight:?} for queue={}label={name}. Acceptable values: [0, 10000], -1 is same as not set",
                    place.path
                );
                reader.problem(key, reason);
            }
            weight
        }
    }
}

/// The one weight of all lanes: `[memory=5w,vcores=5w]` is `5w`.
#[allow(
    clippy::cast_possible_truncation,
    reason = "Hadoop keeps the weight as a float"
)]
fn same_weight(vector: &CapacityVector, env: &Env<'_>) -> Option<f32> {
    let lanes = &vector.lanes[..env.types.len()];
    let first = lanes.first().filter(|_| !vector.is_empty)?;
    let same = |l: &super::LaneCapacity| {
        l.kind == CapacityKind::Weight && (l.value - first.value).abs() < f64::EPSILON
    };
    lanes.iter().all(same).then_some(first.value as f32)
}

/// The amounts written as capacity and maximum, checked against each other and the parent's.
fn resources(
    reader: &mut Reader<'_>,
    env: &Env<'_>,
    place: Place<'_>,
    name: &str,
    (min_key, max_key): (&str, &str),
) -> (Resource, Resource) {
    let min = amounts(reader, env, min_key);
    let mut max = amounts(reader, env, max_key);
    let show = |r| env.types.show(r);
    let above = place.parent.and_then(|p| p.label(name));
    let above = above.map_or(Resource::ZERO, |l| l.max_resource);
    if !above.is_zero() && greater(env, max, above) {
        let reason = format!(
            "Max resource configuration {} is greater than parents max value:{} in queue:{}",
            show(max),
            show(above),
            place.path
        );
        reader.problem(max_key, reason);
    }
    if max.is_zero() && !min.is_zero() {
        max = above;
    }
    if !max.is_zero() && greater(env, min, max) {
        let reason = format!(
            "Min resource configuration {} is greater than its max value:{} in queue:{}",
            show(min),
            show(max),
            place.path
        );
        reader.problem(min_key, reason);
    }
    (min, max)
}

fn amounts(reader: &mut Reader<'_>, env: &Env<'_>, key: &str) -> Resource {
    let mut skipped = Vec::new();
    let amounts = vector::parse_amounts(reader.text(key), env.types, &mut skipped);
    for reason in skipped {
        reader.remark(key, reason);
    }
    amounts.unwrap_or_else(|reason| {
        reader.problem(key, reason);
        Resource::ZERO
    })
}

/// `Resources.greaterThan`: by memory, by dominant shares, or lane by lane without a cluster.
pub(super) fn greater(env: &Env<'_>, a: Resource, b: Resource) -> bool {
    if env.calculator == super::Calculator::Dominant && env.cluster.is_zero() {
        return a != b && b.fits(a);
    }
    env.calculator.compare(a, b, env.cluster, env.types) == Ordering::Greater
}

fn vectors(
    reader: &mut Reader<'_>,
    env: &Env<'_>,
    place: Place<'_>,
    (min_key, max_key): (&str, &str),
) -> (CapacityVector, CapacityVector) {
    let is_root = place.parent.is_none();
    let mut one = |key: &str| match vector::parse_vector(reader.text(key), is_root, env.types) {
        Ok(vector) => vector,
        Err(reason) => {
            reader.problem(key, reason);
            CapacityVector::EMPTY
        }
    };
    let (mut min, mut max) = (one(min_key), one(max_key));
    if place.dynamic && min.is_empty {
        min = CapacityVector::uniform(CapacityKind::Weight, 1.0);
        max = CapacityVector::uniform(CapacityKind::Percent, 100.0);
    }
    if !env.legacy && !min.is_empty && !max.is_empty {
        let weighted = |l: &super::LaneCapacity| l.kind == CapacityKind::Weight;
        let lane = max.lanes.iter().take(env.types.len()).position(weighted);
        if let Some(lane) = lane.and_then(|at| env.types.get(at)) {
            let reason = format!(
                "Resource {} has WEIGHT maximum capacity type, which is not supported",
                lane.name
            );
            reader.problem(max_key, reason);
        }
    }
    (min, max)
}
