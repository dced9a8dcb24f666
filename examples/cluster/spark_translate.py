#!/usr/bin/env python3
"""spark_translate.py - translates a column of a Parquet data set, or the lines of text files, on a Spark cluster.

    spark-submit --py-files bulk.py spark_translate.py --model en-de.xf --column text IN.parquet OUT.parquet
    spark-submit --py-files bulk.py spark_translate.py --model en-de.xf --format text LINES.txt OUT

Parquet: the output has all columns of the input, plus "translation" and "reason". For a row that cannot be translated,
"translation" is null and "reason" gives the cause. Text: the part files of OUT, concatenated in the order of their
names, have one line for each line of the input, in the same order; a line that cannot be translated is empty. Spark
translates the partitions of a lost executor again; the result is identical, and Spark keeps one copy.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os
import sys

import bulk
from pyspark import SparkFiles
from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType


def arguments():
    parser = argparse.ArgumentParser(description="Translates a data set on a Spark cluster.")
    parser.add_argument("input")
    parser.add_argument("output", help="a folder that does not exist yet")
    parser.add_argument("--model", required=True,
                        help="model file, which Spark copies to each executor; local:/PATH: a path on every machine")
    parser.add_argument("--format", choices=["parquet", "text"], default="parquet", help="format of input and output")
    parser.add_argument("--column", default="text", help="column to translate (parquet)")
    parser.add_argument("--partitions", type=int, default=0,
                        help="number of partitions; default: as in the Parquet files, or 4 per core for text")
    parser.add_argument("--batch", type=int, default=1000, help="rows that a worker holds at a time")
    parser.add_argument("--threads", type=int, default=1,
                        help="threads per worker; an executor runs cores/threads workers")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="sets an option, for example decode.beam=1")
    return parser.parse_args()


def over_frames(column, model, options):
    """Returns the function that a worker runs for each partition. It adds two columns to each pandas frame."""
    def translate(frames):
        path = model[len("local:"):] if model.startswith("local:") else SparkFiles.get(os.path.basename(model))
        translator = bulk.translator(path, options)  # the first partition of this process loads it
        for frame in frames:
            translations, reasons = translator(frame[column])
            yield frame.assign(**{bulk.TRANSLATION: translations, bulk.REASON: reasons})
    return translate


def read_text(spark, path, partitions):
    """Reads lines as bytes, because they may not be UTF-8. Partitions are ordered by file name and line."""
    lines = spark.read.option("lineSep", "\n").text(path)
    place = [F.col("_metadata.file_path").alias("file"), F.col("_metadata.file_block_start").alias("block"),
             F.monotonically_increasing_id().alias("row")]
    lines = lines.select(*place, F.col("value").cast("binary").alias("text"))
    partitions = partitions or 4 * spark.sparkContext.defaultParallelism
    return lines.repartitionByRange(partitions, "file", "block", "row").sortWithinPartitions("file", "block", "row")


def read_parquet(spark, path, partitions, column):
    rows = spark.read.parquet(path)
    taken = {bulk.TRANSLATION, bulk.REASON} & set(rows.columns)
    if column not in rows.columns or taken:
        sys.exit("the input has the columns %s: %s" % (
            rows.columns, "rename %s, which the output adds" % taken if taken else "no %s, see --column" % column))
    return rows.repartition(partitions) if partitions else rows


def main():
    args = arguments()
    options = bulk.options_of(args.set, args.threads)
    spark = (SparkSession.builder.appName("translate")
             .config("spark.task.cpus", args.threads)
             .config("spark.sql.execution.arrow.maxRecordsPerBatch", args.batch)
             .getOrCreate())
    if not args.model.startswith("local:"):
        spark.sparkContext.addFile(args.model)
    text = args.format == "text"
    column = "text" if text else args.column
    rows = (read_text(spark, args.input, args.partitions) if text else
            read_parquet(spark, args.input, args.partitions, column))

    added = [StructField(name, StringType()) for name in (bulk.TRANSLATION, bulk.REASON)]
    schema = StructType(rows.schema.fields + added)
    seen = Observation()  # counted while the rows are written, each partition once
    done = rows.mapInPandas(over_frames(column, args.model, options), schema).observe(
        seen, F.count(F.lit(1)).alias("rows"), F.count(bulk.REASON).alias("refused"))
    if text:
        one_line = F.coalesce(F.translate(bulk.TRANSLATION, "\n\r\t", "   "), F.lit(""))
        done.select(one_line).write.option("lineSep", "\n").text(args.output)
    else:
        done.write.parquet(args.output)
    print("%(rows)d rows, %(refused)d without a translation" % seen.get)
    spark.stop()


if __name__ == "__main__":
    main()
