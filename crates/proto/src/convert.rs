//! Conversions between wire messages and `yarn-types`.
//! May touch: records.
//! Must not: fill in defaults that the caller should decide.

use yarn_types::{
    ApplicationAttemptId, ApplicationId, ApplicationState, AttemptState, ContainerId,
    ContainerState, FinalStatus, NodeId, NodeState, QueueState, Resource, ResourceTypes,
    Visibility, units,
};

use crate::yarn::{
    ApplicationAttemptIdProto, ApplicationIdProto, ContainerIdProto, ContainerStateProto,
    FinalApplicationStatusProto, LocalResourceVisibilityProto, NodeIdProto, NodeStateProto,
    QueueStateProto, ResourceInformationProto, ResourceProto, ResourceTypesProto,
    YarnApplicationAttemptStateProto, YarnApplicationStateProto,
};

/// Wire form of an application id.
pub fn app_id_proto(id: ApplicationId) -> ApplicationIdProto {
    ApplicationIdProto {
        id: Some(id.id.cast_signed()),
        cluster_timestamp: Some(id.cluster_timestamp),
    }
}

/// An application id; `None` when the number is missing or negative.
pub fn app_id(proto: &ApplicationIdProto) -> Option<ApplicationId> {
    Some(ApplicationId {
        cluster_timestamp: proto.cluster_timestamp.unwrap_or(0),
        id: u32::try_from(proto.id?).ok()?,
    })
}

/// Wire form of an attempt id.
pub fn attempt_id_proto(id: ApplicationAttemptId) -> ApplicationAttemptIdProto {
    ApplicationAttemptIdProto {
        application_id: Some(app_id_proto(id.app)),
        attempt_id: Some(id.attempt.cast_signed()),
    }
}

/// An attempt id; `None` when a part is missing or negative.
pub fn attempt_id(proto: &ApplicationAttemptIdProto) -> Option<ApplicationAttemptId> {
    let app = app_id(proto.application_id.as_ref()?)?;
    Some(app.attempt(u32::try_from(proto.attempt_id?).ok()?))
}

/// Wire form of a container id. Hadoop's own writer sends no `app_id`.
pub fn container_id_proto(id: ContainerId) -> ContainerIdProto {
    ContainerIdProto {
        app_id: None,
        app_attempt_id: Some(attempt_id_proto(id.attempt)),
        id: Some(id.id.cast_signed()),
    }
}

/// A container id; `None` when a part is missing or negative.
pub fn container_id(proto: &ContainerIdProto) -> Option<ContainerId> {
    Some(ContainerId {
        attempt: attempt_id(proto.app_attempt_id.as_ref()?)?,
        id: u64::try_from(proto.id?).ok()?,
    })
}

/// Wire form of a node id.
pub fn node_id_proto(id: &NodeId) -> NodeIdProto {
    NodeIdProto {
        host: Some(id.host.to_string()),
        port: Some(i32::from(id.port)),
    }
}

/// A node id; `None` when the host is missing or the port is none.
pub fn node_id(proto: &NodeIdProto) -> Option<NodeId> {
    let host = proto.host.as_deref().filter(|h| !h.is_empty())?;
    Some(NodeId::new(host, u16::try_from(proto.port?).ok()?))
}

/// Wire form of a resource: both old fields and one map entry per lane, as `ResourcePBImpl` writes it.
pub fn resource_proto(resource: Resource, types: &ResourceTypes) -> ResourceProto {
    let entry = |(lane, t): (usize, &yarn_types::ResourceType)| ResourceInformationProto {
        key: t.name.clone(),
        value: Some(types.wire(lane, resource)),
        units: Some(t.units.clone()),
        r#type: Some(ResourceTypesProto::Countable as i32),
        tags: Vec::new(),
        attributes: Vec::new(),
    };
    ResourceProto {
        memory: Some(resource.memory_mb()),
        virtual_cores: Some(i32::try_from(resource.vcores()).unwrap_or(i32::MAX)),
        resource_value_map: types.iter().enumerate().map(entry).collect(),
    }
}

/// A decoded resource.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DecodedResource {
    /// Amounts in the units of the lanes.
    pub resource: Resource,
    /// The first type that is not configured here (or has an unknown unit) and was given above 0.
    pub unknown: Option<String>,
}

/// Reads a resource as `ResourcePBImpl.initResources` does: the old fields first, then the map on
/// top, amounts converted to the units of the lanes.
pub fn resource(proto: &ResourceProto, types: &ResourceTypes) -> DecodedResource {
    let vcores = i64::from(proto.virtual_cores.unwrap_or(0));
    let mut decoded = DecodedResource {
        resource: Resource::new(proto.memory.unwrap_or(0), vcores),
        unknown: None,
    };
    for entry in &proto.resource_value_map {
        let value = entry.value.unwrap_or(0);
        let lane = types
            .lane(&entry.key)
            .and_then(|lane| Some((lane, types.get(lane)?)));
        let converted = lane.and_then(|(lane, t)| {
            let from = entry.units.as_deref().unwrap_or(&t.units);
            Some((lane, units::convert(value, from, &t.units)?))
        });
        match converted {
            Some((lane, value)) => {
                decoded.resource.0[lane] = value.saturating_mul(types.scale(lane));
            }
            None if value > 0 && decoded.unknown.is_none() => {
                decoded.unknown = Some(entry.key.clone());
            }
            None => {}
        }
    }
    decoded
}

macro_rules! states {
    ($to:ident, $from:ident, $ours:ident, $theirs:ident, { $($a:ident = $b:ident),+ $(,)? }) => {
        /// Wire value of the state.
        pub fn $to(state: $ours) -> i32 {
            match state { $($ours::$a => $theirs::$b as i32),+ }
        }

        /// The state that the wire value names.
        pub fn $from(value: i32) -> Option<$ours> {
            match $theirs::try_from(value).ok()? { $($theirs::$b => Some($ours::$a)),+ }
        }
    };
}

states!(app_state_proto, app_state, ApplicationState, YarnApplicationStateProto, {
    New = New, NewSaving = NewSaving, Submitted = Submitted, Accepted = Accepted,
    Running = Running, Finished = Finished, Failed = Failed, Killed = Killed,
});
states!(final_status_proto, final_status, FinalStatus, FinalApplicationStatusProto, {
    Undefined = AppUndefined, Succeeded = AppSucceeded, Failed = AppFailed,
    Killed = AppKilled, Ended = AppEnded,
});
states!(attempt_state_proto, attempt_state, AttemptState, YarnApplicationAttemptStateProto, {
    New = AppAttemptNew, Submitted = AppAttemptSubmitted, Scheduled = AppAttemptScheduled,
    AllocatedSaving = AppAttemptAllocatedSaving, Allocated = AppAttemptAllocated,
    Launched = AppAttemptLaunched, Failed = AppAttemptFailed, Running = AppAttemptRunning,
    Finishing = AppAttemptFinishing, Finished = AppAttemptFinished, Killed = AppAttemptKilled,
});
states!(container_state_proto, container_state, ContainerState, ContainerStateProto, {
    New = CNew, Running = CRunning, Complete = CComplete,
});
states!(node_state_proto, node_state, NodeState, NodeStateProto, {
    New = NsNew, Running = NsRunning, Unhealthy = NsUnhealthy, Decommissioned = NsDecommissioned,
    Lost = NsLost, Rebooted = NsRebooted, Decommissioning = NsDecommissioning, Shutdown = NsShutdown,
});
states!(queue_state_proto, queue_state, QueueState, QueueStateProto, {
    Running = QRunning, Stopped = QStopped, Draining = QDraining,
});
states!(visibility_proto, visibility, Visibility, LocalResourceVisibilityProto, {
    Public = Public, Private = Private, Application = Application,
});

#[cfg(test)]
#[path = "convert_test.rs"]
mod tests;
