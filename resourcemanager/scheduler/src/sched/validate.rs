//! What may be asked for: sizes, counts, labels; and the normalised size.
//! May touch: the configuration and the partitions, read only.
//! Must not: change anything.

use std::sync::Arc;

use yarn_types::Resource;

use super::{
    Sched,
    ask::{ANY, Ask, AskKey},
    ids::{AppIdx, LabelIdx, QueueIdx},
    tree::ROOT,
};
use crate::conf::{AccessibleLabels, QueueConf};
use crate::reject::{Reject, RejectKind};

/// One `ResourceRequest` as the client sent it.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct RawAsk {
    /// Larger is less urgent.
    pub priority: i32,
    /// Client's own key, echoed in the container; -1 or 0 when unused.
    pub allocation_request_id: i64,
    /// [`ANY`], a host or a rack (begins with `/`).
    pub place: Arc<str>,
    /// Size of one container.
    pub capability: Resource,
    /// Containers outstanding for this key: replaces the earlier number.
    pub count: i32,
    /// Whether the next wider place may be used.
    pub relax_locality: bool,
    /// Node label expression, when given; blank for the default partition.
    pub label: Option<String>,
    /// Asked as OPPORTUNISTIC.
    pub opportunistic: bool,
    /// A resource type that the RM does not know was asked with a value above 0: its name.
    pub unknown_resource: Option<String>,
}

/// A queue's accessible labels as Hadoop prints them.
pub(super) fn shown_labels(conf: &QueueConf) -> String {
    match &conf.accessible {
        AccessibleLabels::Any => "*".to_owned(),
        AccessibleLabels::Of(labels) => labels.join(","),
    }
}

impl Sched {
    /// The largest container of a queue: its own setting, at most the cluster's.
    pub fn maximum_allocation_of(&self, queue: QueueIdx) -> Resource {
        let cluster = self.maximum_allocation();
        let own = self.tree.get(queue).conf.maximum_allocation;
        own.map_or(cluster, |own| own.min(cluster))
    }

    /// The normalised size and the partition of an ApplicationMaster's container, for an
    /// application that goes to `queue`; where there is no such queue, as for the cluster.
    ///
    /// # Errors
    /// `InvalidResourceRequest` for a negative amount or one above the maximum allocation,
    /// `InvalidLabelResourceRequest` for a partition that the queue may not use.
    pub fn validate_am(
        &self,
        queue: &str,
        size: Resource,
        label: Option<&str>,
    ) -> Result<(Resource, LabelIdx), Reject> {
        let queue = self.tree.find(queue).unwrap_or(ROOT);
        let label = self.validate_label(queue, label, ANY)?;
        Ok((self.validate_size(queue, size)?, label))
    }

    /// Checks and normalises asks before any of them is applied.
    ///
    /// # Errors
    /// The first ask that Hadoop would refuse, with its text; nothing was changed then.
    pub fn validate_asks(&self, app: AppIdx, asks: &[RawAsk]) -> Result<Vec<Ask>, Reject> {
        let Some((queue, _)) = self.place_of(app) else {
            return Ok(Vec::new());
        };
        asks.iter().map(|ask| self.validate(queue, ask)).collect()
    }

    fn validate(&self, queue: QueueIdx, ask: &RawAsk) -> Result<Ask, Reject> {
        let invalid = |text: String| Err(Reject::new(RejectKind::InvalidResourceRequest, text));
        if let Some(name) = &ask.unknown_resource {
            let known: Vec<&str> = self.conf.types.iter().map(|t| t.name.as_str()).collect();
            return invalid(format!(
                "Unknown resource name {name}; this cluster has {}",
                known.join(", ")
            ));
        }
        if ask.count < 0 {
            return invalid(format!(
                "Invalid number of containers {} at '{}': it must not be negative",
                ask.count, ask.place
            ));
        }
        if ask.opportunistic {
            return invalid(
                "opportunistic containers are not built yet; ask for GUARANTEED".to_owned(),
            );
        }
        Ok(Ask {
            key: AskKey {
                priority: ask.priority,
                request_id: ask.allocation_request_id,
                update: None,
            },
            place: Arc::clone(&ask.place),
            size: self.validate_size(queue, ask.capability)?,
            count: ask.count,
            relax: ask.relax_locality,
            label: self.validate_label(queue, ask.label.as_deref(), &ask.place)?,
        })
    }

    /// The normalised size of one container.
    ///
    /// # Errors
    /// `InvalidResourceRequest` for a negative amount or one above the queue's maximum allocation.
    pub(super) fn validate_size(
        &self,
        queue: QueueIdx,
        size: Resource,
    ) -> Result<Resource, Reject> {
        let types = &self.conf.types;
        let maximum = self.maximum_allocation_of(queue);
        let refuse = |reason: String| {
            Err(Reject::new(
                RejectKind::InvalidResourceRequest,
                format!(
                    "Invalid resource request! {reason} Requested resource={}, maximum allowed allocation={}, please note that maximum allowed allocation is calculated by scheduler based on maximum resource of registered NodeManagers, which might be less than configured maximum allocation={}",
                    types.show(size),
                    types.show(maximum),
                    types.show(types.maximum_allocation())
                ),
            ))
        };
        for (lane, t) in types.iter().enumerate() {
            let name = &t.name;
            if size.0[lane] < 0 {
                return refuse(format!(
                    "Cannot allocate containers as requested resource is less than 0! Requested resource type=[{name}],"
                ));
            }
            if size.0[lane] > maximum.0[lane] {
                return refuse(format!(
                    "Cannot allocate containers as requested resource is greater than maximum allowed allocation. Requested resource type=[{name}],"
                ));
            }
        }
        Ok(self.conf.calculator.normalize(size, types, maximum))
    }

    /// The partition of an ask: its own label, or (for [`ANY`]) the queue's default expression.
    fn validate_label(
        &self,
        queue: QueueIdx,
        label: Option<&str>,
        place: &str,
    ) -> Result<LabelIdx, Reject> {
        let default = self.tree.get(queue).conf.default_label.as_deref();
        // A blank label is one that was given: the default partition.
        let wanted = label.or(default.filter(|_| place == ANY));
        let Some(name) = wanted.map(str::trim).filter(|l| !l.is_empty()) else {
            return Ok(LabelIdx::DEFAULT);
        };
        let refuse = |text: String| Err(Reject::new(RejectKind::InvalidLabelResourceRequest, text));
        if !self.conf.labels_enabled {
            return refuse(format!(
                "Invalid resource request, node label not enabled but request contains label expression {name}"
            ));
        }
        if name.contains("&&") {
            return refuse(format!(
                "Invalid resource request, queue={} specified more than one node label in a single expression {name}",
                self.tree.get(queue).path
            ));
        }
        let q = self.tree.get(queue);
        if !q.conf.may_access(name) {
            return refuse(format!(
                "Invalid resource request, queue={} doesn't have permission to access all labels in resource request. labelExpression of resource request={name}. Queue labels={}",
                q.path,
                shown_labels(&q.conf)
            ));
        }
        match self.label(name) {
            Some(label) => Ok(label),
            None => refuse(format!(
                "Invalid label resource request, cluster do not contain , label= {name}"
            )),
        }
    }
}
