"""Which account runs containers: the NodeManager's rules."""

import os
import pwd
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from heddle import accounts
from heddle.accounts import Account, Rules
from heddle.errors import Failure

ROOT = Account("root", 0, 0)
USERS = {"root": 0, "nobody": 65534, "alice": 1001, "daemon": 1, "hdfs": 1002}


def lookup(name):
    """getpwnam over USERS."""
    if name not in USERS:
        raise KeyError(name)
    return pwd.struct_passwd((name, "x", USERS[name], USERS[name], "", "/", "/bin/sh"))


class AccountsTest(unittest.TestCase):
    """A password file with known users."""

    def setUp(self):
        patch = mock.patch.object(pwd, "getpwnam", lookup)
        patch.start()
        self.addCleanup(patch.stop)

    def name_for(self, submitter, daemon=ROOT, **rules):
        """The account's name for a submitter."""
        return accounts.of_containers(submitter, daemon, Rules(**rules)).name

    def test_hadoop_limits_users_by_default(self):
        self.assertEqual(self.name_for("alice"), "nobody")

    def test_without_the_limit_the_submitter_if_an_account_lets_it(self):
        self.assertEqual(self.name_for("alice", limit_users=False), "alice")
        for other in ("root", "daemon", "hdfs", "stranger"):
            self.assertEqual(self.name_for(other, limit_users=False), "nobody", other)
        self.assertEqual(self.name_for("daemon", limit_users=False, allowed=frozenset({"daemon"})), "daemon")
        self.assertEqual(self.name_for("root", limit_users=False, uid_min=0), "nobody")

    def test_a_daemon_that_is_not_root_runs_them_as_itself(self):
        bob = Account("bob", 1234, 1234)
        self.assertEqual(self.name_for("alice", daemon=bob, limit_users=False), "bob")

    def test_root_and_strangers_are_refused_as_local_user(self):
        for name in ("root", "stranger"):
            with self.assertRaisesRegex(Failure, f"local-user is {name}"):
                self.name_for("alice", local_user=name)

    def test_keys_go_before_container_executor_cfg(self):
        text = "min.user.id=500 # low\nbanned.users=eve,mallory\n[gpu]\nmin.user.id=7\n"
        rules = accounts.read_rules({accounts.LIMIT_USERS: "FALSE"}, text)
        self.assertEqual(rules, Rules(False, "nobody", 500, frozenset({"eve", "mallory"}), frozenset()))
        rules = accounts.read_rules({accounts.EXECUTOR + "min.user.id": "800", accounts.LIMIT_USERS: "no"}, text)
        self.assertEqual((rules.uid_min, rules.limit_users), (800, True))

    @unittest.skipUnless(os.geteuid() == 0, "only root can look with another account's eyes")
    def test_a_link_into_a_closed_folder_is_closed(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(os.path.realpath(name))
            folder.chmod(0o755)
            (folder / "closed").mkdir(mode=0o700)
            (folder / "closed" / "python").touch(mode=0o755)
            (folder / "link").symlink_to("closed/python")
            (folder / "open").touch(mode=0o644)
            nobody = Account("nobody", 65534, 65534)
            found = accounts.closed_to(nobody, [folder / "open", folder / "link"])
            self.assertEqual(found, [(str(folder / "link"), str(folder / "closed"))])


if __name__ == "__main__":
    unittest.main()
