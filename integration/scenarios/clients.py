"""Clients that are not Hadoop's own: skein, yarn-api-client, Spark's dynamic allocation; and REST while they run."""

import json
import re
import subprocess
import threading

import caches
from harness import CLIENT_DEADLINE_S, END_STATES, fetch, processes, require, wait_for
from scenarios.gpu import GPU, KEYS, cards, gpus_in, node, unless_isolated
from scenarios.registry import HEDDLE, check
from scenarios.spark import executor_processes, expect_success, tail

SPARK_OF_SKEIN = "3.5.7"


def rest(cluster, path):
    """A page of the ResourceManager's REST."""
    return json.loads(fetch(f"http://{cluster.endpoints()['rm.http']}/ws/v1/cluster/{path}"))


def app_of(cluster, app):
    """What REST tells of an application."""
    return rest(cluster, f"apps/{app}")["app"]


def amounts(information):
    """A `resourceInformations` as amounts by name."""
    return {one["name"]: one["value"] for one in information["resourceInformations"]["resourceInformation"]}


def queue_of(cluster, path):
    """A queue of the scheduler's tree."""
    found = rest(cluster, "scheduler")["scheduler"]["schedulerInfo"]
    for name in path.split(".")[1:]:
        found = next(one for one in found["queues"]["queue"] if one["queueName"] == name)
    return found


def containers_by_node(cluster, app):
    """The application's live containers as each NodeManager tells, by the node's name."""
    number = app.split("_", 1)[1]
    found = {}
    for key in sorted(cluster.endpoints()):
        if found_key := re.fullmatch(r"(node\d+)\.http", key):
            listed = (node(cluster, "containers", found_key[1]).get("containers") or {}).get("container", [])
            found[found_key[1]] = {one["id"] for one in listed
                                   if number in one["id"] and one["state"] in ("RUNNING", "LOCALIZED")}
    return found


def containers_on_nodes(cluster):
    """How many containers the ResourceManager counts on all nodes."""
    return sum(one["numContainers"] for one in rest(cluster, "nodes")["nodes"]["node"])


@check("spark/dynamic-allocation")
def dynamic_allocation(bench):
    """Dynamic allocation with shuffle tracking: executors go up to the maximum, down when idle, and up again."""
    folder = bench.folder("bursts")
    cluster = bench.cluster
    wait_for("the nodes to be idle", lambda: containers_on_nodes(cluster) == 0)
    conf = {"enabled": "true", "shuffleTracking.enabled": "true", "shuffleTracking.timeout": "3s", "minExecutors": "1",
            "initialExecutors": "1", "maxExecutors": "4", "executorIdleTimeout": "2s", "schedulerBacklogTimeout": "1s",
            "sustainedSchedulerBacklogTimeout": "1s", "cachedExecutorIdleTimeout": "3s"}
    conf = {f"spark.dynamicAllocation.{key}": value for key, value in conf.items()}
    with bench.spark("--name", "bursts", bench.base / "jobs" / "dynamic.py", folder,
                     conf=conf | {"spark.executor.cores": "1", "spark.executor.instances": "0"}) as client:
        wait_for("the submission", lambda: "Submitted application" in client.output() or require(
            client.child.poll() is None, f"spark-submit ended: {tail(client.output())}"), 120)
        app = client.app()
        counts = []

        def count():
            """The executors that REST counts beside the master."""
            require(client.child.poll() is None, f"spark-submit ended: {tail(client.output())}")
            executors = app_of(cluster, app)["runningContainers"] - 1
            if executors >= 0 and counts[-1:] != [executors]:
                counts.append(executors)
            return executors

        def reaches(number, what):
            wait_for(f"{number} executors {what}, after {counts}", lambda: count() == number)
            # What one side counts, all tell.
            wait_for(f"{number} executors to run", lambda: len(executor_processes(app)) == number)
            require(containers_on_nodes(cluster) == number + 1,
                    f"the nodes have {containers_on_nodes(cluster)} containers with {number} executors and the master")
            told = app_of(cluster, app)
            require(told["allocatedVCores"] == number + 1, f"{number} executors: REST tells {told}")

        reaches(4, "in the first burst")
        wait_for("four tasks", lambda: len(list(folder.glob("1.?"))) >= 4)
        (folder / "1.go").touch()
        reaches(1, "when idle")
        (folder / "idle.go").touch()
        reaches(4, "in the second burst")
        wait_for("four tasks", lambda: len(list(folder.glob("2.?"))) >= 4)
        (folder / "2.go").touch()
        expect_success(client)
    require((folder / "answer").read_text() == "result: [28, 28]\n", f"answer is {(folder / 'answer').read_text()}")
    require(max(counts) == 4, f"the executors were {counts}")
    report = cluster.report(app)
    require((report["state"], report["final"]) == ("FINISHED", "SUCCEEDED"), f"ended {report}")
    return f"executors {' '.join(map(str, counts))}"


class Skein:
    """jobs/skein_console.py, started as the account of the containers."""

    def __init__(self, bench, cluster):
        # Its master needs Hadoop's filter for what comes through the proxy, which later Sparks do not bring.
        jars = caches.spark_home(SPARK_OF_SKEIN) / "jars"
        # Where stock Hadoop lies on every node is for the clients to say.
        keys = {"yarn-site.xml": {"yarn.application.classpath": f"$HADOOP_CONF_DIR,{jars}/*"},
                "core-site.xml": {"fs.file.impl": "HostedLocalFileSystem"}}
        conf = bench.folder("skein") / "conf"
        conf.mkdir()
        for file in (cluster.directory / "client-conf").iterdir():
            text = file.read_text()
            for key, value in keys.get(file.name, {}).items():
                entry = f"<property><name>{key}</name><value>{value}</value></property>"
                text = text.replace("</configuration>", entry + "\n</configuration>")
            (conf / file.name).write_text(text)
        # skein asks the `yarn` on the path for jars.
        listed = ":".join(map(str, [conf, caches.test_classes(SPARK_OF_SKEIN), *sorted(jars.glob("*.jar"))]))
        tools = bench.folder("bin")
        yarn = tools / "yarn"
        yarn.write_text(f'#!/bin/bash\n[ "$*" = "classpath --glob" ] || exit 2\necho {listed}\n')
        yarn.chmod(0o755)
        home = bench.folder("skein-home")
        log = bench.logs / f"{bench.name}.skein.log"
        self.errors = open(log, "ab")
        words = ["env", f"PATH={tools}:/usr/bin:/bin", f"SKEIN_CONFIG={home}", caches.client_python("skein"),
                 bench.base / "jobs" / "skein_console.py", home / "driver.log", f"-Duser.home={home}", "-Xmx256m"]
        self.child = subprocess.Popen(cluster.command("run", *map(str, words)), stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=self.errors, text=True, cwd="/")

    def __call__(self, call, **fields):
        self.child.stdin.write(json.dumps({"call": call, **fields}) + "\n")
        self.child.stdin.flush()
        watchdog = threading.Timer(CLIENT_DEADLINE_S, self.child.kill)
        watchdog.start()
        try:
            line = self.child.stdout.readline()
        finally:
            watchdog.cancel()
        require(line, f"skein ended, or {call} took over {CLIENT_DEADLINE_S} s: see {self.errors.name}")
        answer = json.loads(line)
        require("ok" in answer, f"{call}: {answer}")
        return answer["ok"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        try:
            self.child.wait(60)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.errors.close()


def service(marks, word, seconds, **fields):
    """A service whose containers tell their variables and files, then sleep."""
    script = (f'echo "$WORD $(cat letter.txt) $(cat packed/inner.txt)" > {marks}/{word}.new-$CONTAINER_ID\n'
              f"mv {marks}/{word}.new-$CONTAINER_ID {marks}/{word}-$CONTAINER_ID\nexec sleep {seconds}\n")
    return {"resources": {"memory": "256 MiB", "vcores": 1}, "env": {"WORD": word}, "script": script} | fields


def two_services(bench, marks, seconds):
    """The description of an application with a service `warp` and one, `weft`, that starts after it."""
    letter = bench.file("letter-2026.txt", "loom")
    packed = bench.zip("packed.zip", {"inner.txt": "thread"})
    files = {"letter.txt": str(letter), "packed": {"source": str(packed), "type": "archive"}}
    return {"name": "two services", "queue": "root.gpu", "tags": ["woven"],
            "master": {"resources": {"memory": "512 MiB", "vcores": 1}},
            "services": {"warp": service(marks, "warp", seconds, files=files),
                         "weft": service(marks, "weft", seconds, files=files, instances=2, depends=["warp"])}}


def sleepers(seconds):
    """The processes of the services: those that sleep so long."""
    return [one for one in processes() if one.command[:2] == ["sleep", str(seconds)]]


@check("skein/two-services")
def two_services_scale(bench):
    """skein 0.8.2: two services start, one after the other, with variables, files and archives; one scales up and
    down, a container is ended, the application stops; all sides count the same."""
    cluster, marks, seconds = bench.cluster, bench.folder("marks"), 631
    wait_for("the nodes to be idle", lambda: containers_on_nodes(cluster) == 0)
    with Skein(bench, cluster) as skein:
        require({one["state"] for one in skein("nodes")} == {"RUNNING"}, "skein does not see the nodes")
        require(skein("queue", name="root.gpu")["state"] == "RUNNING", f"the queue is {skein('queue', name='root.gpu')}")
        app = skein("submit", spec=two_services(bench, marks, seconds))
        skein("connect", app=app)
        require(skein("exchange", app=app, key="pick", value="27") == "27", "the master forgot a value")

        def runs(warp, weft):
            """Waits until that many containers run, and asks every side."""
            expected = {"warp": warp, "weft": weft}
            wait_for(f"{expected} to sleep", lambda: len(sleepers(seconds)) == warp + weft)

            def told():
                return [one for one in skein("containers", app=app) if one["state"] == "RUNNING"]

            listed = wait_for(f"skein to tell of {expected}", lambda: len(one := told()) == warp + weft and one)
            for name, number in expected.items():
                require(sum(one["service"] == name for one in listed) == number, f"skein tells of {listed}")
            # The master gives a container back at its next heartbeat.
            total = warp + weft + 1
            wait_for(f"REST to count {total} containers", lambda: app_of(cluster, app)["runningContainers"] == total)
            report = skein("report", app=app)
            used = (report["state"], report["containers"], report["vcores"], report["memory"])
            require(used == ("RUNNING", total, total, 512 + 256 * (total - 1)), f"skein reads {report}")
            held = set.union(*containers_by_node(cluster, app).values())
            require({one["container"] for one in listed} < held and len(held) == total,
                    f"skein tells of {listed}, the nodes of {held}")
            return listed

        listed = runs(1, 2)
        for one in listed:
            text = (marks / f"{one['service']}-{one['container']}").read_text()
            require(text == f"{one['service']} loom thread\n", f"{one} read {text!r}")
        report = skein("report", app=app)
        require((report["name"], report["tags"]) == ("two services", ["woven"]), f"skein reads {report}")
        started = skein("scale", app=app, service="weft", count=4)
        require(len(started) == 2, f"scaling up started {started}")
        runs(1, 4)
        ended = skein("scale", app=app, service="weft", count=1)
        require(len(ended) == 3, f"scaling down ended {ended}")
        listed = runs(1, 1)
        skein("scale", app=app, service="warp", count=2)
        listed = runs(2, 1)
        victim = next(one for one in listed if one["service"] == "warp")
        skein("end_container", app=app, container_id=victim["id"])
        require(victim["id"] not in {one["id"] for one in runs(1, 1)}, "the container that was ended runs")
        skein("shutdown", app=app, status="SUCCEEDED")
        report = cluster.wait_state(app, {"FINISHED"})
        require(report["final"] == "SUCCEEDED", f"ended {report}")
        wait_for("the services to end", lambda: not sleepers(seconds))
        wait_for("all containers to be gone", lambda: containers_on_nodes(cluster) == 0)
        require(skein("report", app=app)["final"] == "SUCCEEDED", "skein reads another end")


@check("skein/kill")
def skein_kill(bench):
    """skein kills a running application: KILLED, and no container of it is left."""
    cluster, marks, seconds = bench.cluster, bench.folder("marks"), 632
    with Skein(bench, cluster) as skein:
        app = skein("submit", spec=two_services(bench, marks, seconds))
        skein("connect", app=app)
        wait_for("the services", lambda: len(sleepers(seconds)) == 3)
        skein("kill", app=app)
        report = cluster.wait_state(app, END_STATES)
        require((report["state"], report["final"]) == ("KILLED", "KILLED"), f"ended {report}")
        wait_for("the services to end", lambda: not sleepers(seconds))
        told = skein("report", app=app)
        require((told["state"], told["final"]) == ("KILLED", "KILLED"), f"skein reads {told}")


@check("rest/yarn-api-client")
def yarn_api_client(bench):
    """yarn-api-client reads info, metrics, scheduler, applications, attempts, nodes and a node's containers, and they
    agree with what the stock client reads."""
    cluster = bench.cluster
    ready, go, answer = bench.path("ready"), bench.path("go"), bench.path("answer")
    wait_for("the nodes to be idle", lambda: containers_on_nodes(cluster) == 0)
    with bench.spark("--name", "read by REST", bench.base / "jobs" / "hold.py", 2, ready, go, answer,
                     executors=2) as client:
        mark = ready.with_name(ready.name + ".1")
        wait_for("the job", lambda: mark.exists() or require(
            client.child.poll() is None, f"spark-submit ended: {tail(client.output())}"), 180)
        app, ends = client.app(), cluster.endpoints()
        report = cluster.report(app)
        rows = {one["container"]: one for one in cluster.console("containers", attempt=report["attempt"])
                if one["state"] == "RUNNING"}
        first = min(rows)
        place = next(name for name, held in containers_by_node(cluster, app).items() if first in held)
        node_id = ends[f"{place}.rpc"]
        done = subprocess.run([caches.client_python("yarn-api-client"), caches.HERE / "jobs" / "yarn_api.py",
                               f"http://{ends['rm.http']}", f"http://{ends[place + '.http']}", app, node_id, first],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=CLIENT_DEADLINE_S)
        require(done.returncode == 0, f"yarn-api-client: {done.stderr[-1500:]}")
        go.touch()
        expect_success(client)
    read = json.loads(done.stdout)
    begun = app.split("_")[1]
    info = read["info"]["clusterInfo"]
    require((str(info["id"]), info["state"], info["haState"]) == (begun, "STARTED", "ACTIVE"), f"info is {info}")
    metrics = read["metrics"]["clusterMetrics"]
    counted = {key: metrics[key] for key in ("activeNodes", "appsRunning", "containersAllocated", "totalMB", "totalVirtualCores")}
    require(counted == {"activeNodes": 2, "appsRunning": 1, "containersAllocated": 3, "totalMB": 16384,
                        "totalVirtualCores": 16}, f"metrics are {counted}")
    tree = read["scheduler"]["scheduler"]["schedulerInfo"]
    require(tree["type"] == "capacityScheduler", f"the scheduler is {tree['type']}")
    require({one["queueName"] for one in tree["queues"]["queue"]} == {"default", "gpu"}, f"the tree is {tree}")
    require(app in {one["id"] for one in read["apps"]["apps"]["app"]}, "apps lacks the application")
    require([one["id"] for one in read["running"]["apps"]["app"]] == [app], f"running are {read['running']}")
    told = read["app"]["app"]
    expected = {"id": app, "user": report["user"], "name": "read by REST", "queue": report["queue"], "state": "RUNNING",
                "finalStatus": "UNDEFINED", "applicationType": "SPARK", "runningContainers": 3, "allocatedVCores": 3}
    different = {key: told.get(key) for key, value in expected.items() if told.get(key) != value}
    require(not different, f"the application has {different}, expected {expected}")
    require(read["state"] == {"state": "RUNNING"}, f"the state is {read['state']}")
    attempts = read["attempts"]["appAttempts"]["appAttempt"]
    require([(one["appAttemptId"], one["containerId"]) for one in attempts] == [(report["attempt"], first)],
            f"the attempts are {attempts}")
    for key in ("nodes", "healthy"):
        listed = {one["id"]: one["numContainers"] for one in read[key]["nodes"]["node"]}
        require(set(listed) == {ends["node1.rpc"], ends["node2.rpc"]} and sum(listed.values()) == 3, f"nodes are {listed}")
    one = read["node"]["node"]
    require((one["id"], one["state"]) == (node_id, "RUNNING"), f"the node is {one}")
    require(read["nm.info"]["nodeInfo"]["nodeHostName"], f"the node is {read['nm.info']}")
    require(read["nm.app"]["app"]["id"] == app, f"the node's application is {read['nm.app']}")
    require(app in {one["id"] for one in read["nm.apps"]["apps"]["app"]}, f"the node's applications are {read['nm.apps']}")
    held = {one["id"]: one for one in read["nm.containers"]["containers"]["container"]}
    expected = {name for name, row in rows.items() if row["node"] == node_id}
    require(set(held) == expected, f"the node has {set(held)}, the ResourceManager says {expected}")
    container = read["nm.container"]["container"]
    require((container["id"], container["state"], container["user"]) == (first, "RUNNING", report["user"]),
            f"the container is {container}")


@check("rest/gpus-of-a-spark-job", targets=HEDDLE)
def gpus_of_a_spark_job(bench):
    """During a Spark job with GPUs REST counts them: allocated to the application, used in its queue and on its nodes,
    each container on its node for both daemons; afterwards all are zero."""
    cluster = bench.fresh_cluster(nodes=2, keys=KEYS, options=["--gpus", 2, *unless_isolated()])
    ready, go, answer = bench.path("ready"), bench.path("go"), bench.path("answer")
    script = bench.file("gpu-discovery.sh", (caches.REPOSITORY / "scripts" / "gpu-discovery.sh").read_bytes(), 0o755)
    conf = {"spark.executor.cores": "1", "spark.executor.resource.gpu.amount": "1",
            "spark.task.resource.gpu.amount": "1", "spark.executor.resource.gpu.discoveryScript": str(script)}
    require(used_gpus(cluster) == [0, 0, 0, 0], f"before, REST counts {used_gpus(cluster)}")
    with bench.spark("--name", "gpus by REST", bench.base / "jobs" / "hold.py", 3, ready, go, answer, executors=3,
                     cluster=cluster, conf=conf) as client:
        mark = ready.with_name(ready.name + ".1")
        wait_for("the job", lambda: mark.exists() or require(
            client.child.poll() is None, f"spark-submit ended: {tail(client.output())}"), 180)
        app = client.app()
        require_told_of_gpus(cluster, app)
        go.touch()
        expect_success(client)
    require("result: 499500" in answer.read_text(), f"answer is {answer.read_text()}")
    wait_for("no GPU to be used", lambda: used_gpus(cluster) == [0, 0, 0, 0])
    wait_for("no card to be assigned", lambda: not any(
        cards(cluster, name)["assignedGpuDevices"] for name in ("node1", "node2")))
    told = app_of(cluster, app)
    ended = {key: told.get(key) for key in ("state", "finalStatus", "runningContainers", "allocatedMB", "allocatedVCores")}
    require((ended["state"], ended["finalStatus"]) == ("FINISHED", "SUCCEEDED"), f"the application ended {ended}")
    require(all(ended[key] in (0, -1) for key in ("runningContainers", "allocatedMB", "allocatedVCores")), f"it has {ended}")
    metrics = rest(cluster, "metrics")["clusterMetrics"]
    counted = [metrics[key] for key in ("allocatedMB", "allocatedVirtualCores", "containersAllocated", "appsRunning")]
    require(counted == [0, 0, 0, 0], f"the metrics are {metrics}")
    require(not any(held for held in containers_by_node(cluster, app).values()), "the nodes hold containers")
    # What it used is told for good.
    seconds = {one["key"]: one["value"] for one in told["resourceSecondsMap"]["entry"]}
    require(int(seconds[GPU]) > 0, f"it used {seconds}")
    cluster.stop()


def used_gpus(cluster):
    """The GPUs in use by REST: in the cluster's metrics, in the queue root.gpu, on node 1 and on node 2."""
    metrics = rest(cluster, "metrics")["clusterMetrics"]["totalUsedResourcesAcrossPartition"]
    nodes = {one["id"]: one["usedResource"] for one in rest(cluster, "nodes")["nodes"]["node"]}
    ends = cluster.endpoints()
    places = metrics, queue_of(cluster, "root.gpu")["resourcesUsed"], *(nodes[ends[f"node{n}.rpc"]] for n in (1, 2))
    return [amounts(one).get(GPU, 0) for one in places]


def require_told_of_gpus(cluster, app):
    """Fails unless both daemons tell of three GPUs of the application, each where it is."""
    report = cluster.report(app)
    rows = {one["container"]: one for one in cluster.console("containers", attempt=report["attempt"])
            if one["state"] == "RUNNING"}
    require(len(rows) == 4, f"the application has {rows}")
    ends, told = cluster.endpoints(), app_of(cluster, app)
    held = containers_by_node(cluster, app)
    assigned = {}
    for name in ("node1", "node2"):
        address = ends[f"{name}.rpc"]
        expected = {container for container, row in rows.items() if row["node"] == address}
        require(held[name] == expected, f"{name} has {held[name]}, the ResourceManager says {expected}")
        counted = rest(cluster, f"nodes/{address}")["node"]
        require(counted["numContainers"] == len(expected), f"REST counts {counted['numContainers']} on {name}")
        for container in expected:
            page = node(cluster, f"containers/{container}", name)["container"]
            require(page["state"] == "RUNNING" and page["nodeId"] == address, f"{container} is {page}")
        devices = cards(cluster, name)["assignedGpuDevices"]
        own = {one["containerId"] for one in devices}
        require(own <= expected and len(own) == len(devices), f"the cards of {name} are held by {devices}")
        assigned[name] = len(devices)
        require(amounts(counted["usedResource"]).get(GPU) == len(devices), f"REST counts {counted} on {name}")
    require(sum(assigned.values()) == 3, f"the cards assigned are {assigned}")
    counts = [3, 3, assigned["node1"], assigned["node2"]]
    require(used_gpus(cluster) == counts, f"REST counts {used_gpus(cluster)} GPUs, not {counts}")
    require(gpus_in(cluster, "used") == 3, f"the stock client counts {gpus_in(cluster, 'used')} GPUs")
    used = [one["used"] for one in told["resourceInfo"]["resourceUsagesByPartition"]]
    require(told["runningContainers"] == 4 and [amounts(one).get(GPU) for one in used] == [3],
            f"REST tells of the application {told}")
