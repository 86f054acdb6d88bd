//! Keys of GPUs and of cgroups, which the NodeManager alone honours.
//! May touch: one table.
//! Must not: hold keys of anything else.

use super::{
    Key,
    Kind::{Bool, Choice, Duration, Float, Int, List, Long, Path, Text},
    Reader::Nm,
    key,
};

pub(super) const GROUPS: &[(&str, &[Key])] = &[
    ("NodeManager: GPUs (yarn-site.xml)", GPUS),
    (
        "NodeManager: devices of containers (yarn-site.xml)",
        DEVICES,
    ),
    ("NodeManager: limits by cgroups (yarn-site.xml)", LIMITS),
];

const GPUS: &[Key] = &[
    key(
        "yarn.nodemanager.resource-plugins",
        Nm,
        List,
        "`yarn.io/gpu`: find the node's GPUs, offer them, and give each container its own and no other. Needs the type in `yarn.resource-types`.",
    ),
    key(
        "yarn.nodemanager.resource-plugins.gpu.allowed-gpu-devices",
        Nm,
        Text,
        "`auto`: every card; else a list of `index:minor` and UUIDs (`GPU-…`). Cards left out are closed to containers.",
    ),
    key(
        "yarn.nodemanager.resource-plugins.gpu.discovery-timeout",
        Nm,
        Duration,
        "How long one look at the cards may take; the driver can hang.",
    ),
    key(
        "yarn.nodemanager.resource-plugins.gpu.discovery-max-errors",
        Nm,
        Int,
        "After this many failed looks in a row the cards count as gone until one succeeds; below 0: never.",
    ),
    key(
        "yarn.nodemanager.heddle.gpu.nvml-library",
        Nm,
        Text,
        "The NVML library: a path, or a name for the dynamic linker; unset: `libnvidia-ml.so.1`. A library that simulates cards reads the file that `HEDDLE_GPU_TOPOLOGY` names.",
    ),
    key(
        "yarn.nodemanager.heddle.gpu.simulated-dev-dir",
        Nm,
        Path,
        "Only with simulated cards: where their device nodes are made, instead of /dev; containers see it as `HEDDLE_DEV_DIR`.",
    ),
    key(
        "yarn.nodemanager.heddle.gpu.simulated-bin-dir",
        Nm,
        Path,
        "Only with simulated cards: put first in the `PATH` of containers; holds their `nvidia-smi`.",
    ),
];

const DEVICES: &[Key] = &[
    key(
        "yarn.nodemanager.heddle.devices.cgroup",
        Nm,
        Choice,
        "Where device rules are set: `v1`, `v2` (an eBPF program), or `auto` (unset): v1 unless `cgroups.v2.enabled` is true or the machine has v2 alone.",
    ),
    key(
        "yarn.nodemanager.heddle.devices.allowed",
        Nm,
        List,
        "Further device nodes that every container may open (InfiniBand, gdrdrv, fuse), as paths such as /dev/fuse.",
    ),
    key(
        "yarn.nodemanager.linux-container-executor.cgroups.hierarchy",
        Nm,
        Text,
        "The cgroup that holds those of the containers; below it everything is this NodeManager's.",
    ),
    key(
        "yarn.nodemanager.linux-container-executor.cgroups.delete-timeout-ms",
        Nm,
        Long,
        "How long to try to remove the cgroup of a container that ended.",
    ),
    key(
        "yarn.nodemanager.linux-container-executor.cgroups.delete-delay-ms",
        Nm,
        Long,
        "How long to wait between two tries.",
    ),
    key(
        "yarn.nodemanager.linux-container-executor.cgroups.v2.enabled",
        Nm,
        Bool,
        "Whether v2 is used where both versions are mounted; a machine with v2 alone uses it anyway.",
    ),
];

const LIMITS: &[Key] = &[
    key(
        "yarn.nodemanager.resource.memory.enabled",
        Nm,
        Bool,
        "Whether the kernel holds containers to their memory, besides the check by poll.",
    ),
    key(
        "yarn.nodemanager.resource.memory.enforced",
        Nm,
        Bool,
        "Whether with that a container beyond its memory is killed; false: only the soft limit is set.",
    ),
    key(
        "yarn.nodemanager.resource.memory.cgroups.soft-limit-percentage",
        Nm,
        Float,
        "Soft limit, per cent of the container's memory.",
    ),
    key(
        "yarn.nodemanager.resource.memory.cgroups.swappiness",
        Nm,
        Int,
        "`memory.swappiness` of containers; v1 only.",
    ),
    key(
        "yarn.nodemanager.resource.cpu.enabled",
        Nm,
        Bool,
        "Whether vcores become shares of the processors; `CgroupsLCEResourcesHandler` with the LinuxContainerExecutor means the same.",
    ),
    key(
        "yarn.nodemanager.linux-container-executor.resources-handler.class",
        Nm,
        Choice,
        "`…CgroupsLCEResourcesHandler` with the LinuxContainerExecutor: as `resource.cpu.enabled`.",
    ),
    key(
        "yarn.nodemanager.linux-container-executor.cgroups.strict-resource-usage",
        Nm,
        Bool,
        "Whether a container may use no more than its vcores even while processors are idle.",
    ),
    key(
        "yarn.nodemanager.resource.percentage-physical-cpu-limit",
        Nm,
        Int,
        "Share of the processors that all containers together may use, per cent.",
    ),
    key(
        "yarn.nodemanager.heddle.pids.max",
        Nm,
        Int,
        "Most processes and threads of a container; unset: no limit.",
    ),
];
