"""scripts/cluster with stand-ins for the daemons."""

import os
import shutil
import signal
import stat
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

from heddle import binaries, cgroups, cluster, gpus, hadoopconf, process
from heddle.errors import Failure
from heddle.layout import Layout, State, read_endpoints

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parents[1]


class ClusterTest(unittest.TestCase):
    """A folder of fake daemons and a DIR for each test."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="heddle-test-"))
        self.folder.chmod(0o711)
        self.addCleanup(shutil.rmtree, self.folder)
        built = self.folder / "built"
        built.mkdir()
        for name in binaries.NAMES:
            shutil.copy(HERE / "fake_daemon.py", built / name)
            (built / name).chmod(0o755)
        self.env = {"HEDDLE_BIN": str(built), "JAVA_HOME": str(self.java())}
        patch = mock.patch.dict(os.environ, self.env)
        patch.start()
        self.addCleanup(patch.stop)
        self.dir = self.folder / "cluster"

    def java(self):
        """Something that looks like a Java."""
        home = self.folder / "java"
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").write_text("#!/bin/sh\n", encoding="utf-8")
        (home / "bin" / "java").chmod(0o755)
        return home

    def start(self, nodes=1, config=None, rm_only=False, gpu=gpus.Options(), **defines):
        """Starts a cluster that the test stops."""
        self.addCleanup(lambda: (self.dir / "cluster.json").exists() and cluster.stop(self.dir))
        return cluster.start(self.dir, config, nodes, rm_only,
                             {k.replace("__", "."): v for k, v in defines.items()}, gpu)

    def run_client(self, *words, cwd="/"):
        """scripts/cluster run with these words."""
        return subprocess.run([SCRIPTS / "cluster", "run", "--dir", self.dir, *words], capture_output=True, text=True,
                              cwd=cwd, env=dict(os.environ, **self.env))

    def leftovers(self):
        """Processes of this cluster that still run."""
        recorded = [one for one in State.load(Layout(self.dir)).processes if one.alive()]
        return recorded + process.leftovers_of(self.dir)

    def test_start_names_every_endpoint_and_stop_leaves_nothing(self):
        endpoints = self.start(nodes=2)
        self.assertEqual(list(endpoints), ["rm.client", "rm.scheduler", "rm.tracker", "rm.admin", "rm.http",
                                           "node1.rpc", "node1.http", "node2.rpc", "node2.http"])
        self.assertEqual(read_endpoints(self.dir / "endpoints"), endpoints)
        self.assertEqual(stat.S_IMODE(self.dir.stat().st_mode), 0o711)
        hosts = {endpoints[f"node{k}.rpc"].split(":")[0] for k in (1, 2)}
        self.assertEqual(len(hosts), 2)
        self.assertTrue(all(host.startswith("127.") for host in hosts))
        self.assertEqual(len(self.leftovers()), 3)
        self.assertTrue(cluster.stop(self.dir))
        self.assertEqual(self.leftovers(), [])
        self.assertFalse(cluster.stop(self.dir))

    def test_clients_and_nodes_get_the_addresses_that_the_daemons_bound(self):
        endpoints = self.start()
        for conf in (self.dir / "client-conf", self.dir / "rm-conf", self.dir / "node1" / "conf"):
            keys = hadoopconf.read(conf / "yarn-site.xml")
            self.assertEqual(keys["yarn.resourcemanager.address"], endpoints["rm.client"])
            self.assertEqual(keys["yarn.resourcemanager.resource-tracker.address"], endpoints["rm.tracker"])
        self.assertEqual(keys["yarn.nodemanager.address"], endpoints["node1.rpc"])
        types = hadoopconf.read(self.dir / "client-conf" / "resource-types.xml")
        self.assertEqual(types["yarn.resource-types"], "yarn.io/gpu")

    def test_a_used_directory_is_refused_and_an_empty_one_taken(self):
        self.dir.mkdir(mode=0o700)
        self.start()
        cluster.stop(self.dir)
        with self.assertRaisesRegex(Failure, "not empty"):
            self.start()

    def test_defines_reach_both_daemons_and_the_client(self):
        self.start(yarn__nodemanager__resource__memory_mb="1", **{"yarn__scheduler__capacity__root__queues": "a"})
        key = "yarn.nodemanager.resource.memory_mb"
        for conf in ("client-conf", "rm-conf", "node1/conf"):
            self.assertEqual(hadoopconf.read(self.dir / conf / "yarn-site.xml")[key], "1")
        queues = hadoopconf.read(self.dir / "rm-conf" / "capacity-scheduler.xml")
        self.assertEqual(queues["yarn.scheduler.capacity.root.queues"], "a")

    def test_a_given_configuration_is_kept_but_for_addresses(self):
        config = self.folder / "config"
        config.mkdir()
        (config / "yarn-site.xml").write_text(
            "<configuration><!-- mine -->\n<property><name>yarn.resourcemanager.address</name><value>rm:8032</value>"
            "<final>true</final></property>\n"
            "<property><name>yarn.nodemanager.vmem-pmem-ratio</name><value>3</value></property></configuration>",
            encoding="utf-8")
        (config / "capacity-scheduler.xml").write_text("<configuration/>", encoding="utf-8")
        endpoints = self.start(config=config)
        text = (self.dir / "rm-conf" / "yarn-site.xml").read_text(encoding="utf-8")
        self.assertIn("<!-- mine -->", text)
        keys = hadoopconf.read(self.dir / "rm-conf" / "yarn-site.xml")
        self.assertEqual(keys["yarn.resourcemanager.address"], endpoints["rm.client"])
        self.assertEqual(keys["yarn.nodemanager.vmem-pmem-ratio"], "3")
        self.assertNotIn("yarn.nodemanager.resource.memory-mb", keys)
        self.assertEqual((self.dir / "rm-conf" / "capacity-scheduler.xml").read_text(encoding="utf-8"),
                         "<configuration/>")

    def test_every_address_of_a_highly_available_pair_leads_here(self):
        config = self.folder / "config"
        config.mkdir()
        hadoopconf.write(config / "yarn-site.xml", {
            "yarn.resourcemanager.ha.rm-ids": "rm1, rm2", "yarn.resourcemanager.address.rm2": "far:8032",
            "yarn.web-proxy.address": "far:9099", "yarn.nodemanager.bind-host": "0.0.0.0"}, "theirs")
        endpoints = self.start(config=config)
        keys = hadoopconf.read(self.dir / "client-conf" / "yarn-site.xml")
        for rm_id in ("rm1", "rm2"):
            self.assertEqual(keys[f"yarn.resourcemanager.address.{rm_id}"], endpoints["rm.client"])
            self.assertEqual(keys[f"yarn.resourcemanager.webapp.address.{rm_id}"], endpoints["rm.http"])
        self.assertEqual(keys["yarn.web-proxy.address"], endpoints["rm.http"])
        keys = hadoopconf.read(self.dir / "node1" / "conf" / "yarn-site.xml")
        self.assertTrue(keys["yarn.nodemanager.bind-host"].startswith("127."))

    def test_rm_only_writes_a_configuration_for_a_node_of_ones_own(self):
        endpoints = self.start(rm_only=True)
        self.assertEqual(len(endpoints), 5)
        keys = hadoopconf.read(self.dir / "nm-conf" / "yarn-site.xml")
        self.assertEqual(keys["yarn.resourcemanager.resource-tracker.address"], endpoints["rm.tracker"])
        self.assertTrue(keys["yarn.nodemanager.address"].startswith("127."))

    def test_a_daemon_that_fails_is_quoted_and_nothing_stays(self):
        with mock.patch.dict(os.environ, FAKE_FAIL="nodemanager"):
            with self.assertRaisesRegex(Failure, r"(?s)node1 ended with exit code 1.*permission denied"):
                self.start()
        self.assertEqual(self.leftovers(), [])

    def test_containers_of_a_node_that_had_to_be_killed_are_killed(self):
        with mock.patch.dict(os.environ, FAKE_STUBBORN="1", FAKE_CONTAINER="1"):
            self.start()
        self.assertEqual(len(process.leftovers_of(self.dir)), 1)
        with mock.patch.object(cluster, "STOP_LIMIT_S", 0.2):
            self.assertTrue(cluster.stop(self.dir))
        self.assertEqual(self.leftovers(), [])

    def test_a_process_id_that_was_used_again_is_left_alone(self):
        bystander = subprocess.Popen(["/bin/sleep", "600"])
        self.addCleanup(bystander.wait)
        self.addCleanup(bystander.kill)
        real = process.identify("node1", bystander.pid)
        stale = process.Identity("node1", real.pid, real.start_ticks - 1, real.boot_id)
        self.assertFalse(stale.alive())
        process.end([stale], 0)
        stale.kill(signal.SIGKILL)
        self.assertTrue(real.alive())

    def test_two_clusters_side_by_side(self):
        first = self.start()
        other = self.folder / "other"
        second = cluster.start(other, None, 1, False, {})
        self.addCleanup(cluster.stop, other)
        self.assertFalse(set(first.values()) & set(second.values()))
        cluster.stop(other)
        self.assertEqual(len(self.leftovers()), 2)

    def test_run_becomes_a_client_with_the_conf_and_the_exit_code(self):
        self.start()
        done = self.run_client("--", "/bin/sh", "-c",
                               'echo "$HADOOP_CONF_DIR|$JAVA_HOME|$SPARK_SUBMIT_OPTS|$(id -un)"; exit 7')
        self.assertEqual(done.returncode, 7, done.stderr)
        conf, java, options, name = done.stdout.strip().split("|")
        self.assertEqual((conf, java), (str(self.dir / "client-conf"), self.env["JAVA_HOME"]))
        self.assertIn(f"-Dspark.yarn.stagingDir=file://{self.dir}/home/{name}/staging", options)
        if os.geteuid() == 0:
            self.assertEqual(name, "nobody")

    @unittest.skipUnless(os.geteuid() == 0, "only root starts clients as another account")
    def test_a_path_that_the_account_cannot_enter_is_named(self):
        self.start()
        closed = self.folder / "closed"
        closed.mkdir(mode=0o700)
        (closed / "job.py").touch()
        for words, cwd in ((["/bin/cat", closed / "job.py"], "/"),
                           (["spark-submit", "--files", f"/etc/passwd,file://{closed}/job.py#j"], "/"),
                           (["cat", "job.py"], closed)):
            done = self.run_client(*words, cwd=cwd)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"the account nobody, which runs the containers, cannot enter {closed}", done.stderr)
        self.assertEqual(self.run_client("pwd", cwd=closed).stdout.strip(), str(self.dir / "home" / "nobody"))

    def test_simulated_gpus_are_on_every_node_and_named_to_everybody(self):
        for name in gpus.PROGRAMS:
            (self.folder / "built" / name).write_text("", encoding="utf-8")
        self.start(nodes=2, gpu=gpus.Options(count=2, cgroup="v2", unsafe=True))
        for conf in ("client-conf", "rm-conf", "node1/conf", "node2/conf"):
            self.assertEqual(hadoopconf.read(self.dir / conf / "resource-types.xml")[gpus.TYPES], gpus.GPU)
        keys = hadoopconf.read(self.dir / "node2" / "conf" / "yarn-site.xml")
        self.assertEqual(keys[gpus.PLUGINS], gpus.GPU)
        self.assertEqual(keys["yarn.nodemanager.heddle.devices.cgroup"], "v2")
        library = Path(keys["yarn.nodemanager.heddle.gpu.nvml-library"])
        self.assertEqual(library, self.dir / "bin" / "libnvidia-ml.so.1")
        self.assertTrue(library.exists())
        self.assertTrue(os.access(Path(keys["yarn.nodemanager.heddle.gpu.simulated-bin-dir"], "nvidia-smi"), os.X_OK))
        node2 = next(one for one in State.load(Layout(self.dir)).processes if one.name == "node2")
        variables = Path(f"/proc/{node2.pid}/environ").read_bytes().split(b"\0")
        self.assertIn(f"HEDDLE_GPU_TOPOLOGY={self.dir}/node2/topology.toml".encode(), variables)
        self.assertIn(b"--unsafe-no-isolation", Path(f"/proc/{node2.pid}/cmdline").read_bytes())
        topologies = [tomllib.loads((self.dir / f"node{k}" / "topology.toml").read_text()) for k in (1, 2)]
        self.assertEqual([one["node"] for one in topologies], ["node1", "node2"])

    def test_what_a_configuration_says_of_gpus_stands(self):
        for name in gpus.PROGRAMS:
            (self.folder / "built" / name).write_text("", encoding="utf-8")
        config = self.folder / "config"
        config.mkdir()
        hadoopconf.write(config / "yarn-site.xml", {gpus.PLUGINS: "GPU"}, "theirs")
        self.start(config=config, gpu=gpus.Options(count=1))
        keys = hadoopconf.read(self.dir / "node1" / "conf" / "yarn-site.xml")
        self.assertEqual(keys[gpus.PLUGINS], "GPU")
        types = hadoopconf.read(self.dir / "client-conf" / "resource-types.xml")
        self.assertEqual(types[gpus.TYPES], gpus.GPU)

    def test_the_machines_gpus_are_offered_by_one_node(self):
        with mock.patch.object(gpus, "real", return_value=1):
            self.start(nodes=2)
        for index, wanted in ((1, gpus.GPU), (2, None)):
            keys = hadoopconf.read(self.dir / f"node{index}" / "conf" / "yarn-site.xml")
            self.assertEqual(keys.get(gpus.PLUGINS), wanted)

    @unittest.skipUnless(os.geteuid() == 0 and cgroups.mounts(), "only root makes cgroups")
    def test_stop_removes_cgroups_and_whoever_hides_there(self):
        self.start()
        layout = Layout(self.dir)
        top = Path(cgroups.mounts()[0], layout.cgroup)
        inner = top / "node1" / "container_1"
        inner.mkdir(parents=True)
        hidden = subprocess.Popen(["/bin/sleep", "600"], cwd="/", env={}, start_new_session=True)
        self.addCleanup(hidden.wait)
        (inner / "cgroup.procs").write_text(str(hidden.pid), encoding="ascii")
        cluster.stop(self.dir)
        self.assertFalse(top.exists())
        self.assertLess(hidden.wait(), 0)

    def test_no_client_starts_without_a_cluster(self):
        self.start()
        cluster.stop(self.dir)
        done = self.run_client("true")
        self.assertEqual((done.returncode, done.stderr), (1, f"cluster: the cluster in {self.dir} does not run\n"))


if __name__ == "__main__":
    unittest.main()
