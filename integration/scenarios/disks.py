"""Disks that fill up: the node's state and its reason, containers meanwhile, and room again. A health script too."""

import json
import os
import subprocess
import time

from harness import Skip, fetch, require, require_match, wait_for
from scenarios.containers import Master
from scenarios.daemons import OwnBench, running, sleeper
from scenarios.registry import HEDDLE, check

SIZE_MIB = 64
CHECKER = "yarn.nodemanager.disk-health-checker."
# Nothing else but the disks and the scripts makes the node ill in these.
QUIET = {CHECKER + "enable": "false"}


class Disk:
    """A small file system of its own, with the local and the log directory of one node."""

    def __init__(self, bench, name):
        if os.geteuid() != 0:
            raise Skip("only root can mount a file system")
        self.path = bench.folder(name)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MIB}m,mode=1777", "heddle-disk", self.path],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Skip(f"no file system can be mounted: {done.stderr.strip()}")
        self.local, self.logs = self.path / "local", self.path / "userlogs"
        for folder in (self.local, self.logs):
            folder.mkdir()
            folder.chmod(0o777)

    def keys(self, **keys):
        """The keys of a node on this disk."""
        return {"yarn.nodemanager.local-dirs": self.local, "yarn.nodemanager.log-dirs": self.logs} | keys

    def fill(self, percent):
        """Fills the disk to so many per cent; 100 leaves not a byte."""
        ballast = self.path / "ballast"
        ballast.unlink(missing_ok=True)
        if percent:
            with open(ballast, "wb") as out:
                room = os.statvfs(self.path)
                wanted = (room.f_blocks * percent // 100 - (room.f_blocks - room.f_bfree)) * room.f_frsize
                try:
                    for _ in range(-(-wanted // (1 << 20))):
                        out.write(bytes(1 << 20))
                        out.flush()
                except OSError:
                    require(percent == 100, "the disk is full too early")

    def unmount(self):
        """Takes it away."""
        subprocess.run(["umount", "-l", self.path], check=False)


def node(cluster):
    """The only node as REST tells of it."""
    found = json.loads(fetch(f"http://{cluster.endpoints()['rm.http']}/ws/v1/cluster/nodes"))["nodes"]["node"]
    require(len(found) == 1, f"there are {len(found)} nodes")
    return found[0]


def node_is(cluster, state):
    """Waits until the node is in a state; the node."""
    return wait_for(f"the node to be {state}", lambda: (lambda n: n if n["state"] == state else None)(node(cluster)), 60)


def full(kind, path, limit):
    """Hadoop's sentence on one full directory."""
    return (f"1/1 {kind} usable space is below configured utilization percentage/no more usable space "
            f"[ {path} : used space above threshold of {limit}% ] ")


@check("disks/full-and-back")
def full_and_back(bench):
    """A node whose disk fills up is UNHEALTHY with Hadoop's report, loses its containers and gets no new ones; below the
    lower watermark it is healthy again."""
    disk = Disk(bench, "disk")
    try:
        cluster = bench.fresh_cluster(keys=disk.keys(**{
            CHECKER + "interval-ms": "1000", CHECKER + "max-disk-utilization-per-disk-percentage": "90",
            CHECKER + "disk-utilization-watermark-low-per-disk-percentage": "50"}))
        master = Master(OwnBench(bench, cluster), "full disk")
        container, pid = sleeper(bench, master, 617)
        disk.fill(95)
        report = node_is(cluster, "UNHEALTHY")["healthReport"]
        # Each check of a directory that is bad already goes by the lower mark.
        require_match("^" + full("local-dirs", disk.local, r"(90|50)\.0").replace("[ ", r"\[ ").replace(" ] ", r" \] ")
                      + "; " + full("log-dirs", disk.logs, r"(90|50)\.0").replace("[ ", r"\[ ").replace(" ] ", r" \] ")
                      + "?$", report, "the report")
        status = master.end_of(container["container"])
        require(status["exit"] == -100, f"ended {status}")
        wait_for("the process to end", lambda: not running(pid))
        granted = master.allocate(asks=[{"count": 1}])["allocated"]
        begun = time.monotonic()
        while time.monotonic() - begun < 3:
            granted += master.allocate()["allocated"]
        require(not granted, f"an unhealthy node was given {granted}")
        disk.fill(70)
        wait_for("the report of the lower mark",
                 lambda: node(cluster)["healthReport"].startswith(full("local-dirs", disk.local, "50.0")))
        require(node(cluster)["state"] == "UNHEALTHY", "the node came back above the lower mark")
        disk.fill(0)
        require(node_is(cluster, "RUNNING")["healthReport"].strip() == "", "a healthy node has a report")
        granted = wait_for("the container", lambda: master.allocate()["allocated"])
        container = master.run("true", granted[0])
        require(master.end_of(container)["exit"] == 0, f"ended {master.finished}")
        cluster.stop()
    finally:
        disk.unmount()


@check("disks/full-before-it-is-seen", targets=HEDDLE)
def full_before_it_is_seen(bench):
    """Containers on a disk that is full to the last byte, before any check has seen it, end with a clear reason; the
    NodeManager goes on, and with room again so does the next container."""
    disk = Disk(bench, "disk")
    source = bench.file("resource.bin", os.urandom(1 << 20))
    try:
        cluster = bench.fresh_cluster(keys=disk.keys(**{
            CHECKER + "interval-ms": "3600000", "yarn.nodemanager.delete.debug-delay-sec": "0"}))
        daemon = cluster.daemon("node1")
        master = Master(OwnBench(bench, cluster), "no byte left")
        before = master.run("true")
        require(master.end_of(before)["exit"] == 0, f"ended {master.finished}")
        disk.fill(100)
        for launch in ({}, {"resources": {"one": {"path": str(source)}}}):
            status = master.end_of(master.run("true", **launch))
            require(status["exit"] != 0, f"ended well on a full disk: {status}")
            require_match(r"No space left on device", status["diagnostics"], "the diagnostics")
        require(daemon.alive(), "the NodeManager ended")
        disk.fill(0)
        after = master.run("true")
        require(master.end_of(after)["exit"] == 0, f"ended {master.finished}")
        cluster.stop()
    finally:
        disk.unmount()


@check("disks/node-starts-on-a-full-disk", targets=HEDDLE)
def starts_on_a_full_disk(bench):
    """A NodeManager that starts on a full disk registers as UNHEALTHY, says why, and is of use when there is room."""
    disk = Disk(bench, "disk")
    try:
        cluster = bench.fresh_cluster(keys=disk.keys(**{CHECKER + "interval-ms": "1000"}))
        revival = cluster.kill_daemon("node1")
        disk.fill(100)
        cluster.revive("node1", revival)
        report = node_is(cluster, "UNHEALTHY")["healthReport"]
        require_match(r"1/1 local-dirs (usable space is below|have errors)", report, "the report")
        disk.fill(0)
        node_is(cluster, "RUNNING")
        with Master(OwnBench(bench, cluster), "room again") as master:
            require(master.end_of(master.run("true"))["exit"] == 0, f"ended {master.finished}")
        cluster.stop()
    finally:
        disk.unmount()


@check("disks/health-script")
def health_script(bench):
    """A health script that prints a line with ERROR makes the node UNHEALTHY with what it printed; an exit code does
    not."""
    says = bench.path("says")
    says.write_text("exit 3")
    script = bench.file("health.sh", f"#!/bin/bash\necho checked $1\n. {says}\n", 0o755)
    prefix = "yarn.nodemanager.health-checker."
    cluster = bench.fresh_cluster(keys=QUIET | {
        prefix + "script.path": script, prefix + "script.opts": "all", prefix + "interval-ms": "500"})
    require(node(cluster)["state"] == "RUNNING", "a script that fails is no sick node")
    says.write_text("echo ERROR the fan stands still")
    report = node_is(cluster, "UNHEALTHY")["healthReport"]
    require(report.strip() == "checked all\nERROR the fan stands still", f"the report is {report!r}")
    says.write_text("echo fine")
    node_is(cluster, "RUNNING")
    cluster.stop()


@check("disks/logs-expire")
def logs_expire(bench):
    """Logs of an ended application stay for yarn.nodemanager.log.retain-seconds."""
    return expire(bench, restart=False)


@check("disks/logs-expire-after-a-restart", targets=HEDDLE)
def logs_expire_after_a_restart(bench):
    """Logs that an earlier NodeManager left are deleted when their time is over."""
    return expire(bench, restart=True)


def expire(bench, restart):
    """Logs of one ended application until they are gone; says when."""
    logs = bench.folder("logs")
    logs.chmod(0o777)
    retain_s = 8
    cluster = bench.fresh_cluster(keys=QUIET | {
        "yarn.nodemanager.log-dirs": logs, "yarn.nodemanager.log.retain-seconds": str(retain_s)})
    with Master(OwnBench(bench, cluster), "logs expire") as master:
        container = master.run("echo here >&2")
        require(master.end_of(container)["exit"] == 0, f"ended {master.finished}")
    ended = time.monotonic()
    folder = logs / master.app
    require((folder / container / "prelaunch.out").exists(), f"{folder} has no logs")
    if restart:
        cluster.revive("node1", cluster.kill_daemon("node1"))
        wait_for("the node to be back", lambda: node(cluster)["state"] == "RUNNING")
        require(folder.exists(), "the logs went with the NodeManager")
    wait_for("the logs to go", lambda: not folder.exists(), 60)
    stayed = time.monotonic() - ended
    require(stayed > retain_s - 3, f"the logs stayed for {stayed:.1f} s of {retain_s}")
    cluster.stop()
    return f"after {stayed:.1f} s"
