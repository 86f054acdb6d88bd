//! Queries of clients about queues.
//! May touch: the core's read model.
//! Must not: change anything.

use std::sync::Arc;

use rm_core::{
    acl::{AppAccess, QueueAcl},
    event::Who,
    view::{AppReport, QueueReport, QueueUsage, View},
};
use yarn_proto::{
    convert::{queue_state_proto, resource_proto},
    yarn::{
        GetQueueInfoRequestProto, GetQueueInfoResponseProto, GetQueueUserAclsInfoRequestProto,
        GetQueueUserAclsInfoResponseProto, QueueAclProto, QueueConfigurationsMapProto,
        QueueConfigurationsProto, QueueInfoProto, QueueStatisticsProto, QueueUserAclInfoProto,
    },
};
use yarn_types::ApplicationState;

use super::super::{Context, Incoming, guard};
use super::reports;
use crate::acls::QueueLists;

/// An unknown queue is answered without a queue, as Hadoop does; the CLI has its own words for it.
pub(super) fn queue(context: &Arc<Context>, incoming: Incoming) {
    guard::view(
        context,
        incoming,
        |context, view: &View, who, m: GetQueueInfoRequestProto| {
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
                viewer: who,
                lists: QueueLists::of(view.queues.iter().map(|q| &**q)),
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
    viewer: &'a Who,
    lists: QueueLists,
}

/// The queue in the default partition.
fn default_usage(queue: &QueueReport) -> QueueUsage {
    let first = queue.partitions.first();
    first.map(|p| p.usage).unwrap_or_default()
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
        let administers =
            |queue: &str| (self.lists).allows(QueueAcl::AdministerQueue, queue, self.viewer);
        let acls = &self.context.acls;
        let seen = live.filter(|app| acls.may(self.viewer, AppAccess::View, app, administers));
        seen.map(|app| reports::app(self.context, app, &self.viewer.user))
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
            accessible_node_labels: queue.accessible_labels.clone(),
            default_node_label_expression: Some(queue.default_label.clone().unwrap_or_default()),
            queue_statistics: Some(self.statistics(queue)),
            preemption_disabled: Some(queue.settings.preemption_disabled),
            intra_queue_preemption_disabled: Some(queue.settings.intra_preemption_disabled),
            queue_configurations_map: queue
                .partitions
                .iter()
                .map(|p| QueueConfigurationsMapProto {
                    partition_name: p.label.to_string(),
                    queue_configurations: Some(self.configurations(queue, &p.usage)),
                })
                .collect(),
            weight: Some(queue.partitions.first().map_or(-1.0, |p| p.usage.weight)),
            max_parallel_apps: Some(queue.settings.max_parallel_apps),
            scheduler_type: Some("CapacityScheduler".to_owned()),
            ..Default::default()
        }
    }

    fn configurations(&self, queue: &QueueReport, usage: &QueueUsage) -> QueueConfigurationsProto {
        let resource = |r| Some(resource_proto(r, &self.context.types));
        QueueConfigurationsProto {
            capacity: Some(usage.capacity),
            absolute_capacity: Some(usage.abs_capacity),
            max_capacity: Some(usage.max_capacity),
            absolute_max_capacity: Some(usage.abs_max_capacity),
            // Hadoop knows it of leaves alone.
            max_am_percentage: Some(if queue.is_leaf {
                usage.max_am_percent
            } else {
                0.0
            }),
            effective_min_capacity: resource(usage.effective_min),
            effective_max_capacity: resource(usage.effective_max),
            configured_min_capacity: resource(usage.configured_min),
            configured_max_capacity: resource(usage.configured_max),
        }
    }

    fn statistics(&self, queue: &QueueReport) -> QueueStatisticsProto {
        let count = |of: &dyn Fn(&AppReport) -> bool| {
            let n = self.apps(queue).filter(|app| of(app)).count();
            Some(i64::try_from(n).unwrap_or(i64::MAX))
        };
        let state = |state: ApplicationState| count(&move |app: &AppReport| app.state == state);
        let available = default_usage(queue).available;
        let reserved = default_usage(queue).reserved;
        let allocated = queue.used.minus(reserved);
        QueueStatisticsProto {
            num_apps_submitted: count(&|_| true),
            num_apps_running: state(ApplicationState::Running),
            num_apps_pending: count(&|app| {
                !app.state.is_final() && app.state != ApplicationState::Running
            }),
            num_apps_completed: state(ApplicationState::Finished),
            num_apps_killed: state(ApplicationState::Killed),
            num_apps_failed: state(ApplicationState::Failed),
            num_active_users: Some(i64::from(queue.active_users)),
            available_memory_mb: Some(available.memory_mb()),
            allocated_memory_mb: Some(allocated.memory_mb()),
            pending_memory_mb: Some(queue.pending.memory_mb()),
            reserved_memory_mb: Some(reserved.memory_mb()),
            available_v_cores: Some(available.vcores()),
            allocated_v_cores: Some(allocated.vcores()),
            pending_v_cores: Some(queue.pending.vcores()),
            reserved_v_cores: Some(reserved.vcores()),
            allocated_containers: Some(i64::from(queue.counts.allocated)),
            pending_containers: Some(i64::from(queue.counts.pending)),
            reserved_containers: Some(i64::from(queue.counts.reserved)),
        }
    }
}

/// What the caller may do in each queue (`CSQueue.getQueueUserAclInfo`), whatever
/// `yarn.acl.enable` says.
pub(super) fn user_acls(context: &Arc<Context>, incoming: Incoming) {
    guard::view_with_groups(
        context,
        incoming,
        |_, view: &View, who, _: GetQueueUserAclsInfoRequestProto| {
            let lists = QueueLists::of(view.queues.iter().map(|q| &**q));
            let may = |acl, queue: &QueueReport| lists.allows(acl, &queue.path, who);
            let info = |queue: &Arc<QueueReport>| {
                let submits = may(QueueAcl::SubmitApplications, queue)
                    .then_some(QueueAclProto::QaclSubmitApplications as i32);
                let administers = may(QueueAcl::AdministerQueue, queue)
                    .then_some(QueueAclProto::QaclAdministerQueue as i32);
                QueueUserAclInfoProto {
                    queue_name: Some(queue.name.clone()),
                    user_acls: submits.into_iter().chain(administers).collect(),
                }
            };
            Ok(GetQueueUserAclsInfoResponseProto {
                queue_user_acls: view.queues.iter().map(info).collect(),
            })
        },
    );
}
