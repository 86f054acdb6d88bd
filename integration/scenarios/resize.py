"""Containers that change their size while they run: requests, tokens, nodes, limits, refusals."""

import json
import os
from pathlib import Path

from harness import RemoteError, fetch, require, require_match, wait_for
from scenarios.gpu import GPU, topology, unless_isolated
from scenarios.registry import HEDDLE, check

INCREASE, DECREASE = "INCREASE_RESOURCE", "DECREASE_RESOURCE"
EXPIRY = "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms"
KEYS = {"yarn.scheduler.capacity.root.gpu.user-limit-factor": "10"}
MEMORY = Path("/sys/fs/cgroup/memory")


class Resizer:
    """An application master on Hadoop's AMRMClient and NMClient."""

    def __init__(self, cluster, name):
        self.cluster = cluster
        self.app = cluster.console("resize.open", name=name, queue="gpu")["app"]

    def call(self, call, **fields):
        """A call of this master."""
        return self.cluster.console(f"resize.{call}", app=self.app, **fields)

    def next(self, kind):
        """The first entry of that kind that the ResourceManager's answers have."""
        return wait_for(f"{kind} in an answer", lambda: self.call("allocate")[kind])[0]

    def container(self, **size):
        """A running container of that size."""
        self.call("ask", **size)
        granted = self.next("allocated")
        self.call("start", container=granted["container"], command="sleep 1000")
        wait_for("the container to run", lambda: granted["container"] in self.running())
        return granted

    def settle(self, **size):
        """Waits until the ResourceManager knows of all that runs: it hears of a later one's end with it.

        A stock ResourceManager loses a new size of a container that it does not know to run.
        """
        self.call("ask", **size)
        self.call("start", container=self.next("allocated")["container"], command="true")
        self.next("ended")

    def running(self):
        """The containers of this application that the NodeManager runs, by id."""
        found = node(self.cluster, "containers")["containers"]
        mine = self.app.partition("_")[2]
        return {one["id"]: one for one in (found or {}).get("container", [])
                if mine in one["id"] and one["state"] == "RUNNING"}

    def ask(self, container, kind, **size):
        """Asks for another size of a container."""
        self.call("request", container=container, type=kind, **size)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.call("finish")


def node(cluster, path):
    """A page of the NodeManager."""
    return json.loads(fetch(f"http://{cluster.endpoints()['node1.http']}/ws/v1/node/{path}"))


def of_rm(cluster, path):
    """A page of the ResourceManager."""
    return json.loads(fetch(f"http://{cluster.endpoints()['rm.http']}/ws/v1/cluster/{path}"))


def counted(cluster, app):
    """Memory and vcores that the ResourceManager counts for the application, and memory for its node."""
    one = of_rm(cluster, f"apps/{app}")["app"]
    used = of_rm(cluster, "nodes")["nodes"]["node"][0]["usedMemoryMB"]
    return one["allocatedMB"], one["allocatedVCores"], used


def on_node(master, container):
    """Memory and vcores that the NodeManager has for the container."""
    one = master.running().get(container, {})
    return one.get("totalMemoryNeededMB"), one.get("totalVCoresNeeded")


def cards(cluster):
    """The cards that containers of the node hold."""
    return node(cluster, "resources/yarn.io%2Fgpu")["assignedGpuDevices"]


def has_limits():
    """Whether Heddle's NodeManager can set memory limits here."""
    return os.geteuid() == 0 and (MEMORY / "memory.limit_in_bytes").exists()


def limit_mb(container):
    """The memory limit of the container's cgroup."""
    found = list(MEMORY.glob(f"**/{container}/memory.limit_in_bytes"))
    require(len(found) == 1, f"{container} has the cgroups {found}")
    return int(found[0].read_text()) >> 20


@check("resize/up-and-down")
def up_and_down(bench):
    """AMRMClient.requestContainerUpdate and NMClient.updateContainerResource: REST of both daemons and the cgroup follow."""
    limits = bench.target == "heddle" and has_limits()
    keys = {"yarn.nodemanager.resource.memory.enabled": "true"} if limits else {}
    cluster = bench.fresh_cluster(keys=KEYS | keys)
    with Resizer(cluster, "resize") as master:
        container = master.container(memory=512)["container"]
        require(on_node(master, container) == (512, 1), f"it began with {on_node(master, container)}")
        master.ask(container, INCREASE, memory=1000, vcores=2)
        grown = master.next("updated")
        require((grown["type"], grown["version"], grown["memory"], grown["vcores"]) == (INCREASE, 1, 1024, 2),
                f"the increase is {grown}")
        wait_for("the ResourceManager to count it", lambda: counted(cluster, master.app) == (1024, 2, 1024))
        require(on_node(master, container) == (512, 1), "the node changed before it was told to")
        master.call("use", container=container)
        wait_for("the node to show it", lambda: on_node(master, container) == (1024, 2))
        if limits:
            wait_for("the cgroup to follow", lambda: limit_mb(container) == 1024)
        master.ask(container, DECREASE, memory=256, vcores=1)
        shrunk = master.next("updated")
        require((shrunk["type"], shrunk["version"], shrunk["memory"], shrunk["vcores"]) == (DECREASE, 2, 256, 1),
                f"the decrease is {shrunk}")
        wait_for("the ResourceManager to count it", lambda: counted(cluster, master.app) == (256, 1, 256))
        wait_for("the node to be told", lambda: on_node(master, container) == (256, 1))
        if limits:
            wait_for("the cgroup to follow", lambda: limit_mb(container) == 256)
        master.ask(container, INCREASE, memory=512, stale=True)
        error = master.next("errors")
        require((error["reason"], error["version"]) == ("INCORRECT_CONTAINER_VERSION_ERROR", 2), f"refused {error}")
        try:
            master.call("use", container=container)
            require(False, "an old token changed the container")
        except RemoteError as refused:
            require_match(rf"Container {container} has update version \[2\] >= requested version \[2\]", refused.chain,
                          "the refusal")
        master.ask(container, INCREASE, memory=1 << 20)
        error = master.next("errors")
        require(error["reason"] == "RESOURCE_OUTSIDE_ALLOWED_RANGE", f"refused {error}")
    return "with the cgroup's limit" if limits else "without cgroups"


@check("resize/unused")
def unused(bench):
    """An increase that is not used in time goes back; the application master is told, and its token is void."""
    cluster = bench.fresh_cluster(keys=KEYS | {EXPIRY: "4000"})
    with Resizer(cluster, "unused") as master:
        container = master.container(memory=512)["container"]
        master.settle(memory=512)
        master.ask(container, INCREASE, memory=1024, vcores=1)
        require(master.next("updated")["version"] == 1, "the increase has no version of its own")
        back = master.next("updated")
        require((back["type"], back["version"], back["memory"]) == (DECREASE, 2, 512), f"it went back to {back}")
        wait_for("the ResourceManager to count it", lambda: counted(cluster, master.app) == (512, 1, 512))
        require(on_node(master, container) == (512, 1), f"the node has {on_node(master, container)}")


@check("resize/waits")
def waits(bench):
    """An increase beyond what is free waits, and is granted when another container goes."""
    keys = {"yarn.nodemanager.resource.memory-mb": "1024"}
    cluster = bench.fresh_cluster(keys=KEYS | keys)
    with Resizer(cluster, "waits") as master:
        one, other = (master.container(memory=384)["container"] for _ in range(2))
        master.ask(one, INCREASE, memory=768, vcores=1)
        for _ in range(5):
            answer = master.call("allocate")
            require(not answer["updated"] and not answer["errors"], f"answered {answer}")
        pending = of_rm(cluster, f"apps/{master.app}")["app"]["resourceRequests"]
        wanted = {request["resource"]["memory"] if "resource" in request else request["capability"]["memory"]
                  for request in pending}
        require(wanted == {384}, f"pending are {pending}")
        master.call("release", container=other)
        grown = master.next("updated")
        require((grown["container"], grown["memory"]) == (one, 768), f"granted {grown}")
        wait_for("the accounts", lambda: counted(cluster, master.app)[0] == 768)


@check("resize/gpus", targets=HEDDLE)
def gpus(bench):
    """A running container keeps its GPUs: another number is refused by name, more memory comes with the same card."""
    cluster = bench.fresh_cluster(
        keys=KEYS, options=["--topology", bench.file("topology.toml", topology()), *unless_isolated()])
    with Resizer(cluster, "gpus") as master:
        granted = master.container(memory=512, resources={GPU: 1})
        container = granted["container"]
        before = cards(cluster)
        require(len(before) == 1, f"{before} are held")
        for kind, count in ((INCREASE, 2), (DECREASE, 0)):
            master.ask(container, kind, memory=512, resources={GPU: count})
            error = master.next("errors")
            require_match(rf"yarn\.io/gpu of a running container cannot change: it holds 1 and {count} was asked for",
                          error["reason"], "the refusal")
        master.ask(container, INCREASE, memory=1024, vcores=2, resources={GPU: 1})
        require(master.next("updated")["resources"].get(GPU) == 1, "the update lacks the card")
        master.call("use", container=container)
        wait_for("the node to show it", lambda: on_node(master, container) == (1024, 2))
        require(cards(cluster) == before, f"{cards(cluster)} are held after {before}")
