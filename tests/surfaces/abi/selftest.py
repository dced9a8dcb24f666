#!/usr/bin/env python3
"""Plants breaks of the ABI and checks that the gates catch each of them and accept growth.

    selftest.py INCLUDE_FOLDER C_COMPILER C++_COMPILER [--library LIBRARY] [--all] [--jobs N]

The breaks are planted in a stub library, which defines every function that the headers declare as a trap. With --library
the script first checks that the dump of the stub equals the dump of libxformer.so, so what is caught here is also caught
there. The baseline is recorded from the unchanged stub. Each case edits a copy of the headers, the version script, the
option table, or the linker flags, builds the stub again, and runs the same scripts that check libxformer.so. The output
is a table of cases and gates; each case names the gates that must report it.

By default the script runs one case for each set of gates. --all runs every case, which takes a minute: use it after
changing these scripts or updating the tools.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the sources may be read-only
from selftest_cases import CASES, DENIED, EDGES, EXPECTED, OPTIONS  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SONAME = "libxformer.so.0"
GATES = ("acc", "surface", "constants", "options", "layout", "names", "elf")

# Allowed calls: a script that counts the calls of a library must find some.
CALLS = "memcpy memmove memset memcmp memchr strlen strcmp strncmp strchr strrchr malloc free calloc realloc getpid read " \
        "write close open lseek pread pwrite fsync sched_yield strnlen"


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def declarations(include):
    for path in sorted((include / "xformer").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        yield from (" ".join(found.split()) for found in re.findall(r"^XF_API ([^;#]+);", text, flags=re.M))


class World:
    """A copy of everything that defines the ABI, which a case edits, builds, and checks."""

    def __init__(self, folder, include, compilers, baseline):
        self.folder, self.compilers, self.baseline = pathlib.Path(folder), compilers, baseline
        self.include = self.folder / "include"
        self.map = self.folder / "xformer.map"
        self.options = self.folder / "options.txt"
        self.soname = SONAME
        (self.include / "xformer").mkdir(parents=True)
        for header in (include / "xformer").glob("*.h"):
            shutil.copy(header, self.include / "xformer")
        shutil.copy(include / "xformer.map", self.map)
        self.options.write_text(OPTIONS, encoding="utf-8")

    def edit(self, name, old, new):
        path = self.folder / name
        if not path.exists():
            path = self.include / "xformer" / name
        if not path.exists() and old == "":
            path.write_text(new, encoding="utf-8")
            return
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise ValueError(f"{name} contains '{old}' {text.count(old)} times, expected once")
        path.write_text(text.replace(old, new), encoding="utf-8")

    def build(self, flags=(), calls=(), extra=""):
        source, self.library = self.folder / "standin.cpp", self.folder / "libxformer.so"
        functions = "\n".join(f"{one} {{ __builtin_trap(); }}" for one in declarations(self.include))
        names = [*CALLS.split(), *calls]
        used = "".join(f"void {name}_() __asm__(\"{name}\");\n" for name in names) + \
            "void (*volatile used[])() = {" + ", ".join(f"{name}_" for name in names) + "};\n"
        headers = "".join(f'#include "xformer/{path.name}"\n' for path in sorted((self.include / "xformer").glob("*.h")))
        source.write_text(f'{headers}extern "C" {{\n{used}{functions}\n{extra}\n}}\n', encoding="utf-8")
        status, output = run(self.compilers[1], "-std=c++20", "-w", "-g", "-fPIC", "-fvisibility=hidden", "-shared",
                             "-I", self.include, f"-Wl,-soname,{self.soname}", f"-Wl,--version-script={self.map}",
                             "-Wl,-z,relro,-z,now", source, "-o", self.library, *flags)
        if status != 0:
            raise ValueError("the stub library does not compile:\n" + output)

    def gate(self, output=None):
        """Runs gate.sh on the stub."""
        program = self.folder / "options"
        program.write_text(f'#!/bin/sh\ncat "{self.options}"\n', encoding="utf-8")
        program.chmod(0o755)
        return run("sh", HERE / "gate.sh", self.baseline, self.include, self.library, program, self.compilers[0],
                   *([output] if output else []))

    def look(self):
        """Returns the result of each gate (same, grown, or BROKEN) and all output."""
        status, text = self.gate()
        seen = dict(re.findall(r"^(\w+): (same|grown|BROKEN)$", text, flags=re.M))
        if status not in (0, 1, 2) or set(seen) != {"acc", "surface", "constants", "options"}:
            raise ValueError(f"gate.sh exited with {status}:\n{text}")
        if (status == 1) != ("BROKEN" in seen.values()) or (status == 0) != (set(seen.values()) == {"same"}):
            raise ValueError(f"gate.sh exited with {status}, which contradicts its output:\n{text}")
        for name, command in {
                "layout": (sys.executable, HERE / "layout.py", self.include, self.compilers[0]),
                "names": ("sh", HERE / "names.sh", self.include, self.map, self.library, self.compilers[0]),
                "elf": ("sh", HERE / "elf.sh", "library", self.library, self.map)}.items():
            status, output = run(*command)
            seen[name] = "same" if status == 0 else "BROKEN"
            text += output
        return seen, text


def record(world, folder, library):
    """Records the unchanged stub in folder as freeze.sh records libxformer.so, and compares the dumps of both."""
    dump = folder / "xformer-0.0.dump"
    status, text = run("sh", HERE / "dump.sh", world.library, world.include, dump)
    if status == 77:
        print(text)
        sys.exit(77)
    if status != 0:
        raise ValueError("dump.sh failed on the stub library:\n" + text)
    status, text = run(sys.executable, HERE / "constants.py", world.include, world.compilers[0])
    if status != 0:
        raise ValueError("constants.py failed:\n" + text)
    (folder / "constants.txt").write_text(text, encoding="utf-8")
    (folder / "options.txt").write_text(OPTIONS, encoding="utf-8")
    if library:
        real = folder / "library"
        status, text = run("sh", HERE / "dump.sh", library, world.include, real)
        if status != 0:
            raise ValueError(f"dump.sh failed on {library}:\n{text}")
        if dump.read_bytes() != real.read_bytes():
            raise ValueError("the dump of the stub library differs from the dump of libxformer.so:\n" +
                             run("diff", "-u", real, dump)[1])


def verdict(case, seen):
    """Returns an empty string if the gates that must report the case did, or else the difference."""
    broken = {gate for gate in GATES if seen[gate] == "BROKEN"}
    grown = {gate for gate in GATES if seen[gate] == "grown"}
    if case.breaks and not broken:
        return "NOT CAUGHT"
    if case.breaks and broken != set(case.gates):
        return f"caught by {', '.join(sorted(broken))}, expected {', '.join(sorted(case.gates))}"
    if not case.breaks and broken:
        return f"WRONGLY REFUSED by {', '.join(sorted(broken))}"
    if not case.breaks and grown != set(case.gates):
        return f"seen by {', '.join(sorted(grown))}, expected {', '.join(sorted(case.gates))}"
    return ""


def try_case(case, include, compilers, baseline):
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder, include, compilers, baseline)
        try:
            for edit in case.edits:
                world.edit(*edit)
            if case.soname:
                world.soname = case.soname
            world.build(case.flags, extra=case.extra)
            seen, text = world.look()
        except ValueError as error:
            return None, "", str(error)
        return seen, text, verdict(case, seen)


def denylist(include, compilers, baseline):
    """Returns the names of DENIED that denylist.sh accepts, and what it reports for the unchanged stub."""
    missed, complaint = [], ""
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder, include, compilers, baseline)
        world.build()
        for kind in EXPECTED:
            clean, text = run("sh", HERE / "denylist.sh", world.library, kind)
            complaint += "" if clean == 0 else text
        world.build(calls=DENIED.split())
        for kind, expected in EXPECTED.items():
            status, output = run("sh", HERE / "denylist.sh", world.library, kind)
            missed += [f"{kind}: {name}" for name in DENIED.split() if name not in expected.split()
                       and (status == 0 or not re.search(rf"\b{name}\b", output))]
    return missed, complaint


def edges():
    """Returns the cases of EDGES that edges.py accepts."""
    missed = []
    for label, path, old, new in EDGES:
        with tempfile.TemporaryDirectory() as folder:
            lib = pathlib.Path(folder, "lib")
            for part in ("api", "core"):
                shutil.copytree(ROOT / "lib" / part, lib / part)
            shutil.copy(ROOT / "lib" / "xformer.map", lib)
            text = (lib / path).read_text(encoding="utf-8")
            if text.count(old) < 1:
                raise ValueError(f"lib/{path} does not contain '{old}'")
            (lib / path).write_text(text.replace(old, new, 1), encoding="utf-8")
            if run(sys.executable, HERE / "edges.py", lib)[0] == 0:
                missed.append(label)
    return missed


def one_of_each():
    """Returns one case for each set of gates."""
    chosen = {}
    for case in CASES:
        chosen.setdefault((case.breaks, *sorted(case.gates)), case)
    return list(chosen.values())


def main(include, compilers, library, cases, jobs):
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # All cases use one copy of the headers, which may be edited meanwhile.
        shutil.copytree(include / "xformer", folder / "now" / "xformer")
        shutil.copy(ROOT / "lib" / "xformer.map", folder / "now")
        include = folder / "now"
        recorded = folder / "baseline"
        recorded.mkdir()
        world = World(folder / "unchanged", include, compilers, recorded)
        world.build()
        record(world, recorded, library)

        width = max(len(case.label) for case in cases)
        print("\n" + " " * width, *(f"{gate:>9}" for gate in GATES))
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            results = list(pool.map(lambda case: try_case(case, include, compilers, recorded), cases))
        for case, (seen, text, problem) in zip(cases, results):
            shown = {"same": "-", None: "?"}
            marks = [shown.get(seen and seen[gate], seen and seen[gate]) for gate in GATES]
            print(f"{case.label:{width}}", *(f"{mark:>9}" for mark in marks), " " + problem)
            if problem:
                failures += 1
                print(text)
        missed, complaint = denylist(include, compilers, recorded)
    for what, names in (("denylist", missed), ("edges", edges())):
        for name in names:
            print(f"{what}: {name} was NOT CAUGHT")
            failures += 1
    if complaint:
        print("denylist: refuses the unchanged stub library: " + complaint)
        failures += 1
    breaks = sum(case.breaks for case in cases)
    print(f"\n{breaks} breaks of the ABI, {len(DENIED.split())} denied calls, {len(EDGES)} unguarded edges, "
          f"{len(cases) - breaks} cases of growth: {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("include", type=pathlib.Path)
    parser.add_argument("compilers", nargs=2)
    parser.add_argument("--library", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    given = parser.parse_args()
    sys.exit(main(given.include, given.compilers, given.library, CASES if given.all else one_of_each(),
                  given.jobs))
