//! Keys that both daemons honour.
//! May touch: one table.
//! Must not: hold keys of one daemon.

use super::{
    Key,
    Kind::{Choice, Int, List, Long, Text},
    Reader::{Both, Rm},
    key,
};

pub(super) const GROUPS: &[(&str, &[Key])] = &[
    (
        "Resource types (resource-types.xml or yarn-site.xml)",
        &[
            key(
                "yarn.resource-types",
                Both,
                List,
                "Countable types besides memory-mb and vcores, e.g. `yarn.io/gpu`; at most six. RM, NM and clients must agree.",
            ),
            key(
                "yarn.resource-types.<name>.units",
                Both,
                Choice,
                "Unit in which amounts are counted: empty, p n u m k M G T P, Ki Mi Gi Ti Pi.",
            ),
            key(
                "yarn.resource-types.<name>.type",
                Both,
                Choice,
                "`COUNTABLE`, the only type.",
            ),
            key(
                "yarn.resource-types.<name>.tags",
                Both,
                List,
                "Accepted; no tag has a meaning here.",
            ),
            key(
                "yarn.resource-types.<name>.minimum-allocation",
                Rm,
                Long,
                "Smallest amount a container is given (for memory-mb and vcores: before `yarn.scheduler.minimum-allocation-*`).",
            ),
            key(
                "yarn.resource-types.<name>.maximum-allocation",
                Rm,
                Long,
                "Largest amount a container may ask for.",
            ),
        ],
    ),
    (
        "Security and RPC (core-site.xml)",
        &[
            key(
                "hadoop.security.authentication",
                Both,
                Choice,
                "`simple`; kerberos is refused at start.",
            ),
            key(
                "hadoop.rpc.protection",
                Both,
                Choice,
                "`authentication`; other levels are refused at start.",
            ),
            key(
                "ipc.maximum.data.length",
                Both,
                Int,
                "Largest RPC frame in bytes.",
            ),
            key(
                "hadoop.tmp.dir",
                Both,
                Text,
                "Base of the default directories.",
            ),
            key(
                "fs.defaultFS",
                Both,
                Text,
                "File system of paths without a scheme; only `file:` is localised.",
            ),
        ],
    ),
    (
        "Finding the ResourceManager",
        &[
            key(
                "yarn.resourcemanager.hostname",
                Both,
                Text,
                "Host in the default of every RM address.",
            ),
            key(
                "yarn.resourcemanager.hostname.<rm-id>",
                Both,
                Text,
                "The same for one RM of an HA pair.",
            ),
            key(
                "yarn.resourcemanager.resource-tracker.address",
                Both,
                super::Kind::Address,
                "Where NodeManagers register.",
            ),
            key(
                "yarn.resourcemanager.resource-tracker.address.<rm-id>",
                Both,
                super::Kind::Address,
                "The same for one RM of an HA pair.",
            ),
            key(
                "yarn.resourcemanager.ha.enabled",
                Both,
                super::Kind::Bool,
                "Selects the per-id addresses; there is no failover, this RM is active.",
            ),
            key(
                "yarn.resourcemanager.ha.rm-ids",
                Both,
                List,
                "Ids of the HA pair.",
            ),
            key(
                "yarn.resourcemanager.ha.id",
                Both,
                Text,
                "Id of this RM; unset: the one whose address is local.",
            ),
        ],
    ),
];
