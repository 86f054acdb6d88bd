"""GPUs from ask to release on simulated cards: what a container reaches, what it is told, what is counted."""

import json
import os
import re
import stat
import subprocess
import time
from pathlib import Path

import caches
from harness import Process, Skip, fetch, require, require_match, wait_for
from scenarios.apps import HOG
from scenarios.containers import Master
from scenarios.daemons import OwnBench, running
from scenarios.registry import HEDDLE, check
from scenarios.spark import expect_success

GPU = "yarn.io/gpu"
VERSIONS = ("v1", "v2")
PYTHON = "/usr/bin/python3"
# Minors of five cards: none is its index, there are holes between them, and YARN has only the first four.
MINORS = (5, 2, 11, 8, 14)
MANAGED = MINORS[:4]
PROBED = range(16)
# What opens beside its own cards where a container has one: nvidiactl and nvidia-uvm.
COMMON = {"nvidiactl": (195, 255), "nvidia-uvm": (511, 0)}
HOSTILE = {"NVIDIA_VISIBLE_DEVICES": "all", "CUDA_VISIBLE_DEVICES": "0,1,2,3"}
EDIT_DEADLINE_S = 15
RESTORE_DEADLINE_S = 30
# One user may take the whole queue, and the queue the whole cluster.
KEYS = {"yarn.scheduler.capacity.root.gpu.user-limit-factor": "10"}
# When the kernel has killed it nothing is left to be measured.
KILLED = (r"Container \[pid=\d+,containerID=container_\d+_\d+_\d+_\d+\] is running \d+B beyond the 'PHYSICAL' memory "
          r"limit\. Current usage: 256 MB of 256 MB physical memory used; 0B of [\d.]+ [KMG]B virtual memory used\. "
          r"Killing container\.")
RESTORED = "isolation was changed, restored"
_kept = {}


def uuid(minor):
    """The UUID that our topology gives the card with this minor."""
    return f"GPU-00000000-0000-0000-0000-{minor:012d}"


MINOR_OF = {uuid(minor): minor for minor in MINORS}


def topology(edits=None):
    """The topology file; edits are further lines of cards by minor."""
    return "".join(
        f'[[gpu]]\nmodel = "NVIDIA A100-SXM4-80GB"\nmemory_mib = 81920\nminor = {minor}\n'
        f'pci = "00000000:{7 + 3 * index:02X}:00.0"\nuuid = "{uuid(minor)}"\n{(edits or {}).get(minor, "")}\n'
        for index, minor in enumerate(MINORS))


def mount_of(version):
    """Where the hierarchy of device rules is mounted, or None."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup2" and version == "v2" or \
                kind == "cgroup" and version == "v1" and "devices" in options.split(","):
            return before.split(" ")[4]
    return None


def need_isolation(version):
    """Skips where nothing can be isolated."""
    if os.geteuid() != 0:
        raise Skip("only root can isolate containers")
    if mount_of(version) is None:
        raise Skip(f"no hierarchy for device rules of cgroup {version} is mounted")


def unless_isolated():
    """The option with which GPUs are counted even where nothing can be isolated."""
    return [] if os.geteuid() == 0 and mount_of("v1") else ["--unsafe-no-isolation"]


def both_versions(name):
    """Registers a function of bench and version as two checks, one for each version of cgroups."""
    def register(function):
        for version in VERSIONS:
            def run(bench, version=version):
                need_isolation(version)
                return function(bench, version)

            run.__doc__ = f"cgroup {version}: {function.__doc__}"
            check(f"{name}-{version}", targets=HEDDLE)(run)
        return function

    return register


def isolated(bench, version):
    """The node of four managed cards and one that is not, kept for all checks of this version."""
    if version not in _kept:
        # Either way to name them.
        names = {"v1": [f"{index}:{minor}" for index, minor in enumerate(MANAGED)], "v2": map(uuid, MANAGED)}
        allowed = ",".join(names[version])
        _kept[version] = bench.fresh_cluster(
            keys=KEYS | {"yarn.nodemanager.resource-plugins.gpu.allowed-gpu-devices": allowed},
            options=["--topology", bench.file("topology.toml", topology()), "--cgroup", version])
    return _kept[version]


def devices(bench):
    """Device nodes that everybody may try: 195:0 to 195:15, nvidiactl, nvidia-uvm; what they answer us."""
    folder = bench.base / "dev"
    if not folder.exists():
        folder.mkdir(mode=0o755)
        numbers = {f"nvidia{minor}": (195, minor) for minor in PROBED} | COMMON
        for name, (major, minor) in numbers.items():
            try:
                os.mknod(folder / name, stat.S_IFCHR | 0o666, os.makedev(major, minor))
            except PermissionError as error:
                raise Skip(f"device nodes cannot be made: {error}") from None
            (folder / name).chmod(0o666)
    done = subprocess.run([PYTHON, bench.base / "jobs" / "devices.py", folder], stdout=subprocess.PIPE, check=True)
    free = json.loads(done.stdout)
    if {"EPERM", "EACCES"} & set(free.values()):
        raise Skip(f"device nodes in {folder} do not open even outside containers: {free}")
    return folder, free


def expected(free, minors):
    """What the nodes answer a container that has these cards: what they answer us, or EPERM."""
    own = {f"nvidia{minor}" for minor in minors} | (set(COMMON) if minors else set())
    return {name: answer if name in own or name == "null" else "EPERM" for name, answer in free.items()}


def require_table(table, free, minors, who):
    """Fails unless exactly the cards with these minors are open."""
    wanted = expected(free, minors)
    wrong = {name: f"{table.get(name)}, not {answer}" for name, answer in wanted.items() if table.get(name) != answer}
    require(not wrong and len(table) == len(wanted), f"{who} with the cards {minors} sees {wrong or table}")


def node(cluster, path, name="node1"):
    """A page of a NodeManager."""
    return json.loads(fetch(f"http://{cluster.endpoints()[name + '.http']}/ws/v1/node/{path}"))


def cards(cluster, name="node1"):
    """What a NodeManager tells of its GPUs."""
    return node(cluster, "resources/yarn.io%2Fgpu", name)


def gpus_in(cluster, field="resources"):
    """How many GPUs the ResourceManager counts on all nodes."""
    return sum(one[field].get(GPU, 0) for one in cluster.console("nodes") if one["state"] == "RUNNING")


def ask(master, count, **fields):
    """A container with that many GPUs."""
    return master.containers(resources={GPU: count} if count else {}, **fields)[0]


def require_free(bench, cluster, nodes=("node1",)):
    """Fails unless all GPUs of each node can be had at once by one container each."""
    count = gpus_in(cluster) // len(nodes)
    with Master(OwnBench(bench, cluster), "all of them") as master:
        granted = master.containers(len(nodes), resources={GPU: count})
        require(len({one["node"] for one in granted}) == len(nodes), f"granted {granted}")
    wait_for("no GPU to be assigned", lambda: not any(cards(cluster, name)["assignedGpuDevices"] for name in nodes))


def seen_by(bench, master, granted, env=None, folder=None):
    """What a container sees: the nodes in a folder, environment, nvidia-smi."""
    out = bench.folder("seen")
    folder = folder or bench.folder("none")
    script = bench.script(f"{PYTHON} {bench.base}/jobs/devices.py {folder} > {out}/table\nenv > {out}/env\n"
                          f"nvidia-smi -L > {out}/list\n"
                          f"nvidia-smi --query-gpu=index,uuid --format=csv,noheader > {out}/query\n"
                          "exit 0\n")
    status = master.end_of(master.run(script, granted, env=env or {}))
    require(status["exit"] == 0, f"ended {status}")
    texts = {file.name: file.read_text() for file in out.iterdir()}
    texts["env"] = dict(line.split("=", 1) for line in texts["env"].splitlines() if "=" in line)
    texts["table"] = json.loads(texts["table"])
    return texts


def require_told(seen, uuids, who):
    """Fails unless environment and nvidia-smi name exactly these cards."""
    told = {name: seen["env"].get(name) for name in (*HOSTILE, "CUDA_DEVICE_ORDER")}
    wanted = ",".join(uuids)
    require(told == {"CUDA_VISIBLE_DEVICES": wanted or "-1", "NVIDIA_VISIBLE_DEVICES": wanted or "void",
                     "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, f"{who} with {uuids} is told {told}")
    listed = re.findall(r"^GPU (\d+): .*\(UUID: (GPU-\S+)\)$", seen["list"], re.MULTILINE)
    rows = [tuple(line.split(", ")) for line in seen["query"].splitlines()] if uuids else []
    # In the order of the variables, so that an index means the same card to CUDA.
    require(listed == [(str(index), one) for index, one in enumerate(uuids)] and rows == listed,
            f"nvidia-smi of {who} with {uuids} lists {seen['list']!r}, {seen['query']!r}")


@both_versions("gpu/spark")
def spark(bench, version):
    """four executors of a Spark job have four distinct cards, and each reaches its own and no other; the driver
    none; afterwards all are free."""
    folder, free = devices(bench)
    cluster = bench.fresh_cluster(nodes=2, keys=KEYS, options=["--gpus", 4, "--cgroup", version])
    discovery = bench.file("gpu-discovery.sh", (caches.REPOSITORY / "scripts" / "gpu-discovery.sh").read_bytes(), 0o755)
    answer = bench.path("answer")
    jobs = bench.base / "jobs"
    expect_success(bench.spark("--name", "gpus", "--py-files", jobs / "devices.py", jobs / "gpus.py", 4, folder, answer,
                               executors=4, cluster=cluster, conf={
                                   "spark.executor.cores": "1", "spark.executor.resource.gpu.amount": "1",
                                   "spark.task.resource.gpu.amount": "1",
                                   "spark.executor.resource.gpu.discoveryScript": str(discovery)}))
    told = json.loads(answer.read_text())
    names = dict(zip(cluster.node_hosts(), ("node1", "node2")))
    found = set()
    for one in told["executors"]:
        minors = {card["uuid"]: card["minorNumber"] for card in cards(cluster, names[one["NM_HOST"]])["totalGpuDevices"]}
        own = one["CUDA_VISIBLE_DEVICES"]
        require(own in minors and own == one["NVIDIA_VISIBLE_DEVICES"], f"an executor on {minors} is told {one}")
        require_table(one["table"], free, [minors[own]], one["CONTAINER_ID"])
        require(re.findall(r"UUID: (\S+)\)", one["smi"]) == [own], f"nvidia-smi of the owner of {own}: {one['smi']!r}")
        require(one["addresses"] == ["0"], f"Spark found {one['addresses']}")
        found.add(own)
    require(len(found) == 4, f"the cards of four executors are {found}")
    require_table(told["driver"]["table"], free, [], "the driver")
    require(told["driver"]["CUDA_VISIBLE_DEVICES"] == "-1", f"the driver is told {told['driver']}")
    require_free(bench, cluster, ("node1", "node2"))
    cluster.stop()


@both_versions("gpu/tables")
def tables(bench, version):
    """containers with 0, 1 and 3 of 4 cards reach exactly theirs, whatever they ask to see; a card that is not
    YARN's is closed and not counted."""
    folder, free = devices(bench)
    cluster = isolated(bench, version)
    require(gpus_in(cluster) == len(MANAGED), f"the ResourceManager counts {gpus_in(cluster)} GPUs")
    with Master(OwnBench(bench, cluster), "tables") as master:
        granted = {count: ask(master, count) for count in (1, 3, 0)}
        held = set()
        for count, container in granted.items():
            who = f"{container['container']} ({count} GPUs)"
            require(container["resources"].get(GPU, 0) == count, f"{who} got {container['resources']}")
            seen = seen_by(bench, master, container, HOSTILE, folder)
            uuids = [one for one in seen["env"]["NVIDIA_VISIBLE_DEVICES"].split(",") if one in MINOR_OF]
            require(len(uuids) == count, f"{who} is told {seen['env']['NVIDIA_VISIBLE_DEVICES']}")
            require_told(seen, uuids, who)
            minors = [MINOR_OF[one] for one in uuids]
            require(set(minors) <= set(MANAGED), f"{who} got a card that is not YARN's: {minors}")
            require_table(seen["table"], free, minors, who)
            # While the others hold theirs: one was granted before the other ended.
            require(not held & set(minors), f"{who} got {minors} beside {held}")
            held |= set(minors)
    require_free(bench, cluster)


@both_versions("gpu/orphan")
def orphan(bench, version):
    """a child that has left parent and session reaches no more than its container."""
    folder, free = devices(bench)
    with Master(OwnBench(bench, isolated(bench, version)), "orphan") as master:
        for count in (0, 1):
            granted, out = ask(master, count), bench.path("orphan")
            ended = master.end_of(master.run(bench.script(
                f"{PYTHON} {bench.base}/jobs/devices.py {folder} --orphan {out}\n"
                f"echo $NVIDIA_VISIBLE_DEVICES > {out}.uuid\n"), granted))
            require(ended["exit"] == 0, f"ended {ended}")
            own = Path(f"{out}.uuid").read_text().strip()
            require_table(json.loads(out.read_text()), free, [MINOR_OF[own]] if count else [], "an orphan")


@both_versions("gpu/further-nodes")
def further_nodes(bench, version):
    """a node of the administrator's list is open in every container, the next one is closed; one that is missing is
    named in the diagnostics."""
    devices(bench)  # skips where no node can be made
    folder = bench.folder("further")
    for minor in (7, 8):
        os.mknod(folder / f"further{minor}", stat.S_IFCHR | 0o666, os.makedev(240, minor))
        (folder / f"further{minor}").chmod(0o666)
    cluster = bench.fresh_cluster(options=["--gpus", 1, "--cgroup", version], keys=KEYS | {
        "yarn.nodemanager.heddle.devices.allowed": f"{folder}/further7,{folder}/absent"})
    out = bench.path("table")
    with Master(OwnBench(bench, cluster), "further") as master:
        status = master.end_of(master.run(bench.script(
            f"{PYTHON} {bench.base}/jobs/devices.py {folder} > {out}\nexit 3\n")))
        require(status["exit"] == 3, f"ended {status}")
        require_match(rf"{folder}/absent", status["diagnostics"], "the diagnostics")
    table = json.loads(out.read_text())
    require(table["further8"] == "EPERM" and table["further7"] != "EPERM", f"the container sees {table}")
    cluster.stop()


def isolator():
    """The built gpu-isolator."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or caches.REPOSITORY / "target")
    chosen = os.environ.get("HEDDLE_BIN")
    found = [path for folder in ([Path(chosen)] if chosen else [target / "release", target / "debug"])
             if (path := folder / "gpu-isolator").is_file()]
    if not found:
        raise caches.MissingTool("gpu-isolator is not built (cargo build --release -p isolator)")
    return max(found, key=lambda path: path.stat().st_mtime)


def log_lines(cluster, *words):
    """The lines of the NodeManager's log that hold all the words."""
    lines = (cluster.directory / "logs" / "node1.log").read_text(errors="replace").splitlines()
    return [line for line in lines if all(word in line for word in words)]


@both_versions("gpu/rules-restored")
def restored(bench, version):
    """rules that gpu-isolator undo took from a running container are set again and logged once each time."""
    folder, free = devices(bench)
    cluster = isolated(bench, version)
    out, times = bench.path("table"), []
    with Master(OwnBench(bench, cluster), "restored") as master:
        container = master.run(f"exec {PYTHON} {bench.base}/jobs/devices.py {folder} --repeat {out}", ask(master, 1))

        def latest():
            return json.loads(out.read_text()) if out.exists() else None

        first = wait_for("the container to look", latest)["table"]
        minor = next((int(name[6:]) for name, answer in first.items() if name[6:].isdigit() and answer != "EPERM"), None)
        require_table(first, free, [minor], container)
        mount = mount_of(version) + "/"
        groups = [path for path in node(cluster, f"containers/{container}")["container"]["cgroups"]
                  if path.startswith(mount)]
        require(len(groups) == 1, f"the container's cgroups on {mount} are {groups}")
        for time_undone in (1, 2):
            begun = time.monotonic()
            subprocess.run([isolator(), "undo", "--cgroup", groups[0]], check=True, stdout=subprocess.PIPE)
            wait_for("the log to tell of it", lambda: len(log_lines(cluster, RESTORED, container)) >= time_undone,
                     RESTORE_DEADLINE_S)
            times.append(time.monotonic() - begun)
            turn = latest()["turn"]
            after = wait_for("the container to look again", lambda: (now := latest())["turn"] > turn + 1 and now)
            require_table(after["table"], free, [minor], container)
        lines = log_lines(cluster, RESTORED, container)
        require(len(lines) == 2, f"two removals are logged as {lines}")
    return f"rules were back after {' s and '.join(f'{one:.1f}' for one in times)} s"


def edit(cluster, edits=None):
    """Edits the node's topology."""
    path = cluster.directory / "node1" / "topology.toml"
    path.write_text(topology(edits))


def holder(bench, master):
    """A container that holds one card and sleeps: its id, its card's minor, its process."""
    mark = bench.path("holder")
    container = master.run(bench.script(
        f"echo $$ $NVIDIA_VISIBLE_DEVICES > {mark}.new; mv {mark}.new {mark}; exec sleep 620\n"), ask(master, 1))
    pid, own = wait_for("the container to run", lambda: mark.exists() and mark.read_text().split())
    return container, MINOR_OF[own], pid


@both_versions("gpu/card-lost")
def card_lost(bench, version):
    """a card that goes lowers the capacity and ends its holder with -100 and `gpu lost`, its neighbours live; it
    comes back without a restart."""
    cluster = isolated(bench, version)
    with Master(OwnBench(bench, cluster), "lost") as master:
        holders = {minor: (container, pid) for container, minor, pid in (holder(bench, master) for _ in MANAGED)}
        require(set(holders) == set(MANAGED), f"four containers have {holders}")
        # The indices of the cards behind it change.
        minor = MANAGED[1]
        lost, _ = holders.pop(minor)
        try:
            edit(cluster, {minor: "present = false"})
            wait_for("the ResourceManager to count 3 GPUs", lambda: gpus_in(cluster) == 3, EDIT_DEADLINE_S)
            status = master.end_of(lost)
            require(status["exit"] == -100, f"ended {status}")
            require_match(rf"gpu lost: .*{uuid(minor)}", status["diagnostics"], "the diagnostics")
            page = cluster.console("cli", **{"class": "NodeCLI", "args": ["-list", "-showDetails"]})
            require_match(r"Configured Resources : <memory:8192, vCores:8, yarn\.io/gpu: 3>", page["text"],
                          "yarn node -list -showDetails")
            left = {one["minorNumber"] for one in cards(cluster)["totalGpuDevices"]}
            require(left == set(holders), f"the node tells of {left}")
        finally:
            edit(cluster)
        wait_for("the ResourceManager to count 4 GPUs", lambda: gpus_in(cluster) == 4, EDIT_DEADLINE_S)
        _, again, _ = holder(bench, master)
        require(again == minor, f"the card that is free is {again}")
        ended = [one for one, (container, pid) in holders.items() if not running(pid) or container in master.finished]
        require(not ended, f"the holders of {ended} ended too")
    require_free(bench, cluster)


@check("gpu/card-fails", targets=HEDDLE)
def card_fails(bench):
    """A card whose reads fail 13 times is not granted meanwhile, and comes back by itself."""
    need_isolation("v1")
    cluster = isolated(bench, "v1")
    try:
        edit(cluster, {MANAGED[1]: "fail_reads = 13"})
        wait_for("the ResourceManager to count 3 GPUs", lambda: gpus_in(cluster) == 3, EDIT_DEADLINE_S)
        began = time.monotonic()
        wait_for("the ResourceManager to count 4 GPUs", lambda: gpus_in(cluster) == 4)
        back = time.monotonic() - began
    finally:
        edit(cluster)
    require_free(bench, cluster)
    return f"it was back after {back:.1f} s"


@check("gpu/rest", targets=HEDDLE)
def rest(bench):
    """The NodeManager tells of its cards in Hadoop's shape, with UUIDs, who has which, and a container's cgroups."""
    need_isolation("v1")
    cluster = isolated(bench, "v1")
    with Master(OwnBench(bench, cluster), "rest") as master:
        container, minor, _ = holder(bench, master)
        page = cards(cluster)
        require(set(page) == {"gpuDeviceInformation", "totalGpuDevices", "assignedGpuDevices", "gpuIsolation"},
                f"the page is {page}")
        require(page["gpuIsolation"] == "cgroup v1 devices controller", f"the isolation is {page['gpuIsolation']}")
        information = page["gpuDeviceInformation"]
        require(re.fullmatch(r"[\d.]+", information["driver_version"]), f"the page is {page}")
        known = [(one["product_name"], one["uuid"], one["minor_number"]) for one in information["gpus"]]
        require(known == [("NVIDIA A100-SXM4-80GB", uuid(one), one) for one in MINORS], f"the cards are {known}")
        total = [(one["index"], one["minorNumber"], one["uuid"]) for one in page["totalGpuDevices"]]
        require(total == [(index, one, uuid(one)) for index, one in enumerate(MANAGED)], f"the devices are {total}")
        require(page["assignedGpuDevices"] == [{"index": MINORS.index(minor), "minorNumber": minor,
                                                "uuid": uuid(minor), "containerId": container}], f"the page is {page}")
        groups = node(cluster, f"containers/{container}")["container"]["cgroups"]
        require(groups and all(os.path.isdir(group) for group in groups), f"the cgroups are {groups}")
        require(gpus_in(cluster, "used") == 1, f"the ResourceManager counts {gpus_in(cluster, 'used')} in use")
    require(node(cluster, "resources/yarn.io%2Ffpga") == {}, "an unknown plugin has a page")
    require_free(bench, cluster)


@check("gpu/eight-asks", targets=HEDDLE)
def eight_asks(bench):
    """Eight one-GPU asks without a host are granted on one node of eight cards, each another; a ninth gets the first
    that comes free."""
    cluster = bench.fresh_cluster(keys=KEYS | {"yarn.nodemanager.resource.cpu-vcores": "16"},
                                  options=["--gpus", 8, *unless_isolated()])
    with Master(OwnBench(bench, cluster), "eight") as master:
        marks = {}

        def start(granted):
            mark = marks[granted["container"]] = bench.path("uuid")
            master.run(bench.script(f"echo $NVIDIA_VISIBLE_DEVICES > {mark}.new; mv {mark}.new {mark}\nexec sleep 621\n"),
                       granted)

        def told(container):
            mark = marks[container]
            return wait_for("the container to run", lambda: mark.exists() and mark.read_text().strip())

        for granted in master.containers(8, resources={GPU: 1}):
            start(granted)
        own = {container: told(container) for container in marks}
        require(len(set(own.values())) == 8, f"eight containers have {own}")
        ninth = master.allocate(asks=[{"count": 1, "resources": {GPU: 1}}])["allocated"]
        first = next(iter(own))
        ninth += master.allocate(release=[first])["allocated"]
        wait_for("the ninth", lambda: ninth or ninth.extend(master.allocate()["allocated"]) or ninth)
        start(ninth[0])
        require(told(ninth[0]["container"]) == own[first], f"the ninth has {told(ninth[0]['container'])}, not {own[first]}")
    cluster.stop()


@both_versions("gpu/node-killed")
def node_killed(bench, version):
    """a NodeManager that dies and returns ends its predecessor's containers and offers all cards again, isolated
    as before."""
    folder, free = devices(bench)
    cluster = bench.fresh_cluster(keys=KEYS, options=["--topology", bench.file("topology.toml", topology()),
                                                      "--cgroup", version])
    with Master(OwnBench(bench, cluster), "node dies") as master:
        container, _, pid = holder(bench, master)
        revival = cluster.kill_daemon("node1")
        require(running(pid), "the container died with its NodeManager")
        cluster.revive("node1", revival)
        require(master.end_of(container)["exit"] == -100, f"ended {master.finished}")
        wait_for("the predecessor's container to end", lambda: not running(pid))
        seen = seen_by(bench, master, ask(master, len(MINORS)), folder=folder)
        require_table(seen["table"], free, MINORS, "a container of the new NodeManager")
        groups = [path.name for top in cgroups_of(cluster) for path in top.glob("*/container_*")]
        require(container not in groups, f"cgroups are left: {groups}")
    cluster.stop()
    require(not cgroups_of(cluster), f"cgroups are left: {cgroups_of(cluster)}")


@check("gpu/resourcemanager-restarts", targets=HEDDLE)
def resourcemanager_restarts(bench):
    """A new ResourceManager learns of the cards from the node, which ends the old containers: all can be had again."""
    cluster = bench.fresh_cluster(keys=KEYS, options=["--gpus", 4, *unless_isolated()])
    master = Master(OwnBench(bench, cluster), "master restarts")
    mark = bench.path("pid")
    master.run(f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 623", ask(master, 3))
    pid = wait_for("the process", lambda: mark.exists() and mark.read_text().strip())
    cluster.revive("rm", cluster.kill_daemon("rm"))
    wait_for("the old container to end", lambda: not running(pid))
    wait_for("the ResourceManager to count 4 GPUs", lambda: gpus_in(cluster) == 4)
    require_free(bench, cluster)
    cluster.stop()


@both_versions("gpu/memory")
def memory(bench, version):
    """with memory cgroups the kernel kills a container over its memory: -104 and Hadoop's sentence, and its
    neighbour lives."""
    # Only the kernel can have done it: the poll is off.
    cluster = bench.fresh_cluster(options=["--gpus", 1, "--cgroup", version], keys=KEYS | {
        "yarn.nodemanager.resource.memory.enabled": "true", "yarn.nodemanager.container-monitor.enabled": "false"})
    mark = bench.path("pid")
    with Master(OwnBench(bench, cluster), "memory") as master:
        neighbour = master.run(f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 622")
        pid = wait_for("the neighbour", lambda: mark.exists() and mark.read_text().strip())
        status = master.end_of(master.run(HOG))
        require(status["exit"] == -104, f"ended {status}")
        require_match(KILLED, status["diagnostics"], "the diagnostics")
        require(Process.runs(pid) and neighbour not in master.finished, "the neighbour ended too")
    cluster.stop()


@check("gpu/alias", targets=HEDDLE)
def alias(bench):
    """Where the configuration calls the type GPU, a client's GPU is a card, and it gets its spelling back."""
    cluster = bench.fresh_cluster(options=["--gpus", 2, *unless_isolated()], keys=KEYS | {
        "yarn.resource-types": "GPU", "yarn.nodemanager.resource-plugins": "GPU"})
    with Master(OwnBench(bench, cluster), "alias") as master:
        granted = master.containers(resources={"GPU": 2})[0]
        require(granted["resources"].get("GPU") == 2, f"granted {granted['resources']}")
        seen = seen_by(bench, master, granted)
        uuids = seen["env"]["NVIDIA_VISIBLE_DEVICES"].split(",")
        require(set(uuids) == {card["uuid"] for card in cards(cluster)["totalGpuDevices"]}, f"it is told {uuids}")
        require_told(seen, uuids, "the container")
    for name in ("rm", "node1"):
        text = (cluster.directory / "logs" / f"{'resourcemanager' if name == 'rm' else name}.log").read_text()
        warned = [line for line in text.splitlines() if "WARN" in line and GPU in line and "GPU" in line.replace(GPU, "")]
        require(warned, f"{name} does not warn of the spelling")
    cluster.stop()


@check("gpu/unavailable", targets=HEDDLE)
def unavailable(bench):
    """A node that cannot isolate offers no GPU and says why; --unsafe-no-isolation offers them all the same."""
    broken = {"yarn.nodemanager.linux-container-executor.cgroups.hierarchy": "/no name"}
    for options, count, state in ([], 0, r"^unavailable \(.+\)$"), (["--unsafe-no-isolation"], 2, "--unsafe-no-isolation"):
        cluster = bench.fresh_cluster(keys=KEYS | broken, options=["--gpus", 2, *options])
        require(gpus_in(cluster) == count, f"with {options} the ResourceManager counts {gpus_in(cluster)} GPUs")
        require_match(state, node(cluster, "info")["nodeInfo"]["gpuIsolation"], "the node's state")
        require(log_lines(cluster, "gpu isolation: "), "the log does not tell")
        cluster.stop()


def cgroups_of(cluster):
    """The directories of the cluster's cgroups, by the name in the node's configuration."""
    text = (cluster.directory / "node1" / "conf" / "yarn-site.xml").read_text()
    name = require_match(r"cgroups\.hierarchy</name><value>/([^/<]+)", text, "the node's yarn-site.xml")[1]
    mounts = {line.split(" ")[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()
              if " - cgroup" in line}
    return [path for mount in mounts if (path := Path(mount, name)).exists()]


@both_versions("gpu/stop-leaves-no-cgroup")
def stop_leaves_no_cgroup(bench, version):
    """after stop no cgroup of the cluster is left, though a container with a GPU ran."""
    cluster = isolated(bench, version)
    master = Master(OwnBench(bench, cluster), "left running")
    _, _, pid = holder(bench, master)
    below = [path for top in cgroups_of(cluster) for path in top.glob("*/*")]
    require(below, "the running container has no cgroup")
    del _kept[version]
    cluster.stop()
    require(not running(pid), "the container is left")
    require(not cgroups_of(cluster), f"cgroups are left: {cgroups_of(cluster)}")
