"""`yarn rmadmin -refreshQueues` of the stock CLI: what is accepted holds at once, what is refused changes nothing."""

import json
import re
import time

import caches
from harness import Client, fetch, require, require_match, wait_for
from scenarios.clients import amounts, app_of, queue_of, rest
from scenarios.containers import Master
from scenarios.daemons import OwnBench
from scenarios.registry import HEDDLE, check

PREFIX = "yarn.scheduler.capacity."
# A client that tries an IOException again does so for a quarter of an hour.
REFUSAL_DEADLINE_S = 60


def rmadmin(bench, cluster, *words):
    """The stock RMAdminCLI in a Java of its own, with the settings of any client; its exit code, output and seconds."""
    command = [f"{caches.java_home()}/bin/java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
               f"{cluster.directory}/client-conf:{caches.spark_home()}/jars/*",
               "org.apache.hadoop.yarn.client.cli.RMAdminCLI", *words]
    begun = time.monotonic()
    with Client(cluster, bench.logs / f"{bench.name}.rmadmin.log", command) as client:
        return client.wait(), client.output(), time.monotonic() - begun


def write(cluster, text):
    """Writes the ResourceManager's capacity-scheduler.xml."""
    (cluster.directory / "rm-conf" / "capacity-scheduler.xml").write_text(text)


def edited(cluster, values):
    """capacity-scheduler.xml with some keys set."""
    text = (cluster.directory / "rm-conf" / "capacity-scheduler.xml").read_text()
    for key, value in values.items():
        name = re.escape(PREFIX + key)
        text = re.sub(rf"<property>\s*<name>{name}</name>.*?</property>", "", text, flags=re.DOTALL)
        text = text.replace("</configuration>",
                            f"<property><name>{PREFIX}{key}</name><value>{value}</value></property>\n</configuration>")
    return text


def state(cluster, app):
    """All that a refresh could change, as users see it."""
    told = app_of(cluster, app)
    queues = {name: cluster.console("cli", **{"class": "QueueCLI"}, args=["-status", name])["text"]
              for name in ("root", "root.gpu", "root.default")}
    scheduler = rest(cluster, "scheduler")
    # Heartbeats and the time that the application has run go on.
    del scheduler["scheduler"]["schedulerInfo"]["health"]["lastrun"]
    kept = ("id", "state", "queue", "runningContainers", "allocatedMB", "queueUsagePercentage", "clusterUsagePercentage")
    return {"scheduler": scheduler, "metrics": rest(cluster, "metrics"), "queues": queues,
            "app": {key: told[key] for key in kept},
            "nodes": [(one["id"], one["state"], one["usedResource"]) for one in rest(cluster, "nodes")["nodes"]["node"]],
            "conf": fetch(f"http://{cluster.endpoints()['rm.http']}/conf?name={PREFIX}root.gpu.capacity")}


@check("refresh/queues")
def queues(bench):
    """-refreshQueues with other capacities: exit 0, and at once the shares, REST, the CLI and what an application may
    have are others; what runs goes on."""
    cluster = bench.fresh_cluster(keys={"yarn.nodemanager.resource.memory-mb": "4096"})
    with Master(OwnBench(bench, cluster), "refresh") as master:
        held = master.containers(1, memory=1024)[0]["container"]
        require(round(queue_of(cluster, "root.gpu")["capacity"]) == 50, f"the queue is {queue_of(cluster, 'root.gpu')}")
        write(cluster, edited(cluster, {"root.default.capacity": "25", "root.gpu.capacity": "75",
                                        "root.gpu.maximum-capacity": "75", "root.gpu.user-limit-factor": "5"}))
        code, output, _ = rmadmin(bench, cluster, "-refreshQueues")
        require(code == 0, f"rmadmin exited {code}: {output}")
        told = {name: queue_of(cluster, f"root.{name}") for name in ("default", "gpu")}
        shares = [(told[name]["capacity"], told[name]["absoluteCapacity"], told[name]["absoluteMaxCapacity"])
                  for name in ("default", "gpu")]
        require(shares == [(25, 25, 100), (75, 75, 75)], f"the shares are {shares}")
        text = cluster.console("cli", **{"class": "QueueCLI"}, args=["-status", "root.gpu"])["text"]
        require("Capacity : 75.00%" in text and "Maximum Capacity : 75.00%" in text, f"the queue is {text}")
        # Three quarters of the node, and not a byte more.
        granted = [held] + [one["container"] for one in master.containers(2, memory=1024)]
        require(len(set(granted)) == 3, f"granted {granted}")
        for _ in range(3):
            more = master.allocate(asks=[{"count": 1, "memory": 1024}])["allocated"]
            require(not more, f"granted {more} above the maximum")
        used = amounts(queue_of(cluster, "root.gpu")["resourcesUsed"])
        require(used["memory-mb"] == 3072, f"the queue uses {used}")
        write(cluster, edited(cluster, {"root.gpu.maximum-capacity": "100"}))
        code, output, _ = rmadmin(bench, cluster, "-refreshQueues")
        require(code == 0, f"rmadmin exited {code}: {output}")
        wait_for("what was held back", lambda: master.allocate()["allocated"])
    cluster.stop()


# What is set, and what the text must say: a pattern.
REFUSED = [
    ({"root.gpu.capacity": "much"}, r"root\.gpu\.capacity=much"),
    ({"root.gpu.capacity": "70"}, r"root\.queues=default,gpu: .*queue root"),
    ({"root.gpu.capacity": "120"}, r"root\.gpu\.capacity=120"),
    ({"root.gpu.state": "PAUSED"}, r"root\.gpu\.state=PAUSED"),
    # An application runs in the queue that goes.
    ({"root.queues": "default", "root.default.capacity": "100"}, r"root\.gpu"),
    # A queue that becomes a parent while it has applications.
    ({"root.gpu.queues": "big", "root.gpu.big.capacity": "100"}, r"root\.gpu"),
]


@check("refresh/queues-refused", targets=HEDDLE)
def queues_refused(bench):
    """-refreshQueues with a file that cannot be used: exit code and text with the key, at once; all that users see
    is the same before and after, and what runs gets its containers."""
    cluster = bench.fresh_cluster()
    path = cluster.directory / "rm-conf" / "capacity-scheduler.xml"
    good, texts, slowest = path.read_text(), [], 0.0
    with Master(OwnBench(bench, cluster), "refused") as master:
        master.containers(1, memory=1024)
        before = state(cluster, master.app)
        broken = [(str(values), edited(cluster, values), pattern) for values, pattern in REFUSED]
        broken.append(("an open element", good.replace("</configuration>", ""), r"capacity-scheduler\.xml:\d+"))
        for what, text, pattern in broken:
            write(cluster, text)
            code, output, took = rmadmin(bench, cluster, "-refreshQueues")
            require(code not in (0, None), f"{what}: rmadmin exited {code}: {output}")
            require_match(pattern, output, f"{what}: what rmadmin printed")
            require(took < REFUSAL_DEADLINE_S, f"{what}: rmadmin took {took:.0f} s")
            texts.append(f"{what}\n{output}")
            slowest = max(slowest, took)
            after = state(cluster, master.app)
            different = [key for key in before if before[key] != after[key]]
            require(not different, f"{what}: {different} changed: "
                                   f"{json.dumps([[before[key], after[key]] for key in different])[:500]}")
            require(cluster.daemon("rm").alive(), f"{what}: the ResourceManager has ended")
        (bench.logs / "refused.txt").write_text("\n".join(texts))
        master.containers(1, memory=1024)
        # The file that was there at the start is fine again.
        write(cluster, good)
        code, output, _ = rmadmin(bench, cluster, "-refreshQueues")
        require(code == 0, f"rmadmin exited {code}: {output}")
    cluster.stop()
    return f"{len(broken)} refusals, the slowest after {slowest:.1f} s"
