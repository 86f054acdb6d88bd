"""scripts/check-conf: would the daemons take these configuration files, and if not, why?

Each FILE is read by the daemons that read its kind, in place of that file of an
otherwise valid configuration: one queue, memory and vcores alone unless the file
names further resource types. Every finding is one line,

    FILE:LINE: [warning: |note: ]KEY=VALUE: REASON

and a line without a mark is a refusal. With --print, lines of key, effective value
and FILE:LINE with tabs between come first. The kind is that of --kind, else of the
file's name, else of its folder's name, else yarn-site.

Exits 0 if every file is accepted, warnings included; 1 if one is refused or
cannot be checked; 2 if the command line is wrong.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

from heddle import binaries
from heddle.errors import Failure

# Who reads a file of which kind.
READERS = {
    "core-site": ("resourcemanager", "nodemanager"),
    "yarn-site": ("resourcemanager", "nodemanager"),
    "resource-types": ("resourcemanager", "nodemanager"),
    "capacity-scheduler": ("resourcemanager",),
    "node-resources": ("nodemanager",),
}
QUEUES = """<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>default</value></property>
<property><name>yarn.scheduler.capacity.root.default.capacity</name><value>100</value></property>
</configuration>
"""
CHECK_SECONDS_MAX = 60


def main(arguments):
    """Prints what the daemons say of each file; returns 1 if one is refused."""
    parser = argparse.ArgumentParser(prog="check-conf", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=sorted(READERS), help="what the files are, whatever they are called")
    parser.add_argument("--print", action="store_true", help="print the effective values of the file's keys first")
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args(arguments)
    programs = binaries.find()
    accepted = True
    with tempfile.TemporaryDirectory(prefix="check-conf-") as base:
        for file in options.files:
            kind = options.kind or kind_of(file)
            ok, lines = _check(programs, _directory(base, kind), kind, file, options.print)
            accepted = accepted and ok
            for line in lines:
                print(line)
    return 0 if accepted else 1


def kind_of(file):
    """The kind that the name of the file says, else that of its folder, else yarn-site."""
    path = Path(file)
    for name in (path.stem, path.absolute().parent.name):
        if name in READERS:
            return name
    return "yarn-site"


def _directory(base, kind):
    """A configuration directory to which a file of this kind is added."""
    # From core-site the queue is below what the file says, should it name queues.
    name = "core-site.xml" if kind in ("yarn-site", "resource-types") else "capacity-scheduler.xml"
    folder = Path(base) / name.removesuffix(".xml")
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(QUEUES)
    return str(folder)


def _check(programs, base, kind, file, values):
    """Whether all readers take the file, and what they say of it, each line once."""
    accepted, printed, findings = True, {}, {}
    for name in READERS[kind]:
        command = [programs / name, "--check", "--config", base, "--file", f"{kind}={file}"]
        try:
            done = subprocess.run(command + (["--print"] if values else []), stdin=subprocess.DEVNULL,
                                  capture_output=True, check=False, timeout=CHECK_SECONDS_MAX)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failure(f"{programs / name} cannot check {file}: {error}") from None
        said = [line for line in done.stdout.decode(errors="replace").split("\n") if line]
        if done.returncode not in (0, 1) or (done.returncode and not said):
            raise Failure(f"{programs / name} ended with {done.returncode} on {file}: "
                          f"{done.stderr.decode(errors='replace').strip()}")
        accepted = accepted and done.returncode == 0
        before = set(findings.values())
        for line in said:
            if line.count("\t") < 2:
                # Two daemons may say the same of one key in other words.
                subject = line.split("=", 1)[0]
                if subject not in before:
                    findings[line] = subject
            elif not line.rsplit("\t", 1)[1].startswith(f"{base}/"):
                printed[line] = None
    return accepted, [*printed, *findings]
