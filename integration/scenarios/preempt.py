"""The scheduler's monitors: GPUs that two queues want, and a queue file that is read when it changes."""

import time

import caches
from harness import require, wait_for
from scenarios.clients import app_of, queue_of
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
