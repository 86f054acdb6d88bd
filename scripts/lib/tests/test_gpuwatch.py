"""What the quickstart reads from the nodes' GPU pages."""

import json
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer

from heddle import gpuwatch


class Page(BaseHTTPRequestHandler):
    """A node's page with two cards, one of them given to a container."""

    def do_GET(self):
        """Answers the one path there is."""
        found = self.path == "/ws/v1/node/resources/yarn.io%2Fgpu"
        card = {"index": 0, "minorNumber": 3, "uuid": "GPU-a"}
        text = json.dumps({"totalGpuDevices": [card, {"index": 1, "minorNumber": 2, "uuid": "GPU-b"}],
                           "assignedGpuDevices": [card | {"containerId": "container_1_0001_01_000002"}]})
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_arguments):
        """Keeps the tests quiet."""


class WatchTest(unittest.TestCase):
    """A node that answers and one that does not."""

    def test_what_containers_had_is_told_once(self):
        server = HTTPServer(("127.0.0.1", 0), Page)
        self.addCleanup(server.server_close)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        endpoints = {"rm.http": "127.0.0.1:1", "node1.rpc": "127.0.0.9:7", "node1.http":
                     f"127.0.0.1:{server.server_port}", "node2.rpc": "127.0.0.8:7", "node2.http": "127.0.0.1:1"}
        deadline = time.monotonic() + 30
        with gpuwatch.Watch(endpoints) as watch:
            while not watch.lines() and time.monotonic() < deadline:
                watch.thread.join(0.1)
        self.assertEqual(watch.lines(), ["gpu: container_1_0001_01_000002 127.0.0.9 GPU-a 3"])


if __name__ == "__main__":
    unittest.main()
