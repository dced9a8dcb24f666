#!/usr/bin/env python3
"""Measures requests that arrive at random times: the engine, calls of xf_decode(), and CTranslate2, with equal weights.

    bench_serve.py run BUILD LENGTHS [--scale 1] [--static PROGRAM] [--only int8|fp32] > new.md
    bench_serve.py peer FOLDER LENGTHS COMPUTE INTER INTRA BATCH RATE REQUESTS SEED

BUILD: a Release build of this tree with xf_bench and serve. LENGTHS: the source lengths, one in each line. PROGRAM: the
static batching of another version, with the arguments of serve.c. --scale multiplies the number of requests. Needs
ctranslate2 and numpy. 2 threads; base preset, beam 4.

All systems receive the same requests (serve.c defines them) and must compute equally many steps for each. Random
weights would end their results at random, and CTranslate2 has no limit of the length for each sentence of a batch.
Therefore end_with_source() changes a few weights so that every result ends where its source ends; peer checks it.

peer: INTER threads, which is also the number of translators with INTRA threads each, repeat: take the requests that
have arrived, at most BATCH, and translate them in one call. BATCH 0: all requests in one call, which CTranslate2 sorts
by length and divides into batches of 32. Output as that of serve.c.

The configuration of CTranslate2 is chosen by its own measurement: by the highest capacity, and for the latency by the
lowest p95. Capacity: requests per second if all arrive at once. Every run is a fresh process. Values are medians of the
rounds, with minimum and maximum; each round has other arrivals. A star marks rows during which others used more than
0.03 of a core.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import datetime
import math
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from report import QUIET, cpu_model, memory_gib

VOCAB, THREADS, BEAM = 37000, 2, 4
TYPES = {"int8": "int8", "fp32": "float32"}
ROUNDS = {"int8": 3, "fp32": 2}
# Requests per measurement: to choose a configuration of the peer, for its capacity, for that of this library (at the
# end of a run, the engine has fewer active requests, so it needs a longer one), at 60 % of the peer's capacity, and at
# 90 % of ours.
REQUESTS = {"int8": (160, 320, 960, 340, 800), "fp32": (96, 192, 480, 160, 400)}
CONFIGURATIONS = [(inter, THREADS // inter, batch) for inter in (2, 1) for batch in (8, 16, 32)]


def end_with_source(tensors):
    """Changes a model of random weights so that its results have the lengths of their sources, in place.

    Some dimensions of the residual stream carry only the position table and, in 511, a mark of the end symbol. One head
    of the last decoder layer attends to the source position that equals the position of the decoder and copies the mark
    to dimension 511, which determines the logit of the end symbol. The other weights of the residual branches are
    reduced, because their sums would hide the positions.
    """
    kept, end = [*range(64), 509, 510, 511], 1
    embedding = tensors["embedding.weight"]
    embedding[:, kept] = 0
    embedding[end, 511] = 0.2
    for name, weight in tensors.items():
        if name.endswith(("o.weight", "out.weight")):
            weight *= 0.25
            weight[kept] = 0
    q, k, v, o = (tensors[f"decoder.5.cross_attention.{part}.weight"] for part in "qkvo")
    head = range(64)
    for weight in (q, k, v, o.T):
        weight[:64] = 0
    # Differences of dimensions, because normalization subtracts the mean: 509 is always near 1, 510 near 0.
    q[head, head], q[:64, 510] = 40, -40
    k[head, head], k[:64, 510] = 1, -1
    v[0, 511], v[0, 509] = 1, -1
    o[511, 0] = 1000
    norm = "decoder.5.feed_forward.norm"
    tensors[f"{norm}.weight"][:] = 0.3
    tensors[f"{norm}.weight"][511], tensors[f"{norm}.bias"][511] = 20, -200


def requests(path, count, rate, seed):
    """(arrival, ids) of each request, as serve.c draws them."""
    with open(path) as file:
        lengths = [int(line) for line in file]
    state, now = seed, 0.0

    def draw():
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return state >> 33

    for i in range(count):
        if rate > 0:
            now -= math.log((draw() + 1) / 2147483649) / rate
        yield now, [2 + draw() % (VOCAB - 2) for _ in range(lengths[i % len(lengths)])][:-1] + [1]


def peer(folder, lengths, compute, inter, intra, batch, rate, count, seed):
    sys.modules["torch"] = None  # CTranslate2 would import an installed torch
    import ctranslate2

    translator = ctranslate2.Translator(folder, device="cpu", inter_threads=inter, intra_threads=intra,
                                        compute_type=compute)
    load = list(requests(lengths, count, rate, seed))
    arrivals = [arrival for arrival, _ in load]
    sources = [[f"t{i}" for i in ids[:-1]] + ["</s>"] for _, ids in load]
    latencies, lock, taken = [0.0] * count, threading.Lock(), 0

    def translate(begin, end):
        results = translator.translate_batch(sources[begin:end], max_batch_size=batch or 32, beam_size=BEAM,
                                             length_penalty=0.6, max_input_length=0, return_end_token=True)
        for source, result in zip(sources[begin:end], results):
            if len(result.hypotheses[0]) != len(source):
                sys.exit(f"a result has {len(result.hypotheses[0])} tokens, expected {len(source)}")

    def collect():
        nonlocal taken
        while True:
            with lock:
                begin = end = taken
                if begin == count:
                    return
                time.sleep(max(0, began + arrivals[begin] - time.perf_counter()))
                now = time.perf_counter() - began
                while end < count and end - begin < (batch or count) and arrivals[end] <= now:
                    end += 1
                taken = end
            translate(begin, end)
            ended = time.perf_counter() - began
            for i in range(begin, end):
                latencies[i] = ended - arrivals[i]

    for _ in range(inter):
        translate(0, min(count, 32))
    began = time.perf_counter()
    with ThreadPoolExecutor(inter) as pool:
        for collector in [pool.submit(collect) for _ in range(inter)]:
            collector.result()  # also of an error
    print(f"seconds\t{time.perf_counter() - began:.4f}")
    latencies.sort()
    print(f"p50\t{latencies[count // 2]:.4f}\np95\t{latencies[count * 95 // 100]:.4f}")
    print(f"info\tCTranslate2 {ctranslate2.__version__}")


class Machine:
    """Runs programs and notes what else used the machine meanwhile."""

    def __init__(self, build, lengths, work, static):
        self.build, self.lengths, self.work, self.static = build, lengths, work, static
        self.info = set()
        self.env = {**os.environ, "XF_BACKEND_PATH": str(build / "lib"), "OMP_NUM_THREADS": str(THREADS), "LC_ALL": "C"}

    @staticmethod
    def times():
        with open("/proc/stat") as file:
            user, nice, system, _, _, irq, soft, stolen = (int(word) for word in file.readline().split()[1:9])
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")
        return busy - own.ru_utime - own.ru_stime, stolen / os.sysconf("SC_CLK_TCK"), time.perf_counter()

    def run(self, command, env=None):
        print(" ".join(map(str, command)), file=sys.stderr)
        before = self.times()
        output = subprocess.run(list(map(str, command)), env=env or self.env, stdout=subprocess.PIPE, text=True,
                                check=True).stdout
        others, stolen, wall = (b - a for a, b in zip(before, self.times()))
        values = dict(line.split("\t", 1) for line in output.splitlines())
        self.info.add(values.pop("info"))
        return {**{what: float(value) for what, value in values.items()}, "others": max(0, others / wall),
                "stolen": stolen / wall}

    def serve(self, how, weights, rate, count, seed):
        arguments = [f"lengths={self.lengths}", f"rate={rate:.4f}", f"requests={count}", f"seed={seed}",
                     f"context.threads={THREADS}", f"decode.beam={BEAM}"]
        if how == "earlier":  # has its own plugin
            env = {name: value for name, value in self.env.items() if name != "XF_BACKEND_PATH"}
            return self.run([self.static, *arguments, f"weights={weights}"], env)
        return self.run([self.build / "bin/serve", f"how={how}", f"model={self.work / 'base'}", *arguments,
                         f"model.weights={weights}"])

    def peer(self, weights, configuration, rate, count, seed):
        compute = TYPES[weights]
        return self.run([sys.executable, "-B", __file__, "peer", self.work / compute, self.lengths, compute,
                         *configuration, rate, count, seed])

    def prepare(self):
        from bench_decode import convert
        from model_file import read_safetensors, write_safetensors

        random, model = self.work / "random", self.work / "base"
        subprocess.run([self.build / "bin/xf_bench", "init", f"model={random}", f"sources={self.work / 'sources'}",
                        "sentences=1", "preset=base", f"model.vocab_size={VOCAB}"], env=self.env, check=True)
        _, tensors = read_safetensors(random)
        end_with_source(tensors)
        write_safetensors(model, random, tensors)
        for compute in TYPES.values():
            convert(model, self.work / compute, None if compute == "float32" else compute)


def median(runs, what):
    return statistics.median(run[what] for run in runs)


def cell(runs, what, factor=1.0):
    values = [run[what] * factor for run in runs]
    digits = 1 if statistics.median(values) < 100 else 0
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} - {max(values):.{digits}f})"


def mark(runs):
    return " *" if any(max(run["others"], run["stolen"]) > QUIET for run in runs) else ""


def state(runs):
    return ", ".join(f"{max(run[what] for run in runs):.2f}" for what in ("others", "stolen"))


def name_of(configuration):
    inter, intra, batch = configuration
    return f"CTranslate2, {inter} x {intra} threads, " + (f"batch at most {batch}" if batch else "all in one call")


NAMES = {"engine": "engine", "static": "xf_decode() on at most 32", "earlier": "static batching of the earlier version"}


class Measurement:
    """All runs of one type of weights, and their tables."""

    def __init__(self, machine, weights, scale):
        self.machine, self.weights, self.rounds = machine, weights, ROUNDS[weights]
        self.choosing, self.peers, self.capacity, self.low, self.high = (int(n * scale) for n in REQUESTS[weights])
        self.own = ["engine", "static"] + (["earlier"] if machine.static else [])

    def capacities(self):
        def capacity(run, count):
            return {**run, "capacity": count / run["seconds"]}

        machine = self.machine
        chosen = {c: [capacity(machine.peer(self.weights, c, 0, self.choosing, 1), self.choosing)]
                  for c in CONFIGURATIONS}
        best = max(CONFIGURATIONS, key=lambda c: chosen[c][0]["capacity"])
        peers = [best, (*best[:2], 0)]
        runs = {name: [] for name in peers + self.own}
        for seed in range(1, self.rounds + 1):
            for c in peers:
                runs[c].append(capacity(machine.peer(self.weights, c, 0, self.peers, seed), self.peers))
            for how in self.own:
                run = machine.serve(how, self.weights, 0, self.capacity, seed)
                runs[how].append(capacity(run, self.capacity))
        self.best, self.runs = best, runs
        print(f"\n## {self.weights}: capacity\n\n| system | requests/s, median (min - max) | others' CPU, stolen |\n"
              "| --- | --- | --- |")
        for name, values in runs.items():
            title = NAMES.get(name) or name_of(name)
            print(f"| {title}{mark(values)} | {cell(values, 'capacity')} | {state(values)} |")
        print(f"\n{self.peers} requests for CTranslate2, {self.capacity} for this library; n = {self.rounds}. "
              f"Configurations of CTranslate2, n = 1, {self.choosing} requests: "
              + "; ".join(f"{c[0]} x {c[1]}, {c[2]}: {cell(v, 'capacity').split()[0]}{mark(v)}"
                          for c, v in chosen.items()) + ".", flush=True)

    def latencies(self, title, rate, count, systems):
        runs = {name: [] for name in systems}
        for seed in range(1, self.rounds + 1):
            for name in systems:
                runs[name].append(self.machine.serve(name, self.weights, rate, count, seed) if name in NAMES else
                                  self.machine.peer(self.weights, name, rate, count, seed))
        print(f"\n## {self.weights}: {title}, {rate:.1f} requests/s\n\n| system | p50, ms | p95, ms | "
              "others' CPU, stolen |\n| --- | --- | --- | --- |")
        for name, values in runs.items():
            print(f"| {NAMES.get(name) or name_of(name)}{mark(values)} | {cell(values, 'p50', 1000)} | "
                  f"{cell(values, 'p95', 1000)} | {state(values)} |")
        print(f"\n{count} requests; n = {self.rounds}.")
        return {name: median(values, "p95") for name, values in runs.items()}

    def steps(self, rate, count):
        runs = [self.machine.serve("steps", self.weights, rate, count, seed) for seed in range(1, self.rounds + 1)]
        print(f"\n## {self.weights}: steps of the engine, {rate:.1f} requests/s\n\n| step | p50, ms | p95, ms | "
              "max, ms | p50, p95, max in medians of steps without admission |\n| --- | --- | --- | --- | --- |")
        unit = median(runs, "step_p50")
        for what, title in (("step", "without admission"), ("begin", "with admission")):
            parts = [f"{what}_{part}" for part in ("p50", "p95", "max")]
            print(f"| {title}{mark(runs)} | " + " | ".join(cell(runs, part, 1000) for part in parts) + " | "
                  + ", ".join(f"{median(runs, part) / unit:.2f}" for part in parts) + " |")
        print(f"\n{count} requests; n = {self.rounds}.", flush=True)

    def run(self):
        self.capacities()
        capacity = {name: median(values, "capacity") for name, values in self.runs.items()}
        low, high = 0.6 * capacity[self.best], 0.9 * capacity["engine"]
        fitting = [c for c in CONFIGURATIONS if c[0] == self.best[0]]
        latency = {c: self.machine.peer(self.weights, c, low, self.low, 1)["p95"] for c in fitting}
        peer = min(latency, key=latency.get)
        at_low = self.latencies("60 % of the capacity of CTranslate2", low, self.low, [peer, "engine", "static"])
        print("p95 of CTranslate2 by the largest batch, n = 1: "
              + ", ".join(f"{c[2]}: {1000 * value:.0f} ms" for c, value in latency.items()) + ".", flush=True)
        at_high = self.latencies("90 % of the capacity of the engine", high, self.high, self.own)
        self.steps(high, self.high)
        print(f"\n## {self.weights}: ratios of medians\n")
        for how in self.own[1:]:
            print(f"- capacity, engine / {NAMES[how]}: {capacity['engine'] / capacity[how]:.3f}")
            print(f"- p95 at 90 %, engine / {NAMES[how]}: {at_high['engine'] / at_high[how]:.3f}")
        print(f"- capacity, engine / CTranslate2: {capacity['engine'] / capacity[self.best]:.3f}")
        print(f"- p95 at 60 %, engine / CTranslate2: {at_low['engine'] / at_low[peer]:.3f}", flush=True)


def run(args):
    here = pathlib.Path(__file__).parent
    commit = subprocess.run(["git", "-C", here, "describe", "--always", "--dirty"], check=False, capture_output=True,
                            text=True)
    print(f"{datetime.date.today()}, commit {commit.stdout.strip() or 'unknown'}. {cpu_model()}, {os.cpu_count()} "
          f"cores, {memory_gib():.0f} GiB, Linux {os.uname().release.split('-')[0]}. {THREADS} threads, beam {BEAM}.",
          flush=True)
    with tempfile.TemporaryDirectory() as work:
        machine = Machine(pathlib.Path(args.build).resolve(), pathlib.Path(args.lengths).resolve(), pathlib.Path(work),
                          args.static)
        machine.prepare()
        for weights in [args.only] if args.only else TYPES:
            Measurement(machine, weights, args.scale).run()
    print()
    for info in sorted(machine.info):
        print(f"- {info}")


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    sub = commands.add_parser("run")
    sub.add_argument("build")
    sub.add_argument("lengths")
    sub.add_argument("--scale", type=float, default=1)
    sub.add_argument("--static")
    sub.add_argument("--only", choices=list(TYPES))
    sub = commands.add_parser("peer")
    for name, kind in (("folder", str), ("lengths", str), ("compute", str), ("inter", int), ("intra", int),
                       ("batch", int), ("rate", float), ("count", int), ("seed", int)):
        sub.add_argument(name, type=kind)
    args = vars(parser.parse_args())
    if args.pop("command") == "peer":
        peer(**args)
    else:
        run(argparse.Namespace(**args))


if __name__ == "__main__":
    main()
