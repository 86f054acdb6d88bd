"""Changes of running applications by the stock CLI: queue, priority, lifetime; what it says, and what follows."""

import json
import re
import time

from harness import RemoteError, require, require_match, wait_for
from scenarios.acls import LISTS, as_user, ask
from scenarios.cli import UNKNOWN, Transcript, normalised
from scenarios.clients import app_of, queue_of
from scenarios.containers import Master
from scenarios.daemons import OwnBench, running
from scenarios.registry import check

CAPACITY = "yarn.scheduler.capacity."
SIZE_MB = 512
# One node of four containers; lifetimes are looked at often.
KEYS = {
    "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "100",
    "yarn.resourcemanager.application-timeouts.monitor.interval-ms": "100",
    "yarn.cluster.max-application-priority": "10",
    "yarn.nodemanager.resource.memory-mb": str(4 * SIZE_MB),
    f"{CAPACITY}root.gpu.user-limit-factor": "10",
    f"{CAPACITY}root.default.user-limit-factor": "10",
    # nothing that a small cluster has keeps an unmanaged master waiting
    f"{CAPACITY}maximum-am-resource-percent": "1.0",
}
OVER = "Application is killed by ResourceManager as it has exceeded the lifetime period."


class Changes(Transcript):
    """Commands, what they printed, and the exceptions that the client would die of."""

    def run(self, name, *args, blocks=None):
        try:
            super().run(name, *args, blocks=blocks)
        except RemoteError as error:
            said = normalised(self.bench, error.message)
            self.text += f"$ {name} {normalised(self.bench, ' '.join(args))}\n{error.java_class}: {said}\n"
        self.text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0000", "<time>", self.text)
        self.text = re.sub(r"RemainingTime : \d+seconds", "RemainingTime : <n>seconds", self.text)


class RestChanges(Changes):
    """Requests to the ResourceManager's REST and what it answered."""

    def send(self, method, path, body=None):
        """Notes a request of the application's owner, and the answer."""
        url = f"http://{self.bench.cluster.endpoints()['rm.http']}/ws/v1/cluster/{path}"
        status, text, headers = ask(url, "nobody", method, body, {"Content-Type": "application/json"} if body else None)
        kind = "text"  # which stock Hadoop calls JSON
        if text.startswith("{"):
            kind = headers.get("Content-Type")
            text = json.dumps(json.loads(text), sort_keys=True)
        text = re.sub(r'"remainingTimeInSeconds": \d+', '"remainingTimeInSeconds": <n>', text)
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0000", "<time>", text)
        request = normalised(self.bench, f"{method} {path} {body or ''}".strip())
        self.text += f"$ {request}\n{status} {kind}\n{normalised(self.bench, text)}\n"


def application(cluster, *words):
    """`yarn application`; what it printed. Its exit code must be 0."""
    answer = cluster.console("cli", **{"class": "ApplicationCLI"}, args=["application", *words])
    require(answer["rc"] == 0, f"application {' '.join(words)} ended with {answer}")
    return answer["text"]


@check("cli/change")
def change(bench):
    """-movetoqueue and -changeQueue, -updatePriority, -updateLifetime: of a running application, of one that ended, of
    one that nobody knows; queues, priorities and times that there are not."""
    cluster = bench.fresh_cluster(keys=KEYS)
    own = OwnBench(bench, cluster)

    def all_three(log, app):
        log.run("ApplicationCLI", "application", "-movetoqueue", app, "-queue", "default")
        log.run("ApplicationCLI", "application", "-appId", app, "-changeQueue", "default")
        log.run("ApplicationCLI", "application", "-appId", app, "-updatePriority", "3")
        log.run("ApplicationCLI", "application", "-appId", app, "-updateLifetime", "600")

    with Master(own, "to change") as master:
        own.cli_app, own.logs = master.app, bench.logs
        log = Changes(own)
        for queue in ("nowhere", "root", "root.default.below", ""):
            log.run("ApplicationCLI", "application", "-movetoqueue", master.app, "-queue", queue)
        for priority in ("11", "-1", "much"):
            log.run("ApplicationCLI", "application", "-appId", master.app, "-updatePriority", priority)
        for lifetime in ("-1", "-600", "much"):
            log.run("ApplicationCLI", "application", "-appId", master.app, "-updateLifetime", lifetime)
        all_three(log, master.app)
        log.run("ApplicationCLI", "application", "-status", master.app)
        all_three(log, UNKNOWN)
    cluster.wait_state(master.app, {"FINISHED"})
    all_three(log, master.app)
    log.run("ApplicationCLI", "application", "-status", master.app)
    cluster.stop()
    log.compare("change")


# Paths below an application and what is put there.
PUTS = [
    ("queue", '{"queue":"default"}'), ("queue", '{"queue":"root.gpu"}'), ("queue", "much"),
    ("priority", '{"priority":3}'), ("priority", '{"priority":11}'), ("priority", '{"priority":-1}'),
    ("timeout", '{"timeout":{"type":"LIFETIME","expiryTime":"2999-01-01T00:00:00.000+0000"}}'),
]
# What a stock ResourceManager answers with 503, or takes for 0, and what Heddle says to it.
MISTAKES = [
    ("queue", '{"queue":"nowhere"}', "The specified Queue: nowhere doesn't exist"),
    ("queue", '{"queue":"root"}', "The specified Queue: root is not a Leaf Queue."),
    ("priority", '{"priority":"much"}', "WebApplicationException"),
    ("timeout", '{"timeout":{"type":"LIFETIME","expiryTime":"1999-01-01T00:00:00.000+0000"}}',
     "Expire time is less than current time, "),
    ("timeout", '{"timeout":{"type":"LIFETIME","expiryTime":"soon"}}', "Configured timeout value is soon"),
    ("timeout", '{"timeout":{"type":"LIFETIME"}}', "Timeout type or ExpiryTime is null."),
]


@check("rest/change")
def change_by_rest(bench):
    """Queue, priority and lifetime over REST: of a running application, of one that ended, of one that nobody knows;
    who may use a queue."""
    cluster = bench.fresh_cluster(keys=KEYS)
    own = OwnBench(bench, cluster)

    def all_of(log, app):
        for path in ("queue", "priority", "timeouts", "timeouts/LIFETIME", "timeouts/much"):
            log.send("GET", f"apps/{app}/{path}")
        for path, body in PUTS:
            log.send("PUT", f"apps/{app}/{path}", body)

    with Master(own, "to change") as master:
        own.cli_app, own.logs = master.app, bench.logs
        log = RestChanges(own)
        all_of(log, master.app)
        all_of(log, UNKNOWN)
        log.send("GET", "apps/much/queue")
        for asked in ("root.gpu", "gpu", "nowhere"):
            log.send("GET", f"queues/{asked}/access")
        if bench.target == "heddle":
            before = app_of(cluster, master.app)
            for path, body, why in MISTAKES:
                url = f"http://{cluster.endpoints()['rm.http']}/ws/v1/cluster/apps/{master.app}/{path}"
                status, text, _ = ask(url, "nobody", "PUT", body, {"Content-Type": "application/json"})
                require(status == 400 and why in text, f"{path} {body}: {status} {text}")
            after = app_of(cluster, master.app)
            require(all(before[key] == after[key] for key in ("queue", "priority")), f"{before} became {after}")
    cluster.wait_state(master.app, {"FINISHED"})
    all_of(log, master.app)
    cluster.stop()
    log.compare("change-rest")


def held_mb(cluster):
    """Memory in use of gpu and of default."""
    return [queue_of(cluster, f"root.{name}")["resourcesUsed"]["memory"] for name in ("gpu", "default")]


@check("cli/change-queue")
def change_queue(bench):
    """An application that moves takes its containers and its asks along, is counted there and served from there; a
    queue that is full of applications lets none in, and nothing changes."""
    cluster = bench.fresh_cluster(keys=KEYS | {
        f"{CAPACITY}root.gpu.maximum-capacity": "50", f"{CAPACITY}root.default.maximum-capacity": "75",
        f"{CAPACITY}root.default.maximum-applications": "1"})
    own = OwnBench(bench, cluster)
    with Master(own, "moves", "gpu") as master:
        master.containers(2, memory=SIZE_MB)
        # the queue may have no more than half of the node
        master.allocate(asks=[{"count": 2, "memory": SIZE_MB}])
        require(held_mb(cluster) == [2 * SIZE_MB, 0], f"the queues have {held_mb(cluster)} MiB")
        with Master(own, "in the way", "default"):
            try:
                text = application(cluster, "-movetoqueue", master.app, "-queue", "default")
            except RemoteError as error:
                text = error.message
            refusal = f"Queue root.default already has 1 applications, cannot accept submission of application: {master.app}"
            require(refusal in text, f"the move printed {text}")
            require(app_of(cluster, master.app)["queue"] == "root.gpu", f"it is in {app_of(cluster, master.app)['queue']}")
        wait_for("room for an application", lambda: queue_of(cluster, "root.default")["numApplications"] == 0)
        text = application(cluster, "-movetoqueue", master.app, "-queue", "default")
        require("Successfully completed move." in text, f"the move printed {text}")
        granted = wait_for("what the new queue has more", lambda: master.allocate()["allocated"])
        require(len(granted) == 1, f"granted {granted}")
        wait_for("the use of both queues", lambda: held_mb(cluster) == [0, 3 * SIZE_MB])
        told = app_of(cluster, master.app)
        require((told["queue"], told["runningContainers"]) == ("root.default", 3), f"it is told as {told}")
        counts = [queue_of(cluster, f"root.{name}")["numApplications"] for name in ("gpu", "default")]
        require(counts == [0, 1], f"the queues count {counts} applications")
        listed = application(cluster, "-list")
        require_match(rf"{master.app}\s.*root\.default", listed, "the list")
    cluster.stop()


@check("cli/update-priority")
def update_priority(bench):
    """The application whose priority is raised gets what is given back before one that waits for longer, and its
    master is told its priority."""
    cluster = bench.fresh_cluster(keys=KEYS | {f"{CAPACITY}root.gpu.maximum-capacity": "100"})
    own = OwnBench(bench, cluster)
    with Master(own, "holds", "gpu") as holder, Master(own, "first", "gpu") as first, Master(own, "second", "gpu") as second:
        held = [one["container"] for one in holder.containers(4, memory=SIZE_MB)]
        for waiting in (first, second):
            waiting.allocate(asks=[{"count": 1, "memory": SIZE_MB}])
        require(second.allocate()["priority"] == 0, "the priority was not 0")
        text = application(cluster, "-appId", second.app, "-updatePriority", "7")
        require_match(rf"Successfully updated the application {second.app} with priority '7'", text, "the change")
        require(app_of(cluster, second.app)["priority"] == 7, f"it is told as {app_of(cluster, second.app)}")
        wait_for("the master to be told", lambda: second.allocate()["priority"] == 7)
        holder.allocate(release=held[:1])
        granted = {}

        def probe():
            for name, one in (("first", first), ("second", second)):
                granted[name] = granted.get(name, 0) + len(one.allocate()["allocated"])
            return sum(granted.values())

        wait_for("the container that was given back", probe)
        require(granted == {"first": 0, "second": 1}, f"granted {granted}")
        holder.allocate(release=held[1:2])
        wait_for("the other", lambda: probe() == 2)
        require(granted == {"first": 1, "second": 1}, f"granted {granted}")
    cluster.stop()


def timeout_of(cluster, app):
    """The application's one timeout."""
    timeouts = app_of(cluster, app)["timeouts"]["timeout"]
    require([one["type"] for one in timeouts] == ["LIFETIME"], f"the timeouts are {timeouts}")
    return timeouts[0]


@check("cli/update-lifetime")
def update_lifetime(bench):
    """An application that gets a lifetime is told with it and is killed when it is over, with its containers; one
    whose lifetime is put off lives on."""
    cluster = bench.fresh_cluster(keys=KEYS)
    console = cluster.console
    mark = bench.path("pid")
    short = console("submit", memory=SIZE_MB, queue="gpu",
                    command=f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 620")["app"]
    with Master(OwnBench(bench, cluster), "long", "gpu") as long:
        pid = wait_for("the process", lambda: mark.exists() and mark.read_text().strip())
        require(timeout_of(cluster, short)["expiryTime"] == "UNLIMITED", f"its timeout is {timeout_of(cluster, short)}")
        application(cluster, "-appId", long.app, "-updateLifetime", "8")
        remaining = timeout_of(cluster, long.app)["remainingTimeInSeconds"]
        require(0 <= remaining <= 8, f"the other has {remaining} s")
        over = time.monotonic() + 8
        application(cluster, "-appId", long.app, "-updateLifetime", "600")
        application(cluster, "-appId", short, "-updateLifetime", "1")
        report = cluster.wait_state(short, {"KILLED"})
        require(OVER in report["diagnostics"], f"the diagnostics are {report['diagnostics']}")
        told = app_of(cluster, short)
        require((told["state"], told["finalStatus"]) == ("KILLED", "KILLED"), f"it is told as {told}")
        wait_for("its process to end", lambda: not running(pid))
        wait_for("the end of the first lifetime", lambda: time.monotonic() > over)
        long.allocate()
        require(cluster.report(long.app)["state"] == "RUNNING", f"the other is {cluster.report(long.app)}")
        remaining = timeout_of(cluster, long.app)["remainingTimeInSeconds"]
        require(500 < remaining < 600, f"the other has {remaining} s")
    cluster.stop()


@check("cli/change-by-others")
def change_by_others(bench):
    """With yarn.acl.enable nobody changes another's application, its owner moves it only where he may submit, and the
    administrator may do it all."""
    cluster = bench.fresh_cluster(keys=KEYS | LISTS | {f"{CAPACITY}root.default.acl_submit_applications": "*"})
    app = cluster.console("submit", memory=SIZE_MB, command="sleep 620", queue="default")["app"]
    for words in (["-movetoqueue", app, "-queue", "gpu"], ["-appId", app, "-updatePriority", "3"],
                  ["-appId", app, "-updateLifetime", "600"]):
        code, output = as_user(bench, cluster, "bob", "ApplicationCLI", "application", *words)
        require(code != 0, f"{words} exited {code}: {output}")
        require_match(rf"User bob cannot perform operation MODIFY_APP on {app}", output, f"what {words} printed")
    owner = cluster.report(app)["user"]
    code, output = as_user(bench, cluster, owner, "ApplicationCLI", "application", "-movetoqueue", app, "-queue", "gpu")
    require(code != 0, f"the owner's move exited {code}: {output}")
    require_match(rf"User {owner} cannot submit applications to target queue or the target queue doesn't exist: gpu "
                  rf"while moving {app}",
                  output, "what the owner's move printed")
    told = app_of(cluster, app)
    require((told["queue"], told["priority"]) == ("root.default", 0), f"it is told as {told}")
    code, output = as_user(bench, cluster, "root", "ApplicationCLI", "application", "-appId", app, "-updatePriority", "3")
    require(code == 0, f"the administrator's change exited {code}: {output}")
    require(app_of(cluster, app)["priority"] == 3, f"it is told as {app_of(cluster, app)}")
    cluster.stop()
