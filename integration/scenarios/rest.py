"""REST, servlets and their refusals, field by field against stock Hadoop on the same small cluster."""

import json
import math
import os
import re
import urllib.error
import urllib.request
import xml.etree.ElementTree as ElementTree

import caches
from harness import Bench, require, wait_for
from scenarios.admin import done
from scenarios.registry import HEDDLE, check
from scenarios.rest_rules import DIFFERENT, VARYING

GOLDEN = caches.HERE / "golden" / "rest" / "answers.json"
XML, JSON = "application/xml", "application/json"
XSI = "{http://www.w3.org/2001/XMLSchema-instance}"

# The same on both sides; a full disk of the machine is not what is compared.
KEYS = {
    "yarn.resourcemanager.cluster-id": "rest",
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9",
}

CAPACITY = "yarn.scheduler.capacity."
LABEL = "accessible-node-labels"
LAB = f"{CAPACITY}root.lab."
# Settings of queues, one set for a cluster: what /scheduler shows of each.
SHAPES = {
    "weights": {
        f"{CAPACITY}root.queues": "default,lab",
        f"{CAPACITY}root.default.capacity": "1w",
        f"{LAB}capacity": "3w",
        f"{LAB}queues": "small,large",
        f"{LAB}small.capacity": "1w",
        f"{LAB}large.capacity": "2w",
        f"{LAB}ordering-policy": "priority-utilization",
        f"{LAB}small.priority": "5",
        f"{LAB}small.minimum-user-limit-percent": "25",
        f"{LAB}small.user-limit-factor": "2.5",
        f"{LAB}small.maximum-am-resource-percent": "0.9",
        f"{LAB}small.max-parallel-apps": "7",
        f"{LAB}small.maximum-applications": "77",
        f"{LAB}small.ordering-policy": "fair",
        f"{LAB}small.maximum-application-lifetime": "6000",
        f"{LAB}small.default-application-lifetime": "3000",
        f"{LAB}large.acl_submit_applications": "alice,bob ml",
        f"{LAB}large.maximum-allocation-mb": "2048",
        f"{LAB}auto-queue-creation-v2.enabled": "true",
        f"{LAB}auto-queue-creation-v2.template.capacity": "4w",
        f"{LAB}auto-queue-creation-v2.leaf-template.user-limit-factor": "3",
    },
    "amounts": {
        f"{CAPACITY}root.queues": "default,lab",
        f"{CAPACITY}root.default.capacity": "[memory=2048,vcores=2]",
        f"{LAB}capacity": "[memory=6144,vcores=6]",
        f"{LAB}maximum-capacity": "[memory=7168,vcores=7]",
        f"{LAB}queues": "small,large",
        f"{LAB}small.capacity": "[memory=2048,vcores=2]",
        f"{LAB}large.capacity": "[memory=4096,vcores=4]",
    },
    "labels": {
        f"{CAPACITY}root.queues": "default,lab",
        f"{CAPACITY}root.default.capacity": "25",
        f"{LAB}capacity": "75",
        f"{LAB}maximum-capacity": "90",
        f"{LAB}queues": "small,large",
        f"{LAB}small.capacity": "40",
        f"{LAB}large.capacity": "60",
        f"{CAPACITY}root.{LABEL}.gold.capacity": "100",
        f"{CAPACITY}root.default.{LABEL}": " ",
        f"{LAB}{LABEL}": "gold",
        f"{LAB}{LABEL}.gold.capacity": "100",
        f"{LAB}small.{LABEL}.gold.capacity": "30",
        f"{LAB}small.{LABEL}.gold.maximum-capacity": "50",
        f"{LAB}large.{LABEL}.gold.capacity": "70",
        f"{LAB}large.default-node-label-expression": "gold",
    },
}
SHAPE_READS = """
/ws/v1/cluster/scheduler
/ws/v1/cluster/apps
/ws/v1/cluster/nodes
""".split()

CLUSTER_READS = """
/ws/v1/cluster
/ws/v1/cluster/info
/ws/v1/cluster/metrics
/ws/v1/cluster/scheduler
/ws/v1/cluster/apps
/ws/v1/cluster/apps?states=RUNNING
/ws/v1/cluster/apps?state=KILLED
/ws/v1/cluster/apps?states=finished,KILLED
/ws/v1/cluster/apps?states=RUNNING&states=KILLED
/ws/v1/cluster/apps?states=NEW
/ws/v1/cluster/apps?states=DEAD
/ws/v1/cluster/apps?finalStatus=SUCCEEDED
/ws/v1/cluster/apps?finalStatus=DEAD
/ws/v1/cluster/apps?user={user}
/ws/v1/cluster/apps?user=nosuchuser
/ws/v1/cluster/apps?queue=gpu
/ws/v1/cluster/apps?queue=root.default
/ws/v1/cluster/apps?queue=nosuchqueue
/ws/v1/cluster/apps?limit=10
/ws/v1/cluster/apps?limit=0
/ws/v1/cluster/apps?limit=x
/ws/v1/cluster/apps?applicationTypes=probe
/ws/v1/cluster/apps?applicationTypes=SPARK
/ws/v1/cluster/apps?applicationTags=x
/ws/v1/cluster/apps?name=finished
/ws/v1/cluster/apps?startedTimeBegin=1
/ws/v1/cluster/apps?startedTimeBegin=4000000000000
/ws/v1/cluster/apps?startedTimeEnd=1
/ws/v1/cluster/apps?startedTimeBegin=-1
/ws/v1/cluster/apps?startedTimeBegin=5&startedTimeEnd=4
/ws/v1/cluster/apps?startedTimeBegin=x
/ws/v1/cluster/apps?finishedTimeBegin=1
/ws/v1/cluster/apps?finishedTimeBegin=-1
/ws/v1/cluster/apps?finishedTimeEnd=-1
/ws/v1/cluster/apps?deSelects=resourceRequests,timeouts,resourceInfo
/ws/v1/cluster/apps?deSelects=nosuchfield
/ws/v1/cluster/apps?nosuchparameter=1
/ws/v1/cluster/apps/{running}
/ws/v1/cluster/apps/{running}?deSelects=resourceRequests
/ws/v1/cluster/apps/{finished}
/ws/v1/cluster/apps/{killed}
/ws/v1/cluster/apps/{unknown}
/ws/v1/cluster/apps/nonsense
/ws/v1/cluster/apps/application_x_1
/ws/v1/cluster/apps/{running}/appattempts
/ws/v1/cluster/apps/{finished}/appattempts
/ws/v1/cluster/apps/{killed}/appattempts
/ws/v1/cluster/apps/{unknown}/appattempts
/ws/v1/cluster/apps/nonsense/appattempts
/ws/v1/cluster/apps/{running}/state
/ws/v1/cluster/apps/{finished}/state
/ws/v1/cluster/apps/{unknown}/state
/ws/v1/cluster/apps/nonsense/state
/ws/v1/cluster/appstatistics
/ws/v1/cluster/appstatistics?states=running,killed
/ws/v1/cluster/appstatistics?states=RUNNING&applicationTypes=PROBE
/ws/v1/cluster/appstatistics?applicationTypes=A,B
/ws/v1/cluster/appstatistics?states=DEAD
/ws/v1/cluster/nodes
/ws/v1/cluster/nodes?states=RUNNING
/ws/v1/cluster/nodes?states=running,lost
/ws/v1/cluster/nodes?states=LOST
/ws/v1/cluster/nodes?states=DEAD
/ws/v1/cluster/nodes/{node}
/ws/v1/cluster/nodes/nosuchhost:1
/ws/v1/cluster/nodes/nonsense
/ws/v1/cluster/nodes/host:port
""".split()
NODE_READS = """
/ws/v1/node
/ws/v1/node/info
/ws/v1/node/apps
/ws/v1/node/apps?state=RUNNING
/ws/v1/node/apps?state=INITING
/ws/v1/node/apps?state=DEAD
/ws/v1/node/apps?user={user}
/ws/v1/node/apps?user=nosuchuser
/ws/v1/node/apps?user=
/ws/v1/node/apps/{running}
/ws/v1/node/apps/{unknown}
/ws/v1/node/apps/nonsense
/ws/v1/node/containers
/ws/v1/node/containers/{container}
/ws/v1/node/containers/{nocontainer}
/ws/v1/node/containers/nonsense
/ws/v1/node/containers/{container}/logs
/ws/v1/node/containers/{nocontainer}/logs
/ws/v1/node/containers/nonsense/logs
""".split()
# Text, whatever the caller accepts.
NODE_TEXTS = """
/ws/v1/node/containers/{container}/logs/stdout
/ws/v1/node/containers/{container}/logs/stdout?size=6
/ws/v1/node/containers/{container}/logs/stdout?size=-6
/ws/v1/node/containers/{container}/logs/nosuchlog
/ws/v1/node/containerlogs/{container}/stdout
/ws/v1/node/containerlogs/{nocontainer}/stdout
""".split()


def ask(base, method, path, accept=None, body=None, kind=JSON):
    """Status, media type and body of a call, redirects not followed; without Accept for None."""
    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    headers = ({"Accept": accept} if accept else {}) | ({"Content-Type": kind} if body is not None else {})
    request = urllib.request.Request(f"http://{base}{path}", method=method, headers=headers,
                                     data=None if body is None else body.encode())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), Stay)
    # The opener would add one itself.
    opener.addheaders = [("User-Agent", "check")]
    try:
        answer = opener.open(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        text = answer.read().decode(errors="replace")
        media = (answer.headers.get("Content-Type") or "").replace(" ", "").lower()
    return {"status": answer.status, "type": media, "body": parsed(media, text)}


def parsed(media, text):
    """What a body says: JSON as it is, XML as objects whose members are lists, other text as text."""
    if media.startswith(JSON) and text:
        return json.loads(text)
    if media.startswith((XML, "text/xml")) and text:
        root = ElementTree.fromstring(text)
        return {root.tag: tree(root)}
    # The pages of an HTTP server about what it does not know are its own.
    return "<page>" if media.startswith("text/html") else text


def tree(element):
    """An XML element: its text, or an object of its attributes and children."""
    made = {f"@{name.replace(XSI, 'xsi:')}": value for name, value in element.attrib.items()}
    for child in element:
        made.setdefault(child.tag, []).append(tree(child))
    return made or (element.text or "")


class Recorded:
    """The answers of one cluster to all questions, with what is its own alone made neutral."""

    def __init__(self, bench, cluster):
        self.cluster = cluster
        self.ends = cluster.endpoints()
        self.rm, self.nm = self.ends["rm.http"], self.ends["node1.http"]
        self.answers = {}
        self._finish = bench.path("finish")
        self._done = bench.path("done")
        self._done.write_text("")
        self._classes = caches.test_classes()
        try:
            self._prepare()
            self._ask_all()
        finally:
            self._finish.write_text("")
        self.answers = {name: self._neutral(answer) for name, answer in self.answers.items()}

    def _submit(self, name, queue, finish, containers=0):
        jars = caches.spark_home() / "jars"
        # Written in two parts, the place of the logs is that of the container, not of its master.
        command = (f"{{{{JAVA_HOME}}}}/bin/java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "
                   f"-cp {self.cluster.directory}/client-conf:{self._classes}:{jars}/* MiniAm {containers} 512 "
                   f"'echo 0123456789 1><LOG''_DIR>/stdout; exec sleep 620' {finish} 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr")
        return self.cluster.console("submit", name=name, queue=queue, memory=512, attempts=1, command=command)["app"]

    def _prepare(self):
        """One finished application, one that was killed by PUT, one that runs with one container."""
        cluster = self.cluster
        finished = self._submit("finished", "gpu", self._done)
        cluster.wait_state(finished, {"FINISHED"})
        killed = cluster.console("submit", name="killed", queue="gpu", memory=256, attempts=1,
                                 command="exec sleep 620")["app"]
        running = self._submit("running", "default", self._finish, containers=1)
        cluster.wait_state(running, {"RUNNING"})
        self.ids = {"finished": finished, "killed": killed, "running": running,
                    "unknown": running[:-4] + "9999", "user": cluster.report(running)["user"],
                    "node": self.ends["node1.rpc"]}
        self._kill(killed)
        attempt = cluster.report(running)["attempt"]
        rows = wait_for("the container to run", lambda: (lambda rows: rows if len(rows) == 2 else None)(
            [c for c in cluster.console("containers", attempt=attempt) if c["state"] == "RUNNING"]))
        self.ids["container"] = max(r["container"] for r in rows)
        self.ids["nocontainer"] = self.ids["container"][:-6] + "009999"
        wait_for("the node to run nothing but that", self._settled)

    def _settled(self):
        node = ask(self.nm, "GET", "/ws/v1/node/containers", JSON)["body"]["containers"].get("container", [])
        states = [c["state"] for c in node if c["id"].rpartition("_")[0] == self.ids["container"].rpartition("_")[0]]
        report = ask(self.rm, "GET", f"/ws/v1/cluster/nodes/{self.ids['node']}", JSON)["body"]["node"]
        log = ask(self.nm, "GET", f"/ws/v1/node/containerlogs/{self.ids['container']}/stdout")["body"]
        app = ask(self.rm, "GET", f"/ws/v1/cluster/apps/{self.ids['running']}", JSON)["body"]["app"]
        return (states == ["RUNNING"] * 2 and len(node) == 2 and report["numContainers"] == 2
                and "0123456789" in log and app["progress"] == 25.0 and app["vcoreSeconds"] > 0)

    def _kill(self, app):
        """The kill, with all that is refused before it."""
        def put(name, body, path="/ws/v1/cluster/apps/{}/state".format(app), kind=JSON, accept=JSON):
            self.answers[f"PUT {name}"] = ask(self.rm, "PUT", f"{path}?user.name={self.ids['user']}", accept, body, kind)

        self.cluster.wait_state(app, {"ACCEPTED", "RUNNING"})
        put("state: not KILLED", '{"state":"FINISHED"}')
        put("state: no state", '{"state":"NOSUCHSTATE"}')
        put("state: empty object", "{}")
        put("state: broken body", "{")
        put("state: empty body", "")
        put("state: body is text", '{"state":"KILLED"}', kind="text/plain")
        put("state: not KILLED, answer as XML", "<appstate><state>FINISHED</state></appstate>", kind=XML, accept=XML)
        put("state: unknown application", '{"state":"KILLED"}', f"/ws/v1/cluster/apps/{self.ids['unknown']}/state")
        put("state: bad id", '{"state":"KILLED"}', "/ws/v1/cluster/apps/nonsense/state")
        put("state: kill", '{"state":"KILLED"}')
        # An application that died at once answers 200 already.
        self.answers["PUT state: kill"]["status"] = str(self.answers["PUT state: kill"]["status"]).replace("200", "202")
        self.answers["PUT state: kill"]["body"] = sorted(self.answers["PUT state: kill"]["body"])
        self.cluster.wait_state(app, {"KILLED"})
        put("state: killed already", '{"state":"KILLED"}')
        put("state: killed already, as XML", "<appstate><state>KILLED</state></appstate>", kind=XML, accept=XML)
        put("state: finished already", '{"state":"KILLED"}', f"/ws/v1/cluster/apps/{self.ids['finished']}/state")

    def _ask_all(self):
        keep = self.answers.__setitem__
        for base, paths in [(self.rm, CLUSTER_READS), (self.nm, NODE_READS)]:
            for path in paths:
                for word, accept in [("json", JSON), ("xml", XML)]:
                    keep(f"GET {path} {word}", ask(base, "GET", path.format(**self.ids), accept))
        for path in NODE_TEXTS:
            keep(f"GET {path}", ask(self.nm, "GET", path.format(**self.ids)))
        for base, path in [(self.rm, "/ws/v1/cluster/info"), (self.nm, "/ws/v1/node/info")]:
            for accept in [None, "*/*", "text/html", "text/html,application/xml;q=0.9,*/*;q=0.8",
                           "application/json;q=0.5,application/xml"]:
                keep(f"GET {path} Accept: {accept}", ask(base, "GET", path, accept))
            for method in ["HEAD", "POST", "PUT", "DELETE"]:
                keep(f"{method} {path}", ask(base, method, path, JSON, "" if method in ("POST", "PUT") else None))
        for base, daemon in [(self.rm, "rm"), (self.nm, "nm")]:
            for path in ["/conf?name=yarn.resourcemanager.cluster-id", "/conf?name=no.such.key"]:
                for word, accept in [("json", JSON), ("xml", XML)]:
                    keep(f"GET {daemon} {path} {word}", ask(base, "GET", path, accept))
            for path in ["/jmx?get=nonsense", "/jmx?qry=no:such=bean", "/ws/v1/nosuchpath"]:
                keep(f"GET {daemon} {path}", ask(base, "GET", path))
            keep(f"HEAD {daemon} /jmx", ask(base, "HEAD", "/jmx") | {"body": ""})
            beans = ask(base, "GET", "/jmx")
            if beans["status"] == 200:
                beans["body"] = {b["name"]: b for b in beans["body"]["beans"] if measured(b["name"])}
            keep(f"GET {daemon} /jmx", beans)
        keep("GET /isActive", ask(self.rm, "GET", "/isActive"))
        keep("HEAD /cluster", ask(self.rm, "HEAD", "/cluster") | {"body": ""})
        keep("HEAD /node", ask(self.nm, "HEAD", "/node") | {"body": ""})

    def _neutral(self, value):
        """The value with ids, addresses and accounts of this cluster as names."""
        names = {self.ids["node"]: "NODE", self.nm: "NODE_HTTP", self.rm: "RM_HTTP",
                 self.ids["running"].split("_")[1]: "EPOCH"}
        host = self.ids["node"].rpartition(":")[0]

        def text(value):
            # The line below the title is as long as the title.
            value = re.sub(r"\A([^\n]+)(\n[^\n]+\n)(=+)\n", lambda m: m[1] + m[2] + (
                "LINE\n" if len(m[1]) == len(m[3]) else m[3] + "\n"), value)
            for own, name in names.items():
                value = value.replace(own, name)
            value = re.sub(r"LogLastModifiedTime:[^\n]+", "LogLastModifiedTime:TIME", value)
            if re.fullmatch(r"\[\S+=\S+\]", value):
                # Resource types in the order of a Java hash table.
                value = f"[{','.join(sorted(value[1:-1].split(',')))}]"
            return re.sub(rf"\b{re.escape(host)}\b", "HOST", re.sub(rf"\b{self.ids['user']}\b", "USER", value))

        def walk(value):
            if isinstance(value, dict):
                return {text(key): walk(one) for key, one in value.items()}
            if isinstance(value, list):
                # Stock Hadoop's sum over all partitions is there once the application has been put in order.
                one = [walk(one) for one in value if not (
                    isinstance(one, dict) and "used" in one and one.get("partitionName") in ("*", ["*"]))]
                # The order of applications, files and statistics is not promised.
                return sorted(one, key=order if one and isinstance(one[0], dict) else None)
            if value == os.uname().nodename:
                return "HOSTNAME"
            return text(value) if isinstance(value, str) else value

        return walk(value)


class Shape(Recorded):
    """The answers about queues of one cluster, in which one application runs."""

    def _prepare(self):
        running = self._submit("running", "root.lab.small", self._finish, containers=1)
        self.cluster.wait_state(running, {"RUNNING"})
        self.ids = {"running": running, "user": self.cluster.report(running)["user"],
                    "node": self.ends["node1.rpc"]}
        path = f"/ws/v1/cluster/nodes/{self.ids['node']}"
        app = f"/ws/v1/cluster/apps/{running}"
        wait_for("both containers to run",
                 lambda: ask(self.rm, "GET", path, JSON)["body"]["node"]["numContainers"] == 2
                 and ask(self.rm, "GET", app, JSON)["body"]["app"]["vcoreSeconds"] > 1)

    def _ask_all(self):
        for path in SHAPE_READS:
            for word, accept in [("json", JSON), ("xml", XML)]:
                self.answers[f"GET {path} {word}"] = ask(self.rm, "GET", path, accept)


def shape(bench, name):
    """The answers of a fresh cluster with these queues."""
    keys = KEYS | SHAPES[name] | {
        "yarn.node-labels.enabled": str(name == "labels").lower(),
        "yarn.node-labels.fs-store.root-dir": f"file://{bench.folder('labels')}",
    }
    cluster = bench.fresh_cluster(nodes=1, keys=keys)
    if name == "labels":
        done(cluster, "-addToClusterNodeLabels", "gold(exclusive=false)")
        # Stock Hadoop works a partition's amounts out when a node comes to it or leaves it.
        for label in ("gold", ""):
            done(cluster, "-replaceLabelsOnNode", f"{cluster.node_hosts()[0]}={label}")
    return Shape(bench, cluster).answers


def measured(name):
    """Whether a bean is one that both kinds have: those of Hadoop's own clusters, queues and nodes."""
    return re.match(r"Hadoop:service=(ResourceManager|NodeManager),name=(ClusterMetrics|QueueMetrics,.*|"
                    r"NodeManagerMetrics)$", name) and ",user=" not in name


def order(item):
    """What an object of a list is sorted by."""
    keys = ["id", "fileName", "resourceName", "name", "queueName", "type", "accessType", "operation", "key", "state"]
    return [json.dumps(item.get(key)) for key in keys]


def kind_of(value):
    """The JSON type; a whole number is told from one with a fraction point."""
    names = {bool: "boolean", int: "integer", float: "float", str: "text", dict: "object", list: "list"}
    return names.get(type(value), "null")


def differences(path, stock, ours):
    """Each difference as (path, sentence)."""
    if kind_of(stock) != kind_of(ours):
        yield path, f"stock {kind_of(stock)} {short(stock)}, here {kind_of(ours)} {short(ours)}"
    elif isinstance(stock, dict):
        for key in stock.keys() | ours.keys():
            if key not in ours:
                yield f"{path}/{key}", f"only stock has it: {short(stock[key])}"
            elif key not in stock:
                yield f"{path}/{key}", f"only here: {short(ours[key])}"
            else:
                yield from differences(f"{path}/{key}", stock[key], ours[key])
    elif isinstance(stock, list):
        if len(stock) != len(ours):
            yield path, f"stock has {len(stock)}, here {len(ours)}: {short(stock)}, here {short(ours)}"
        for index, (one, other) in enumerate(zip(stock, ours)):
            yield from differences(f"{path}/{called(one) or index}", one, other)
    elif stock != ours and not (isinstance(stock, float) and math.isclose(stock, ours, rel_tol=1e-5)):
        if not varies(path, stock, ours):
            yield path, f"stock {short(stock)}, here {short(ours)}"


def called(item):
    """What an object of a list is called by: its own name, where it has one."""
    names = [item[key] for key in ("queueName", "name", "fileName") if key in item] if isinstance(item, dict) else []
    name = names[0] if names else ""
    return name[0] if isinstance(name, list) else name


def varies(path, stock, ours):
    """Whether the field may have another value: it is one of those that time or place decides, and of their form."""
    for pattern, form, _ in VARYING:
        if re.search(pattern, path):
            return all(re.fullmatch(form, str(value), re.DOTALL) for value in (stock, ours))
    return False


def short(value):
    """A value, cut."""
    text = json.dumps(value)
    return text if len(text) < 160 else text[:160] + "…"


def compare(bench, stock, ours, whole=True):
    """Fails when an answer differs in a way that is not known."""
    found = []
    for name in sorted(stock.keys() | ours.keys()):
        found += differences(name, stock.get(name), ours.get(name))
    used = set()
    unknown = []
    for path, sentence in found:
        rule = next((pattern for pattern, _ in DIFFERENT if re.search(pattern, path)), None)
        used.add(rule)
        if rule is None:
            unknown.append(f"{path}: {sentence}")
    (bench.logs / f"{bench.name}-differences.txt").write_text("\n".join(unknown) + "\n")
    require(not unknown, f"{len(unknown)} differences: {' | '.join(unknown[:5])}")
    stale = [pattern for pattern, _ in DIFFERENT if whole and pattern not in used]
    require(not stale, f"no longer different: {stale}")
    return f"{len(stock)} answers, {len(found)} known differences"


def recorded(bench):
    """The answers of a fresh cluster of the bench's kind."""
    return Recorded(bench, bench.fresh_cluster(nodes=1, keys=KEYS)).answers


def write(path, answers):
    """Keeps answers, one a line and sorted, so that a change shows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{json.dumps(name)}: {json.dumps(answers[name], sort_keys=True)}" for name in sorted(answers)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


@check("rest/kept")
def kept(bench):
    """REST, JSON and XML, as stock Hadoop answered when integration/golden/rest was made."""
    ours = recorded(bench)
    if os.environ.get("HEDDLE_GOLDEN_WRITE"):
        write(GOLDEN, ours)
        return f"{len(ours)} answers written"
    write(bench.logs / "rest-kept.json", ours)
    stock = json.loads(GOLDEN.read_text(encoding="utf-8"))
    if bench.target == "stock":
        found = [d for name in stock for d in differences(name, stock[name], ours.get(name))]
        require(not found, f"stock Hadoop answers otherwise than it did: {found[:5]}")
        return f"{len(ours)} answers"
    return compare(bench, stock, ours)


def beside_stock(bench, questions):
    """The answers of a stock pair and of ours."""
    caches.stock_jars()
    other = Bench("stock", bench.logs / f"{bench.name.replace('/', '-')}-stock")
    other.logs.mkdir()
    other.name = bench.name
    passed = False
    try:
        stock = questions(other)
        write(other.logs / "answers.json", stock)
        passed = True
    finally:
        problems = other.close(keep=not passed)
    require(not problems, f"the stock pair did not stop: {problems}")
    ours = questions(bench)
    write(bench.logs / f"{bench.name.replace('/', '-')}.json", ours)
    return stock, ours


@check("rest/live", targets=HEDDLE)
def live(bench):
    """REST, JSON and XML, field by field as a stock ResourceManager and NodeManager with the same applications."""
    return compare(bench, *beside_stock(bench, recorded))


@check("rest/weights", targets=HEDDLE)
def weights(bench):
    """/scheduler, /apps and /nodes as stock Hadoop's: queues by weight, limits of users, templates."""
    return compare(bench, *beside_stock(bench, lambda b: shape(b, "weights")), whole=False)


@check("rest/amounts", targets=HEDDLE)
def amounts(bench):
    """/scheduler, /apps and /nodes as stock Hadoop's: queues by amounts."""
    return compare(bench, *beside_stock(bench, lambda b: shape(b, "amounts")), whole=False)


@check("rest/labels", targets=HEDDLE)
def labels(bench):
    """/scheduler, /apps and /nodes as stock Hadoop's: queues with a partition of their own."""
    return compare(bench, *beside_stock(bench, lambda b: shape(b, "labels")), whole=False)
