"""The configuration directories of a cluster: made up here, or copied from --config.

Of a copied configuration only addresses and directories are overridden, in front
and as final, so that they hold whatever the files say; -D keys are set behind, so
that a final key of the owner holds against them as it does in Hadoop.
"""

import shutil
from pathlib import Path

from heddle import hadoopconf
from heddle.errors import Failure

RM_HOST = "127.0.0.1"
RM_KEYS = {  # the key of each of the ResourceManager's endpoints
    "yarn.resourcemanager.address": "rm.client",
    "yarn.resourcemanager.scheduler.address": "rm.scheduler",
    "yarn.resourcemanager.resource-tracker.address": "rm.tracker",
    "yarn.resourcemanager.admin.address": "rm.admin",
    "yarn.resourcemanager.webapp.address": "rm.http",
}
NODE_KEYS = {"yarn.nodemanager.address": "rpc", "yarn.nodemanager.webapp.address": "http"}
RM_IDS = "yarn.resourcemanager.ha.rm-ids"
WEB_PROXY = "yarn.web-proxy.address"
CORE, YARN, TYPES = "core-site.xml", "yarn-site.xml", "resource-types.xml"
QUEUES, NODE_RESOURCES = "capacity-scheduler.xml", "node-resources.xml"
FILES = (CORE, YARN, TYPES, QUEUES, NODE_RESOURCES)
# Where a -D key is written that no file has yet: the file whose owner would look for it there.
HOMES = (
    ("yarn.scheduler.capacity.", QUEUES),
    ("yarn.resource-types", TYPES),
    ("yarn.nodemanager.resource-type.", NODE_RESOURCES),
    ("fs.", CORE), ("hadoop.", CORE), ("ipc.", CORE), ("net.", CORE), ("io.", CORE),
)
OWN_FILES = {
    CORE: {"fs.defaultFS": "file:///"},
    YARN: {
        "yarn.nodemanager.resource.memory-mb": "8192",
        "yarn.nodemanager.resource.cpu-vcores": "8",
        # A JVM reserves far more address space than it uses.
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users": "false",
        # The disk of somebody's machine may be fuller than a cluster's should be.
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9",
    },
    TYPES: {"yarn.resource-types": "yarn.io/gpu"},
    QUEUES: {
        "yarn.scheduler.capacity.resource-calculator":
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        "yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
        "yarn.scheduler.capacity.root.queues": "default,gpu",
        "yarn.scheduler.capacity.root.default.capacity": "50",
        "yarn.scheduler.capacity.root.gpu.capacity": "50",
        "yarn.scheduler.capacity.root.gpu.maximum-capacity": "100",
    },
}
LOG4J = """# Clients log warnings to standard error.
log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
"""


def parse_defines(texts):
    """The dict of repeated -D key=value options; the last of a key wins."""
    defines = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise Failure(f"-D {text}: expected key=value")
        defines[key.strip()] = value
    return defines


class Source:
    """Where a cluster's configuration comes from: --config or nothing, and the -D keys."""

    def __init__(self, config, defines):
        self.config = Path(config) if config else None
        self.defines = defines
        if self.config and not self.config.is_dir():
            raise Failure(f"--config is {self.config}, which is no directory")

    def set_keys(self):
        """The keys of the copied core-site.xml and yarn-site.xml, {} without --config."""
        if not self.config:
            return {}
        return hadoopconf.read(self.config / CORE) | hadoopconf.read(self.config / YARN)

    def add_missing(self, properties):
        """Sets keys about which neither the configuration nor -D says anything."""
        given = {}
        for name in FILES:
            given |= hadoopconf.read(self.config / name) if self.config else OWN_FILES.get(name, {})
        self.defines = {key: value for key, value in properties.items() if key not in given} | self.defines

    def make(self, target, directory, addresses):
        """Fills the directory target; directory becomes hadoop.tmp.dir, addresses are keys of yarn-site.xml."""
        target = Path(target)
        if self.config:
            copy_tree(self.config, target)
            self._define(target)
        else:
            target.mkdir()
            for name, properties in self._own_files().items():
                hadoopconf.write(target / name, properties, "Written by scripts/cluster; edit it as you like.")
            (target / "log4j.properties").write_text(LOG4J, encoding="utf-8")
        self._override(target / CORE, {"hadoop.tmp.dir": str(directory)})
        self.set_addresses(target, addresses)

    def set_addresses(self, target, addresses):
        """Sets the addresses and directories in yarn-site.xml in place of those set before."""
        self._override(Path(target) / YARN, addresses)

    def _override(self, path, properties):
        if not path.exists():
            hadoopconf.write(path, {}, "Written by scripts/cluster.")
        wanted = {key: value for key, value in properties.items() if key not in self.defines}
        hadoopconf.set_first(path, wanted, final=self.config is not None)

    def _own_files(self):
        """The files without --config, with the -D keys among them."""
        files = {name: dict(properties) for name, properties in OWN_FILES.items()}
        for key, value in self._written_defines():
            having = next((name for name, properties in files.items() if key in properties), None)
            files.setdefault(having or _home(key), {})[key] = value
        return files

    def _define(self, target):
        """Writes each -D key into every copied file that has it, or else into its home."""
        for key, value in self._written_defines():
            having = [name for name in FILES if key in hadoopconf.read(target / name)]
            for name in having or [_home(key)]:
                if not (target / name).exists():
                    hadoopconf.write(target / name, {}, "Written by scripts/cluster.")
                hadoopconf.set_last(target / name, {key: value})

    def _written_defines(self):
        """The -D keys that files can carry: an empty value is no property in a file."""
        return [(key, value) for key, value in self.defines.items() if value]

    def options(self):
        """The -D options that only a command line can carry."""
        return [word for key, value in self.defines.items() if value == "" for word in ("-D", f"{key}=")]


def _home(key):
    """The file in which somebody would look for a key."""
    return next((name for prefix, name in HOMES if key.startswith(prefix)), YARN)


def copy_tree(source, target):
    """Copies a configuration directory with the modes of its files; what it links to comes as a file."""
    try:
        shutil.copytree(source, target, ignore_dangling_symlinks=True)
    except shutil.Error as error:
        path, _, reason = error.args[0][0]
        raise Failure(f"--config: cannot copy {path}: {reason}") from None
    except OSError as error:
        raise Failure(f"--config: cannot copy {source}: {error.strerror}") from None


def rm_addresses(endpoints, given):
    """The keys that lead to the ResourceManager; endpoints None asks for free ports.

    given are the keys of a copied configuration: what it says of addresses in
    further keys (a highly available pair, bind-host, the web proxy) is overridden too.
    """
    keys = {"yarn.resourcemanager.hostname": RM_HOST}
    keys.update({key: endpoints[name] if endpoints else f"{RM_HOST}:0" for key, name in RM_KEYS.items()})
    rm_ids = [part.strip() for part in given.get(RM_IDS, "").split(",") if part.strip()]
    keys.update({f"{key}.{rm_id}": value for rm_id in rm_ids for key, value in list(keys.items())})
    if "yarn.resourcemanager.bind-host" in given:
        keys["yarn.resourcemanager.bind-host"] = RM_HOST
    if WEB_PROXY in given:
        keys[WEB_PROXY] = keys["yarn.resourcemanager.webapp.address"]
    return keys


def node_addresses(host, directory, endpoints, given):
    """The keys of a node's own addresses and directories; endpoints None asks for free ports."""
    keys = {
        "yarn.nodemanager.hostname": host,
        "yarn.nodemanager.local-dirs": str(directory / "local"),
        "yarn.nodemanager.log-dirs": str(directory / "userlogs"),
        "yarn.nodemanager.recovery.dir": str(directory / "recovery"),
    }
    keys.update({key: endpoints[name] if endpoints else f"{host}:0" for key, name in NODE_KEYS.items()})
    if "yarn.nodemanager.bind-host" in given:
        keys["yarn.nodemanager.bind-host"] = host
    return keys
