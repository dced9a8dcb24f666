#!/usr/bin/env python3
"""Runs the kernels of the CUDA plugin under the detector of tests/harness/cuda_host/races.h.

    races.py BUILD             the case list of backend_ops and tests of whole steps: no report, and every kernel runs
    races.py BUILD --barriers [FILE...]  for each barrier in cuda/, or in these files of it, what needs the barrier,
                               without its effect: the detector must report it

BUILD is a build folder that contains backend_ops, cuda_host, and the plugin in tests/harness/cuda_host/races. The first
takes about two processor minutes, the second about five; its last line belongs in docs/benchmarks/gpu.md.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
BARRIER = re.compile(r"\b(__syncthreads|__syncwarp)\(")  # __syncthreads_or() is called for its result
KERNEL = re.compile(r"__global__ void (?:__launch_bounds__\((?:[^()]|\([^()]*\))*\)\s*)?(\w+)\(")
# A program and its arguments, the operation of XF_TEST_OP, and what else is in the environment.
OPERATIONS = (
    "linear activation embed add_norm attention attention_step loss top_k adam sum_squares"
).split()
# Tests of cuda_host; the other tests of shards make whole steps, which take minutes.
FEATURES = ("beam", "step losses_*", "step the_gate_*", "step a_step_*", "shards sums_*", "shards fingerprints_*")
# The runs that need the barriers of a file, the fastest first.
NEEDED_BY = {
    "activation.cu": ("activation",),
    "adam.cu": ("step losses_*", "step the_gate_*", "sum_squares"),
    "add_norm_bwd.cu": ("add_norm",),
    "attention.cu": ("attention",),
    "attention_bwd_mma.cuh": ("attention",),
    "attention_core.cuh": ("attention",),
    "attention_step.cu": ("attention_step",),
    "beam_step.cu": ("beam",),
    "column_sums.cu": ("linear", "activation"),
    "column_sums.cuh": ("activation", "linear"),
    "embed.cu": ("embed",),
    "gemm_plain.cu": ("linear",),
    "gemm_rows.cu": ("linear", "top_k"),
    "gemm_rows_fp32.cu": ("linear", "top_k"),
    "gemm_rows_tile.cu": ("linear", "top_k"),
    "loss.cu": ("loss",),
    "rows.cuh": ("top_k", "add_norm"),
    "shards.cu": ("shards fingerprints_*", "shards sums_*"),
    "top_k.cuh": ("top_k",),
}


class Runs:
    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.plugin = self.build / "tests/harness/cuda_host/races/libxformer_cuda.so"

    def names(self):
        return (*OPERATIONS, *FEATURES)

    def run(self, name, log=None, **environment):
        """Returns (exit status, output, seconds)."""
        if name in FEATURES:
            command = [self.build / "bin/cuda_host", *name.split()]
        else:
            command = [self.build / "bin/backend_ops", "cuda/*parity"]
            environment["XF_TEST_OP"] = name
        environment |= {
            "XF_TEST_PLUGINS": self.plugin,
            "XF_TEST_CUDA_HOST_PLUGIN": self.plugin,
            "XF_BACKEND_PATH": self.plugin.parent,
            "XF_TEST_DEVICES": "cuda",
        }
        if log is not None:
            environment["XF_RACES_LOG"] = log
        begin = time.monotonic()
        ran = subprocess.run(command, env=os.environ | {k: str(v) for k, v in environment.items()}, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
        return ran.returncode, ran.stdout, time.monotonic() - begin

    def located(self, text):
        """Adds the source line to each code address of the reports."""
        lines = [line for line in text.splitlines() if line.startswith("cuda_host: ")]
        codes = sorted({code for line in lines for code in re.findall(r"code (0x[0-9a-f]+)", line)})
        places = {}
        if codes:
            out = subprocess.run(["addr2line", "-e", self.plugin, *codes], capture_output=True, text=True).stdout
            places = {code: place.rsplit("/", 1)[-1] for code, place in zip(codes, out.split("\n"))}
        return [re.sub(r"code (0x[0-9a-f]+)", lambda m: places.get(m[1], m[1]), line) for line in lines]


def sites():
    """All barriers of the sources, as FILE:LINE, except those with the comment "redundant"."""
    for path in sorted((ROOT / "cuda").glob("*.cu*")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if BARRIER.search(line.split("//")[0]) and "// redundant" not in line:
                yield f"{path.name}:{number}"


def kernels(plugin):
    """The addresses of all kernels of the plugin."""
    names = set()
    for path in (ROOT / "cuda").glob("*.cu*"):
        if path.name not in ("plugin.cu", "gemm_cublaslt.cu"):  # one does nothing; one is not part of this plugin
            names |= set(KERNEL.findall(path.read_text()))
    table = {}
    for line in subprocess.run(["nm", "-C", plugin], capture_output=True, text=True, check=True).stdout.splitlines():
        match = re.match(r"([0-9a-f]+) [tT] (.*)", line)
        if match and re.search(rf"\b({'|'.join(sorted(names))})(<.*>)?\(", match[2]) and "lambda" not in match[2]:
            table[int(match[1], 16)] = re.sub(r"\(anonymous namespace\)::|xf::cuda::|^void ", "", match[2]).split("(")[0]
    return names, table


def check(runs):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        for name in runs.names():
            status, output, seconds = runs.run(name, log)
            print(f"{name}: status {status}, {seconds:.0f} s", flush=True)
            if status != 0:
                failed += 1
                print("\n".join(runs.located(output) or output.splitlines()[-30:]))
        seen = set(log.read_text().splitlines())
    names, table = kernels(runs.plugin)
    ran = {table[int(line.split()[1], 16)] for line in seen if line.startswith("kernel ") and int(line.split()[1], 16) in table}
    missing = names - {name.split("<")[0] for name in ran}
    left = {line.split()[1] for line in seen if line.startswith("site ")}
    unreached = [site for site in sites() if site not in left]
    print(f"{len(ran)} of {len(table)} instances of {len(names)} kernels ran; barriers reached: "
          f"{len(left & set(sites()))} of {len(list(sites()))}")
    for what, which in ("kernels that did not run", missing), ("barriers that were not reached", unreached):
        if which:
            failed += 1
            print(f"{what}: {' '.join(sorted(which))}")
    return failed


def barriers(runs, files):
    """Returns the number of barriers whose removal is not noticed."""
    noticed = 0
    everything = [site for site in sites() if not files or site.split(":")[0] in files]
    for site in everything:
        found = ""
        for name in NEEDED_BY[site.split(":")[0]]:
            status, output, _ = runs.run(name, XF_RACES_WITHOUT=site, XF_RACES_HALT=1)
            lines = [line for line in runs.located(output) if "race" in line or "uninitialized" in line]
            if status == 66 and lines:
                found = f"{name}: {lines[0].removeprefix('cuda_host: ')}"
                noticed += 1
                break
        print(f"{site}: {found or 'NOT NOTICED'}", flush=True)
    print(f"{noticed} of {len(everything)} barriers are noticed when they are missing")
    return len(everything) - noticed


def main():
    runs = Runs(sys.argv[1])
    failed = barriers(runs, sys.argv[3:]) if sys.argv[2:3] == ["--barriers"] else check(runs)
    sys.exit(1 if failed else 0)


main()
