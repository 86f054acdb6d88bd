#!/usr/bin/env python3
"""Starts and stops the stock Hadoop ResourceManager and NodeManagers.

    stock.py start --dir DIR [--nodes N | --rm-only] [-D key=value]...
    stock.py stop --dir DIR
    stock.py run --dir DIR COMMAND...

The same contract as scripts/cluster (DIR/client-conf, DIR/endpoints, DIR/logs,
DIR/rm-conf, DIR/nodeK/conf, DIR/nm-conf), so that a test need not know which pair it talks
to. As root, the daemons and the clients all run as nobody: the stock NodeManager
runs containers under its own account.
"""

import argparse
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from xml.sax.saxutils import escape

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import caches  # noqa: E402

ACCOUNT = "nobody"
START_DEADLINE_S = 120
STOP_DEADLINE_S = 30
QUEUES = {
    "yarn.scheduler.capacity.root.queues": "default,gpu",
    "yarn.scheduler.capacity.root.default.capacity": "50",
    "yarn.scheduler.capacity.root.gpu.capacity": "50",
    "yarn.scheduler.capacity.root.gpu.maximum-capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
    "yarn.scheduler.capacity.resource-calculator":
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
}
LOG4J = """log4j.rootLogger=INFO,err
log4j.appender.err=org.apache.log4j.ConsoleAppender
log4j.appender.err.target=System.err
log4j.appender.err.layout=org.apache.log4j.PatternLayout
log4j.appender.err.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
"""


def write_xml(path, properties):
    """Writes a Hadoop configuration file."""
    rows = "".join(f"  <property><name>{escape(k)}</name><value>{escape(v)}</value></property>\n"
                   for k, v in properties.items())
    path.write_text(f'<?xml version="1.0"?>\n<configuration>\n{rows}</configuration>\n')


def free_ports(host, count):
    """Ports that nobody listens on now; all are held until all are known."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind((host, 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def as_account(command):
    """The command, run as the account of the containers when we are root."""
    if os.geteuid() != 0:
        return command
    return ["setpriv", f"--reuid={ACCOUNT}", f"--regid={pwd.getpwnam(ACCOUNT).pw_gid}",
            "--clear-groups", "--", *command]


def environment(directory, conf):
    """A clean environment: what the daemons see, the containers may inherit."""
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "JAVA_HOME": caches.java_home(),
        "HADOOP_CONF_DIR": str(conf),
        "HOME": str(directory / "home"),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        # As Hadoop's own start script does.
        "MALLOC_ARENA_MAX": "4",
        "PYSPARK_PYTHON": caches.python_for_spark(),
        "SPARK_CONF_DIR": str(directory / "spark-conf"),
    }


def site(directory, ports, overrides):
    """yarn-site.xml of the ResourceManager and the clients."""
    names = ["address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address"]
    properties = {f"yarn.resourcemanager.{n}": f"127.0.0.1:{p}" for n, p in zip(names, ports)}
    properties |= {
        "yarn.resourcemanager.hostname": "127.0.0.1",
        "yarn.resourcemanager.cluster-id": "stock",
        "yarn.resourcemanager.scheduler.class":
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler",
        "yarn.nodemanager.resource.memory-mb": "8192",
        "yarn.nodemanager.resource.cpu-vcores": "8",
        "yarn.nodemanager.pmem-check-enabled": "true",
        "yarn.nodemanager.vmem-check-enabled": "false",
        # Left at its default, true, stock 3.5 leaves memory to cgroups even where it uses none,
        # and its poll kills nothing.
        "yarn.nodemanager.resource.memory.enforced": "false",
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9",
        "yarn.log-aggregation-enable": "false",
        "yarn.resourcemanager.am.max-attempts": "2",
        "hadoop.tmp.dir": str(directory / "tmp"),
    }
    return properties | overrides


def start_daemon(directory, name, conf, main_class):
    """Starts one daemon in a session of its own and notes its process id."""
    jars = caches.stock_jars()
    command = [os.path.join(caches.java_home(), "bin", "java"), "-Xmx384m", "-XX:+UseSerialGC",
               "-XX:TieredStopAtLevel=1", "--add-opens=java.base/java.lang=ALL-UNNAMED",
               f"-Dyarn.log.dir={directory}/logs", f"-Dhadoop.log.dir={directory}/logs",
               "-cp", f"{conf}:{jars}/*", main_class]
    log = open(directory / "logs" / f"{name}.log", "ab")
    child = subprocess.Popen(as_account(command), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                             env=environment(directory, conf), cwd="/", start_new_session=True)
    (directory / "pids" / name).write_text(str(child.pid))
    return child


def start_node(directory, index):
    """Starts NodeManager number index from DIR/nodeK/conf."""
    conf = directory / f"node{index}" / "conf"
    return start_daemon(directory, f"node{index}", conf,
                        "org.apache.hadoop.yarn.server.nodemanager.NodeManager")


def registered(web):
    """Hosts of the running nodes, by the ResourceManager's web service; None while it does not answer."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{web}/ws/v1/cluster/nodes?states=RUNNING", timeout=5) as answer:
            nodes = json.load(answer)["nodes"]
    except OSError:
        return None
    return {n["nodeHostName"] for n in (nodes or {}).get("node", [])}


def wait_registered(web, hosts, children):
    """Waits until the ResourceManager answers and every host is a running node."""
    deadline = time.monotonic() + START_DEADLINE_S
    while (running := registered(web)) is None or not hosts <= running:
        for child in children:
            if child.poll() is not None:
                raise SystemExit(f"a stock daemon ended with {child.returncode}, see the logs")
        if time.monotonic() > deadline:
            raise SystemExit(f"the nodes {sorted(hosts)} did not register in {START_DEADLINE_S} s")
        time.sleep(0.2)


def node_keys(host, directory, ports=(0, 0, 0)):
    """What the configuration of a node says that no other's does; port 0 leaves the choice to the node."""
    rpc, http, localizer = ports
    return {
        "yarn.nodemanager.hostname": host,
        "yarn.nodemanager.address": f"{host}:{rpc}",
        "yarn.nodemanager.webapp.address": f"{host}:{http}",
        "yarn.nodemanager.localizer.address": f"{host}:{localizer}",
        "yarn.nodemanager.local-dirs": str(directory / "local"),
        "yarn.nodemanager.log-dirs": str(directory / "containers-logs"),
        "hadoop.tmp.dir": str(directory / "tmp"),
    }


def start(directory, nodes, rm_only, overrides):
    """Writes the configuration, starts the daemons, returns when all nodes are registered."""
    nodes = 0 if rm_only else nodes
    for name in ["logs", "pids", "home", "tmp", "spark-conf", "client-conf", "rm-conf", "staging"]:
        (directory / name).mkdir(parents=True)
    directory.chmod(0o711)
    ports = free_ports("127.0.0.1", 5)
    common = site(directory, ports, overrides)
    lines = [f"rm.{n}=127.0.0.1:{p}" for n, p in zip(["client", "scheduler", "tracker", "admin", "http"], ports)]
    hosts = {}
    for conf in ["client-conf", "rm-conf"]:
        write_conf(directory / conf, common)
    for index in range(1, nodes + 1):
        host = f"127.0.{os.getpid() % 250 + 1}.{index + 1}"
        ports_of_node = free_ports(host, 3)
        own = directory / f"node{index}"
        (own / "conf").mkdir(parents=True)
        write_conf(own / "conf", common | {"yarn.nodemanager.bind-host": host}
                   | node_keys(host, own, ports_of_node) | overrides)
        lines += [f"node{index}.rpc={host}:{ports_of_node[0]}", f"node{index}.http={host}:{ports_of_node[1]}"]
        hosts[index] = host
    if rm_only:
        (directory / "nm-conf").mkdir()
        write_conf(directory / "nm-conf", common | node_keys(f"127.0.{os.getpid() % 250 + 1}.1", directory / "nm"))
    (directory / "spark-conf" / "spark-defaults.conf").write_text(
        f"spark.yarn.stagingDir file://{directory}/staging\n")
    (directory / "endpoints").write_text("\n".join(lines) + "\n")
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", f"{ACCOUNT}:{pwd.getpwnam(ACCOUNT).pw_gid}", directory], check=True)
    children = [start_daemon(directory, "rm", directory / "rm-conf",
                             "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager")]
    children += [start_node(directory, index) for index in hosts]
    wait_registered(f"127.0.0.1:{ports[4]}", set(hosts.values()), children)


def write_conf(conf, properties):
    """Fills one configuration directory."""
    write_xml(conf / "core-site.xml", {"fs.defaultFS": "file:///"})
    write_xml(conf / "yarn-site.xml", properties)
    queues = {k: v for k, v in properties.items() if k.startswith("yarn.scheduler.capacity.")}
    write_xml(conf / "capacity-scheduler.xml", QUEUES | queues)
    write_xml(conf / "resource-types.xml", {"yarn.resource-types": "yarn.io/gpu"})
    (conf / "log4j.properties").write_text(LOG4J)


def alive(pid):
    """Whether the process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def stop(directory):
    """Ends the daemons, nodes first so that they end their containers."""
    pids = sorted((directory / "pids").glob("*"), key=lambda p: p.name == "rm")
    for path in pids:
        pid = int(path.read_text())
        if alive(pid):
            os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + STOP_DEADLINE_S
            while alive(pid) and time.monotonic() < deadline:
                time.sleep(0.1)
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        path.unlink()
    # A NodeManager that was killed leaves its containers running.
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"LOCAL_DIRS={directory}/".encode() in (entry / "environ").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue


def run(directory, command):
    """Becomes a client of the cluster."""
    env = environment(directory, directory / "client-conf")
    env |= {k: v for k, v in os.environ.items() if k not in env and not k.startswith(("HADOOP_", "YARN_"))}
    words = as_account(command)
    os.execvpe(words[0], words, env)


def main():
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    for name in ["start", "stop", "run", "start-node"]:
        action = actions.add_parser(name)
        action.add_argument("--dir", required=True, type=Path)
        if name == "start":
            action.add_argument("--nodes", type=int, default=1)
            action.add_argument("--rm-only", action="store_true")
            action.add_argument("-D", action="append", default=[], metavar="KEY=VALUE", dest="overrides")
        elif name != "stop":
            action.add_argument("rest", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    directory = options.dir.resolve()
    if options.action == "start":
        start(directory, options.nodes, options.rm_only, dict(o.split("=", 1) for o in options.overrides))
    elif options.action == "stop":
        stop(directory)
    elif options.action == "start-node":
        start_node(directory, int(options.rest[0]))
    else:
        run(directory, options.rest)


if __name__ == "__main__":
    main()
