"""Containers that an application master starts: environment, ends, memory, logs, refusals."""

import json
import os

from harness import CheckFailed, RemoteError, fetch, require, require_match, wait_for
from scenarios.apps import HOG, OVER_MEMORY, refused
from scenarios.registry import HEDDLE, check


class Master:
    """An unmanaged application master that keeps the response id like a stock client does."""

    def __init__(self, bench, name, queue="gpu"):
        self.console = bench.cluster.console
        opened = self.console("am.open", name=name, queue=queue)
        self.app, self.attempt = opened["app"], opened["attempt"]
        self.registration = self.call("am.register")
        self.response_id = 0
        self.finished = {}

    def call(self, call, **fields):
        """A call of this master."""
        return self.console(call, app=self.app, **fields)

    def allocate(self, **fields):
        """One heartbeat."""
        answer = self.call("am.allocate", response_id=self.response_id, **fields)
        require(answer["response_id"] == self.response_id + 1,
                f"the response id is {answer['response_id']} after {self.response_id}")
        self.response_id += 1
        for status in answer["completed"]:
            require(status["container"] not in self.finished, f"{status['container']} ended twice")
            self.finished[status["container"]] = status
        return answer

    def containers(self, count=1, **ask):
        """That many containers of one ask."""
        granted = []

        def probe():
            granted.extend(self.allocate(asks=[] if probe.asked else [{"count": count} | ask])["allocated"])
            probe.asked = True
            return len(granted) >= count

        probe.asked = False
        wait_for(f"{count} containers", probe)
        require(len(granted) == count, f"{len(granted)} containers for an ask of {count}")
        return granted

    def run(self, command, container=None, **launch):
        """Starts a command in a container; its id."""
        container = container or self.containers()[0]
        self.call("am.start", container=container["container"], command=command, **launch)
        return container["container"]

    def end_of(self, container):
        """The completed status of a container."""
        def probe():
            if container not in self.finished:
                self.allocate()
            return self.finished.get(container)

        return wait_for(f"{container} to end", probe)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            wait_for("the end to be noted", lambda: self.call("am.finish")["unregistered"])
        except (RemoteError, CheckFailed):
            if kind is None:
                raise


@check("containers/environment")
def environment(bench):
    """A container sees YARN's variables, its token file and its directories, and leaves YARN's log files."""
    out = bench.path("env")
    with Master(bench, "environment") as master:
        granted = master.containers()[0]
        script = ("import json, os; e = dict(os.environ); e['cwd'] = os.getcwd(); "
                  "e['tmp'] = str(os.path.isdir('tmp')); "
                  "e['token'] = str(os.path.getsize(e['HADOOP_TOKEN_FILE_LOCATION']) > 0); "
                  "e['logs'] = ' '.join(sorted(os.listdir(e['LOG_DIRS']))); "
                  f"json.dump(e, open('{out}', 'w'))")
        container = master.run(f'/usr/bin/python3 -c \\"{script}\\"', granted, env={
            "SECOND": "$FIRST-two", "FIRST": "one", "MINE": "{{CONTAINER_ID}}<CPS>end", "LOGS": "<LOG_DIR>"})
        status = master.end_of(container)
        require(status["exit"] == 0, f"ended {status}")
    env = json.loads(out.read_text())
    host, port = granted["node"].rsplit(":", 1)
    user = bench.cluster.report(master.app)["user"]
    expected = {
        "CONTAINER_ID": container, "NM_HOST": host, "NM_PORT": port, "USER": user, "LOGNAME": user,
        "NM_HTTP_PORT": granted["http"].rsplit(":", 1)[1], "SECOND": "one-two", "MINE": f"{container}:end",
        "PWD": env["cwd"], "tmp": "True", "token": "True", "HOME": "/home/", "MALLOC_ARENA_MAX": "4",
        "LOGS": env["LOG_DIRS"],
    }
    different = {k: env.get(k) for k, v in expected.items() if env.get(k) != v}
    require(not different, f"the environment has {different}, expected {expected}")
    for name in ["LOCAL_DIRS", "LOCAL_USER_DIRS", "JVM_PID", "JAVA_HOME", "LOCALIZATION_COUNTERS", "PATH"]:
        require(env.get(name), f"{name} is not set")
    application = f"/usercache/{user}/appcache/{master.app}"
    require(env["LOCAL_DIRS"].endswith(application), f"LOCAL_DIRS is {env['LOCAL_DIRS']}")
    require(env["cwd"].endswith(f"{application}/{container}"), f"the directory is {env['cwd']}")
    require(env["LOG_DIRS"].endswith(f"/{master.app}/{container}"), f"LOG_DIRS is {env['LOG_DIRS']}")
    logs = set(env["logs"].split())
    require({"prelaunch.out", "prelaunch.err", "launch_container.sh", "directory.info"} <= logs, f"the logs are {logs}")


@check("containers/exit-codes")
def exit_codes(bench):
    """Exit codes reach the application master: 0, 7, and 137 for a process killed by SIGKILL."""
    with Master(bench, "exit codes") as master:
        good = master.run("true")
        bad = master.run("exit 7")
        shot = master.run("kill -9 $$")
        require(master.end_of(good)["exit"] == 0, f"ended {master.finished}")
        require(master.end_of(bad)["exit"] == 7, f"ended {master.finished}")
        require(master.end_of(shot)["exit"] == 137, f"ended {master.finished}")
        require_match(r"Exception from container-launch\.\nContainer id: " + bad + r"\nExit code: 7\n",
                      master.finished[bad]["diagnostics"], "the diagnostics")
        require_match(r"Container exited with a non-zero exit code 7\. ", master.finished[bad]["diagnostics"],
                      "the diagnostics")
        require_match(r"Container killed on request\. Exit code is 137\n", master.finished[shot]["diagnostics"],
                      "the diagnostics")


@check("containers/stopped")
def stopped(bench):
    """stopContainers ends the whole process tree; the status tells that the application master did it."""
    mark = bench.path("pids")
    with Master(bench, "stopped") as master:
        container = master.run(bench.script(
            f"sleep 601 &\nsleep 602 &\necho $$ $(jobs -p) > {mark}.new; mv {mark}.new {mark}; wait\n"))
        pids = wait_for("the processes", lambda: mark.exists() and mark.read_text().split())
        require(len(pids) == 3, f"the processes are {pids}")
        master.call("am.stop", container=container)
        status = master.end_of(container)
        require(status["exit"] in (-105, 143, 137), f"ended {status}")
        require_match(r"Container killed by the ApplicationMaster\.\n", status["diagnostics"], "the diagnostics")
        wait_for("the processes to end", lambda: not [p for p in pids if os.path.exists(f"/proc/{p}")])


@check("containers/released")
def released(bench):
    """A container that is released through allocate ends with -100, and its process is gone."""
    mark = bench.path("pid")
    with Master(bench, "released") as master:
        container = master.run(f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 603")
        pid = wait_for("the process", lambda: mark.exists() and mark.read_text().strip())
        master.allocate(release=[container])
        status = master.end_of(container)
        require(status["exit"] == -100, f"ended {status}")
        require_match(r"Container released by application", status["diagnostics"], "the diagnostics")
        wait_for("the process to end", lambda: not os.path.exists(f"/proc/{pid}"))


@check("containers/over-memory")
def over_memory(bench):
    """A container over its memory is killed: -104 and Hadoop's sentence, the process tree listed."""
    with Master(bench, "over memory") as master:
        status = master.end_of(master.run(HOG))
        require(status["exit"] == -104, f"ended {status}")
        require_match(OVER_MEMORY, status["diagnostics"], "the diagnostics")
        require_match(r"Container killed on request\. Exit code is 143\n"
                      r".*Container exited with a non-zero exit code 143\. ", status["diagnostics"], "the diagnostics")


@check("containers/ignores-sigterm")
def ignores_sigterm(bench):
    """A container that ignores SIGTERM is ended by SIGKILL."""
    mark = bench.path("pid")
    with Master(bench, "stubborn") as master:
        container = master.run(bench.script(f"trap : TERM\necho $$ > {mark}.new; mv {mark}.new {mark}\n"
                                            "while true; do sleep 1; done\n"))
        pid = wait_for("the process", lambda: mark.exists() and mark.read_text().strip())
        master.call("am.stop", container=container)
        status = master.end_of(container)
        require(status["exit"] in (-105, 137), f"ended {status}")
        wait_for("the process to end", lambda: not os.path.exists(f"/proc/{pid}"))


@check("containers/application-ends")
def application_ends(bench):
    """What still runs when the application master finishes is ended by the NodeManager."""
    mark = bench.path("pid")
    with Master(bench, "leaves") as master:
        master.run(f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 604")
        pid = wait_for("the process", lambda: mark.exists() and mark.read_text().strip())
    wait_for("the process to end", lambda: not os.path.exists(f"/proc/{pid}"))
    report = bench.cluster.wait_state(master.app, {"FINISHED"})
    require(report["final"] == "SUCCEEDED", f"ended {report}")


@check("containers/logs-over-http")
def logs_over_http(bench):
    """The NodeManager serves a container's logs under the path that Spark links to."""
    with Master(bench, "logs") as master:
        granted = master.containers()[0]
        script = bench.script("echo to the loom\nfor i in 1 2 3 4 5 6 7 8 9; do echo line $i >&2; done\nsleep 605\n")
        container = master.run(f"{script} 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr", granted)
        user = bench.cluster.report(master.app)["user"]
        base = f"http://{granted['http']}/node/containerlogs/{container}/{user}"

        def written():
            try:
                return "to the loom" in fetch(f"{base}/stdout/?start=-4096")
            except CheckFailed:
                return False

        wait_for("stdout", written)
        require("line 9" in fetch(f"{base}/stderr?start=-4096"), "stderr lacks its end")
        require("line 1\n" not in fetch(f"{base}/stderr?start=-21"), "start=-21 gives more than 21 bytes")
        index = fetch(base)
        require("stdout" in index and "stderr" in index, "the index does not name the files")
        master.allocate(release=[container])
        master.end_of(container)
        require("to the loom" in fetch(f"{base}/stdout/?start=0"), "the log has gone with the container")


@check("containers/aux-service")
def aux_service(bench):
    """A container that asks for an auxiliary service that the node lacks: InvalidAuxServiceException."""
    with Master(bench, "aux service") as master:
        error = refused(lambda: master.run("true", services={"spark_shuffle": ""}))
        require(error.java_class == "org.apache.hadoop.yarn.exceptions.InvalidAuxServiceException",
                f"the class is {error.java_class}")
        require_match(r"^The auxService:spark_shuffle does not exist", error.message, "the message")


@check("containers/started-twice")
def started_twice(bench):
    """A second start of a running container is refused with Hadoop's text."""
    with Master(bench, "twice") as master:
        granted = master.containers()[0]
        master.run("exec sleep 606", granted)
        # The stock client library itself refuses a container that it knows: only the node's word counts.
        error = refused(lambda: master.run("exec sleep 607", granted))
        require_match(r"Container " + granted["container"] + r" (is )?already ", error.message, "the message")


@check("containers/status")
def status(bench):
    """getContainerStatuses tells RUNNING and -1000 while a container runs."""
    mark = bench.path("mark")
    with Master(bench, "status") as master:
        container = master.run(f"touch {mark}; exec sleep 608")
        wait_for("the process", mark.exists)
        seen = master.call("am.status", container=container)
        require((seen["state"], seen["exit"]) == ("RUNNING", -1000), f"the status is {seen}")


@check("containers/background-process", targets=HEDDLE)
def background_process(bench):
    """A process that a container left in the background is gone after the container has ended."""
    mark = bench.path("pid")
    with Master(bench, "background") as master:
        container = master.run(bench.script(f"sleep 609 &\necho $! > {mark}.new; mv {mark}.new {mark}\n"))
        pid = wait_for("the process", lambda: mark.exists() and mark.read_text().strip())
        require(master.end_of(container)["exit"] == 0, f"ended {master.finished}")
    wait_for("the background process to end", lambda: not os.path.exists(f"/proc/{pid}"))
