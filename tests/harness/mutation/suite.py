"""suite.py - runs each test of a build separately: its cost, the mutants that it executes, and whether it passes.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

# Not used: tests of the sources, packages, and bindings; tests that run the program of another test in a different
# environment; and those of the emulated GPU itself, which are slow.
LEFT_OUT = re.compile(r"abi_|docs_|install_|package|amalgamation|platform_|style_|binding_|hpp_headers|bench_|comm_mpi|comm_kills|"
                      r"unit_comm_nccl|api_coverage|storm_formats|storm_strange|cuda_host_|backend_")
ONLY_DEVICE = re.compile(r"\w+_cuda$")
PROGRAMS = r"(?!unit_comm_nccl)(unit_|golden|api_|fault_|fuzz_replay|host_|storm_|soak|hpp)"
# Tests that can fail on a loaded machine must fail twice.
TIMED = re.compile(r"api_(cancel|busy|process)|host_|storm_|soak|hpp|unit_comm|unit_core_thread_pool|unit_decode_concurrency|fault_kills")
SPARE = 64 << 30  # address space of a test, in bytes: stops a mutant that allocates without end


def listed(folder):
    said = subprocess.run(["ctest", "--test-dir", str(folder), "--show-only=json-v1"], check=True,
                          stdout=subprocess.PIPE).stdout
    tests = []
    for test in json.loads(said)["tests"]:
        command = test.get("command")
        if not command or LEFT_OUT.match(test["name"]) or not os.path.exists(command[0]):
            continue
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        tests.append({"name": test["name"], "command": command, "environment": properties.get("ENVIRONMENT", [])})
    return tests


# As root, a mutant that does not refuse devices could replace those of the machine by files, so /dev is read-only.
HELD = ["unshare", "--mount", "sh", "-c",
        'mount --rbind /dev /dev && mount -o remount,bind,ro /dev && exec "$@"', "sh"] if os.geteuid() == 0 else []


def limits(seconds):
    def apply():
        os.setsid()
        os.nice(5)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (SPARE, SPARE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return apply


def once(test, mutant=0, reached=None, processor=600, wall=1200):
    """Runs a test. Returns whether it passed, how it ended, and its processor seconds."""
    folder = tempfile.mkdtemp(prefix="xf_mutant_")
    environment = dict(os.environ, TMPDIR=folder, XF_MUTANT=str(mutant))
    environment.update(line.split("=", 1) for line in test["environment"])
    if reached:
        environment["XF_MUTANTS_REACHED"] = str(reached)
    with open(os.path.join(folder, "said"), "wb") as out:
        process = subprocess.Popen(HELD + test["command"], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=out, preexec_fn=limits(int(processor)))
        ended, code, usage = None, None, None
        deadline = time.monotonic() + wall
        pause = 0.005
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                process.returncode = code
                break
            if time.monotonic() > deadline:
                ended = "time"
                os.killpg(process.pid, signal.SIGKILL)
                _, _, usage = os.wait4(process.pid, 0)
                process.returncode = code = -signal.SIGKILL
                break
            time.sleep(pause)
            pause = min(pause * 1.5, 0.2)
    try:
        os.killpg(process.pid, signal.SIGKILL)  # its remaining children
    except (ProcessLookupError, PermissionError):
        pass
    if ended is None:
        ended = "passed" if code == 0 else f"status {code}" if code > 0 else signal.Signals(-code).name
    shutil.rmtree(folder, ignore_errors=True)
    return code == 0, ended, usage.ru_utime + usage.ru_stime


def measure(test, folder, count):
    """Runs the test without a mutant, and records which mutants it executes."""
    reached = folder / (test["name"] + ".reached")
    reached.write_bytes(bytes(4096))
    test["passes"], test["ended"], test["seconds"] = once(test, reached=reached)
    marks = reached.read_bytes()
    test["reaches"] = [n for n in range(1, count + 1) if marks[n]]
    reached.unlink()
    return test


def of_device(mutant):
    """Returns whether the mutant is in the device search, which only the tests on the emulated GPU execute."""
    return "/device_" in mutant["file"]


def try_mutant(mutant, tests):
    """Runs the tests that execute this mutant, the fastest first, until one fails."""
    number, began = mutant["number"], time.monotonic()
    able = [t for t in tests if t["passes"] and number in t["reaches"]
            and (of_device(mutant) or not ONLY_DEVICE.match(t["name"]))]
    found = {"result": "survived", "tests": len(able), "doubts": []}
    for test in sorted(able, key=lambda t: t["seconds"]):
        most = {"processor": 3 * test["seconds"] + 10, "wall": 30 * test["seconds"] + 60}
        good, ended, _ = once(test, number, **most)
        if good:
            continue
        if TIMED.match(test["name"]) and once(test, number, **most)[0]:
            found["doubts"].append(test["name"])  # failed because of load
            continue
        found.update(result="killed", by=test["name"], ended=ended)
        break
    if not able:
        found["result"] = "not reached"
    found["wall"] = round(time.monotonic() - began, 1)
    return found
