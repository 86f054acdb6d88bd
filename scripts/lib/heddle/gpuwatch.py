"""Which container had which GPU: what the nodes say while a job runs."""

import json
import threading
import urllib.request

PATH = "/ws/v1/node/resources/yarn.io%2Fgpu"
POLL_S = 0.3
TIMEOUT_S = 5


class Watch:
    """Asks every node again and again until its block is left."""

    def __init__(self, endpoints):
        # NAME.http of a node, and the host of its NodeId.
        self.nodes = {address: endpoints[name.replace(".http", ".rpc")].rpartition(":")[0]
                      for name, address in endpoints.items() if name.startswith("node") and name.endswith(".http")}
        self.found = {}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_exception):
        self.ended.set()
        self.thread.join(TIMEOUT_S)

    def lines(self):
        """gpu: CONTAINER HOST UUID MINOR, by container and minor."""
        return [f"gpu: {container} {host} {uuid} {minor}"
                for (container, minor), (host, uuid) in sorted(self.found.items())]

    def _run(self):
        while not self.ended.wait(POLL_S):
            for address, host in self.nodes.items():
                for card in assigned(address):
                    self.found[card["containerId"], card["minorNumber"]] = host, card["uuid"]


def assigned(address):
    """The assigned GPUs of a node as its page lists them; [] while it does not answer."""
    # A proxy of the environment leads nowhere from here.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{address}{PATH}", timeout=TIMEOUT_S) as answer:
            return json.load(answer).get("assignedGpuDevices", [])
    except (OSError, ValueError):
        return []
