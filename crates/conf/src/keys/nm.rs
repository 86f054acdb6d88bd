//! Keys that the NodeManager alone honours.
//! May touch: one table.
//! Must not: hold ResourceManager keys.

use super::{
    Key,
    Kind::{Address, Bool, Choice, Float, Int, List, Long, Path, Text},
    Reader::Nm,
    key,
};

pub(super) const GROUPS: &[(&str, &[Key])] = &[
    ("NodeManager: addresses (yarn-site.xml)", ADDRESSES),
    (
        "NodeManager: what the node offers (yarn-site.xml, node-resources.xml)",
        OFFER,
    ),
    (
        "NodeManager: directories and logs (yarn-site.xml)",
        DIRECTORIES,
    ),
    ("NodeManager: running containers (yarn-site.xml)", RUNNING),
    (
        "NodeManager: who owns containers (yarn-site.xml, container-executor.cfg)",
        OWNERS,
    ),
    ("NodeManager: disks (yarn-site.xml)", DISKS),
    ("NodeManager: health scripts (yarn-site.xml)", SCRIPTS),
    ("NodeManager: its node label (yarn-site.xml)", LABELS),
];

const ADDRESSES: &[Key] = &[
    key(
        "yarn.nodemanager.hostname",
        Nm,
        Text,
        "Host in the default of the node's addresses, and in its NodeId.",
    ),
    key(
        "yarn.nodemanager.address",
        Nm,
        Address,
        "ApplicationMasters start containers here; port 0 takes a free one.",
    ),
    key(
        "yarn.nodemanager.webapp.address",
        Nm,
        Address,
        "HTTP: logs of containers.",
    ),
    key(
        "yarn.nodemanager.bind-host",
        Nm,
        Text,
        "Address to listen at instead of the host of each address.",
    ),
    key(
        "yarn.resourcemanager.connect.max-wait.ms",
        Nm,
        Long,
        "How long to look for the RM before giving up; -1: for ever.",
    ),
    key(
        "yarn.resourcemanager.connect.retry-interval.ms",
        Nm,
        Long,
        "How long to wait between two tries.",
    ),
    key(
        "yarn.nodemanager.resourcemanager.connect.max-wait.ms",
        Nm,
        Long,
        "The same for the NodeManager alone.",
    ),
    key(
        "yarn.nodemanager.resourcemanager.connect.retry-interval.ms",
        Nm,
        Long,
        "The same for the NodeManager alone.",
    ),
    key(
        "ipc.client.connect.max.retries",
        Nm,
        Int,
        "Quick tries to reach the RM before each slow one.",
    ),
    key(
        "ipc.client.connect.retry.interval",
        Nm,
        Int,
        "How long to wait between two quick tries, ms.",
    ),
    key(
        "yarn.resourcemanager.work-preserving-recovery.enabled",
        Nm,
        Bool,
        "Whether containers outlive a restart of the RM.",
    ),
    key(
        "yarn.nodemanager.resourcemanager.minimum.version",
        Nm,
        Text,
        "Oldest version of an RM to register with, `EqualToNM`, or `NONE`.",
    ),
];

const OFFER: &[Key] = &[
    key(
        "yarn.nodemanager.resource.memory-mb",
        Nm,
        Int,
        "Memory for containers, MiB; -1: 8192, or from the hardware.",
    ),
    key(
        "yarn.nodemanager.resource.cpu-vcores",
        Nm,
        Int,
        "Vcores for containers; -1: 8, or from the hardware.",
    ),
    key(
        "yarn.nodemanager.resource.detect-hardware-capabilities",
        Nm,
        Bool,
        "Whether -1 means the hardware.",
    ),
    key(
        "yarn.nodemanager.resource.system-reserved-memory-mb",
        Nm,
        Int,
        "Memory kept from containers when detected, MiB; -1: Hadoop's rule.",
    ),
    key(
        "yarn.nodemanager.resource-type.<name>",
        Nm,
        Text,
        "Amount of a configured type, e.g. `8` or `5G`.",
    ),
];

const DIRECTORIES: &[Key] = &[
    key(
        "yarn.nodemanager.local-dirs",
        Nm,
        List,
        "Where files of applications are kept.",
    ),
    key(
        "yarn.nodemanager.log-dirs",
        Nm,
        List,
        "Where containers write their logs.",
    ),
    key(
        "yarn.nodemanager.delete.debug-delay-sec",
        Nm,
        Int,
        "How long the files of an ended application stay for a look; -1: for ever.",
    ),
    key(
        "yarn.nodemanager.delete.thread-count",
        Nm,
        Int,
        "Deletions of such files at the same time.",
    ),
    key(
        "yarn.nodemanager.log.retain-seconds",
        Nm,
        Long,
        "How long the logs of an ended application stay, across restarts too.",
    ),
    key(
        "yarn.nodemanager.log.deletion-threads-count",
        Nm,
        Int,
        "Deletions of logs at the same time.",
    ),
    key(
        "yarn.nodemanager.local-cache.max-files-per-directory",
        Nm,
        Int,
        "Most entries in one directory of the cache.",
    ),
    key(
        "yarn.nodemanager.localizer.fetch.thread-count",
        Nm,
        Int,
        "Files that are fetched at the same time.",
    ),
    key(
        "yarn.nodemanager.localizer.cache.target-size-mb",
        Nm,
        Long,
        "Size to which the cache of localised files is cut, MiB.",
    ),
    key(
        "yarn.nodemanager.localizer.cache.cleanup.interval-ms",
        Nm,
        Long,
        "How often.",
    ),
];

const RUNNING: &[Key] = &[
    key(
        "yarn.nodemanager.container-executor.class",
        Nm,
        Choice,
        "DefaultContainerExecutor or LinuxContainerExecutor; both do the same here, see \"who owns containers\".",
    ),
    key(
        "yarn.nodemanager.pmem-check-enabled",
        Nm,
        Bool,
        "Whether a container beyond its memory is killed.",
    ),
    key(
        "yarn.nodemanager.vmem-check-enabled",
        Nm,
        Bool,
        "Whether a container beyond its virtual memory is killed.",
    ),
    key(
        "yarn.nodemanager.vmem-pmem-ratio",
        Nm,
        Float,
        "Virtual memory per memory.",
    ),
    key(
        "yarn.nodemanager.container-monitor.interval-ms",
        Nm,
        Long,
        "How often memory is looked at; unset: `resource-monitor.interval-ms`.",
    ),
    key(
        "yarn.nodemanager.resource-monitor.interval-ms",
        Nm,
        Long,
        "The same.",
    ),
    key(
        "yarn.nodemanager.container-monitor.enabled",
        Nm,
        Bool,
        "Whether containers are watched at all.",
    ),
    key(
        "yarn.nodemanager.sleep-delay-before-sigkill.ms",
        Nm,
        Long,
        "Between SIGTERM and SIGKILL.",
    ),
    key(
        "yarn.nodemanager.process-kill-wait.ms",
        Nm,
        Long,
        "How long a container may take to write its process id when it is to be killed.",
    ),
    key(
        "yarn.nodemanager.container-executor.os.sched.priority.adjustment",
        Nm,
        Int,
        "Niceness of containers; unset: that of the NodeManager.",
    ),
    key(
        "yarn.nodemanager.container-diagnostics-maximum-size",
        Nm,
        Int,
        "Longest diagnostics kept of a container, characters.",
    ),
    key(
        "yarn.nodemanager.container.stderr.pattern",
        Nm,
        Text,
        "Files whose tail goes into the diagnostics of a container that failed.",
    ),
    key(
        "yarn.nodemanager.container.stderr.tail.bytes",
        Nm,
        Long,
        "How much of them.",
    ),
    key(
        "yarn.nodemanager.duration-to-track-stopped-containers",
        Nm,
        Long,
        "How long a stopped container is remembered, ms.",
    ),
    key(
        "yarn.nodemanager.log-container-debug-info.enabled",
        Nm,
        Bool,
        "Whether the launch script and a listing of its directory are kept with the logs.",
    ),
    key(
        "yarn.nodemanager.force.path",
        Nm,
        Text,
        "Put before the `PATH` of containers.",
    ),
    key(
        "yarn.nodemanager.env-whitelist",
        Nm,
        List,
        "Variables of the NodeManager that containers get when they set none.",
    ),
    key(
        "yarn.nodemanager.admin-env",
        Nm,
        List,
        "Variables that every container gets, `NAME=VALUE,…`.",
    ),
    key(
        "yarn.nodemanager.user-home-dir",
        Nm,
        Path,
        "`HOME` of containers.",
    ),
];

const OWNERS: &[Key] = &[
    key(
        "yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users",
        Nm,
        Bool,
        "true: a root NodeManager runs every container as `local-user`; false: as the submitter, if a local account of that name passes the next keys.",
    ),
    key(
        "yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user",
        Nm,
        Text,
        "That account.",
    ),
    key(
        "yarn.nodemanager.linux-container-executor.min.user.id",
        Nm,
        Int,
        "Smallest uid that may own containers (Heddle's key; else `min.user.id` of container-executor.cfg, else 1000).",
    ),
    key(
        "yarn.nodemanager.linux-container-executor.banned.users",
        Nm,
        List,
        "Accounts that may not (Heddle's key; else `banned.users` of container-executor.cfg, else yarn, mapred, hdfs, bin).",
    ),
    key(
        "yarn.nodemanager.linux-container-executor.allowed.system.users",
        Nm,
        List,
        "Accounts that may although their uid is smaller (Heddle's key; else `allowed.system.users` of container-executor.cfg).",
    ),
];

const DISKS: &[Key] = &[
    key(
        "yarn.nodemanager.disk-health-checker.enable",
        Nm,
        Bool,
        "Whether disks are looked at.",
    ),
    key(
        "yarn.nodemanager.disk-health-checker.interval-ms",
        Nm,
        Long,
        "How often.",
    ),
    key(
        "yarn.nodemanager.disk-health-checker.min-healthy-disks",
        Nm,
        Float,
        "Share of directories that must be good for the node to be healthy.",
    ),
    key(
        "yarn.nodemanager.disk-health-checker.disk-utilization-threshold.enabled",
        Nm,
        Bool,
        "Whether a disk that is too full is bad.",
    ),
    key(
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage",
        Nm,
        Float,
        "Too full, per cent.",
    ),
    key(
        "yarn.nodemanager.disk-health-checker.disk-utilization-watermark-low-per-disk-percentage",
        Nm,
        Float,
        "Not too full any more, per cent; unset: the same.",
    ),
    key(
        "yarn.nodemanager.disk-health-checker.disk-free-space-threshold.enabled",
        Nm,
        Bool,
        "Whether a disk with too little space is bad.",
    ),
    key(
        "yarn.nodemanager.disk-health-checker.min-free-space-per-disk-mb",
        Nm,
        Long,
        "Too little, MiB.",
    ),
    key(
        "yarn.nodemanager.disk-health-checker.min-free-space-per-disk-watermark-high-mb",
        Nm,
        Long,
        "Enough again, MiB; less than the key before counts as that.",
    ),
];

const SCRIPTS: &[Key] = &[
    key(
        "yarn.nodemanager.health-checker.scripts",
        Nm,
        List,
        "Names of up to four scripts; a line that begins with ERROR makes the node unhealthy.",
    ),
    key(
        "yarn.nodemanager.health-checker.<script>.path",
        Nm,
        Path,
        "The program; without one the name does nothing.",
    ),
    key(
        "yarn.nodemanager.health-checker.<script>.opts",
        Nm,
        List,
        "Its arguments.",
    ),
    key(
        "yarn.nodemanager.health-checker.<script>.interval-ms",
        Nm,
        Long,
        "How often it runs; 0: the next key but one.",
    ),
    key(
        "yarn.nodemanager.health-checker.<script>.timeout-ms",
        Nm,
        Long,
        "How long it may run, then the node is unhealthy; 0: `timeout-ms`.",
    ),
    key(
        "yarn.nodemanager.health-checker.interval-ms",
        Nm,
        Long,
        "How often scripts run that say nothing else.",
    ),
    key(
        "yarn.nodemanager.health-checker.timeout-ms",
        Nm,
        Long,
        "How long scripts may run that say nothing else.",
    ),
    key(
        "yarn.nodemanager.health-checker.run-before-startup",
        Nm,
        Bool,
        "Whether the scripts run once before the node registers.",
    ),
];

const LABELS: &[Key] = &[
    key(
        "yarn.nodemanager.node-labels.provider",
        Nm,
        Choice,
        "`config` or `script`: who says the node's label, for `yarn.node-labels.configuration-type` = distributed. Classes are refused.",
    ),
    key(
        "yarn.nodemanager.node-labels.provider.configured-node-partition",
        Nm,
        Text,
        "The label, for `config`; read again with each fetch.",
    ),
    key(
        "yarn.nodemanager.node-labels.provider.script.path",
        Nm,
        Path,
        "The program, for `script`: the last line that begins with NODE_PARTITION: says the label.",
    ),
    key(
        "yarn.nodemanager.node-labels.provider.script.opts",
        Nm,
        List,
        "Its arguments.",
    ),
    key(
        "yarn.nodemanager.node-labels.provider.fetch-interval-ms",
        Nm,
        Long,
        "How often the label is asked for; -1: once, at start.",
    ),
    key(
        "yarn.nodemanager.node-labels.provider.fetch-timeout-ms",
        Nm,
        Long,
        "How long the program may run.",
    ),
    key(
        "yarn.nodemanager.node-labels.resync-interval-ms",
        Nm,
        Long,
        "A label that did not change is sent again after so long.",
    ),
];
