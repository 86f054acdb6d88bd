"""A driver that fails after it has its SparkContext."""

from pyspark.sql import SparkSession

SparkSession.builder.getOrCreate()
raise ValueError("the loom is out of thread")
