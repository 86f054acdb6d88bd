#!/usr/bin/env python3
"""Runs the end-to-end checks: real clients against Heddle, or against stock Hadoop.

    integration/run.py [--list] [--target heddle|stock] [--golden] [NAME...]

NAME selects the checks that begin with it. One line a check: `PASS name`,
`FAIL name: reason` or `SKIP name: reason`; details lie in
target/integration/TARGET. Exit code 1 when a check failed.
"""

import argparse
import os
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import caches  # noqa: E402
import harness  # noqa: E402
from scenarios import CHECKS  # noqa: E402


def reason_of(error):
    """One line that says why."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:600]


def run_one(bench, check, target):
    """Runs a check; returns its line's first word and its reason."""
    if target not in check.targets:
        return None, ""
    bench.name = check.name.replace("/", "-")
    details = bench.logs / f"{bench.name}.txt"
    try:
        return "PASS", check.function(bench) or ""
    except (harness.Skip, caches.MissingTool) as error:
        details.write_text(traceback.format_exc())
        return ("FAIL" if os.environ.get("CI") == "true" else "SKIP"), reason_of(error)
    except Exception as error:  # noqa: BLE001 - whatever breaks is a failed check, and is told
        details.write_text(traceback.format_exc())
        return "FAIL", reason_of(error)


def main():
    """Reads the command line and runs what was chosen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--target", choices=["heddle", "stock"], default="heddle")
    parser.add_argument("--golden", action="store_true", help="write the golden texts instead of comparing (stock)")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    chosen = [c for c in CHECKS if not options.names or any(c.name.startswith(n) for n in options.names)]
    if options.list:
        for check in chosen:
            print(f"{check.name}\t{','.join(check.targets)}\t{check.summary}")
        return 0
    if options.golden and options.target != "stock":
        parser.error("--golden needs --target stock: golden texts come from stock Hadoop")
    os.environ["HEDDLE_GOLDEN_WRITE"] = "1" if options.golden else ""
    logs = caches.REPOSITORY / "target" / "integration" / options.target
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    # A run that is told to end stops its clusters too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    bench = harness.Bench(options.target, logs)
    failed = 0
    try:
        for check in chosen:
            begun = time.monotonic()
            word, reason = run_one(bench, check, options.target)
            if word is None:
                continue
            failed += word == "FAIL"
            print(f"{word} {check.name}" + (f": {reason}" if reason else ""), flush=True)
            with open(logs / "times.txt", "a", encoding="utf-8") as times:
                times.write(f"{check.name} {time.monotonic() - begun:.1f} s\n")
    finally:
        problems = bench.close(keep=failed > 0)
    for problem in problems:
        failed += 1
        print(f"FAIL stop: {reason_of(problem)}", flush=True)
    if failed:
        print(f"details: {logs}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
