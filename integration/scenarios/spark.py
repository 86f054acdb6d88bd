"""Unmodified Spark of each version: client and cluster mode, Java and Python, files, failures."""

import re

import caches
from harness import END_STATES, processes, require, require_match, wait_for
from scenarios.registry import check

# The sum of n*n for n below 1000.
SQUARES = 332833500


def each_version(name):
    """Registers a function of the bench once for each version of Spark."""
    def register(function):
        for version in caches.SPARK_VERSIONS:
            def run(bench, version=version):
                with bench.using_spark(version):
                    return function(bench)

            run.__doc__ = f"Spark {version}: {function.__doc__}"
            family = "spark" if version == caches.PYSPARK_VERSION else f"spark-{version}"
            check(f"{family}/{name}")(run)
        return function

    return register


def end(client):
    """Waits for spark-submit; its exit code and output."""
    code = client.wait()
    return code, client.output()


def expect_success(client):
    """The output of a spark-submit that must exit 0."""
    code, output = end(client)
    require(code == 0, f"spark-submit exited {code}: {tail(output)}")
    return output


def tail(output):
    """The part of the output that tells why."""
    lines = [line for line in output.splitlines() if "INFO" not in line]
    return "\n".join(lines)[-1200:]


def executor_processes(app):
    """The executors of an application by container id."""
    found = {}
    for process in processes():
        container = process.environment.get("CONTAINER_ID", "")
        if app.split("_", 1)[1] in container and "java" in process.command[0] \
                and any("YarnCoarseGrainedExecutorBackend" in w for w in process.command):
            found[container] = process
    return found


@each_version("client-mode")
def client_mode(bench):
    """A PySpark job with a shuffle in client mode, two executors over two nodes, exact result."""
    client = bench.spark("--name", "client mode", bench.base / "jobs" / "shuffle.py", 4, 1000, 2,
                         mode="client", executors=2)
    output = expect_success(client)
    require(f"result: {SQUARES}" in output, f"no exact result: {tail(output)}")
    report = bench.cluster.wait_state(client.app(), {"FINISHED"})
    require(report["final"] == "SUCCEEDED", f"final state is {report['final']}")


@each_version("cluster-mode")
def cluster_mode(bench):
    """A PySpark job with a shuffle in cluster mode, four executors that use both nodes, queue root.gpu."""
    answer = bench.path("answer")
    client = bench.spark("--name", "cluster mode", bench.base / "jobs" / "shuffle.py", 8, 1000, 4, answer,
                         executors=4)
    expect_success(client)
    text = answer.read_text()
    require(f"result: {SQUARES}" in text, f"no exact result: {text}")
    hosts = set(re.search("hosts: (.*)", text)[1].split())
    require(set(bench.cluster.node_hosts()) <= hosts, f"executors ran on {hosts} alone")
    report = bench.cluster.report(client.app())
    require((report["state"], report["final"]) == ("FINISHED", "SUCCEEDED"), f"ended {report}")
    require(report["queue"] == "root.gpu" and report["name"] == "cluster mode", f"reported as {report}")


@each_version("java")
def java_job(bench):
    """A Java job, compiled against Spark's jars, in cluster mode."""
    answer = bench.path("answer")
    client = bench.spark("--class", "SparkSum", caches.test_classes(bench.spark_version) / "tests.jar", 1000, answer)
    expect_success(client)
    require(answer.read_text() == f"result: {SQUARES}\n", f"answer is {answer.read_text()}")


@each_version("files-and-archives")
def files_and_archives(bench):
    """--py-files, --files a#b and --archives x.zip#y reach driver and executors under their link names."""
    answer = bench.path("answer")
    module = bench.zip("helpers.zip", {"helper_module.py": "def square(n):\n    return n * n\n"})
    offset = bench.file("offset-2026.txt", "7")
    packed = bench.zip("packed-2026.zip", {"inner/factor.txt": "3"})
    client = bench.spark("--py-files", module, "--files", f"{offset}#offset", "--archives", f"{packed}#packed",
                         bench.base / "jobs" / "files.py", answer)
    expect_success(client)
    expected = sum(n * n * 3 + 7 for n in range(100))
    require(answer.read_text() == f"result: {expected}\n", f"answer is {answer.read_text()}, not {expected}")


@each_version("uploaded-jars")
def uploaded_jars(bench):
    """Without spark.yarn.jars, Spark uploads its own jars as one archive and runs from it."""
    answer = bench.path("answer")
    client = bench.spark(bench.base / "jobs" / "shuffle.py", 2, 1000, 1, answer, local_jars=False)
    output = expect_success(client)
    require("__spark_libs__" in output, "Spark did not upload its jars")
    require(f"result: {SQUARES}" in answer.read_text(), f"answer is {answer.read_text()}")


@each_version("driver-throws")
def driver_throws(bench):
    """A driver that throws: FAILED, spark-submit's exit code is not 0, the reason is in the diagnostics."""
    client = bench.spark(bench.base / "jobs" / "throws.py", conf={"spark.yarn.maxAppAttempts": "1"})
    code, output = end(client)
    require(code != 0, "spark-submit exited 0")
    app = client.app()
    require(app, f"no application id in the output: {tail(output)}")
    report = bench.cluster.report(app)
    require((report["state"], report["final"]) == ("FINISHED", "FAILED")
            or (report["state"], report["final"]) == ("FAILED", "FAILED"), f"ended {report}")
    status = bench.cluster.console("cli", **{"class": "ApplicationCLI"}, args=["application", "-status", app])
    require_match(r"Final-State : FAILED", status["text"], "application -status")
    require_match(r"Diagnostics : .*(User application exited|exitCode: 1|ValueError)", status["text"],
                  "application -status")


@each_version("executor-killed")
def executor_killed(bench):
    """An executor killed by SIGKILL is replaced and the job succeeds."""
    ready, go, answer = bench.path("ready"), bench.path("go"), bench.path("answer")
    with bench.spark(bench.base / "jobs" / "hold.py", 2, ready, go, answer, mode="client", executors=2) as client:
        mark = ready.with_name(ready.name + ".1")
        wait_for("both executors", lambda: mark.exists() or require(
            client.child.poll() is None, f"spark-submit ended: {tail(client.output())}"), 180)
        first = executor_processes(client.app())
        require(len(first) == 2, f"{len(first)} executor processes, not 2")
        victim = sorted(first)[0]
        first[victim].kill()
        replaced = wait_for("a third executor", lambda: set(executor_processes(client.app())) - set(first))
        require(victim not in replaced, "the same container runs again")
        go.touch()
        output = expect_success(client)
        require("result: 499500" in answer.read_text(), f"answer is {answer.read_text()}")
        require("137" in output, "the driver was not told the exit status 137")


@each_version("am-killed")
def am_killed(bench):
    """The application master killed by SIGKILL: a second attempt runs and the job succeeds."""
    ready, go, answer = bench.path("ready"), bench.path("go"), bench.path("answer")
    with bench.spark(bench.base / "jobs" / "hold.py", 1, ready, go, answer) as client:
        mark = ready.with_name(ready.name + ".1")
        wait_for("the first attempt", lambda: mark.exists() or require(
            client.child.poll() is None, f"spark-submit ended: {tail(client.output())}"), 180)
        app = client.app()
        first = bench.cluster.console("attempts", app=app)[0]
        masters = [p for p in processes() if p.environment.get("CONTAINER_ID") == first["master"]
                   and "java" in p.command[0]]
        require(len(masters) == 1, f"{len(masters)} Java processes in {first['master']}")
        masters[0].kill()
        go.touch()
        expect_success(client)
        require("attempt: 2" in answer.read_text(), f"answer is {answer.read_text()}")
        report = bench.cluster.report(app)
        require((report["state"], report["final"]) == ("FINISHED", "SUCCEEDED"), f"ended {report}")
        require(report["attempt"].endswith("_000002"), f"the attempt is {report['attempt']}")
        attempts = {a["attempt"]: a for a in bench.cluster.console("attempts", app=app)}
        lost = attempts[first["attempt"]]
        require(lost["state"] == "FAILED", f"the first attempt is {lost['state']}")
        require_match("exitCode: 137", lost["diagnostics"], "the first attempt's diagnostics")


@each_version("unknown-queue")
def unknown_queue(bench):
    """spark-submit to a queue that does not exist ends with Hadoop's message."""
    client = bench.spark("--queue", "root.nope", bench.base / "jobs" / "shuffle.py", 1, 1, 1)
    code, output = end(client)
    require(code != 0, "spark-submit exited 0")
    # Hadoop 3.5 says the first half twice.
    require_match(r"Failed to submit application_\d+_\d+ to YARN : Application application_\d+_\d+ "
                  r"submitted by user \S+.* to unknown queue: root\.nope", output, "spark-submit's output")


@each_version("executor-over-maximum")
def executor_over_maximum(bench):
    """Spark itself refuses executors above the maximum that the ResourceManager told it."""
    client = bench.spark(bench.base / "jobs" / "shuffle.py", 1, 1, 1, conf={"spark.executor.memory": "9g"})
    code, output = end(client)
    require(code != 0, "spark-submit exited 0")
    require_match(r"Required executor memory \(9216 MB\).*is above the max threshold \(8192 MB\) of this cluster",
                  output, "spark-submit's output")


@each_version("killed-by-client")
def killed_by_client(bench):
    """`application -kill` ends a running Spark job: KILLED, and no process of it is left."""
    ready, go, answer = bench.path("ready"), bench.path("go"), bench.path("answer")
    with bench.spark(bench.base / "jobs" / "hold.py", 1, ready, go, answer) as client:
        mark = ready.with_name(ready.name + ".1")
        wait_for("the job", lambda: mark.exists() or require(
            client.child.poll() is None, f"spark-submit ended: {tail(client.output())}"), 180)
        app = client.app()
        killed = bench.cluster.console("cli", **{"class": "ApplicationCLI"}, args=["application", "-kill", app])
        require(killed["rc"] == 0 and f"Killing application {app}" in killed["text"], f"-kill: {killed}")
        code, _ = end(client)
        require(code != 0, "spark-submit exited 0")
        report = bench.cluster.wait_state(app, END_STATES)
        require((report["state"], report["final"]) == ("KILLED", "KILLED"), f"ended {report}")
        require_match("Application application_.* was killed by user .* at 127.0.0.1", report["diagnostics"],
                      "the diagnostics")
        number = app.split("_", 1)[1]
        wait_for("the job's processes to end", lambda: not [
            p for p in processes() if number in p.environment.get("CONTAINER_ID", "")])
