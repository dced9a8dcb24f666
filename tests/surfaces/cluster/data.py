#!/usr/bin/env python3
"""data.py - creates the data that the engines translate, and compares their output with that of the program.

    data.py make CORPUS.tsv LINES FOLDER       FOLDER/lines.txt, FOLDER/rows.parquet (two files)
    data.py compare FOLDER PLAIN OUTPUT        OUTPUT: a text file, a folder of Spark's part files, a folder of Parquet

Some lines cannot be translated. Only the Parquet files have rows without a text, which text files cannot represent.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys

import pyarrow
import pyarrow.parquet as parquet

# Unusual lines: empty, not UTF-8, too long, with a Unicode line separator (not a line end here), other white space.
ODD = [b"", b"\xff\xfe no text", b"x " * 3000, "One line, \u2028 says the program.".encode(), b"A return \r within."]


def make(corpus, count, folder):
    lines = [line.split(b"\t")[0] for line in pathlib.Path(corpus).read_bytes().split(b"\n")[:count]]
    for place, line in enumerate(ODD):
        lines[count * (place + 1) // (len(ODD) + 1)] = line
    folder = pathlib.Path(folder)
    (folder / "rows.parquet").mkdir(parents=True)
    (folder / "lines.txt").write_bytes(b"\n".join(lines) + b"\n")
    # Each column of a row contains its number, so that mixed rows are detected. Text in Parquet is UTF-8.
    rows = [{"id": n, "maybe": n if n % 3 else None, "text": None if line.startswith(b"\xff") else line.decode()}
            for n, line in enumerate(lines)]
    schema = pyarrow.schema([("id", pyarrow.int64()), ("maybe", pyarrow.int64()), ("text", pyarrow.string())])
    for part, half in enumerate((rows[:count // 2], rows[count // 2:])):
        table = pyarrow.Table.from_pylist(half, schema)
        parquet.write_table(table, folder / "rows.parquet" / ("%d.parquet" % part), row_group_size=count // 8)


def compare_rows(folder, plain, output):
    given = parquet.read_table(folder / "rows.parquet").to_pylist()
    rows = parquet.read_table(output).sort_by("id").to_pylist()
    assert [row["id"] for row in rows] == [row["id"] for row in given], "not each row once"
    for row, source, line in zip(rows, given, plain):
        assert row["maybe"] == source["maybe"] and row["text"] == source["text"], row
        made = "" if row["translation"] is None else row["translation"].translate(str.maketrans("\n\r\t", "   "))
        assert made.encode() == line, (row, line)
        assert (row["translation"] is None) == (row["reason"] is not None), row
    return len(rows), sum(row["reason"] is not None for row in rows)


def compare_lines(plain, output):
    parts = sorted(output.glob("part-*")) if output.is_dir() else [output]
    lines = b"".join(part.read_bytes() for part in parts).split(b"\n")[:-1]
    assert len(lines) == len(plain), "%d lines, expected %d" % (len(lines), len(plain))
    different = [number for number, (line, expected) in enumerate(zip(lines, plain), 1) if line != expected]
    assert not different, "lines %s differ" % different[:10]
    return len(lines)


def main():
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]), sys.argv[4])
        return
    folder, plain, output = (pathlib.Path(name) for name in sys.argv[2:5])
    plain = plain.read_bytes().split(b"\n")[:-1]
    if any(output.glob("*.parquet")):
        print("%d rows, each once and as the program has it; %d refused" % compare_rows(folder, plain, output))
    else:
        print("%d lines, as the program has them" % compare_lines(plain, output))


if __name__ == "__main__":
    main()
