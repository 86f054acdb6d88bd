//! Facts by the keys of case files, from REST and RPC.
//! May touch: answers of the ResourceManager.
//! Must not: change anything.

use std::collections::BTreeMap;

use serde_json::Value;
use yarn_proto::yarn::YarnApplicationStateProto;

use super::{Remote, apps::Held, dims};
use crate::{
    facts::{AppKey, NodeKey, QueueKey},
    target::Done,
    value::Actual,
};

type Dims = BTreeMap<String, i64>;

impl Remote {
    pub(super) fn read_queue(&mut self, path: &str, label: &str, key: QueueKey) -> Done<Actual> {
        use QueueKey as K;
        let Some(queue) = self.queue_json(path)? else {
            return Ok(match key {
                K::Exists => Actual::Flag(false),
                _ => Actual::Nothing,
            });
        };
        let leaf = queue["queues"]["queue"].as_array().is_none();
        let shares = of_partition(&queue["capacities"]["queueCapacitiesByPartition"], label);
        let usage = of_partition(&queue["resources"]["resourceUsagesByPartition"], label);
        let percent = |name: &str| num(&shares[name], 100.0);
        Ok(match key {
            K::Used => res(&usage["used"]),
            K::Reserved => res(&usage["reserved"]),
            K::Pending => res(&usage["pending"]),
            K::AmLimit => res(&usage["amLimit"]),
            K::UserAmLimit => res(&usage["userAmLimit"]),
            K::Allocated => {
                let (used, reserved) = (amounts(&usage["used"]), amounts(&usage["reserved"]));
                let left = used
                    .iter()
                    .map(|(name, v)| (name.clone(), v - reserved.get(name).unwrap_or(&0)));
                Actual::Res(left.collect())
            }
            K::Capacity => percent("capacity"),
            K::AbsCapacity => percent("absoluteCapacity"),
            K::MaxCapacity => percent("maxCapacity"),
            K::AbsMaxCapacity => percent("absoluteMaxCapacity"),
            K::UsedCapacity => percent("usedCapacity"),
            K::AbsUsedCapacity => percent("absoluteUsedCapacity"),
            K::MaxAmPercent => percent("maxAMLimitPercentage"),
            K::Weight => num(&shares["weight"], 1.0),
            K::NormalizedWeight => num(&shares["normalizedWeight"], 1.0),
            K::EffMin => res(&shares["effectiveMinResource"]),
            K::EffMax => res(&shares["effectiveMaxResource"]),
            K::ConfiguredMin => res(&shares["configuredMinResource"]),
            K::ConfiguredMax => res(&shares["configuredMaxResource"]),
            K::MaxAllocation => res(&queue["maximumAllocation"]),
            K::UserLimitFactor => num(&queue["userLimitFactor"], 1.0),
            K::MaxApps => int(&queue["maxApplications"]),
            K::MaxAppsPerUser => int(&queue["maxApplicationsPerUser"]),
            K::ActiveApps => int(&queue["numActiveApplications"]),
            K::PendingApps => int(&queue["numPendingApplications"]),
            K::Apps => int(&queue["numApplications"]),
            K::Containers => int(&queue["numContainers"]),
            K::State => queue["state"]
                .as_str()
                .map_or(Actual::Unread, |s| Actual::Text(s.to_owned())),
            K::Kind => Actual::Text(if leaf { "leaf" } else { "parent" }.to_owned()),
            K::Exists => Actual::Flag(true),
            K::Dynamic => {
                let made = queue["creationMethod"].as_str().unwrap_or("static");
                Actual::Flag(made != "static")
            }
            K::Children => names(&queue["queues"]["queue"], |child| {
                child["queueName"].as_str()
            }),
            K::ChildrenCount => {
                let children = queue["queues"]["queue"].as_array();
                Actual::Int(children.map_or(0, |all| i64::try_from(all.len()).unwrap_or(0)))
            }
            K::Labels => names(&queue["nodeLabels"], Value::as_str),
            _ => Actual::Unread,
        })
    }

    pub(super) fn read_app(&mut self, app: &str, label: Option<&str>, key: AppKey) -> Done<Actual> {
        let report = self.report(app)?;
        let usage = report.app_resource_usage.clone().unwrap_or_default();
        let held: Vec<Held> = self.sim(app)?.held.clone();
        let live = || held.iter().filter(|one| one.live);
        if let Some(label) = label {
            let id = self.sim(app)?.id;
            let answer = self.get(&format!("/apps/{id}"))?;
            let all = &answer["app"]["resourceInfo"]["resourceUsagesByPartition"];
            let of_label = of_partition(all, label);
            return Ok(match key {
                AppKey::Used => res(&of_label["used"]),
                AppKey::Reserved => res(&of_label["reserved"]),
                AppKey::Pending => res(&of_label["pending"]),
                _ => Actual::Unread,
            });
        }
        Ok(match key {
            AppKey::Used => {
                Actual::Res(usage.used_resources.as_ref().map(dims).unwrap_or_default())
            }
            AppKey::Reserved => Actual::Res(
                usage
                    .reserved_resources
                    .as_ref()
                    .map(dims)
                    .unwrap_or_default(),
            ),
            AppKey::Live => Actual::Int(i64::from(usage.num_used_containers().max(0))),
            AppKey::ReservedCount => Actual::Int(i64::from(usage.num_reserved_containers().max(0))),
            AppKey::Pending => return self.read_pending(app),
            AppKey::Outstanding => return self.read_outstanding(app),
            AppKey::Headroom => {
                let headroom = self.sim(app)?.headroom.clone();
                headroom.map_or(Actual::Unread, |limit| Actual::Res(dims(&limit)))
            }
            AppKey::OnNode => {
                let mut counts = BTreeMap::new();
                for one in live() {
                    *counts.entry(one.node.clone()).or_insert(0) += 1;
                }
                Actual::Counts(counts)
            }
            AppKey::Containers => {
                let numbered = held.iter().enumerate().filter(|(_, one)| one.live);
                let sizes = numbered.map(|(at, one)| ((at + 1).to_string(), dims(&one.size)));
                Actual::Resources(sizes.collect())
            }
            AppKey::State => {
                let state = match report.yarn_application_state() {
                    YarnApplicationStateProto::Accepted => "ACCEPTED",
                    YarnApplicationStateProto::Running => "RUNNING",
                    YarnApplicationStateProto::Failed => "FAILED",
                    YarnApplicationStateProto::Finished => "FINISHED",
                    YarnApplicationStateProto::Killed => "KILLED",
                    _ => "SUBMITTED",
                };
                Actual::Text(state.to_owned())
            }
            AppKey::Priority => {
                let priority = report.priority.map(|p| p.priority());
                priority.map_or(Actual::Unread, |p| Actual::Int(i64::from(p)))
            }
            _ => Actual::Unread,
        })
    }

    fn read_pending(&mut self, app: &str) -> Done<Actual> {
        let id = self.sim(app)?.id;
        let answer = self.get(&format!("/apps/{id}"))?;
        let all = answer["app"]["resourceInfo"]["resourceUsagesByPartition"].as_array();
        let mut sum = Dims::new();
        for partition in all.into_iter().flatten() {
            for (name, amount) in amounts(&partition["pending"]) {
                *sum.entry(name).or_insert(0) += amount;
            }
        }
        Ok(Actual::Res(sum))
    }

    fn read_outstanding(&mut self, app: &str) -> Done<Actual> {
        let id = self.sim(app)?.id;
        let answer = self.get(&format!("/apps/{id}"))?;
        let mut counts = BTreeMap::new();
        let requests = answer["app"]["resourceRequests"].as_array();
        for request in requests.into_iter().flatten() {
            if request["resourceName"].as_str() == Some("*") {
                let priority = request["priority"]
                    .as_i64()
                    .or_else(|| request["priority"]["priority"].as_i64());
                let count = request["numContainers"].as_i64().unwrap_or(0);
                *counts.entry(priority.unwrap_or(0).to_string()).or_insert(0) += count;
            }
        }
        Ok(Actual::Counts(counts))
    }

    pub(super) fn read_node(&mut self, node: &str, key: NodeKey) -> Done<Actual> {
        let Some(sim) = self.cluster()?.nodes.get(node) else {
            return Ok(Actual::Nothing);
        };
        let id = format!("{}:{}", sim.id.host(), sim.id.port());
        let answer = self.get(&format!("/nodes/{id}"))?;
        let node = &answer["node"];
        let pair = |memory: &str, vcores: &str, more: &str| {
            let mut all = amounts(&node[more]);
            all.insert("memory".to_owned(), node[memory].as_i64().unwrap_or(0));
            all.insert("vcores".to_owned(), node[vcores].as_i64().unwrap_or(0));
            Actual::Res(all)
        };
        Ok(match key {
            NodeKey::Used => pair("usedMemoryMB", "usedVirtualCores", "usedResource"),
            NodeKey::Available => pair(
                "availMemoryMB",
                "availableVirtualCores",
                "availableResource",
            ),
            NodeKey::Containers => int(&node["numContainers"]),
            NodeKey::ReservedApp => Actual::Unread,
        })
    }

    pub(super) fn read_maximum(&mut self) -> Done<Actual> {
        let tree = self.tree()?;
        Ok(res(&tree["maximumAllocation"]))
    }
}

/// The entry of a partition.
fn of_partition(list: &Value, label: &str) -> Value {
    let all = list.as_array();
    let found = all
        .into_iter()
        .flatten()
        .find(|entry| entry["partitionName"].as_str() == Some(label));
    found.cloned().unwrap_or(Value::Null)
}

/// A `ResourceInfo`.
fn amounts(value: &Value) -> Dims {
    let mut all = Dims::new();
    let more = value["resourceInformations"]["resourceInformation"].as_array();
    for entry in more.into_iter().flatten() {
        if let (Some(name), Some(amount)) = (entry["name"].as_str(), entry["value"].as_i64()) {
            let name = if name == "memory-mb" { "memory" } else { name };
            all.insert(name.to_owned(), amount);
        }
    }
    for (field, name) in [("memory", "memory"), ("vCores", "vcores")] {
        if let Some(amount) = value[field].as_i64() {
            all.insert(name.to_owned(), amount);
        }
    }
    all
}

fn res(value: &Value) -> Actual {
    if value.is_null() {
        return Actual::Unread;
    }
    Actual::Res(amounts(value))
}

fn num(value: &Value, divisor: f64) -> Actual {
    value
        .as_f64()
        .map_or(Actual::Unread, |v| Actual::Num(v / divisor))
}

fn int(value: &Value) -> Actual {
    value.as_i64().map_or(Actual::Unread, Actual::Int)
}

fn names(list: &Value, name: impl Fn(&Value) -> Option<&str>) -> Actual {
    let all = list.as_array();
    let mut names: Vec<String> = all
        .into_iter()
        .flatten()
        .filter_map(|entry| name(entry).map(str::to_owned))
        .collect();
    names.sort();
    Actual::Names(names)
}
