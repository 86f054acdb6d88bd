#!/usr/bin/python3 -I
"""Stands in for a daemon in the tests of scripts/cluster: the agreed command line and nothing behind it.

Its name says which daemon it plays. It reads its addresses from yarn-site.xml,
binds them, writes the endpoints file and waits for SIGTERM. FAKE_FAIL=NAME makes
that daemon fail to start; FAKE_STUBBORN makes nodes ignore SIGTERM; FAKE_CONTAINER
makes nodes start a container that only their death by SIGKILL leaves behind.
"""

import os
import signal
import socket
import subprocess
import sys
from xml.etree import ElementTree

KEYS = {
    "resourcemanager": {
        "rm.client": "yarn.resourcemanager.address",
        "rm.scheduler": "yarn.resourcemanager.scheduler.address",
        "rm.tracker": "yarn.resourcemanager.resource-tracker.address",
        "rm.admin": "yarn.resourcemanager.admin.address",
        "rm.http": "yarn.resourcemanager.webapp.address",
    },
    "nodemanager": {"rpc": "yarn.nodemanager.address", "http": "yarn.nodemanager.webapp.address"},
}


def settings(conf):
    """Name and first value of each property of yarn-site.xml."""
    found = {}
    for element in ElementTree.parse(f"{conf}/yarn-site.xml").getroot().iter("property"):
        found.setdefault(element.findtext("name"), element.findtext("value"))
    return found


def main():
    """Plays the daemon."""
    name, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]
    if arguments == ["--version"]:
        print("0")
        return 0
    arguments = [word for word in arguments if word != "--unsafe-no-isolation"]
    options = dict(zip(arguments[0::2], arguments[1::2]))
    if os.environ.get("FAKE_FAIL") == name:
        print("cannot listen on 127.0.0.1:1: permission denied", file=sys.stderr)
        return 1
    values = settings(options["--config"])
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    sockets, lines = [], []
    for endpoint, key in KEYS[name].items():
        host, port = values[key].rsplit(":", 1)
        listener = socket.create_server((host, int(port)))
        sockets.append(listener)
        lines.append(f"{endpoint}={host}:{listener.getsockname()[1]}\n")
    if name == "nodemanager" and "FAKE_CONTAINER" in os.environ:
        local = values["yarn.nodemanager.local-dirs"]
        subprocess.Popen(["/bin/sleep", "600"], start_new_session=True, env={"LOCAL_DIRS": local}, cwd="/")
    with open(options["--endpoints-file"] + ".new", "w", encoding="utf-8") as out:
        out.writelines(lines)
    os.rename(options["--endpoints-file"] + ".new", options["--endpoints-file"])
    while True:
        signal.sigwait([signal.SIGTERM])
        if name == "resourcemanager" or "FAKE_STUBBORN" not in os.environ:
            return 0


if __name__ == "__main__":
    sys.exit(main())
