"""The cgroups that a cluster's nodes made: found by name below the cluster's own, and nowhere else."""

import os
import re
import time
from pathlib import Path

from heddle.errors import Failure

PREFIX = "hadoop-yarn-heddle-"
# A cgroup is busy for a moment after its last process has gone.
REMOVE_LIMIT_S = 5
POLL_S = 0.05


def of(name):
    """The directories of the cluster's cgroup, one in each hierarchy that is mounted and has it."""
    if not name.startswith(PREFIX) or "/" in name:
        raise ValueError(f"{name} is no cluster's cgroup")
    return [path for path in (Path(mount, name) for mount in mounts()) if path.is_dir()]


def mounts():
    """Where cgroup file systems of either version are mounted, each once."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        before, separator, after = line.partition(" - ")
        if separator and after.split(" ", 1)[0] in ("cgroup", "cgroup2"):
            # The kernel writes blanks and backslashes of a path as octal numbers.
            point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8)), before.split(" ")[4])
            if point not in found:
                found.append(point)
    return found


def pids(name):
    """The processes in the cluster's cgroups."""
    found = set()
    for top in of(name):
        for folder, _below, _files in os.walk(top):
            try:
                text = Path(folder, "cgroup.procs").read_text(encoding="ascii")
            except OSError:  # gone, or of another kind
                continue
            found |= {int(word) for word in text.split()}
    return found


def remove(name):
    """Removes the cluster's cgroups, whose processes have ended."""
    deadline = time.monotonic() + REMOVE_LIMIT_S
    while True:
        refused = None
        for top in of(name):
            for folder, _below, _files in os.walk(top, topdown=False):
                try:
                    os.rmdir(folder)
                except FileNotFoundError:
                    pass
                except OSError as error:
                    refused = refused or f"cannot remove the cgroup {folder}: {error.strerror}"
        if refused is None:
            return
        if time.monotonic() > deadline:
            raise Failure(refused)
        time.sleep(POLL_S)
