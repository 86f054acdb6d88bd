"""scripts/fuzz: mutations of the kept corpora against every decoder, so many seconds each.

The targets are the tests called fuzz of these packages, which cargo test runs for
a moment; here each runs longer, as many at once as there are processors. An input that breaks one is kept in
the temporary directory, and the seed is printed: the same seed gives the same inputs.
"""

import argparse
import os
import random
import subprocess

from heddle import binaries, tools
from heddle.errors import Failure

PACKAGES = ("hadoop-ipc", "yarn-conf", "container-localizer", "rm-journal")


def main(arguments):
    """Runs all targets; returns 1 if one failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="how long each target runs (60)")
    parser.add_argument("--seed", type=int, help="seed of the mutations (a random one)")
    options = parser.parse_args(arguments)
    if not 0 < options.seconds <= 86400:
        raise Failure(f"--seconds is {options.seconds:g}, expected more than 0 and at most 86400")
    seed = random.getrandbits(63) if options.seed is None else options.seed
    if not 0 <= seed < 2 ** 64:
        raise Failure(f"--seed is {seed}, expected 0 to {2 ** 64 - 1}")
    tools.need("cargo", "cc")
    print(f"seed {seed}, {options.seconds:g} s for each target")
    environment = dict(os.environ, PATH=tools.search_path(), HEDDLE_FUZZ_SEED=str(seed),
                       HEDDLE_FUZZ_MS=str(int(options.seconds * 1000)))
    packages = [word for package in PACKAGES for word in ("--package", package)]
    done = subprocess.run(["cargo", "test", "--locked", "--no-fail-fast", *packages, "--test", "fuzz", "--",
                           "--nocapture"], cwd=binaries.REPOSITORY, env=environment,
                          stdin=subprocess.DEVNULL, check=False)
    return 1 if done.returncode else 0
