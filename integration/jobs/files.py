"""Uses what --py-files, --files name#link and --archives name#link brought, on driver and executors."""

import sys
from pathlib import Path

from pyspark.sql import SparkSession


def work(number):
    """Runs in an executor: every file must be there under its link name."""
    import helper_module
    offset = int(Path("offset").read_text(encoding="utf-8"))
    factor = int(Path("packed/inner/factor.txt").read_text(encoding="utf-8"))
    return helper_module.square(number) * factor + offset


def main():
    """Writes the sum to the file named by the first argument."""
    session = SparkSession.builder.getOrCreate()
    total = session.sparkContext.parallelize(range(100), 2).map(work).sum()
    Path(sys.argv[1]).write_text(f"result: {total}\n", encoding="utf-8")
    session.stop()


if __name__ == "__main__":
    main()
