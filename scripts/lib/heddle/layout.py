"""What lies where in a cluster's DIR, and the record of what was started there.

    DIR/bin          the daemons, copied, so that every account can run them and a rebuild disturbs nothing
    DIR/rm-conf      what the ResourceManager reads        DIR/nodeK/conf   what node K reads
    DIR/client-conf  a HADOOP_CONF_DIR for clients         DIR/nm-conf      for a node of your own (--rm-only)
    DIR/nodeK/local, DIR/nodeK/userlogs                    the node's directories
    DIR/nodeK/topology.toml, DIR/nodeK/dev                 its simulated GPUs and their device nodes
    DIR/logs         the daemons' logs                     DIR/home         HOME of clients that cluster run starts
    DIR/tmp          hadoop.tmp.dir of clients             DIR/endpoints    name=host:port lines
    DIR/cluster.json what was started, by process identity
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from heddle import cgroups
from heddle.errors import Failure
from heddle.process import Identity

RM_ENDPOINTS = ("rm.client", "rm.scheduler", "rm.tracker", "rm.admin", "rm.http")
NODE_ENDPOINTS = ("rpc", "http")
# A comma separates directories in Hadoop's lists, $ begins a variable, blanks split launch commands.
UNFIT = re.compile(r"[,$\s\"'\\]")


@dataclass
class Layout:
    """The paths of one cluster."""

    root: Path

    def __post_init__(self):
        self.root = Path(os.path.realpath(self.root))
        unfit = UNFIT.search(str(self.root))
        if unfit:
            raise Failure(f"--dir is {self.root}, but {unfit.group()!r} cannot stand in a YARN directory name: "
                          "choose a path of letters, digits, /, -, _ and .")

    @property
    def bin(self):
        return self.root / "bin"

    @property
    def rm_conf(self):
        return self.root / "rm-conf"

    @property
    def client_conf(self):
        return self.root / "client-conf"

    @property
    def nm_conf(self):
        return self.root / "nm-conf"

    @property
    def logs(self):
        return self.root / "logs"

    @property
    def home(self):
        return self.root / "home"

    @property
    def tmp(self):
        return self.root / "tmp"

    @property
    def endpoints(self):
        return self.root / "endpoints"

    @property
    def state(self):
        return self.root / "cluster.json"

    def endpoints_of(self, name):
        """The file in which one daemon names its addresses once it is ready."""
        return self.root / f".{name}.endpoints"

    def node(self, index):
        """The directory of node K, counted from 1."""
        return self.root / f"node{index}"

    def topology(self, index):
        """The simulated GPUs of node K."""
        return self.node(index) / "topology.toml"

    @property
    def cgroup(self):
        """The name of the cgroup that holds those of all nodes; the same for the same DIR."""
        return cgroups.PREFIX + hashlib.sha256(os.fsencode(self.root)).hexdigest()[:12]

    def node_conf(self, index):
        """The configuration directory of node K."""
        return self.node(index) / "conf"


@dataclass
class State:
    """What start did so far: enough for stop and run, whatever happened in between."""

    uid: int
    processes: list = field(default_factory=list)

    def save(self, layout):
        """Writes the record so that a reader sees the old or the new one, never half of it."""
        text = json.dumps({"version": 1, "uid": self.uid,
                           "processes": [one.to_json() for one in self.processes]}, indent=1)
        aside = layout.state.with_suffix(".new")
        aside.write_text(text + "\n", encoding="utf-8")
        aside.replace(layout.state)

    @staticmethod
    def load(layout):
        """The record in DIR; a DIR without one is no cluster's."""
        try:
            data = json.loads(layout.state.read_text(encoding="utf-8"))
            return State(data["uid"], [Identity(**one) for one in data["processes"]])
        except FileNotFoundError:
            raise Failure(f"{layout.root} holds no cluster: scripts/cluster start --dir {layout.root} makes one") from None
        except PermissionError as error:
            raise Failure(f"{layout.state}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise Failure(f"{layout.state} is damaged: {error}") from None


def read_endpoints(path):
    """A file of name=host:port lines as a dict, None while it does not exist."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def write_endpoints(path, endpoints):
    """Writes name=host:port lines by renaming, so that the file is there only when it is whole."""
    aside = Path(path).with_suffix(".new")
    aside.write_text("".join(f"{name}={value}\n" for name, value in endpoints.items()), encoding="utf-8")
    aside.replace(path)
