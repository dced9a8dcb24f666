"""tree.py - creates a copy of the sources that contains all mutants, and builds it.

One build contains every mutant; XF_MUTANT selects one when a program runs (mutant.h). A region with a value becomes
(on(17) ? (changed) : (original)), and a statement becomes { if (on(17)) changed else original }. Line numbers do not
change.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import random
import re
import shutil
import subprocess

import sites

FILES = ["lib/core/*.cpp", "lib/text/**/*.cpp", "lib/decode/*.cpp", "lib/api/*.cpp", "lib/data/*.cpp",
         "lib/nn/model_file*.cpp", "lib/train/checkpoint.cpp", "lib/train/position.cpp"]
MOST = 4095  # the last byte of the file of executed mutants (mutant.h)


def choose(root, seed, count):
    """Returns mutants in random order: of a random region, one random change. Also returns the number of regions."""
    every = []
    for path in sorted(path for pattern in FILES for path in root.glob(pattern)):
        bare, regions = sites.regions(path.read_text(encoding="utf-8"))
        every += [(str(path.relative_to(root)), bare, region) for region in regions]
    rng = random.Random(seed)
    rng.shuffle(every)
    mutants = []
    for file, bare, (kind, begin, end, possible) in every[:min(count, MOST)]:
        name, first, last, new = rng.choice(possible)
        whole = bare[begin:end]
        changed = f"!({whole})" if new is None else bare[begin:first] + new + bare[last:end]
        mutants.append({
            "number": len(mutants) + 1, "file": file, "line": bare.count("\n", 0, first) + 1,
            "lines": [bare.count("\n", 0, begin) + 1, bare.count("\n", 0, end) + 1], "kind": kind, "operator": name,
            "begin": begin, "end": end, "from": " ".join(whole.split()), "to": " ".join(changed.split())})
    return mutants, len(every)


def instrument(text, mutants):
    """Returns the source with these mutants, which do not overlap."""
    bare, _ = sites.mask(text)
    for mutant in sorted(mutants, key=lambda m: -m["begin"]):
        begin, end = mutant["begin"], mutant["end"]
        chosen, whole = f"xf_mutation::on({mutant['number']})", bare[begin:end]
        if mutant["kind"] in ("statement", "check"):
            new = f"{{ if ({chosen}) {{ {mutant['to']} }} else {{ {whole} }} }}"
        else:
            new = f"({chosen} ? ({mutant['to']}) : ({whole}))"
        bare = bare[:begin] + new + bare[end:]
    return bare


def run(command, log, **options):
    with open(log, "ab") as out:
        return subprocess.run(command, stdout=out, stderr=out, check=False, **options).returncode


def export(root, tree):
    """Copies the tracked and the new files of the working tree, and deletes all others except those of the build."""
    said = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=root, check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    names = {name for name in said.split("\0") if (root / name).is_file()}
    for path in tree.glob("**/*"):
        name = str(path.relative_to(tree))
        if path.is_file() and name not in names and not name.startswith("build/"):
            path.unlink()
    for name in names:
        target = tree / name
        if not target.is_file() or target.read_bytes() != (root / name).read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target)


def write(root, tree, mutants):
    """Writes the files that contain mutants into the copy."""
    for file in sorted({m["file"] for m in mutants}):
        text = (root / file).read_text(encoding="utf-8")
        changed = instrument(text, [m for m in mutants if m["file"] == file and m.get("result") != "not compiled"])
        target = tree / file
        if target.read_text(encoding="utf-8") != changed:
            target.write_text(changed, encoding="utf-8")


def trim(root, tree):
    """Removes the tests of the ABI, which compile the files of the API again, and the dependency of other tests on the
    emulated GPU, which is built only on request."""
    text = (root / "tests/CMakeLists.txt").read_text(encoding="utf-8")
    for gone in (" abi ", "    add_dependencies(${program} xformer_cuda_host)\n"):
        assert gone in text
        text = text.replace(gone, " " if gone.endswith(" ") else "")
    (tree / "tests/CMakeLists.txt").write_text(text, encoding="utf-8")


def configure(root, tree, log):
    """Compiles each folder with mutants as one file, in a fraction of the time, and all others as in a release."""
    listing = tree / "lib/CMakeLists.txt"
    text = (root / "lib/CMakeLists.txt").read_text(encoding="utf-8")
    for path in sorted(path for pattern in FILES for path in root.glob(pattern)):
        text += (f"\nset_source_files_properties(${{PROJECT_SOURCE_DIR}}/{path.relative_to(root)} "
                 f"TARGET_DIRECTORY xformer_core PROPERTIES UNITY_GROUP {path.parent.name})")
    # Removes an early return, which would skip these lines.
    text += "\nset_target_properties(xformer_core PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)\n"
    listing.write_text(text.replace("if(NOT XF_INSTALL)\n  return()\nendif()\n", "", 1), encoding="utf-8")
    trim(root, tree)
    launcher = str(root / "tests/harness/mutation/launch.sh")
    if run(["cmake", "-S", str(tree), "-B", str(tree / "build"), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
            "-DXF_CUDA=OFF", "-DXF_WERROR=ON", "-DXF_BUILD_EXAMPLES=OFF", "-DXF_INSTALL=ON",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}", f"-DCMAKE_C_COMPILER_LAUNCHER={launcher}"], log) != 0:
        raise SystemExit(f"cmake failed: {log}")


def build(root, tree, mutants, jobs, log, programs):
    """Drops mutants that do not compile, compiles the others, and links the programs of the tests."""
    folder, part = tree / "build", log.with_suffix(".compile")
    while True:
        write(root, tree, mutants)
        live = [m for m in mutants if m.get("result") != "not compiled"]
        print(f"compiling {len(live)} mutants in {len({m['file'] for m in live})} files", flush=True)
        part.unlink(missing_ok=True)
        objects = [f"lib/CMakeFiles/xformer_core.dir/Unity/unity_{name}_cxx.cxx.o"
                   for name in sorted({m["file"].split("/")[-2] for m in live})]
        if run(["ninja", "-C", str(folder), f"-j{jobs}", "-k0", *objects], part,
               env=dict(os.environ, XF_MUTATION_SYNTAX="1")) == 0:
            break
        said = part.read_text(encoding="utf-8", errors="replace")
        bad = {(file, int(line)) for file, line in re.findall(r"(lib/[\w/]+\.cpp):(\d+):\d+: error", said)}
        dropped = []
        for file, line in bad:  # the mutant on this line, or the last one before it
            dropped += sorted((m for m in live if m["file"] == file and m["lines"][0] <= line),
                              key=lambda m: m["lines"][0])[-1:]
        if not dropped:
            raise SystemExit(f"the build failed: {part}")
        for mutant in dropped:
            mutant["result"] = "not compiled"
    if run(["ninja", "-C", str(folder), f"-j{jobs}", *programs(folder)], log) != 0:
        raise SystemExit(f"the tests were not built: {log}")


def targets(folder, pattern):
    """Returns the programs whose names match, and the emulated GPU, on which trim() left no dependency."""
    said = subprocess.run(["ninja", "-C", str(folder), "-t", "targets", "all"], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    plugin = re.findall(r"^(xformer_cuda_host): phony", said, re.M)
    return plugin + [name for name in re.findall(r"^(bin/[\w.]+):", said, re.M)
                     if re.match(pattern, os.path.basename(name))]


def save(path, state):
    path.with_suffix(".new").write_text(json.dumps(state, indent=1), encoding="utf-8")
    path.with_suffix(".new").replace(path)
