#!/usr/bin/env python3
"""Compares the model of scaling.py with measured steps: ranks in network namespaces of one machine, connected by TCP
through a bridge, each with a link of a known rate (tc tbf) and a known delay in the transport.

    scaling_measure.py BUILD [STEPS]        as root; prints the table of docs/benchmarks/scaling.md

Fitted values: the time of a shard from one rank; the time per exchange and per byte from the rows without a link. All
other rows are predicted from these. Of each row the least of its steps counts, and of three rounds: the machine may be
shared. Linux without netem suffices, which is why the delay is the carrier's.

SPDX-License-Identifier: Apache-2.0
"""
import os
import subprocess
import sys

from scaling import exchange_count, sent_bytes

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 8
CORES = len(os.sched_getaffinity(0))
MOST, ROUNDS = 4, int(os.environ.get("ROUNDS", 3))
GOODPUT = 1448 / 1514  # of a frame of Ethernet, what is not a head
# model, ranks, bits a second (0: as fast as it goes), seconds of delay
FITTED = [("tiny", 2, 0, 0), ("small", 2, 0, 0)]
PREDICTED = [("tiny", 4, 0, 0), ("small", 4, 0, 0)] + [
    (model, ranks, rate, delay)
    for model, rate, delay in (("tiny", 0, 0.005), ("tiny", 0, 0.02), ("small", 1e9, 0),
                               ("small", 250e6, 0), ("small", 100e6, 0), ("small", 0, 0.02), ("small", 250e6, 0.02))
    for ranks in (2, 4)]


def sh(command, check=True):
    subprocess.run(command.split(), check=check, stderr=None if check else subprocess.DEVNULL)


def address(rank):
    return "10.83.0.%d" % (rank + 1)


def take_down():
    for name in ["xf_hub"] + ["xf_rank%d" % rank for rank in range(MOST)]:
        sh("ip netns del " + name, check=False)


def set_up():
    take_down()
    sh("ip netns add xf_hub")
    sh("ip -n xf_hub link add hub type bridge")
    sh("ip -n xf_hub link set hub up")
    for rank in range(MOST):
        space = "xf_rank%d" % rank
        sh("ip netns add " + space)
        sh("ip link add net netns %s type veth peer name port%d netns xf_hub" % (space, rank))
        sh("ip -n xf_hub link set port%d master hub up" % rank)
        sh("ip -n %s addr add %s/24 dev net" % (space, address(rank)))
        sh("ip -n %s link set net up" % space)
        sh("ip -n %s link set lo up" % space)
        sh("ip netns exec %s sysctl -qw net.ipv4.tcp_slow_start_after_idle=0" % space)


def limit(rate):
    for rank in range(MOST):
        sh("ip netns exec xf_rank%d tc qdisc del dev net root" % rank, check=False)
        if rate:
            sh("ip netns exec xf_rank%d tc qdisc add dev net root tbf rate %dbit burst %d latency 50ms" %
               (rank, rate, 128000 if rate > 5e8 else 16000))


def measure(model, ranks, rate, delay):
    """The seconds of a step, and its parameters."""
    limit(rate)
    env = dict(os.environ, XF_BACKEND_PATH=BUILD + "/lib")
    steps = STEPS if rate or model == "small" else 10 * STEPS
    jobs = [subprocess.Popen(["ip", "netns", "exec", "xf_rank%d" % rank, BUILD + "/bin/rank_times", str(rank),
                              str(delay), str(steps), model] + [address(r) for r in range(ranks)],
                             env=env, stdout=subprocess.PIPE, text=True) for rank in range(ranks)]
    said = [job.communicate(timeout=300)[0] for job in jobs][0].split()
    if any(job.returncode for job in jobs):
        sys.exit("a rank failed")
    return min(map(float, said[3::2])), int(said[1])


def main():
    rows = [(model, 1, 0, 0) for model in ("tiny", "small")] + FITTED + PREDICTED
    seen = {}
    set_up()
    try:
        for _ in range(ROUNDS):
            for row in rows:
                seconds, parameters = measure(*row)
                seen[row] = (min(seconds, seen.get(row, (seconds, 0))[0]), parameters)
                print(row, "%.5f" % seconds, file=sys.stderr)
    finally:
        take_down()

    def shards_time(model, ranks):
        return seen[model, 1, 0, 0][0] / min(ranks, CORES)

    def work(row):
        """Exchanges and bytes, and how many ranks share a core."""
        model, ranks = row[:2]
        parameters = seen[row][1]
        return exchange_count(parameters, ranks), sent_bytes(parameters, ranks, 4), max(1, ranks / CORES)

    # Two equations: exchanges * a + bytes * c = what the step takes beside its shards.
    (e1, b1, _), (e2, b2, _) = (work(row) for row in FITTED)
    r1, r2 = (seen[row][0] - shards_time(*row[:2]) for row in FITTED)
    a = max(0.0, (r1 * b2 - r2 * b1) / (e1 * b2 - e2 * b1))
    c = (r2 - e2 * a) / b2
    print("fitted:", ", ".join("%s %.2f ms" % (row, seen[row][0] * 1e3) for row in rows[:4]))
    print("shards: tiny %.2f ms, small %.1f ms; %.0f us an exchange; %.3f ns a byte" %
          (seen["tiny", 1, 0, 0][0] * 1e3, seen["small", 1, 0, 0][0] * 1e3, a * 1e6, c * 1e9))
    print("| model | ranks | link | delay, ms | predicted, ms | measured, ms | error |\n|---|---|---|---|---|---|---|")
    for row in PREDICTED:
        model, ranks, rate, delay = row
        exchanges, sent, share = work(row)
        wire = sent * 8 / rate / GOODPUT if rate else 0
        predicted = shards_time(model, ranks) + exchanges * (a * share + delay) + sent * c + wire
        measured = seen[row][0]
        print("| %s | %d | %s | %g | %.1f | %.1f | %+.0f %% |" %
              (model, ranks, "%g Mb/s" % (rate / 1e6) if rate else "none", delay * 1e3, predicted * 1e3, measured * 1e3,
               100 * (predicted / measured - 1)))


if __name__ == "__main__":
    main()
