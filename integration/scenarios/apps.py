"""Applications whose master is a shell command: ends, attempts, refusals, localisation."""

import os
import pwd
import tarfile

from harness import END_STATES, RemoteError, require, require_match, wait_for
from scenarios.registry import HEDDLE, check

INVALID_RESOURCE = "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"

# Takes 400 MiB and holds them.
HOG = "/usr/bin/python3 -c 'import time; held = bytes([1]) * (400 << 20); time.sleep(600)'"
OVER_MEMORY = (r"Container \[pid=\d+,containerID=container_\d+_\d+_\d+_\d+\] is running \d+B beyond the 'PHYSICAL' "
               r"memory limit\. Current usage: [\d.]+ [KMG]B of 256 MB physical memory used; [\d.]+ [KMGT]B of "
               r"[\d.]+ [KMG]B virtual memory used\. Killing container\.\nDump of the process-tree for "
               r"container_\d+_\d+_\d+_\d+ :\n\t\|- PID PPID PGRPID SESSID CMD_NAME USER_MODE_TIME\(MILLIS\) "
               r"SYSTEM_TIME\(MILLIS\) VMEM_USAGE\(BYTES\) RSSMEM_USAGE\(PAGES\) FULL_CMD_LINE\n"
               r"\t\|- \d+ ")


def refused(call):
    """The Java exception of a call that must fail."""
    try:
        answer = call()
    except RemoteError as error:
        return error
    raise AssertionError(f"it was accepted: {answer}")


def ended(bench, **fields):
    """The final report of an application with the given master; one attempt unless told otherwise."""
    fields = {"attempts": 1} | fields
    app = bench.cluster.console("submit", **fields)["app"]
    return bench.cluster.wait_state(app, END_STATES)


def failed(bench, **fields):
    """The diagnostics of an application that must fail."""
    report = ended(bench, **fields)
    require((report["state"], report["final"]) == ("FAILED", "FAILED"), f"ended {report}")
    return report["diagnostics"]


@check("apps/unknown-queue")
def unknown_queue(bench):
    """Submission to an unknown queue: YarnException with Hadoop's text."""
    error = refused(lambda: bench.cluster.console("submit", queue="nope", wait=True))
    require(error.java_class == "org.apache.hadoop.yarn.exceptions.YarnException", f"the class is {error.java_class}")
    require_match(r"^Failed to submit application_\d+_\d+ to YARN : Application application_\d+_\d+ submitted by "
                  r"user \S+.* to unknown queue: nope$", error.message, "the message")


@check("apps/parent-queue")
def parent_queue(bench):
    """Submission to a queue that has children: YarnException with Hadoop's text."""
    error = refused(lambda: bench.cluster.console("submit", queue="root", wait=True))
    require_match(r"^Failed to submit application_\d+_\d+ to YARN : Application application_\d+_\d+ submitted by "
                  r"user : \S+ to non-leaf queue : root$", error.message, "the message")


@check("apps/master-over-maximum")
def master_over_maximum(bench):
    """A master above the maximum allocation: Hadoop's exception and text at submission."""
    error = refused(lambda: bench.cluster.console("submit", memory=9000))
    require(error.java_class == INVALID_RESOURCE, f"the class is {error.java_class}")
    require_match(r"Invalid resource request! Cannot allocate containers as requested resource is greater than "
                  r"maximum allowed allocation\. Requested resource type=\[memory-mb\], "
                  r"Requested resource=<memory:9000, vCores:1.*>, maximum allowed allocation=<memory:8192, "
                  r"vCores:4.*>", error.message, "the message")


@check("apps/unknown-application")
def unknown_application(bench):
    """A report of an unknown application: ApplicationNotFoundException with Hadoop's text."""
    error = refused(lambda: bench.cluster.console("report", app="application_1000000000000_0001"))
    require(error.java_class == "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException",
            f"the class is {error.java_class}")
    require(error.message.startswith("Application with id 'application_1000000000000_0001' doesn't exist in RM."),
            f"the message is {error.message}")


@check("apps/exit-code")
def exit_code(bench):
    """A master that exits 3 before it registers: the exit code and the end of its stderr are told."""
    text = failed(bench, command="echo no thread left >&2; exit 3", name="exits")
    require_match(r"^Application application_\d+_\d+ failed 1 times \(global limit =2; local limit is =1\) due to "
                  r"AM Container for appattempt_\d+_\d+_000001 exited with  exitCode: 3\n", text, "the diagnostics")
    require_match(r"Failing this attempt\.Diagnostics: \[.*\]Exception from container-launch\.\n"
                  r"Container id: container_\d+_\d+_01_000001\nExit code: 3\n", text, "the diagnostics")
    require_match(r"For more detailed output, check the application tracking page: http://\S+/cluster/app/application_"
                  r"\d+_\d+ Then click on links to logs of each attempt\.\n", text, "the diagnostics")


@check("apps/last-stderr")
def last_stderr(bench):
    """The end of a failed container's stderr file is part of its diagnostics."""
    text = failed(bench, command="echo no thread left 2><LOG_DIR>/stderr >&2; exit 3", name="exits")
    require_match(r"Container exited with a non-zero exit code 3\. Error file: prelaunch\.err\.\n"
                  r"Last 4096 bytes of prelaunch\.err :\nLast 4096 bytes of stderr :\nno thread left", text,
                  "the diagnostics")


@check("apps/attempts")
def attempts(bench):
    """A master that always fails is tried as often as yarn.resourcemanager.am.max-attempts says."""
    report = ended(bench, command="exit 1", attempts=None)
    require_match(r"failed 2 times due to AM Container for appattempt_\d+_\d+_000002 exited with  exitCode: 1",
                  report["diagnostics"], "the diagnostics")
    rows = bench.cluster.console("attempts", app=report["app"])
    require([r["state"] for r in rows] == ["FAILED", "FAILED"], f"the attempts are {rows}")


@check("apps/clean-exit-without-register")
def clean_exit(bench):
    """A master that exits 0 without having registered has failed."""
    text = failed(bench, command="true")
    require_match(r"exited with  exitCode: 0\n", text, "the diagnostics")


@check("apps/kill-waiting")
def kill_waiting(bench):
    """Killing an application whose master has not registered ends its process."""
    mark = bench.path("pid")
    app = bench.cluster.console("submit", command=f"echo $$ > {mark}; exec sleep 600")["app"]
    pid = wait_for("the master to run", lambda: mark.exists() and mark.read_text().strip())
    bench.cluster.console("kill", app=app)
    report = bench.cluster.wait_state(app, END_STATES)
    require((report["state"], report["final"]) == ("KILLED", "KILLED"), f"ended {report}")
    wait_for("the master's process to end", lambda: not os.path.exists(f"/proc/{pid}"))


@check("apps/master-over-memory")
def master_over_memory(bench):
    """A master over its memory is killed: -104 and Hadoop's sentence."""
    text = failed(bench, command=HOG, memory=256)
    require_match(r"exited with  exitCode: -104\n", text, "the diagnostics")
    require_match(OVER_MEMORY, text, "the diagnostics")


@check("apps/file-changed")
def file_changed(bench):
    """A resource whose timestamp is not the submitted one ends the container with -1000 and Hadoop's text."""
    changed = bench.file("input.txt", "old")
    text = failed(bench, command="true", resources={"input.txt": {"path": str(changed), "timestamp": 1000}})
    require_match(r"exited with  exitCode: -1000\n", text, "the diagnostics")
    require_match(rf"Resource file:{changed} changed on src filesystem - expected: \"1970-01-01T00:00:01\.000\+0000\", "
                  r"was: \"\d{4}-\d\d-\d\dT[\d:.]+\+0000\", current time: \"\d{4}-\d\d-\d\dT[\d:.]+\+0000\"",
                  text, "the diagnostics")


@check("apps/file-missing")
def file_missing(bench):
    """A resource that is not there ends the container with -1000 and names the file."""
    missing = bench.path("missing")
    text = failed(bench, command="true",
                  resources={"input": {"path": str(missing), "timestamp": 1000, "size": 3}})
    require_match(r"exited with  exitCode: -1000\n", text, "the diagnostics")
    require_match(rf"File file:{missing} does not exist", text, "the diagnostics")


@check("apps/file-unreadable")
def file_unreadable(bench):
    """A resource that the containers' account cannot read ends the container with -1000, whoever the daemon is."""
    secret = bench.file("secret.txt", "closed", mode=0o600)
    if os.geteuid() == 0:
        os.chown(secret, 0, 0)
    else:
        secret.chmod(0)
    text = failed(bench, command="true", resources={"secret.txt": {
        "path": str(secret), "size": 6, "timestamp": int(secret.stat().st_mtime * 1000)}})
    require_match(r"exited with  exitCode: -1000\n", text, "the diagnostics")
    require_match(rf"{secret}.*Permission denied", text, "the diagnostics")


@check("apps/public-not-readable-by-all")
def public_closed(bench):
    """A PUBLIC resource that not everybody can read is refused with Hadoop's text."""
    closed = bench.file("closed.txt", "closed", mode=0o640)
    if os.geteuid() == 0:
        account = pwd.getpwnam("nobody")
        os.chown(closed, account.pw_uid, account.pw_gid)
    text = failed(bench, command="true", resources={"closed.txt": {
        "path": str(closed), "size": 6, "timestamp": int(closed.stat().st_mtime * 1000), "visibility": "PUBLIC"}})
    require_match(r"exited with  exitCode: -1000\n", text, "the diagnostics")
    require_match(rf"Resource file:{closed} is not publicly accessible and as such cannot be part of the public cache",
                  text, "the diagnostics")


@check("apps/scheme-not-built", targets=HEDDLE)
def scheme_not_built(bench):
    """A resource of a file system that is not built ends the container with -1000 naming the scheme."""
    text = failed(bench, command="true", resources={"data": {
        "path": "/data/one", "scheme": "hdfs", "host": "namenode", "size": 1, "timestamp": 1}})
    require_match(r"exited with  exitCode: -1000\n", text, "the diagnostics")
    require_match(r"hdfs", text, "the diagnostics")


@check("apps/localized")
def localized(bench):
    """Files and archives lie in the working directory under their link names, slashes in them included."""
    out = bench.path("out")
    plain = bench.file("plain.txt", "plain")
    own = bench.file("own.txt", "own")
    packed = bench.zip("packed.zip", {"dir/inner.txt": "zipped"})
    tarred = bench.folder("tar") / "tarred.tar.gz"
    inner = bench.file("inner2.txt", "tarred")
    with tarfile.open(tarred, "w:gz") as archive:
        archive.add(inner, "deep/inner2.txt")
    tarred.chmod(0o644)
    command = f"cat linked.txt sub/dir/linked.txt packed/dir/inner.txt t/deep/inner2.txt > {out}.new; " \
              f"readlink linked.txt >> {out}.new; mv {out}.new {out}; exit 9"
    text = failed(bench, command=command, resources={
        "linked.txt": {"path": str(plain)},
        "sub/dir/linked.txt": {"path": str(own), "visibility": "APPLICATION"},
        "packed": {"path": str(packed), "type": "ARCHIVE", "visibility": "PUBLIC"},
        "t": {"path": str(tarred), "type": "ARCHIVE"},
    })
    require_match(r"exitCode: 9\n", text, "the diagnostics")
    got = out.read_text()
    require(got.startswith("plainownzippedtarred"), f"the files say {got}")
    require_match(r"/usercache/[^/]+/filecache/\d+/plain\.txt\n$", got, "the link")
