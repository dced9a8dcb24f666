#!/usr/bin/env python3
"""Measures training and decoding on a GPU, alternately with PyTorch in one run; part of tests/gpu.sh.

    gpu_bench.py --xf-bench BUILD/bin/xf_bench --log FILE [--seconds 300] [--rounds 3] [--no-torch] [--only TEXT]
    gpu_bench.py --xf-bench ... --log ... --warm 0/4       compiles a quarter of PyTorch's systems
    gpu_bench.py ... --cases 2                             only the first two cases
    gpu_bench.py --xf-bench ... --log ... --bars           the cases that have a bar (gpu_report.py)
    gpu_bench.py ... --bars --step FOLDER                  decoding also with the plugin of each of FOLDER's folders
    gpu_bench.py --xf-bench ... --log ... --mixed FILE --count N     N batches of dump_batches, twice

Cases are in the order of their worth; one for which no time is left is skipped and said so. PyTorch's models of a case
are built and warmed up first; then each round measures every system once: this library in a fresh process that
warms up by itself, PyTorch in this process, which is idle meanwhile. Peak memory is what the device had less, this
library's with its CUDA context (about 0.5 GB), PyTorch's as its allocator counts it, without.

LOG gets lines "case TAB system TAB what TAB value", read by gpu_report.py: step (seconds), tokens, memory (bytes),
loss, info, error, and for each case begin, beside (PyTorch or nothing), and end. Exit status: 0 all was measured, 1 this
library failed somewhere, else the process broke and may be started again: cases that LOG has begun are left out.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import gc
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from gpu_report import BARS

# flop: of one source and one target token in training, sentences of 32 (6 for each weight it meets, and attention).
Case = collections.namedtuple("Case", "name kind size sentences tokens numbers beam batch flop")
FLOP = {"base": 381e6, "big": 1290e6, "tiny": 1e6}


def training(size, sentences, numbers="bf16"):
    pairs = sentences * 32
    return Case(f"train {size} {numbers}, {pairs} + {pairs} tokens", "train", size, sentences, 32, numbers, 0, 0,
                FLOP[size])


def decoding(batch, beam, sentences):
    name = f"decode base bf16, batch {batch}, beam {beam}"
    return Case(name, "decode", "base", sentences, 25, "bf16", beam, batch, 0)


CASES = [training("base", 782), training("big", 782), decoding(1024, 4, 1024), decoding(1, 4, 16),
         training("base", 128), decoding(1, 1, 16), decoding(32, 4, 128), training("big", 128),
         decoding(1024, 1, 1024), decoding(32, 1, 128), training("base", 128, "fp32")]


class Bench:
    def __init__(self, args):
        self.args, self.deadline = args, time.monotonic() + args.seconds
        self.torch, self.folder, self.failed, self.skipped = None, None, 0, 0
        self.device = args.device
        if not args.no_torch:
            import torch
            import gpu_torch
            import gpu_torch_decode
            self.torch, self.train_peer, self.decode_peer = torch, gpu_torch, gpu_torch_decode
            self.torch_device = torch.device(args.torch_device)
            if self.torch_device.type == "cpu":
                torch.set_num_threads(1)

    def log(self, case, system, what, value):
        line = f"{case.name}\t{system}\t{what}\t{value}".replace("\n", " ")
        print(f"[{self.args.seconds - self.left():.0f} s] {line}", flush=True)
        with open(self.args.log, "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def left(self):
        return self.deadline - time.monotonic()

    # This library.

    def ours(self, case):
        """system -> arguments of xf_bench"""
        common = [f"context.device={self.device}", f"context.precision={case.numbers}", f"preset={case.size}"]
        if case.kind == "decode":
            common = [f"model={self.folder}/model", f"sources={self.folder}/sources{case.sentences}", *common[:2],
                      *(["warmup=0", "passes=1"] if self.args.tiny else ["warmup=1", "passes=3"]), f"decode.beam={case.beam}", f"decode.batch_sentences={case.batch}",
                      "decode.max_extra_tokens=0"]
            return {f"libxformer {case.numbers}": ["decode", *common]}
        train = ["train", *common, f"sentences={case.sentences}", f"tokens={case.tokens}",
                 *(["warmup=0", "steps=1"] if self.args.tiny else ["warmup=5", "steps=20"])]
        systems = {f"libxformer {case.numbers}": train}
        return systems

    def xf_bench(self, arguments, plugins=None):
        limit = max(5.0, self.left())
        environment = dict(os.environ)
        if "XF_LIBRARY_PATH" in environment:  # of tests/harness/gpu/programs.sh: PyTorch's libraries are others
            environment["LD_LIBRARY_PATH"] = environment["XF_LIBRARY_PATH"]
        if plugins is not None:
            environment["XF_BACKEND_PATH"] = f"{plugins}:{environment.get('XF_BACKEND_PATH', '')}"
        done = subprocess.run([self.args.xf_bench, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=limit, env=environment)
        if done.returncode != 0:
            raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")
        return [line.split("\t", 1) for line in done.stdout.splitlines() if "\t" in line]

    def prepare_sources(self, case):
        file = pathlib.Path(f"{self.folder}/sources{case.sentences}")
        if not file.exists():
            self.xf_bench(["init", f"model={self.folder}/model", f"sources={file}", f"sentences={case.sentences}",
                           f"tokens={case.tokens}", f"preset={case.size}", "context.device=cpu"])

    def measure_ours(self, case, system, arguments, first, plugins=None):
        try:
            if first and self.torch is not None:
                lines, memory = self.train_peer.watched(lambda: self.xf_bench(arguments), self.torch_device)
                self.log(case, system, "memory", memory)
            else:
                lines = self.xf_bench(arguments, plugins)
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            self.failed += 1
            self.log(case, system, "error", f"{type(error).__name__}: {error}")
            return False
        for what, value in lines:
            if what in ("step", "tokens", "loss", "info"):
                self.log(case, system, what, value)
            # Every product of these models is one of cuBLASLt's.
            if (what == "note" and "slower kernel" in value) or (what == "info" and "no cuBLASLt" in value):
                self.failed += 1
                self.log(case, system, "error", value)
            if what == "loss" and not math.isfinite(float(value)):
                self.failed += 1
                self.log(case, system, "error", f"the loss is {value}")
        return True

    # PyTorch.

    def peer_kinds(self, case):
        """system -> how it is made; called with graph=False when a graph can't be recorded."""
        make = {}
        if case.kind == "decode":
            make["PyTorch bf16, compiled"] = lambda graph: self.decode_peer.DecodePeer(
                case.size, case.batch, case.beam, case.tokens, True, self.torch_device, graph)
            return make

        def peer(numbers, compiled):
            return lambda graph: self.train_peer.TrainPeer(case.size, case.sentences, case.tokens, numbers, compiled,
                                                           self.torch_device, graph)
        if case.numbers == "fp32":
            return {"PyTorch fp32, compiled": peer("fp32", True)}
        make["PyTorch bf16, compiled"] = peer("bf16", True)
        make["PyTorch autocast, compiled"] = peer("autocast", True)
        if case.size == "base":
            make["PyTorch autocast, eager"] = peer("autocast", False)
        return make

    def runner(self, case, peer):
        if case.kind == "train":
            return peer.step
        sources = self.torch.randint(2, 37000, (case.sentences, case.tokens)).split(case.batch)
        return lambda: [peer.search(source) for source in sources]

    def make_peers(self, case, only=None):
        """system -> run, warmed up. Compiling may take a minute, so with little time left one system is enough."""
        made = {}
        for system, make in self.peer_kinds(case).items():
            if only is not None and system != only:
                continue
            if made and self.left() < 45:
                self.log(case, system, "skipped", "no time was left")
                continue
            for graph in (True, False):
                name = system if graph else f"{system}, no graph"
                try:
                    memory = self.train_peer.Memory(self.torch_device)
                    run = self.runner(case, make(graph))
                    self.train_peer.timed(run, self.torch_device, 2, 0)
                    self.log(case, name, "memory", memory.peak())
                    made[name] = run
                    break
                except Exception as error:  # any exception of PyTorch; the other systems continue
                    self.log(case, name, "error", f"{type(error).__name__}: {str(error)[:300]}")
                    run = None
                    gc.collect()
                    self.train_peer.synchronize(self.torch_device)  # ends this process when the GPU has faulted
                    if self.torch_device.type == "cpu":
                        break
        return made

    def measure_peer(self, case, system, run):
        warmup, steps = (1, 2) if self.args.tiny else (5, 20) if case.kind == "train" else (1, 3)
        seconds, value = self.train_peer.timed(run, self.torch_device, warmup, steps)
        for one in seconds:
            self.log(case, system, "step", f"{one:.6f}")
        self.log(case, system, "tokens", 2 * case.sentences * case.tokens if case.kind == "train" else
                 sum(ids.numel() for ids in value))
        if case.kind == "train":
            self.log(case, system, "loss", f"{value:.4f}")

    def forget(self, peers):
        peers.clear()
        if self.torch is not None:
            self.torch._dynamo.reset()
            gc.collect()
            if self.torch_device.type == "cuda":
                self.torch.cuda.empty_cache()

    def run(self, case):
        self.log(case, "-", "begin", case.flop)
        self.log(case, "-", "beside", self.beside())
        if case.kind == "decode":
            self.prepare_sources(case)
        peers = self.make_peers(case) if self.torch is not None else {}
        ours, plugins = self.ours(case), {}
        if case.kind == "decode" and self.args.step:
            [(system, arguments)] = ours.items()
            for path in sorted(pathlib.Path(self.args.step).iterdir()):
                name = f"{system}, {path.name}"
                ours[name], plugins[name] = arguments, path
        for turn in range(self.args.rounds):
            if turn > 0 and self.left() < 10:
                break
            for system, arguments in list(ours.items()):
                if not self.measure_ours(case, system, arguments, turn == 0, plugins.get(system)):
                    del ours[system]
            for system, run in peers.items():
                self.measure_peer(case, system, run)
        self.forget(peers)
        self.log(case, "-", "end", "")

    def beside(self):
        return "nothing" if self.torch is None else "PyTorch"

    def all(self, cases):
        with open(self.args.log, "a+", encoding="utf-8") as file:
            file.seek(0)
            rows = [line.rstrip("\n").split("\t") for line in file]
            begun = {row[0] for row in rows if row[2:] == ["beside", self.beside()]}
        with tempfile.TemporaryDirectory() as self.folder:
            for case in cases:
                if case.name in begun:
                    continue
                if self.left() < 20:
                    self.skipped += 1
                    self.log(case, "-", "skipped", "no time was left")
                    continue
                self.run(case)
        print(f"{len(cases)} cases, {self.skipped} skipped for want of time, {self.failed} failures of this library")
        return 1 if self.failed else 0

    def mixed(self, case, file, count):
        """The first pass over batches of many shapes, and the second, in one process."""
        case = case._replace(name=f"train {case.size} {case.numbers}, real lengths, {pathlib.Path(file).name}")
        self.log(case, "-", "begin", case.flop)
        try:
            lines = self.xf_bench(["train", f"context.device={self.device}", f"context.precision={case.numbers}",
                                    f"preset={case.size}", f"batches={file}", "warmup=0", f"steps={2 * count}"])
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            self.failed += 1
            self.log(case, "libxformer", "error", f"{type(error).__name__}: {error}")
            self.log(case, "-", "end", "")
            return
        steps = [value for what, value in lines if what == "step"]
        for part, values in (("first pass", steps[:count]), ("second pass", steps[count:])):
            for value in values:
                self.log(case, f"libxformer, {part}", "step", value)
            for what, value in lines:
                if what in ("tokens", "loss"):
                    self.log(case, f"libxformer, {part}", what, value)
        self.log(case, "-", "end", "")

    def warm(self, cases, part, parts):
        systems = [(case, system) for case in cases for system in self.peer_kinds(case) if "compiled" in system]
        for case, system in systems[part::parts]:
            self.forget(self.make_peers(case, system))


def tiny(case):
    return case._replace(size="tiny", sentences=min(case.sentences, 2), batch=min(case.batch, 2), tokens=3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--xf-bench", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cuda:0", help="context.device of this library")
    parser.add_argument("--torch-device", default="cuda:0")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--cases", type=int, default=len(CASES), help="how many cases, in the order of their worth")
    parser.add_argument("--tiny", action="store_true", help="tiny models, to try this program without a GPU")
    parser.add_argument("--warm", default="")
    parser.add_argument("--bars", action="store_true")
    parser.add_argument("--step", default="")
    parser.add_argument("--mixed", default="")
    parser.add_argument("--count", type=int, default=100, help="batches of --mixed")
    args = parser.parse_args()
    cases = [case for case in CASES if args.only in case.name][:args.cases]
    if args.tiny:
        args.rounds = 1
    if args.bars:
        cases = [case for case in cases if case.name in {bar[0] for bar in BARS}]
    if args.tiny:
        cases = [tiny(case) for case in cases]
    if args.warm:
        part, parts = map(int, args.warm.split("/"))
        args.log = os.devnull
        Bench(args).warm(cases, part, parts)
        return 0
    if args.mixed:
        bench = Bench(args)
        bench.mixed(cases[0], args.mixed, args.count)  # base, many tokens
        return 1 if bench.failed else 0
    return Bench(args).all(cases)


if __name__ == "__main__":
    sys.exit(main())
