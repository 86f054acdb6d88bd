"""Access lists and placement with several users, as the stock CLI sees them."""

import caches
from harness import Client, fetch, require, require_match
from scenarios.registry import check

LISTS = {
    "yarn.acl.enable": "true",
    "yarn.admin.acl": "root",
    "yarn.scheduler.capacity.root.acl_submit_applications": " ",
    "yarn.scheduler.capacity.root.acl_administer_queue": " ",
    "yarn.scheduler.capacity.root.default.acl_submit_applications": "alice,root",
    "yarn.scheduler.capacity.root.gpu.acl_submit_applications": "root",
}


def as_user(bench, cluster, user, name, *words):
    """A stock command of a user (simple authentication); its exit code and output."""
    command = ["env", f"HADOOP_USER_NAME={user}", f"{caches.java_home()}/bin/java", "-Xmx256m", "-XX:+UseSerialGC",
               "-XX:TieredStopAtLevel=1", "-cp", f"{cluster.directory}/client-conf:{caches.spark_home()}/jars/*",
               f"org.apache.hadoop.yarn.client.cli.{name}", *words]
    with Client(cluster, bench.logs / f"{bench.name}.{user}.log", command) as client:
        return client.wait(), client.output()


@check("acls/users")
def users(bench):
    """With yarn.acl.enable: who is no administrator reads why rmadmin is refused, who may not change an application
    cannot kill it, and sees no more of it than its name."""
    cluster = bench.fresh_cluster(keys=LISTS)
    code, output = as_user(bench, cluster, "bob", "RMAdminCLI", "-refreshQueues")
    require(code != 0, f"rmadmin exited {code}: {output}")
    require_match(r"User bob doesn't have permission to call 'refreshQueues'", output, "what rmadmin printed")
    app = cluster.console("submit", memory=512, command="sleep 600", queue="default")["app"]
    code, output = as_user(bench, cluster, "bob", "ApplicationCLI", "-kill", app)
    require(code != 0, f"the kill exited {code}: {output}")
    require_match(rf"User bob cannot perform operation MODIFY_APP on {app}", output, "what the kill printed")
    code, output = as_user(bench, cluster, "bob", "ApplicationCLI", "-status", app)
    require_match(r"Diagnostics : N/A", output, "what bob sees")
    code, output = as_user(bench, cluster, "root", "ApplicationCLI", "-kill", app)
    require(code == 0, f"the administrator's kill exited {code}: {output}")
    cluster.stop()
