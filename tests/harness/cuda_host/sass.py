#!/usr/bin/env python3
"""Checks the machine code of the CUDA kernels. Requires cuobjdump and nvdisasm, but no GPU.

    sass.py FILE...             FILE: the plugin, or objects that nvcc made
    sass.py --record FILE...    writes registers.tsv

- No kernel spills registers or has a stack frame, and none has local loads or stores.
- No atomic operation on floating-point numbers: their order would differ from run to run.
- Kernels of aligned rows have loads of 128 bits.
- No kernel uses more registers than registers.tsv says for its architecture. The numbers are those of one release of
  nvcc; with another (--compiler VERSION names it) they are not compared. Kernels that are not recorded are counted.

Exit status: 0 success, 1 a check failed, 77 a tool is missing.
"""
import pathlib
import re
import shutil
import subprocess
import sys

TABLE = pathlib.Path(__file__).parent / "registers.tsv"
# Instances of these kernels whose template arguments match the pattern load aligned rows.
WIDE = {
    "warp_fwd_kernel": r", true", "block_fwd_kernel": r", true", "warp_bwd_kernel": r", true", "adam_kernel": r"true",
    "row_loss_kernel": r"", "kept_row_kernel": r"", "reduce_tile": r"", "few_rows_kernel": r", true>$", "few_rows_fp32": r"true",
    "attention_step_64": r", true", "forward_mma": r"", "backward_mma": r"", "many_rows_kernel": r", true>$",
}
LOAD_128 = re.compile(r"\bLD(G|GSTS)\.[A-Z0-9.]*128\b")
LOCAL = re.compile(r"\b(LDL|STL)\b")
FLOAT_ATOMIC = re.compile(r"\b(RED|ATOM)[GS]?\.[A-Z0-9.]*(F16|BF16|F32|F64)")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def readable(names):
    """Mangled to short names: backward_mma<64>."""
    names = sorted(names)
    lines = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    table = {}
    for name, line in zip(names, lines.splitlines()):
        line = re.sub(r"\(anonymous namespace\)::|xf::cuda::|^void ", "", line).replace("__nv_bfloat16", "bf16")
        table[name] = re.sub(r"\((?!int\)|bool\)).*", "", re.sub(r"\((int|bool)\)", "", line))
    return table


class Kernel:
    def __init__(self):
        self.registers = self.stack = self.local = 0
        self.lines = []


def read(paths, with_code):
    """{(architecture, mangled name): Kernel}"""
    kernels = {}
    for path in paths:
        arch = name = None
        for line in run("cuobjdump", "--dump-resource-usage", path).splitlines():
            if match := re.match(r"arch = (sm_\d+)", line):
                arch = match[1]
            elif match := re.match(r" *Function (\S+):", line):
                name = match[1]
            elif match := re.match(r" *REG:(\d+) STACK:(\d+) SHARED:\d+ LOCAL:(\d+)", line):
                kernel = kernels.setdefault((arch, name), Kernel())
                kernel.registers, kernel.stack, kernel.local = map(int, match.groups())
        for line in run("cuobjdump", "-sass", path).splitlines() if with_code else ():
            if match := re.match(r"\s*code for (sm_\d+)", line):
                arch = match[1]
            elif match := re.match(r"\s*Function : (\S+)", line):
                kernel = kernels.setdefault((arch, match[1]), Kernel())
            elif re.search(r"\b(LD|ST|RED|ATOM)", line):
                kernel.lines.append(line)
    return kernels


def main():
    arguments, compiler, record = sys.argv[1:], None, False
    if "--compiler" in arguments:
        at = arguments.index("--compiler")
        compiler = arguments[at + 1]
        del arguments[at : at + 2]
    if "--record" in arguments:
        record = True
        arguments.remove("--record")
    for tool in "cuobjdump", "nvdisasm", "c++filt":
        if shutil.which(tool) is None:
            print(f"sass.py: {tool} was not found")
            return 77
    kernels = read(arguments, not record)
    short = readable({name for _, name in kernels})
    used = {}
    for (arch, name), kernel in kernels.items():
        key = (short[name], arch)
        used[key] = max(used.get(key, 0), kernel.registers)
    if record:
        archs = sorted({arch for _, arch in used}, key=lambda arch: int(arch[3:]))
        with open(TABLE, "w", encoding="utf-8") as file:
            print("\t".join(["kernel, registers by nvcc " + (compiler or "?"), *archs]), file=file)
            for kernel in sorted({kernel for kernel, _ in used}):
                print("\t".join([kernel, *(str(used.get((kernel, arch), "-")) for arch in archs)]), file=file)
        return 0
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()]
    recorded = {(row[0], arch): row[i] for row in rows[1:] for i, arch in enumerate(rows[0]) if i > 0}
    release = rows[0][0].rsplit(" ", 1)[1]
    comparable = compiler is None or compiler.split(".")[:2] == release.split(".")[:2]
    failures = []
    for (arch, name), kernel in sorted(kernels.items()):
        what = f"{short[name]}, {arch}"
        if kernel.stack or kernel.local or any(LOCAL.search(line) for line in kernel.lines):
            failures.append(f"{what}: a stack frame of {kernel.stack} bytes, or local memory")
        if any(FLOAT_ATOMIC.search(line) for line in kernel.lines):
            failures.append(f"{what}: a floating-point atomic")
        base = short[name].split("<")[0]
        if base in WIDE and re.search(WIDE[base], short[name]) and not any(map(LOAD_128.search, kernel.lines)):
            failures.append(f"{what}: no load of 128 bits")
    known = {key: int(recorded[key]) for key in used if comparable and recorded.get(key, "-") != "-"}
    for (kernel, arch), limit in sorted(known.items()):
        if used[kernel, arch] > limit:
            failures.append(f"{kernel}, {arch}: {used[kernel, arch]} registers, recorded: {limit}")
    print("\n".join(failures))
    print(f"{len(kernels)} kernels for {' '.join(sorted({arch for arch, _ in kernels}))}, registers of {len(known)} of "
          f"{len(used)} compared: {len(failures)} failures")
    return 1 if failures or not kernels else 0


sys.exit(main())
