"""All checks, in the order in which they run."""

from scenarios import protocol, containers, apps, cli, spark, daemons, gpu, pairs, oracle
from scenarios.registry import CHECKS

__all__ = ["CHECKS", "apps", "cli", "containers", "daemons", "gpu", "oracle", "pairs", "protocol", "spark"]
