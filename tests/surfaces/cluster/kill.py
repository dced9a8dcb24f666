#!/usr/bin/env python3
"""kill.py - runs a command and kills one of its processes while it works.

    kill.py GLOB COUNT NAME COMMAND...

When COUNT files or folders match GLOB, sends SIGKILL to one descendant process of COMMAND whose command line contains
NAME. Exits with the status of COMMAND, or with 99 if COMMAND ended before a process was killed.

SPDX-License-Identifier: Apache-2.0
"""
import glob
import os
import pathlib
import signal
import subprocess
import sys
import time


def parents():
    """pid -> pid of its parent, of every process there is."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass  # it ended
    return found


def below(ancestor):
    """The pids of everything that a process has started, and what those have."""
    parent_of, found, grown = parents(), {ancestor}, True
    while grown:
        more = {pid for pid, parent in parent_of.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return found - {ancestor}


def command_line(pid):
    try:
        return pathlib.Path("/proc/%d/cmdline" % pid).read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def main():
    pattern, count, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    command = subprocess.Popen(sys.argv[4:])
    killed = False
    while command.poll() is None:
        done = len(glob.glob(pattern))
        victims = sorted(pid for pid in below(command.pid) if name in command_line(pid)) if done >= count else []
        if victims and not killed:
            os.kill(victims[0], signal.SIGKILL)
            killed = True
            print("kill.py: killed one of %d '%s' with %d pieces done" % (len(victims), name, done), flush=True)
        time.sleep(0.1)
    if not killed:
        print("kill.py: the command ended, and nothing had been killed", flush=True)
    sys.exit(command.returncode if killed else 99)


if __name__ == "__main__":
    main()
