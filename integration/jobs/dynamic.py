"""Two bursts of tasks with a shuffle each, and an idle time between them that ends when the test says so.

Arguments: a folder. A task of burst N writes N.TASK and waits for N.go; after
burst 1 the driver waits for idle.go. The answer is in the file `answer`.
"""

import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

TASKS = 8


def wait(path):
    """Polls for a file with a deadline."""
    deadline = time.monotonic() + 240
    while not path.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited in vain for {path}")
        time.sleep(0.1)


def hold(folder, burst, task):
    """Runs in an executor."""
    Path(folder, f"{burst}.{task}").touch()
    wait(Path(folder, f"{burst}.go"))
    return task % 3, task


def main():
    """See above."""
    folder = sys.argv[1]
    session = SparkSession.builder.getOrCreate()
    context = session.sparkContext
    sums = []
    for burst in (1, 2):
        pairs = context.parallelize(range(TASKS), TASKS).map(lambda task, burst=burst: hold(folder, burst, task))
        sums.append(pairs.reduceByKey(lambda a, b: a + b, 2).values().sum())
        if burst == 1:
            wait(Path(folder, "idle.go"))
    Path(folder, "answer").write_text(f"result: {sums}\n", encoding="utf-8")
    session.stop()


if __name__ == "__main__":
    main()
