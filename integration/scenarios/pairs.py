"""One daemon of each kind: a stock node under our ResourceManager, our node under a stock one, both kinds of nodes."""

import json
import re

import caches
import join
from harness import require, wait_for
from scenarios.containers import Master
from scenarios.daemons import OwnBench
from scenarios.gpu import GPU, KEYS, cards, devices, gpus_in, require_table, unless_isolated
from scenarios.registry import HEDDLE, check
from scenarios.spark import SQUARES, expect_success

NODE_KEYS = {
    # A test machine's disk may be fuller than Hadoop likes.
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9",
    # A node looks for its ResourceManager every 30 s otherwise.
    "yarn.resourcemanager.connect.retry-interval.ms": "1000",
}
GPU_EXECUTORS = {"spark.executor.cores": "1", "spark.executor.resource.gpu.amount": "1",
                 "spark.task.resource.gpu.amount": "1"}


def spark_sum(bench, cluster, executors, conf=None):
    """A small Spark job in cluster mode with an exact result; the driver's node, and the hosts of the job."""
    answer = bench.path("answer")
    client = bench.spark("--name", "pair", bench.base / "jobs" / "shuffle.py", 4, 1000, executors, answer,
                         executors=executors, cluster=cluster, conf=conf)
    expect_success(client)
    text = answer.read_text()
    require(f"result: {SQUARES}" in text, f"no exact result: {text}")
    report = cluster.wait_state(client.app(), {"FINISHED"})
    require(report["final"] == "SUCCEEDED", f"ended {report}")
    # Spark names the driver's machine, the executors' nodes.
    return re.search("driver: (.*)", text)[1], set(re.search("hosts: (.*)", text)[1].split())


def on_host(master, host, priority):
    """A container on this host and nowhere else."""
    asks = [{"name": host, "priority": priority}, {"name": "/default-rack", "priority": priority, "relax": False},
            {"name": "*", "priority": priority, "relax": False}]
    granted = master.allocate(asks=asks)["allocated"]
    wait_for(f"a container on {host}", lambda: granted or granted.extend(master.allocate()["allocated"]) or granted)
    return granted[0]


def gpu_script(bench):
    """The discovery script that Spark calls in its executors."""
    script = (caches.REPOSITORY / "scripts" / "gpu-discovery.sh").read_bytes()
    return {"spark.executor.resource.gpu.discoveryScript": str(bench.file("gpu-discovery.sh", script, 0o755))}


@check("pairs/stock-node", targets=HEDDLE)
def stock_node(bench):
    """A stock Hadoop 3.5 NodeManager joins our ResourceManager from DIR/nm-conf and runs a Spark job; containers end
    there with their codes, and are stopped."""
    caches.stock_jars()
    cluster = bench.fresh_cluster(keys=NODE_KEYS, options=["--rm-only"])
    node = join.stock_node(cluster, "nm", cluster.directory / "nm-conf")
    require(join.kind(node) == "stock", f"{node} is no stock NodeManager")
    driver, hosts = spark_sum(bench, cluster, 2)
    require(driver == join.host_of(node) and driver in hosts, f"it ran on {driver} and {hosts}, not on {node['node']}")
    with Master(OwnBench(bench, cluster), "codes") as master:
        require(master.end_of(master.run("exit 7"))["exit"] == 7, f"ended {master.finished}")
        stopped = master.run("exec sleep 631")
        master.call("am.stop", container=stopped)
        require(master.end_of(stopped)["exit"] in (-105, 143, 137), f"ended {master.finished}")
    require(join.nodes(cluster)[node["node"]]["used_mb"] == 0, "memory is still in use")
    cluster.stop()


@check("pairs/stock-resourcemanager", targets=HEDDLE)
def stock_resourcemanager(bench):
    """Our NodeManager joins a stock ResourceManager, offers its GPUs as a count and chooses the cards: each executor
    of a Spark job sees its own one, a container without any none."""
    caches.stock_jars()
    isolated = not unless_isolated()
    folder, free = devices(bench) if isolated else (bench.folder("none"), None)
    cluster = bench.fresh_cluster(keys=KEYS | NODE_KEYS, options=["--rm-only"], target="stock")
    node = join.heddle_node(cluster, "node1", cluster.directory / "nm-conf", 4, unless_isolated())
    require(join.kind(node) == "heddle", f"{node} is not ours")
    require(gpus_in(cluster) == 4, f"the stock ResourceManager counts {gpus_in(cluster)} GPUs")
    minors = {card["uuid"]: card["minorNumber"] for card in cards(cluster)["totalGpuDevices"]}
    answer, jobs = bench.path("answer"), bench.base / "jobs"
    expect_success(bench.spark("--name", "gpus", "--py-files", jobs / "devices.py", jobs / "gpus.py", 3, folder, answer,
                               executors=3, cluster=cluster, conf=GPU_EXECUTORS | gpu_script(bench)))
    told = json.loads(answer.read_text())
    require(told["driver"]["CUDA_VISIBLE_DEVICES"] == "-1", f"the driver is told {told['driver']}")
    for one in told["executors"]:
        own = one["CUDA_VISIBLE_DEVICES"]
        require(own in minors and re.findall(r"UUID: (\S+)\)", one["smi"]) == [own], f"an executor sees {one}")
        if isolated:
            require_table(one["table"], free, [minors[own]], one["CONTAINER_ID"])
    require(len({one["CUDA_VISIBLE_DEVICES"] for one in told["executors"]}) == 3, f"three executors have {told}")
    if isolated:
        require_table(told["driver"]["table"], free, [], "the driver")
    with Master(OwnBench(bench, cluster), "all four") as master:
        require(master.containers(resources={GPU: 4})[0]["resources"].get(GPU) == 4, "the cards are not free again")
    cluster.stop()
    return None if isolated else "devices are not isolated here"


@check("pairs/mixed-nodes", targets=HEDDLE)
def mixed_nodes(bench):
    """A stock node and one of ours with GPUs under our ResourceManager: a Spark job with its driver on the first and
    its GPU executors on the second, and containers on either."""
    caches.stock_jars()
    cluster = bench.fresh_cluster(keys=KEYS | NODE_KEYS, options=["--gpus", 2, *unless_isolated()])
    ours = next(iter(join.nodes(cluster).values()))
    stock = join.stock_node(cluster, "node2", join.conf_of_another(cluster, "node2", 9))
    require((join.kind(ours), join.kind(stock)) == ("heddle", "stock"), f"the nodes are {ours}, {stock}")
    require(gpus_in(cluster) == 2, f"the ResourceManager counts {gpus_in(cluster)} GPUs")
    driver, hosts = spark_sum(bench, cluster, 2, GPU_EXECUTORS | gpu_script(bench))
    require(driver == join.host_of(stock), f"the driver ran on {driver}")
    require(join.host_of(ours) in hosts and driver not in hosts, f"the executors ran on {hosts}")
    with Master(OwnBench(bench, cluster), "both") as master:
        for code, node in enumerate((ours, stock), 7):
            granted = on_host(master, join.host_of(node), code)
            require(granted["node"] == node["node"], f"granted {granted}, not on {node['node']}")
            status = master.end_of(master.run(f"exit {code}", granted))
            require(status["exit"] == code, f"ended {status}")
    cluster.stop()


@check("pairs/one-daemon-at-a-time", targets=HEDDLE)
def one_daemon_at_a_time(bench):
    """A stock cluster becomes ours on its own configuration, addresses and directories: first the node, then the
    ResourceManager, and back again; each time the other daemon stays, and containers run."""
    caches.stock_jars()
    cluster = bench.fresh_cluster(keys=KEYS | NODE_KEYS, target="stock")
    conf, began = cluster.directory / "node1" / "conf", join.nodes(cluster)
    own = OwnBench(bench, cluster)

    def works(step, **ask):
        wait_for(f"the node after {step}", lambda: set(join.nodes(cluster)) == set(began))
        with Master(own, step) as master:
            master.run("exit 7", granted := master.containers(**ask)[0])
            require(master.end_of(granted["container"])["exit"] == 7, f"{step}: ended {master.finished}")

    def kinds():
        return [join.kind(one) for one in join.nodes(cluster).values()], rm_is_ours(cluster)

    works("all stock")
    join.end(cluster, "node1")
    wait_for("the node to be gone", lambda: not join.nodes(cluster))
    join.heddle_node(cluster, "node1", conf, 2, unless_isolated())
    works("our node", resources={GPU: 1})
    require(kinds() == (["heddle"], False), f"the daemons are {kinds()}")
    join.end(cluster, "rm")
    join.heddle_resourcemanager(cluster)
    works("our ResourceManager", resources={GPU: 1})
    require(kinds() == (["heddle"], True), f"the daemons are {kinds()}")
    join.end(cluster, "node1")
    wait_for("the node to be gone", lambda: not join.nodes(cluster))
    join.stock_node(cluster, "node1", conf)
    works("the stock node again")
    require(kinds() == (["stock"], True), f"the daemons are {kinds()}")
    join.end(cluster, "rm")
    join.stock_resourcemanager(cluster)
    works("all stock again")
    require(kinds() == (["stock"], False), f"the daemons are {kinds()}")
    cluster.stop()


def rm_is_ours(cluster):
    """Whether the ResourceManager is Heddle's: it is no Java program."""
    return "java" not in cluster.daemon("rm").command[0]
