"""Sums squares through a shuffle and says which hosts took part.

Arguments: the number of partitions, the numbers to sum, the executors to wait
for, optionally a file to write the answer to (a cluster-mode driver's own
output lies in its container's log).
"""

import os
import sys
import time

from pyspark.sql import SparkSession


def main():
    """Prints `result: N`, `hosts: …` and on which node the driver runs."""
    partitions, numbers, executors = (int(a) for a in sys.argv[1:4])
    session = SparkSession.builder.getOrCreate()
    context = session.sparkContext
    tracker = context._jsc.sc().statusTracker()
    deadline = time.monotonic() + 120
    while len(tracker.getExecutorInfos()) < executors + 1:
        if time.monotonic() > deadline:
            raise SystemExit(f"waited in vain for {executors} executors")
        time.sleep(0.1)
    hosts = {info.host() for info in tracker.getExecutorInfos()}
    squares = context.parallelize(range(numbers), partitions).map(lambda n: (n % 7, n * n))
    sums = squares.reduceByKey(lambda a, b: a + b, partitions).collect()
    answer = (f"result: {sum(value for _, value in sums)}\nhosts: {' '.join(sorted(hosts))}\n"
              f"driver: {os.environ.get('NM_HOST')}\n")
    print(answer, flush=True)
    if len(sys.argv) > 4:
        with open(sys.argv[4], "w", encoding="utf-8") as out:
            out.write(answer)
    session.stop()


if __name__ == "__main__":
    main()
