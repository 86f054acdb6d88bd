//! `Why`: the reason, with numbers, for every refusal to place.
//! May touch: plain values.
//! Must not: format resources without the type table.

use std::sync::Arc;

use yarn_types::{Resource, ResourceTypes};

/// Why an ask (or an ApplicationMaster) is not placed now.
#[derive(Clone, PartialEq, Debug)]
pub enum Why {
    /// Its queue, or one above it, would go over its maximum.
    QueueLimit {
        /// Path of that queue.
        queue: Arc<str>,
        /// Held by it.
        used: Resource,
        /// Most it may hold.
        limit: Resource,
    },
    /// The user is over the user limit in the queue.
    UserLimit {
        /// Path of the leaf.
        queue: Arc<str>,
        /// Held by the user there.
        used: Resource,
        /// Most the user may hold.
        limit: Resource,
    },
    /// ApplicationMasters hold as much as they may.
    AmLimit {
        /// Path of the leaf.
        queue: Arc<str>,
        /// Held by ApplicationMasters.
        used: Resource,
        /// Most they may hold.
        limit: Resource,
        /// It is the user's own limit.
        of_user: bool,
    },
    /// As many applications run as `max-parallel-apps` allows.
    ParallelApps {
        /// Path of the queue, or `None` where it is the user's own number.
        queue: Option<Arc<str>>,
        /// Running there, or of the user.
        running: u32,
        /// Most that may run.
        limit: i32,
    },
    /// The queue may not use the partition that is asked for.
    NotAccessible {
        /// Path of the queue, or of the one above it, that may not.
        queue: Arc<str>,
        /// Name of the partition.
        label: Arc<str>,
    },
    /// The partition that is asked for has no usable node.
    NoNodesInPartition {
        /// Its name.
        label: Arc<str>,
    },
    /// Room is held for it on a node until the rest ends there.
    Reserved {
        /// Host of the node.
        host: Arc<str>,
        /// What is still to become free.
        lacks: Resource,
    },
    /// Nodes have room, but it is held for others that came first.
    HeldForOthers {
        /// Such nodes.
        nodes: usize,
    },
    /// Enough GPUs are free in all, but not together on one node.
    GpusFragmented {
        /// Free on all nodes that could hold it.
        free: Resource,
        /// Such nodes.
        nodes: usize,
    },
    /// A partition that it did not ask for has room and serves it after a while.
    Sharing {
        /// Name of the partition.
        label: Arc<str>,
        /// Milliseconds left of the wait.
        left_ms: u64,
    },
    /// Nothing holds it back: it is placed when its turn comes, on a heartbeat or in the next pass.
    Turn,
    /// Some node could hold it, but none has room now.
    NoRoom {
        /// Nodes that would hold it when empty.
        nodes: usize,
    },
    /// No present node could hold it, even empty.
    NoNodeLargeEnough {
        /// The most that a node offers, type by type.
        largest: Resource,
    },
    /// Only nodes that it does not want, or excludes, have room.
    NotWanted {
        /// Nodes with room that its blacklist or strict locality forbids.
        nodes: usize,
    },
    /// Waits for a closer node before taking a wider one.
    Locality {
        /// Milliseconds left of the wait.
        left_ms: u64,
    },
    /// There is no usable node.
    NoNodes,
}

impl Why {
    /// One line for people.
    pub fn show(&self, types: &ResourceTypes) -> String {
        let r = |r: &Resource| types.show(*r);
        match self {
            Self::QueueLimit { queue, used, limit } => {
                format!(
                    "queue {queue} holds {} and may hold at most {}",
                    r(used),
                    r(limit)
                )
            }
            Self::UserLimit { queue, used, limit } => format!(
                "the user holds {} in queue {queue} and the user limit is {}",
                r(used),
                r(limit)
            ),
            Self::AmLimit {
                queue,
                used,
                limit,
                of_user,
            } => {
                let whose = if *of_user {
                    "the user's ApplicationMasters"
                } else {
                    "ApplicationMasters"
                };
                format!(
                    "{whose} hold {} in queue {queue} and may hold at most {}",
                    r(used),
                    r(limit)
                )
            }
            Self::ParallelApps {
                queue,
                running,
                limit,
            } => {
                let whose = match queue {
                    Some(queue) => format!("run in queue {queue}"),
                    None => "of the user run".to_owned(),
                };
                format!(
                    "{running} applications {whose} and at most {limit} may (max-parallel-apps)"
                )
            }
            other => other.show_nodes(types),
        }
    }

    /// The reasons that lie in the nodes.
    fn show_nodes(&self, types: &ResourceTypes) -> String {
        let r = |r: &Resource| types.show(*r);
        match self {
            Self::QueueLimit { .. }
            | Self::UserLimit { .. }
            | Self::AmLimit { .. }
            | Self::ParallelApps { .. } => self.show(types),
            Self::NotAccessible { queue, label } => {
                format!("queue {queue} may not use node label '{label}'")
            }
            Self::NoNodesInPartition { label } => {
                format!("no usable node has node label '{label}'")
            }
            Self::Reserved { host, lacks } => {
                format!("reserved on {host}, which lacks {} more", r(lacks))
            }
            Self::HeldForOthers { nodes } => {
                format!("{nodes} nodes have room, but are reserved for other applications")
            }
            Self::GpusFragmented { free, nodes } => format!(
                "enough GPUs are free in all ({} on {nodes} nodes), but not together on one node",
                r(free)
            ),
            Self::Sharing { label, left_ms } => {
                format!("shares node label '{label}' in {left_ms} ms at the latest")
            }
            Self::Turn => "its turn comes next".to_owned(),
            Self::NoRoom { nodes } => {
                format!("none of the {nodes} nodes that could hold it has room now")
            }
            Self::NoNodeLargeEnough { largest } => {
                format!(
                    "no present node could hold it even when empty; the largest amounts are {}",
                    r(largest)
                )
            }
            Self::NotWanted { nodes } => {
                format!("{nodes} nodes have room, but its places or its blacklist exclude them")
            }
            Self::Locality { left_ms } => {
                format!("waits up to {left_ms} ms more for a closer node")
            }
            Self::NoNodes => "there is no usable node".to_owned(),
        }
    }
}
