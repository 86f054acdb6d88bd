"""All checks, in the order in which they run."""

from scenarios import protocol, containers, apps, cli, change, spark, clients, refresh, browser, admin, labels, daemons, disks, gpu, preempt, acls, resize, pairs, rest, oracle
from scenarios.registry import CHECKS

__all__ = ["CHECKS", "acls", "admin", "apps", "browser", "change", "cli", "clients", "containers", "daemons", "disks", "gpu", "labels", "oracle", "pairs", "preempt", "protocol",
           "refresh", "resize", "rest", "spark"]
