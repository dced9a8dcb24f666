#!/usr/bin/env python3
"""Runs comm_rank under mpirun: any number of processes makes the same file, and one that dies, stops or leaves is an
error on the others, in time, from which the job goes on to the same file.

    mpi.py COMM_RANK

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time

PROGRAM = sys.argv[1]
# As root and with more ranks than cores, as in a container.
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
STEPS, SHARDS, TIMEOUT = 12, 12, 2.0
failures = 0


def check(good, what):
    global failures
    if not good:
        failures += 1
        print("FAILED: " + what)


def run(ranks, path, steps=STEPS, end=(), timeout=60.0, options=()):
    """The status, what the ranks said, and the seconds."""
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


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def main():
    with tempfile.TemporaryDirectory() as folder:
        def file(name):
            return os.path.join(folder, name)

        for ranks in (1, 2, 3, 4):
            status, said, _ = run(ranks, file(str(ranks)))
            check(status == 0, "%d ranks: %s" % (ranks, said))
            check(digest(file(str(ranks))) == digest(file("1")), "%d ranks make another file" % ranks)
        for before, after in ((4, 2), (1, 3)):
            run(before, file("resumed"), steps=7)
            status, said, _ = run(after, file("resumed"))
            check(status == 0 and digest(file("resumed")) == digest(file("1")), "%d, then %d ranks: %s"
                  % (before, after, said))
            os.remove(file("resumed"))
        # Without recovery mpirun itself ends the ranks that are left. One that is stopped it would wait for.
        for end, options in (("kill", ["--enable-recovery"]), ("exit", ["--enable-recovery"]), ("stop", [])):
            _, said, seconds = run(3, file("faulty"), end=(end, 1, 7), timeout=TIMEOUT, options=options)
            heard = re.findall(r"rank (\d): XF_ERROR_PEER after ([0-9.]+) s", said)
            check({rank for rank, _ in heard} == {"0", "2"} or (end == "stop" and heard), "%s: %s" % (end, said))
            check(all(float(after) < TIMEOUT + 1 for _, after in heard), "%s: too late: %s" % (end, said))
            print("%s: %.1f s; %s" % (end, seconds, ", ".join("rank %s after %s s" % one for one in heard)))
            status, said, _ = run(2, file("faulty"))
            check(status == 0 and digest(file("faulty")) == digest(file("1")), "after %s: %s" % (end, said))
            os.remove(file("faulty"))
    print("%d failures" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
