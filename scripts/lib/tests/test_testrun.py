"""How scripts/test adds up, and how a missing tool is told."""

import contextlib
import io
import os
import unittest
from unittest import mock

from heddle import tools
from heddle.commands import test as testrun
from heddle.errors import Failure

INTEGRATION = """PASS apps/submit
FAIL apps/kill: was not killed: state RUNNING
SKIP cgroups/memory: no root
details: somewhere
"""


def fake_stream(text, code):
    """Stands in for running a command."""
    def stream(_command, each, **_options):
        for line in text.splitlines():
            each(line)
        return code
    return mock.patch.object(testrun, "_stream", stream)


class SumTest(unittest.TestCase):
    """Each step's lines, without running the step."""

    def add(self, step, text, code, ci=False):
        """The sum after a step whose command printed the text."""
        total = testrun.Sum(ci)
        with fake_stream(text, code), contextlib.redirect_stdout(io.StringIO()):
            step("step", total)
        return str(total)

    def test_integration_lines(self):
        self.assertEqual(self.add(testrun._integration, INTEGRATION, 1), "1 passed, 1 failed, 1 skipped")

    def test_in_ci_a_skip_is_a_failure(self):
        self.assertEqual(self.add(testrun._integration, INTEGRATION, 1, ci=True), "1 passed, 2 failed, 0 skipped")

    def test_a_command_that_breaks_without_a_line_is_a_failure(self):
        for step in (testrun._integration, testrun._cargo_test, testrun._scripts):
            self.assertEqual(self.add(step, "error: no such thing", 101), "0 passed, 1 failed, 0 skipped")

    def test_rust_tests_are_counted_over_all_crates(self):
        text = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured\n" \
               "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured\n"
        self.assertEqual(self.add(testrun._cargo_test, text, 101), "15 passed, 2 failed, 1 skipped")

    def test_python_tests_are_counted(self):
        text = "test_a (tests.x.Y.test_a) ... skipped 'no root'\nRan 9 tests in 1s\n\nFAILED (failures=1, errors=2, skipped=1)\n"
        self.assertEqual(self.add(testrun._scripts, text, 1), "5 passed, 3 failed, 1 skipped")


class ToolsTest(unittest.TestCase):
    """The sentence that a user reads."""

    def test_a_missing_tool_is_named_with_its_package(self):
        with mock.patch.dict(os.environ, PATH="/nowhere", HOME="/nowhere"):
            with self.assertRaisesRegex(Failure, r"mvn is missing: the package maven brings it"):
                tools.need("mvn")
            with self.assertRaisesRegex(Failure, r"cargo is missing: install Rust 1.95"):
                tools.need("cargo")


if __name__ == "__main__":
    unittest.main()
