"""What driver and executors with GPUs see, as JSON in a file.

Arguments: executors to wait for, a directory of device nodes, the file for the
answer. Needs devices.py beside it: --py-files.
"""

import json
import os
import subprocess
import sys
import time

from pyspark import BarrierTaskContext
from pyspark.sql import SparkSession

NAMES = ("CONTAINER_ID", "NM_HOST", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")


def look(folder):
    """What this process sees."""
    import devices
    listed = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True, check=False)
    return {name: os.environ.get(name) for name in NAMES} | {"table": devices.table(folder), "smi": listed.stdout}


def task(folder):
    """One task an executor: each waits until all run."""
    context = BarrierTaskContext.get()
    context.barrier()
    return look(folder) | {"addresses": list(context.resources()["gpu"].addresses)}


def main():
    """See above."""
    executors, folder, answer = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    session = SparkSession.builder.getOrCreate()
    context = session.sparkContext
    tracker = context._jsc.sc().statusTracker()
    deadline = time.monotonic() + 180
    while len(tracker.getExecutorInfos()) < executors + 1:
        if time.monotonic() > deadline:
            raise SystemExit(f"waited in vain for {executors} executors")
        time.sleep(0.1)
    seen = context.parallelize(range(executors), executors).barrier().mapPartitions(lambda _: [task(folder)]).collect()
    with open(answer, "w", encoding="utf-8") as out:
        json.dump({"driver": look(folder), "executors": seen}, out)
    session.stop()


if __name__ == "__main__":
    main()
