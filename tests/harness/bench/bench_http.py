#!/usr/bin/env python3
"""Measures translations over HTTP: examples/serve, a FastAPI server with CTranslate2, and LibreTranslate.

    bench_http.py run BUILD PAIRS [--only int8|fp32] [--rounds 3] [--requests 1000] [--rates 10,20] > new.md
    bench_http.py ctranslate2 WORK PORT COMPUTE INTER INTRA BATCH
    bench_http.py libretranslate WORK PORT COMPUTE INTER INTRA THREADS

BUILD: a Release build of this tree with xformer-serve and the plugins. PAIRS: lines "source TAB target"; each source is
one request. Needs ctranslate2, fastapi, libretranslate, numpy, and uvicorn[standard] from PyPI.

All systems have the weights and the tokenizer of examples/translate/en-de.xf, beam 4, and two cores, which they share
with the client. Capacity: a closed loop of 64 connections. Latency: Poisson arrivals at 60 % of the capacity of the
better peer, and at --rates; the time from the arrival to the complete response. Every run is a fresh process, which is
warmed up. Values are medians of the rounds, with minimum and maximum; each round has other arrivals. A star marks rows
during which other processes used more than 0.03 of a core.

ctranslate2: FastAPI on one uvicorn worker with uvloop. BATCH 1: each request is one call of translate_batch() in the
thread pool, and INTER translators with INTRA threads each take the calls from the queue of CTranslate2. Otherwise,
INTER threads repeatedly take the requests that have arrived, at most BATCH, and translate them in one call; the queue
of CTranslate2 does not merge calls. The best configuration is chosen by its own measurement.

libretranslate: the package from PyPI with THREADS threads. Its tokenizer is replaced, because that of the model is not
one of SentencePiece. Its sentence detector is replaced by none, in its favor, because it downloads its models.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import asyncio
import datetime
import json
import os
import pathlib
import queue
import resource
import statistics
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE.parent / "serve"), str(ROOT / "bindings/python")]
from client import Server, closed_loop, open_loop  # noqa: E402
from report import QUIET, cpu_model, memory_gib  # noqa: E402

MODEL = ROOT / "examples/translate/en-de.xf"
BEAM, CONNECTIONS = 4, 64
TYPES = {"int8": "int8", "fp32": "float32"}
# INTER, INTRA, and BATCH or THREADS
CONFIGURATIONS = {"ctranslate2": [(inter, 2 // inter, batch) for inter in (2, 1) for batch in (1, 8, 16, 32)],
                  "libretranslate": [(1, 2, 4), (2, 1, 4), (2, 1, 64)]}
NAMES = {"serve": "examples/serve", "ctranslate2": "FastAPI, CTranslate2", "libretranslate": "LibreTranslate"}


class Tokenizer:
    """The tokenizer of the model, with the interface of Argos Translate's tokenizers."""

    def __init__(self, *_):
        import xformer
        self.tokenizer = xformer.Model.load(xformer.Context({"context.threads": 1}), str(MODEL)).tokenizer

    def encode(self, text):
        return [f"t{i}" for i in self.tokenizer.encode(text)] + ["</s>"]

    def decode(self, tokens):
        return self.tokenizer.decode([int(token[1:]) for token in tokens if token[0] == "t"])


def ctranslate2(work, port, compute, inter, intra, batch):
    import ctranslate2
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    class Request(BaseModel):
        q: str
        source: str
        target: str
        format: str = "text"

    app, tokenizer, waiting = FastAPI(), Tokenizer(), queue.SimpleQueue()
    translator = ctranslate2.Translator(f"{work}/{compute}", inter_threads=inter, intra_threads=intra,
                                        compute_type=compute)

    def translate(texts):
        results = translator.translate_batch([tokenizer.encode(text) for text in texts], max_batch_size=max(batch, 1),
                                             beam_size=BEAM, length_penalty=0.6)
        return [tokenizer.decode(result.hypotheses[0]) for result in results]

    def collect():
        while True:
            requests = [waiting.get()]
            try:
                while len(requests) < batch:
                    requests.append(waiting.get_nowait())
            except queue.Empty:
                pass
            for (_, future), text in zip(requests, translate([text for text, _ in requests])):
                future.get_loop().call_soon_threadsafe(future.set_result, text)

    @app.get("/health")
    def health():
        return {"status": "ok"}

    if batch == 1:
        @app.post("/translate")
        def one(request: Request):
            return {"translatedText": translate([request.q])[0]}
    else:
        @app.post("/translate")
        async def many(request: Request):
            future = asyncio.get_running_loop().create_future()
            waiting.put((request.q, future))
            return {"translatedText": await future}

        for _ in range(inter):
            threading.Thread(target=collect, daemon=True).start()
    uvicorn.run(app, port=port, log_level="warning")


def libretranslate(work, port, compute, inter, intra, threads):
    os.environ |= {"ARGOS_PACKAGES_DIR": f"{work}/packages", "ARGOS_PACKAGE_INDEX": "http://127.0.0.1:9/",
                   "ARGOS_COMPUTE_TYPE": compute, "ARGOS_INTER_THREADS": str(inter), "ARGOS_BEAM_SIZE": str(BEAM),
                   "ARGOS_INTRA_THREADS": str(intra), **{f"XDG_{name}_HOME": f"{work}/home" for name in
                                                         ("DATA", "CONFIG", "CACHE")}}
    os.chdir(work)  # it writes there
    import argostranslate.package
    import argostranslate.translate
    from libretranslate.main import main as serve

    class Whole:
        def __init__(self, _):
            pass

        def split_sentences(self, text):
            return [text]

    argostranslate.package.SentencePieceTokenizer = Tokenizer
    argostranslate.translate.MiniSBDSentencizer = Whole
    sys.argv[1:] = ["--host", "127.0.0.1", "--port", str(port), "--threads", str(threads)]
    serve()


class Bench:
    def __init__(self, build, work, texts, arguments):
        self.build, self.work, self.texts, self.arguments, self.noisy = build, work, texts, arguments, set()

    def prepare(self):
        from bench_decode import convert
        for compute in TYPES.values():
            convert(MODEL, self.work / compute, None if compute == "float32" else compute)
        package = self.work / "packages/en_de"
        package.mkdir(parents=True)
        (package / "model").symlink_to(self.work / "float32")
        (package / "sentencepiece.model").touch()  # must exist; Tokenizer does not read it
        (package / "metadata.json").write_text(json.dumps({
            "package_version": "1.0", "argos_version": "1.9", "from_code": "en", "from_name": "English",
            "to_code": "de", "to_name": "German"}))

    def command(self, system, weights, configuration):
        if system == "serve":
            return (f"{self.build}/bin/xformer-serve --quiet --model en-de={MODEL} --port {{port}} "
                    f"--model.weights {weights} --context.threads 2 --decode.beam {BEAM}")
        values = " ".join(map(str, configuration))
        return f"{sys.executable} -B {__file__} {system} {self.work} {{port}} {TYPES[weights]} {values}"

    def run(self, system, weights, configuration, rate, count, seed):
        """Values of one run; a rate of 0 measures the capacity."""
        print(system, weights, configuration, f"{rate:.1f}/s", count, file=sys.stderr, flush=True)
        library = {"XFORMER_LIBRARY": f"{self.build}/lib/libxformer.so", "XF_BACKEND_PATH": f"{self.build}/lib",
                   "OMP_NUM_THREADS": str(configuration[1] if configuration else 2)}
        server = Server(self.command(system, weights, configuration), self.work / "log", library)
        try:
            asyncio.run(closed_loop(server.port, self.texts[::-1], CONNECTIONS * 2, CONNECTIONS))
            before, texts = (self.busy(), server.cpu()), self.texts[seed * 97:] + self.texts[:seed * 97]
            load = asyncio.run(open_loop(server.port, texts, rate, count, seed) if rate else
                               closed_loop(server.port, texts, count, CONNECTIONS))
            if load.errors:
                raise SystemExit(f"{len(load.errors)} errors, first {load.errors[0]}\n{server.tail()}")
            cpu = server.cpu() - before[1]
            others = (self.busy() - before[0] - cpu) / load.seconds
            return {"capacity": load.rate(), **{f"p{p}": 1000 * load.percentile(p) for p in (50, 95, 99)},
                    "cpu": 1000 * cpu / count, "rss": server.status("VmHWM") / 1e6, "others": max(0, others),
                    "characters": load.characters / count}
        finally:
            server.stop()

    @staticmethod
    def busy():
        """Processor seconds of all processes except this one."""
        with open("/proc/stat") as file:
            user, nice, system, _, _, irq, soft = (int(word) for word in file.readline().split()[1:8])
        own = resource.getrusage(resource.RUSAGE_SELF)
        return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK") - own.ru_utime - own.ru_stime

    def table(self, title, weights, systems, rate, columns):
        runs = {name: [] for name in systems}
        for seed in range(1, self.arguments.rounds + 1):
            for name, configuration in systems.items():
                runs[name].append(self.run(name, weights, configuration, rate, self.arguments.requests, seed))
        print(f"\n## {weights}: {title}\n\n| system | " + " | ".join(columns.values()) + " |\n| ---" +
              " | ---" * len(columns) + " |")
        for name, values in runs.items():
            mark = " *" if any(run["others"] > QUIET for run in values) else ""
            configuration = " x ".join(map(str, systems[name][:2])) + f", {systems[name][2]}" if systems[name] else ""
            cells = []
            for column in columns:
                numbers = [run[column] for run in values]
                digits = 0 if statistics.median(numbers) >= 100 else 2 if column == "others" else 1
                spread = f" ({min(numbers):.{digits}f} to {max(numbers):.{digits}f})" if len(numbers) > 1 else ""
                cells.append(f"{statistics.median(numbers):.{digits}f}{spread}")
            print(f"| {NAMES[name]}{configuration and f' ({configuration})'}{mark} | " + " | ".join(cells) + " |")
        print(f"\n{self.arguments.requests} requests; n = {self.arguments.rounds}.", flush=True)
        return {name: {column: statistics.median(run[column] for run in values) for column in columns}
                for name, values in runs.items()}

    def measure(self, weights):
        count = self.arguments.requests // 2
        chosen = {name: {c: self.run(name, weights, c, 0, count, 0)["capacity"] for c in configurations}
                  for name, configurations in CONFIGURATIONS.items()}
        best = {"serve": ()} | {name: max(values, key=values.get) for name, values in chosen.items()}
        work = {"cpu": "CPU ms per request", "rss": "peak MB", "characters": "characters per result",
                "others": "others' CPU"}
        capacity = self.table(f"capacity, {CONNECTIONS} connections", weights, best, 0,
                              {"capacity": "requests/s", "p50": "p50, ms", "p99": "p99, ms", **work})
        for name, values in chosen.items():
            print(f"Configurations of {NAMES[name]}, {count} requests, n = 1, requests/s: " +
                  "; ".join(f"{c[0]} x {c[1]}, {c[2]}: {value:.1f}" for c, value in values.items()) + ".")
        sixty = 0.6 * max(capacity[name]["capacity"] for name in CONFIGURATIONS)
        # For the latency, CTranslate2 may have another batch.
        inter = best["ctranslate2"][0]
        latency = {c: self.run("ctranslate2", weights, c, sixty, count, 0)["p95"]
                   for c in CONFIGURATIONS["ctranslate2"] if c[0] == inter}
        best["ctranslate2"] = min(latency, key=latency.get)
        for rate in [sixty, *self.arguments.rates]:
            title = f"{rate:.1f} requests/s" + ", 60 % of the capacity of the better peer" * (rate == sixty)
            self.table(title, weights, best, rate, {"p50": "p50, ms", "p95": "p95, ms", "p99": "p99, ms", **work})
        print(f"p95 of {NAMES['ctranslate2']} at {sixty:.1f} requests/s by the largest batch, n = 1: " +
              ", ".join(f"{c[2]}: {value:.0f} ms" for c, value in latency.items()) + ".", flush=True)


def run(arguments):
    commit = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], check=False, capture_output=True,
                            text=True).stdout.strip()
    print(f"{datetime.date.today()}, commit {commit or 'unknown'}. {cpu_model()}, {os.cpu_count()} cores, "
          f"{memory_gib():.0f} GiB, Linux {os.uname().release.split('-')[0]}. Beam {BEAM}.", flush=True)
    with open(arguments.pairs, encoding="utf-8") as file:
        texts = [line.split("\t")[0].strip() for line in file]
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(pathlib.Path(arguments.build).resolve(), pathlib.Path(work), texts, arguments)
        bench.prepare()
        for weights in [arguments.only] if arguments.only else TYPES:
            bench.measure(weights)


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    sub = commands.add_parser("run")
    sub.add_argument("build")
    sub.add_argument("pairs")
    sub.add_argument("--only", choices=list(TYPES))
    sub.add_argument("--rounds", type=int, default=3)
    sub.add_argument("--requests", type=int, default=1000)
    sub.add_argument("--rates", type=lambda text: [float(rate) for rate in text.split(",")], default=[])
    for name, last in (("ctranslate2", "batch"), ("libretranslate", "threads")):
        sub = commands.add_parser(name)
        for what, kind in (("work", str), ("port", int), ("compute", str), ("inter", int), ("intra", int), (last, int)):
            sub.add_argument(what, type=kind)
    arguments = parser.parse_args()
    peers = {"ctranslate2": ctranslate2, "libretranslate": libretranslate}
    if arguments.command == "run":
        run(arguments)
    else:
        peers[arguments.command](**{k: v for k, v in vars(arguments).items() if k != "command"})


if __name__ == "__main__":
    main()
