#!/usr/bin/env python3
"""Compares the model of scaling.py with measured steps: ranks in network namespaces of one computer, connected by TCP
through a bridge. A namespace is a machine of one or more ranks, which speak over its loopback interface; its link to the
bridge has a known rate (tc tbf), and the transport adds a known delay to what leaves the machine.

    scaling_measure.py BUILD [STEPS]        as root; prints the tables of docs/benchmarks/scaling.md
    scaling_measure.py FILE.json...         prints them again, from files that SAVE=FILE.json had written

Fitted values: the time of a shard from one rank; the time per exchange and per byte from two ranks without a limit. All
other rows are predicted from these. Of each row the least of its steps counts, and of all rounds (ROUNDS): the computer
may be shared. PRIORITY, "chrt -r 10" or empty, starts the ranks; CONGESTION is the congestion control of TCP, by
default that of the system. CASES: the rows, a regular expression ("small 4 2 .* grouped"). Fails where ranks or rows of
a model have different parameters after their steps.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import re
import subprocess
import sys

from scaling import HEADER, bucket_count, control_count

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
STEPS = int(sys.argv[2]) if len(sys.argv) == 3 and sys.argv[2].isdigit() else 8
CORES = len(os.sched_getaffinity(0))
MOST, ROUNDS = 4, int(os.environ.get("ROUNDS", 2))
PRIORITY = os.environ.get("PRIORITY", "chrt -r 10").split()
CONGESTION = os.environ.get("CONGESTION", "")
GROUPED = "ranks_per_machine" in open(os.path.dirname(__file__) + "/../../../include/xformer/experimental.h").read()
GOODPUT = 1448 / 1514  # of a frame of Ethernet, what is not a head
SHARDS = 4
# model, ranks, ranks of a machine, bits a second (0: as fast as it goes), seconds of delay, order
FITTED = [(model, ranks, 1, 0, 0, "flat") for ranks in (1, 2) for model in ("tiny", "small")]
SINGLE = [("tiny", 4, 1, 0, 0, "flat"), ("small", 4, 1, 0, 0, "flat")] + [
    (model, ranks, 1, rate, delay, "flat")
    for model, rate, delay in (("tiny", 0, 0.005), ("small", 1e9, 0), ("small", 250e6, 0), ("small", 100e6, 0),
                               ("small", 0, 0.02))
    for ranks in (2, 4)]
MACHINES = [(model, 4, 2, rate, delay, order)
            for model, rate, delay in (("tiny", 0, 0), ("small", 0, 0), ("small", 1e9, 0), ("small", 250e6, 0),
                                       ("small", 100e6, 0), ("small", 0, 0.02))
            for order in (["flat", "grouped"] if GROUPED else ["flat"])]


def name(row):
    model, ranks, machine, rate, delay, order = row
    return "%s %d %d %g %g %s" % (model, ranks, machine, rate / 1e6, delay * 1e3, order)


def sh(command, check=True):
    subprocess.run(command.split(), check=check, stderr=None if check else subprocess.DEVNULL)


def address(machine):
    return "10.83.0.%d" % (machine + 1)


def take_down():
    for space in ["xf_hub"] + ["xf_machine%d" % machine for machine in range(MOST)]:
        sh("ip netns del " + space, check=False)


def set_up():
    take_down()
    sh("ip netns add xf_hub")
    sh("ip -n xf_hub link add hub type bridge")
    sh("ip -n xf_hub link set hub up")
    for machine in range(MOST):
        space = "xf_machine%d" % machine
        sh("ip netns add " + space)
        sh("ip link add net netns %s type veth peer name port%d netns xf_hub" % (space, machine))
        sh("ip -n xf_hub link set port%d master hub up" % machine)
        sh("ip -n %s addr add %s/24 dev net" % (space, address(machine)))
        sh("ip -n %s link set net up" % space)
        sh("ip -n %s link set lo up" % space)
        sh("ip netns exec %s sysctl -qw net.ipv4.tcp_slow_start_after_idle=0" % space)
        if CONGESTION:
            sh("ip netns exec %s sysctl -qw net.ipv4.tcp_congestion_control=%s" % (space, CONGESTION))


def limit(rate):
    for machine in range(MOST):
        sh("ip netns exec xf_machine%d tc qdisc del dev net root" % machine, check=False)
        if rate:
            sh("ip netns exec xf_machine%d tc qdisc add dev net root tbf rate %dbit burst %d latency 50ms" %
               (machine, rate, 128000 if rate > 5e8 else 16000))


def crossed():
    """The bytes that came from all machines to the bridge so far."""
    links = json.loads(subprocess.run("ip -n xf_hub -j -s link".split(), check=True, stdout=subprocess.PIPE).stdout)
    return sum(link["stats64"]["rx"]["bytes"] for link in links if link["ifname"].startswith("port"))


def measure(row):
    """What the ranks said, by its name; of "step" the times. "crossed": bytes over the bridge for each step."""
    model, ranks, machine, rate, delay, order = row
    limit(rate)
    env = dict(os.environ, XF_BACKEND_PATH=BUILD + "/lib")
    steps = STEPS if model == "small" else 10 * STEPS
    before = crossed()
    jobs = [subprocess.Popen(["ip", "netns", "exec", "xf_machine%d" % (rank // machine)] + PRIORITY +
                             [BUILD + "/bin/rank_times", str(rank), str(delay), str(steps), model, str(machine), order] +
                             [address(r // machine) for r in range(ranks)],
                             env=env, stdout=subprocess.PIPE, text=True) for rank in range(ranks)]
    try:
        said = [job.communicate(timeout=300)[0] for job in jobs]
    finally:
        for job in jobs:
            if job.poll() is None:
                job.kill()
    if any(job.returncode for job in jobs):
        sys.exit("a rank failed: " + name(row))
    found = []
    for text in said:
        words = text.split()
        pairs = list(zip(words[::2], words[1::2]))
        found.append({key: value if key == "hash" else float(value) for key, value in pairs})
        found[-1]["step"] = [float(value) for key, value in pairs if key == "step"]
    if len({one["hash"] for one in found}) != 1:
        sys.exit("the ranks have different parameters: " + name(row))
    result = found[0]
    for key in ("bytes", "outside"):
        result["most " + key] = max(one[key] for one in found)
        result["all " + key] = sum(one[key] for one in found)
    result["crossed"] = (crossed() - before) / (steps + 2)
    return result


def model_of(row, parameters):
    """As in scaling.py, of the transport of this program: its exchanges, those of them that leave the machine, the bytes
    that a rank sends, and those of a machine to the others. A message has a header and is one piece; there is no decision
    of `translate`. Reports and sums of squares are not counted."""
    _, ranks, machine, _, _, order = row
    if ranks == 1:
        return 0, 0, 0, 0
    machines, grouped = ranks // machine, order == "grouped" and 1 < machine < ranks
    exchanges = bucket_count(parameters, ranks) + 1
    inside, outside = 8 * parameters * (machine - 1) / machine, 8 * parameters / machine * (machines - 1) / machines
    counterparts = machines - 1
    if not grouped:
        inside, outside = inside / machines, outside * machine
        counterparts = ranks - machine
    control = control_count(False) - 1
    inside += HEADER * (exchanges + control) * (machine - 1)
    outside += HEADER * (exchanges * counterparts + control * (ranks - machine))
    # A grouped exchange is one within the machine and one between machines.
    leave = exchanges + control if machines > 1 else 0
    return exchanges * (2 if grouped else 1) + control, leave, inside + outside, outside * machine


def add(seen, row, result):
    old = seen.setdefault(row, dict(result, step=[]))
    old["step"] = old["step"] + result["step"]
    if old["hash"] != result["hash"]:
        sys.exit("the rounds have different parameters: " + name(row))


def main():
    seen = {}
    if BUILD.endswith(".json"):  # what SAVE wrote
        for path in sys.argv[1:]:
            with open(path, encoding="utf-8") as file:
                for row, result in json.load(file):
                    add(seen, tuple(row), result)
        return report(seen)
    rows = FITTED + SINGLE + MACHINES
    if "CASES" in os.environ:
        rows = [row for row in rows if re.fullmatch(os.environ["CASES"], name(row))]
    try:
        set_up()
        for _ in range(ROUNDS):
            for row in rows:
                new = measure(row)
                add(seen, row, new)
                print("%-32s %s crossed %.0f hash %s" %
                      (name(row), " ".join("%.5f" % seconds for seconds in sorted(new["step"])[:STEPS]), new["crossed"],
                       new["hash"]), file=sys.stderr, flush=True)
    finally:
        take_down()
    if os.environ.get("SAVE"):
        with open(os.environ["SAVE"], "w", encoding="utf-8") as file:
            json.dump([[list(row), result] for row, result in seen.items()], file)
    report(seen)


def report(seen):
    for model in ("tiny", "small"):
        hashes = {result["hash"] for row, result in seen.items() if row[0] == model}
        if hashes:
            print("%s: parameters after all steps: %s" %
                  (model, " ".join(sorted(hashes)) + (" in all rows" if len(hashes) == 1 else ": DIFFERENT")))
    least = {row: min(result["step"]) for row, result in seen.items()}

    print("\n| row | exchanges | sent by rank 0 | outside by rank 0 | all outside | crossed the bridge per step | "
          "least, ms | median, ms |\n|---|---|---|---|---|---|---|---|")
    for row, result in seen.items():
        print("| %s | %d | %d | %d | %d | %.0f | %.2f | %.2f |" %
              (name(row), result["exchanges"], result["bytes"], result["outside"], result["all outside"],
               result["crossed"], least[row] * 1e3, sorted(result["step"])[len(result["step"]) // 2] * 1e3))
    if any(row not in seen for row in FITTED):
        return

    def shards_time(model, ranks):
        return least[model, 1, 1, 0, 0, "flat"] / min(ranks, CORES)

    def work(row):
        """Exchanges and bytes, and how many ranks share a core."""
        exchanges, _, sent, _ = model_of(row, seen[row]["parameters"])
        if exchanges != seen[row]["exchanges"]:
            print("(%s: the model has %d exchanges)" % (name(row), exchanges))
        return exchanges, sent, max(1, row[1] / CORES)

    # Two equations: exchanges * a + bytes * c = what the step takes beside its shards.
    pair = FITTED[2:]
    (e1, b1, _), (e2, b2, _) = (work(row) for row in pair)
    r1, r2 = (least[row] - shards_time(*row[:2]) for row in pair)
    a = max(0.0, (r1 * b2 - r2 * b1) / (e1 * b2 - e2 * b1))
    c = (r2 - e2 * a) / b2
    print("\nfitted:", ", ".join("%s %.2f ms" % (name(row), least[row] * 1e3) for row in FITTED))
    print("shards: tiny %.2f ms, small %.1f ms; %.0f us an exchange; %.3f ns a byte" %
          (shards_time("tiny", 1) * 1e3, shards_time("small", 1) * 1e3, a * 1e6, c * 1e9))
    print("\n| model | ranks | link | delay, ms | predicted, ms | measured, ms | error |\n|---|---|---|---|---|---|---|")
    for row in seen:
        model, ranks, machine, rate, delay, order = row
        if row in FITTED:
            continue
        exchanges, sent, share = work(row)
        _, leave, _, outside = model_of(row, seen[row]["parameters"])
        wire = outside * 8 / rate / GOODPUT if rate else 0
        predicted = shards_time(model, ranks) + exchanges * a * share + leave * delay + sent * c + wire
        ranks_text = str(ranks) if machine == 1 else "%d x %d, %s" % (ranks // machine, machine, order)
        print("| %s | %s | %s | %g | %.1f | %.1f | %+.0f %% |" %
              (model, ranks_text, "%g Mb/s" % (rate / 1e6) if rate else "none", delay * 1e3, predicted * 1e3,
               least[row] * 1e3, 100 * (predicted / least[row] - 1)))


if __name__ == "__main__":
    main()
