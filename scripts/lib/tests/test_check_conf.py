"""scripts/check-conf with the daemons that are built."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from heddle import binaries
from heddle.commands import check_conf
from heddle.errors import Failure


def site(*properties):
    """A configuration file with one property a line, the first in line 2."""
    lines = [f"<property><name>{key}</name><value>{value}</value></property>" for key, value in properties]
    return "\n".join(["<configuration>", *lines, "</configuration>"])


class CheckConfTest(unittest.TestCase):
    """Files made here, read by both daemons."""

    def setUp(self):
        try:
            binaries.find()
        except Failure as failure:
            self.skipTest(str(failure))
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check(self, name, text, *options):
        """The exit code and the lines that are printed."""
        file = self.folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = check_conf.main([*options, str(file)])
        return code, [line.replace(str(self.folder), "") for line in out.getvalue().splitlines()]

    def test_kind_by_name_then_folder_then_yarn_site(self):
        self.assertEqual(check_conf.kind_of("/a/node-resources.xml"), "node-resources")
        self.assertEqual(check_conf.kind_of("/a/capacity-scheduler/001.xml"), "capacity-scheduler")
        self.assertEqual(check_conf.kind_of("/capacity-scheduler/resource-types.xml"), "resource-types")
        self.assertEqual(check_conf.kind_of("/a/b.xml"), "yarn-site")

    def test_effective_values_of_the_file_alone(self):
        text = site(("yarn.resourcemanager.hostname", "rm"), ("own", "${yarn.resourcemanager.hostname}:1"))
        code, lines = self.check("a.xml", text, "--print")
        self.assertEqual(code, 0)
        self.assertEqual(lines, ["own\trm:1\t/a.xml:3", "yarn.resourcemanager.hostname\trm\t/a.xml:2",
                                 "/a.xml:3: note: own=rm:1: unknown key"])

    def test_either_daemon_may_refuse(self):
        key = "yarn.scheduler.minimum-allocation-mb"
        code, lines = self.check("a.xml", site((key, "many"), ("yarn.nodemanager.vmem-pmem-ratio", "big")))
        self.assertEqual(code, 1)
        self.assertEqual(len(lines), 2, lines)
        self.assertTrue(lines[0].startswith(f"/a.xml:2: {key}=many: "), lines)
        self.assertTrue(lines[1].startswith("/a.xml:3: yarn.nodemanager.vmem-pmem-ratio=big: "), lines)

    def test_queues_are_judged(self):
        root = "yarn.scheduler.capacity.root"
        code, lines = self.check("capacity-scheduler/1.xml",
                                 site((f"{root}.queues", "a,b"), (f"{root}.a.capacity", "60"), (f"{root}.b.capacity", "60")))
        self.assertEqual(code, 1)
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(f"/capacity-scheduler/1.xml:2: {root}.queues=a,b: Illegal capacity sum"), lines)

    def test_queues_in_yarn_site_stand_alone(self):
        root = "yarn.scheduler.capacity.root"
        self.assertEqual(self.check("a.xml", site((f"{root}.queues", "a"), (f"{root}.a.capacity", "100"))), (0, []))

    def test_no_xml_and_no_file(self):
        code, lines = self.check("a.xml", "<configuration>\n<property>\n</configuration>")
        self.assertEqual((code, len(lines)), (1, 1))
        self.assertTrue(lines[0].startswith("/a.xml:3: "), lines)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(check_conf.main([str(self.folder / "none.xml")]), 1)
        self.assertIn("none.xml:1: cannot be read: ", out.getvalue())


if __name__ == "__main__":
    unittest.main()
