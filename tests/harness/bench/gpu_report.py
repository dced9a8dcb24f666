#!/usr/bin/env python3
"""Creates tables of the results of tests/gpu.sh: the page OUT/gpu.md for docs/benchmarks/gpu.md, and a short form.

    gpu_report.py OUT [--short]

Of OUT it reads results.tsv ("stage TAB name TAB status TAB seconds TAB detail"), bench.tsv (gpu_bench.py's log),
and kernels.tsv (gpu_kernels); those that are missing are left out. Times are medians over
all rounds and steps with the smallest and the largest. MFU: the FLOP of the model's mathematics over the time, as a
share of what a bf16 matrix product reaches on an H200. Needs Python's own library only.

SPDX-License-Identifier: Apache-2.0
"""
import datetime
import math
import os
import statistics
import sys

PEAK = 790e12
# case, what, bar, aim: milliseconds of a step are to be at most that, tokens/s at least.
BARS = [("train base bf16, 25024 + 25024 tokens", "ms", 36, 24),
        ("train big bf16, 25024 + 25024 tokens", "ms", 110, 82),
        ("decode base bf16, batch 1, beam 1", "tokens/s", 4000, None),
        ("decode base bf16, batch 1, beam 4", "tokens/s", 4000, None),
        ("decode base bf16, batch 1024, beam 4", "tokens/s", 300000, None)]
RATIO = 1.5
OURS = "libxformer"


def read_rows(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        return [line.rstrip("\n").split("\t") for line in file if line.strip()]


class System:
    def __init__(self):
        self.values = {}

    def add(self, what, value):
        self.values.setdefault(what, []).append(value)

    def last(self, what, otherwise=""):
        return self.values.get(what, [otherwise])[-1]

    def steps(self):
        return [float(value) for value in self.values.get("step", [])]

    def median(self):
        return statistics.median(self.steps()) if self.steps() else math.nan

    def rate(self):
        return float(self.last("tokens", "nan")) / self.median()

    def memory(self):
        found = [int(value) for value in self.values.get("memory", [])]
        return f"{max(found) / 1e9:.2f}" if found and max(found) > 0 else "-"


def read_cases(path):
    """case -> system -> System; system "-" holds the case's own lines. A case that was measured by itself and then
    beside PyTorch has the numbers of the latter, where there are any."""
    cases, earlier = {}, {}
    for case, system, what, value in (row for row in read_rows(path) if len(row) == 4):
        systems = cases.setdefault(case, {})
        if what == "beside":
            earlier[case] = {name for name in systems if name != "-"}
        if system in earlier.get(case, ()):
            earlier[case].remove(system)
            systems[system] = System()
        systems.setdefault(system, System()).add(what, value)
    def place(item):
        return (item[0] != "-", item[0].startswith("PyTorch"))
    return {case: dict(sorted(systems.items(), key=place)) for case, systems in cases.items()}


def mfu(case, systems, system):
    if not case.startswith("train") or " bf16" not in case:
        return "-"
    flop = float(systems["-"].last("begin", 0)) * float(system.last("tokens", 0)) / 2
    return f"{flop / system.median() / PEAK:.1%}"


def best_peer(systems):
    peers = {name: s for name, s in systems.items() if name.startswith("PyTorch") and s.steps()}
    return min(peers.items(), key=lambda item: item[1].median()) if peers else (None, None)


def case_table(case, systems):
    """Rows of Markdown, one a system; what failed or was skipped in words."""
    rows = [f"### {case[0].upper() + case[1:]}", "",
            "| system | ms, median | min - max | n | tokens/s | MFU | peak GB | loss |", "|" + " --- |" * 8]
    notes = []
    for name, system in systems.items():
        notes += [f"- {name}: {value}" for what in ("error", "skipped") for value in system.values.get(what, [])]
        steps = system.steps()
        if steps:
            rows.append(f"| {name} | {1e3 * system.median():.2f} | {1e3 * min(steps):.2f} - {1e3 * max(steps):.2f} | "
                        f"{len(steps)} | {system.rate():.0f} | {mfu(case, systems, system)} | {system.memory()} | "
                        f"{system.last('loss', '-')} |")
    name, peer = best_peer(systems)
    ours = [s for system, s in systems.items() if system.startswith(OURS) and s.steps()]
    if peer is not None and ours:
        ratio = peer.median() / min(s.median() for s in ours)
        notes.append(f"- {ratio:.2f} times the speed of {name}")
    if len(rows) == 4:
        rows = rows[:1]
    return rows + [""] + notes + ([""] if notes else [])


def bar_rows(cases):
    def row(text, bar, aim, found, good):
        verdict = "not measured" if found is None else "met" if good else "MISSED"
        return [text, bar, aim, "-" if found is None else found, verdict]

    rows = []
    for case, unit, bar, aim in BARS:
        system = cases.get(case, {}).get(f"{OURS} bf16")
        if system is None or not system.steps():
            value = None
        else:
            value = 1e3 * system.median() if unit == "ms" else system.rate()
        good = value is not None and (value <= bar if unit == "ms" else value >= bar)
        rows.append(row(f"{case}, {unit}", f"{'<=' if unit == 'ms' else '>='} {bar}", aim or "",
                        None if value is None else f"{value:.1f}" if unit == "ms" else f"{value:.0f}", good))
    for case in (bar[0] for bar in BARS if bar[1] == "ms"):
        systems = cases.get(case, {})
        name, peer = best_peer(systems)
        ours = systems.get(f"{OURS} bf16")
        found = peer.median() / ours.median() if peer is not None and ours is not None and ours.steps() else None
        rows.append(row(f"{case}, against {name or 'PyTorch'}", f">= {RATIO}", "",
                        None if found is None else f"{found:.2f}", found is not None and found >= RATIO))
    return rows


def markdown(rows, head):
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head),
            *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows), ""]


def kernel_rows(path):
    rows = [row for row in read_rows(path) if len(row) == 7]
    for case in dict.fromkeys(row[0] for row in rows):
        of_case = sorted((row for row in rows if row[0] == case), key=lambda row: -float(row[4]))
        total = sum(float(row[4]) for row in of_case)
        for _, _, name, calls, time, least, most in of_case[:40]:
            yield [case, name[:90], calls, time, f"{float(time) / total:.1%}", least, most]


def page(results, cases, folder):
    info = {name: detail for _, name, status, _, detail in results if status == "info"}
    lines = [f"{datetime.date.today()}, commit {info.get('commit', 'unknown')}.", ""]
    if os.environ.get("XF_GPU_DRY"):
        lines = ["**A dry run on an emulation: no number on this page is of a GPU.**", "", *lines]
    lines += [f"- {name}: {detail}" for name, detail in info.items() if name != "commit"]
    lines += sorted({f"- {value}" for systems in cases.values() for s in systems.values()
                     for value in s.values.get("info", [])}) + [""]
    if not os.environ.get("XF_GPU_DRY"):
        lines += ["### Bars", "", *markdown(bar_rows(cases), ["what", "bar", "aim", "measured", ""])]
    for case, systems in cases.items():
        lines += case_table(case, systems)
    kernels = list(kernel_rows(f"{folder}/kernels.tsv"))
    if kernels:
        lines += ["### Kernels", "", *markdown(kernels, ["of", "kernel", "calls", "us in all", "share", "shortest",
                                                         "longest"])]
    checks = [row[:5] for row in results if row[2] != "info"]
    return lines + ["### Checks", "", *markdown([[cell.replace("|", "/") for cell in row] for row in checks],
                                               ["stage", "what", "status", "seconds", "detail"])]


def short(results, cases):
    counts = {}
    for row in results:
        counts[row[2]] = counts.get(row[2], 0) + (row[2] != "info")
    for stage, name, status, seconds, detail in results:
        if status not in ("info", "ok"):
            print(f"{status}: {stage}: {name}: {detail}")
    for case, systems in cases.items():
        print(case)
        for name, system in systems.items():
            for what in ("error", "skipped"):
                for value in system.values.get(what, [])[:1]:
                    print(f"    {name:<32} {what}: {value[:120]}")
            if system.steps():
                print(f"    {name:<32} {1e3 * system.median():10.2f} ms {system.rate():12.0f} tokens/s "
                      f"MFU {mfu(case, systems, system):>6} {system.memory():>7} GB")
    if cases and not os.environ.get("XF_GPU_DRY"):
        for what, bar, aim, found, verdict in bar_rows(cases):
            print(f"{verdict:<13} {what}: {found} (bar {bar}{f', aim {aim}' if aim else ''})")
    print("checks: " + ", ".join(f"{count} {status}" for status, count in sorted(counts.items()) if count))


def main():
    folder = sys.argv[1]
    results = [row for row in read_rows(f"{folder}/results.tsv") if len(row) == 5]
    cases = read_cases(f"{folder}/bench.tsv")
    with open(f"{folder}/gpu.md", "w", encoding="utf-8") as file:
        file.write("\n".join(page(results, cases, folder)))
    if "--short" in sys.argv:
        short(results, cases)


if __name__ == "__main__":
    main()
