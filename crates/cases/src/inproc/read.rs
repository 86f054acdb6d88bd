//! Facts of the core by the keys of case files.
//! May touch: the core, read only.
//! Must not: change it.

use std::collections::BTreeMap;

use capacity_scheduler::{
    conf::AccessibleLabels,
    sched::{AppFigures, ContainerFigures, LabelIdx, Locality, QueueFigures, QueueUsage},
};
use yarn_types::{QueueState, Resource};

use super::{InProcess, load::Loaded};
use crate::{
    facts::{AppKey, NodeKey, QueueKey, UserKey},
    target::{Done, WholeKey},
    value::Actual,
};

type Dims = BTreeMap<String, i64>;

fn int(v: impl TryInto<i64>) -> Actual {
    Actual::Int(v.try_into().unwrap_or(i64::MAX))
}

fn num(v: f32) -> Actual {
    Actual::Num(f64::from(v))
}

fn at<T: Copy>(list: &[T], label: usize, none: T) -> T {
    list.get(label).copied().unwrap_or(none)
}

impl InProcess {
    fn dims(&self, resource: Resource) -> Done<Dims> {
        let types = self.loaded()?.sched.types();
        let named = types.iter().enumerate().map(|(lane, t)| {
            let name = if lane == 0 { "memory" } else { t.name.as_str() };
            (name.to_owned(), types.wire(lane, resource))
        });
        Ok(named.collect())
    }

    fn res(&self, resource: Resource) -> Done<Actual> {
        self.dims(resource).map(Actual::Res)
    }

    fn label_at(&self, label: &str) -> Done<usize> {
        let found = self.loaded()?.sched.label(label);
        found
            .map(|label| usize::from(label.0))
            .ok_or_else(|| format!("there is no label {label}"))
    }

    /// The amount in a partition, or over all.
    fn of_label(&self, amounts: &[Resource], label: Option<&str>) -> Done<Actual> {
        let amount = match label {
            Some(label) => at(amounts, self.label_at(label)?, Resource::ZERO),
            None => amounts.iter().fold(Resource::ZERO, |sum, r| sum.plus(*r)),
        };
        self.res(amount)
    }

    pub(super) fn read_queue(&self, path: &str, label: &str, key: QueueKey) -> Done<Actual> {
        let found = self.loaded()?.sched.queue(path);
        let Some(queue) = found.filter(|queue| &*queue.path == path) else {
            return Ok(match key {
                QueueKey::Exists => Actual::Flag(false),
                _ => Actual::Nothing,
            });
        };
        let usage = queue.usage.get(self.label_at(label)?);
        let Some(usage) = usage.copied() else {
            return Ok(Actual::Nothing);
        };
        if let Some(amount) = amount(&queue, &usage, key) {
            return self.res(amount);
        }
        let sched = &self.loaded()?.sched;
        let idx = LabelIdx(u8::try_from(self.label_at(label)?).unwrap_or(u8::MAX));
        match key {
            QueueKey::PendingWithinUserLimit => {
                return self.res(sched.pending_within_limit(queue.idx, idx, false));
            }
            QueueKey::PendingWithinUserLimitLessReserved => {
                return self.res(sched.pending_within_limit(queue.idx, idx, true));
            }
            _ => {}
        }
        Ok(self.figure(&queue, &usage, key))
    }

    fn figure(&self, queue: &QueueFigures, usage: &QueueUsage, key: QueueKey) -> Actual {
        use QueueKey as K;
        match key {
            K::Capacity => num(usage.capacity),
            K::AbsCapacity => num(usage.abs_capacity),
            K::MaxCapacity => num(usage.max_capacity),
            K::AbsMaxCapacity => num(usage.abs_max_capacity),
            K::UsedCapacity => num(usage.used_capacity),
            K::AbsUsedCapacity => num(usage.abs_used_capacity),
            K::Weight => num(usage.weight),
            K::NormalizedWeight => num(usage.normalized_weight),
            K::UserLimitFactor => num(queue.conf.user_limit_factor),
            K::MaxAmPercent => num(usage.max_am_percent),
            K::MaxApps => int(queue.max_apps),
            K::MaxAppsPerUser => int(queue.max_apps_per_user),
            K::ActiveApps => int(queue.active_apps),
            K::PendingApps => int(queue.pending_apps),
            K::RunnableApps => int(queue.runnable_apps),
            K::ActiveUsers => int(queue.active_users),
            K::ActiveUsersOnlyPending => int(queue.active_users_only_pending),
            K::Apps => int(queue.apps),
            K::Containers => int(queue.containers),
            K::ChildrenCount => int(queue.children.len()),
            K::Exists => Actual::Flag(true),
            K::Dynamic => Actual::Flag(queue.dynamic),
            K::Deletable => Actual::Flag(queue.deletable),
            K::State => Actual::Text(state(queue.state).to_owned()),
            K::Kind => {
                let kind = if queue.conf.is_parent {
                    "parent"
                } else {
                    "leaf"
                };
                Actual::Text(kind.to_owned())
            }
            K::Children => {
                let short = |path: &std::sync::Arc<str>| {
                    path.rsplit('.').next().unwrap_or_default().to_owned()
                };
                sorted(queue.children.iter().map(short).collect())
            }
            K::Labels => match &queue.conf.accessible {
                AccessibleLabels::Any => Actual::Names(vec!["*".to_owned()]),
                AccessibleLabels::Of(labels) => {
                    let named = labels.iter().filter(|label| !label.is_empty());
                    sorted(named.cloned().collect())
                }
            },
            K::CapacityLabels => {
                let labels = queue.conf.labels.iter();
                sorted(labels.map(|label| label.label.clone()).collect())
            }
            K::SharingContainers => {
                let named = (1..queue.usage.len()).map(|label| {
                    let idx = LabelIdx(u8::try_from(label).unwrap_or(u8::MAX));
                    let count = |l: &Loaded| l.sched.sharing_containers(queue.idx, idx);
                    let count = self.loaded().map_or(0, count);
                    (self.label_named(label), i64::from(count))
                });
                Actual::Counts(named.collect())
            }
            _ => Actual::Unread,
        }
    }

    fn label_named(&self, label: usize) -> String {
        let idx = capacity_scheduler::sched::LabelIdx(u8::try_from(label).unwrap_or(u8::MAX));
        self.loaded()
            .map(|loaded| loaded.sched.label_name(idx).to_string())
            .unwrap_or_default()
    }

    pub(super) fn read_app(&self, name: &str, label: Option<&str>, key: AppKey) -> Done<Actual> {
        let app = self.known_app(name)?;
        if key == AppKey::State {
            return Ok(Actual::Text(app.state.to_owned()));
        }
        let sched = &self.loaded()?.sched;
        let Some(figures) = sched.app_figures(app.idx) else {
            return Ok(gone(key));
        };
        match key {
            AppKey::Used => self.of_label(&figures.used, label),
            AppKey::Reserved => self.of_label(&figures.reserved, label),
            AppKey::Pending => self.of_label(&figures.pending, label),
            AppKey::Headroom => self.res(sched.headroom(app.idx)),
            AppKey::Containers => {
                let sizes = numbers(&app.granted, &figures.containers)
                    .map(|(number, c)| Ok((number, self.dims(c.resource)?)));
                Ok(Actual::Resources(sizes.collect::<Done<_>>()?))
            }
            AppKey::OnNode => Ok(Actual::Counts(self.on_node(&figures))),
            _ => Ok(app_figure(&figures, key)),
        }
    }

    fn on_node(&self, figures: &AppFigures) -> BTreeMap<String, i64> {
        let mut counts = BTreeMap::new();
        for container in &figures.containers {
            *counts.entry(self.node_name(container.node)).or_insert(0) += 1;
        }
        counts
    }

    pub(super) fn read_node(&self, node: &str, key: NodeKey) -> Done<Actual> {
        let sched = &self.loaded()?.sched;
        let Some(figures) = sched.node_figures(self.node_idx(node)?) else {
            return Ok(Actual::Nothing);
        };
        match key {
            NodeKey::Used => self.res(figures.used),
            NodeKey::Available => self.res(figures.available),
            NodeKey::Containers => Ok(int(figures.containers)),
            NodeKey::ReservedApp => Ok(figures
                .reserved_app
                .map_or(Actual::Nothing, |app| Actual::Text(self.app_name(app)))),
        }
    }

    pub(super) fn read_user(
        &self,
        queue: &str,
        user: &str,
        label: Option<&str>,
        key: UserKey,
    ) -> Done<Actual> {
        let sched = &self.loaded()?.sched;
        let Some(queue) = sched.queue(queue) else {
            return Ok(Actual::Nothing);
        };
        let users = sched.user_figures(queue.idx);
        let Some(figures) = users.get(user) else {
            // a user without applications holds nothing
            return match key {
                UserKey::Used => self.res(Resource::ZERO),
                UserKey::ActiveApps | UserKey::PendingApps => Ok(Actual::Int(0)),
            };
        };
        match key {
            UserKey::Used => self.of_label(&figures.used, label),
            UserKey::ActiveApps => Ok(int(figures.active_apps)),
            UserKey::PendingApps => Ok(int(figures.pending_apps)),
        }
    }

    pub(super) fn read_whole(&mut self, key: WholeKey) -> Done<Actual> {
        let sched = &self.loaded()?.sched;
        match key {
            WholeKey::LastAssignment => {
                let text = match self.last_assignment {
                    None => "none",
                    Some(Locality::Node) => "NODE_LOCAL",
                    Some(Locality::Rack) => "RACK_LOCAL",
                    Some(Locality::OffSwitch) => "OFF_SWITCH",
                };
                Ok(Actual::Text(text.to_owned()))
            }
            WholeKey::MaxAllocation => self.res(sched.maximum_allocation()),
            WholeKey::NodeOrder => {
                let order = sched.node_order();
                let names = order.into_iter().map(|node| self.node_name(node));
                Ok(Actual::Names(names.collect()))
            }
            WholeKey::Warnings => {
                let warnings = sched.warnings();
                let lines = warnings
                    .iter()
                    .map(|(kind, queue)| format!("{} {queue}", kind.as_str()));
                Ok(Actual::Names(lines.collect()))
            }
            WholeKey::Killable => Ok(self.killable(&|app| {
                let path = self.loaded().ok()?.sched.queue_of(app)?;
                Some(path.to_string())
            })),
            WholeKey::KillableApps => Ok(self.killable(&|app| Some(self.app_name(app)))),
            WholeKey::ToPreempt => Ok(int(self.marked().len())),
            WholeKey::ToPreemptApps => Ok(self.to_preempt(&|app, _| self.app_name(app))),
            WholeKey::ToPreemptNodes => {
                Ok(self.to_preempt(&|_, c: &ContainerFigures| self.node_name(c.node)))
            }
        }
    }

    /// Live containers of every application.
    fn live(&self) -> Vec<(capacity_scheduler::sched::AppIdx, ContainerFigures)> {
        let Ok(loaded) = self.loaded() else {
            return Vec::new();
        };
        let mut live = Vec::new();
        for app in self.apps.values() {
            let figures = loaded.sched.app_figures(app.idx);
            let containers = figures.map(|f| f.containers).unwrap_or_default();
            live.extend(containers.into_iter().map(|c| (app.idx, c)));
        }
        live
    }

    fn killable(
        &self,
        name_of: &dyn Fn(capacity_scheduler::sched::AppIdx) -> Option<String>,
    ) -> Actual {
        let mut counts = BTreeMap::new();
        for (app, container) in self.live() {
            let killable = self.loaded().is_ok_and(|loaded| {
                let killable = loaded.sched.killable_containers(app);
                killable.contains(&container.idx)
            });
            if let (true, Some(name)) = (killable, name_of(app)) {
                *counts.entry(name).or_insert(0) += 1;
            }
        }
        Actual::Counts(counts)
    }

    /// Containers that the monitor asked back and did not yet take.
    fn marked(&self) -> Vec<capacity_scheduler::sched::ContainerIdx> {
        let loaded = self.loaded();
        loaded.map_or_else(|_| Vec::new(), |l| l.sched.marked_for_preemption())
    }

    fn to_preempt(
        &self,
        name_of: &dyn Fn(capacity_scheduler::sched::AppIdx, &ContainerFigures) -> String,
    ) -> Actual {
        let marked = self.marked();
        let mut counts = BTreeMap::new();
        for (app, container) in self.live() {
            if marked.contains(&container.idx) {
                *counts.entry(name_of(app, &container)).or_insert(0) += 1;
            }
        }
        Actual::Counts(counts)
    }
}

/// Keys of a queue that are resources.
fn amount(queue: &QueueFigures, usage: &QueueUsage, key: QueueKey) -> Option<Resource> {
    use QueueKey as K;
    Some(match key {
        K::Used => usage.used,
        K::Reserved => usage.reserved,
        K::Allocated => usage.used.minus(usage.reserved),
        K::Pending => usage.pending,
        K::EffMin => usage.effective_min,
        K::EffMax => usage.effective_max,
        K::ConfiguredMin => usage.configured_min,
        K::ConfiguredMax => usage.configured_max,
        K::AmLimit => usage.am_limit,
        K::UserAmLimit => usage.user_am_limit,
        K::MaxAllocation => queue.maximum_allocation,
        _ => return None,
    })
}

/// Keys of an application that need no names.
fn app_figure(figures: &AppFigures, key: AppKey) -> Actual {
    fn named<V: Copy + TryInto<i64>>(counts: &BTreeMap<i32, V>) -> Actual {
        let texts = counts.iter().map(|(priority, count)| {
            (
                priority.to_string(),
                (*count).try_into().unwrap_or(i64::MAX),
            )
        });
        Actual::Counts(texts.collect())
    }
    match key {
        AppKey::Live => int(figures.containers.len()),
        AppKey::ReservedCount => int(figures.reservations.len()),
        AppKey::Outstanding => named(&figures.outstanding),
        AppKey::Opportunities => named(&figures.opportunities),
        AppKey::ReReservations => named(&figures.re_reservations),
        AppKey::Runnable => Actual::Flag(figures.runnable),
        AppKey::Priority => int(figures.priority),
        _ => Actual::Unread,
    }
}

/// What is left of an application that ended.
fn gone(key: AppKey) -> Actual {
    match key {
        AppKey::Used | AppKey::Reserved | AppKey::Pending | AppKey::Headroom => {
            Actual::Res(Dims::new())
        }
        AppKey::Live | AppKey::ReservedCount => Actual::Int(0),
        AppKey::Outstanding | AppKey::Opportunities | AppKey::ReReservations | AppKey::OnNode => {
            Actual::Counts(BTreeMap::new())
        }
        AppKey::Runnable => Actual::Flag(false),
        _ => Actual::Nothing,
    }
}

/// Live containers with their numbers.
fn numbers<'a>(
    granted: &'a [capacity_scheduler::sched::ContainerIdx],
    live: &'a [ContainerFigures],
) -> impl Iterator<Item = (String, &'a ContainerFigures)> {
    live.iter().filter_map(|c| {
        let at = granted.iter().position(|idx| *idx == c.idx)?;
        Some(((at + 1).to_string(), c))
    })
}

fn sorted(mut names: Vec<String>) -> Actual {
    names.sort();
    Actual::Names(names)
}

fn state(state: QueueState) -> &'static str {
    match state {
        QueueState::Running => "RUNNING",
        QueueState::Draining => "DRAINING",
        QueueState::Stopped => "STOPPED",
    }
}
