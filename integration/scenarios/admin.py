"""What an administrator does with the stock `yarn rmadmin`, and what applications notice of it."""

import json
import re

import caches
from harness import END_STATES, fetch, processes, require, wait_for
from scenarios.registry import check

# A node that has stopped is asked after less than its usual ten minutes.
QUICK = {"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "250"}


def rmadmin(cluster, *words):
    """Exit code and output of a stock command, without the client's own log lines."""
    answer = cluster.console("cli", **{"class": "RMAdminCLI"}, args=list(words))
    lines = [line for line in answer["text"].splitlines() if not re.match(r"(\d{4}-|\d\d/\d\d/\d\d )", line)]
    return answer["rc"], "\n".join(lines)


def done(cluster, *words):
    """A command that must succeed; its output."""
    code, text = rmadmin(cluster, *words)
    require(code == 0, f"rmadmin {' '.join(words)} ended with {code}: {text}")
    return text


def node(cluster, number):
    """What clients see of node number `number`, from 1."""
    host = cluster.node_hosts()[number - 1]
    found = [n for n in cluster.console("nodes") if n["node"].startswith(f"{host}:")]
    require(len(found) == 1, f"{host} is there {len(found)} times")
    return found[0]


def node_is(cluster, number, state):
    """Waits until a node is in a state; the node."""
    return wait_for(f"node {number} to be {state}",
                    lambda: (lambda n: n if n["state"] == state else None)(node(cluster, number)))


class Keeper:
    """A running application whose master is integration/java/KeepAm.java."""

    def __init__(self, bench, cluster, containers=1, memory=512, **fields):
        self.cluster = cluster
        self.folder = bench.folder("keep")
        classes, jars = caches.test_classes(), caches.spark_home() / "jars"
        command = (f"{{{{JAVA_HOME}}}}/bin/java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "
                   f"-cp {cluster.directory}/client-conf:{classes}:{jars}/* KeepAm {containers} {memory} "
                   f"'exec sleep 620' {self.folder} 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr")
        self.app = cluster.console("submit", memory=512, command=command, **({"attempts": 4} | fields))["app"]
        self.end = "FINISHED"
        self.started = self.lines(1, "started", containers)

    def lines(self, attempt, word, count=1):
        """Waits for so many lines of an attempt that begin with a word; what follows it in each."""
        def probe():
            try:
                text = (self.folder / f"news.{attempt}").read_text()
            except OSError:
                text = ""
            found = [line.partition(" ")[2] for line in text.splitlines() if line.startswith(f"{word} ")]
            return found if len(found) >= count else None

        return wait_for(f"{count} lines '{word}' of attempt {attempt}", probe)

    def crash(self, attempt):
        """Ends an attempt's master."""
        (self.folder / f"crash.{attempt}").touch()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        (self.folder / "finish").touch()
        if kind is None:
            self.cluster.wait_state(self.app, {self.end})


@check("admin/decommission-graceful")
def decommission_graceful(bench):
    """rmadmin -refreshNodes -g: the node is DECOMMISSIONING while its application runs, masters are told with a
    full report, and it is DECOMMISSIONED when the application has ended; recommissioned when not excluded."""
    exclude = bench.file("exclude", "")
    cluster = bench.fresh_cluster(nodes=1, keys=QUICK | {"yarn.resourcemanager.nodes.exclude-path": str(exclude)})
    host = cluster.node_hosts()[0]
    with Keeper(bench, cluster) as keeper:
        exclude.write_text(f"{host}\n")
        done(cluster, "-refreshNodes", "-g", "600", "-server")
        going = node_is(cluster, 1, "DECOMMISSIONING")
        require(going["decommissioning_timeout"] == 600, f"the node has {going}")
        told = wait_for("the master to be told", lambda: [
            line for line in keeper.lines(1, "node") if "DECOMMISSIONING" in line])[0]
        require(re.fullmatch(rf"{re.escape(host)}:\d+ DECOMMISSIONING NODE_DECOMMISSIONING 600 2 \d+", told),
                f"the master was told {told}")
        exclude.write_text("")
        done(cluster, "-refreshNodes", "-g", "600", "-server")
        back = node_is(cluster, 1, "RUNNING")
        require(back["memory_mb"] == 8192, f"it came back as {back}")
        exclude.write_text(f"{host}\n")
        done(cluster, "-refreshNodes", "-g", "-server")
        going = node_is(cluster, 1, "DECOMMISSIONING")
        require(going["decommissioning_timeout"] is None, f"without a time the client says for ever, not {going}")
        # What is free there is nobody's any more.
        wait_for("the node to offer what is held", lambda: node(cluster, 1)["memory_mb"] == 1024)
    node_is(cluster, 1, "DECOMMISSIONED")


@check("admin/decommission-client")
def decommission_client(bench):
    """rmadmin -refreshNodes -g TIMEOUT -client waits, prints what stock prints, and the node goes with what it runs
    at the timeout."""
    exclude = bench.file("exclude", "")
    cluster = bench.fresh_cluster(nodes=1, keys=QUICK | {"yarn.resourcemanager.nodes.exclude-path": str(exclude)})
    host = cluster.node_hosts()[0]
    mark = bench.path("mark")
    app = cluster.console("submit", command=f"sleep 2 && touch {mark} && sleep 600", attempts=1)["app"]
    wait_for("its master to run", mark.exists)
    exclude.write_text(f"{host}\n")
    text = done(cluster, "-refreshNodes", "-g", "4", "-client")
    require(re.search(rf"^Nodes '{re.escape(host)}:\d+' are still decommissioning\.$", text, re.MULTILINE),
            f"it printed {text}")
    require(re.search(r"^Graceful decommissioning completed in \d+ seconds\.$", text, re.MULTILINE),
            f"it printed {text}")
    node_is(cluster, 1, "DECOMMISSIONED")
    cluster.console("kill", app=app)


@check("admin/decommission-xml")
def decommission_xml(bench):
    """An XML exclude file: each host goes in its own time; without -g all go at once."""
    folder = bench.folder("lists")
    exclude = folder / "exclude.xml"
    exclude.write_text("<?xml version='1.0'?>\n<hosts/>\n")
    exclude.chmod(0o644)
    cluster = bench.fresh_cluster(nodes=1, keys=QUICK | {"yarn.resourcemanager.nodes.exclude-path": str(exclude)})
    host = cluster.node_hosts()[0]
    with Keeper(bench, cluster) as keeper:
        exclude.write_text(f"<hosts><host><name>elsewhere, {host}</name><timeout>77</timeout></host></hosts>")
        done(cluster, "-refreshNodes", "-g", "500", "-server")
        node_is(cluster, 1, "DECOMMISSIONING")
        told = wait_for("the master to be told", lambda: [
            line for line in keeper.lines(1, "node") if "DECOMMISSIONING" in line])[0]
        require(" 77 " in told, f"the master was told {told}")
        exclude.write_text("<hosts/>")
        done(cluster, "-refreshNodes")
        node_is(cluster, 1, "RUNNING")
    exclude.write_text(f"<hosts><host><name>{host}</name></host></hosts>")
    done(cluster, "-refreshNodes")
    node_is(cluster, 1, "DECOMMISSIONED")


@check("admin/node-resource")
def node_resource(bench):
    """rmadmin -updateNodeResource: what a node offers changes; what runs beyond it stays, or is announced to its
    master and ends with -102 as the timeout says; an unknown node is refused in Hadoop's words."""
    cluster = bench.fresh_cluster(nodes=1, keys=QUICK)
    name = node(cluster, 1)["node"]
    with Keeper(bench, cluster, containers=3, memory=1024) as keeper:
        done(cluster, "-updateNodeResource", name, "2048", "8", "-1")
        wait_for("the node to be smaller", lambda: node(cluster, 1)["memory_mb"] == 2048)
        require(node(cluster, 1)["containers"] == 4, "a container ended")
        done(cluster, "-updateNodeResource", name, "3000", "8", "2000")
        newest = max(keeper.started)
        require(keeper.lines(1, "preempting") == [newest], "the newest was not announced")
        require(keeper.lines(1, "completed") == [f"{newest} -102"], "the newest did not end with -102")
        wait_for("the container to be gone", lambda: node(cluster, 1)["containers"] == 3)
        code, text = rmadmin(cluster, "-updateNodeResource", "nowhere:1", "1024", "1")
        require(code != 0 and "Resource update get failed on all nodes due to change resource on an unrecognized "
                "node: nowhere:1" in text, f"it ended with {code}: {text}")
        done(cluster, "-updateNodeResource", name, "memory-mb=4096Mi,vcores=6")
        grown = wait_for("the node to be larger", lambda: (
            lambda n: n if n["memory_mb"] == 4096 else None)(node(cluster, 1)))
        require(grown["resources"]["vcores"] == 6, f"the node is {grown}")


@check("admin/node-resource-types")
def node_resource_types(bench):
    """rmadmin -updateNodeResource with a type of the cluster's own: the type is set by name, and is none where the
    command names memory and vcores alone."""
    cluster = bench.fresh_cluster(nodes=1, keys=QUICK | {"yarn.nodemanager.resource-type.yarn.io/gpu": "5"})
    name = node(cluster, 1)["node"]
    offered = node(cluster, 1)["resources"]
    require(offered["yarn.io/gpu"] == 5, f"the node offers {offered}")
    for words, count in [(["memory-mb=4096Mi,vcores=4,yarn.io/gpu=3"], 3), (["5120", "4"], 0)]:
        done(cluster, "-updateNodeResource", name, *words)
        changed = wait_for("the node to change", lambda: (
            lambda n: n if n["resources"] != offered else None)(node(cluster, 1)))
        offered = changed["resources"]
        require(offered["yarn.io/gpu"] == count, f"after {words} the node offers {offered}")


@check("admin/dynamic-resources")
def dynamic_resources(bench):
    """rmadmin -refreshNodesResources reads dynamic-resources.xml."""
    cluster = bench.fresh_cluster(nodes=1, keys=QUICK)
    name = node(cluster, 1)["node"]
    values = {"nodes": name, f"{name}.memory": "3072", f"{name}.vcores": "3"}
    properties = "".join(f"<property><name>yarn.resource.dynamic.{k}</name><value>{v}</value></property>"
                         for k, v in values.items())
    file = cluster.directory / "rm-conf" / "dynamic-resources.xml"
    file.write_text(f"<configuration>{properties}</configuration>")
    file.chmod(0o644)
    done(cluster, "-refreshNodesResources")
    smaller = wait_for("the node to be smaller", lambda: (
        lambda n: n if n["memory_mb"] == 3072 else None)(node(cluster, 1)))
    require(smaller["resources"]["vcores"] == 3, f"the node is {smaller}")


@check("admin/refreshes")
def refreshes(bench):
    """The other refreshes of rmadmin succeed and print nothing, -refreshServiceAcl says that authorization is off,
    -getGroups lists groups."""
    cluster = bench.cluster
    for word in ["-refreshQueues", "-refreshNodes", "-refreshSuperUserGroupsConfiguration",
                 "-refreshUserToGroupsMappings", "-refreshAdminAcls", "-refreshClusterMaxPriority",
                 "-refreshNodesResources"]:
        text = done(cluster, word)
        require(text == "", f"{word} printed {text}")
    code, text = rmadmin(cluster, "-refreshServiceAcl")
    require(code != 0, "-refreshServiceAcl succeeded")
    require("java.io.IOException: Service Authorization (hadoop.security.authorization) not enabled." in text,
            f"it printed {text}")
    text = done(cluster, "-getGroups", "root")
    require(text.startswith("root : root"), f"it printed {text}")


@check("admin/keep-containers")
def keep_containers(bench):
    """keep_containers_across_application_attempts: containers outlive their master, the next one gets them with
    tokens for their nodes and hears of the one that ended meanwhile; the master's own container is not kept."""
    cluster = bench.fresh_cluster(nodes=2, keys=QUICK)
    with Keeper(bench, cluster, containers=3, keep=True, attempts=2) as keeper:
        keeper.crash(1)
        kept = sorted(keeper.lines(2, "kept", 3))
        require(kept == sorted(f"{c} RUNNING" for c in keeper.started), f"the second master got {kept}")
        tokens = int(keeper.lines(2, "tokens")[0])
        require(1 <= tokens <= 2, f"the second master got {tokens} tokens")
        gone = keeper.started[0]
        for process in processes():
            if process.environment.get("CONTAINER_ID") == gone and process.command[0] == "sleep":
                process.kill()
        require(keeper.lines(2, "completed")[0].startswith(f"{gone} "), "the second master heard of another")
        keeper.crash(2)
        report = cluster.wait_state(keeper.app, END_STATES)
        require(report["state"] == "FAILED", f"it ended {report}")
        keeper.end = "FAILED"
        wait_for("the nodes to be idle", lambda: not any(n["containers"] for n in cluster.console("nodes")))


@check("admin/master-keeps-off-a-bad-node")
def master_keeps_off_a_bad_node(bench):
    """With am-scheduling.node-blacklisting each attempt of a failing application is tried on another node."""
    prefix = "yarn.resourcemanager.am-scheduling.node-blacklisting"
    cluster = bench.fresh_cluster(nodes=3, keys=QUICK | {f"{prefix}-enabled": "true",
                                                         f"{prefix}-disable-threshold": "0.9",
                                                         "yarn.resourcemanager.am.max-attempts": "3"})
    app = cluster.console("submit", command="exit 1", attempts=3)["app"]
    cluster.wait_state(app, {"FAILED"})
    url = f"http://{cluster.endpoints()['rm.http']}/ws/v1/cluster/apps/{app}/appattempts"
    attempts = json.loads(fetch(url))["appAttempts"]["appAttempt"]
    hosts = [a["nodeId"].rpartition(":")[0] for a in attempts]
    require(len(hosts) == 3 and len(set(hosts)) == 3, f"its masters ran on {hosts}")
