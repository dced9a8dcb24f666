#!/usr/bin/env python3
"""Runs comm_rank under mpirun: any number of processes writes the same file. If one process dies, stops, or exits, the
others fail within the timeout, and the restarted job writes the same file.

    mpi.py COMM_RANK FAKE_MACHINES [SEED]

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = sys.argv[1]
TWO_PER_MACHINE = ["-x", "LD_PRELOAD=" + sys.argv[2]]  # fake_machines.c
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
# As root and with more ranks than cores, as in a container.
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
STEPS, SHARDS, TIMEOUT = 12, 12, 2.0
START_TIMEOUT = 10  # of rank_program.cpp
failures = 0


def check(good, what):
    global failures
    if not good:
        failures += 1
        print("FAILED: " + what)


def run(ranks, path, steps=STEPS, end=(), timeout=60.0, options=()):
    """Runs a job. Returns the exit status, the output of the ranks, and the duration in seconds."""
    command = MPIRUN + list(options) + ["-n", str(ranks), PROGRAM, path, str(steps), str(SHARDS), str(timeout)]
    began = time.monotonic()
    job = subprocess.Popen(command + [str(value) for value in end], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, start_new_session=True)
    try:
        said = job.communicate(timeout=60)[0]
    except subprocess.TimeoutExpired:
        job.kill()
        said = job.communicate()[0]
        check(False, "a job hung: %s\n%s" % (command, said))
    return job.returncode, said, time.monotonic() - began


def children(parent):
    """Returns the state of each child process: T is stopped, Z has ended."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/%s/stat" % entry) as file:
                    state, of = file.read().rsplit(")", 1)[1].split()[:2]
            except OSError:
                continue
            if int(of) == parent:
                found[int(entry)] = state
    return found


def run_to_death(path, end):
    """Kills or stops one rank. Returns the output, and the seconds until the other ranks have ended. Does not wait for
    mpirun: with recovery it may hang if a rank dies (Open MPI 4.1.4); without, it ends the others."""
    options = [] if end[0] == "stop" else ["--enable-recovery"]
    command = MPIRUN + options + ["-n", "3", PROGRAM, path, str(STEPS), str(SHARDS), str(TIMEOUT)]
    with tempfile.TemporaryFile("w+") as said:
        began = time.monotonic()
        job = subprocess.Popen(command + [str(value) for value in end], stdout=said, stderr=subprocess.STDOUT)
        seen = set()
        while job.poll() is None:
            states = children(job.pid)
            seen |= set(states)
            started = len(seen) == 3 or time.monotonic() > began + 10  # a rank that dies at once may be missed
            if started and all(state in "TZ" for state in states.values()):
                break
            check(time.monotonic() < began + 30, "after %s a rank hung" % (end,))
            if failures:
                break
            time.sleep(0.01)
        seconds = time.monotonic() - began
        time.sleep(0.5)  # until mpirun has forwarded the output
        left = list(children(job.pid))
        job.kill()
        job.wait()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        said.seek(0)
        return said.read(), seconds


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def main():
    with tempfile.TemporaryDirectory() as folder:
        def file(name):
            return os.path.join(folder, name)

        for ranks in (1, 2, 3, 4, 5):
            status, said, _ = run(ranks, file(str(ranks)))
            check(status == 0, "%d ranks: %s" % (ranks, said))
            check(digest(file(str(ranks))) == digest(file("1")), "%d ranks make another file" % ranks)
        # Of five ranks the last machine has only one, and two machines of alternating ranks do not have consecutive ones.
        alternating = ["-x", "XF_TEST_MACHINES=alternating"]
        for ranks, per_machine, options in ((4, 2, []), (6, 2, []), (5, 1, []), (4, 1, alternating)):
            status, said, _ = run(ranks, file("machines"), options=TWO_PER_MACHINE + options)
            check(status == 0 and "ranks per machine: %d\n" % per_machine in said, "machines: " + said)
            check(digest(file("machines")) == digest(file("1")), "%d ranks on machines make another file" % ranks)
            os.remove(file("machines"))
        for before, after in ((5, 2), (1, 3)):
            run(before, file("resumed"), steps=7)
            status, said, _ = run(after, file("resumed"))
            check(status == 0 and digest(file("resumed")) == digest(file("1")), "%d, then %d ranks: %s"
                  % (before, after, said))
            os.remove(file("resumed"))
        for end in ("kill", "exit", "stop"):
            said, seconds = run_to_death(file("faulty"), (end, 1, 7))
            heard = re.findall(r"rank (\d): XF_ERROR_PEER after ([0-9.]+) s", said)
            check({rank for rank, _ in heard} == {"0", "2"} or (end == "stop" and heard), "%s: %s" % (end, said))
            # A stopped or absent rank is silent, and no other rank is blamed. MPI itself may notice that one has died.
            named = re.findall(r"XF_ERROR_PEER after [0-9.]+ s: (?:rank 0: |rank 2: )?(?:rank|MPI .* rank) (\d)", said)
            check(len(named) == len(heard) and set(named) == {"1"}, "%s: %s" % (end, said))
            check(all(float(after) < TIMEOUT + 5 for _, after in heard), "%s: too late: %s" % (end, said))
            print("%s: %.1f s; %s" % (end, seconds, ", ".join("rank %s after %s s" % one for one in heard)))
            status, said, _ = run(2, file("faulty"))
            check(status == 0 and digest(file("faulty")) == digest(file("1")), "after %s: %s" % (end, said))
            os.remove(file("faulty"))
        # A rank that loads or computes for longer than the timeout sends signs of life, until
        # context.comm_work_timeout.
        for end in ("load", "busy"):
            status, said, seconds = run(3, file("faulty"), end=(end, 1, 7), timeout=TIMEOUT)
            check(status == 0 and seconds > 2.5 * TIMEOUT and digest(file("faulty")) == digest(file("1")),
                  "%s: %s" % (end, said))
            os.remove(file("faulty"))
        _, said, _ = run(3, file("faulty"), end=("late", 1, 7), timeout=TIMEOUT, options=["--enable-recovery"])
        heard = re.findall(r"rank (\d): XF_ERROR_PEER after ([0-9.]+) s: rank 1 is alive but did not make this call", said)
        check({rank for rank, _ in heard} >= {"0", "2"} and all(1 <= float(after) for _, after in heard[:2]),
              "late: " + said)
        os.remove(file("faulty"))
        # An abort reaches the other ranks at once, with its reason, before the timeout and before the rank exits.
        _, said, _ = run(3, file("faulty"), end=("abort", 1, 7), timeout=30.0, options=["--enable-recovery"])
        heard = re.findall(r"rank (\d): XF_ERROR_PEER after ([0-9.]+) s: rank 1: the test \?\? requested it", said)
        check({rank for rank, _ in heard} == {"0", "2"}, "abort: " + said)
        check(all(float(after) < 15 for _, after in heard), "abort: too late: " + said)
        os.remove(file("faulty"))
        # At random times, and while MPI, which waits for all ranks, shuts down.
        print("seed %d" % SEED)
        chosen = random.Random(SEED)
        ends = [(end, 1, "%.4fs" % chosen.uniform(0, 0.7)) for end in ("kill", "stop") * 2]
        for end in ends + [("kill", 1, "end"), ("stop", 1, "end")]:
            said, seconds = run_to_death(file("faulty"), end)
            died = re.search(r"a rank: (\w+) in (\w+)", said)
            check(all(text.startswith("XF_ERROR_PEER") for text in re.findall(r"rank -?\d: (XF_\w+)", said)), said)
            check(all(float(after) < START_TIMEOUT + 5 for after in re.findall(r"after ([0-9.]+) s", said)), said)
            print("%s: in %s; %.1f s" % (" ".join(str(word) for word in end), died and died[2], seconds))
            status, said, _ = run(2, file("faulty"))
            check(status == 0 and digest(file("faulty")) == digest(file("1")), "after %s: %s" % (end, said))
            os.remove(file("faulty"))
    print("%d failures" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
