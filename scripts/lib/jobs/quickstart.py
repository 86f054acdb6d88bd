"""The job of scripts/quickstart: sums the squares of 0 to N-1 by key, over a shuffle.

    quickstart.py N RESULT_FILE
"""

import os
import sys

from pyspark.sql import SparkSession

KEYS = 97


def main():
    """Runs on the driver; the lambdas run in the Python of the executors."""
    count, result_file = int(sys.argv[1]), sys.argv[2]
    spark = SparkSession.builder.getOrCreate()
    numbers = spark.sparkContext.parallelize(range(count), 8)
    by_key = numbers.map(lambda n: (n % KEYS, n * n)).reduceByKey(lambda a, b: a + b, 4)
    total = by_key.values().sum()
    with open(result_file + ".new", "w", encoding="ascii") as out:
        out.write(f"{total}\n")
    os.rename(result_file + ".new", result_file)
    print(f"sum of the squares of 0 to {count - 1}: {total}")
    spark.stop()


if __name__ == "__main__":
    main()
