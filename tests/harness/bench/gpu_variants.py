"""Measurements of gpu_bench.py for this library only: plugins that differ in one constant, batches of real lengths.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import subprocess


def loss(bench, case, folder):
    """A step of the case with the plugin of each of the folder's folders, in turn."""
    case = case._replace(name=f"{case.name}, pieces of the loss")
    bench.log(case, "-", "begin", case.flop)
    [arguments] = list(bench.ours(case).values())[:1]
    few = ["warmup=0", "steps=1"] if bench.args.tiny else ["warmup=2", "steps=5"]
    arguments = [word for word in arguments if not word.startswith(("warmup=", "steps="))] + few
    systems = {path.name: path for path in sorted(pathlib.Path(folder).iterdir())}
    for turn in range(bench.args.rounds):
        for name, path in list(systems.items()):
            if bench.left() < 5:
                bench.log(case, f"libxformer {name}", "skipped", f"no time was left in round {turn + 1}")
            elif not bench.measure_ours(case, f"libxformer {name}", arguments, False, path):
                del systems[name]


def mixed(bench, case, file, count):
    """The first pass over batches of many shapes, and the second, in one process."""
    case = case._replace(name=f"train {case.size} {case.numbers}, real lengths, {pathlib.Path(file).name}")
    bench.log(case, "-", "begin", case.flop)
    try:
        lines = bench.xf_bench(["train", f"context.device={bench.device}", f"context.precision={case.numbers}",
                                f"preset={case.size}", f"batches={file}", "warmup=0", f"steps={2 * count}"])
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        bench.failed += 1
        bench.log(case, "libxformer", "error", f"{type(error).__name__}: {error}")
        return
    steps = [value for what, value in lines if what == "step"]
    for part, values in (("first pass", steps[:count]), ("second pass", steps[count:])):
        for value in values:
            bench.log(case, f"libxformer, {part}", "step", value)
        for what, value in lines:
            if what in ("tokens", "loss"):
                bench.log(case, f"libxformer, {part}", what, value)
