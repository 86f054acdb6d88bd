"""ApplicationMasterProtocol as an application master that counts response ids itself sees it."""

from harness import RemoteError, require, require_match, wait_for
from scenarios.apps import INVALID_RESOURCE, refused
from scenarios.containers import Master
from scenarios.registry import check

EXCEPTIONS = "org.apache.hadoop.yarn.exceptions."


@check("protocol/registration")
def registration(bench):
    """Registration tells the queue, the maximum, the resource types and a client key; the state is RUNNING."""
    with Master(bench, "registration", queue="root.gpu") as master:
        told = master.registration
        require((told["memory_mb"], told["vcores"]) == (8192, 4), f"the maximum is {told}")
        require(told["queue"] == "root.gpu" or told["queue"] == "gpu", f"the queue is {told['queue']}")
        require("MEMORY" in told["types"] and "CPU" in told["types"], f"the types are {told['types']}")
        report = bench.cluster.wait_state(master.app, {"RUNNING"})
        require(report["host"] == "127.0.0.1" and report["final"] == "UNDEFINED", f"reported as {report}")


@check("protocol/registered-twice")
def registered_twice(bench):
    """A second registration: InvalidApplicationMasterRequestException with Hadoop's text."""
    with Master(bench, "twice") as master:
        error = refused(lambda: master.call("am.register"))
        require(error.java_class == EXCEPTIONS + "InvalidApplicationMasterRequestException",
                f"the class is {error.java_class}")
        require(error.message == f"Application Master is already registered : {master.app}",
                f"the message is {error.message}")


@check("protocol/allocate-unregistered")
def allocate_unregistered(bench):
    """allocate before registration: ApplicationMasterNotRegisteredException."""
    console = bench.cluster.console
    opened = console("am.open", name="unregistered", queue="gpu")
    error = refused(lambda: console("am.allocate", app=opened["app"], response_id=0))
    require(error.java_class == EXCEPTIONS + "ApplicationMasterNotRegisteredException",
            f"the class is {error.java_class}")
    require_match(r"^AM is not registered for known application attempt: " + opened["attempt"]
                  + r" or RM had restarted after AM registered\. *AM should re-register\.$", error.message,
                  "the message")
    console("kill", app=opened["app"])


@check("protocol/lost-reply")
def lost_reply(bench):
    """The same response id again gets the same answer, and no second container."""
    with Master(bench, "replay") as master:
        granted = master.containers()
        sent = master.response_id - 1
        before = master.call("am.allocate", response_id=sent)
        again = master.call("am.allocate", response_id=sent)
        require(before == again, f"the answers differ: {before} and {again}")
        require([c["container"] for c in again["allocated"]] == [c["container"] for c in granted],
                f"the replay has {again['allocated']}")
        require(again["response_id"] == master.response_id, f"the replay has response id {again['response_id']}")
        require(not master.allocate()["allocated"], "the replay was granted again")


@check("protocol/stale-response-id")
def stale_response_id(bench):
    """A response id that is older than the last: InvalidApplicationMasterRequestException."""
    with Master(bench, "stale") as master:
        for _ in range(3):
            master.allocate()
        error = refused(lambda: master.call("am.allocate", response_id=0))
        require(error.java_class == EXCEPTIONS + "InvalidApplicationMasterRequestException",
                f"the class is {error.java_class}")
        require_match(r"^Invalid responseId in AllocateRequest from application attempt: " + master.attempt
                      + r" expect responseId to be 3 but get 0$", error.message, "the message")


@check("protocol/absolute-asks")
def absolute_asks(bench):
    """An ask's count is absolute: sent again after a grant it asks anew, and 0 takes it back."""
    with Master(bench, "absolute") as master:
        first = master.containers(count=2)
        require(len({c["container"] for c in first}) == 2, f"the containers are {first}")
        for _ in range(3):
            require(not master.allocate(asks=[{"count": 0}])["allocated"], "more was granted than asked for")
        require(len(master.containers(count=1)) == 1, "a second ask was not granted")


@check("protocol/granted-container")
def granted_container(bench):
    """A grant carries the priority asked for, normalised memory, the node's addresses, and its NM token once."""
    with Master(bench, "grant") as master:
        tokens = []

        def probe():
            answer = master.allocate(asks=[] if probe.asked else [{"priority": 7, "memory": 200}])
            probe.asked = True
            tokens.extend(answer["nm_tokens"])
            return answer["allocated"]

        probe.asked = False
        granted = wait_for("a container", probe)[0]
        require(granted["priority"] == 7, f"the priority is {granted['priority']}")
        require((granted["memory"], granted["vcores"]) == (256, 1), f"200 MiB became {granted}")
        ends = bench.cluster.endpoints()
        names = {v: k for k, v in ends.items()}
        node = names.get(granted["node"], "").partition(".")[0]
        require(node and granted["http"] == ends[f"{node}.http"], f"the node is {granted}")
        require(tokens == [granted["node"]], f"the tokens are for {tokens}")


@check("protocol/strict-locality")
def strict_locality(bench):
    """A node that is named without relaxLocality, and only that node, gives the containers."""
    for host in bench.cluster.node_hosts():
        with Master(bench, "strict") as master:
            granted = []

            def probe(master=master, granted=granted, host=host):
                asks = [] if master.response_id else [
                    {"name": host, "count": 3, "relax": False}, {"name": "/default-rack", "count": 3, "relax": False},
                    {"name": "*", "count": 3, "relax": False}]
                granted.extend(master.allocate(asks=asks)["allocated"])
                return len(granted) >= 3

            wait_for("three containers", probe)
            require({c["node"].partition(":")[0] for c in granted} == {host}, f"{host} was named, granted {granted}")


@check("protocol/ask-over-maximum")
def ask_over_maximum(bench):
    """An ask above the maximum: InvalidResourceRequestException with Hadoop's text, and the master lives on."""
    with Master(bench, "over maximum") as master:
        error = refused(lambda: master.allocate(asks=[{"memory": 9000}]))
        require(error.java_class == INVALID_RESOURCE, f"the class is {error.java_class}")
        require_match(r"Invalid resource request! Cannot allocate containers as requested resource is greater than "
                      r"maximum allowed allocation\. Requested resource type=\[memory-mb\], "
                      r"Requested resource=<memory:9000, vCores:1.*>, maximum allowed allocation=<memory:8192, "
                      r"vCores:4.*>, please note that maximum allowed allocation is calculated by scheduler based on "
                      r"maximum resource of registered NodeManagers, which might be less than configured maximum "
                      r"allocation=<memory:8192, vCores:4", error.message, "the message")
        require(len(master.containers()) == 1, "nothing was granted after the refusal")


@check("protocol/ask-above-free")
def ask_above_free(bench):
    """What does not fit now waits, and is granted when a container is released."""
    with Master(bench, "waits") as master:
        big = master.containers(count=2, memory=8192, priority=1)
        waiting = master.allocate(asks=[{"priority": 2, "memory": 4096}])
        require(not waiting["allocated"], f"granted beyond the nodes: {waiting['allocated']}")
        require(not master.allocate()["allocated"], "granted beyond the nodes")
        freed = master.allocate(release=[big[0]["container"]])["allocated"]
        granted = wait_for("the waiting ask", lambda: freed or master.allocate()["allocated"])
        require(granted[0]["node"] == big[0]["node"] and granted[0]["memory"] == 4096, f"granted {granted}")


@check("protocol/finish")
def finish(bench):
    """After finish the report tells what the master told, and further calls are refused."""
    master = Master(bench, "finish")
    wait_for("the end to be noted", lambda: master.call(
        "am.finish", status="FAILED", diagnostics="no more thread", url="")["unregistered"])
    report = bench.cluster.wait_state(master.app, {"FINISHED"})
    require((report["final"], report["diagnostics"].strip()) == ("FAILED", "no more thread"), f"ended {report}")
    error = refused(lambda: master.call("am.allocate", response_id=master.response_id))
    require(error.java_class in (EXCEPTIONS + "ApplicationAttemptNotFoundException",
                                 EXCEPTIONS + "ApplicationMasterNotRegisteredException",
                                 "org.apache.hadoop.security.token.SecretManager$InvalidToken"),
            f"the class is {error.java_class}")


@check("protocol/killed-under-the-master")
def killed_under_the_master(bench):
    """A master whose application was killed is told so by its next call, at once."""
    master = Master(bench, "killed")
    bench.cluster.console("kill", app=master.app)
    bench.cluster.wait_state(master.app, {"KILLED"})
    seen = []

    def probe():
        try:
            master.call("am.allocate", response_id=0)
        except RemoteError as error:
            seen.append(error)
        return seen

    wait_for("a refusal", probe)
    require(seen[0].java_class in (EXCEPTIONS + "ApplicationAttemptNotFoundException",
                                   "org.apache.hadoop.security.token.SecretManager$InvalidToken"),
            f"the class is {seen[0].java_class}: {seen[0].message}")
