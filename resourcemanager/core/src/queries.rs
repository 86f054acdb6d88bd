//! Reads: reports of single things, and the picture of all of it.
//! May touch: every field, read only.
//! Must not: change anything, or be journaled.

use std::sync::Arc;

use yarn_types::{
    ApplicationAttemptId, ApplicationId, ApplicationState, ContainerId, ContainerState,
    FinalStatus, Millis, NodeId, NodeState, Resource,
};

use crate::{
    app::App,
    attempt::{Attempt, LifeState},
    conf::AccessibleLabels,
    container::Container,
    gpu::NodeGpus,
    node::Node,
    rm::Rm,
    sched::{AppIdx, LabelIdx, NodeIdx, QueueFigures},
    view::{
        AppReport, AttemptReport, ClusterMetrics, ContainerReport, GpuReport, NodeReport,
        PartitionReport, QueueReport, View,
    },
};

impl Rm {
    /// A consistent picture of everything at `now`.
    pub fn view(&self, now: Millis) -> View {
        let apps: Vec<Arc<AppReport>> = self
            .apps
            .iter()
            .map(|(idx, app)| Arc::new(self.app_report(*idx, app, now)))
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
        Some(self.app_report(idx, self.apps.get(&idx)?, self.now))
    }

    /// Every application, in order of submission.
    pub fn apps(&self) -> Vec<AppReport> {
        self.apps
            .iter()
            .map(|(idx, app)| self.app_report(*idx, app, self.now))
            .collect()
    }

    /// The submitter of an application.
    pub fn user_of(&self, id: ApplicationId) -> Option<&Arc<str>> {
        let app = self.apps.get(self.app_by_id.get(&id)?)?;
        Some(&app.submission.user)
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
        let queues = self.sched.queues();
        queues.iter().map(|q| self.queue_report(q)).collect()
    }

    /// A queue by name or path.
    pub fn queue(&self, name_or_path: &str) -> Option<QueueReport> {
        let queue = self.sched.queue(name_or_path);
        queue.as_ref().map(|q| self.queue_report(q))
    }

    /// Sums over the cluster.
    pub fn metrics(&self) -> ClusterMetrics {
        let mut metrics = ClusterMetrics::default();
        for (at, node) in self.nodes.iter().enumerate() {
            let idx = NodeIdx(u32::try_from(at).unwrap_or(u32::MAX));
            let state = NodeState::ALL.iter().position(|s| *s == node.state);
            if let Some(count) = state.and_then(|at| metrics.nodes.get_mut(at)) {
                *count += 1;
            }
            let (used, containers) = self.sched.node_used(idx);
            metrics.used = metrics.used.plus(used);
            metrics.containers += containers;
            if node.state == NodeState::Running {
                metrics.total = metrics.total.plus(node.total);
            }
        }
        for (idx, app) in &self.apps {
            let seen = app.seen_state();
            let state = ApplicationState::ALL.iter().position(|s| *s == seen);
            if let Some(count) = state.and_then(|at| metrics.apps.get_mut(at)) {
                *count += 1;
            }
            let usage = self.sched.app_usage(*idx);
            metrics.pending = metrics.pending.plus(usage.pending);
            metrics.pending_containers += usage.pending_containers;
        }
        metrics
    }

    fn app_report(&self, idx: AppIdx, app: &App, now: Millis) -> AppReport {
        let current = app.current();
        let usage = self.sched.app_usage(idx);
        let priority = if app.scheduled && !app.state.is_final() {
            self.sched.priority(idx)
        } else {
            app.priority
        };
        AppReport {
            id: app.submission.app,
            user: app.submission.user.clone(),
            queue: app.queue.clone(),
            name: app.submission.name.clone(),
            application_type: app.submission.application_type.clone(),
            tags: app.submission.tags.clone(),
            state: app.seen_state(),
            final_status: final_status(app),
            diagnostics: self.app_diagnostics(idx, app),
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
            why: self.sched.why(idx),
        }
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
    /// ApplicationMaster is (`RMAppImpl.getDiagnostics`, `AMState`).
    fn app_diagnostics(&self, idx: AppIdx, app: &App) -> String {
        if !app.diagnostics.is_empty() || app.state.is_final() {
            return app.diagnostics.clone();
        }
        match app.current() {
            Some(attempt) => self.attempt_diagnostics(idx, attempt),
            None => String::new(),
        }
    }

    fn attempt_diagnostics(&self, idx: AppIdx, attempt: &Attempt) -> String {
        if !attempt.diagnostics.is_empty() {
            return attempt.diagnostics.clone();
        }
        match attempt.state {
            LifeState::Scheduled => {
                let why = self.sched.why(idx);
                if why.is_empty() {
                    "Application is Activated, waiting for resources to be assigned for AM. "
                        .to_owned()
                } else {
                    why.join(" ")
                }
            }
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

    fn attempt_report(&self, app: &App, attempt: &Attempt) -> AttemptReport {
        let seen = attempt.state.seen().or(attempt.before_end.seen());
        let idx = self.app_by_id.get(&app.submission.app);
        AttemptReport {
            id: attempt.id,
            state: seen.unwrap_or(yarn_types::AttemptState::New),
            host: attempt.host.clone(),
            rpc_port: attempt.rpc_port,
            original_tracking_url: attempt.tracking_url.clone(),
            diagnostics: idx.map_or_else(String::new, |i| self.attempt_diagnostics(*i, attempt)),
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
            let shown = idx == LabelIdx::DEFAULT || held || q.conf.label(&label).is_some();
            shown.then_some(PartitionReport {
                label,
                usage: *usage,
            })
        });
        queue_report(q, partitions.collect())
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

/// A queue for readers, mostly in the default partition.
fn queue_report(q: &QueueFigures, partitions: Vec<PartitionReport>) -> QueueReport {
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
            AccessibleLabels::Of(labels) if labels.is_empty() => vec![" ".to_owned()],
            AccessibleLabels::Of(labels) => labels.clone(),
        },
        default_label: q.conf.default_label.clone(),
        partitions,
    }
}
