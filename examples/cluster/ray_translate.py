#!/usr/bin/env python3
"""ray_translate.py - translates a column of a Parquet data set, or the lines of a text file, on a Ray cluster.

    python3 ray_translate.py --model en-de.xf --column text IN.parquet OUT.parquet
    python3 ray_translate.py --model en-de.xf --format text LINES.txt OUT.txt

Parquet: the output has all columns of the input, plus "translation" and "reason". For a row that cannot be translated,
"translation" is null and "reason" gives the cause. Text: OUT.txt has one line for each line of the input, in the same
order; a line that cannot be translated is empty. If a worker is lost, another one translates its blocks again; the
result is identical.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os
import pathlib
import sys

import bulk
import pyarrow
import ray


def arguments():
    parser = argparse.ArgumentParser(description="Translates a data set on a Ray cluster.")
    parser.add_argument("input")
    parser.add_argument("output", help="parquet: a folder that does not exist yet; text: a file")
    parser.add_argument("--model", required=True, help="local model file, sent through Ray's object store")
    parser.add_argument("--format", choices=["parquet", "text"], default="parquet", help="format of input and output")
    parser.add_argument("--column", default="text", help="column to translate (parquet)")
    parser.add_argument("--workers", type=int, default=0,
                        help="processes, each with its own model; default: one less than the processors")
    parser.add_argument("--partitions", type=int, default=0,
                        help="number of blocks (parquet); default: as Ray reads the files")
    parser.add_argument("--batch", type=int, default=1000, help="rows that a worker translates at a time")
    parser.add_argument("--threads", type=int, default=1, help="threads of each worker")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="sets an option, for example decode.beam=1")
    parser.add_argument("--address", help="address of the cluster; default: RAY_ADDRESS, or only this machine")
    return parser.parse_args()


class Worker:
    """A process that Ray starts on the cluster, and restarts if it is lost. It loads the model once."""

    def __init__(self, model, options, column):
        self._translator = bulk.Translator(memoryview(ray.get(model)), options)
        self._column = column

    def __call__(self, rows):
        translations, reasons = self._translator(rows[self._column].to_pylist())
        rows = rows.append_column(bulk.TRANSLATION, pyarrow.array(translations, pyarrow.string()))
        return rows.append_column(bulk.REASON, pyarrow.array(reasons, pyarrow.string()))


def read_text(path, batch):
    """Reads the lines of a file into blocks, as bytes, because they may not be UTF-8.

    ray.data.read_text() is not used because it splits at other characters than line feeds, too. The whole file is read
    into memory; use Parquet for larger data.
    """
    lines = pathlib.Path(path).read_bytes().split(b"\n")
    if not lines[-1]:
        lines.pop()
    blocks = [lines[i:i + batch] for i in range(0, len(lines), batch)] or [[]]
    return ray.data.from_arrow([pyarrow.table({"text": pyarrow.array(block, pyarrow.binary())}) for block in blocks])


def write_text(rows, path):
    """Writes the file, or no file on failure. Returns the number of rows and of rows without a translation."""
    count = refused = 0
    with open(path + ".part", "w", encoding="utf-8", newline="\n") as out:
        for block in rows.iter_batches(batch_size=None, batch_format="pyarrow"):
            out.writelines(bulk.one_line(text) + "\n" for text in block[bulk.TRANSLATION].to_pylist())
            count += block.num_rows
            refused += block.num_rows - block[bulk.REASON].null_count
    os.replace(path + ".part", path)
    return count, refused


def main():
    args = arguments()
    options = bulk.options_of(args.set, args.threads)
    ray.cloudpickle.register_pickle_by_value(bulk)  # Ray sends the module to the workers
    ray.init(address=args.address)
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    model = ray.put(pathlib.Path(args.model).read_bytes())
    free = int(ray.cluster_resources()["CPU"]) - 1
    workers = args.workers or max(1, free // args.threads)
    if workers * args.threads > free:
        print("%d workers leave no processor for reading and writing; waiting for more processors" % workers,
              file=sys.stderr)
    text = args.format == "text"
    rows = read_text(args.input, args.batch) if text else ray.data.read_parquet(args.input)
    if args.partitions and not text:
        rows = rows.repartition(args.partitions)
    done = rows.map_batches(
        Worker, fn_constructor_args=(model, options, "text" if text else args.column), batch_size=args.batch,
        batch_format="pyarrow", compute=ray.data.ActorPoolStrategy(size=workers), num_cpus=args.threads)
    if text:
        counts = write_text(done, args.output)
    else:
        done.write_parquet(args.output, mode="error")
        reasons = ray.data.read_parquet(args.output).select_columns([bulk.REASON])
        blocks = list(reasons.iter_batches(batch_size=None, batch_format="pyarrow"))
        counts = (sum(b.num_rows for b in blocks), sum(b.num_rows - b[bulk.REASON].null_count for b in blocks))
    print("%d rows, %d without a translation" % counts)


if __name__ == "__main__":
    main()
