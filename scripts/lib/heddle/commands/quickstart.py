"""scripts/quickstart: from a clone to the result of a PySpark job on our daemons."""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from heddle import accounts, binaries, cache, cgroups, cluster, gpus, gpuwatch, tools
from heddle.errors import Failure

NUMBERS = 1_000_000
SCRIPTS = binaries.REPOSITORY / "scripts"
JOB = SCRIPTS / "lib" / "jobs" / "quickstart.py"
DISCOVERY = SCRIPTS / "gpu-discovery.sh"
EXECUTORS = 2
APPLICATION = re.compile(r"\bapplication_\d+_\d+\b")
STATE = re.compile(r"Application report for (application_\d+_\d+) \(state: (\w+)\)")
STEPS = 5
LOG_LINES_SHOWN = 40
CLIENT_END_S = 10


def main(arguments):
    """Runs the quickstart; returns spark-submit's exit code, or 1 if the sum is wrong."""
    parser = argparse.ArgumentParser(prog="quickstart", description=(
        "Builds the daemons, fetches Spark if SPARK_HOME is unset, starts a ResourceManager and a NodeManager, "
        "and runs a PySpark job in the queue root.gpu with spark-submit, cluster mode; each executor has a GPU, "
        "a simulated one where this machine has none."))
    parser.add_argument("--keep", action="store_true", help="leave the cluster running")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    _say(1, "looking for what is needed: cargo, a C linker, java, python3")
    _need_tools()
    _build()
    _say(3, "looking for Spark")
    spark_home, python = cache.spark(lambda text: _say(3, text))
    directory = _new_directory()
    try:
        _say(4, f"starting a ResourceManager and a NodeManager in {directory}")
        cards = gpus.real()
        endpoints = cluster.start(directory, None, 1, False, {}, _gpu_options(cards))
        with gpuwatch.Watch(endpoints) as watch:
            code, application, result = _job(directory, spark_home, python, min(cards or EXECUTORS, EXECUTORS))
    except Failure:
        _stop(directory)
        raise
    except BaseException:  # interrupted: nobody wants the logs
        _stop(directory)
        shutil.rmtree(directory, ignore_errors=True)
        raise
    expected = (NUMBERS - 1) * NUMBERS * (2 * NUMBERS - 1) // 6
    if code == 0 and not watch.lines():
        print("the job ended well, but no node said that an executor had a GPU", flush=True)
        code = 1
    if code == 0 and result != str(expected):
        print(f"the job ended well, but its result is {result or 'missing'} where {expected} is right", flush=True)
        code = 1
    if code != 0:
        _show_failure(directory)
    if options.keep:
        print(f"the cluster runs on; stop it with: {SCRIPTS / 'cluster'} stop --dir {directory}")
    else:
        _stop(directory)
        shutil.rmtree(directory if code == 0 else directory / "bin", ignore_errors=True)
    print(f"done in {time.monotonic() - began:.0f} s")
    web = " ".join(f"http://{address}" for name, address in endpoints.items() if name.endswith(".http"))
    for line in watch.lines():
        print(line)
    print(f"result: {result or 'none'}\napplication: {application or 'none'}\nweb: {web}")
    return code


def _say(step, text):
    print(f"[{step}/{STEPS}] {text}", flush=True)


def _need_tools():
    """Names the first missing tool, before anything takes time."""
    if not os.environ.get("HEDDLE_BIN"):
        tools.need("cargo", "cc")
    java = tools.java_home()
    if not os.environ.get("SPARK_HOME"):
        tools.need_venv()
    if os.geteuid() == 0:
        accounts.demand_open(accounts.by_name("nobody"), {"JAVA_HOME": java, "the cache": str(cache.folder())})


def _build():
    """Builds what is not built, and makes the cluster use it."""
    if os.environ.get("HEDDLE_BIN"):
        _say(2, f"taking the daemons in {os.environ['HEDDLE_BIN']}")
        return
    _say(2, "building the daemons: cargo build --release")
    cargo = tools.need("cargo")[0]
    wanted = [word for name in binaries.PACKAGES for word in ("--package", name)]
    environment = dict(os.environ, PATH=tools.search_path())
    if subprocess.run([cargo, "build", "--release", "--locked", "--bins", "--lib", *wanted], cwd=binaries.REPOSITORY,
                      env=environment, stdin=subprocess.DEVNULL).returncode != 0:
        raise Failure("cargo build --release failed, see above")
    metadata = subprocess.run([cargo, "metadata", "--no-deps", "--offline", "--format-version", "1"],
                              cwd=binaries.REPOSITORY, env=environment, check=True, stdout=subprocess.PIPE)
    os.environ["HEDDLE_BIN"] = os.path.join(json.loads(metadata.stdout)["target_directory"], "release")


def _new_directory():
    """A DIR in the cache, where the account of the containers can enter."""
    runs = cache.folder() / "runs"
    runs.mkdir(exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="quickstart-", dir=runs))
    directory.chmod(0o711)
    return directory


def _gpu_options(cards):
    """Simulated GPUs where this machine has none; without isolation where there cannot be any, and says so."""
    reason = "this is not root" if os.geteuid() != 0 else "no cgroups are mounted" if not cgroups.mounts() else None
    if reason:
        _say(4, f"warning: gpu isolation: unavailable ({reason}): each executor is told of its own GPU only, "
                "but nothing keeps it from the others (--unsafe-no-isolation)")
    if not cards:
        _say(4, f"this machine has no NVIDIA GPU: the node gets {EXECUTORS} simulated ones")
    return gpus.Options(count=None if cards else EXECUTORS, unsafe=reason is not None)


def _job(directory, spark_home, python, executors):
    """Submits the job and follows it: (exit code, application id, result), the latter None if missing."""
    os.environ.update(SPARK_HOME=str(spark_home), PYSPARK_PYTHON=python)
    _account, _environment, home = cluster.client(directory, dict(os.environ))
    result_file = home / "quickstart-result"
    job, discovery = directory / "quickstart.py", directory / "gpu-discovery.sh"
    shutil.copyfile(JOB, job)  # the clone may be closed to the account that submits
    shutil.copyfile(DISCOVERY, discovery)
    discovery.chmod(0o755)
    command = [
        SCRIPTS / "cluster", "run", "--dir", directory, "--",
        spark_home / "bin" / "spark-submit", "--master", "yarn", "--deploy-mode", "cluster",
        "--queue", "root.gpu", "--name", "quickstart", "--num-executors", executors,
        "--driver-memory", "512m", "--executor-memory", "512m", "--executor-cores", "1",
        "--conf", f"spark.yarn.jars=local:{spark_home}/jars/*",
        "--conf", f"spark.yarn.appMasterEnv.PYSPARK_PYTHON={python}",
        "--conf", f"spark.executorEnv.PYSPARK_PYTHON={python}",
        "--conf", "spark.executor.resource.gpu.amount=1",
        "--conf", f"spark.executor.resource.gpu.discoveryScript={discovery}",
        "--conf", "spark.task.resource.gpu.amount=1",
        job, NUMBERS, result_file,
    ]
    _say(5, "running a PySpark job with a shuffle and a GPU for each executor: spark-submit --master yarn --deploy-mode cluster --queue root.gpu")
    child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
                             cwd=directory)
    try:
        application = _follow(child, directory / "logs" / "spark-submit.log")
    except BaseException:
        _end_client(child)
        raise
    result = result_file.read_text(encoding="ascii").strip() if result_file.exists() else None
    return child.wait(), application, result


def _follow(child, log):
    """Logs what spark-submit writes and says each new state; returns the application id."""
    application = state = None
    with open(log, "w", encoding="utf-8") as out:
        for line in child.stdout:
            out.write(line)
            if application is None and (found := APPLICATION.search(line)):
                application = found.group()
            if (report := STATE.search(line)) and report.group(2) != state:
                state = report.group(2)
                _say(5, f"{report.group(1)} is {state}")
    return application


def _end_client(child):
    """Ends spark-submit and what it started, which is a session of its own."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
            child.wait(CLIENT_END_S)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def _show_failure(directory):
    """The end of spark-submit's log, which quotes the application's diagnostics."""
    log = directory / "logs" / "spark-submit.log"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    print("\n".join([f"--- end of {log}", *lines[-LOG_LINES_SHOWN:]]))
    print(f"--- logs of the daemons: {directory}/logs, of the containers: {directory}/node1/userlogs", flush=True)


def _stop(directory):
    """Ends the cluster whole: a second Ctrl-C does not leave half of it."""
    previous = [(number, signal.signal(number, signal.SIG_IGN)) for number in (signal.SIGINT, signal.SIGTERM)]
    print("stopping the cluster", flush=True)
    try:
        if (directory / "cluster.json").exists():
            cluster.stop(directory)
    finally:
        for number, handler in previous:
            signal.signal(number, handler)
