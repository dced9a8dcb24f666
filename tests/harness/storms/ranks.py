#!/usr/bin/env python3
"""Storms of failing ranks: jobs of `translate train` under mpirun, in each of which a random rank is killed or stopped at
a random time. Ends with 1 if a limit is missed.

    ranks.py BUILD [--jobs 60] [--seeds 1] [--seed N] [--timeout 2] [--stopped 30] [--ledger]

In each job, one of 2 to 4 ranks receives SIGKILL or SIGSTOP; a stopped rank receives SIGKILL after --stopped seconds.
Limits:

- Each other rank ends within context.comm_timeout (--timeout) and 1.5 s. If the signal comes before all ranks have
  joined, context.comm_start_timeout, 10 s, applies instead.
- Each other rank that ends with an error prints a message that names the failed rank, except if mpirun ended it.
- The job is then started again with --continue and 1 to 4 ranks. Its model and checkpoint equal those of a single
  process that was not disturbed.

Half of the jobs run with --enable-recovery; otherwise mpirun ends all ranks when one dies. mpirun itself may hang after
all its ranks have ended; this is counted and is not an error.

--ledger adds a row for each seed to tests/harness/evidence/ledger.tsv. Not part of run.sh: a job takes 10 to 60 seconds.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import hashlib
import os
import pathlib
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
START_TIMEOUT, MARGIN, RESTART_LIMIT, LAUNCHER_LIMIT = 10.0, 1.5, 300.0, 10.0
SHARDS, STEPS, SAVE_EVERY, MOST_RANKS = 4, 60, 5, 4


class Storm:
    def __init__(self, arguments, folder):
        build = pathlib.Path(arguments.build).resolve()
        self.program, self.folder, self.arguments = build / "bin/translate", folder, arguments
        self.environment = dict(os.environ, XF_BACKEND_PATH=str(build / "lib"))
        text = (ROOT / "examples/translate/data/small.tsv").read_text().splitlines(True)
        (folder / "pairs.tsv").write_text("".join(text[:120]))

    def command(self, model):
        return [str(self.program), "train", "--train", "pairs.tsv", "--preset", "tiny", "--model.d_model", "16",
                "--model.d_ff", "32", "--tokenizer.vocab_size", "300", "--data.batch_tokens", "400", "--threads", "1",
                "--dev-sentences", "2", "--train.shards", str(SHARDS), "--steps", str(STEPS), "--save-every",
                str(SAVE_EVERY), "--eval-every", "20", "--continue", "--model", model, "--context.comm_timeout",
                str(self.arguments.timeout), "--context.comm_start_timeout", str(START_TIMEOUT)]

    def start(self, ranks, model, output, recovery=False):
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
        if recovery:
            launcher.insert(1, "--enable-recovery")
        if ranks == 1:
            launcher = []
        return subprocess.Popen(launcher + self.command(model), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output,
                                stderr=subprocess.STDOUT, env=self.environment, start_new_session=True)

    def digests(self, model):
        found = []
        for name in (model, model + ".ckpt"):
            path = self.folder / name
            found.append(hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "missing")
        return found


def children(parent):
    """Returns the ids of the ranks that mpirun has started and that have not ended, by rank."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            state, of = pathlib.Path("/proc/%s/stat" % entry).read_text().rsplit(")", 1)[1].split()[:2]
            if int(of) != parent or state == "Z":
                continue
            variables = pathlib.Path("/proc/%s/environ" % entry).read_bytes()
        except OSError:
            continue
        rank = re.search(rb"(?:^|\0)OMPI_COMM_WORLD_RANK=(\d+)", variables)
        if rank:
            found[int(rank[1])] = int(entry)
    return found


def finish(job, seconds):
    """Waits for a process. Returns whether it ended; otherwise it is killed with its group."""
    try:
        job.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        return False


class Job:
    """One job with one failure, and its restart."""

    def __init__(self, storm, number, choice, seconds):
        self.storm, self.model = storm, "job%d.xf" % number
        self.ranks = choice.randint(2, MOST_RANKS)
        self.victim = choice.randrange(self.ranks)
        self.signal = choice.choice((signal.SIGKILL, signal.SIGSTOP))
        self.recovery = choice.random() < 0.5
        self.after = choice.uniform(0, seconds[self.ranks])
        self.ranks_again = choice.randint(1, MOST_RANKS)
        self.hit = self.started = self.launcher_hung = False
        self.slowest, self.problems = 0.0, []
        self.log = storm.folder / ("job%d.log" % number)

    def run(self, reference):
        with open(self.log, "wb") as output:
            job = self.storm.start(self.ranks, self.model, output, self.recovery)
            self.disturb(job)
        again = self.log.with_suffix(".again")
        with open(again, "wb") as output:
            job = self.storm.start(self.ranks_again, self.model, output)
            if not finish(job, RESTART_LIMIT):
                self.problems.append("the restart hung")
        if self.storm.digests(self.model) != reference:
            self.problems.append("other bytes after the restart: " + again.read_text(errors="replace")[-500:])

    def disturb(self, job):
        began = time.monotonic()
        while time.monotonic() < began + self.after and job.poll() is None:
            time.sleep(0.005)
        pid = children(job.pid).get(self.victim)
        self.started = b"\nranks " in self.log.read_bytes()
        sent = time.monotonic()
        try:
            os.kill(pid if pid else 0x7FFFFFFF, self.signal)
            self.hit = True
        except ProcessLookupError:
            pass
        self.watch(job, pid, sent)
        if self.hit and self.signal == signal.SIGSTOP:
            time.sleep(max(0.0, sent + self.storm.arguments.stopped - time.monotonic()))
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.launcher_hung = not finish(job, LAUNCHER_LIMIT)
        self.check_messages()

    def limit(self):
        return (self.storm.arguments.timeout if self.started else START_TIMEOUT) + MARGIN

    def watch(self, job, pid, sent):
        """Waits until all other ranks have ended."""
        limit = self.limit() if self.hit else RESTART_LIMIT
        while job.poll() is None:
            left = {rank: other for rank, other in children(job.pid).items() if other != pid or not self.hit}
            now = time.monotonic() - sent
            if not left and (self.hit or now > 1):
                break
            if now > limit + 20:
                self.problems.append("ranks %s hung" % sorted(left))
                break
            if self.hit:
                self.slowest = now
            time.sleep(0.01)
        if self.hit and self.slowest > limit:
            self.problems.append("a rank ended after %.1f s" % self.slowest)

    def check_messages(self):
        if not self.hit:
            return
        said = self.log.read_text(errors="replace")
        for rank in set(range(self.ranks)) - {self.victim}:
            for message in re.findall(r"translate: rank %d: (.*)" % rank, said)[:1]:
                joined = "MPI" not in message or "did not return" not in message
                if joined and "interrupted" not in message and "rank %d" % self.victim not in message:
                    self.problems.append("rank %d does not name rank %d: %s" % (rank, self.victim, message))

    def __str__(self):
        return "%d ranks%s, %s to rank %d after %.2f s%s, slowest %.1f s, again on %d%s" % (
            self.ranks, " with recovery" if self.recovery else "", self.signal.name, self.victim, self.after,
            "" if self.started else " (start)", self.slowest, self.ranks_again,
            "" if self.hit else ": missed") + "".join("; PROBLEM: " + one for one in self.problems)


def machine():
    model = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return "%d cores of %s, Linux %s" % (os.cpu_count(), model[1] if model else "?", platform.release().split("-")[0])


def run_seed(storm, seed, jobs, reference, seconds):
    choice, began, done = random.Random(seed), time.monotonic(), []
    for number in range(jobs):
        job = Job(storm, number, choice, seconds)
        job.run(reference)
        done.append(job)
        print("%d: %s" % (number, job), flush=True)
        if not job.problems:
            for path in storm.folder.glob(job.model + "*"):
                path.unlink()
    hits = [job for job in done if job.hit]
    problems = sum(len(job.problems) for job in done)
    result = "%d problems; signals hit %d (%d SIGSTOP, %d before all had joined); slowest rank %.1f s, deadline %g + %g s; " \
             "mpirun hung %d times; seed %d; %s; load %.1f" % (
                 problems, len(hits), sum(job.signal == signal.SIGSTOP for job in hits),
                 sum(not job.started for job in hits), max((job.slowest for job in hits if job.started), default=0),
                 storm.arguments.timeout, MARGIN, sum(job.launcher_hung for job in done), seed, machine(),
                 os.getloadavg()[2])
    print(result, flush=True)
    if storm.arguments.ledger:
        commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                                check=True).stdout.strip()
        row = [time.strftime("%Y-%m-%d", time.gmtime()), commit, "storm of ranks under mpirun", str(jobs),
               "%.0f" % (time.monotonic() - began), "-", result]
        with open(ROOT / "tests/harness/evidence/ledger.tsv", "a") as ledger:
            ledger.write("\t".join(row) + "\n")
    return problems


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--timeout", type=float, default=2.0)
    parser.add_argument("--stopped", type=float, default=30.0)
    parser.add_argument("--ledger", action="store_true")
    arguments = parser.parse_args()
    if shutil.which("mpirun") is None:
        print("ranks.py: mpirun was not found (Debian: openmpi-bin)")
        return 77
    with tempfile.TemporaryDirectory() as name:
        storm = Storm(arguments, pathlib.Path(name))
        seconds, digests = {}, set()
        for ranks in range(1, MOST_RANKS + 1):
            began = time.monotonic()
            with open(storm.folder / "reference.log", "wb") as output:
                if not finish(storm.start(ranks, "reference.xf", output), RESTART_LIMIT):
                    print("ranks.py: an undisturbed run on %d ranks hung" % ranks)
                    return 1
            seconds[ranks] = time.monotonic() - began
            digests.add(tuple(storm.digests("reference.xf")))
            for path in storm.folder.glob("reference.xf*"):
                path.unlink()
        if len(digests) != 1 or "missing" in next(iter(digests)):
            print("ranks.py: undisturbed runs do not end equal:\n" + (storm.folder / "reference.log").read_text())
            return 1
        reference = list(digests.pop())
        print("undisturbed: " + ", ".join("%d ranks %.1f s" % one for one in seconds.items()), flush=True)
        problems = sum(run_seed(storm, arguments.seed + index, arguments.jobs, reference, seconds)
                       for index in range(arguments.seeds))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
