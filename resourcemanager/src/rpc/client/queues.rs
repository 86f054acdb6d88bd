//! Queries of clients about queues.
//! May touch: the core's read model.
//! Must not: change anything.

use std::sync::Arc;

use rm_core::view::{AppReport, QueueReport, View};
use yarn_proto::{
    convert::{queue_state_proto, resource_proto},
    yarn::{
        GetQueueInfoRequestProto, GetQueueInfoResponseProto, GetQueueUserAclsInfoRequestProto,
        GetQueueUserAclsInfoResponseProto, QueueAclProto, QueueConfigurationsMapProto,
        QueueConfigurationsProto, QueueInfoProto, QueueStatisticsProto, QueueUserAclInfoProto,
    },
};
use yarn_types::{ApplicationState, Resource};

use super::super::{Context, Incoming, view};
use super::reports;

/// An unknown queue is answered without a queue, as Hadoop does; the CLI has its own words for it.
pub(super) fn queue(context: &Arc<Context>, incoming: Incoming) {
    view(
        context,
        incoming,
        |context, view: &View, caller, m: GetQueueInfoRequestProto| {
            let name = m.queue_name();
            let queue = view.queues.iter().find(|q| q.path == name);
            let queue = queue.or_else(|| view.queues.iter().find(|q| q.name == name));
            let depth = match (m.include_child_queues(), m.recursive()) {
                (false, _) => Depth::None,
                (true, false) => Depth::Children,
                (true, true) => Depth::All,
            };
            let ask = Ask {
                context,
                view,
                viewer: &caller.user,
            };
            let info = queue.map(|queue| {
                let mut info = ask.info(queue, depth);
                if m.include_applications() {
                    info.applications = ask.applications(queue);
                }
                info
            });
            Ok(GetQueueInfoResponseProto { queue_info: info })
        },
    );
}

/// How far down the children are listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    None,
    Children,
    All,
}

struct Ask<'a> {
    context: &'a Context,
    view: &'a View,
    viewer: &'a str,
}

fn inside(path: &str, queue: &QueueReport) -> bool {
    path.strip_prefix(&*queue.path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl Ask<'_> {
    fn apps<'a>(&'a self, queue: &'a QueueReport) -> impl Iterator<Item = &'a AppReport> {
        let apps = self.view.apps.iter().map(|app| &**app);
        apps.filter(|app| inside(&app.queue, queue))
    }

    /// The scheduler knows only those that have not ended.
    fn applications(&self, queue: &QueueReport) -> Vec<yarn_proto::yarn::ApplicationReportProto> {
        let live = self.apps(queue).filter(|app| !app.state.is_final());
        live.map(|app| reports::app(self.context, app, self.viewer))
            .collect()
    }

    fn info(&self, queue: &QueueReport, depth: Depth) -> QueueInfoProto {
        let below = if depth == Depth::All {
            Depth::All
        } else {
            Depth::None
        };
        let children = self.view.queues.iter();
        let children =
            children.filter(|q| depth != Depth::None && q.parent.as_deref() == Some(&*queue.path));
        QueueInfoProto {
            queue_name: Some(queue.name.clone()),
            queue_path: Some(queue.path.clone()),
            capacity: Some(queue.capacity),
            maximum_capacity: Some(queue.maximum_capacity),
            current_capacity: Some(queue.used_capacity),
            state: Some(queue_state_proto(queue.state)),
            child_queues: children.map(|q| self.info(q, below)).collect(),
            accessible_node_labels: vec!["*".to_owned()],
            default_node_label_expression: Some(String::new()),
            queue_statistics: Some(self.statistics(queue)),
            // No preemption monitor runs, so Hadoop reports every queue as not preemptable.
            preemption_disabled: Some(true),
            intra_queue_preemption_disabled: Some(true),
            queue_configurations_map: vec![QueueConfigurationsMapProto {
                partition_name: String::new(),
                queue_configurations: Some(self.configurations(queue)),
            }],
            // Capacity by weight is not built yet: Hadoop's value for "not weighted".
            weight: Some(-1.0),
            max_parallel_apps: Some(i32::MAX),
            scheduler_type: Some("CapacityScheduler".to_owned()),
            ..Default::default()
        }
    }

    fn configurations(&self, queue: &QueueReport) -> QueueConfigurationsProto {
        let resource = |r| Some(resource_proto(r, &self.context.types));
        let am_share = if queue.maximum.memory_mb() > 0 {
            queue.am_limit.memory_mb() as f32 / queue.maximum.memory_mb() as f32
        } else {
            0.0
        };
        QueueConfigurationsProto {
            capacity: Some(queue.capacity),
            absolute_capacity: Some(queue.absolute_capacity),
            max_capacity: Some(queue.maximum_capacity),
            absolute_max_capacity: Some(queue.absolute_maximum_capacity),
            max_am_percentage: Some(am_share),
            effective_min_capacity: resource(queue.guaranteed),
            effective_max_capacity: resource(queue.maximum),
            configured_min_capacity: resource(Resource::ZERO),
            configured_max_capacity: resource(Resource::ZERO),
        }
    }

    fn statistics(&self, queue: &QueueReport) -> QueueStatisticsProto {
        let count = |of: &dyn Fn(&AppReport) -> bool| {
            let n = self.apps(queue).filter(|app| of(app)).count();
            Some(i64::try_from(n).unwrap_or(i64::MAX))
        };
        let state = |state: ApplicationState| count(&move |app: &AppReport| app.state == state);
        let mut users: Vec<&str> = self
            .apps(queue)
            .filter(|app| app.pending_containers > 0)
            .map(|app| &*app.user)
            .collect();
        users.sort_unstable();
        users.dedup();
        let available = queue.maximum.minus(queue.used).at_least_zero();
        let pending: u32 = self.apps(queue).map(|app| app.pending_containers).sum();
        QueueStatisticsProto {
            num_apps_submitted: count(&|_| true),
            num_apps_running: state(ApplicationState::Running),
            num_apps_pending: count(&|app| {
                !app.state.is_final() && app.state != ApplicationState::Running
            }),
            num_apps_completed: state(ApplicationState::Finished),
            num_apps_killed: state(ApplicationState::Killed),
            num_apps_failed: state(ApplicationState::Failed),
            num_active_users: Some(i64::try_from(users.len()).unwrap_or(i64::MAX)),
            available_memory_mb: Some(available.memory_mb()),
            allocated_memory_mb: Some(queue.used.memory_mb()),
            pending_memory_mb: Some(queue.pending.memory_mb()),
            reserved_memory_mb: Some(0),
            available_v_cores: Some(available.vcores()),
            allocated_v_cores: Some(queue.used.vcores()),
            pending_v_cores: Some(queue.pending.vcores()),
            reserved_v_cores: Some(0),
            allocated_containers: Some(i64::from(queue.containers)),
            pending_containers: Some(i64::from(pending)),
            reserved_containers: Some(0),
        }
    }
}

/// ACLs are off (turning them on is refused at start), so everyone may do everything.
pub(super) fn user_acls(context: &Arc<Context>, incoming: Incoming) {
    view(
        context,
        incoming,
        |_, view: &View, _, _: GetQueueUserAclsInfoRequestProto| {
            let acls = vec![
                QueueAclProto::QaclSubmitApplications as i32,
                QueueAclProto::QaclAdministerQueue as i32,
            ];
            let info = |queue: &Arc<QueueReport>| QueueUserAclInfoProto {
                queue_name: Some(queue.name.clone()),
                user_acls: acls.clone(),
            };
            Ok(GetQueueUserAclsInfoResponseProto {
                queue_user_acls: view.queues.iter().map(info).collect(),
            })
        },
    );
}
