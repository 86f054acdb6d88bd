"""scripts/test: every check of the repository, and their sum on the last line."""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from heddle import binaries, tools
from heddle.errors import Failure

REPOSITORY = binaries.REPOSITORY
CARGO_RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
LINE = re.compile(r"^(PASS|FAIL|SKIP) (\S.*?)(?:: (.*))?$")
CASES_RESULT = re.compile(r"^(\d+) passed, (\d+) failed, \d+ known-wrong(?:, \d+ pacing-dependent)?$")
UNIT_RESULT = re.compile(r"^Ran (\d+) tests? in")
UNIT_BAD = re.compile(r"(failures|errors|unexpected successes|skipped)=(\d+)")
UNIT_SKIP = re.compile(r"^(\S+) \(.*\.\.\. skipped '(.*)'$")


class Sum:
    """What passed, failed and was skipped so far; in CI a skip is a failure."""

    def __init__(self, ci):
        self.ci, self.passed, self.failed, self.skipped = ci, 0, 0, 0

    def skip(self, name, reason):
        """Counts a check that could not be made here."""
        if self.ci:
            self.fail(name, f"skipped, which CI does not allow: {reason}")
        else:
            self.skipped += 1
            print(f"SKIP {name}: {reason}", flush=True)

    def fail(self, name, reason):
        """Counts a failed check."""
        self.failed += 1
        print(f"FAIL {name}: {reason}", flush=True)

    def ok(self, name):
        """Counts a check that passed."""
        self.passed += 1
        print(f"PASS {name}", flush=True)

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def main(arguments):
    """Runs the chosen steps in order; returns 1 if anything failed."""
    steps = {
        "build": _plain("cargo", "build", "--workspace", "--lib", "--bins", "--locked"),
        "tidy": _plain("cargo", "xtask", "tidy"),
        "fmt": _plain("cargo", "fmt", "--all", "--check"),
        "clippy": _plain("cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"),
        "unit": _cargo_test,
        "cases": _cases,
        "scripts": _scripts,
        "integration": _integration,
        "quickstart": _quickstart,
        "latency": _latency,
        "hostile": _hostile,
        "fuzz": _fuzz,
        "simulate": _simulate,
        "replay": _replay,
    }
    parser = argparse.ArgumentParser(prog="test", description="Runs every check; the last line is the sum.",
                                     epilog="With CI=true in the environment a skipped check is a failure.")
    parser.add_argument("step", nargs="*", help=f"only these: {', '.join(steps)}")
    chosen = parser.parse_args(arguments).step or list(steps)
    unknown = [name for name in chosen if name not in steps]
    if unknown:
        raise Failure(f"no step is called {unknown[0]}: the steps are {', '.join(steps)}")
    tools.need("cargo", "cc")
    os.environ["PATH"] = tools.search_path()
    total = Sum(os.environ.get("CI", "").lower() in ("true", "1"))
    for name in chosen:
        print(f"=== {name}", flush=True)
        began = time.monotonic()
        steps[name](name, total)
        print(f"=== {name} took {time.monotonic() - began:.0f} s", flush=True)
    print(total)
    return 1 if total.failed else 0


def _stream(command, each, **options):
    """Shows a command's output while each(line) reads it; returns the exit code."""
    child = subprocess.Popen([str(word) for word in command], cwd=REPOSITORY, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                             start_new_session=True, **options)
    try:
        for line in child.stdout:
            if not each(line.rstrip("\n")):
                sys.stdout.write(line)
                sys.stdout.flush()
        return child.wait()
    except BaseException:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait()
        raise


def _plain(*command):
    """A check that passes when the command exits 0."""
    def step(name, total):
        code = _stream(command, lambda line: None)
        if code == 0:
            total.ok(name)
        else:
            total.fail(name, f"{' '.join(command)} exited {code}")
    return step


def _cargo_test(name, total):
    """Each Rust test counts; one that says SKIP has passed for cargo, but not for us."""
    seen = [0, 0, 0]
    skipped = {}

    def each(line):
        if found := CARGO_RESULT.match(line):
            seen[:] = [sum(pair) for pair in zip(seen, map(int, found.groups()))]
        if (found := LINE.match(line)) and found.group(1) == "SKIP":
            skipped.setdefault(found.group(2), found.group(3) or "no reason given")

    code = _stream(["cargo", "test", "--workspace", "--locked", "--no-fail-fast", "--", "--show-output"],
                   each)
    total.passed += max(seen[0] - len(skipped), 0)
    total.failed += seen[1]
    for test, reason in skipped.items():
        total.skip(f"{name} {test}", reason)
    if seen[2]:
        total.skip(f"{name} ({seen[2]} tests)", "marked as ignored")
    if code != 0 and seen[1] == 0:
        total.fail(name, f"cargo test exited {code}")


def _cases(name, total):
    """Each case of the scheduler counts, once for each pacing; known-wrong ones do not."""
    for mode in ("heartbeat", "event"):
        seen = [0, 0]

        def each(line, seen=seen):
            if found := CASES_RESULT.match(line):
                seen[:] = map(int, found.groups())

        code = _stream(["scripts/cases", "--mode", mode, "resourcemanager/scheduler/cases"], each)
        total.passed += seen[0]
        total.failed += seen[1]
        if code not in (0, 1) or not any(seen):
            total.fail(f"{name} {mode}", f"scripts/cases exited {code}")


def _scripts(name, total):
    """Each test of scripts/lib counts."""
    seen = {"ran": 0}
    skips = []

    def each(line):
        if found := UNIT_RESULT.match(line):
            seen["ran"] = int(found.group(1))
        if found := UNIT_SKIP.match(line):
            skips.append(found.groups())
        if line.startswith("FAILED ("):
            seen.update((what, int(number)) for what, number in UNIT_BAD.findall(line))

    lib = REPOSITORY / "scripts" / "lib"
    code = _stream(["env", "-C", lib, tools.PYTHON, "-B", "-W", "ignore", "-m", "unittest", "discover", "-v",
                    "-s", "tests", "-t", "."], each)
    failed = sum(seen.get(what, 0) for what in ("failures", "errors", "unexpected successes"))
    total.passed += seen["ran"] - failed - len(skips)
    total.failed += failed
    for test, reason in skips:
        total.skip(f"{name} {test}", reason)
    if code != 0 and failed == 0:
        total.fail(name, f"unittest exited {code}")


def _integration(name, total):
    """Each line PASS, FAIL or SKIP of the scenarios with real clients counts."""
    before = total.failed

    def each(line):
        found = LINE.match(line)
        if not found:
            return False
        verdict, test, reason = found.groups()
        if verdict == "PASS":
            total.ok(f"{test}: {reason}" if reason else test)
        elif verdict == "FAIL":
            total.fail(test, reason or "no reason given")
        else:
            total.skip(test, reason or "no reason given")
        return True

    code = _stream([tools.PYTHON, "-B", REPOSITORY / "integration" / "run.py"], each, env=_with_built())
    if code != 0 and total.failed == before:
        total.fail(name, f"integration/run.py exited {code}")


def _quickstart(name, total):
    """The quickstart with the daemons that the other tests used."""
    last = []
    code = _stream([REPOSITORY / "scripts" / "quickstart"], lambda line: last.append(line), env=_with_built())
    wanted = "result: 333332833333500000"
    if code == 0 and wanted in last[-3:]:
        total.ok(name)
    else:
        total.fail(name, f"exit code {code}, last lines {last[-3:]}, expected {wanted}")


def _latency(name, total):
    """That the measurement works; the figures of a debug build say nothing, so the bars are far away."""
    command = [REPOSITORY / "scripts" / "latency", "--runs", "3", "--submit-bar-ms", "20000", "--grant-bar-ms", "2000",
               "--gpus-bar-ms", "20000"]
    code = _stream(command, lambda line: None, env=_with_built())
    if code == 0:
        total.ok(name)
    else:
        total.fail(name, f"scripts/latency exited {code}")


def _hostile(name, total):
    """A short attack on every port; the long one is for releases."""
    code = _stream([REPOSITORY / "scripts" / "hostile", "--connections", "700"], lambda line: None, env=_with_built())
    if code == 0:
        total.ok(name)
    else:
        total.fail(name, f"scripts/hostile exited {code}")


def _fuzz(name, total):
    """Every fuzz target, for a minute in CI; elsewhere the step "unit" has run each for a moment with the fixed seed."""
    code = _stream([REPOSITORY / "scripts" / "fuzz", "--seconds", "60" if total.ci else "1"], lambda line: None)
    if code == 0:
        total.ok(name)
    else:
        total.fail(name, f"scripts/fuzz exited {code}")


def _simulate(name, total):
    """Fresh seeds of the whole-cluster simulation, for a bounded time, then planted bugs; the first seed is printed."""
    seconds = "120" if total.ci else "20"
    code = _stream([REPOSITORY / "scripts" / "simulate", "--fresh", "--seeds", "100000", "--seconds", seconds],
                   lambda line: None)
    if code == 0:
        total.ok(name)
    else:
        total.fail(name, f"scripts/simulate exited {code}")
        return
    code = _stream([REPOSITORY / "scripts" / "simulate", "--planted"], lambda line: None)
    if code == 0:
        total.ok(f"{name} planted bugs")
    else:
        total.fail(f"{name} planted bugs", f"scripts/simulate --planted exited {code}")


def _replay(name, total):
    """A journal gives one digest: in debug and release, two processes, another directory, locale and time zone."""
    target = REPOSITORY / (os.environ.get("CARGO_TARGET_DIR") or "target")
    for words in (["--package", "xtask"], ["--release", "--package", "xtask", "--package", "sim", "--bins"]):
        if _stream(["cargo", "build", "--locked", "--quiet", *words], lambda line: None):
            total.fail(name, f"cargo build {' '.join(words)} failed")
            return
    with tempfile.TemporaryDirectory(prefix="heddle-replay-") as folder:
        journal = os.path.join(folder, "seed.journal")
        made = subprocess.run([target / "release" / "simulate", "--seed", "6", "--journal", journal],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
        if made.returncode:
            total.fail(name, f"simulate --seed 6 exited {made.returncode}: {made.stdout}")
            return
        seen = {"simulation": made.stdout.splitlines()[-1]}
        for what, profile, place, extra in (
                ("debug", "debug", REPOSITORY, {}),
                ("second process", "debug", REPOSITORY, {}),
                ("release", "release", REPOSITORY, {}),
                ("directory", "release", folder, {}),
                ("locale and time zone", "debug", folder, {"LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu"})):
            done = subprocess.run([target / profile / "xtask", "replay", journal], cwd=place,
                                  env=dict(os.environ, **extra), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  text=True, check=False)
            seen[what] = done.stdout.splitlines()[-1] if done.returncode == 0 else f"exited {done.returncode}"
    if len(set(seen.values())) == 1 and seen["debug"].startswith("digest: "):
        total.ok(name)
    else:
        total.fail(name, f"a journal replays differently: {seen}")


def _with_built():
    """The environment in which the scripts use the debug build."""
    target = os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target"
    return dict(os.environ, HEDDLE_BIN=os.environ.get("HEDDLE_BIN") or str(os.path.join(target, "debug")))
