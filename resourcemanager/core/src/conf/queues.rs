//! The queue hierarchy of capacity-scheduler.xml.
//! May touch: `yarn_types::Lookup`.
//! Must not: know the cluster (absolute figures are made by the queue tree).

use yarn_types::Lookup;

use super::{ConfProblem, refused};

/// Prefix of the scheduler's keys.
pub const PREFIX: &str = "yarn.scheduler.capacity.";
/// Deepest hierarchy taken; a cycle cannot be written, but a file can nest without end.
const DEPTH_MAX: usize = 32;
/// Most queues taken.
const QUEUES_MAX: usize = 20_000;
/// Hadoop's tolerance of capacity sums (`CapacitySchedulerConfiguration.PRECISION`), as a ratio.
const PRECISION: f32 = 0.0005;

/// One queue as configured.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueConf {
    /// Last part of the path.
    pub name: String,
    /// Full path, from `root`.
    pub path: String,
    /// Index of the parent in [`QueuesConf::queues`]; `None` for root.
    pub parent: Option<usize>,
    /// Has child queues.
    pub is_parent: bool,
    /// Guaranteed share of the parent, 0 to 1.
    pub capacity: f32,
    /// Maximum share of the parent, 0 to 1.
    pub maximum_capacity: f32,
    /// `minimum-user-limit-percent`.
    pub user_limit_percent: f32,
    /// `user-limit-factor`; -1 for none.
    pub user_limit_factor: f32,
    /// `maximum-am-resource-percent`, 0 to 1 (or above).
    pub am_percent: f32,
    /// `maximum-applications`, when set.
    pub maximum_applications: Option<u32>,
    /// `state` is STOPPED.
    pub stopped: bool,
}

/// The parsed hierarchy; parents come before children.
#[derive(Clone, PartialEq, Debug)]
pub struct QueuesConf {
    /// Queues in tree order, root first.
    pub queues: Vec<QueueConf>,
    /// `yarn.scheduler.capacity.maximum-applications`.
    pub maximum_applications: u32,
    /// `yarn.scheduler.capacity.node-locality-delay`; below 0 never waits.
    pub node_locality_delay: i64,
    /// `yarn.scheduler.capacity.rack-locality-additional-delay`; -1 is Hadoop's old count.
    pub rack_locality_additional_delay: i64,
}

struct Reader<'a> {
    conf: &'a dyn Lookup,
    problems: Vec<ConfProblem>,
}

impl Reader<'_> {
    fn text(&self, key: &str) -> Option<String> {
        self.conf
            .get(key)
            .map(|v| v.trim().to_owned())
            .filter(|v| !v.is_empty())
    }

    fn problem(&mut self, key: &str, value: Option<String>, reason: impl Into<String>) {
        self.problems.push(ConfProblem::new(key, value, reason));
    }

    fn float(&mut self, key: &str, default: f32) -> f32 {
        let Some(text) = self.text(key) else {
            return default;
        };
        match text.parse::<f32>() {
            Ok(v) if v.is_finite() => v,
            _ => {
                let reason = format!("For input string: \"{text}\"; a number is needed");
                self.problem(key, Some(text), reason);
                default
            }
        }
    }

    fn whole(&mut self, key: &str, default: i64) -> i64 {
        let Some(text) = self.text(key) else {
            return default;
        };
        text.parse().unwrap_or_else(|_| {
            let reason = format!("For input string: \"{text}\"; a whole number is needed");
            self.problem(key, Some(text), reason);
            default
        })
    }

    /// A percentage 0..100 as a share.
    fn percent(&mut self, path: &str, key: &str, default: f32) -> f32 {
        let Some(text) = self.text(key) else {
            return default / 100.0;
        };
        let other = if text.ends_with('w') {
            Some("weights")
        } else if text.starts_with('[') {
            Some("absolute amounts and capacity vectors")
        } else {
            None
        };
        if let Some(what) = other {
            self.problem(
                key,
                Some(text),
                format!("{what} are not built yet; give a percentage"),
            );
            return default / 100.0;
        }
        let value = self.float(key, default);
        let maximum = key.ends_with("maximum-capacity");
        if maximum && value.to_bits() == (-1.0_f32).to_bits() {
            return 1.0; // Hadoop's "undefined" maximum
        }
        if !(0.0..=100.0).contains(&value) {
            let what = if maximum {
                "maximumCapacity"
            } else {
                "capacity"
            };
            let reason = format!("Illegal {what} of {value:?} for queue {path}");
            self.problem(key, Some(text), reason);
        }
        value / 100.0
    }

    fn queue(&mut self, path: &str, name: &str, parent: Option<&QueueConf>) -> QueueConf {
        let key = |suffix: &str| format!("{PREFIX}{path}.{suffix}");
        let root = parent.is_none();
        let capacity = if root {
            1.0
        } else {
            self.percent(path, &key("capacity"), 0.0)
        };
        let maximum_capacity = if root {
            1.0
        } else {
            self.percent(path, &key("maximum-capacity"), 100.0)
        };
        let user_limit_percent = self.float(&key("minimum-user-limit-percent"), 100.0);
        let user_limit_factor = self.float(&key("user-limit-factor"), 1.0);
        let default_am = self.float(&format!("{PREFIX}maximum-am-resource-percent"), 0.1);
        let am_percent = self.float(&key("maximum-am-resource-percent"), default_am);
        let applications = self.whole(&key("maximum-applications"), -1);
        QueueConf {
            name: name.to_owned(),
            path: path.to_owned(),
            parent: None,
            is_parent: false,
            capacity,
            maximum_capacity,
            user_limit_percent,
            user_limit_factor,
            am_percent,
            maximum_applications: u32::try_from(applications).ok(),
            stopped: self.stopped(path, parent),
        }
    }

    /// `state`; a child without one follows its parent.
    fn stopped(&mut self, path: &str, parent: Option<&QueueConf>) -> bool {
        let key = format!("{PREFIX}{path}.state");
        let parent_stopped = parent.is_some_and(|p| p.stopped);
        let Some(text) = self.text(&key) else {
            return parent_stopped;
        };
        match text.to_uppercase().as_str() {
            "STOPPED" => true,
            "RUNNING" if parent_stopped => {
                let parent = parent.map_or("root", |p| p.path.as_str());
                let reason = format!(
                    "The parent queue:{parent} cannot be STOPPED as the child queue:{path} is in RUNNING state."
                );
                self.problem(&key, Some(text), reason);
                true
            }
            "RUNNING" => false,
            _ => {
                let reason =
                    "Invalid queue state configuration. We can only use RUNNING or STOPPED.";
                self.problem(&key, Some(text), reason);
                false
            }
        }
    }

    fn children(&mut self, path: &str) -> Vec<String> {
        let key = format!("{PREFIX}{path}.queues");
        let Some(text) = self.text(&key) else {
            return Vec::new();
        };
        let mut names: Vec<String> = Vec::new();
        for name in text.split(',').map(str::trim).filter(|n| !n.is_empty()) {
            if names.iter().any(|n| n == name) {
                self.problem(
                    &key,
                    Some(text.clone()),
                    format!("queue '{name}' is named twice"),
                );
            } else if name.contains('.') {
                self.problem(
                    &key,
                    Some(text.clone()),
                    format!("queue name '{name}' holds a dot"),
                );
            } else {
                names.push(name.to_owned());
            }
        }
        names
    }
}

impl QueuesConf {
    /// Reads and validates the hierarchy.
    ///
    /// # Errors
    /// Every key that cannot be used, with Hadoop's text where Hadoop refuses it too.
    pub fn from_lookup(conf: &dyn Lookup) -> Result<Self, Vec<ConfProblem>> {
        let mut reader = Reader {
            conf,
            problems: Vec::new(),
        };
        let mut queues: Vec<QueueConf> = Vec::new();
        let root = reader.queue("root", "root", None);
        // depth first, so that a queue's descendants follow it
        let mut stack = vec![(root, 0_usize)];
        while let Some((queue, depth)) = stack.pop() {
            let index = queues.len();
            let names = reader.children(&queue.path);
            let key = format!("{PREFIX}{}.queues", queue.path);
            queues.push(queue);
            queues[index].is_parent = !names.is_empty();
            if !names.is_empty()
                && (depth >= DEPTH_MAX || queues.len() + stack.len() + names.len() > QUEUES_MAX)
            {
                let reason =
                    format!("the hierarchy goes beyond {DEPTH_MAX} levels or {QUEUES_MAX} queues");
                reader.problem(&key, None, reason);
                break;
            }
            for name in names.iter().rev() {
                let path = format!("{}.{name}", queues[index].path);
                let mut child = reader.queue(&path, name, Some(&queues[index]));
                child.parent = Some(index);
                stack.push((child, depth + 1));
            }
        }
        if !queues[0].is_parent {
            let reason = "Queue configuration missing child queue names for root";
            reader.problem(&format!("{PREFIX}root.queues"), None, reason);
        }
        check_sums(&queues, &mut reader);
        let maximum_applications = reader.whole(&format!("{PREFIX}maximum-applications"), 10_000);
        let node_locality_delay = reader.whole(&format!("{PREFIX}node-locality-delay"), 40);
        let additional = reader.whole(&format!("{PREFIX}rack-locality-additional-delay"), -1);
        let Reader { mut problems, .. } = reader;
        problems.extend(refused::problems(conf, &queues));
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            queues,
            maximum_applications: u32::try_from(maximum_applications.max(0)).unwrap_or(u32::MAX),
            node_locality_delay,
            rack_locality_additional_delay: additional,
        })
    }
}

/// Children of one parent add up to 100 percent (`AbstractCSQueue`'s texts).
fn check_sums(queues: &[QueueConf], reader: &mut Reader<'_>) {
    for (index, parent) in queues.iter().enumerate().filter(|(_, q)| q.is_parent) {
        let children = || queues.iter().filter(|q| q.parent == Some(index));
        let refused = |q: &QueueConf| {
            let key = format!("{PREFIX}{}.capacity", q.path);
            reader.problems.iter().any(|p| p.key == key)
        };
        if children().any(refused) {
            continue; // the sum would say of a bad value that it is none
        }
        let sum: f32 = children().map(|q| q.capacity).sum();
        let zero = sum.abs() < PRECISION;
        let key = format!("{PREFIX}{}.queues", parent.path);
        let path = &parent.path;
        if !zero && (sum - 1.0).abs() > PRECISION {
            let reason = format!(
                "Illegal capacity sum of {sum:?} for children of queue {path} for label=. It should be either 0 or 1.0"
            );
            reader.problem(&key, None, reason);
        } else if zero && parent.capacity > 0.0 {
            let reason = format!(
                "Illegal capacity sum of {sum:?} for children of queue {path} for label=. It is set to 0, but parent percent != 0, and doesn't allow children capacity to set to 0"
            );
            reader.problem(&key, None, reason);
        } else if !zero && parent.capacity == 0.0 {
            let reason = format!(
                "Illegal capacity sum of {sum:?} for children of queue {path} for label=. queue={path} has zero capacity, but child queues have positive capacities"
            );
            reader.problem(&key, None, reason);
        }
    }
}

#[cfg(test)]
#[path = "queues_test.rs"]
mod tests;
