"""The scheduler's monitors: GPUs that two queues want, and a queue file that is read when it changes."""

import time

import caches
from harness import require, wait_for
from scenarios.clients import app_of, queue_of
from scenarios.containers import Master
from scenarios.daemons import OwnBench
from scenarios.gpu import cards, unless_isolated
from scenarios.refresh import edited, rmadmin, write
from scenarios.registry import HEDDLE, check
from scenarios.spark import expect_success, tail

PACINGS = ("event", "heartbeat")
CAPACITY = "yarn.scheduler.capacity."
MONITOR = "yarn.resourcemanager.scheduler.monitor."
PREEMPTION = "yarn.resourcemanager.monitor.capacity.preemption."
POLICIES = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity."
# Memory and vcores of which there is enough: GPUs decide.
KEYS = {
    "yarn.nodemanager.resource.memory-mb": "65536",
    "yarn.nodemanager.resource.cpu-vcores": "64",
    f"{CAPACITY}resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    f"{CAPACITY}root.gpu.user-limit-factor": "10",
    f"{CAPACITY}root.default.user-limit-factor": "10",
    f"{CAPACITY}root.gpu.capacity": "75",
    f"{CAPACITY}root.default.capacity": "25",
    f"{MONITOR}enable": "true",
    f"{PREEMPTION}monitoring_interval": "500",
    f"{PREEMPTION}max_wait_before_kill": "2000",
    f"{PREEMPTION}total_preemption_per_round": "1.0",
    f"{PREEMPTION}natural_termination_factor": "1.0",
}
STEADY_S = 5
# The same for memory, on either kind of ResourceManager: one node of eight containers.
SIZE_MB = 512
PERIOD_S = 0.2
WAIT_S = 2
MEMORY_KEYS = {
    "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "100",
    "yarn.nodemanager.resource.memory-mb": str(8 * SIZE_MB),
    "yarn.nodemanager.resource.cpu-vcores": "64",
    f"{CAPACITY}root.gpu.user-limit-factor": "10",
    f"{CAPACITY}root.default.user-limit-factor": "10",
    f"{MONITOR}enable": "true",
    f"{PREEMPTION}monitoring_interval": str(round(PERIOD_S * 1000)),
    f"{PREEMPTION}max_wait_before_kill": str(round(WAIT_S * 1000)),
    f"{PREEMPTION}total_preemption_per_round": "1.0",
    f"{PREEMPTION}natural_termination_factor": "1.0",
}


def held(cluster, *clients):
    """GPUs that the node gave to the application of each client; a queue's use counts reservations, too."""
    owners = [one["containerId"] for one in cards(cluster)["assignedGpuDevices"]]
    apps = [client.app() for client in clients]
    return [sum(bool(app) and app.split("_", 1)[1] in owner for owner in owners) for app in apps]


def settles(cluster, clients, shares, what):
    """Waits until the clients' jobs have that many GPUs, and sees that it stays so."""
    wait_for(f"{shares} GPUs {what}", lambda: held(cluster, *clients) == shares, 120)
    until = time.monotonic() + STEADY_S
    while time.monotonic() < until:
        now = held(cluster, *clients)
        require(now == shares, f"the GPUs {what} are {now}, were {shares}")
        time.sleep(0.2)


def in_both_pacings(name):
    """Registers a function of bench and pacing as two checks."""
    def register(function):
        for pacing in PACINGS:
            def run(bench, pacing=pacing):
                return function(bench, pacing)

            run.__doc__ = f"{pacing}: {function.__doc__}"
            check(f"{name}-{pacing}", targets=HEDDLE)(run)
        return function

    return register


@in_both_pacings("preempt/spark")
def spark(bench, pacing):
    """one Spark job has all GPUs; another queue gets its guarantee, exactly, and more when -refreshQueues moves
    capacity; the first lives on with less and both end with the right result."""
    cluster = bench.fresh_cluster(keys=KEYS | {f"{CAPACITY}heddle.pacing": pacing},
                                  options=["--gpus", 4, *unless_isolated()])
    script = bench.file("gpu-discovery.sh", (caches.REPOSITORY / "scripts" / "gpu-discovery.sh").read_bytes(), 0o755)
    conf = {"spark.executor.cores": "1", "spark.executor.resource.gpu.amount": "1",
            "spark.task.resource.gpu.amount": "1", "spark.executor.resource.gpu.discoveryScript": str(script)}
    job = bench.base / "jobs" / "contended.py"
    marks = {name: [bench.path(f"{name}.{what}") for what in ("ready", "go", "answer")] for name in ("rich", "poor")}

    def begin(name, queue, executors):
        return bench.spark("--name", name, "--queue", queue, job, executors, *marks[name], executors=executors,
                           cluster=cluster, conf=conf)

    def is_ready(name, client):
        wait_for(f"the executors of {name}", lambda: marks[name][0].exists() or require(
            client.child.poll() is None, f"spark-submit ended: {tail(client.output())}"), 180)

    with begin("rich", "root.gpu", 4) as rich:
        is_ready("rich", rich)
        require(held(cluster, rich) == [4], f"the GPUs are {held(cluster, rich)}")
        with begin("poor", "root.default", 2) as poor:
            settles(cluster, (rich, poor), [3, 1], "at 75 to 25 %")
            write(cluster, edited(cluster, {"root.gpu.capacity": "50", "root.default.capacity": "50"}))
            code, output, _ = rmadmin(bench, cluster, "-refreshQueues")
            require(code == 0, f"rmadmin exited {code}: {output}")
            settles(cluster, (rich, poor), [2, 2], "at 50 to 50 %")
            is_ready("poor", poor)
            told = app_of(cluster, rich.app())
            require(told["state"] == "RUNNING", f"the first job is {told['state']}")
            marks["rich"][1].touch()
            expect_success(rich)
            marks["poor"][1].touch()
            expect_success(poor)
    for name in marks:
        require(marks[name][2].read_text() == "result: 499500\n", f"{name} answers {marks[name][2].read_text()}")
    told = app_of(cluster, rich.app())
    require(told["finalStatus"] == "SUCCEEDED", f"the first job ended {told['finalStatus']}")
    counted = {key: told[key] for key in ("numNonAMContainerPreempted", "numAMContainerPreempted")}
    require(counted == {"numNonAMContainerPreempted": 2, "numAMContainerPreempted": 0}, f"preempted are {counted}")
    cluster.stop()


class Holder(Master):
    """A master that remembers what it holds and what was asked back."""

    def __init__(self, cluster, bench, name, queue):
        super().__init__(OwnBench(bench, cluster), name, queue)
        self.held, self.messages = [], []

    def beat(self, **fields):
        """One heartbeat; its answer."""
        answer = self.allocate(**fields)
        self.held += [one["container"] for one in answer["allocated"]]
        ended = {one["container"] for one in answer["completed"]} | set(fields.get("release", []))
        self.held = [one for one in self.held if one not in ended]
        if answer["asked_back"]:
            self.messages.append(answer["asked_back"])
        return answer

    def take(self, count):
        """Asks for that many containers and waits for them."""
        self.ask(count)
        wait_for(f"{count} containers", lambda: self.beat() and len(self.held) == count)

    def ask(self, count):
        """Asks for that many containers."""
        self.beat(asks=[{"count": count, "memory": SIZE_MB}])


def stays(holders, counts):
    """Sees that the masters go on to hold that many containers for longer than the monitor would need."""
    until = time.monotonic() + WAIT_S + 10 * PERIOD_S
    while time.monotonic() < until:
        for holder in holders:
            holder.beat()
        now = [len(holder.held) for holder in holders]
        require(now == counts, f"the masters hold {now} containers, had {counts}")


@check("preempt/message")
def message(bench):
    """An application above its queue's guarantee is asked for containers, by name and by amount; what it gives back in
    time is not taken from it, the rest is after max_wait_before_kill, with exit status -102, and no more than that."""
    cluster = bench.fresh_cluster(keys=MEMORY_KEYS)
    with Holder(cluster, bench, "rich", "gpu") as rich, Holder(cluster, bench, "poor", "default") as poor:
        rich.take(8)
        newest = sorted(rich.held)[-2:]
        begun = time.monotonic()
        poor.ask(2)
        wait_for("the message", lambda: rich.beat() and rich.messages)
        expected = {"strict": [], "contract": newest,
                    "amounts": [{"name": "*", "count": 2 * SIZE_MB // 128, "memory": 128, "vcores": 1}]}
        told = rich.messages[0] | {"contract": sorted(rich.messages[0]["contract"])}
        require(told == expected, f"the message is {told}, not {expected}")
        rich.beat(release=newest[1:])
        wait_for("the container that was given back", lambda: poor.beat() and len(poor.held) == 1)
        status = wait_for("the other to be taken", lambda: rich.beat() and rich.finished.get(newest[0]))
        took_s = time.monotonic() - begun
        require(took_s >= WAIT_S, f"it was taken after {took_s:.2f} s, not {WAIT_S} s")
        require((status["exit"], status["diagnostics"]) == (-102, "Container preempted by scheduler"), f"it ended {status}")
        wait_for("the second container", lambda: poor.beat() and len(poor.held) == 2)
        stays((rich, poor), [6, 2])
        require(len(rich.messages) == 1 and not poor.messages, f"the messages are {rich.messages}, {poor.messages}")
        told = app_of(cluster, rich.app)
        counted = {key: told[key] for key in ("preemptedResourceMB", "numNonAMContainerPreempted", "numAMContainerPreempted")}
        require(counted == {"preemptedResourceMB": SIZE_MB, "numNonAMContainerPreempted": 1, "numAMContainerPreempted": 0},
                f"preempted are {counted}")
    cluster.stop()


@check("preempt/spared-queue")
def spared_queue(bench):
    """A queue with disable_preemption keeps what it has above its guarantee; the other gives exactly its excess."""
    cluster = bench.fresh_cluster(keys=MEMORY_KEYS | {
        f"{CAPACITY}root.queues": "default,gpu,kept", f"{CAPACITY}root.default.capacity": "50",
        f"{CAPACITY}root.gpu.capacity": "25", f"{CAPACITY}root.kept.capacity": "25",
        f"{CAPACITY}root.kept.user-limit-factor": "10", f"{CAPACITY}root.kept.disable_preemption": "true"})
    with Holder(cluster, bench, "kept", "kept") as kept, Holder(cluster, bench, "rich", "gpu") as rich, \
            Holder(cluster, bench, "poor", "default") as poor:
        kept.take(4)
        rich.take(4)
        poor.ask(4)
        wait_for("the guarantee", lambda: rich.beat() and poor.beat() and (len(rich.held), len(poor.held)) == (2, 2))
        stays((kept, rich, poor), [4, 2, 2])
        require(not kept.messages and not kept.finished, f"the spared queue was told {kept.messages}, lost {kept.finished}")
    cluster.stop()


@check("preempt/observe-only")
def observe_only(bench):
    """With observe_only nobody is asked, nothing is taken."""
    cluster = bench.fresh_cluster(keys=MEMORY_KEYS | {f"{PREEMPTION}observe_only": "true"})
    with Holder(cluster, bench, "rich", "gpu") as rich, Holder(cluster, bench, "poor", "default") as poor:
        rich.take(8)
        poor.ask(2)
        stays((rich, poor), [8, 0])
        require(not rich.messages, f"it was told {rich.messages}")
    cluster.stop()


@check("preempt/lazy")
def lazy(bench):
    """With lazy-preemption-enabled a container is taken when another is put in its place: as many as are asked for,
    and none once nobody asks any more."""
    cluster = bench.fresh_cluster(keys=MEMORY_KEYS | {f"{CAPACITY}lazy-preemption-enabled": "true"})
    with Holder(cluster, bench, "rich", "gpu") as rich, Holder(cluster, bench, "poor", "default") as poor:
        rich.take(8)
        newest = sorted(rich.held)[-2:]
        poor.ask(2)
        wait_for("both containers", lambda: rich.beat() and poor.beat() and len(poor.held) == 2)
        wait_for("what was taken", lambda: rich.beat() and set(rich.finished) == set(newest))
        require({one["exit"] for one in rich.finished.values()} == {-102}, f"they ended {rich.finished}")
        stays((rich, poor), [6, 2])
    cluster.stop()


@check("queues/created-and-removed")
def created_and_removed(bench):
    """AutoCreatedQueueDeletionPolicy: a queue that was made for an application goes when it is unused for its time; one
    in use and one that is kept by auto-removal stay; one that is asked for again is made again."""
    made = "auto-queue-creation-v2"
    cluster = bench.fresh_cluster(keys={
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "100",
        f"{CAPACITY}root.queues": "default,lab", f"{CAPACITY}root.default.capacity": "1w",
        f"{CAPACITY}root.lab.capacity": "1w", f"{CAPACITY}root.lab.{made}.enabled": "true",
        f"{CAPACITY}root.lab.stays.{made}.queue-auto-removal.enable": "false",
        f"{CAPACITY}{made}.queue-expiration-time": "1",
        f"{CAPACITY}maximum-am-resource-percent": "1.0",
        f"{MONITOR}enable": "true", f"{MONITOR}policies": f"{POLICIES}AutoCreatedQueueDeletionPolicy",
        f"{PREEMPTION}monitoring_interval": "200"})
    own = OwnBench(bench, cluster)

    def created():
        return sorted(one["queueName"] for one in (queue_of(cluster, "root.lab").get("queues") or {}).get("queue", []))

    with Master(own, "in use", "root.lab.used") as used:
        with Master(own, "kept", "root.lab.stays"):
            with Master(own, "for once", "root.lab.fresh") as once:
                once.containers(1)
                require(created() == ["fresh", "stays", "used"], f"the queues are {created()}")
        wait_for("the unused queue to go", lambda: created() == ["stays", "used"])
        with Master(own, "again", "root.lab.fresh") as again:
            again.containers(1)
            require(created() == ["fresh", "stays", "used"], f"the queues are {created()}")
        wait_for("the unused queue to go again", lambda: created() == ["stays", "used"])
        used.containers(1)
    wait_for("the last to go", lambda: created() == ["stays"])
    cluster.stop()


@check("refresh/file-changed", targets=HEDDLE)
def file_changed(bench):
    """QueueConfigurationAutoRefreshPolicy: a changed capacity-scheduler.xml holds without -refreshQueues; one that
    cannot be used changes nothing, and the next good one holds."""
    cluster = bench.fresh_cluster(keys={
        f"{MONITOR}enable": "true",
        f"{MONITOR}policies": f"{POLICIES}QueueConfigurationAutoRefreshPolicy",
        f"{CAPACITY}queue.auto.refresh.monitoring-interval": "200"})

    def shares():
        return [round(queue_of(cluster, f"root.{name}")["capacity"]) for name in ("gpu", "default")]

    before = shares()
    write(cluster, edited(cluster, {"root.gpu.capacity": "60", "root.default.capacity": "40"}))
    wait_for("the new shares", lambda: shares() == [60, 40])
    write(cluster, edited(cluster, {"root.gpu.capacity": "much"}))
    log = cluster.directory / "logs" / "resourcemanager.log"
    wait_for("the refusal", lambda: "root.gpu.capacity=much" in log.read_text(errors="replace"))
    require(shares() == [60, 40], f"the shares are {shares()}")
    write(cluster, edited(cluster, {"root.gpu.capacity": "30", "root.default.capacity": "70"}))
    wait_for("the shares of the next file", lambda: shares() == [30, 70])
    require(before != shares(), f"the shares were {before}")
    cluster.stop()
