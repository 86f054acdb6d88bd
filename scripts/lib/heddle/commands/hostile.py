"""scripts/hostile: hostile connections on every port of a cluster while a client is answered.

Random bytes, huge lengths, large and dense requests sent in full, half frames,
slow senders, floods of SASL messages and calls, huge HTTP headers: over
loopback, so many in all and no longer than the limit. Meanwhile a client asks both daemons every second. It fails (exit
code 1) if a daemon grows by 64 MiB or more, dies or panics, if the client is
not answered in time, or if a port takes no connections.
"""

import argparse
import asyncio
import http.client
import json
import resource
import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path

from heddle import cache, cluster, gpus, hostile
from heddle.errors import Failure
from heddle.layout import Layout, State, read_endpoints

PORTS = ("rm.client", "rm.scheduler", "rm.tracker", "rm.admin", "rm.http", "node1.rpc", "node1.http")
GROWTH_MAX_MIB = 64
# How long one hostile connection lasts at most, and what it waits to be let in.
HOLD_S, CONNECT_S = 3, 20
AT_ONCE = 400
ANSWER_S, EVERY_S = 5, 1


def main(arguments):
    """Attacks, prints, and returns 1 if the daemons did not bear it."""
    parser = argparse.ArgumentParser(prog="hostile", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", help="the directory of a running cluster; without it one of one node is started")
    parser.add_argument("--connections", type=int, default=10000, help="hostile connections in all (10000)")
    parser.add_argument("--limit-s", type=float, default=600, help="give up after so many seconds (600)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    options = parser.parse_args(arguments)
    if options.connections < len(PORTS):
        raise Failure(f"--connections is {options.connections}, expected at least {len(PORTS)}, one for each port")
    _allow_files(AT_ONCE * 2)
    if options.dir:
        report = attack(options.dir, options.connections, options.limit_s)
    else:
        report = _on_own_cluster(options)
    print(json.dumps(report, indent=1) if options.json else text_of(report))
    return 1 if report["failures"] else 0


def _allow_files(wanted):
    """Raises the limit of open files: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        if hard != resource.RLIM_INFINITY and hard < wanted:
            raise Failure(f"{wanted} open files are needed, the limit is {hard} (ulimit -n)")
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _on_own_cluster(options):
    runs = cache.folder() / "runs"
    runs.mkdir(exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="hostile-", dir=runs))
    try:
        cluster.start(directory, None, 1, False, {}, gpus.Options())
        report = attack(directory, options.connections, options.limit_s)
    finally:
        if (directory / "cluster.json").exists():
            cluster.stop(directory)
    if not report["failures"]:
        shutil.rmtree(directory, ignore_errors=True)
    return report


def attack(directory, connections, limit_s):
    """Attacks the cluster in DIR and reports as plain data; "failures" is empty if all is well."""
    layout = Layout(directory)
    endpoints = read_endpoints(layout.endpoints)
    missing = [port for port in PORTS if port not in (endpoints or {})]
    if missing:
        raise Failure(f"{layout.endpoints} names no {', '.join(missing)}: is the cluster running?")
    addresses = {port: (host, int(number)) for port, (host, _, number) in
                 ((port, endpoints[port].rpartition(":")) for port in PORTS)}
    outside = [endpoints[port] for port in PORTS if not addresses[port][0].startswith(("127.", "localhost"))]
    if outside:
        raise Failure(f"{outside[0]} is not on the loopback network, and nothing else is attacked")
    daemons = [Daemon(one, layout) for one in State.load(layout).processes if one.name in ("resourcemanager", "node1")]
    if len(daemons) != 2:
        raise Failure(f"{layout.root} runs no ResourceManager and node1 of its own")
    client = Client(addresses)
    client.ask()  # so that what a first call builds counts as there before
    if client.failed:
        raise Failure(f"the client is not answered before anything else is done: {client.failed[0]}")
    for daemon in daemons:
        daemon.begin()
    counts = {port: {kind: Count() for kind in _kinds(port)} for port in PORTS}
    watch = Watch(client, daemons)
    began = time.monotonic()
    watch.start()
    try:
        asyncio.run(asyncio.wait_for(_flood(addresses, counts, connections), limit_s))
    except asyncio.TimeoutError:
        client.failed.append(f"the attack was not over after {limit_s:g} s")
    finally:
        seconds = time.monotonic() - began
        watch.stop()
    client.ask()
    return {"connections": sum(one.opened for kinds in counts.values() for one in kinds.values()),
            "seconds": round(seconds, 1), "client_calls": client.answered, "client_slowest_ms": client.slowest_ms(),
            "ports": {port: {kind: vars(one) for kind, one in kinds.items()} for port, kinds in counts.items()},
            "rss_mib": {daemon.name: daemon.to_json() for daemon in daemons},
            "failures": failures(client, daemons, counts)}


def failures(client, daemons, counts):
    """Why the run failed, a sentence each."""
    found = list(client.failed[:5])
    for daemon in daemons:
        found += daemon.failures()
    for port, kinds in counts.items():
        refused = sum(one.refused for one in kinds.values())
        if refused:
            found.append(f"{port} took no connection within {CONNECT_S} s, {refused} times")
    return found


def text_of(report):
    """The report in lines."""
    lines = [f"{report['connections']} hostile connections in {report['seconds']} s; the client was answered "
             f"{report['client_calls']} times, the slowest in {report['client_slowest_ms']} ms",
             f"{'port':14}{'kind':10}{'opened':>8}{'sent':>13}{'answered':>13}{'closed by server':>18}"]
    for port, kinds in report["ports"].items():
        lines += [f"{port:14}{kind:10}{one['opened']:8}{one['sent_bytes']:13}{one['answered_bytes']:13}{one['closed']:18}"
                  for kind, one in kinds.items()]
    lines += [f"{name}: {rss['before']} MiB before, at most {rss['peak']}, {rss['after']} after"
              for name, rss in report["rss_mib"].items()]
    return "\n".join(lines + ([f"FAILED: {one}" for one in report["failures"]] or ["all is well"]))


def _kinds(port):
    return hostile.HTTP_KINDS if port.endswith("http") else hostile.RPC_KINDS


class Count:
    """What one kind of connection to one port sent and got."""

    def __init__(self):
        self.opened = self.refused = self.sent_bytes = self.answered_bytes = self.closed = 0


class Daemon:
    """A daemon under attack: its memory and its logs."""

    def __init__(self, identity, layout):
        self.name, self.identity = identity.name, identity
        self.logs = [layout.logs / f"{self.name}.{end}" for end in ("log", "out")]
        self.before = self.peak = self.after = 0
        self.read_from = {}

    def begin(self):
        """Takes what is there before the attack."""
        self.before = self.peak = self.after = self._rss_mib()
        self.read_from = {path: path.stat().st_size for path in self.logs if path.exists()}

    def sample(self):
        """Takes the memory now."""
        self.after = self._rss_mib()
        self.peak = max(self.peak, self.after)

    def _rss_mib(self):
        try:
            lines = Path(f"/proc/{self.identity.pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS:")), 0)

    def failures(self):
        """Death, growth, panics."""
        if not self.identity.alive():
            yield f"{self.name} died"
        if self.peak - self.before >= GROWTH_MAX_MIB:
            yield f"{self.name} grew from {self.before} to {self.peak} MiB, allowed are less than {GROWTH_MAX_MIB} more"
        for path in self.logs:
            if path.exists():
                with open(path, "rb") as log:
                    log.seek(self.read_from.get(path, 0))
                    panics = [line for line in log if b"panicked" in line]
                if panics:
                    yield f"{path}: {panics[0].decode(errors='replace').strip()}"

    def to_json(self):
        """The memory as plain data, in MiB."""
        return {"before": self.before, "peak": self.peak, "after": self.after}


class Client:
    """A client that behaves: one RPC call and two requests over HTTP, each on a new connection."""

    def __init__(self, addresses):
        self.addresses, self.answered, self.failed, self.times_ms = addresses, 0, [], []

    def ask(self):
        """Asks everything once."""
        for what in (self._metrics, lambda: self._get("rm.http", "/ws/v1/cluster/metrics"),
                     lambda: self._get("node1.http", "/ws/v1/node/info")):
            began = time.monotonic()
            try:
                what()
                self.answered += 1
                self.times_ms.append((time.monotonic() - began) * 1000)
            except (OSError, ValueError, KeyError, http.client.HTTPException, Failure) as error:
                self.failed.append(f"the client was not answered: {type(error).__name__} {error}")

    def slowest_ms(self):
        """The slowest answer so far."""
        return round(max(self.times_ms, default=0))

    def _get(self, port, path):
        connection = http.client.HTTPConnection(*self.addresses[port], timeout=ANSWER_S)
        try:
            connection.request("GET", path, headers={"Accept": "application/json"})
            answer = connection.getresponse()
            body = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status != 200:
            raise Failure(f"GET {path} was answered {answer.status}")
        if port == "rm.http" and body["clusterMetrics"]["activeNodes"] < 1:
            raise Failure("the ResourceManager has lost its node")

    def _metrics(self):
        protocol = hostile.PROTOCOLS["rm.client"][0]
        with socket.create_connection(self.addresses["rm.client"], timeout=ANSWER_S) as stream:
            stream.sendall(hostile.SIMPLE + hostile.context(protocol, "alice") + hostile.call(protocol, "getClusterMetrics"))
            answers = stream.makefile("rb")
            body = answers.read(int.from_bytes(answers.read(4), "big"))
        # After its length, RpcResponseHeaderProto: callId 0, status SUCCESS.
        if body[1:5] != b"\x08\x00\x10\x00":
            raise Failure(f"getClusterMetrics was answered {body[:200]!r}")


class Watch(threading.Thread):
    """Asks and samples every second until it is stopped."""

    def __init__(self, client, daemons):
        super().__init__(daemon=True)
        self.client, self.daemons, self.over = client, daemons, threading.Event()

    def run(self):
        """The thread."""
        while not self.over.wait(EVERY_S):
            self.client.ask()
            for daemon in self.daemons:
                daemon.sample()

    def stop(self):
        """Ends it and samples for the last time."""
        self.over.set()
        self.join()
        for daemon in self.daemons:
            daemon.sample()


async def _flood(addresses, counts, connections):
    """All connections, so many at once, over all ports and kinds in turn."""
    pairs = [(port, kind) for turn in range(max(map(len, counts.values()))) for port in counts
             for kind in list(counts[port])[turn:turn + 1]]
    todo = iter([pairs[index % len(pairs)] for index in range(connections)])

    async def worker():
        for port, kind in todo:
            await _one(addresses[port], port, kind, counts[port][kind])

    workers = [asyncio.create_task(worker()) for _ in range(min(AT_ONCE, connections))]
    await asyncio.gather(*workers)


async def _one(address, port, kind, count):
    """One hostile connection, from open to close."""
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(*address), CONNECT_S)
    except (OSError, asyncio.TimeoutError):
        count.refused += 1
        return
    count.opened += 1
    chunks = hostile.http_attack(kind) if port.endswith("http") else hostile.rpc_attack(kind, port.partition(".")[2]
                                                                                        if port == "node1.rpc" else port)

    async def send():
        for chunk, pause_s in chunks:
            writer.write(chunk)
            await writer.drain()
            count.sent_bytes += len(chunk)
            await asyncio.sleep(pause_s)

    async def receive():
        while got := await reader.read(65536):
            count.answered_bytes += len(got)
        count.closed += 1

    sending, receiving = asyncio.create_task(send()), asyncio.create_task(receive())
    await asyncio.wait((sending, receiving), timeout=HOLD_S, return_when=asyncio.ALL_COMPLETED)
    for task in (sending, receiving):
        task.cancel()
    results = await asyncio.gather(sending, receiving, return_exceptions=True)
    if isinstance(results[1], ConnectionError):
        count.closed += 1
    unforeseen = [one for one in results if isinstance(one, Exception) and not isinstance(one, OSError)]
    writer.transport.abort()
    if unforeseen:
        raise unforeseen[0]
