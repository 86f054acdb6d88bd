"""scripts/simulate: whole clusters from seeds on the real core; the options are those of crates/sim's simulate."""

import os
import subprocess

from heddle import binaries, tools


def main(arguments):
    """Builds the simulation with optimisation and runs it; returns its exit code."""
    tools.need("cargo", "cc")
    environment = dict(os.environ, PATH=tools.search_path())
    built = subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "--package", "sim", "--bin", "simulate"],
                           cwd=binaries.REPOSITORY, env=environment, stdin=subprocess.DEVNULL, check=False)
    if built.returncode:
        return 2
    target = environment.get("CARGO_TARGET_DIR") or str(binaries.REPOSITORY / "target")
    program = os.path.join(binaries.REPOSITORY, target, "release", "simulate")
    return subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, check=False).returncode
