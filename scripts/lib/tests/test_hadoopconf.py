"""Setting keys in other people's configuration files."""

import tempfile
import unittest
from pathlib import Path

from heddle import hadoopconf
from heddle.errors import Failure


def prop(name, value, final=False):
    """One property element."""
    return (f"<property><name>{name}</name><value>{value}</value>"
            f"{'<final>true</final>' if final else ''}</property>")


class HadoopConfTest(unittest.TestCase):
    """A folder for files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, text, name="a-site.xml", encoding="utf-8"):
        """A file with this text."""
        path = self.folder / name
        path.write_bytes(text.encode(encoding))
        return path

    def test_written_values_are_read_back(self):
        path = self.folder / "w.xml"
        hadoopconf.write(path, {"a": "<&>", "b": "x y"}, "purpose")
        self.assertEqual(hadoopconf.read(path), {"a": "<&>", "b": "x y"})

    def test_first_and_final_holds_against_a_final_of_the_owner(self):
        path = self.file("<configuration>" + prop("k", "theirs", True) + "</configuration>")
        hadoopconf.set_first(path, {"k": "ours"}, final=True)
        self.assertEqual(hadoopconf.read(path)["k"], "ours")
        hadoopconf.set_first(path, {"k": "again"}, final=True)
        self.assertEqual(hadoopconf.read(path)["k"], "again")
        self.assertEqual(path.read_text(encoding="utf-8").count("<name>k</name>"), 2)

    def test_last_wins_over_a_value_but_not_over_a_final_one(self):
        path = self.file("<configuration>" + prop("k", "1") + prop("f", "1", True) + "</configuration><!-- end -->")
        hadoopconf.set_last(path, {"k": "2", "f": "2"})
        self.assertEqual(hadoopconf.read(path), {"k": "2", "f": "1"})

    def test_an_empty_root_and_a_root_with_attributes(self):
        for text in ("<configuration/>", '<conf a=">" b=\'x\'></conf>', "<?xml version='1.0'?>\n<c   />"):
            path = self.file(text)
            hadoopconf.set_last(path, {"k": "1"})
            hadoopconf.set_first(path, {"l": "2"}, final=False)
            self.assertEqual(hadoopconf.read(path), {"k": "1", "l": "2"}, text)

    def test_other_encodings_keep_their_letters(self):
        declared = '<?xml version="1.0" encoding="{}"?><configuration>' + prop("k", "é") + "</configuration>"
        for encoding in ("ISO-8859-1", "UTF-16"):
            path = self.file(declared.format(encoding), encoding=encoding)
            hadoopconf.set_last(path, {"l": "ü"})
            self.assertEqual(hadoopconf.read(path), {"k": "é", "l": "ü"}, encoding)

    def test_includes_attributes_and_line_breaks(self):
        self.file("<configuration>" + prop("\n k \n", "1") + "</configuration>", "inc.xml")
        path = self.file('<configuration xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="inc.xml"/>'
                         '<property name="l" value="2"/><property><name>e</name><value/></property></configuration>')
        self.assertEqual(hadoopconf.read(path), {"k": "1", "l": "2"})

    def test_a_broken_file_is_named_with_its_line(self):
        path = self.file("<configuration>\n<property>\n</configuration>")
        for change in (lambda: hadoopconf.read(path), lambda: hadoopconf.set_last(path, {"k": "1"})):
            with self.assertRaisesRegex(Failure, r"a-site.xml: not well-formed XML: mismatched tag: line 3"):
                change()
        path = self.file("<configuration>" + prop("k", "é") + "</configuration>", encoding="latin-1")
        with self.assertRaisesRegex(Failure, "a-site.xml"):
            hadoopconf.set_last(path, {"k": "1"})


if __name__ == "__main__":
    unittest.main()
