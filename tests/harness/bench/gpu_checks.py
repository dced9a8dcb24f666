#!/usr/bin/env python3
"""Checks with the programs of users that results on a GPU are equal where they must be; part of tests/gpu.sh.

    gpu_checks.py BIN RESULTS [1]       BIN: the folder with translate and xf_bench; 1: tiny sizes, for an emulated GPU

- The same short training twice, in two processes: checkpoints of the same bytes; fp32 and bf16.
- The same on the CPU: dev losses within 0.1 % (fp32) and 2 % (bf16); dropout draws the same masks everywhere.
- Sources decoded in batches of 1, of 7, and in one batch: the same tokens, with beams of 1 and 4, fp32 and bf16.

Appends a row "parity TAB name TAB ok|FAILED TAB seconds TAB detail" to RESULTS for each. Needs Python's library only.

SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import filecmp
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOLERANCE = {"fp32": 1e-3, "bf16": 2e-2}
LIMIT = 110  # seconds a program may take


class Failed(Exception):
    pass


def run(command):
    """Its output; what it said when it fails."""
    try:
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise Failed(f"{command[0].name} took longer than {LIMIT} s") from None
    print("$", *command, "\n", done.stdout, done.stderr, flush=True)
    if done.returncode != 0:
        raise Failed(f"{command[0].name}: exit status {done.returncode}: {(done.stderr.strip() or 'no words')[-150:]}")
    return done.stdout


class Checks:
    def __init__(self, programs, folder, tiny):
        self.programs, self.folder, self.tiny = programs, folder, tiny
        self.precisions = ("bf16",) if tiny else ("fp32", "bf16")
        data = ROOT / "examples/translate/data/small.tsv"
        self.data = folder / "pairs.tsv"
        lines = data.read_text(encoding="utf-8").splitlines(keepends=True)
        self.data.write_text("".join(lines[:400 if tiny else 8000]), encoding="utf-8")

    def training(self, name, device, precision):
        """(checkpoint, dev losses)"""
        model = self.folder / f"{name}.xf"
        steps, every, batch, preset = (2, 1, 60, "tiny") if self.tiny else (16, 4, 1500, "small")
        output = run([self.programs / "translate", "train", "--train", self.data, "--model", model, "--preset", preset,
                      "--steps", steps, "--eval-every", every, "--dev-sentences", 0, "--save-every", 0, "--quiet",
                      "--device", device, "--context.precision", precision,
                      "--tokenizer.vocab_size", 300 if self.tiny else 4000, "--data.batch_tokens", batch,
                      "--hold-out", 100 if self.tiny else 100, "--data.max_tokens", 60, "--train.warmup_steps", 100])
        losses = [float(text) for text in re.findall(r"dev loss (\S+)", output)]
        if len(losses) < steps // every:
            raise Failed(f"{name}: {len(losses)} dev losses were printed, expected {steps // every}")
        return pathlib.Path(f"{model}.ckpt"), losses

    def answers(self, name, model, sources, precision, beam, together):
        path = self.folder / name
        run([self.programs / "xf_bench", "decode", f"model={model}", f"sources={sources}", "warmup=0", "passes=1",
             f"answers={path}", f"decode.beam={beam}", f"decode.max_extra_tokens={1 if self.tiny else 5}",
             f"decode.batch_sentences={together}", "context.device=cuda:0", f"context.precision={precision}"])
        return path


def same(a, b):
    if not filecmp.cmp(a, b, shallow=False):
        raise Failed(f"{a.name} and {b.name} differ")


def main():
    programs, results = pathlib.Path(sys.argv[1]), sys.argv[2]
    failures = []

    def check(name, test):
        begin = time.monotonic()
        try:
            detail, status = test(), "ok"
        except Failed as error:
            detail, status = str(error).replace("\n", " ").replace("\t", " "), "FAILED"
            failures.append(name)
        row = f"parity\t{name}\t{status}\t{time.monotonic() - begin:.0f}\t{detail}"
        print(row, flush=True)
        with open(results, "a", encoding="utf-8") as file:
            file.write(row + "\n")

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(3) as pool:
        checks = Checks(programs, pathlib.Path(folder), sys.argv[3:] == ["1"])
        cpu = pool.submit(checks.training, "cpu", "cpu", "fp32")
        runs = {}
        for precision in checks.precisions:
            for kind in ("once", "again"):
                runs[precision, kind] = pool.submit(checks.training, f"{precision}-{kind}", "cuda:0", precision)

        def equal(precision, kind):
            (first, losses), (second, _) = runs[precision, "once"].result(), runs[precision, kind].result()
            same(first, second)
            return f"{first.stat().st_size} bytes equal, dev loss {losses[-1]}"

        def close(precision):
            (_, expected), (_, found) = cpu.result(), runs[precision, "once"].result()
            worst = max(abs(a - b) / a for a, b in zip(expected, found, strict=True))
            if not worst <= TOLERANCE[precision]:
                raise Failed(f"dev losses {found}, on the CPU {expected}: {worst:.1e} apart")
            return f"dev losses {found} within {worst:.1e} of the CPU's"

        for precision in checks.precisions:
            check(f"training {precision}: two processes, same checkpoint", lambda: equal(precision, "again"))
            check(f"training {precision}: losses of the CPU", lambda: close(precision))

        model, sources = checks.folder / "base.xf", checks.folder / "sources"
        count, tokens = (8, 3) if checks.tiny else (64, 25)

        def alone_or_together(precision, beam):
            def submit(name, together):
                return pool.submit(checks.answers, f"{precision}-beam{beam}-{name}", model, sources, precision, beam,
                                   together)

            alone = submit("alone", 1)
            for other in (submit("by-7", 7), submit("together", count)):
                same(alone.result(), other.result())
            return f"{count} sources by 1, 7 and {count}: the same tokens"

        try:
            run([programs / "xf_bench", "init", f"model={model}", f"sources={sources}", f"sentences={count}",
                 f"tokens={tokens}", f"preset={'tiny' if checks.tiny else 'base'}", "context.device=cpu"])
            for precision in checks.precisions:
                for beam in (1,) if checks.tiny else (1, 4):
                    check(f"decoding {precision}, beam {beam}", lambda: alone_or_together(precision, beam))
        except Failed as error:
            check("decoding", lambda: (_ for _ in ()).throw(error))
    print(f"{len(failures)} comparisons failed" + "".join(f"; {name}" for name in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
