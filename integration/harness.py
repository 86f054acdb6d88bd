"""Clusters, clients and observations: what the scenarios are written with.

A scenario waits for states that it can observe, always with a deadline; nothing
is concluded from the time that something took.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile
from contextlib import contextmanager
from pathlib import Path

import caches

CLIENT_DEADLINE_S = 300
STATE_DEADLINE_S = 120
END_STATES = {"FINISHED", "FAILED", "KILLED"}
# Containers of 128 MiB upwards, and a memory check that is quick enough for a test.
SHARED_KEYS = {
    "yarn.scheduler.minimum-allocation-mb": "128",
    "yarn.nodemanager.container-monitor.interval-ms": "500",
}


class CheckFailed(AssertionError):
    """What a user would notice is not as it should be."""


class Skip(Exception):
    """The machine lacks what the check needs."""


class RemoteError(Exception):
    """A Java exception that the console's client saw."""

    def __init__(self, fields):
        self.java_class = fields["error"]
        # A server may send its stack trace along; nobody's user reads that.
        self.message = fields["message"].partition("\n\tat ")[0]
        self.chain = fields["chain"]
        super().__init__(f"{self.java_class}: {self.message}")


def require(condition, reason):
    """Fails the check with the reason unless the condition holds."""
    if not condition:
        raise CheckFailed(reason)


def require_match(pattern, text, what):
    """Fails the check unless the text holds the pattern; returns the match."""
    found = re.search(pattern, text, re.DOTALL)
    require(found is not None, f"{what} does not match /{pattern}/: {text[-1500:]!r}")
    return found


def wait_for(what, probe, deadline_s=STATE_DEADLINE_S):
    """Polls until probe() is true and returns its value; names `what` on timeout."""
    deadline = time.monotonic() + deadline_s
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise CheckFailed(f"waited {deadline_s} s in vain for {what}")
        time.sleep(0.1)


def fetch(url):
    """The body behind a URL; an HTTP error is a failed check."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=30) as answer:
            return answer.read().decode(errors="replace")
    except (urllib.error.URLError, OSError) as error:
        raise CheckFailed(f"GET {url}: {error}") from error


class Process:
    """A process found in /proc."""

    def __init__(self, pid):
        self.pid = pid
        root = Path(f"/proc/{pid}")
        self.command = root.joinpath("cmdline").read_bytes().decode(errors="replace").split("\0")
        try:
            pairs = root.joinpath("environ").read_bytes().decode(errors="replace").split("\0")
        except PermissionError:
            pairs = []
        self.environment = dict(p.split("=", 1) for p in pairs if "=" in p)

    def kill(self, number=signal.SIGKILL):
        """Sends a signal; a process that has gone is fine."""
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass

    @staticmethod
    def runs(pid):
        """Whether the process runs; a zombie does not."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] not in "ZX"

    def alive(self):
        """Whether it runs still; a zombie does not."""
        return self.runs(self.pid)


def processes():
    """All processes that we may look into, zombies left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                process = Process(int(entry.name))
            except OSError:
                continue
            if process.command != [""] and process.alive():
                found.append(process)
    return found


class Console:
    """The stock Hadoop client of integration/java, one request at a time."""

    def __init__(self, cluster, log, user=None):
        classes = caches.test_classes()
        jars = caches.spark_home() / "jars"
        command = [os.path.join(caches.java_home(), "bin", "java"), "-Xmx256m", "-XX:+UseSerialGC",
                   "-XX:TieredStopAtLevel=1", "-cp",
                   f"{cluster.directory}/client-conf:{classes}:{jars}/*", "Console"]
        if user:
            command = ["env", f"HADOOP_USER_NAME={user}", *command]
        self.log = open(log, "ab")
        self.child = subprocess.Popen(cluster.command("run", *command), stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=self.log, text=True, cwd="/")

    def __call__(self, call, **fields):
        self.child.stdin.write(json.dumps({"call": call, **fields}) + "\n")
        self.child.stdin.flush()
        watchdog = threading.Timer(CLIENT_DEADLINE_S, self.child.kill)
        watchdog.start()
        try:
            line = self.child.stdout.readline()
        finally:
            watchdog.cancel()
        require(line, f"the client ended, or {call} took over {CLIENT_DEADLINE_S} s")
        answer = json.loads(line)
        if "error" in answer:
            raise RemoteError(answer)
        return answer["ok"]

    def close(self):
        """Ends the client."""
        self.child.stdin.close()
        try:
            self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.log.close()


class Cluster:
    """A running pair: Heddle's by scripts/cluster, stock Hadoop's by oracle/stock.py."""

    def __init__(self, target, directory, logs, nodes=2, keys=None, options=()):
        self.target = target
        self.directory = directory
        self.logs = logs
        self.restarted = []
        # What a scenario added to the cluster and must be cleared away behind it.
        self.after_stop = []
        self._console = None
        if target == "heddle":
            self.entry = [str(caches.REPOSITORY / "scripts" / "cluster")]
        else:
            self.entry = ["/usr/bin/python3", str(caches.HERE / "oracle" / "stock.py")]
        directory.mkdir(mode=0o711)
        words = ["--nodes", str(nodes), *map(str, options)]
        for key, value in (SHARED_KEYS | (keys or {})).items():
            words += ["-D", f"{key}={value}"]
        done = subprocess.run(self.command("start", *words), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=CLIENT_DEADLINE_S)
        if done.returncode != 0:
            self.stop()
        require(done.returncode == 0, f"the cluster did not start: {done.stdout[-1500:]}")

    def command(self, action, *words):
        """The command line of an action on this cluster."""
        return [*self.entry, action, "--dir", str(self.directory), *words]

    def endpoints(self):
        """DIR/endpoints as a dictionary."""
        lines = (self.directory / "endpoints").read_text().split()
        return dict(line.split("=", 1) for line in lines)

    def node_hosts(self):
        """The hosts of the NodeIds, node1 first."""
        ends = self.endpoints()
        return [ends[k].rpartition(":")[0] for k in sorted(ends) if re.fullmatch(r"node\d+\.rpc", k)]

    @property
    def console(self):
        """The client, started when it is first needed."""
        if self._console is None:
            self._console = Console(self, self.logs / f"console-{self.directory.name}.log")
        return self._console

    def daemon(self, name):
        """The process of `rm` or `nodeK`: the one that runs from its copy of the configuration."""
        conf = f"{self.directory}/{'rm-conf' if name == 'rm' else name + '/conf'}"
        found = [p for p in processes() if any(conf in word for word in p.command)
                 and p.command[0] not in ("setpriv", "sudo", "bash")]
        require(len(found) == 1, f"{len(found)} processes run from {conf}, not one")
        return found[0]

    def kill_daemon(self, name):
        """Ends a daemon by SIGKILL and returns how to start it again."""
        process = self.daemon(name)
        root = Path(f"/proc/{process.pid}")
        status = root.joinpath("status").read_text()
        revival = (process.command[:-1], process.environment, os.readlink(root / "cwd"),
                   int(re.search(r"Uid:\s+(\d+)", status)[1]), int(re.search(r"Gid:\s+(\d+)", status)[1]))
        process.kill()
        wait_for(f"{name} to die", lambda: not process.alive())
        return revival

    def revive(self, name, revival):
        """Starts a daemon again, exactly as it was started before."""
        command, environment, cwd, uid, gid = revival
        log = open(self.logs / f"{self.directory.name}-{name}-again.log", "ab")
        account = {"user": uid, "group": gid, "extra_groups": []} if os.geteuid() == 0 else {}
        self.restarted.append(subprocess.Popen(command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL,
                                               stdout=log, stderr=log, start_new_session=True, **account))

    def stop(self):
        """Stops the cluster; may be repeated."""
        if self._console is not None:
            self._console.close()
            self._console = None
        for child in self.restarted:
            child.terminate()
        for child in self.restarted:
            try:
                child.wait(60)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self.restarted = []
        done = subprocess.run(self.command("stop"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=CLIENT_DEADLINE_S)
        while self.after_stop:
            self.after_stop.pop()()
        require(done.returncode == 0, f"the cluster did not stop: {done.stdout[-1500:]}")
        # A hundred clusters' daemons, unstripped, are more than many a disk has room for.
        shutil.rmtree(self.directory / "bin", ignore_errors=True)

    def leftovers(self):
        """Processes that belong to this cluster: started from it, or containers of it."""
        needle = f"{self.directory}/"
        return [p for p in processes() if p.pid != os.getpid()
                and (any(needle in word for word in p.command)
                     or any(needle in value for value in p.environment.values()))]

    def report(self, app):
        """The application report."""
        return self.console("report", app=app)

    def wait_state(self, app, states):
        """Waits until the application is in one of the states; an end that is not among them fails."""
        def probe():
            report = self.report(app)
            if report["state"] in states:
                return report
            require(report["state"] not in END_STATES,
                    f"{app} ended {report['state']}: {report['diagnostics']}")
            return None

        return wait_for(f"{app} to be {'/'.join(sorted(states))}", probe)


class Client:
    """A client process of the cluster whose output goes to a file."""

    def __init__(self, cluster, log, words, env=None):
        self.log = log
        with open(log, "wb") as out:
            self.child = subprocess.Popen(cluster.command("run", *map(str, words)), stdin=subprocess.DEVNULL,
                                          stdout=out, stderr=subprocess.STDOUT, cwd="/",
                                          env=os.environ | (env or {}))

    def output(self):
        """What it printed so far."""
        return self.log.read_text(errors="replace")

    def app(self):
        """The application id it printed, or None."""
        found = re.search(r"application_\d+_\d+", self.output())
        return found[0] if found else None

    def wait(self):
        """Its exit code."""
        try:
            return self.child.wait(CLIENT_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            raise CheckFailed(f"the client took over {CLIENT_DEADLINE_S} s, see {self.log}") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.terminate()
            self.child.wait()


class Bench:
    """What a scenario gets: the shared cluster, a place for files, clients."""

    def __init__(self, target, logs):
        self.target = target
        self.logs = logs
        self.base = Path(tempfile.mkdtemp(prefix=f"heddle-integration-{target}-"))
        self.base.chmod(0o755)
        self.work = self.base / "work"
        self.work.mkdir()
        # Containers and clients, whatever their account, write here.
        self.work.chmod(0o1777)
        # The clone may lie where the account of the containers cannot enter.
        shutil.copytree(caches.HERE / "jobs", self.base / "jobs")
        self.name = "none"
        self.spark_version = caches.PYSPARK_VERSION
        self._clusters = []
        self._shared = None
        self._shared_error = None
        self._counter = 0

    def fresh_cluster(self, nodes=1, keys=None, options=(), target=None):
        """A cluster for one scenario alone; the options are further words for scripts/cluster start. A target
        other than the bench's is for scenarios that mix the pairs."""
        self._counter += 1
        cluster = Cluster(target or self.target, self.base / f"cluster{self._counter}", self.logs, nodes, keys, options)
        self._clusters.append(cluster)
        return cluster

    @property
    def cluster(self):
        """The cluster of two nodes that most scenarios share."""
        if self._shared_error:
            raise CheckFailed(self._shared_error)
        if self._shared is None:
            try:
                self._shared = self.fresh_cluster(nodes=2)
            except CheckFailed as error:
                self._shared_error = str(error)
                raise
        return self._shared

    def path(self, name):
        """A fresh path in the work directory that every account may write."""
        self._counter += 1
        return self.work / f"{self._counter}-{name}"

    def folder(self, name):
        """A fresh directory that every account may write."""
        made = self.path(name)
        made.mkdir()
        made.chmod(0o777)
        return made

    def file(self, name, content, mode=0o644):
        """A fresh file in a directory of its own, so that its name can be chosen."""
        made = self.folder("file") / name
        made.write_bytes(content if isinstance(content, bytes) else content.encode())
        made.chmod(mode)
        return made

    def script(self, text):
        """A command that runs the text with bash: the launch script would expand its variables too early."""
        return f"/bin/bash {self.file('script.sh', text)}"

    def zip(self, name, members):
        """A zip file with the members given as name: text."""
        made = self.folder("zip") / name
        with zipfile.ZipFile(made, "w") as archive:
            for member, text in members.items():
                archive.writestr(member, text)
        made.chmod(0o644)
        return made

    @contextmanager
    def using_spark(self, version):
        """Within it, spark() starts that version."""
        before, self.spark_version = self.spark_version, version
        try:
            yield
        finally:
            self.spark_version = before

    def spark(self, *words, mode="cluster", executors=1, conf=None, env=None, local_jars=True, cluster=None):
        """Starts spark-submit with small containers; returns the running client."""
        home = caches.spark_home(self.spark_version)
        settings = {
            "spark.executor.memory": "512m",
            "spark.driver.memory": "512m",
            "spark.executor.instances": str(executors),
            "spark.ui.enabled": "false",
            "spark.port.maxRetries": "100",
        }
        if mode == "client":
            settings |= {"spark.driver.host": "127.0.0.1"}
        if local_jars:
            settings["spark.yarn.jars"] = f"local:{home}/jars/*"
        settings |= conf or {}
        command = [home / "bin" / "spark-submit", "--master", "yarn", "--deploy-mode", mode]
        if not any(w == "--queue" for w in words):
            command += ["--queue", "root.gpu"]
        for key, value in settings.items():
            command += ["--conf", f"{key}={value}"]
        # Each client reads its application's id from its own output.
        self._counter += 1
        log = self.logs / f"{self.name}.spark-submit-{self._counter}.log"
        python = caches.python_for_spark()
        return Client(cluster or self.cluster, log, [*command, *words],
                      {"SPARK_HOME": str(home), "PYSPARK_PYTHON": python} | (env or {}))

    def close(self, keep):
        """Stops every cluster; keeps their logs when something failed."""
        problems = []
        for cluster in self._clusters:
            try:
                cluster.stop()
            except CheckFailed as error:
                problems.append(str(error))
            if keep:
                self._keep_logs(cluster)
        shutil.rmtree(self.base, ignore_errors=True)
        return problems

    def _keep_logs(self, cluster):
        """Copies the logs of daemons and containers to where the details lie."""
        target = self.logs / cluster.directory.name
        shutil.copytree(cluster.directory / "logs", target / "daemons", dirs_exist_ok=True)
        for found in cluster.directory.glob("n*/**/application_*/container_*/*"):
            if found.is_file() and found.name in ("stdout", "stderr", "prelaunch.err", "launch_container.sh"):
                place = target / found.parent.name
                place.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(found, place / found.name)
