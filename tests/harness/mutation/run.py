#!/usr/bin/env python3
"""run.py - repeatedly changes the library in one random place and checks whether the tests detect the change.

    tests/harness/mutation/run.py [--count 200] [--seed N] [--jobs N] [--folder FOLDER]    starts a new run
    tests/harness/mutation/run.py --go-on                                                  continues an interrupted run
    tests/harness/mutation/run.py --again [NUMBER...]                                      undetected mutants, with the present tests
    tests/harness/mutation/run.py --report                                                 the results so far

All mutants are in one build (tree.py), in FOLDER, build/mutation by default. Each test runs once on the unchanged
library, which measures its processor time and which mutants it executes. Then the tests that execute a mutant run with
it, the fastest first, until one fails. README.md lists the changes and explains the results.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import concurrent.futures
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import suite  # noqa: E402
import tree  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
SPARE = 1.2  # mutants built per mutant tested, because some do not compile


def begin(options, folder, state_file):
    folder.mkdir(parents=True, exist_ok=True)
    copy, log = folder / "tree", folder / "build.log"
    mutants, sites = tree.choose(ROOT, options.seed, int(options.count * SPARE) + 5)
    print(f"{sites} places, {len(mutants)} mutants, seed {options.seed}", flush=True)
    tree.export(ROOT, copy)
    tree.configure(ROOT, copy, log)
    tree.build(ROOT, copy, mutants, options.jobs, log, lambda build: tree.targets(build, suite.PROGRAMS))
    state = {"seed": options.seed, "sites": sites, "count": options.count, "mutants": mutants, "tests": []}
    tree.save(state_file, state)
    return state


def measure(options, folder, state, state_file):
    known = {test["name"] for test in state["tests"]}
    device = any(suite.of_device(mutant) for mutant in wanted(state))
    todo = [test for test in suite.listed(folder / "tree/build")
            if test["name"] not in known and (device or not suite.ONLY_DEVICE.match(test["name"]))]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed(
                pool.submit(suite.measure, test, folder, len(state["mutants"])) for test in todo):
            test = done.result()
            state["tests"].append(test)
            if not test["passes"]:
                print(f"not used, because it fails without a mutant: {test['name']} ({test['ended']})", flush=True)
            tree.save(state_file, state)


def wanted(state):
    """The first `count` mutants that compiled."""
    return [m for m in state["mutants"] if m.get("result") != "not compiled"][:state["count"]]


def attack(options, state, state_file, mutants):
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(suite.try_mutant, m, state["tests"]): m for m in mutants}
        for done in concurrent.futures.as_completed(running):
            mutant = running[done]
            mutant.pop("by", None)
            mutant.update(done.result())
            print(f"{mutant['number']:4} {mutant['result']:11} {mutant.get('by', ''):32} {mutant['wall']:6.1f} s  "
                  f"{mutant['file']}:{mutant['line']} {mutant['operator']}", flush=True)
            tree.save(state_file, state)


def report(state):
    tried = [m for m in wanted(state) if "result" in m]
    left = [m for m in tried if m["result"] in ("survived", "not reached")]
    killed = len(tried) - len(left)
    tests = [t for t in state["tests"] if t["passes"]]
    print(f"seed {state['seed']}; {state['sites']} places; {len(tests)} tests of {sum(t['seconds'] for t in tests):.0f} s")
    print(f"tried {len(tried)}: killed {killed}, survived {sum(m['result'] == 'survived' for m in left)}, "
          f"not reached {sum(m['result'] == 'not reached' for m in left)}; "
          f"not compiled {sum(m.get('result') == 'not compiled' for m in state['mutants'])}")
    for m in sorted(left, key=lambda m: (m["file"], m["line"])):
        print(f"{m['number']:4} {m['result']}: {m['file']}:{m['line']}: {m['operator']}\n       {m['from']}\n       {m['to']}")
    if tried:
        print(f"killed: {100 * killed / len(tried):.1f} %")


def renew(options, folder, state):
    """Copies the tests of the working tree into the copy, and builds them with the same mutants."""
    shutil.copytree(ROOT / "tests", folder / "tree/tests", dirs_exist_ok=True)
    tree.trim(ROOT, folder / "tree")
    names = tree.targets(folder / "tree/build", suite.PROGRAMS)
    if tree.run(["ninja", "-C", str(folder / "tree/build"), f"-j{options.jobs}", *names], folder / "build.log") != 0:
        raise SystemExit(f"the tests were not built: {folder / 'build.log'}")
    state["tests"] = []


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/mutation")
    parser.add_argument("--go-on", action="store_true")
    parser.add_argument("--again", type=int, nargs="*")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    folder = options.folder.resolve()
    state_file = folder / "state.json"
    if options.report:
        report(json.loads(state_file.read_text(encoding="utf-8")))
        return
    fresh = not options.go_on and options.again is None
    state = begin(options, folder, state_file) if fresh else json.loads(state_file.read_text(encoding="utf-8"))
    if options.again is not None:
        renew(options, folder, state)
        chosen = [m for m in wanted(state) if m.get("result") in ("survived", "not reached")]
        chosen = [m for m in chosen if not options.again or m["number"] in options.again]
    else:
        chosen = [m for m in wanted(state) if "result" not in m]
    measure(options, folder, state, state_file)
    attack(options, state, state_file, chosen)
    report(state)


if __name__ == "__main__":
    main()
