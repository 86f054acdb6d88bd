"""Access lists and placement with several users, as stock clients, REST and pages show them."""

import json
import re
import urllib.error
import urllib.request
from contextlib import closing, contextmanager

import caches
from harness import Client, Console, RemoteError, require, require_match, wait_for
from scenarios.registry import check

CAPACITY = "yarn.scheduler.capacity."
LISTS = {
    "yarn.acl.enable": "true",
    "yarn.admin.acl": "root",
    f"{CAPACITY}root.acl_submit_applications": " ",
    f"{CAPACITY}root.acl_administer_queue": " ",
    f"{CAPACITY}root.default.acl_submit_applications": "*",
    f"{CAPACITY}root.gpu.acl_submit_applications": "root",
}
# alice submits; eve administers her queue; carol is on the list of what may be seen; bob is nobody.
PEOPLE = LISTS | {
    f"{CAPACITY}root.default.acl_submit_applications": "alice",
    f"{CAPACITY}root.default.acl_administer_queue": "eve",
}
FILTER = {"yarn.webapp.filter-entity-list-by-user": "true"}
MAPPING = {
    f"{CAPACITY}mapping-rule-format": "json",
    f"{CAPACITY}mapping-rule-json": json.dumps({"rules": [
        {"type": "user", "matches": "bob", "policy": "reject", "fallbackResult": "skip"},
        {"type": "user", "matches": "*", "policy": "specified", "fallbackResult": "skip"}]}),
}


@contextmanager
def console_of(bench, cluster, user):
    """A stock client that says it is the user (simple authentication)."""
    with closing(Console(cluster, bench.logs / f"{bench.name}.{user}.log", user)) as console:
        yield console


def as_user(bench, cluster, user, name, *words):
    """A command of the stock CLI as the user, in a Java of its own; its exit code and output."""
    java = ["env", f"HADOOP_USER_NAME={user}", f"{caches.java_home()}/bin/java", "-Xmx256m", "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1", "-cp", f"{cluster.directory}/client-conf:{caches.spark_home()}/jars/*",
            f"org.apache.hadoop.yarn.client.cli.{name}", *words]
    with Client(cluster, bench.logs / f"{bench.name}.{user}.cli.log", java) as client:
        return client.wait(), client.output()


def refusal(console, call, **fields):
    """The class and text of the exception that a call must meet."""
    try:
        answer = console(call, **fields)
    except RemoteError as error:
        return error.java_class.rpartition(".")[2], error.message
    raise AssertionError(f"{call} was not refused: {answer}")


def ask(url, user=None, method="GET", body=None, headers=None):
    """Status, body and headers of a request by the user; by nobody where there is none."""
    url += f"?user.name={user}" if user else ""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, method=method, data=body and body.encode(), headers=headers or {})
    try:
        answer = opener.open(request, timeout=30)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.read().decode(errors="replace"), answer.headers


class Site:
    """The web servers of a pair with one application of alice, whose master runs."""

    def __init__(self, bench, keys):
        self.cluster = bench.fresh_cluster(keys=PEOPLE | keys)
        self.rm = f"http://{self.cluster.endpoints()['rm.http']}"
        self.nm = f"http://{self.cluster.endpoints()['node1.http']}"

    def submit(self, alice):
        """An application that carol may see and dave change."""
        self.app = alice("submit", memory=512, command="sleep 600", queue="default",
                         acls={"VIEW_APP": "carol", "MODIFY_APP": "dave"})["app"]
        self.path = f"{self.rm}/ws/v1/cluster/apps/{self.app}"
        wait_for("the master's container", lambda: self.containers())
        self.container = self.containers()[0]["id"]

    def containers(self):
        """Those of the node that run, as the administrator sees them."""
        told = self.json(f"{self.nm}/ws/v1/node/containers", "root").get("containers") or {}
        return [one for one in told.get("container", []) if one["state"] == "RUNNING"]

    def json(self, url, user):
        """A body of REST for the user."""
        status, text, _ = ask(url, user)
        require(status == 200, f"GET {url} by {user}: {status} {text}")
        return json.loads(text)


@check("acls/cli")
def cli(bench):
    """With yarn.acl.enable the stock CLI of another user is refused what it may not do, in Hadoop's words, and sees no
    more of an application than its name; those on a list, the queue's administrator and root may."""
    site = Site(bench, {})
    cluster = site.cluster
    with console_of(bench, cluster, "alice") as alice, console_of(bench, cluster, "bob") as bob:
        site.submit(alice)
        app, attempt = site.app, alice("attempts", app=site.app)[0]["attempt"]
        cannot = ("YarnException", f"java.security.AccessControlException: User bob cannot perform operation MODIFY_APP on {app}")
        hidden = ("YarnException", f"User bob does not have privilege to see this application {app}")
        require(refusal(bob, "kill", app=app) == cannot, f"the kill: {refusal(bob, 'kill', app=app)}")
        require(refusal(bob, "attempts", app=app) == hidden, f"the attempts: {refusal(bob, 'attempts', app=app)}")
        told = refusal(bob, "containers", attempt=attempt)
        require(told == hidden, f"the containers: {told}")
        for words in (["-kill", app], ["-movetoqueue", app, "-queue", "gpu"], ["-updatePriority", "5", "-appId", app],
                      ["-updateLifetime", "600", "-appId", app]):
            told = refusal(bob, "cli", **{"class": "ApplicationCLI"}, args=["application", *words])
            require(told == cannot, f"{words}: {told}")
        report = bob("report", app=app)
        shown = {key: report[key] for key in ("user", "name", "diagnostics", "host", "port", "tracking", "containers")}
        require(shown == {"user": "alice", "name": "probe", "diagnostics": "N/A", "host": "N/A", "port": -1,
                          "tracking": "N/A", "containers": -1}, f"bob sees {shown}")
        listed = bob("cli", **{"class": "ApplicationCLI"}, args=["application", "-list"])["text"]
        require_match(rf"{app}\t[^\n]*\t *alice\t[^\n]*\t *N/A\n", listed, "bob's list")
        java, text = refusal(bob, "submit", queue="default")
        require_match(r"^org.apache.hadoop.security.AccessControlException: User bob does not have permission to submit "
                      r"application_\d+_\d+ to queue default$", text, f"{java} of the submission")
        opened = alice("am.open", name="lists", queue="default", acls={"VIEW_APP": "carol", "MODIFY_APP": "dave"})
        told = alice("am.register", app=opened["app"])["acls"]
        require(told == {"VIEW_APP": "carol", "MODIFY_APP": "dave"}, f"the master is told {told}")
        # what users type
        code, output = as_user(bench, cluster, "bob", "RMAdminCLI", "-refreshQueues")
        require(code != 0, f"rmadmin exited {code}: {output}")
        require_match(r"User bob doesn't have permission to call 'refreshQueues'", output, "what rmadmin printed")
        code, output = as_user(bench, cluster, "dave", "ApplicationCLI", "application", "-kill", app)
        require(code == 0, f"the kill of dave exited {code}: {output}")
        cluster.stop()


@check("acls/web")
def web(bench):
    """REST and pages show a foreign user, and nobody, an application without times, places and amounts, and take no
    change from them; a cookie keeps who asks; logs are for those who may see it."""
    site = Site(bench, {})
    with console_of(bench, site.cluster, "alice") as alice:
        site.submit(alice)
    path, page = site.path, f"{site.rm}/cluster/app/{site.app}"
    for user, sees in (("alice", True), ("carol", True), ("eve", True), ("root", True), ("bob", False), (None, False)):
        app = site.json(path, user)["app"]
        listed = site.json(f"{site.rm}/ws/v1/cluster/apps", user)["apps"]["app"][0]
        attempt = site.json(f"{path}/appattempts", user)["appAttempts"]["appAttempt"][0]
        for one in (app, listed):
            for field in ("startedTime", "elapsedTime", "allocatedMB", "runningContainers", "masterNodeId"):
                require(bool(one[field]) == sees, f"{field} for {user}: {one[field]}")
            for field in ("amContainerLogs", "amHostHttpAddress", "logAggregationStatus"):
                require((field in one) == sees, f"{field} for {user}: {one.get(field)}")
            # as stock leaves them
            require(one["memorySeconds"] > 0 and "timeouts" in one and "resourceInfo" in one, f"{user} is shown {one}")
        for field in ("containerId", "nodeId", "nodeHttpAddress", "logsLink", "exportPorts"):
            require(bool(attempt[field]) == sees, f"{field} of the attempt for {user}: {attempt[field]}")
        require(("nodesBlacklistedBySystem" in attempt) == sees, f"{user}'s attempt: {attempt}")
        require(site.json(f"{path}/state", user)["state"] == "ACCEPTED", f"the state for {user}")
        text = ask(page, user)[1]
        require((f"Failed to read the attempts of the application {site.app}." in text) != sees, f"{user}'s page: {text}")
        require(("containerlogs" in text) == sees, f"{user}'s page: {text}")
        if user:
            one = site.json(f"{site.nm}/ws/v1/node/containers/{site.container}", user)["container"]
            require(("containerLogFiles" in one) == (sees and user != "eve"), f"{user}'s container: {one}")
    for user in ("bob", "carol", None):
        kill = ask(f"{path}/state", user, "PUT", '{"state":"KILLED"}', {"Content-Type": "application/json"})
        text = f"Unauthorized attempt to kill appid {site.app} by remote user {user or 'dr.who'}"
        require(kill[:2] == (403, text), f"the kill of {user}: {kill[:2]}")
    logs = f"{site.nm}/ws/v1/node/containers/{site.container}/logs"
    text = f"User [bob] is not authorized to view the logs for application {site.app}"
    for url in (logs, f"{logs}/prelaunch.out", f"{site.nm}/node/containerlogs/{site.container}/alice",
                f"{site.nm}/node/containerlogs/{site.container}/alice/prelaunch.out"):
        require(text in ask(url, "bob")[1], f"{url}: {ask(url, 'bob')[:2]}")
        status, shown, _ = ask(url, "carol")
        require(status == 200 and "not authorized" not in shown, f"{url} for carol: {status} {shown}")
    cookie = ask(f"{site.rm}/cluster/apps", "alice")[2]["Set-Cookie"] or ""
    require_match(r'^hadoop\.auth="?u=alice&p=alice&t=simple-dt&e=\d{13}&s=[^"&]+"?; Path=/; HttpOnly$', cookie, "the cookie")
    seen = json.loads(ask(path, headers={"Cookie": cookie.split(";")[0]})[1])["app"]
    require(seen["startedTime"] > 0, f"with the cookie alice sees {seen}")
    forged = re.sub("alice", "root", cookie.split(";")[0])
    seen = json.loads(ask(path, headers={"Cookie": forged})[1])["app"]
    require(seen["startedTime"] == 0, f"with a forged cookie one sees {seen}")
    site.cluster.stop()


@check("acls/filter")
def filtered(bench):
    """With yarn.webapp.filter-entity-list-by-user lists leave out what their reader may not see: REST, the CLI, pages and
    the node's; by its id it is there."""
    site = Site(bench, FILTER)
    with console_of(bench, site.cluster, "alice") as alice, console_of(bench, site.cluster, "bob") as bob:
        site.submit(alice)
        for user, client, seen in (("alice", alice, True), ("bob", bob, False)):
            for url, key, one in ((f"{site.rm}/ws/v1/cluster/apps", "apps", "app"), (f"{site.nm}/ws/v1/node/apps", "apps", "app"),
                                  (f"{site.nm}/ws/v1/node/containers", "containers", "container")):
                listed = len(site.json(url, user)[key].get(one, []))
                require(listed == seen, f"{url} lists {listed} for {user}")
            text = client("cli", **{"class": "ApplicationCLI"}, args=["application", "-list"])["text"]
            require((site.app in text) == seen, f"{user}'s list: {text}")
            text = ask(f"{site.rm}/cluster/apps", user)[1]
            require((site.app in text) == seen, f"{user}'s page: {text}")
        require(site.json(site.path, "bob")["app"]["id"] == site.app, "bob asks for the application by its id")
    site.cluster.stop()


@check("acls/mapping")
def mapping(bench):
    """A mapping rule that rejects: the client reads Hadoop's text, the ResourceManager's log says which rule and why."""
    cluster = bench.fresh_cluster(keys=MAPPING)
    with console_of(bench, cluster, "bob") as bob:
        java, text = refusal(bob, "submit", queue="default")
    require(java == "YarnException", f"the refusal is a {java}")
    require(text == "Application submission have been rejected by a mapping rule. Please see the logs for details",
            f"the refusal says {text}")
    log = "\n".join(path.read_text(errors="replace") for path in (cluster.directory / "logs").glob("r*"))
    require_match(r"(?i)(rejecting application|application application_\d+_\d+ of bob is refused by mapping rule)", log, "the log")
    cluster.stop()
