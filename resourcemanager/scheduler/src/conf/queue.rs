//! One queue's settings, with what it inherits (`AbstractCSQueue.setupQueueConfigs`,
//! `AbstractLeafQueue`, `AbstractParentQueue`).
//! May touch: the raw entries, the parent's settings.
//! Must not: look at siblings (`check.rs` does).

use std::collections::{BTreeMap, BTreeSet};

use yarn_types::{Resource, ResourceTypes};

use super::{
    AccessibleLabels, AutoCreate, Calculator, ConfiguredState, LeafOrder, Lifetimes, PREFIX,
    ParentOrder, QueueConf, labels, multi_node, number, read::Reader, vector,
};
use crate::acl::{AccessList, PriorityAcls};

const POLICY_PACKAGE: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.";
const LABELS: &str = "accessible-node-labels";

/// What reading a queue needs beside its keys.
pub(super) struct Env<'a> {
    pub types: &'a ResourceTypes,
    pub calculator: Calculator,
    pub legacy: bool,
    /// The cluster's amounts, for comparing shares of them.
    pub cluster: Resource,
    pub max_application_priority: i32,
    /// Labels that keys name, by path, and those of all.
    pub labels: &'a BTreeMap<String, BTreeSet<String>>,
    pub all_labels: &'a BTreeSet<String>,
}

/// Which queue is read.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub path: &'a str,
    pub parent: Option<&'a QueueConf>,
    pub is_parent: bool,
    /// Made for an application.
    pub dynamic: bool,
}

impl Place<'_> {
    pub(super) fn key(&self, suffix: &str) -> String {
        format!("{PREFIX}{}.{suffix}", self.path)
    }
}

/// Reads the queue at `place`; what is wrong stays in `reader`.
pub(super) fn read(reader: &mut Reader<'_>, env: &Env<'_>, place: Place<'_>) -> QueueConf {
    let accessible = accessible(reader, place);
    let default_label = default_label(reader, place, &accessible);
    let user_weights = user_weights(reader, place);
    let labels = labels::read(reader, env, place);
    let applications = reader.int(&place.key("maximum-applications"), -1);
    let parallel_default = reader.int(&format!("{PREFIX}max-parallel-apps"), i32::MAX);
    let queue = QueueConf {
        name: place.path.rsplit('.').next().unwrap_or_default().to_owned(),
        path: place.path.to_owned(),
        parent: None,
        is_parent: place.is_parent,
        labels,
        accessible,
        default_label,
        user_limit_factor: user_limit_factor(reader, place),
        user_weights,
        maximum_applications: u32::try_from(applications).ok(),
        max_parallel_apps: reader.int(&place.key("max-parallel-apps"), parallel_default),
        state: state(reader, place),
        leaf_order: leaf_order(reader, place),
        parent_order: parent_order(reader, place),
        priority: reader.int(&place.key("priority"), 0),
        default_application_priority: reader.int(&place.key("default-application-priority"), 0),
        lifetimes: lifetimes(reader, place),
        maximum_allocation: maximum_allocation(reader, env, place),
        disable_preemption: reader.switch(&place.key("disable_preemption")),
        disable_intra_preemption: reader
            .switch(&place.key("intra-queue-preemption.disable_preemption")),
        multi_node_policy: multi_node::of_queue(reader, place),
        acl_submit: acl(reader, place, "acl_submit_applications"),
        acl_administer: acl(reader, place, "acl_administer_queue"),
        acl_priority: priority_acl(reader, env, place),
        auto_create: auto_create(reader, place),
        allow_zero_sum: reader.boolean(&place.key("allow-zero-capacity-sum"), false),
        continue_looking: reader.boolean(
            &format!("{PREFIX}reservations-continue-look-all-nodes"),
            true,
        ),
        by_label: Vec::new(),
    };
    if !queue.is_parent {
        check_leaf(reader, place, &queue);
    }
    queue
}

fn acl(reader: &Reader<'_>, place: Place<'_>, suffix: &str) -> AccessList {
    let default = if place.parent.is_none() { "*" } else { " " };
    AccessList::parse(reader.text(&place.key(suffix)).unwrap_or(default))
}

fn priority_acl(reader: &mut Reader<'_>, env: &Env<'_>, place: Place<'_>) -> String {
    let key = place.key("acl_application_max_priority");
    let Some(text) = reader.text(&key) else {
        return "*".to_owned();
    };
    if let Err(problem) = PriorityAcls::parse(text, env.max_application_priority) {
        reader.problem(&key, problem.to_string());
    }
    text.to_owned()
}

/// `user-limit-factor`; a created leaf has no limit unless its template says otherwise.
fn user_limit_factor(reader: &mut Reader<'_>, place: Place<'_>) -> f32 {
    let default = reader.float(&format!("{PREFIX}user-limit-factor"), 1.0);
    let created = place.dynamic && !place.is_parent;
    let default = if created { -1.0 } else { default };
    reader.float(&place.key("user-limit-factor"), default)
}

fn accessible(reader: &mut Reader<'_>, place: Place<'_>) -> AccessibleLabels {
    let key = place.key(LABELS);
    let Some(parent) = place.parent else {
        if reader.text(&key).is_some_and(|t| t.trim() != "*") {
            reader.remark(
                &key,
                "Accessible node labels for root queue will be ignored, it will be automatically set to \"*\".",
            );
        }
        return AccessibleLabels::Any;
    };
    let Some(text) = reader.text(&key) else {
        return parent.accessible.clone();
    };
    let named = text.split(',').map(str::trim).filter(|l| !l.is_empty());
    let set: BTreeSet<String> = named.map(str::to_owned).collect();
    let own = if set.contains("*") {
        AccessibleLabels::Any
    } else {
        AccessibleLabels::Of(set.into_iter().collect())
    };
    let AccessibleLabels::Of(above) = &parent.accessible else {
        return own;
    };
    match &own {
        AccessibleLabels::Any => reader.problem(
            &key,
            "Parent's accessible queue is not ANY(*), but child's accessible queue is *",
        ),
        AccessibleLabels::Of(own) => {
            let extra: Vec<&str> = own
                .iter()
                .filter(|l| !above.contains(l))
                .map(String::as_str)
                .collect();
            if !extra.is_empty() {
                reader.problem(
                    &key,
                    format!(
                        "Some labels of child queue is not a subset of parent queue, these labels=[{}]",
                        extra.join(",")
                    ),
                );
            }
        }
    }
    own
}

/// Own, else the parent's where all of the parent's labels are accessible here too.
fn default_label(
    reader: &Reader<'_>,
    place: Place<'_>,
    accessible: &AccessibleLabels,
) -> Option<String> {
    if let Some(text) = reader.text(&place.key("default-node-label-expression")) {
        return Some(text.trim().to_owned());
    }
    let parent = place.parent?;
    let covers = match (accessible, &parent.accessible) {
        (AccessibleLabels::Any, AccessibleLabels::Any) => true,
        (AccessibleLabels::Of(own), AccessibleLabels::Of(above)) => {
            above.iter().all(|l| own.contains(l))
        }
        _ => false,
    };
    if covers {
        parent.default_label.clone()
    } else {
        None
    }
}

/// Those of the queues above, replaced by own ones (`UserWeights`).
fn user_weights(reader: &mut Reader<'_>, place: Place<'_>) -> Vec<(String, f32)> {
    let above = place.parent.map(|p| p.user_weights.clone());
    let mut weights: BTreeMap<String, f32> = above.unwrap_or_default().into_iter().collect();
    let prefix = place.key("user-settings.");
    let keys: Vec<String> = reader
        .conf
        .range(prefix.clone()..)
        .take_while(|(key, _)| key.starts_with(&prefix))
        .map(|(key, _)| key.clone())
        .collect();
    for key in keys {
        let user = key[prefix.len()..].strip_suffix(".weight");
        let Some(user) = user.filter(|u| !u.is_empty()).map(str::to_owned) else {
            continue;
        };
        if let Some(weight) = reader.parsed(&key, number::float) {
            weights.insert(user, weight);
        }
    }
    weights.into_iter().collect()
}

fn state(reader: &mut Reader<'_>, place: Place<'_>) -> Option<ConfiguredState> {
    let key = place.key("state");
    match reader.text(&key)?.to_uppercase().as_str() {
        "RUNNING" => Some(ConfiguredState::Running),
        "STOPPED" => Some(ConfiguredState::Stopped),
        "DRAINING" => {
            reader.problem(
                &key,
                "Invalid queue state configuration. We can only use RUNNING or STOPPED.",
            );
            None
        }
        other => {
            reader.problem(
                &key,
                format!("No enum constant org.apache.hadoop.yarn.api.records.QueueState.{other}"),
            );
            None
        }
    }
}

fn leaf_order(reader: &mut Reader<'_>, place: Place<'_>) -> LeafOrder {
    let key = place.key("ordering-policy");
    if place.is_parent {
        return LeafOrder::Fifo;
    }
    let text = reader.text(&key).unwrap_or("fifo").trim();
    match text.strip_prefix(POLICY_PACKAGE).unwrap_or(text) {
        "fifo" | "FifoOrderingPolicy" => LeafOrder::Fifo,
        "fair" | "FairOrderingPolicy" => LeafOrder::Fair {
            size_based_weight: reader
                .text(&place.key("ordering-policy.fair.enable-size-based-weight"))
                .is_some_and(|t| t.eq_ignore_ascii_case("true")),
        },
        "fifo-with-partitions" | "FifoOrderingPolicyWithExclusivePartitions" => {
            let key = place.key("ordering-policy.exclusive-enforced-partitions");
            let list = reader.text(&key).unwrap_or_default().split(',');
            let named = list.map(str::trim).filter(|p| !p.is_empty());
            LeafOrder::FifoWithPartitions {
                enforced: named.map(str::to_owned).collect(),
            }
        }
        "fifo-for-pending-apps" | "FifoOrderingPolicyForPendingApps" => {
            LeafOrder::FifoForPendingApps
        }
        _ => {
            reader.problem(
                &key,
                format!("Unable to construct ordering policy for: {text}, {text}"),
            );
            LeafOrder::Fifo
        }
    }
}

fn parent_order(reader: &mut Reader<'_>, place: Place<'_>) -> ParentOrder {
    let above = place.parent.map(|p| p.parent_order);
    let default = above.unwrap_or(ParentOrder::Utilization);
    let key = place.key("ordering-policy");
    if !place.is_parent {
        return default;
    }
    match reader.text(&key).map(str::trim) {
        None => default,
        Some("utilization") => ParentOrder::Utilization,
        Some("priority-utilization") => ParentOrder::PriorityUtilization,
        Some(other) => {
            let reason = format!(
                "Unable to construct queue ordering policy={other} queue={}",
                place.path
            );
            reader.problem(&key, reason);
            default
        }
    }
}

/// `QueueAppLifetimeAndLimitSettings`.
fn lifetimes(reader: &mut Reader<'_>, place: Place<'_>) -> Lifetimes {
    let own_max = reader.long(&place.key("maximum-application-lifetime"), -1);
    let default_key = place.key("default-application-lifetime");
    let own_default = reader.long(&default_key, -1);
    let Some(parent) = place.parent.map(|p| p.lifetimes) else {
        return Lifetimes {
            max_s: own_max,
            default_s: own_default,
            default_configured: own_default >= 0,
        };
    };
    let max_s = if own_max >= 0 { own_max } else { parent.max_s };
    let default_configured = own_default >= 0 || parent.default_configured;
    let mut default_s = match own_default {
        0.. => own_default,
        _ if default_configured => parent.default_s.min(max_s),
        _ => max_s,
    };
    if max_s > 0 && default_s > max_s {
        let reason = format!("Default lifetime {default_s} can't exceed maximum lifetime {max_s}");
        reader.problem(&default_key, reason);
    }
    if default_s <= 0 {
        default_s = max_s;
    }
    Lifetimes {
        max_s,
        default_s,
        default_configured,
    }
}

/// `QueueAllocationSettings.setupMaximumAllocation`.
fn maximum_allocation(
    reader: &mut Reader<'_>,
    env: &Env<'_>,
    place: Place<'_>,
) -> Option<Resource> {
    let cluster = env.types.maximum_allocation();
    let above = place.parent.and_then(|p| p.maximum_allocation);
    let refusal = |own: Resource| {
        format!(
            "Queue maximum allocation cannot be larger than the cluster setting for queue {} max allocation per queue: {} cluster setting: {}",
            place.path,
            env.types.show(own),
            env.types.show(cluster)
        )
    };
    let key = place.key("maximum-allocation");
    if let Some(text) = reader.text(&key).filter(|t| !t.is_empty()) {
        return match vector::parse_allocation(text, env.types) {
            Ok(own) => {
                if !own.fits(cluster) {
                    reader.problem(&key, refusal(own));
                }
                Some(own)
            }
            Err(reason) => {
                reader.problem(&key, reason);
                above
            }
        };
    }
    let mb_key = place.key("maximum-allocation-mb");
    let vcores_key = place.key("maximum-allocation-vcores");
    let mb = i64::from(reader.int(&mb_key, -1));
    let vcores = i64::from(reader.int(&vcores_key, -1));
    if mb == -1 && vcores == -1 {
        return above;
    }
    let mut own = above.unwrap_or(cluster);
    if mb != -1 {
        own.0[0] = mb;
    }
    if vcores != -1 {
        own.0[1] = vcores;
    }
    if mb > cluster.memory_mb() {
        reader.problem(&mb_key, refusal(own));
    } else if vcores > cluster.vcores() {
        reader.problem(&vcores_key, refusal(own));
    }
    Some(own)
}

fn auto_create(reader: &mut Reader<'_>, place: Place<'_>) -> AutoCreate {
    let key = |suffix: &str| place.key(&format!("auto-queue-creation-v2.{suffix}"));
    let cluster_depth = reader.int(
        &format!("{PREFIX}auto-queue-creation-v2.maximum-queue-depth"),
        2,
    );
    let depth = reader.int(&key("maximum-queue-depth"), cluster_depth);
    let most = reader.int(&key("max-queues"), 1000);
    // below a created parent queues may always be created
    let created_parent = place.dynamic && place.is_parent;
    AutoCreate {
        enabled: created_parent || reader.boolean(&key("enabled"), false),
        max_queues: u32::try_from(most).unwrap_or(0),
        max_depth: u32::try_from(depth).unwrap_or(0),
        auto_removal: reader.boolean(&key("queue-auto-removal.enable"), true),
    }
}

/// What only leaves are checked for (`AbstractLeafQueue.setupQueueConfigs`).
fn check_leaf(reader: &mut Reader<'_>, place: Place<'_>, queue: &QueueConf) {
    let expression = queue.default_label.as_deref().unwrap_or_default();
    let mut asked = expression.split("&&").map(str::trim);
    if asked.any(|l| !queue.may_access(l)) {
        let labels = match &queue.accessible {
            AccessibleLabels::Any => "*".to_owned(),
            AccessibleLabels::Of(labels) => labels.join(","),
        };
        let reason = format!(
            "Invalid default label expression of  queue={} doesn't have permission to access all labels in default label expression. labelExpression of resource request={expression}. Queue labels={labels}",
            place.path
        );
        reader.problem(&place.key("default-node-label-expression"), reason);
    }
    let limit = queue.default_partition().user_limit_percent.min(100.0);
    let most = 100.0 / limit;
    for (user, weight) in &queue.user_weights {
        if *weight < 0.0 || *weight > most {
            let reason = format!(
                "Weight ({weight:?}) for user \"{user}\" must be between 0 and 100 / {limit:?} (= {most:?}, the number of concurrent active users in {})",
                place.path
            );
            reader.problem(&place.key(&format!("user-settings.{user}.weight")), reason);
        }
    }
}
