"""What scripts/hostile sends and concludes."""

import os
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

from heddle import hostile as attacks
from heddle import process
from heddle.commands import hostile


def daemon_of(logs, pid=None):
    """A daemon that is this very process."""
    identity = process.identify("resourcemanager", pid or os.getpid())
    return hostile.Daemon(identity, SimpleNamespace(logs=Path(logs)))


class HostileTest(unittest.TestCase):
    """No cluster needed."""

    def test_a_ping_is_framed_as_hadoop_frames_it(self):
        self.assertEqual(attacks.frame(-4).hex(), "0000001b" + "1a" + "080210001807" + "2210" + "00" * 16 + "2800")
        self.assertEqual(attacks.varint(300), b"\xac\x02")

    def test_every_attack_sends_something(self):
        for port in attacks.PROTOCOLS:
            for kind in attacks.RPC_KINDS:
                self.assertTrue(b"".join(chunk for chunk, _ in attacks.rpc_attack(kind, port)), (port, kind))
        for kind in attacks.HTTP_KINDS:
            self.assertTrue(b"".join(chunk for chunk, _ in attacks.http_attack(kind)), kind)

    def test_growth_panics_and_refusals_fail(self):
        with tempfile.TemporaryDirectory() as logs:
            log = Path(logs, "resourcemanager.log")
            log.write_text("thread 'old' panicked\n", encoding="utf-8")
            daemon = daemon_of(logs)
            daemon.begin()
            client = SimpleNamespace(failed=[])
            self.assertEqual(hostile.failures(client, [daemon], {}), [])
            daemon.peak = daemon.before + 64
            with open(log, "a", encoding="utf-8") as out:
                out.write("thread 'new' panicked\n")
            count = hostile.Count()
            count.refused = 2
            found = hostile.failures(client, [daemon], {"rm.http": {"slow": count}})
        self.assertEqual(len(found), 3, found)
        self.assertIn("grew", found[0])
        self.assertIn("'new' panicked", found[1])
        self.assertIn("rm.http", found[2])

    def test_a_daemon_that_ended_fails(self):
        with tempfile.TemporaryDirectory() as logs:
            daemon = daemon_of(logs)
            daemon.identity = process.Identity("resourcemanager", os.getpid(), 1, "another boot")
            self.assertEqual(list(daemon.failures()), ["resourcemanager died"])


if __name__ == "__main__":
    unittest.main()
