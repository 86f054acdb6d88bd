"""What happens to containers and masters when a daemon stops or dies."""

import os

from harness import Process, RemoteError, processes, require, require_match, wait_for
from scenarios.apps import refused
from scenarios.containers import Master
from scenarios.registry import HEDDLE, check


class OwnBench:
    """The bench with a cluster of its own in place of the shared one."""

    def __init__(self, bench, cluster):
        self.cluster = cluster
        self.path = bench.path


def sleeper(bench, master, seconds):
    """A container that sleeps; the granted container and the process id."""
    granted = master.containers()[0]
    mark = bench.path("pid")
    master.run(f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep {seconds}", granted)
    pid = wait_for("the process", lambda: mark.exists() and mark.read_text().strip())
    return granted, pid


def running(pid):
    """Whether the process runs; one that waits only for its new parent to note its end does not."""
    return Process.runs(pid)


def node_dies_and_returns(bench):
    """Kills the only node under a container and starts it again; the container's end and process id."""
    cluster = bench.fresh_cluster()
    master = Master(OwnBench(bench, cluster), "node dies")
    granted, pid = sleeper(bench, master, 611)
    revival = cluster.kill_daemon("node1")
    require(running(pid), "the container died with its NodeManager")
    cluster.revive("node1", revival)
    status = master.end_of(granted["container"])
    fresh, again = sleeper(bench, master, 612)
    require(fresh["node"] == granted["node"], f"the node came back as {fresh['node']}")
    return cluster, status, pid, again


@check("daemons/node-killed")
def node_killed(bench):
    """A NodeManager that is killed and started again: its containers are reported lost, and it takes new ones."""
    cluster, status, pid, _ = node_dies_and_returns(bench)
    require(status["exit"] == -100, f"ended {status}")
    for process in processes():
        if str(process.pid) == pid:
            process.kill()
    cluster.stop()


@check("daemons/node-clears-predecessor", targets=HEDDLE)
def node_clears_predecessor(bench):
    """A starting NodeManager kills what its predecessor left running."""
    cluster, _, pid, again = node_dies_and_returns(bench)
    wait_for("the predecessor's container to end", lambda: not running(pid))
    require(running(again), "the new container was killed too")
    cluster.stop()


@check("daemons/node-stops")
def node_stops(bench):
    """A NodeManager that is told to stop ends its containers first."""
    cluster = bench.fresh_cluster()
    master = Master(OwnBench(bench, cluster), "node stops")
    _, pid = sleeper(bench, master, 613)
    cluster.daemon("node1").kill(15)
    wait_for("the container to end", lambda: not running(pid))
    cluster.stop()


@check("daemons/resourcemanager-restarts")
def resourcemanager_restarts(bench):
    """Without recovery, a new ResourceManager knows no application: the old master is told so at once, the node
    ends the old containers and works on."""
    cluster = bench.fresh_cluster()
    own = OwnBench(bench, cluster)
    master = Master(own, "master restarts")
    _, pid = sleeper(bench, master, 614)
    cluster.revive("rm", cluster.kill_daemon("rm"))

    def refusal():
        try:
            master.call("am.allocate", response_id=master.response_id)
        except RemoteError as error:
            # Nobody listens yet.
            return error if "ConnectException" not in error.chain else None
        raise AssertionError("the new ResourceManager took the old master's call")

    error = wait_for("the new ResourceManager", refusal)
    require_match(r"(SecretManager\$InvalidToken|ApplicationAttemptNotFoundException)", error.chain, "the exception")
    wait_for("the old container to end", lambda: not running(pid))
    unknown = refused(lambda: cluster.report(master.app))
    require(unknown.java_class.endswith("ApplicationNotFoundException"), f"the class is {unknown.java_class}")
    wait_for("the node to be back", lambda: [n for n in cluster.console("nodes") if n["state"] == "RUNNING"])
    with Master(own, "after the restart") as after:
        container = after.run("true")
        require(after.end_of(container)["exit"] == 0, f"ended {after.finished}")
    cluster.stop()


@check("daemons/stop-leaves-nothing")
def stop_leaves_nothing(bench):
    """After stop no process of daemons or containers is left, and a second stop is fine."""
    cluster = bench.fresh_cluster(nodes=2)
    master = Master(OwnBench(bench, cluster), "left running")
    pids = [sleeper(bench, master, 615)[1] for _ in range(2)]
    cluster.console("submit", command="exec sleep 616")
    require(all(running(pid) for pid in pids), "a container ended early")
    before = set(os.listdir("/tmp"))
    cluster.stop()
    wait_for("all processes to end", lambda: not cluster.leftovers(), 30)
    require(not any(running(pid) for pid in pids), "a container is left")
    cluster.stop()
    fresh = {name for name in set(os.listdir("/tmp")) - before if name.startswith(("heddle", "hadoop"))}
    require(not fresh, f"/tmp has {sorted(fresh)}")
