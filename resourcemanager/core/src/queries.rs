//! Reads: reports of single things, and the picture of all of it.
//! May touch: every field, read only.
//! Must not: change anything, or be journaled.

use std::{collections::BTreeMap, sync::Arc};

use yarn_types::{
    ApplicationAttemptId, ApplicationId, ContainerId, ContainerState, FinalStatus, Millis, NodeId,
    Resource,
};

use crate::{
    app::App,
    attempt::{Attempt, LifeState},
    conf::{AccessibleLabels, CapacityKind, LabelConf, LeafOrder, ParentOrder},
    container::Container,
    counters::Counters,
    gpu::NodeGpus,
    node::Node,
    rm::Rm,
    sched::{AppIdx, ContainerCounts, LabelIdx, NodeIdx, QueueFigures, QueueIdx, UserShare},
    view::{
        AppPartition, AppReport, AttemptReport, ContainerReport, GpuReport, NodeReport,
        PartitionReport, QueueReport, QueueSettings, UserPartition, UserReport, View,
    },
};

/// Most reasons in one application's diagnostics.
const REASONS_MAX: usize = 20;

/// Which reasons to wait are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reasons {
    /// Those that cost a look at one queue: what keeps an application from its turn.
    OfTurn,
    /// Also what is wrong with each node for each ask.
    All,
}

impl Rm {
    /// A consistent picture of everything at `now`.
    pub fn view(&self, now: Millis) -> View {
        let apps: Vec<Arc<AppReport>> = self
            .apps
            .iter()
            .map(|(idx, app)| Arc::new(self.app_report(*idx, app, now, Reasons::OfTurn)))
            .collect();
        let nodes: Vec<Arc<NodeReport>> = self.nodes().into_iter().map(Arc::new).collect();
        View {
            seq: self.events,
            metrics: self.metrics(),
            apps,
            nodes,
            queues: self.queues().into_iter().map(Arc::new).collect(),
        }
    }

    /// Number of events applied; a [`View`] with at least this number shows all of them.
    pub fn seq(&self) -> u64 {
        self.events
    }

    /// An application.
    pub fn app(&self, id: ApplicationId) -> Option<AppReport> {
        let idx = *self.app_by_id.get(&id)?;
        Some(self.app_report(idx, self.apps.get(&idx)?, self.now, Reasons::All))
    }

    /// Every application, in order of submission.
    pub fn apps(&self) -> Vec<AppReport> {
        self.apps
            .iter()
            .map(|(idx, app)| self.app_report(*idx, app, self.now, Reasons::OfTurn))
            .collect()
    }

    /// An attempt.
    pub fn attempt(&self, id: ApplicationAttemptId) -> Option<AttemptReport> {
        let app = self.apps.get(self.app_by_id.get(&id.app)?)?;
        let attempt = app.attempts.iter().find(|attempt| attempt.id == id)?;
        Some(self.attempt_report(app, attempt))
    }

    /// An application's attempts, first to last; `None` for an unknown application.
    pub fn attempts(&self, id: ApplicationId) -> Option<Vec<AttemptReport>> {
        let app = self.apps.get(self.app_by_id.get(&id)?)?;
        Some(
            app.attempts
                .iter()
                .map(|attempt| self.attempt_report(app, attempt))
                .collect(),
        )
    }

    /// A live container; ended ones are known to the application's ApplicationMaster only.
    pub fn container(&self, id: ContainerId) -> Option<ContainerReport> {
        self.containers
            .get(&id)
            .map(|container| self.container_report(container))
    }

    /// Live containers, for any attempt of the application all of them: the current attempt has what
    /// earlier ones left (`AbstractYarnScheduler.getSchedulerAppInfo`). `None` for an unknown attempt.
    pub fn containers(&self, id: ApplicationAttemptId) -> Option<Vec<ContainerReport>> {
        let app = self.apps.get(self.app_by_id.get(&id.app)?)?;
        app.attempts.iter().find(|attempt| attempt.id == id)?;
        let first = ContainerId {
            attempt: id.app.attempt(0),
            id: 0,
        };
        let last = ContainerId {
            attempt: id.app.attempt(u32::MAX),
            id: u64::MAX,
        };
        let live = self.containers.range(first..=last);
        Some(
            live.map(|(_, container)| self.container_report(container))
                .collect(),
        )
    }

    /// A node, active or gone.
    pub fn node(&self, id: &NodeId) -> Option<NodeReport> {
        let idx = *self.node_by_id.get(id)?;
        Some(self.node_report(idx, self.nodes.get(idx.at())?))
    }

    /// Every node in order of registration, gone ones included.
    pub fn nodes(&self) -> Vec<NodeReport> {
        let indexed = (0..).map(NodeIdx).zip(&self.nodes);
        indexed
            .map(|(idx, node)| self.node_report(idx, node))
            .collect()
    }

    /// Every queue in tree order.
    pub fn queues(&self) -> Vec<QueueReport> {
        let counts = self.sched.container_counts();
        let counters = self.counters.sums();
        let queues = self.sched.queues();
        queues
            .iter()
            .map(|q| QueueReport {
                counts: counts.get(&q.idx).copied().unwrap_or_default(),
                counters: counters.get(&*q.path).copied().unwrap_or_default(),
                ..self.queue_report(q)
            })
            .collect()
    }

    /// A queue by name or path.
    pub fn queue(&self, name_or_path: &str) -> Option<QueueReport> {
        let queue = self.sched.queue(name_or_path)?;
        let counts = self.sched.container_counts();
        let counters = self.counters.sums();
        Some(QueueReport {
            counts: counts.get(&queue.idx).copied().unwrap_or_default(),
            counters: counters.get(&*queue.path).copied().unwrap_or_default(),
            ..self.queue_report(&queue)
        })
    }

    /// The users of every leaf by its path, with their limits; leaves without users are left out.
    pub fn queue_users(&self) -> BTreeMap<String, Vec<UserReport>> {
        let leaves = self
            .sched
            .queues()
            .into_iter()
            .filter(|q| !q.conf.is_parent);
        leaves
            .map(|q| (q.path.to_string(), self.users_of(q.idx)))
            .filter(|(_, users)| !users.is_empty())
            .collect()
    }

    fn users_of(&self, queue: QueueIdx) -> Vec<UserReport> {
        let users = self.sched.users_shown(queue).into_iter();
        let partition = |share: &UserShare| UserPartition {
            label: self.sched.label_name(share.label),
            used: share.used,
            am_used: share.am_used,
            am_limit: share.am_limit,
        };
        users
            .map(|user| UserReport {
                name: user.name,
                weight: user.weight,
                active: user.active,
                active_apps: user.active_apps,
                pending_apps: user.pending_apps,
                limit: user.limit,
                partitions: user.shares.iter().map(partition).collect(),
            })
            .collect()
    }

    fn app_report(&self, idx: AppIdx, app: &App, now: Millis, reasons: Reasons) -> AppReport {
        let current = app.current();
        let usage = self.sched.app_usage(idx);
        let priority = if app.scheduled && !app.state.is_final() {
            self.sched.priority(idx)
        } else {
            app.priority
        };
        let partitions = self.app_partitions(idx);
        AppReport {
            partitions,
            id: app.submission.app,
            user: app.submission.user.clone(),
            queue: app.queue.clone(),
            name: app.submission.name.clone(),
            application_type: app.submission.application_type.clone(),
            acls: Arc::clone(&app.submission.acls),
            tags: app.submission.tags.clone(),
            state: app.seen_state(),
            final_status: final_status(app),
            diagnostics: self.app_diagnostics(idx, app, reasons),
            current_attempt: current.map(|attempt| attempt.id),
            host: current.map_or_else(|| "N/A".to_owned(), |attempt| attempt.host.clone()),
            rpc_port: current.map_or(-1, |attempt| attempt.rpc_port),
            original_tracking_url: current.map_or_else(String::new, |a| a.tracking_url.clone()),
            progress: current.map_or(0.0, |attempt| attempt.progress.0),
            submitted_wall_ms: app.submitted_wall_ms,
            started_wall_ms: app.submitted_wall_ms,
            launched_wall_ms: app.launched_wall_ms,
            finished_wall_ms: if app.state.is_end_stored() {
                app.finished_wall_ms
            } else {
                0
            },
            granted: current.is_some_and(|attempt| attempt.last_container > 0),
            priority,
            unmanaged: app.submission.unmanaged,
            label: app.submission.label.clone(),
            am_label: app.submission.am_label.clone(),
            am_resource: app.submission.am_resource,
            used: usage.used,
            used_containers: usage.used_containers,
            pending: usage.pending,
            pending_containers: usage.pending_containers,
            queue_usage_percent: usage.queue_percent,
            cluster_usage_percent: usage.cluster_percent,
            resource_seconds: self.resource_seconds(app, now),
            preempted_containers: app.preempted_containers,
            preempted_masters: app.preempted_masters,
            preempted: app.preempted,
            preempted_seconds: Resource(app.preempted_millis.0.map(|amount| amount / 1000)),
            expires_wall_ms: app.expires_wall_ms,
            reserved: usage.reserved,
            reserved_containers: usage.reserved_containers,
        }
    }

    fn app_partitions(&self, idx: AppIdx) -> Vec<AppPartition> {
        let shares = self.sched.app_shares(idx).into_iter();
        shares
            .map(|share| AppPartition {
                label: self.sched.label_name(share.label),
                used: share.used,
                reserved: share.reserved,
                pending: share.pending,
                am: share.am,
            })
            .collect()
    }

    fn resource_seconds(&self, app: &App, now: Millis) -> Resource {
        let id = app.submission.app;
        let first = ContainerId {
            attempt: id.attempt(0),
            id: 0,
        };
        let last = ContainerId {
            attempt: id.attempt(u32::MAX),
            id: u64::MAX,
        };
        let mut sum = app.resource_millis;
        for (_, container) in self.containers.range(first..=last) {
            let ms = i64::try_from(now.since(container.granted_at)).unwrap_or(i64::MAX);
            sum = sum.plus(container.resource.times(ms));
        }
        Resource(sum.0.map(|amount| amount / 1000))
    }

    /// What stands for diagnostics: the end in words, else the current attempt's, else where the
    /// ApplicationMaster is (`RMAppImpl.getDiagnostics`, `AMState`), else why its asks wait.
    fn app_diagnostics(&self, idx: AppIdx, app: &App, reasons: Reasons) -> String {
        if !app.diagnostics.is_empty() || app.state.is_final() {
            return app.diagnostics.clone();
        }
        match app.current() {
            Some(attempt) => self.attempt_diagnostics(idx, attempt, reasons),
            None => String::new(),
        }
    }

    fn attempt_diagnostics(&self, idx: AppIdx, attempt: &Attempt, reasons: Reasons) -> String {
        if !attempt.diagnostics.is_empty() {
            return attempt.diagnostics.clone();
        }
        match attempt.state {
            LifeState::Scheduled => {
                let why = self.reasons(idx, reasons);
                if why.is_empty() {
                    "Application is Activated, waiting for resources to be assigned for AM. "
                        .to_owned()
                } else {
                    why
                }
            }
            LifeState::Running => self.reasons(idx, reasons),
            LifeState::AllocatedSaving | LifeState::Allocated => {
                "Scheduler has assigned a container for AM, waiting for AM container to be launched"
                    .to_owned()
            }
            LifeState::Launched => {
                "AM container is launched, waiting for AM container to Register with RM".to_owned()
            }
            _ => String::new(),
        }
    }

    /// Why the asks of an application wait, one line each.
    fn reasons(&self, idx: AppIdx, reasons: Reasons) -> String {
        if reasons == Reasons::OfTurn && !self.sched.waits_for_turn(idx) {
            return String::new();
        }
        let mut why = self.sched.why(idx);
        let more = why.len().saturating_sub(REASONS_MAX);
        why.truncate(REASONS_MAX);
        if more > 0 {
            why.push(format!("and {more} more"));
        }
        why.join("\n")
    }

    fn attempt_report(&self, app: &App, attempt: &Attempt) -> AttemptReport {
        let seen = attempt.state.seen().or(attempt.before_end.seen());
        let idx = self.app_by_id.get(&app.submission.app);
        AttemptReport {
            id: attempt.id,
            state: seen.unwrap_or(yarn_types::AttemptState::New),
            host: attempt.host.clone(),
            rpc_port: attempt.rpc_port,
            original_tracking_url: attempt.tracking_url.clone(),
            diagnostics: idx.map_or_else(String::new, |i| {
                self.attempt_diagnostics(*i, attempt, Reasons::All)
            }),
            am_container: attempt.am_container,
            am_node: attempt
                .am_node
                .and_then(|node| self.nodes.get(node.at()))
                .map(|node| (node.id.clone(), node.http_address())),
            started_wall_ms: attempt.started_wall_ms,
            finished_wall_ms: attempt.finished_wall_ms,
            blacklisted_nodes: attempt.blacklist.iter().cloned().collect(),
            nodes_blacklisted_by_system: idx.map_or_else(Vec::new, |i| self.am_avoids(*i)),
        }
    }

    fn container_report(&self, container: &Container) -> ContainerReport {
        let node = &self.nodes[container.node.at()];
        let user = self
            .apps
            .get(&container.app)
            .map(|app| app.submission.user.clone());
        ContainerReport {
            id: container.id,
            resource: container.resource,
            node: node.id.clone(),
            node_http_address: node.http_address(),
            user: user.unwrap_or_else(|| Arc::from("")),
            priority: container.priority,
            created_wall_ms: container.created_wall_ms,
            finished_wall_ms: 0,
            diagnostics: String::new(),
            exit_status: 0,
            // `RMContainerImpl.getContainerState`: RUNNING until it has a status.
            state: ContainerState::Running,
        }
    }

    fn queue_report(&self, q: &QueueFigures) -> QueueReport {
        let all = (0..=u8::MAX).map(LabelIdx).zip(&q.usage);
        let partitions = all.filter_map(|(idx, usage)| {
            let label = self.sched.label_name(idx);
            let held = !usage.used.is_zero() || !usage.pending.is_zero();
            let named = match &q.conf.accessible {
                AccessibleLabels::Any => false,
                AccessibleLabels::Of(labels) => labels.iter().any(|l| **l == *label),
            };
            let own = named || q.conf.label(&label).is_some();
            let shown = idx == LabelIdx::DEFAULT || held || own;
            let conf = q.conf.label(&label);
            shown.then_some(PartitionReport {
                vector: conf.map(|l| l.vector).filter(|v| !v.is_empty),
                label,
                usage: *usage,
            })
        });
        QueueReport {
            partitions: partitions.collect(),
            settings: self.queue_settings(q),
            ..queue_report(q)
        }
    }

    fn queue_settings(&self, q: &QueueFigures) -> QueueSettings {
        let (inter, intra) = self.sched.preemption_disabled(q.idx);
        let conf = &q.conf;
        let default = conf.default_partition();
        let parent_order = match conf.parent_order {
            ParentOrder::Utilization => "utilization",
            ParentOrder::PriorityUtilization => "priority-utilization",
        };
        let leaf_order = match conf.leaf_order {
            LeafOrder::Fifo => "fifo",
            LeafOrder::Fair { .. } => "fair",
            LeafOrder::FifoWithPartitions { .. } => "fifo-with-partitions",
            LeafOrder::FifoForPendingApps => "fifo-for-pending-apps",
        };
        QueueSettings {
            mode: if self.sched.legacy_mode() {
                legacy_mode(default, q.usage.first().map_or(-1.0, |usage| usage.weight))
            } else {
                mode(default, self.sched.types().len())
            },
            is_absolute: default.is_absolute,
            dynamic: q.dynamic,
            creates_queues: conf.is_parent && conf.auto_create.enabled,
            templates: self.sched.templates_of(q.idx),
            max_parallel_apps: conf.max_parallel_apps,
            ordering_policy: if conf.is_parent {
                parent_order
            } else {
                leaf_order
            },
            priority: conf.priority,
            default_application_priority: conf.default_application_priority,
            maximum_allocation: q.maximum_allocation,
            max_lifetime_s: conf.lifetimes.max_s,
            default_lifetime_s: conf.lifetimes.default_s,
            preemption_disabled: inter,
            intra_preemption_disabled: intra,
            acl_submit: conf.acl_submit.to_string(),
            acl_administer: conf.acl_administer.to_string(),
            acl_priority: conf.acl_priority.clone(),
            multi_node_policy: conf.multi_node_policy.clone(),
        }
    }

    pub(crate) fn node_report(&self, idx: NodeIdx, node: &Node) -> NodeReport {
        let (used, containers) = self.sched.node_used(idx);
        NodeReport {
            id: node.id.clone(),
            http_address: node.http_address(),
            rack: node.rack.clone(),
            state: node.state,
            total: node.total,
            used,
            containers,
            health_report: node.health_report.clone(),
            health_wall_ms: node.health_wall_ms,
            last_heartbeat_wall_ms: node.heartbeat_wall_ms,
            version: node.version.clone(),
            decommissioning_timeout_s: node.decommissioning.as_ref().map(|d| d.timeout_s),
            label: self.label_on(&node.id),
            gpus: if node.is_active() {
                node.gpus.iter().flat_map(gpu_reports).collect()
            } else {
                Vec::new()
            },
        }
    }
}

fn gpu_reports(gpus: &NodeGpus) -> impl Iterator<Item = GpuReport> {
    gpus.devices().map(|(report, holder)| {
        let device = &report.device;
        GpuReport {
            uuid: device.uuid.clone(),
            index: device.index,
            minor: device.minor,
            model: device.model.clone(),
            memory_mib: device.memory_mib,
            health: device.health.clone(),
            dirty: report.dirty.clone(),
            holder,
        }
    })
}

/// `RMAppImpl.getFinalApplicationStatus`.
fn final_status(app: &App) -> FinalStatus {
    let told = app.current().and_then(|attempt| attempt.final_status);
    told.unwrap_or_else(|| app.state.outcome())
}

/// How a capacity is written in legacy mode (`CapacitySchedulerInfoHelper.getMode`).
fn legacy_mode(conf: &LabelConf, weight: f32) -> &'static str {
    if conf.is_absolute {
        "absolute"
    } else if weight < 0.0 {
        "percentage"
    } else {
        "weight"
    }
}

/// How a capacity is written otherwise, from the kinds of its lanes.
fn mode(conf: &LabelConf, lanes: usize) -> &'static str {
    let lanes = conf.vector.lanes.get(..lanes).unwrap_or(&conf.vector.lanes);
    match lanes.split_first() {
        _ if conf.vector.is_empty => "unknown",
        Some((first, rest)) if rest.iter().all(|lane| lane.kind == first.kind) => {
            match first.kind {
                CapacityKind::Percent => "percentage",
                CapacityKind::Absolute => "absolute",
                CapacityKind::Weight => "weight",
            }
        }
        _ => "mixed",
    }
}

/// A queue for readers, mostly in the default partition; the caller adds what is by partition.
fn queue_report(q: &QueueFigures) -> QueueReport {
    let usage = q.usage.first().copied().unwrap_or_default();
    let percent = |at: usize| q.conf.user_limit_percent(at);
    QueueReport {
        name: q.conf.name.clone(),
        path: q.path.to_string(),
        parent: q.parent.as_ref().map(ToString::to_string),
        is_leaf: !q.conf.is_parent,
        state: q.state,
        capacity: usage.capacity,
        maximum_capacity: usage.max_capacity,
        absolute_capacity: usage.abs_capacity,
        absolute_maximum_capacity: usage.abs_max_capacity,
        used_capacity: usage.used_capacity,
        absolute_used_capacity: usage.abs_used_capacity,
        used: usage.used,
        pending: usage.pending,
        guaranteed: usage.effective_min,
        maximum: usage.effective_max,
        active_apps: q.active_apps,
        pending_apps: q.pending_apps,
        containers: q.containers,
        am_used: usage.am_used,
        am_limit: usage.am_limit,
        user_limit_percent: percent(0),
        user_limit_factor: q.conf.user_limit_factor,
        max_applications: q.max_apps,
        accessible_labels: match &q.conf.accessible {
            AccessibleLabels::Any => vec!["*".to_owned()],
            AccessibleLabels::Of(labels) => labels.clone(),
        },
        default_label: q.conf.default_label.clone(),
        apps: q.apps,
        counts: ContainerCounts::default(),
        active_users: q.active_users,
        max_applications_per_user: q.max_apps_per_user,
        counters: Counters::default(),
        settings: QueueSettings::default(),
        partitions: Vec::new(),
    }
}
