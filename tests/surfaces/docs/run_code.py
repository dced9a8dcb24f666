#!/usr/bin/env python3
"""run_code.py - compiles the programs of a guide, runs its shell blocks, and compares what they print.

    run_code.py PAGE.md WORK --library FILE --compiler CC [--flags FLAGS] [--needs FOLDER]

Every program that the page shows, all in the folder code/, is compiled as strict C99 with warnings as errors. The
blocks marked "run" then run in order, unchanged, in the folder WORK, which contains the programs: pkg-config gives the
library FILE and the FLAGS of its build, "cc" is CC. --needs is the folder of an earlier page, whose data and models are
used.

A line of output is right when it is the one shown; a number with a decimal point may be another number, because
rounding depends on the backend and times on the machine, and "..." stands for anything.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pages

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
LIMIT = 900  # seconds for a block; plain loops under a sanitizer are slow


def pattern(line):
    """A regular expression for a shown line."""
    parts = re.split(r"(\.\.\.|\d+\.\d+)", line)
    return "".join(".*" if part == "..." else r"\d+\.\d+" if re.fullmatch(r"\d+\.\d+", part) else re.escape(part)
                   for part in parts)


def compare(shown, found):
    """Sentences on how what was found differs from what is shown; none when it doesn't."""
    shown, found = shown.rstrip("\n").split("\n"), found.rstrip("\n").split("\n")
    faults = [f"printed '{f}', the page shows '{s}'" for s, f in zip(shown, found) if not re.fullmatch(pattern(s), f)]
    if len(shown) != len(found):
        faults.append(f"printed {len(found)} lines, the page shows {len(shown)}")
    return faults


def prepare(work, library, compiler, flags):
    """The environment in which a reader's commands find the library."""
    tools = work / "tools"
    tools.mkdir(parents=True)
    (tools / "cc").symlink_to(shutil.which(compiler) or compiler)
    (tools / "xformer.pc").write_text(
        "Name: libxformer\nDescription: the library of this build\nVersion: 0\n"
        f"Cflags: -I{pages.ROOT / 'include'} {flags}\n"
        f"Libs: {library} -Wl,-rpath,{library.parent} {flags}\n", encoding="utf-8")
    return os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "PKG_CONFIG_PATH": str(tools)}


def compile_programs(page, blocks, work, environment):
    """Every program shown must be sound C99; the shell blocks make what is run."""
    programs = {shown[0] for shown in (pages.shown_file(page, block.mark) for block in blocks) if shown}
    for program in sorted(programs):
        if program.suffix == ".c":
            command = " ".join(["cc", *STRICT, "-fsyntax-only", program.name, "$(pkg-config --cflags xformer)"])
            subprocess.run(["sh", "-c", command], cwd=work, env=environment, check=True)
    return programs


def run(page, work, environment):
    blocks = pages.blocks(page.read_text(encoding="utf-8"))
    programs = compile_programs(page, blocks, work, environment)
    commands, printed, faults, runs = "", "", [], 0
    for block in blocks:
        if block.mark == "run":
            commands += block.text
            done = subprocess.run(["sh", "-eu"], input=block.text, cwd=work, env=environment, capture_output=True,
                                  text=True, timeout=LIMIT, check=False)
            printed = done.stdout
            runs += 1
            if done.returncode != 0:
                faults.append(f"{page.name}:{block.line}: ended with {done.returncode}\n{printed}{done.stderr}")
        elif block.mark == "output":
            faults += [f"{page.name}:{block.line}: {fault}" for fault in compare(block.text, printed)]
    for program in sorted(programs):
        if program.suffix != ".h" and program.name not in commands:
            faults.append(f"{page.name} shows {program.name} and does not run it")
    return faults, runs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--flags", default="")
    parser.add_argument("--needs", type=pathlib.Path)
    options = parser.parse_args()
    page, work = options.page.resolve(), options.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for source in sorted((page.parent / "code").iterdir()):
        shutil.copy(source, work)
    for made in sorted(options.needs.iterdir()) if options.needs else []:
        if made.suffix in (".tsv", ".xf"):
            shutil.copy(made, work)
    faults, runs = run(page, work, prepare(work, options.library.resolve(), options.compiler, options.flags))
    print("\n".join(faults) or f"{page.name}: {runs} blocks ran")
    sys.exit(bool(faults) or runs == 0)


if __name__ == "__main__":
    main()
