//! Keys that both daemons honour.
//! May touch: one table.
//! Must not: hold keys of one daemon.

use super::{
    Key,
    Kind::{Address, Bool, Choice, Int, List, Long, Path, Text},
    Reader::{Both, Rm},
    key,
};

pub(super) const GROUPS: &[(&str, &[Key])] = &[
    (
        "Resource types (resource-types.xml or yarn-site.xml)",
        TYPES,
    ),
    ("Security, RPC and paths (core-site.xml)", CORE),
    ("Access control (yarn-site.xml)", ACCESS),
    ("Finding the ResourceManager (yarn-site.xml)", FINDING),
];

const ACCESS: &[Key] = &[
    key(
        "yarn.acl.enable",
        Both,
        Bool,
        "Whether access lists count: of queues for submitting, moving and administering, of applications (those of their launch context) for reports, REST, pages, changes and logs, of priorities. Groups are those of the local account database, asked each time. What everybody may see all the same: `docs/rest.md`.",
    ),
    key(
        "yarn.admin.acl",
        Both,
        Text,
        "Users and groups that may call `yarn rmadmin`, whatever `yarn.acl.enable` says, and that may see and change every application; the daemon's own account always may. `yarn rmadmin -refreshAdminAcls` reads it again.",
    ),
    key(
        "yarn.webapp.filter-entity-list-by-user",
        Both,
        Bool,
        "With `yarn.acl.enable`, lists of applications (RPC, REST, pages) and the NodeManager's REST lists leave out what their reader may not see.",
    ),
];

const TYPES: &[Key] = &[
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
        "Unit in which amounts are counted: none, or one of p n u m k M G T P Ki Mi Gi Ti Pi.",
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
];

const CORE: &[Key] = &[
    key(
        "hadoop.security.authentication",
        Both,
        Choice,
        "`simple`; anything else is refused.",
    ),
    key(
        "hadoop.rpc.protection",
        Both,
        Choice,
        "`authentication`; anything else is refused.",
    ),
    key(
        "ipc.maximum.data.length",
        Both,
        Int,
        "Largest RPC frame, bytes.",
    ),
    key(
        "hadoop.http.staticuser.user",
        Both,
        Text,
        "Who an HTTP client is that names no `user.name`.",
    ),
    key(
        "hadoop.http.authentication.token.validity",
        Both,
        Long,
        "How long the cookie of a client that named itself is valid, seconds.",
    ),
    key(
        "hadoop.tmp.dir",
        Both,
        Path,
        "Base of the default directories.",
    ),
    key(
        "fs.defaultFS",
        Both,
        Text,
        "File system of paths without a scheme. Only `file:` is localised so far.",
    ),
    key(
        "yarn.http.policy",
        Both,
        Choice,
        "`HTTP_ONLY`; anything else is refused.",
    ),
];

const FINDING: &[Key] = &[
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
        "The same for one RM of a pair.",
    ),
    key(
        "yarn.resourcemanager.resource-tracker.address",
        Both,
        Address,
        "Where NodeManagers register.",
    ),
    key(
        "yarn.resourcemanager.resource-tracker.address.<rm-id>",
        Both,
        Address,
        "The same for one RM of a pair.",
    ),
    key(
        "yarn.resourcemanager.webapp.address",
        Both,
        Address,
        "HTTP of the RM.",
    ),
    key(
        "yarn.resourcemanager.webapp.address.<rm-id>",
        Both,
        Address,
        "The same for one RM of a pair.",
    ),
    key(
        "yarn.resourcemanager.ha.enabled",
        Both,
        Bool,
        "Selects the per-id addresses. Nothing fails over: the RM is active at once.",
    ),
    key(
        "yarn.resourcemanager.ha.rm-ids",
        Both,
        List,
        "Ids of the pair.",
    ),
    key(
        "yarn.resourcemanager.ha.id",
        Both,
        Text,
        "Id of this RM; unset: the id whose address is local.",
    ),
];
