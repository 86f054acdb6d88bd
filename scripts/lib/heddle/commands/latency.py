"""scripts/latency: how long a user waits for an application master, and an ask for its grant.

All are taken on a cluster of one node started for it:
- submit: from just before the submit call of a stock client to the first command
  of the application master (the clock is this machine's), its one file being in
  the node's cache. Client, RPC, launch script and shell are all in it.
- grant: from the arrival of an allocate call to the commit of its container, as
  the ResourceManager logs it (target latency). The same as the client sees it,
  RPC and all, is printed beside it.
- gpus: from an allocate call that asks for eight containers of one GPU, naming no
  host, to the answer that holds the last of them. The node's eight GPUs are
  simulated; between two runs it must say that all of them are free again.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from heddle import binaries, cache, cgroups, cluster, gpus, tools
from heddle.errors import Failure

SOURCE = binaries.REPOSITORY / "scripts" / "lib" / "java" / "Latency.java"
CLUSTER = binaries.REPOSITORY / "scripts" / "cluster"
GRANT = re.compile(r"latency.*\bevent=\"?grant\b.*\bapp=(application_\d+_\d+)\b.*\bmicros=(\d+)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SUBMIT_AIM_MS, GRANT_AIM_MS, GPUS_AIM_MS = 300, 1, 20
GPUS = 8
# One user may take the whole node.
QUEUES = {"yarn.scheduler.capacity.root.default.capacity": "100", "yarn.scheduler.capacity.root.gpu.capacity": "0"}


def main(arguments):
    """Measures, prints, and returns 1 if a median is beyond its bar."""
    parser = argparse.ArgumentParser(prog="latency", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="measurements of each kind (20)")
    parser.add_argument("--submit-bar-ms", type=float, default=1000, help="fail beyond this median (1000)")
    parser.add_argument("--grant-bar-ms", type=float, default=10, help="fail beyond this median (10)")
    parser.add_argument("--gpus-bar-ms", type=float, default=200, help="fail beyond this median (200)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        raise Failure(f"--runs is {options.runs}, expected at least 1")
    results = [
        Result("submit", "submit call to first command of the AM, warm cache", SUBMIT_AIM_MS, options.submit_bar_ms),
        Result("grant", "ask received to grant committed in the ResourceManager", GRANT_AIM_MS, options.grant_bar_ms),
        Result("allocate", "allocate call to container, as the client sees it", None, None),
        Result("gpus", f"allocate call for {GPUS} containers of one GPU to the last of them", GPUS_AIM_MS,
               options.gpus_bar_ms),
    ]
    for result, samples in zip(results, _measure(options.runs)):
        result.samples_ms = samples
    if options.json:
        print(json.dumps({result.name: result.to_json() for result in results}, indent=1))
    else:
        for result in results:
            print(result)
    return 1 if any(result.beyond() for result in results) else 0


class Result:
    """One kind of measurement, in milliseconds."""

    def __init__(self, name, what, aim_ms, bar_ms):
        self.name, self.what, self.aim_ms, self.bar_ms = name, what, aim_ms, bar_ms
        self.samples_ms = []

    def median(self):
        """The median of the samples."""
        return statistics.median(self.samples_ms)

    def beyond(self):
        """Whether the median is beyond the bar."""
        return self.bar_ms is not None and self.median() > self.bar_ms

    def to_json(self):
        """Everything as plain data."""
        return {"what": self.what, "median_ms": self.median(), "aim_ms": self.aim_ms, "bar_ms": self.bar_ms,
                "samples_ms": self.samples_ms}

    def __str__(self):
        text = (f"{self.what}: median {self.median():.3f} ms "
                f"(min {min(self.samples_ms):.3f}, max {max(self.samples_ms):.3f}, {len(self.samples_ms)} runs")
        if self.bar_ms is None:
            return text + ")"
        return text + f"; aim {self.aim_ms:g}, bar {self.bar_ms:g}{': beyond' if self.beyond() else ''})"


def _measure(runs):
    """The samples in milliseconds: (submit, grant, allocate, gpus)."""
    javac = tools.need("javac")[0]
    os.environ["HEDDLE_BIN"] = str(binaries.find(builds=("release",)))
    spark_home, _python = cache.spark(lambda text: None)
    runs_folder = cache.folder() / "runs"
    runs_folder.mkdir(exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="latency-", dir=runs_folder))
    try:
        classes = directory.with_suffix(".classes")
        subprocess.run([javac, "-nowarn", "-Xlint:none", "-cp", f"{spark_home}/jars/*", "-d", classes, SOURCE], check=True)
        unsafe = os.geteuid() != 0 or not cgroups.mounts()  # nothing runs on these GPUs
        cluster.start(directory, None, 1, False, QUEUES, gpus.Options(count=GPUS, unsafe=unsafe))
        samples = _run_client(runs, directory, f"{directory}/client-conf:{classes}:{spark_home}/jars/*")
        log = (directory / "logs" / "resourcemanager.log").read_text(encoding="utf-8", errors="replace")
    finally:
        if (directory / "cluster.json").exists():
            cluster.stop(directory)
        shutil.rmtree(directory.with_suffix(".classes"), ignore_errors=True)
    grants = grants_in(log, samples["application"][0])[-runs:]
    if len(grants) < runs:
        raise Failure(f"{directory}/logs/resourcemanager.log tells of {len(grants)} grants, expected {runs}")
    shutil.rmtree(directory, ignore_errors=True)
    return [[int(micros) / 1000 for micros in kind] for kind in (samples["submit"], grants, samples["allocate"], samples["gpus"])]


def grants_in(log, application):
    """The microseconds of the grants of an application in the ResourceManager's log, in order."""
    found = (GRANT.search(line) for line in COLOUR.sub("", log).splitlines())
    return [int(one.group(2)) for one in found if one and one.group(1) == application]


def _run_client(runs, directory, class_path):
    """Runs the client as the account of the containers; a dict from kind to the values it printed."""
    _account, _environment, home = cluster.client(directory, {})
    command = [CLUSTER, "run", "--dir", directory, "--", f"{tools.java_home()}/bin/java", "-cp", class_path,
               "Latency", runs, home, GPUS]
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, cwd=directory)
    if done.returncode != 0:
        raise Failure(f"the client failed:\n{done.stderr[-4000:]}")
    samples = {"submit": [], "allocate": [], "gpus": [], "application": []}
    for line in done.stdout.splitlines():
        kind, _, value = line.partition(" ")
        if kind in samples:
            samples[kind].append(value)
    return samples
