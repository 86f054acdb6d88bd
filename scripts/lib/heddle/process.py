"""Processes by identity: a process id counts only together with its start time.

Process ids are used again; a recorded process is only touched while the kernel's
start time and boot id are those of the record.
"""

import os
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path

POLL_S = 0.05


@dataclass(frozen=True)
class Identity:
    """One process: what it is to us, its id, its start in clock ticks since boot, the boot."""

    name: str
    pid: int
    start_ticks: int
    boot_id: str

    def to_json(self):
        """The record as plain data."""
        return asdict(self)

    def alive(self):
        """Whether this very process still runs; a zombie does not."""
        return start_ticks(self.pid) == self.start_ticks and boot_id() == self.boot_id

    def kill(self, number):
        """Sends a signal; a process that is gone is fine."""
        if self.alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass


def identify(name, pid):
    """The identity of a running process, None if it is gone."""
    ticks = start_ticks(pid)
    return None if ticks is None else Identity(name, pid, ticks, boot_id())


def boot_id():
    """The kernel's name for this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _stat(pid):
    """The fields of /proc/PID/stat after the name: [0] is the state. None if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def start_ticks(pid):
    """When a process started, in clock ticks since boot; None if it is gone or a zombie."""
    fields = _stat(pid)
    return None if fields is None or fields[0] in "ZX" else int(fields[19])


def session(pid):
    """The session id of a process, None if it is gone."""
    fields = _stat(pid)
    return None if fields is None else int(fields[3])


def end(processes, term_s):
    """SIGTERM to all, SIGKILL to those left after term_s; returns those that had to be killed."""
    for one in processes:
        one.kill(signal.SIGTERM)
    left = _await_end(processes, term_s)
    for one in left:
        one.kill(signal.SIGKILL)
    stuck = _await_end(left, 10)
    if stuck:
        raise RuntimeError(f"the kernel does not end {', '.join(f'{p.name} ({p.pid})' for p in stuck)}")
    return left


def _await_end(processes, limit_s):
    deadline = time.monotonic() + limit_s
    while True:
        left = [one for one in processes if one.alive()]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(POLL_S)


def daemons_of(directory):
    """The daemons that run from DIR/bin, whoever started them, named by their program."""
    programs = os.path.join(os.path.realpath(directory), "bin", "")
    found = []
    for pid in _all_pids():
        program = _link(pid, "exe").removesuffix(" (deleted)")
        if program.startswith(programs):
            found.append(identify(os.path.basename(program), pid))
    return [one for one in found if one]


def leftovers_of(directory, known=()):
    """What still runs out of a cluster's directory: what runs from DIR/bin, and containers.

    A container is known by its cgroup (known: the process ids in those of the
    cluster), by its working directory or by the paths of its node in its
    environment; with each comes its session, in which it may have left children
    with another environment.
    """
    own_session = session(os.getpid())
    found, sessions = {one.pid: one for one in daemons_of(directory)}, set()
    found |= {pid: identify("container", pid) for pid in known if pid not in found}
    everyone = _all_pids()
    for pid in everyone:
        if pid in found or _is_container(pid, directory):
            found.setdefault(pid, identify("container", pid))
            sessions.add(session(pid))
    sessions -= {own_session, None, 0}
    for pid in everyone:
        if pid not in found and session(pid) in sessions:
            found[pid] = identify("container", pid)
    ourselves = _self_and_ancestors()
    return [one for pid, one in found.items() if one and pid not in ourselves]


def _all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _self_and_ancestors():
    pids, pid = set(), os.getpid()
    while pid > 1 and pid not in pids:
        pids.add(pid)
        fields = _stat(pid)
        pid = int(fields[1]) if fields else 0
    return pids


def _is_container(pid, directory):
    """Whether the working directory or the environment is of one of this cluster's nodes."""
    root = os.path.join(os.path.realpath(directory), "")
    if _link(pid, "cwd").startswith(root + "node"):
        return True
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    prefix = os.fsencode(root) + b"node"
    names = (b"HADOOP_TOKEN_FILE_LOCATION=", b"LOCAL_DIRS=", b"LOG_DIRS=")
    return any(entry.startswith(tuple(name + prefix for name in names)) for entry in environment)


def _link(pid, name):
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return ""
