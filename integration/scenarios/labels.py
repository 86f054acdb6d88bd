"""Node labels: what an administrator does with them, who gets which node, where they are kept."""

import json
import re

import caches
import join
from harness import RemoteError, require, wait_for
from scenarios.admin import done, rmadmin
from scenarios.containers import Master
from scenarios.daemons import OwnBench
from scenarios.gpu import GPU, KEYS as GPU_KEYS, unless_isolated
from scenarios.pairs import spark_sum
from scenarios.registry import HEDDLE, check
from scenarios.rest import JSON, XML, ask, differences
from scenarios.rest_rules import DIFFERENT

CAPACITY = "yarn.scheduler.capacity."
BOTH_LABELS = "gold(exclusive=true),spare(exclusive=false)"
QUICK = {"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "100"}


def keys(bench):
    """Labels that root and root.gpu may use, kept in a directory; root.default may use none."""
    label = "accessible-node-labels"
    capacities = {f"{CAPACITY}{queue}.{label}.{name}.capacity": "100"
                  for queue in ("root", "root.gpu") for name in ("gold", "spare")}
    return QUICK | capacities | {
        "yarn.node-labels.enabled": "true",
        "yarn.node-labels.fs-store.root-dir": f"file://{bench.folder('labels')}",
        f"{CAPACITY}root.{label}": "*",
        f"{CAPACITY}root.gpu.{label}": "gold,spare",
        f"{CAPACITY}root.default.{label}": " ",
        f"{CAPACITY}root.gpu.user-limit-factor": "10",
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9",
    }


def listed(cluster):
    """`yarn cluster --list-node-labels`: the labels as it prints them."""
    answer = cluster.console("cli", **{"class": "ClusterCLI"}, args=["--list-node-labels"])
    require(answer["rc"] == 0, f"yarn cluster ended with {answer}")
    return sorted(re.findall(r"<[^>]*>", answer["text"]))


def label_of(cluster, number):
    """The labels of node number `number`, from 1, as `yarn node -status` shows them."""
    host = cluster.node_hosts()[number - 1]
    node = next(n["node"] for n in cluster.console("nodes") if n["node"].startswith(f"{host}:"))
    text = cluster.console("cli", **{"class": "NodeCLI"}, args=["-status", node])["text"]
    return re.search(r"Node-Labels : ?(.*)", text)[1].strip()


def refused(cluster, *words):
    """What a command that must fail says."""
    code, text = rmadmin(cluster, *words)
    require(code != 0, f"rmadmin {' '.join(words)} succeeded: {text}")
    return text


def labelled(cluster, **labels):
    """Adds both labels and gives them to nodes: node1="gold"."""
    done(cluster, "-addToClusterNodeLabels", BOTH_LABELS)
    for node, label in labels.items():
        give(cluster, int(node.removeprefix("node")), label)


def give(cluster, number, label):
    """Gives a node a label."""
    done(cluster, "-replaceLabelsOnNode", f"{cluster.node_hosts()[number - 1]}={label}")
    wait_for("the label to be seen", lambda: label_of(cluster, number) == label)


def host_of(container):
    """The host of a granted container."""
    return container["node"].rpartition(":")[0]


@check("labels/administer")
def administer(bench):
    """rmadmin -addToClusterNodeLabels, -replaceLabelsOnNode, -removeFromClusterNodeLabels, yarn cluster
    --list-node-labels: done, refused in Hadoop's words, and kept over a restart of the ResourceManager."""
    cluster = bench.fresh_cluster(nodes=1, keys=keys(bench))
    host = cluster.node_hosts()[0]
    require(listed(cluster) == [], f"there are {listed(cluster)}")
    done(cluster, "-addToClusterNodeLabels", BOTH_LABELS)
    done(cluster, "-addToClusterNodeLabels", "left")
    shown = ["<gold:exclusivity=true>", "<left:exclusivity=true>", "<spare:exclusivity=false>"]
    require(listed(cluster) == shown, f"there are {listed(cluster)}")
    for words, text in [
        (("-addToClusterNodeLabels", "gold(exclusive=false)"),
         "Exclusivity cannot be modified for an existing label with : <gold:exclusivity=false>"),
        (("-addToClusterNodeLabels", "-bad"),
         "label name should only contains {0-9, a-z, A-Z, -, _} and should not started with {-,_}, now it is= -bad"),
        (("-replaceLabelsOnNode", f"{host}=nosuch"),
         "Not all labels being replaced contained by known label collections, please check, new labels=[nosuch]"),
        (("-replaceLabelsOnNode", "nosuchhost=gold", "-failOnUnknownNodes"),
         "Failed to replace labels as there are unknown nodes:[nosuchhost:0]"),
        (("-removeFromClusterNodeLabels", "nosuch"),
         "Node label=nosuch to be removed doesn't existed in cluster node labels collection."),
        (("-removeFromClusterNodeLabels", "gold"),
         "Cannot remove label=gold, because queue=root.gpu is using this label. Please remove label on queue before "
         "remove the label"),
    ]:
        said = refused(cluster, *words)
        require(text in said, f"rmadmin {' '.join(words)} says {said}")
    done(cluster, "-replaceLabelsOnNode", f"{host}=gold", "-failOnUnknownNodes")
    require(label_of(cluster, 1) == "gold", f"the node has {label_of(cluster, 1)}")
    done(cluster, "-replaceLabelsOnNode", f"{host}=left")
    require(label_of(cluster, 1) == "left", f"the node has {label_of(cluster, 1)}")
    done(cluster, "-removeFromClusterNodeLabels", "left")
    require(label_of(cluster, 1) == "", f"the node has {label_of(cluster, 1)}")
    done(cluster, "-replaceLabelsOnNode", f"{host}=spare")
    queue = cluster.console("cli", **{"class": "QueueCLI"}, args=["-status", "root.gpu"])["text"]
    require(sorted(re.search("Accessible Node Labels : (.*)", queue)[1].split(",")) == ["gold", "spare"], queue)
    cluster.revive("rm", cluster.kill_daemon("rm"))
    wait_for("the node to be back", lambda: back(cluster))
    require(listed(cluster) == [shown[0], shown[2]], f"after the restart there are {listed(cluster)}")
    require(label_of(cluster, 1) == "spare", f"after the restart the node has {label_of(cluster, 1)}")


def back(cluster):
    """Whether a node has registered with a ResourceManager that was just started."""
    try:
        return cluster.console("nodes")
    except RemoteError:
        return None


@check("labels/disabled")
def disabled(bench):
    """Labels that are not enabled are refused at once and in Hadoop's words."""
    text = "Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled"
    for words in [("-addToClusterNodeLabels", "gold"), ("-removeFromClusterNodeLabels", "gold"),
                  ("-replaceLabelsOnNode", "host=gold")]:
        said = refused(bench.cluster, *words)
        require(text in said, f"rmadmin {' '.join(words)} says {said}")
    require(listed(bench.cluster) == [], f"there are {listed(bench.cluster)}")


@check("labels/placement")
def placement(bench):
    """An exclusive partition is for those that ask for it; a shareable one lends what is idle to asks without a label;
    a queue that may not use a label is refused."""
    cluster = bench.fresh_cluster(nodes=2, keys=keys(bench))
    labelled(cluster, node1="gold")
    first, second = cluster.node_hosts()
    with Master(OwnBench(bench, cluster), "exclusive") as master:
        asked = master.containers(2, memory=1024, label="gold")
        require({host_of(c) for c in asked} == {first}, f"granted {asked}")
        plain = master.containers(8, memory=1024, priority=2)
        require({host_of(c) for c in plain} == {second}, f"granted {plain}")
        for _ in range(3):
            more = master.allocate(asks=[{"count": 1, "memory": 1024, "priority": 2}])["allocated"]
            require(not more, f"granted {more}")
        give(cluster, 1, "spare")
        shared = []
        wait_for("what is idle to be lent", lambda: shared or shared.extend(master.allocate()["allocated"]) or shared)
        require(host_of(shared[0]) == first, f"granted {shared}")
    with Master(OwnBench(bench, cluster), "closed", queue="default") as master:
        try:
            master.allocate(asks=[{"label": "gold"}])
        except RemoteError as error:
            require("InvalidLabelResourceRequestException" in error.chain and "doesn't have permission" in error.chain,
                    f"refused with {error.chain}")
        else:
            require(False, "a queue without labels may use one")


@check("labels/spark")
def spark(bench):
    """A Spark job with spark.yarn.executor.nodeLabelExpression and spark.yarn.am.nodeLabelExpression: its executors
    and its driver are on the nodes of those labels."""
    cluster = bench.fresh_cluster(nodes=2, keys=keys(bench))
    labelled(cluster, node1="gold")
    first, second = cluster.node_hosts()
    expression = "spark.yarn.{}.nodeLabelExpression"
    driver, hosts = spark_sum(bench, cluster, 1, {expression.format("executor"): "gold"})
    # Spark tells of the machine's own address too.
    require(driver == second and first in hosts and second not in hosts, f"ran on {driver}, the job on {hosts}")
    both = {expression.format("executor"): "gold", expression.format("am"): "gold"}
    driver, hosts = spark_sum(bench, cluster, 1, both)
    require(driver == first and first in hosts and second not in hosts, f"ran on {driver}, the job on {hosts}")


@check("labels/gpu", targets=HEDDLE)
def gpu(bench):
    """GPUs in a partition are for those that ask for its label, and only those outside it for others."""
    cluster = bench.fresh_cluster(nodes=2, keys=keys(bench) | GPU_KEYS, options=["--gpus", 2, *unless_isolated()])
    labelled(cluster, node1="gold")
    first, second = cluster.node_hosts()
    with Master(OwnBench(bench, cluster), "cards") as master:
        one = master.containers(1, label="gold", resources={GPU: 2})
        require(host_of(one[0]) == first, f"granted {one}")
        other = master.containers(2, priority=2, resources={GPU: 1})
        require({host_of(c) for c in other} == {second}, f"granted {other}")
        for _ in range(3):
            more = master.allocate(asks=[{"priority": 2, "resources": {GPU: 1}}])["allocated"]
            require(not more, f"granted {more}")


@check("labels/places")
def places(bench):
    """One ask with a label and lines for hosts: the label says which nodes, the lines which first. Stock Hadoop
    refuses it."""
    cluster = bench.fresh_cluster(nodes=2, keys=keys(bench))
    labelled(cluster, node1="gold", node2="gold")
    first, second = cluster.node_hosts()

    def asks(host, relax):
        common = {"label": "gold", "memory": 512}
        return [common | {"name": host}, common | {"name": "/default-rack", "relax": relax},
                common | {"name": "*", "relax": relax}]

    with Master(OwnBench(bench, cluster), "places") as master:
        try:
            granted = master.allocate(asks=asks(second, False))["allocated"]
        except RemoteError as error:
            text = "specified node label expression in a resource request has resource name = "
            require(bench.target == "stock" and text in error.chain, f"refused with {error.chain}")
            return "refused"
        require(bench.target != "stock", "stock Hadoop takes it")
        wait_for("a container", lambda: granted or granted.extend(master.allocate()["allocated"]) or granted)
        require(host_of(granted[0]) == second, f"granted {granted}")
        give(cluster, 2, "")
        for _ in range(3):
            more = master.allocate(asks=asks(second, False))["allocated"]
            require(not more, f"outside the label: {more}")
        more = master.allocate(asks=asks(second, True))["allocated"]
        wait_for("a container elsewhere", lambda: more or more.extend(master.allocate()["allocated"]) or more)
        require({host_of(c) for c in more} == {first}, f"granted {more}")
    return None


@check("labels/distributed")
def distributed(bench):
    """Nodes that say their labels themselves, from their configuration and by a script; the administrator may not."""
    script = bench.file("label.sh", "#!/bin/sh\necho NODE_PARTITION:$1\n", 0o755)
    prefix = "yarn.nodemanager.node-labels."
    for provider in [{f"{prefix}provider": "config", f"{prefix}provider.configured-node-partition": "gold"},
                     {f"{prefix}provider": "script", f"{prefix}provider.script.path": str(script),
                      f"{prefix}provider.script.opts": "gold"}]:
        own = {"yarn.node-labels.configuration-type": "distributed", f"{prefix}resync-interval-ms": "500"}
        cluster = bench.fresh_cluster(nodes=1, keys=keys(bench) | own | provider)
        require(label_of(cluster, 1) == "", f"the node has {label_of(cluster, 1)} before there is one")
        done(cluster, "-addToClusterNodeLabels", BOTH_LABELS)
        wait_for("the node's label to be taken", lambda: label_of(cluster, 1) == "gold")
        said = refused(cluster, "-replaceLabelsOnNode", f"{cluster.node_hosts()[0]}=spare")
        text = ("Error when invoke method=replaceLabelsOnNode because centralized node label configuration is not "
                "enabled.")
        require(text in said, f"rmadmin says {said}")
        cluster.stop()


@check("labels/store", targets=HEDDLE)
def store(bench):
    """The directory of a stock ResourceManager is taken over, and given back: names, exclusivity, hosts."""
    caches.stock_jars()
    shown = ["<gold:exclusivity=true>", "<spare:exclusivity=false>"]
    cluster = bench.fresh_cluster(nodes=1, keys=keys(bench), target="stock")
    began = join.nodes(cluster)
    labelled(cluster, node1="gold")

    def taken_over(start, labels, label):
        join.end(cluster, "rm")
        start(cluster)
        wait_for("the node to be back", lambda: set(join.nodes(cluster)) == set(began))
        require(listed(cluster) == labels, f"the labels came over as {listed(cluster)}")
        wait_for("the node to have its label", lambda: label_of(cluster, 1) == label)

    taken_over(join.heddle_resourcemanager, shown, "gold")
    done(cluster, "-addToClusterNodeLabels", "more")
    give(cluster, 1, "spare")
    shown.insert(1, "<more:exclusivity=true>")
    taken_over(join.stock_resourcemanager, shown, "spare")
    done(cluster, "-removeFromClusterNodeLabels", "more")
    give(cluster, 1, "gold")
    del shown[1]
    taken_over(join.heddle_resourcemanager, shown, "gold")
    cluster.stop()


def answers(cluster):
    """What REST says of labels, and what it says to changes of them, with this cluster's own names made neutral."""
    rm, node = cluster.endpoints()["rm.http"], cluster.endpoints()["node1.rpc"]
    host = node.rpartition(":")[0]
    found = {}

    def neutral(value):
        if isinstance(value, dict):
            return {neutral(key): neutral(one) for key, one in value.items()}
        if isinstance(value, list):
            # Hadoop's order is that of hash tables.
            return sorted(map(neutral, value), key=lambda one: json.dumps(one, sort_keys=True))
        if isinstance(value, str) and re.fullmatch(r"\[\S+=\S+\]", value):
            return sorted(value[1:-1].split(","))
        return value.replace(node, "NODE").replace(host, "HOST") if isinstance(value, str) else value

    def keep(method, path, accept=JSON, body=None, kind=JSON):
        answer = ask(rm, method, f"/ws/v1/cluster/{path}", accept, body, kind)
        found[f"{len(found):02} {method} {neutral(path)} {neutral(body or '')}"] = neutral(answer)

    def post(path, body=""):
        keep("POST", path, body=body if isinstance(body, str) else json.dumps(body))
        keep("GET", "get-node-labels")
        keep("GET", "get-node-to-labels")

    for path in ["get-node-labels", "get-rm-node-labels", "get-node-to-labels", "label-mappings",
                 "label-mappings?labels=gold", "label-mappings?labels=nosuch", f"nodes/{node}/get-labels",
                 f"nodes/{host}/get-labels", "nodes/nosuch:1/get-labels", "nodes/nosuch:x/get-labels"]:
        keep("GET", path)
        keep("GET", path, accept=XML)
    keep("GET", "scheduler")
    post("add-node-labels", {"nodeLabelInfo": [{"name": "a", "exclusivity": True}, {"name": "b", "exclusivity": False}]})
    post("add-node-labels", {"nodeLabelInfo": {"name": "c"}})
    post("add-node-labels", {"nodeLabelInfo": [{"name": "a", "exclusivity": False}]})
    post("add-node-labels", {"nodeLabelInfo": [{"name": "-a", "exclusivity": True}]})
    post("add-node-labels", {})
    post("add-node-labels", "{")
    keep("POST", "add-node-labels", accept=XML, kind=XML, body="<nodeLabelsInfo><nodeLabelInfo><name>d</name>"
         "<exclusivity>false</exclusivity></nodeLabelInfo></nodeLabelsInfo>")
    post("remove-node-labels?labels=a&labels=b")
    post("remove-node-labels?labels=nosuch")
    post("remove-node-labels")
    post("replace-node-to-labels", {"nodeToLabels": [{"nodeId": node, "labels": ["spare"]}]})
    post("replace-node-to-labels", {"nodeToLabels": [{"nodeId": node, "labels": ["nosuch"]}]})
    post("replace-node-to-labels", {"nodeToLabels": {"nodeId": node, "labels": "gold"}})
    post(f"nodes/{node}/replace-labels?labels=spare")
    post(f"nodes/{node}/replace-labels?labels=nosuch")
    post(f"nodes/{node}/replace-labels")
    return found


@check("labels/rest", targets=HEDDLE)
def labels_rest(bench):
    """REST of labels and of partitions in the scheduler, field by field as a stock ResourceManager in the same state."""
    caches.stock_jars()
    both = []
    for target in ("stock", "heddle"):
        cluster = bench.fresh_cluster(nodes=1, keys=keys(bench), target=target)
        labelled(cluster, node1="gold")
        both.append(answers(cluster))
        cluster.stop()
    stock, ours = both
    found = [(path, sentence) for name in stock for path, sentence in differences(name, stock[name], ours[name])]
    # Stock Hadoop works limits of ApplicationMasters out when one starts.
    known = [pattern for pattern, _ in DIFFERENT] + ["/(amLimit|userAmLimit)/"]
    unknown = [f"{path}: {sentence}" for path, sentence in found if not any(re.search(p, path) for p in known)]
    (bench.logs / f"{bench.name}-differences.txt").write_text("\n".join(unknown) + "\n")
    require(not unknown, f"{len(unknown)} differences: {' | '.join(unknown[:5])}")
    return f"{len(stock)} answers"
