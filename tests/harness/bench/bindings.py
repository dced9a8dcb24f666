#!/usr/bin/env python3
"""Runs the benchmark programs of the bindings alternately and compares them with that of C. Called by bindings.sh.

    bindings.py CYCLES ROUNDS MODEL SENTENCES WORK INSIDE NAME=COMMAND ...      the first NAME is the base

Each program gets the arguments MODEL SENTENCES OUTPUT ROUNDS and prints the seconds of each pass over the sentences as
it ends. A cycle runs every program once, ROUNDS passes long. The first pass of a process warms it up (a just-in-time
compiler above all) and is shown separately; the others count. All languages must print identical translations.

Two measures. The processor time of a pass, over all threads, that is not spent inside xf_translate(), which
INSIDE (bindings_inside.c) tells: that is what the program adds, and it is felt little by it who else is at work. And a
pass's whole processor time over the base's: the median of a run, over that of the base's runs before and after it. That
would show too what a binding does to the speed of the library itself, but only as well as the machine is quiet: the
base, run twice in each cycle, tells how well that is.

Needs Linux and Python's own library only. SPDX-License-Identifier: Apache-2.0
"""
import filecmp
import os
import shlex
import statistics
import subprocess
import sys
import time

SENTENCES_A_CALL = 32


def cpu_times():
    """Busy and stolen seconds of all processors so far."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, soft, steal = map(int, file.readline().split()[1:9])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + soft) / tick, steal / tick


class Run:
    """One process: for each pass its seconds, processor seconds, and those inside the library; memory; what others took
    meanwhile, in cores."""

    def __init__(self, command, arguments, environment):
        inside = environment["XF_BENCH_INSIDE"]
        if os.path.exists(inside):
            os.remove(inside)
        started, busy = time.monotonic(), cpu_times()
        process = subprocess.Popen(shlex.split(command) + arguments, stdout=subprocess.PIPE, env=environment)
        self.seconds = [float(line) for line in process.stdout]
        _, process.returncode, usage = os.wait4(process.pid, 0)
        wall, now = time.monotonic() - started, cpu_times()
        with open(inside) as file:
            passes = [tuple(map(float, line.split())) for line in file]
        if process.returncode != 0 or not len(self.seconds) == len(passes) == int(arguments[-1]):
            sys.exit("%s ended with %d after %d passes" % (command, process.returncode, len(self.seconds)))
        self.inside, self.processor = zip(*passes)
        self.megabytes = usage.ru_maxrss / 1024
        self.others = max(0.0, now[0] - busy[0] - usage.ru_utime - usage.ru_stime) / wall
        self.stolen = (now[1] - busy[1]) / wall

    def outside(self):
        """Percent of the library's own time that each counted pass takes beside it."""
        return [100 * (whole - own) / own for own, whole in zip(self.inside[1:], self.processor[1:])]

    def middle(self):
        return statistics.median(self.processor[1:])


def spread(values, form):
    return "%s | %s - %s" % tuple(form % value for value in (statistics.median(values), min(values), max(values)))


def measure(cycles, arguments, work, inside, programs):
    with open(arguments[1]) as file:
        calls = -(-sum(1 for _ in file) // SENTENCES_A_CALL)
    # A library opened by name is not preloaded; Python opens what XFORMER_LIBRARY names.
    environment = dict(os.environ, LD_PRELOAD=inside, XFORMER_LIBRARY=inside, XF_BENCH_CALLS=str(calls))
    environment["XF_BENCH_INSIDE"] = os.path.join(work, "inside.txt")
    base = next(iter(programs))
    runs = {name: [] for name in programs}
    for cycle in range(cycles + 1):
        for name, command in programs.items():
            if cycle == cycles and name != base:
                continue  # the base closes the last cycle
            output = os.path.join(work, name.replace(" ", "-") + ".out")
            print("cycle %d of %d: %s" % (cycle + 1, cycles, name), file=sys.stderr)
            runs[name].append(Run(command, [*arguments[:2], output, arguments[2]], environment))
            if not filecmp.cmp(output, os.path.join(work, base + ".out"), shallow=False):
                sys.exit("%s translates otherwise than %s" % (name, base))
    return runs


def report(runs, cycles):
    base = next(iter(runs))
    print("| program | beside the library, %% of its time | min - max | processor time / %s's | min - max | "
          "seconds a pass | first pass | peak MB |" % base)
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    expected = [run.middle() for run in runs[base]]
    for position, (name, made) in enumerate(runs.items()):
        share = position / len(runs)  # of the way from the base's run before to its run after
        ratios = [run.middle() / (expected[cycle] * (1 - share) + expected[cycle + 1] * share)
                  for cycle, run in enumerate(made[:cycles])]
        print("| %s | %s | %s | %.2f | %.2f | %.0f |" % (
            name,
            spread([value for run in made for value in run.outside()], "%.2f"),
            spread(ratios, "%.3f") if name != base else "1 |",
            statistics.median(value for run in made for value in run.seconds[1:]),
            statistics.median(run.seconds[0] for run in made),
            max(run.megabytes for run in made)))
    everything = [run for made in runs.values() for run in made]
    others, stolen = [run.others for run in everything], [run.stolen for run in everything]
    print("\n%d cycles, %d counted passes a run. Meanwhile others had %.2f of a core (at most %.2f), the hypervisor "
          "%.2f (at most %.2f)." % (cycles, len(everything[0].seconds) - 1, statistics.median(others), max(others),
                               statistics.median(stolen), max(stolen)))


def main():
    cycles, rounds, model, sentences, work, inside = sys.argv[1:7]
    programs = dict(argument.split("=", 1) for argument in sys.argv[7:])
    runs = measure(int(cycles), [model, sentences, rounds], work, inside, programs)
    report(runs, int(cycles))


if __name__ == "__main__":
    main()
