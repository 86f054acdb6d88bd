//! Keys that the ResourceManager alone honours.
//! May touch: one table.
//! Must not: hold NodeManager keys.

use super::{
    Key,
    Kind::{Address, Bool, Choice, Duration, Float, Int, List, Long, Path, Text},
    Reader::Rm,
    key,
};

pub(super) const GROUPS: &[(&str, &[Key])] = &[
    ("ResourceManager: addresses (yarn-site.xml)", ADDRESSES),
    (
        "ResourceManager: applications and nodes (yarn-site.xml)",
        LIVES,
    ),
    ("ResourceManager: scheduler (yarn-site.xml)", SCHEDULER),
    ("ResourceManager: node labels (yarn-site.xml)", LABELS),
    (
        "ResourceManager: placement of applications (yarn-site.xml)",
        PLACEMENT,
    ),
    (
        "ResourceManager: preemption and other monitors (yarn-site.xml)",
        MONITORS,
    ),
    ("ResourceManager: keys of tokens (yarn-site.xml)", TOKENS),
    ("ResourceManager: journal (yarn-site.xml)", JOURNAL),
    ("Queues (capacity-scheduler.xml)", QUEUES),
];

const JOURNAL: &[Key] = &[
    key(
        "yarn.resourcemanager.heddle.journal.mode",
        Rm,
        Choice,
        "Whether everything that the ResourceManager's core takes is written down for `cargo xtask replay`: `off` (default), `ring` (the newest segments) or `full` (all). It costs a snapshot of the whole state a segment and a digest every 1,000 events. Files are for this account only and hold no tokens, keys or launch contexts. A disk that does not keep up ends the journal, never the ResourceManager.",
    ),
    key(
        "yarn.resourcemanager.heddle.journal.dir",
        Rm,
        Path,
        "Where the segments are; must be set where the journal is on.",
    ),
    key(
        "yarn.resourcemanager.heddle.journal.segment-bytes",
        Rm,
        Long,
        "A segment of this many bytes is followed by another: 67108864, at least 1048576.",
    ),
    key(
        "yarn.resourcemanager.heddle.journal.segments",
        Rm,
        Int,
        "Segments that `ring` keeps: 8.",
    ),
];

const ADDRESSES: &[Key] = &[
    key(
        "yarn.resourcemanager.address",
        Rm,
        Address,
        "Clients: submit, list, kill.",
    ),
    key(
        "yarn.resourcemanager.address.<rm-id>",
        Rm,
        Address,
        "The same for one RM of a pair.",
    ),
    key(
        "yarn.resourcemanager.scheduler.address",
        Rm,
        Address,
        "ApplicationMasters.",
    ),
    key(
        "yarn.resourcemanager.scheduler.address.<rm-id>",
        Rm,
        Address,
        "The same for one RM of a pair.",
    ),
    key(
        "yarn.resourcemanager.admin.address",
        Rm,
        Address,
        "Administration.",
    ),
    key(
        "yarn.resourcemanager.admin.address.<rm-id>",
        Rm,
        Address,
        "The same for one RM of a pair.",
    ),
    key(
        "yarn.resourcemanager.bind-host",
        Rm,
        Text,
        "Address to listen at instead of the host of each address.",
    ),
    key(
        "yarn.resourcemanager.bind-host.<rm-id>",
        Rm,
        Text,
        "The same for one RM of a pair.",
    ),
    key(
        "yarn.web-proxy.address",
        Rm,
        Address,
        "A web proxy of its own, named in tracking URLs; unset: the RM's HTTP address.",
    ),
    key(
        "yarn.resourcemanager.proxy.timeout.enabled",
        Rm,
        Bool,
        "Whether the RM's own proxy gives up on an ApplicationMaster that says nothing.",
    ),
    key(
        "yarn.resourcemanager.proxy.connection.timeout",
        Rm,
        Int,
        "When it does, ms.",
    ),
    key(
        "yarn.resourcemanager.cluster-id",
        Rm,
        Text,
        "Name of the cluster, shown only.",
    ),
];

const LIVES: &[Key] = &[
    key(
        "yarn.resourcemanager.am.max-attempts",
        Rm,
        Int,
        "Attempts of an application that asks for no number.",
    ),
    key(
        "yarn.resourcemanager.am.global.max-attempts",
        Rm,
        Int,
        "Most attempts an application may ask for; unset: as `am.max-attempts`.",
    ),
    key(
        "yarn.am.liveness-monitor.expiry-interval-ms",
        Rm,
        Duration,
        "An ApplicationMaster silent for so long has failed.",
    ),
    key(
        "yarn.nm.liveness-monitor.expiry-interval-ms",
        Rm,
        Int,
        "A node silent for so long is lost.",
    ),
    key(
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms",
        Rm,
        Long,
        "What nodes are told to wait between heartbeats.",
    ),
    key(
        "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms",
        Rm,
        Int,
        "A container that was granted and not started for so long is taken back.",
    ),
    key(
        "yarn.resourcemanager.max-completed-applications",
        Rm,
        Int,
        "Ended applications that are remembered.",
    ),
    key(
        "yarn.resourcemanager.nodes.include-path",
        Rm,
        Path,
        "File of hosts that may register; unset: all.",
    ),
    key(
        "yarn.resourcemanager.nodes.exclude-path",
        Rm,
        Path,
        "File of hosts that may not; as XML with a time to go for each.",
    ),
    key(
        "yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs",
        Rm,
        Int,
        "What a node may take to finish, where `rmadmin -refreshNodes -g` and the file say nothing; below 0: for ever.",
    ),
    key(
        "yarn.resource.dynamic.nodes",
        Rm,
        List,
        "In dynamic-resources.xml: nodes (`host:port`) whose offer is set there.",
    ),
    key(
        "yarn.resource.dynamic.<node>.memory",
        Rm,
        Int,
        "In dynamic-resources.xml: MiB that the node offers (8192).",
    ),
    key(
        "yarn.resource.dynamic.<node>.vcores",
        Rm,
        Int,
        "In dynamic-resources.xml: vcores that it offers (8).",
    ),
    key(
        "yarn.resource.dynamic.<node>.overcommittimeout",
        Rm,
        Int,
        "In dynamic-resources.xml: ms until containers beyond that end (-1: they stay).",
    ),
    key(
        "yarn.resourcemanager.am-scheduling.node-blacklisting-enabled",
        Rm,
        Bool,
        "Whether an application's next ApplicationMaster is kept off hosts that failed one (false).",
    ),
    key(
        "yarn.resourcemanager.am-scheduling.node-blacklisting-disable-threshold",
        Rm,
        Float,
        "Share of the nodes from which on that many such hosts are not avoided any more (0.2).",
    ),
    key(
        "yarn.resourcemanager.nodemanager.minimum.version",
        Rm,
        Text,
        "Oldest version of a NodeManager that may register, `EqualToRM`, or `NONE`.",
    ),
    key(
        "net.topology.node.switch.mapping.impl",
        Rm,
        Choice,
        "ScriptBasedMapping or TableMapping of org.apache.hadoop.net.",
    ),
    key(
        "net.topology.script.file.name",
        Rm,
        Path,
        "Program that names the racks of hosts; unset: all in `/default-rack`.",
    ),
    key(
        "net.topology.table.file.name",
        Rm,
        Path,
        "File of hosts and racks, for TableMapping.",
    ),
    key(
        "yarn.resourcemanager.amlauncher.thread-count",
        Rm,
        Int,
        "ApplicationMasters that are launched at the same time.",
    ),
    key(
        "yarn.client.nodemanager-connect.max-wait-ms",
        Rm,
        Long,
        "How long to look for a node before a launch has failed.",
    ),
    key(
        "yarn.client.nodemanager-connect.retry-interval-ms",
        Rm,
        Long,
        "How long to wait between two tries.",
    ),
    key(
        "yarn.resourcemanager.configuration.provider-class",
        Rm,
        Choice,
        "`org.apache.hadoop.yarn.LocalConfigurationProvider`; anything else is refused.",
    ),
];

const LABELS: &[Key] = &[
    key(
        "yarn.node-labels.enabled",
        Rm,
        Bool,
        "Whether nodes may have labels, each a partition of the cluster.",
    ),
    key(
        "yarn.node-labels.configuration-type",
        Rm,
        Choice,
        "`centralized`: an administrator says which node has which label. `distributed`: the nodes do. `delegated-centralized` is refused.",
    ),
    key(
        "yarn.node-labels.fs-store.root-dir",
        Rm,
        Text,
        "Where labels are kept over a restart: a `file:` directory, in Hadoop's own format; without it `/tmp/hadoop-yarn-USER/node-labels`, as Hadoop, with a warning. Other file systems are refused.",
    ),
    key(
        "yarn.node-labels.fs-store.impl.class",
        Rm,
        Choice,
        "FileSystemNodeLabelsStore or NonAppendableFSNodeLabelStore: the same here. Other classes are refused.",
    ),
    key(
        "yarn.node-labels.exclusive-enforced-partitions",
        Rm,
        List,
        "Refused.",
    ),
    key(
        "yarn.resourcemanager.node-labels.am.default-node-label-expression",
        Rm,
        Text,
        "Label of an ApplicationMaster's container that is asked for without one.",
    ),
    key(
        "yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation",
        Rm,
        Bool,
        "`false`; `true` is refused.",
    ),
];

const SCHEDULER: &[Key] = &[
    key(
        "yarn.resourcemanager.scheduler.class",
        Rm,
        Choice,
        "CapacityScheduler; anything else is refused.",
    ),
    key(
        "yarn.scheduler.configuration.store.class",
        Rm,
        Choice,
        "`file`; anything else is refused.",
    ),
    key(
        "yarn.cluster.max-application-priority",
        Rm,
        Int,
        "Highest priority of an application.",
    ),
    key(
        "yarn.scheduler.minimum-allocation-mb",
        Rm,
        Int,
        "Asks for memory are rounded up to a multiple of this, MiB.",
    ),
    key(
        "yarn.scheduler.maximum-allocation-mb",
        Rm,
        Int,
        "Asks for more memory are refused, MiB.",
    ),
    key(
        "yarn.scheduler.minimum-allocation-vcores",
        Rm,
        Int,
        "Asks for vcores are rounded up to a multiple of this.",
    ),
    key(
        "yarn.scheduler.maximum-allocation-vcores",
        Rm,
        Int,
        "Asks for more vcores are refused.",
    ),
];

const PLACEMENT: &[Key] = &[
    key(
        "yarn.scheduler.queue-placement-rules",
        Rm,
        List,
        "`user-group` and `app-name`; others need Java classes and are refused.",
    ),
    key(
        "yarn.scheduler.queue-placement-rules.app-name",
        Rm,
        List,
        "Queues by name of application.",
    ),
    key(
        "yarn.resourcemanager.application-tag-based-placement.enable",
        Rm,
        Bool,
        "An application with the tag `userid=NAME` is placed as one of NAME, if its submitter is on the whitelist and NAME may submit there.",
    ),
    key(
        "yarn.resourcemanager.application-tag-based-placement.username.whitelist",
        Rm,
        List,
        "Users whose tags are believed.",
    ),
    key(
        "yarn.workflow-id.tag-prefix",
        Rm,
        Text,
        "What begins the tag that names an application's workflow.",
    ),
];

const MONITORS: &[Key] = &[
    key(
        "yarn.resourcemanager.scheduler.monitor.enable",
        Rm,
        Bool,
        "Whether the monitors of the scheduler run. As all keys of monitors it may stand in capacity-scheduler.xml too; `yarn rmadmin -refreshQueues` turns them on and off.",
    ),
    key(
        "yarn.resourcemanager.scheduler.monitor.policies",
        Rm,
        List,
        "Which: `ProportionalCapacityPreemptionPolicy` (containers over their queue's guarantee are asked back, then taken), `AutoCreatedQueueDeletionPolicy` (created queues that nobody uses go), `QueueConfigurationAutoRefreshPolicy` (a changed capacity-scheduler.xml is read without `-refreshQueues`). Another class is refused.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.observe_only",
        Rm,
        Bool,
        "Preemption only works out what it would take.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval",
        Rm,
        Long,
        "Milliseconds between rounds of preemption and of the removal of created queues.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill",
        Rm,
        Long,
        "Milliseconds that an ApplicationMaster has to give a container back before it is taken.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round",
        Rm,
        Float,
        "Most of a partition that one round takes, 0 to 1.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.max_ignored_over_capacity",
        Rm,
        Float,
        "Use over the guarantee that is let be, as a share of it.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor",
        Rm,
        Float,
        "Share of what is missing that one round takes, 0 to 1; the rest is left to containers that end by themselves.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.select_based_on_reserved_containers",
        Rm,
        Bool,
        "Takes first what makes room for reserved containers.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.additional_res_balance_based_on_reserved_containers",
        Rm,
        Bool,
        "Reserved containers count when room on a node is worked out.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.conservative-drf",
        Rm,
        Bool,
        "Takes no container that frees none of the types that are missing.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.preemption-to-balance-queue-after-satisfied.enabled",
        Rm,
        Bool,
        "Goes on until queues over their guarantee are even.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.preemption-to-balance-queue-after-satisfied.max-wait-before-kill",
        Rm,
        Long,
        "Milliseconds before a container is taken for that.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled",
        Rm,
        Bool,
        "Preempts inside queues, for higher priority or users below their limit.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.minimum-threshold",
        Rm,
        Float,
        "Use of its guarantee from which on a queue is looked at.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.max-allowable-limit",
        Rm,
        Float,
        "Most of its guarantee that is taken inside a queue.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.preemption-order-policy",
        Rm,
        Choice,
        "`userlimit_first` or `priority_first`.",
    ),
    key(
        "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.conservative-drf",
        Rm,
        Bool,
        "The same inside queues.",
    ),
];

const TOKENS: &[Key] = &[
    key(
        "yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs",
        Rm,
        Long,
        "How long a key signs AMRM tokens.",
    ),
    key(
        "yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs",
        Rm,
        Long,
        "How long a key signs container tokens.",
    ),
    key(
        "yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs",
        Rm,
        Long,
        "How long a key signs NM tokens.",
    ),
];

const QUEUES: &[Key] = &[
    key(
        "yarn.scheduler.capacity.resource-calculator",
        Rm,
        Choice,
        "DefaultResourceCalculator compares memory alone, DominantResourceCalculator the largest share of any type. Unset: Default, or Dominant (with a warning) when `yarn.resource-types` names a type; Default written with such a type is refused, as in Hadoop.",
    ),
    key(
        "yarn.scheduler.capacity.<…>",
        Rm,
        Text,
        "Queues and their limits. What the scheduler does not do yet is refused by name when the file is read.",
    ),
];
