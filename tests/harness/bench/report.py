#!/usr/bin/env python3
"""Creates Markdown tables from the raw lines of run.sh, "table TAB system TAB what TAB value". Needs only the standard
library of Python.

    report.py LOG COMMIT THREADS ROUNDS

Times are medians over all rounds and steps, with minimum and maximum; tokens/s are computed from the median. Rows whose
runs shared the machine are marked; their numbers must not be quoted.

SPDX-License-Identifier: Apache-2.0
"""
import datetime
import os
import platform
import statistics
import sys

QUIET = 0.03  # of one core


def cpu_model():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown CPU")


def memory_gib():
    with open("/proc/meminfo") as file:
        return int(file.readline().split()[1]) / 1024 ** 2


def main():
    path, commit, threads, rounds = sys.argv[1:5]
    tables = {}
    with open(path) as file:
        for line in file:
            table, system, what, value = line.rstrip("\n").split("\t", 3)
            tables.setdefault(table, {}).setdefault(system, {}).setdefault(what, []).append(value)

    print(f"{datetime.date.today()}, commit {commit}. {cpu_model()}, {os.cpu_count()} cores, {memory_gib():.0f} GiB, "
          f"Linux {platform.release().split('-')[0]}. {threads} threads, {rounds} rounds, one process each, systems in "
          "turn.\n")
    for info in sorted({v for systems in tables.values() for s in systems.values() for v in s.get("info", [])}):
        print(f"- {info}")
    noisy = False
    for table, systems in tables.items():
        print(f"\n## {table[0].upper() + table[1:]}\n")
        print("| system | seconds, median | min - max | n | CPU seconds | tokens/s | peak MB | others' CPU, stolen |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for system, values in systems.items():
            steps = [float(v) for v in values["step"]]
            median = statistics.median(steps)
            tokens = int(values["tokens"][0])
            rss = max(int(v) for v in values["rss"]) / 1e6
            if "base" in values:
                rss_text = f"{rss:.0f} ({rss - max(int(v) for v in values['base']) / 1e6:.0f} without Python)"
            else:
                rss_text = f"{rss:.0f}"
            others, stolen = (max(float(v) for v in values[what]) for what in ("others", "stolen"))
            busy = others > QUIET or stolen > QUIET
            noisy |= busy
            cpu = statistics.median(float(v) for v in values["cpu"])
            print(f"| {system} | {median:.3f} | {min(steps):.3f} - {max(steps):.3f} | {len(steps)} | {cpu:.3f} | "
                  f"{tokens / median:.0f} | {rss_text} | {others:.2f}, {stolen:.2f}{' **not quiet**' * busy} |")
    if noisy:
        print("\n**The machine was not quiet** (more than 3 % of a core went to others): measure again before quoting.")


if __name__ == "__main__":
    main()
