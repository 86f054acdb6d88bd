"""The stock CLI classes, compared with golden texts that the stock pair printed.

Ids, times, ports, sizes that depend on timing, and the node that a container
happens to run on are replaced by their kind; every other letter counts.
"""

import difflib
import os
import re

import caches
from harness import END_STATES, require, wait_for
from scenarios.registry import check

GOLDEN = caches.HERE / "golden"
UNKNOWN = "application_1000000000000_0404"


def normalised(bench, text):
    """The text with what differs from run to run replaced by its kind."""
    ends = bench.cluster.endpoints()
    for name in sorted(ends):
        if name.startswith("node"):
            text = text.replace(ends[name], f"<node>:<{name.partition('.')[2]}>")
    for host in bench.cluster.node_hosts():
        text = text.replace(host, "<node>")
    # The ResourceManager may be called by the name or by the address of this machine.
    text = re.sub(rf"(localhost|127\.0\.0\.1|{re.escape(os.uname().nodename)}):{ends['rm.http'].rpartition(':')[2]}",
                  "<rm>:<http>", text)
    rules = [
        (rf"{UNKNOWN}", "<unknown app>"),
        (r"appattempt_\d{13}_\d{4,}_(\d{6})", r"<attempt \1>"),
        (r"container_\d{13}_\d{4,}_(\d\d)_(\d{6})", r"<container \1 \2>"),
        (r"application_\d{13}_\d{4,}", "<app>"),
        (r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d [+-]\d{4} \d{4}", "<date>"),
        (r"\w{3} \d\d/\w{3}/\d\d \d\d:\d\d:\d\d:\d{1,3}[A-Z]{3,4}", "<date>"),
        (r"\b\d{13}\b", "<ms>"),
        (r"Allocation : \d+ MB-seconds, \d+ vcore-seconds", "Allocation : <n> MB-seconds, <n> vcore-seconds"),
        (r"PMem:\d+ MB, VMem:\d+ MB, VCores:[\d.]+", "PMem:<n> MB, VMem:<n> MB, VCores:<n>"),
        # Column widths are the client's business, and fixed there.
        (r"[ \t]+", " "),
        (r"-{5,}", "-----"),
    ]
    for pattern, kind in rules:
        text = re.sub(pattern, kind, text)
    user = bench.cluster.report(bench.cli_app)["user"]
    return re.sub(rf"\b{re.escape(user)}\b", "<user>", text)


class Transcript:
    """Commands and what they printed."""

    def __init__(self, bench):
        self.bench = bench
        self.text = ""

    def run(self, name, *args, blocks=None):
        """Runs a command; `blocks` begins each of several blocks whose order is not defined."""
        answer = self.bench.cluster.console("cli", **{"class": name}, args=list(args))
        printed = normalised(self.bench, answer["text"])
        if blocks:
            head, *parts = re.split(rf"(?m)^(?={blocks})", printed)
            printed = head + "".join(sorted(parts))
        self.text += f"$ {name} {normalised(self.bench, ' '.join(args))}\n{printed}[rc={answer['rc']}]\n"

    def compare(self, name):
        """Fails with the first differences from the golden text."""
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("HEDDLE_GOLDEN_WRITE"):
            path.write_text(self.text, encoding="utf-8")
        golden = path.read_text(encoding="utf-8")
        diff = list(difflib.unified_diff(golden.splitlines(), self.text.splitlines(), "stock", "ours",
                                         lineterm="", n=1))
        (self.bench.logs / f"cli-{name}.diff").write_text("\n".join(diff) + "\n", encoding="utf-8")
        changed = [line for line in diff[2:] if line[0] in "+-"]
        require(not diff, f"{len(changed)} lines differ: {' | '.join(changed[:6])}")


def probe_app(bench, finish, containers=1):
    """A running application of Hadoop's client libraries: a master and its containers."""
    classes, jars = caches.test_classes(), caches.spark_home() / "jars"
    command = (f"{{{{JAVA_HOME}}}}/bin/java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "
               f"-cp {bench.cluster.directory}/client-conf:{classes}:{jars}/* MiniAm {containers} 512 "
               f"'exec sleep 620' {finish} 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr")
    console = bench.cluster.console
    app = console("submit", name="golden app", type="PROBE", queue="root.gpu", memory=1024, attempts=1,
                  command=command)["app"]
    bench.cli_app = app
    bench.cluster.wait_state(app, {"RUNNING"})
    attempt = bench.cluster.report(app)["attempt"]
    wait_for("its containers", lambda: len([c for c in console("containers", attempt=attempt)
                                            if c["state"] == "RUNNING"]) == containers + 1)
    return app, attempt


def no_containers(bench):
    """Waits until no node has a container, so that lists are comparable."""
    wait_for("the nodes to be idle", lambda: not any(n["containers"] for n in bench.cluster.console("nodes")))


@check("cli/application")
def application(bench):
    """application, applicationattempt and container: list and status, while it runs and after."""
    no_containers(bench)
    finish = bench.path("finish")
    app, attempt = probe_app(bench, finish)
    try:
        log = Transcript(bench)
        rows = bench.cluster.console("containers", attempt=attempt)
        second = sorted(r["container"] for r in rows)[1]
        log.run("ApplicationCLI", "application", "-list")
        log.run("ApplicationCLI", "application", "-list", "-appStates", "RUNNING", "-appTypes", "PROBE")
        log.run("ApplicationCLI", "application", "-list", "-appStates", "FOO")
        log.run("ApplicationCLI", "application", "-status", app)
        log.run("ApplicationCLI", "application", "-status", UNKNOWN)
        log.run("ApplicationCLI", "application", "-kill", UNKNOWN)
        log.run("ApplicationCLI", "applicationattempt", "-list", app)
        log.run("ApplicationCLI", "applicationattempt", "-status", attempt)
        log.run("ApplicationCLI", "container", "-list", attempt, blocks="<container")
        log.run("ApplicationCLI", "container", "-status", second)
    finally:
        finish.touch()
    bench.cluster.wait_state(app, {"FINISHED"})
    no_containers(bench)
    log.run("ApplicationCLI", "application", "-status", app)
    log.run("ApplicationCLI", "applicationattempt", "-list", app)
    log.run("ApplicationCLI", "applicationattempt", "-status", attempt)
    log.run("ApplicationCLI", "application", "-kill", app)
    log.compare("application")


@check("cli/application-list-all")
def application_list_all(bench):
    """application -list -appStates ALL has a line for every application, ended ones included."""
    console = bench.cluster.console
    finished = console("submit", name="short", command="exit 1", attempts=1)["app"]
    bench.cluster.wait_state(finished, END_STATES)
    text = console("cli", **{"class": "ApplicationCLI"}, args=["application", "-list", "-appStates", "ALL"])["text"]
    lines = text.splitlines()
    found = re.fullmatch(r"Total number of applications \(application-types: \[\], states: \[NEW, NEW_SAVING, "
                         r"SUBMITTED, ACCEPTED, RUNNING, FINISHED, FAILED, KILLED\] and tags: \[\]\):(\d+)", lines[0])
    require(found, f"the first line is {lines[0]}")
    require(int(found[1]) == len(lines) - 2, f"{found[1]} applications in {len(lines) - 2} lines")
    row = [line.split("\t") for line in lines if line.startswith(finished)]
    require(len(row) == 1, f"{finished} is in {len(row)} lines")
    cells = [cell.strip() for cell in row[0]]
    require(cells[1:3] == ["short", "PROBE"] and cells[5:8] == ["FAILED", "FAILED", "0%"], f"its line is {cells}")


@check("cli/kill")
def kill(bench):
    """application -kill of a running application."""
    console = bench.cluster.console
    app = console("submit", name="to kill", command="exec sleep 621", attempts=1)["app"]
    bench.cli_app = app
    # Progress is that of a master that was launched.
    wait_for("its master", lambda: [one["state"] for one in console("attempts", app=app)] == ["LAUNCHED"])
    log = Transcript(bench)
    log.run("ApplicationCLI", "application", "-kill", app)
    bench.cluster.wait_state(app, {"KILLED"})
    log.run("ApplicationCLI", "application", "-status", app)
    log.run("ApplicationCLI", "application", "-kill", app)
    log.compare("kill")


@check("cli/node")
def node(bench):
    """node -list, -all -showDetails and -status on idle nodes, and an unknown node."""
    bench.cli_app = bench.cluster.console("submit", name="user", command="exit 1", attempts=1)["app"]
    bench.cluster.wait_state(bench.cli_app, END_STATES)
    no_containers(bench)
    log = Transcript(bench)
    log.run("NodeCLI", "-list", blocks="<node>")
    log.run("NodeCLI", "-list", "-all", "-showDetails", blocks="<node>")
    log.run("NodeCLI", "-list", "-states", "LOST")
    log.run("NodeCLI", "-status", bench.cluster.endpoints()["node1.rpc"])
    log.run("NodeCLI", "-status", "nowhere:1")
    log.compare("node")


@check("cli/node-in-use")
def node_in_use(bench):
    """node -list and -status count what runs: containers, memory and vcores over all nodes."""
    no_containers(bench)
    finish = bench.path("finish")
    app, _ = probe_app(bench, finish, containers=2)
    try:
        cli = bench.cluster.console
        count, memory, cores = 0, 0, 0
        for name, address in bench.cluster.endpoints().items():
            if re.fullmatch(r"node\d+\.rpc", name):
                text = cli("cli", **{"class": "NodeCLI"}, args=["-status", address])["text"]
                count += int(re.search(r"Containers : (\d+)", text)[1])
                memory += int(re.search(r"Memory-Used : (\d+)MB", text)[1])
                cores += int(re.search(r"CPU-Used : (\d+) vcores", text)[1])
        require((count, memory, cores) == (3, 2048, 3), f"{count} containers, {memory} MiB, {cores} vcores")
    finally:
        finish.touch()
    bench.cluster.wait_state(app, {"FINISHED"})


@check("cli/queue")
def queue(bench):
    """queue -status by name and by path, an unknown queue, and queue -list."""
    bench.cli_app = bench.cluster.console("submit", name="user", command="exit 1", attempts=1)["app"]
    bench.cluster.wait_state(bench.cli_app, END_STATES)
    no_containers(bench)
    log = Transcript(bench)
    for name in ["root", "default", "root.gpu", "nope"]:
        log.run("QueueCLI", "-status", name)
    log.run("QueueCLI", "-list", "all")
    log.run("QueueCLI", "-list", "root")
    log.compare("queue")


@check("cli/queue-in-use")
def queue_in_use(bench):
    """queue -status tells the share in use of the queue's capacity."""
    no_containers(bench)
    finish = bench.path("finish")
    app, _ = probe_app(bench, finish, containers=1)
    try:
        text = bench.cluster.console("cli", **{"class": "QueueCLI"}, args=["-status", "root.gpu"])["text"]
        # Two vcores of the eight that are half of the cluster; memory is the lesser share, 1.5 of 8 GiB.
        require("Current Capacity : 25.00%" in text, f"the queue is {text}")
    finally:
        finish.touch()
    bench.cluster.wait_state(app, {"FINISHED"})
