#!/usr/bin/env python3
"""Runs the tests of the quick suite of a build under a checker or in an emulator, and counts its reports.

    suite.py FOLDER --targets                      what the suite needs built, one name of the build's a line
    suite.py FOLDER [OPTION...] [-- WRAPPER...]    runs each test, prefixed by WRAPPER

    --only REGEX     of the tests, those whose name matches
    --without REGEX  not those whose name matches
    --suite REGEX    another suite: tests that run a program of this build and whose name matches
    --jobs N         tests that run at the same time (1)
    --seconds N      for each test (600); what takes longer is stopped and counted as not finished
    --found REGEX    a line of output that is the checker's finding; default: those of the sanitizers and of valgrind
    --log FOLDER     where each test's output goes, NAME.log

The quick suite: every test of ctest that runs a program of tests/, except those labelled slow or
sources and without programs that start others. A test that fails on its own account is counted apart from findings: a
checker takes so much longer that what proves a time may fail. The exit status is 0 when all passed and nothing was found.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import time

# comm_kills starts ranks and kills them, host_loads_ counts mappings of a plain process.
SUITE = re.compile(r"(unit|golden|api|fault|fuzz|backend|host)_(?!loads)|hpp$")
FOUND = (r"^(==\d+==)?\s*(ERROR: \w+Sanitizer|WARNING: \w+Sanitizer: )|runtime error: |^SUMMARY: \w+Sanitizer"
         r"|^==\d+== ERROR SUMMARY: [1-9]|^==\d+==\s+(definitely|indirectly) lost: [1-9]")


def tests_of(folder, suite):
    """Yields (name, program) from the files that add_test() wrote, which exist before the build."""
    for at, _, files in os.walk(os.path.join(folder, "tests")):
        if "CTestTestfile.cmake" in files:
            with open(os.path.join(at, "CTestTestfile.cmake"), encoding="utf-8") as file:
                # In a cross build, the command begins with the emulator.
                for name, program in re.findall(rf'^add_test\(\[=\[(\S+)\]=\] (?:"[^"]*qemu[^"]*" )?"({folder}/bin/[^"]+)"',
                                                file.read(), re.M):
                    if suite.match(name):
                        yield name, program


def listed(folder):
    """ctest's own view: command, environment, folder."""
    command = ["ctest", "--test-dir", folder, "--show-only=json-v1"]
    text = subprocess.run(command, check=True, capture_output=True).stdout
    for test in json.loads(text)["tests"]:
        properties = {p["name"]: p["value"] for p in test["properties"]}
        if not set(properties.get("LABELS", [])) & {"slow", "sources"}:
            yield test["name"], (test.get("command"), properties)


def run(command, environment, folder, log, seconds):
    """The exit status, None when it took too long."""
    with open(log, "wb") as out:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with what it forked
            process.wait()
            return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=os.path.abspath)
    parser.add_argument("--targets", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--without", default="(?!)")
    parser.add_argument("--suite", type=re.compile, default=SUITE)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--found", default=FOUND)
    parser.add_argument("--log")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args, wrapper = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1:]
    ctest = dict(listed(args.folder))
    tests = sorted({name: program for name, program in tests_of(args.folder, args.suite)
                    if name in ctest and re.search(args.only, name) and not re.search(args.without, name)}.items())
    if args.targets:
        print("\n".join(sorted({os.path.relpath(program, args.folder) for _, program in tests})))
        return 0
    logs = args.log or os.path.join(args.folder, "checkers")
    os.makedirs(logs, exist_ok=True)
    count = {"passed": 0, "with findings": 0, "failed": 0, "not finished": 0}
    start = time.monotonic()

    def check(name):
        command, properties = ctest[name]
        environment = dict(os.environ)
        environment.update(item.split("=", 1) for item in properties.get("ENVIRONMENT", []))
        log = os.path.join(logs, name + ".log")
        before = time.monotonic()
        status = run(wrapper + command, environment, properties["WORKING_DIRECTORY"], log, args.seconds)
        with open(log, encoding="utf-8", errors="replace") as file:
            found = [line.strip() for line in file if re.search(args.found, line)]
        verdict = ("with findings" if found else "not finished" if status is None else
                   "failed" if status else "passed")
        took = time.monotonic() - before
        print(f"{name}: {verdict}, {took:.0f} s" + "".join("\n    " + f for f in found[:3]), flush=True)
        return verdict

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for verdict in pool.map(check, (name for name, _ in tests)):
            count[verdict] += 1
    print(f"{len(tests)} tests in {time.monotonic() - start:.0f} s: " + ", ".join(f"{n} {w}" for w, n in count.items()))
    return 0 if tests and count["passed"] == len(tests) else 1


sys.exit(main())
