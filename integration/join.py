"""Daemons of either kind that join a running cluster of the other kind, or take the place of one of its daemons."""

import json
import os
import shutil
import signal
import subprocess
import sys

import caches
from harness import fetch, wait_for
from oracle import stock

sys.path.append(str(caches.REPOSITORY / "scripts" / "lib"))
from heddle import binaries, cgroups, gpus, hadoopconf  # noqa: E402
from heddle.layout import Layout  # noqa: E402

PLUGINS = "yarn.nodemanager.resource-plugins"


def stock_node(cluster, name, conf):
    """Starts a stock NodeManager from the directory conf, whose node directory is DIR/NAME; waits until it runs."""
    for folder in (cluster.directory / "pids", cluster.directory / name):
        folder.mkdir(exist_ok=True)
        if os.geteuid() == 0:
            shutil.chown(folder, stock.ACCOUNT)
    before = nodes(cluster)
    # What is restarted ends before the ResourceManager does.
    cluster.restarted.append(stock.start_daemon(cluster.directory, name, conf,
                                                "org.apache.hadoop.yarn.server.nodemanager.NodeManager"))
    return _await(cluster, name, before)


def heddle_node(cluster, name, conf, cards, options=()):
    """Starts Heddle's NodeManager with that many simulated GPUs from the directory conf; waits until it runs."""
    layout = Layout(cluster.directory)
    _programs(layout)
    chosen = gpus.Options(count=cards)
    layout.node(1).mkdir(exist_ok=True)
    layout.node(1).chmod(0o755)
    layout.topology(1).write_text(chosen.topology_of(name), encoding="utf-8")
    words = [*_words(layout, "nodemanager", name, conf), *options]
    for key, value in ({PLUGINS: gpus.GPU} | gpus.node_keys(chosen, layout, 1)).items():
        words += ["-D", f"{key}={value}"]
    before = nodes(cluster)
    _start(cluster, name, words, gpus.environment(chosen, layout, 1))
    cluster.after_stop.append(lambda: cgroups.remove(layout.cgroup))
    return _await(cluster, name, before)


def heddle_resourcemanager(cluster):
    """Starts Heddle's ResourceManager from DIR/rm-conf."""
    layout = Layout(cluster.directory)
    _programs(layout)
    _start(cluster, "rm", _words(layout, "resourcemanager", "rm", layout.rm_conf))


def stock_resourcemanager(cluster):
    """Starts the stock ResourceManager from DIR/rm-conf."""
    cluster.restarted.append(stock.start_daemon(
        cluster.directory, "rm", cluster.directory / "rm-conf",
        "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"))


def end(cluster, name):
    """Tells a daemon to stop and waits for its end."""
    process = cluster.daemon(name)
    process.kill(signal.SIGTERM)
    wait_for(f"{name} to end", lambda: not process.alive())
    cluster.restarted = [child for child in cluster.restarted if child.poll() is None]


def _programs(layout):
    """Copies the daemons and what simulates GPUs to DIR/bin, once."""
    if not layout.bin.exists():
        built = binaries.find()
        binaries.copy(built, layout.bin)
        gpus.copy_programs(built, layout.bin)


def _words(layout, program, name, conf):
    """The command line of one of our daemons."""
    return [layout.bin / program, "--config", conf, "--log-file", layout.logs / f"{name}-heddle.log",
            "--endpoints-file", layout.endpoints_of(name)]


def _start(cluster, name, words, variables=None):
    """Starts one of our daemons."""
    environment = stock.environment(cluster.directory, cluster.directory / "client-conf") | (variables or {})
    with open(cluster.directory / "logs" / f"{name}-heddle.out", "ab") as out:
        cluster.restarted.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/",
                                                  env=environment, start_new_session=True))


def conf_of_another(cluster, name, last):
    """A configuration directory for a stock node beside those of the cluster, on the address that ends with last."""
    host = cluster.node_hosts()[0].rpartition(".")[0] + f".{last}"
    own = cluster.directory / name
    own.mkdir()
    shutil.copytree(cluster.directory / "client-conf", own / "conf")
    site = own / "conf" / "yarn-site.xml"
    keys = {key: value for key, value in hadoopconf.read(site).items() if key != PLUGINS}
    stock.write_xml(site, keys | stock.node_keys(host, own))
    return own / "conf"


def nodes(cluster):
    """The running nodes by NodeId."""
    return {one["node"]: one for one in cluster.console("nodes") if one["state"] == "RUNNING"}


def _await(cluster, name, before):
    """The new node, as the ResourceManager tells of it; DIR/endpoints names it too."""
    def probe():
        for child in cluster.restarted:
            if child.poll() is not None:
                raise AssertionError(f"a node ended with {child.returncode}, see its log")
        return [one for node, one in nodes(cluster).items() if node not in before]

    found = wait_for(f"{name} to register", probe)[0]
    with open(cluster.directory / "endpoints", "a", encoding="utf-8") as out:
        out.write(f"{name}.rpc={found['node']}\n{name}.http={found['http']}\n")
    return found


def host_of(node):
    """The host of a NodeId."""
    return node["node"].rpartition(":")[0]


def kind(node):
    """`heddle` or `stock`, by what the node's web service says of itself."""
    info = json.loads(fetch(f"http://{node['http']}/ws/v1/node/info"))["nodeInfo"]
    return "heddle" if "gpuIsolation" in info else "stock"
