"""Says that it is ready, waits until it is told to go on, then sums.

Arguments: executors to wait for, the file that says ready, the file that says
go, the file for the answer. The ready file carries the attempt's number; the
answer carries it too.
"""

import os
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession


def wait(what, probe):
    """Polls with a deadline."""
    deadline = time.monotonic() + 180
    while not probe():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited in vain for {what}")
        time.sleep(0.1)


def write(path, text):
    """Writes a file by renaming, so that it is whole when it is there."""
    Path(path + ".new").write_text(text, encoding="utf-8")
    os.rename(path + ".new", path)


def main():
    """See above."""
    executors = int(sys.argv[1])
    ready, go, answer = sys.argv[2:5]
    session = SparkSession.builder.getOrCreate()
    context = session.sparkContext
    attempt = context.getConf().get("spark.app.attempt.id", "1")
    tracker = context._jsc.sc().statusTracker()

    def enough():
        return len(tracker.getExecutorInfos()) >= executors + 1

    wait("executors", enough)
    context.parallelize(range(executors * 4), executors * 4).map(lambda n: n).count()
    write(f"{ready}.{attempt}", attempt)
    wait("the word to go on", lambda: os.path.exists(go))
    # Tasks find out that an executor has gone; only then are there enough again.
    total = context.parallelize(range(1000), 8).map(lambda n: (n % 3, n)).reduceByKey(lambda a, b: a + b).values().sum()
    wait("executors after the loss", enough)
    write(answer, f"result: {total}\nattempt: {attempt}\n")
    session.stop()


if __name__ == "__main__":
    main()
