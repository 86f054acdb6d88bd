"""The stock pair as oracle, in every run."""

import caches
from harness import Bench, require
from scenarios.registry import HEDDLE, check
from scenarios.spark import cluster_mode


@check("oracle/spark-cluster-mode", targets=HEDDLE)
def oracle_cluster_mode(bench):
    """What spark/cluster-mode asserts of Heddle is true of stock Hadoop."""
    caches.stock_jars()
    stock = Bench("stock", bench.logs / "oracle")
    stock.logs.mkdir()
    stock.name = bench.name
    passed = False
    try:
        cluster_mode(stock)
        passed = True
    finally:
        problems = stock.close(keep=not passed)
    require(not problems, f"the stock pair did not stop: {problems}")
