"""The GPUs of a cluster's nodes: simulated ones for scripts, real ones for node 1.

A node with simulated GPUs has DIR/nodeK/topology.toml, which may be edited while
it runs; its device nodes are in DIR/nodeK/dev. The library that reads the file is
DIR/bin/libnvidia-ml.so.1, the nvidia-smi of its containers DIR/bin/sim/nvidia-smi.
"""

import ctypes
import os
import re
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from heddle.errors import Failure

GPU = "yarn.io/gpu"
SPELLINGS = (GPU, "GPU", "gpu")
PLUGINS, TYPES = "yarn.nodemanager.resource-plugins", "yarn.resource-types"
LIBRARY = "libnvidia-ml.so.1"
CONTROL_DEVICE = "/dev/nvidiactl"
TOPOLOGY_ENV = "HEDDLE_GPU_TOPOLOGY"
GPUS_MAX = 64
CGROUPS = ("v1", "v2")
# What the simulation needs beside the daemons: its file as built, and its name in DIR/bin.
PROGRAMS = {"libfake_nvml.so": LIBRARY, "nvidia-smi": "sim/nvidia-smi"}
NODE_LINE = re.compile(r"^\s*node\s*=.*\n?", re.MULTILINE)
HEAD = """# Simulated GPUs of {node}; edit it while the node runs, it is read again every second.
# A card can be made to go with present = false, to fail with health = "lost", and its reads
# with fail_reads = 3; conf/topologies/a100.toml tells of every key.
"""
NVLINK_GROUP = 8


@dataclass(frozen=True)
class Options:
    """What scripts/cluster start was asked for; all of it may be left out."""

    count: int | None = None
    topology: str | None = None
    cgroup: str | None = None
    unsafe: bool = False

    def check(self):
        """Fails with a sentence if this cannot be done; reads the topology."""
        if self.count is not None and self.topology is not None:
            raise Failure("--gpus and --topology say the same thing: give one of them")
        if self.count is not None and not 1 <= self.count <= GPUS_MAX:
            raise Failure(f"--gpus is {self.count}, expected 1 to {GPUS_MAX}")
        if self.topology is not None:
            _checked(self.topology)
        return self

    @property
    def simulated(self):
        """Whether nodes get simulated GPUs."""
        return self.count is not None or self.topology is not None

    def topology_of(self, node):
        """The text of a node's topology file, its UUIDs derived from the node's name."""
        text = simulated_a100s(self.count) if self.topology is None else _checked(self.topology)
        return f'node = "{node}"\n' + HEAD.format(node=node) + text

    def daemon_options(self):
        """What a NodeManager is started with."""
        return ["--unsafe-no-isolation"] if self.unsafe else []


def simulated_a100s(count):
    """The cards of a node: minors that differ from indices, NVLink within each eight."""
    return "".join(_a100(index, count) for index in range(count))


def _a100(index, count):
    first = index - index % NVLINK_GROUP
    peers = [peer for peer in range(first, min(first + NVLINK_GROUP, count)) if peer != index]
    links = ", ".join(f'"{peer}:NV12"' for peer in peers)
    return ('\n[[gpu]]\nmodel = "NVIDIA A100-SXM4-80GB"\nmemory_mib = 81920\n'
            f'minor = {index ^ 1}\npci = "00000000:{7 + 3 * index:02X}:00.0"\nnuma = {int(2 * index >= count > 1)}\n'
            f'compute_capability = "8.0"\nlinks = [{links}]\n')


def _checked(path):
    """The text of a topology file without its node's name."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except OSError as error:
        raise Failure(f"--topology is {path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Failure(f"--topology is {path}: {error}") from None
    cards = table.get("gpu")
    if not isinstance(cards, list):
        raise Failure(f"--topology is {path}, which describes no card: a card begins with [[gpu]]")
    # Each node has a name of its own, from which its UUIDs follow; a table begins with the first bracket.
    head, bracket, rest = text.partition("[[gpu]]")
    return NODE_LINE.sub("", head) + bracket + rest


def node_keys(options, layout, index):
    """The keys of one node: its cgroups, and with simulated GPUs where they are."""
    keys = {"yarn.nodemanager.linux-container-executor.cgroups.hierarchy": f"/{layout.cgroup}/node{index}"}
    if options.cgroup:
        keys["yarn.nodemanager.heddle.devices.cgroup"] = options.cgroup
    if options.simulated:
        keys |= {
            "yarn.nodemanager.heddle.gpu.nvml-library": str(layout.bin / LIBRARY),
            "yarn.nodemanager.heddle.gpu.simulated-dev-dir": str(layout.node(index) / "dev"),
            "yarn.nodemanager.heddle.gpu.simulated-bin-dir": str(layout.bin / "sim"),
        }
    return keys


def environment(options, layout, index):
    """What a node's environment gets, None for a variable that it must not have."""
    return {TOPOLOGY_ENV: str(layout.topology(index)) if options.simulated else None}


def copy_programs(folder, target):
    """Copies what simulates GPUs beside the daemons in target."""
    (target / "sim").mkdir()
    (target / "sim").chmod(0o755)
    for built, name in PROGRAMS.items():
        if not (folder / built).is_file():
            raise Failure(f"{folder} holds no {built}, which simulates GPUs: "
                          "build it with cargo build --release -p fake-nvml")
        shutil.copyfile(folder / built, target / name)
        (target / name).chmod(0o755)


def real():
    """How many real GPUs this machine has, 0 where the driver cannot be talked to."""
    if not os.path.exists(CONTROL_DEVICE):
        return 0
    try:
        nvml = ctypes.CDLL(LIBRARY)
        if nvml.nvmlInit_v2() != 0:
            return 0
        count = ctypes.c_uint(0)
        status = nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
        nvml.nvmlShutdown()
    except (OSError, AttributeError):
        return 0
    return count.value if status == 0 else 0


def named(value):
    """Whether a list of types or plugins names GPUs."""
    return any(part.strip() in SPELLINGS for part in value.split(","))
