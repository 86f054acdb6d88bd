"""Simulated GPUs and what a topology file may be."""

import os
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

from heddle import gpus
from heddle.errors import Failure

SCRIPTS = Path(__file__).resolve().parents[2]
EXAMPLES = SCRIPTS.parent / "conf" / "topologies"


class OptionsTest(unittest.TestCase):
    """What scripts/cluster start is asked for."""

    def topology(self, text):
        """A topology file of its own."""
        file = tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False, encoding="utf-8")
        self.addCleanup(os.unlink, file.name)
        with file:
            file.write(text)
        return file.name

    def test_minors_differ_from_indices_and_stand_once(self):
        for count in (1, 2, 3, 8, 64):
            cards = tomllib.loads(gpus.Options(count=count).topology_of("node1"))["gpu"]
            minors = [card["minor"] for card in cards]
            self.assertEqual(len(set(minors)), count)
            self.assertTrue(all(index != minor for index, minor in enumerate(minors)))
            self.assertEqual(len({card["pci"] for card in cards}), count)

    def test_every_example_becomes_a_node(self):
        for example in EXAMPLES.glob("*.toml"):
            options = gpus.Options(topology=str(example)).check()
            table = tomllib.loads(options.topology_of("node7"))
            self.assertEqual(table["node"], "node7")
            minors = [card["minor"] for card in table["gpu"]]
            self.assertTrue(any(index != minor for index, minor in enumerate(minors)), example)

    def test_the_node_of_a_topology_gives_way(self):
        path = self.topology('node = "mine"\ndriver = "1"\n[[gpu]]\nmodel = "x"\n')
        table = tomllib.loads(gpus.Options(topology=path).topology_of("node2"))
        self.assertEqual((table["node"], table["driver"], table["gpu"]), ("node2", "1", [{"model": "x"}]))

    def test_what_cannot_be_is_said(self):
        cases = ((gpus.Options(count=0), "--gpus is 0"), (gpus.Options(count=65), "expected 1 to 64"),
                 (gpus.Options(topology="/nowhere"), "No such file"),
                 (gpus.Options(topology=self.topology("x = ")), "Invalid value"),
                 (gpus.Options(topology=self.topology("")), "describes no card"))
        for options, text in cases:
            with self.assertRaisesRegex(Failure, text):
                options.check()


class DiscoveryTest(unittest.TestCase):
    """scripts/gpu-discovery.sh with an nvidia-smi that prints what is given."""

    def discover(self, script):
        """The result of the discovery script."""
        with tempfile.TemporaryDirectory() as folder:
            smi = Path(folder, "nvidia-smi")
            smi.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            smi.chmod(0o755)
            return subprocess.run([SCRIPTS / "gpu-discovery.sh"], capture_output=True, text=True,
                                  env={"PATH": f"{folder}:/usr/bin:/bin"})

    def test_indices_become_addresses(self):
        self.assertEqual(self.discover("echo 0; echo 1").stdout, '{"name": "gpu", "addresses": ["0", "1"]}\n')
        self.assertEqual(self.discover("echo 0").stdout, '{"name": "gpu", "addresses": ["0"]}\n')

    def test_no_gpu_is_said(self):
        done = self.discover("echo No devices were found; exit 6")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("No devices were found", done.stderr)


if __name__ == "__main__":
    unittest.main()
