"""What scripts/latency reads and concludes."""

import unittest

from heddle.commands import latency

LOG = """2026-01-01T00:00:00Z  INFO rm: node registered
2026-01-01T00:00:00Z  INFO latency: event="grant" app=application_1_0001 container=container_1_0001_01_000002 micros=7
2026-01-01T00:00:00Z  INFO \x1b[2mlatency\x1b[0m: event="grant" app=application_1_0002 container=c micros=8
2026-01-01T00:00:00Z  INFO latency: event="grant" app=application_1_0001 container=c micros=123456
"""


class LatencyTest(unittest.TestCase):
    """No cluster needed."""

    def test_grants_of_one_application_in_order(self):
        self.assertEqual(latency.grants_in(LOG, "application_1_0001"), [7, 123456])
        self.assertEqual(latency.grants_in(LOG, "application_1_0002"), [8])

    def test_beyond_the_bar_is_judged_by_the_median(self):
        result = latency.Result("grant", "x", 1, 10)
        result.samples_ms = [1, 2, 500]
        self.assertFalse(result.beyond())
        result.samples_ms = [1, 10.1, 500]
        self.assertTrue(result.beyond())
        self.assertIn("median 10.100 ms", str(result))
        self.assertIn("aim 1, bar 10: beyond", str(result))


if __name__ == "__main__":
    unittest.main()
