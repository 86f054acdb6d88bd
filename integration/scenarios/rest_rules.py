"""Which fields of REST may differ from stock Hadoop's, and why.

Everything that is not named here has to be the same: the field, its type, its value.
"""

# Milliseconds since 1970, told from 0, which says that it has not happened.
INSTANT = r"1[5-9]\d{11}|[2-4]\d{12}"
COUNT = r"\d+"
DECIMAL = r"\d+(\.\d+)?(E-?\d+)?"

# Place of the value, the form that it must have on both sides, why it differs. Both have the field, of one type.
VARYING = [
    (r"/(startedOn|startedTime|launchTime|finishedTime|startTime|lastHealthUpdate|lastrun|lastNodeUpdateTime|nmStartupTime)"
     r"(/0)?$", INSTANT, "a time"),
    (r"/(clusterId|clusterInfo/id)(/0)?$", INSTANT + "|EPOCH", "the time of the start"),
    (r"/(elapsedTime|memorySeconds|vcoreSeconds|resourceSecondsMap(/0)?/entry/\d/value)(/0)?$", COUNT, "a duration"),
    (r"/(hadoop|resourceManager|nodeManager)(BuildVersion|VersionBuiltOn)(/0)?$", r"[^<>]*", "another program"),
    (r"/trackingUrl(/0)?$", r"http://(localhost:\d+|RM_HTTP)/(proxy|cluster/app)/application_EPOCH_000\d/?",
     "stock Hadoop looks the name of the address up"),
    (r"/timeouts(/0)?/timeout/0/expiryTime(/0)?$", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0000", "a time"),
    (r"/timeouts(/0)?/timeout/0/remainingTimeInSeconds(/0)?$", COUNT, "a duration"),
    (r"/lastModifiedTime(/0)?$", r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \+0000 \d{4}", "a time"),
    (r"/(directory\.info|launch_container\.sh)/fileSize(/0)?$", COUNT, "another script"),
    (r"/clusterMetrics/utilized(MB|VirtualCores)(Percent)?(/0)?$", COUNT,
     "a measurement of the whole machine, which is not made here"),
    (r"/nodeInfo/resourceTypes(/0)?$", r"((memory-mb \(unit=Mi\)|vcores|yarn\.io/gpu)(, |$)){3}",
     "the order of a Java hash table"),
    (r"jmx/body/[^/]+,name=\w+[^/]*(/gpu)?/[A-Z]\w+(\.yarn\.io/gpu)?$", DECIMAL,
     "stock Hadoop takes the numbers of a bean every ten seconds"),
    (r"/scheduler/schedulerInfo.*/queues(/0)?/queue/\w+/(AMResourceLimit|userAMResourceLimit|users/.*/userResourceLimit|resources/.*/amLimit).*/"
     r"(memory|vCores|value)(/0)?$", COUNT, "the limit is that of the queue's last change, whose moment is chance"),
    (r"/queues(/0)?/queue/\w+/resources/.*/userAmLimit.*/(memory|vCores|value)(/0)?$", COUNT,
     "stock Hadoop computes it when an application comes"),
]

# Place of a difference, the reason. A row that meets no difference any more fails the check.
DIFFERENT = [
    # Not built yet: docs/rest.md says so.
    (r"/clusterMetrics/(rmEventQueueSize|schedulerEventQueueSize|containerAssignedPerSecond)$", "not measured"),
    (r"/nodes?/(0/|node/\d/)?(\d/)?(memUtilization|cpuUtilization|resourceUtilization)$", "not measured"),
    (r"rm /jmx/body/.*,name=QueueMetrics.*/(Aggregate(NodeLocal|RackLocal|OffSwitch)\w+|UnmanagedApps\w+|running_\d+"
     r"|AppAttemptFirst\w+)$", "not counted yet"),
    (r"rm /jmx/body/.*,name=ClusterMetrics/(AM\w+Delay\w+|Utilized\w+|RmEventProc\w+|\w+EventQueueSize"
     r"|ContainerAssignedPerSecond)$", "not measured"),
    (r"nm /jmx/body/.*/(Local\w+|\w+BytesDeleted|CacheSizeBeforeClean|Bad(Local|Log)Dirs|Good\w+Perc"
     r"|ContainersMonitorCostTime|ContainersCompleted|ContainersFailed|ContainersKilled|ContainersLaunched"
     r"|ContainerLaunchDuration\w+|ContainerUsed\w+|ContainerCpuUtilization|Node\w+)$", "not counted yet"),
    # Heddle's own.
    (r"/nodeInfo/gpuIsolation$", "Heddle's own field"),
    (r"/containers?/(container/\d/|0/)?cgroups$", "Heddle's own field"),
    # Otherwise, and meant so: docs/differences.md.
    (r"/ws/v1/node/apps(\?user=\{user\})? (json|xml)/body/apps/app", "applications that are finished are forgotten"),
    (r"/health(/0)?/(operationsInfo|lastRunDetails)/", "stock Hadoop leaves most grants out"),
    (r"^HEAD /(cluster|node)/", "HEAD is answered as GET is"),
    (r"^PUT state: empty object/", "stock Hadoop meets a null"),
    (r"^GET [rn]m /ws/v1/nosuchpath/", "no page for an address that is not there"),
]
