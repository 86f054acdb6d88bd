"""Starts real daemons on this machine, stops them, and becomes a client of them."""

import os
import random
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

from heddle import accounts, binaries, cgroups, configs, gpus, hadoopconf, process, tools
from heddle.errors import Failure
from heddle.layout import NODE_ENDPOINTS, RM_ENDPOINTS, Layout, State, read_endpoints, write_endpoints

NODES_MAX = 250
START_LIMIT_S = 120
# A NodeManager ends its containers first: SIGTERM, a delay, SIGKILL.
STOP_LIMIT_S = 30
LOG_LINES_SHOWN = 20


def start(directory, config, nodes, rm_only, defines, gpu=gpus.Options()):
    """Starts a ResourceManager and nodes; returns the endpoints once all nodes are registered.

    Whatever fails, nothing keeps running.
    """
    gpu.check()
    if not 1 <= nodes <= NODES_MAX:
        raise Failure(f"--nodes is {nodes}, expected 1 to {NODES_MAX}")
    layout = Layout(directory)
    source = configs.Source(config, defines)
    built = binaries.find()
    java = tools.java_home()
    _take(layout)
    starter = Starter(layout, source, java, gpu)
    try:
        binaries.copy(built, layout.bin)
        if gpu.simulated:
            gpus.copy_programs(built, layout.bin)
        return starter.run(0 if rm_only else nodes)
    except BaseException:
        previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
        stop(directory)
        signal.signal(signal.SIGINT, previous)
        raise


def _take(layout):
    """Makes DIR ours: new, or empty until now."""
    root = layout.root
    try:
        root.mkdir(parents=True, exist_ok=True)
        if any(root.iterdir()):
            raise Failure(f"--dir is {root}, which is not empty: a directory serves one cluster once")
        root.chmod(0o711)
        for name in (layout.logs, layout.home, layout.tmp):
            name.mkdir()
    except (FileExistsError, NotADirectoryError):
        raise Failure(f"--dir is {root}, which is in use or no directory") from None
    except OSError as error:
        raise Failure(f"--dir is {root}: {error.filename or root}: {error.strerror}") from None
    layout.logs.chmod(0o755)
    layout.home.chmod(0o711)
    layout.tmp.chmod(0o1777)
    State(os.geteuid()).save(layout)


class Starter:
    """One start of a cluster: what it knows on the way."""

    def __init__(self, layout, source, java, gpu):
        self.layout, self.source, self.java, self.gpu = layout, source, java, gpu
        self.given = source.set_keys()
        self.state = State.load(layout)
        self.children = {}

    def run(self, nodes):
        """Starts everything in order; see start()."""
        layout, source = self.layout, self.source
        self._check_accounts()
        if self.gpu.simulated:
            source.add_missing({gpus.PLUGINS: gpus.GPU, gpus.TYPES: gpus.GPU})
        source.make(layout.rm_conf, layout.tmp / "rm", configs.rm_addresses(None, self.given))
        self._spawn("resourcemanager", "resourcemanager", layout.rm_conf)
        endpoints = self._await("resourcemanager", RM_ENDPOINTS)
        rm_keys = configs.rm_addresses(endpoints, self.given)
        source.set_addresses(layout.rm_conf, rm_keys)
        source.make(layout.client_conf, layout.tmp / "hadoop-${user.name}", rm_keys)
        _readable(layout.client_conf)
        if nodes == 0:
            host = _free_network() + "1"
            keys = configs.node_addresses(host, layout.root / "nm", None, self.given)
            # Hadoop's own NodeManager has one port more than ours.
            keys["yarn.nodemanager.localizer.address"] = f"{host}:0"
            source.make(layout.nm_conf, layout.root / "nm" / "tmp", rm_keys | keys)
        else:
            endpoints |= self._start_nodes(nodes, rm_keys)
        write_endpoints(layout.endpoints, endpoints)
        return endpoints

    def _start_nodes(self, nodes, rm_keys):
        network = _free_network()
        hosts = {index: f"{network}{index}" for index in range(1, nodes + 1)}
        for index, host in hosts.items():
            directory = self.layout.node(index)
            directory.mkdir()
            directory.chmod(0o755)
            if self.gpu.simulated:
                self.layout.topology(index).write_text(self.gpu.topology_of(f"node{index}"), encoding="utf-8")
            self.source.make(self.layout.node_conf(index), directory / "tmp",
                             rm_keys | self._node_keys(index, host, None))
            self._spawn(f"node{index}", "nodemanager", self.layout.node_conf(index),
                        [*self._plugins_off(index), *self.gpu.daemon_options()],
                        gpus.environment(self.gpu, self.layout, index))
        endpoints = {}
        for index, host in hosts.items():
            own = self._await(f"node{index}", NODE_ENDPOINTS)
            endpoints |= {f"node{index}.{name}": own[name] for name in NODE_ENDPOINTS}
            # A node that is started again from its directory keeps its NodeId.
            self.source.set_addresses(self.layout.node_conf(index), rm_keys | self._node_keys(index, host, own))
        return endpoints

    def _node_keys(self, index, host, endpoints):
        """What a node's configuration says that no other's does; endpoints None asks for free ports."""
        keys = configs.node_addresses(host, self.layout.node(index), endpoints, self.given)
        keys |= gpus.node_keys(self.gpu, self.layout, index)
        if index == 1 and self._real_gpus():
            keys[gpus.PLUGINS] = gpus.GPU
        return keys

    def _real_gpus(self):
        """Whether node 1 is to offer this machine's GPUs: there are some, and nobody says anything of them."""
        return not (self.gpu.simulated or self.source.config or gpus.PLUGINS in self.source.defines) and gpus.real() > 0

    def _plugins_off(self, index):
        """The machine's GPUs are offered once: only node 1 looks for them."""
        given = self.source.defines.get(gpus.PLUGINS, self.given.get(gpus.PLUGINS, ""))
        return ["-D", f"{gpus.PLUGINS}="] if index > 1 and not self.gpu.simulated and gpus.named(given) else []

    def _check_accounts(self):
        """Says at once that the account of the containers cannot enter what it needs."""
        given = self.given | configs.OWN_FILES[configs.YARN] if not self.source.config else self.given
        rules = _rules(given | self.source.defines, self.source.config)
        account = accounts.of_containers(rules.local_user, accounts.current(), rules)
        accounts.demand_open(account, {"--dir": str(self.layout.root), "JAVA_HOME": self.java})

    def _spawn(self, name, program, conf, options=(), variables=None):
        """Starts a daemon in a session of its own and records it; a variable that is None is unset."""
        layout = self.layout
        command = [layout.bin / program, "--config", conf, *self.source.options(), *options,
                   "--log-file", layout.logs / f"{name}.log", "--endpoints-file", layout.endpoints_of(name)]
        # Containers inherit HADOOP_CONF_DIR from their node: what runs in them are clients.
        environment = dict(os.environ, JAVA_HOME=self.java, HADOOP_CONF_DIR=str(layout.client_conf))
        environment.setdefault("PYSPARK_PYTHON", tools.PYTHON)
        environment |= {"YARN_CONF_DIR": None} | (variables or {})
        environment = {key: value for key, value in environment.items() if value is not None}
        with open(layout.logs / f"{name}.out", "ab") as out:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/",
                                     env=environment, start_new_session=True)
        self.children[name] = child
        identity = process.identify(name, child.pid)
        if identity:
            self.state.processes.append(identity)
            self.state.save(layout)

    def _await(self, name, wanted):
        """The endpoints of a daemon, once it has written them; its log's end if it dies or is late."""
        path = self.layout.endpoints_of(name)
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            endpoints = read_endpoints(path)
            if endpoints is not None:
                break
            for other, child in self.children.items():
                if child.poll() is not None:
                    raise Failure(f"{other} ended with {_status(child.returncode)}{self._log_end(other)}")
            if time.monotonic() > deadline:
                raise Failure(f"{name} was not ready after {START_LIMIT_S} s{self._log_end(name)}")
            time.sleep(process.POLL_S)
        missing = [one for one in wanted if one not in endpoints]
        if missing:
            raise Failure(f"{path}: {name} named no {', '.join(missing)}")
        return {one: endpoints[one] for one in wanted}

    def _log_end(self, name):
        """The last lines of what a daemon wrote, for a message."""
        shown = []
        for path in (self.layout.logs / f"{name}.log", self.layout.logs / f"{name}.out"):
            try:
                lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            except OSError:
                continue
            if lines:
                shown.append(f"\n--- end of {path}\n" + "\n".join(lines[-LOG_LINES_SHOWN:]))
        return "".join(shown)


def _status(code):
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _readable(conf):
    """Lets every account read the client's files; what only servers read keeps its mode."""
    conf.chmod(0o755)
    for name in (configs.CORE, configs.YARN, configs.TYPES, "log4j.properties", "mapred-site.xml", "hdfs-site.xml"):
        path = conf / name
        if path.exists():
            path.chmod(path.stat().st_mode | stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)


def _free_network():
    """A prefix 127.x.y. under which nobody listens now."""
    taken = _listening()
    for _ in range(1000):
        a, b = random.randint(16, 254), random.randint(0, 255)
        # /proc/net/tcp shows an IPv4 address as a little-endian hexadecimal number.
        if not any(address.endswith(f"{b:02X}{a:02X}7F") for address in taken):
            prefix = f"127.{a}.{b}."
            try:
                with socket.socket() as probe:
                    probe.bind((prefix + "1", 0))
            except OSError as error:
                raise Failure(f"cannot listen on {prefix}1: {error.strerror}") from None
            return prefix
    raise Failure("no free addresses in 127.0.0.0/8")


def _listening():
    """The local addresses of all IPv4 sockets, in the kernel's hexadecimal form."""
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    return {line.split()[1].partition(":")[0] for line in lines}


def _rules(properties, conf):
    """The account rules of a configuration directory, None being the one that is made up here."""
    path = Path(conf, "container-executor.cfg") if conf else None
    try:
        text = path.read_text(encoding="utf-8", errors="replace") if path and path.exists() else ""
    except OSError as error:
        raise Failure(f"{path} says who may run containers, and cannot be read: {error.strerror}") from None
    return accounts.read_rules(properties, text)


def stop(directory):
    """Ends the daemons, nodes first, then whatever they left; True if anything was still running."""
    layout = Layout(directory)
    state = State.load(layout)
    if os.geteuid() not in (0, state.uid):
        raise Failure(f"the cluster in {layout.root} belongs to the account "
                      f"{accounts.by_uid(state.uid).name}: stop it as that account or as root")
    found = _end_daemons(layout, state, "nodemanager") + _end_daemons(layout, state, "resourcemanager")
    # Killing can show new ones: a shell that starts its next command.
    for _ in range(20):
        left = process.leftovers_of(layout.root, cgroups.pids(layout.cgroup))
        if not left:
            cgroups.remove(layout.cgroup)
            return found > 0
        found += len(left)
        process.end(left, 0)
    raise Failure(f"processes of {layout.root} come back faster than they are killed")


def _end_daemons(layout, state, program):
    """Ends the recorded daemons of one kind, and those that somebody started again from DIR/bin; their number."""
    name = "resourcemanager" if program == "resourcemanager" else "node"
    running = {one.pid: one for one in process.daemons_of(layout.root) if one.name == program}
    running |= {one.pid: one for one in state.processes if one.name.startswith(name) and one.alive()}
    for one in process.end(list(running.values()), STOP_LIMIT_S):
        print(f"{one.name} ({one.pid}) did not end within {STOP_LIMIT_S} s and was killed", file=sys.stderr)
    return len(running)


def client(directory, environ):
    """What a client of the cluster runs as: (account, environment, home in DIR or None)."""
    layout = Layout(directory)
    state = State.load(layout)
    if not layout.endpoints.exists() or not (any(one.alive() for one in state.processes)
                                             or process.daemons_of(layout.root)):
        raise Failure(f"the cluster in {layout.root} does not run")
    conf = next(iter(sorted(layout.root.glob("node*/conf"))), layout.nm_conf)
    rules = _rules(hadoopconf.read(conf / configs.CORE) | hadoopconf.read(conf / configs.YARN), conf)
    ourselves = accounts.current()
    # Root submits as the account that runs its containers, unless it names a submitter.
    submitter = environ.get("HADOOP_USER_NAME") or (rules.local_user if ourselves.uid == 0 else ourselves.name)
    account = accounts.of_containers(submitter, accounts.by_uid(state.uid), rules)
    if ourselves.uid not in (0, account.uid):
        raise Failure(f"containers of {submitter} run as the account {account.name} on this cluster, and with file: "
                      f"paths its client must too: run this as {account.name} or as root")
    java = tools.java_home()
    environment = dict(environ, JAVA_HOME=java, HADOOP_CONF_DIR=str(layout.client_conf),
                       YARN_CONF_DIR=str(layout.client_conf))
    environment.setdefault("PYSPARK_PYTHON", tools.PYTHON)
    home = layout.home / account.name
    if ourselves.uid == 0 or ourselves.uid == state.uid:
        _make_home(home, account)
        options = [f"-Dspark.yarn.stagingDir=file://{home}/staging"]
        if ourselves.uid == 0:
            # Java takes user.home from the password file, where nobody has none.
            options.insert(0, f"-Duser.home={home}")
            environment |= {"HOME": str(home), "USER": account.name, "LOGNAME": account.name}
        environment["SPARK_SUBMIT_OPTS"] = " ".join([*options, environ.get("SPARK_SUBMIT_OPTS", "")]).strip()
    demanded = {"--dir": str(layout.client_conf), "JAVA_HOME": java}
    for name in ("SPARK_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_CONF_DIR"):
        value = environ.get(name, "")
        if os.path.isabs(value) and os.path.exists(value):
            demanded[name] = value
    accounts.demand_open(account, demanded)
    return account, environment, home


def _make_home(home, account):
    """A home and a staging directory for the account, closed to others as Spark makes its own."""
    home.mkdir(exist_ok=True)
    (home / "staging").mkdir(exist_ok=True)
    if os.geteuid() == 0:
        for path in (home / "staging", home):
            os.chown(path, account.uid, account.gid)
    for path in (home, home / "staging"):
        path.chmod(0o700)


def _paths_in(word):
    """The absolute paths that exist among what an argument names: lists, key=value, file: and local: URIs, a#b."""
    parts = (re.sub(r"^(file|local):(//)?(?=/)", "", part).partition("#")[0] for part in re.split("[,=]", word))
    return [part for part in parts if os.path.isabs(part) and os.path.exists(part)]


def run(directory, command):
    """Becomes COMMAND as a client of the cluster; does not return."""
    account, environment, home = client(directory, dict(os.environ))
    words = [path for word in command[1:] for path in _paths_in(word)]
    if accounts.closed_to(account, [os.getcwd()]):
        # What is named from here cannot be meant from elsewhere.
        words += [word for word in command[1:] if not word.startswith("-") and os.path.exists(word)]
        accounts.demand_open(account, {f"argument {word}": word for word in words})
        print(f"cluster: the account {account.name} cannot enter {os.getcwd()}, working in {home}", file=sys.stderr)
        os.chdir(home)
    accounts.demand_open(account, {f"argument {word}": word for word in words})
    if account.uid != os.geteuid():
        accounts.become(account)
    program = shutil.which(command[0], path=environment.get("PATH", os.defpath))
    if program is None:
        raise Failure(f"{command[0]} is not a program that the account {account.name} can run")
    os.execve(program, command, environment)
