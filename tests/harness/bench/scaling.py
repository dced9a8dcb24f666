#!/usr/bin/env python3
"""Predicts the time of a step on machines that are not available: the model of docs/benchmarks/scaling.md.

    scaling.py                   prints the tables of the page
    scaling.py --check PAGE      fails where the page does not hold them

    step = shards * stragglers + exchanges * latency + messages + bytes / bandwidth + what the host does with the bytes

Each rank sends gradients of g = 4 or 2 bytes and parameters of 4: (g + 4) P (m - 1) / m bytes to the m - 1 other ranks
of its machine, and (g + 4) P / m (M - 1) / M to one rank of each of the M - 1 other machines. There is an exchange for
each 4 MiB of a slice of the gradient, and one for the parameters. By the host, a message is a header and pieces of a
size that depends on the number of ranks. Control exchanges between all ranks follow: reports, norms, the decision of
`translate` to continue, and with a device transport two comparisons of checksums. Numbers of data sheets and
assumptions are marked as such; nothing was measured on a GPU.

SPDX-License-Identifier: Apache-2.0
"""
import statistics
import sys

SEGMENT = 1 << 20  # numbers of a slice that are exchanged at a time (lib/ranks/slices.cpp)
HEADER = 40        # bytes (lib/comm/communicator.h)
SLOTS = 2          # pieces to one rank that are sent at the same time (lib/comm/mpi/mpi_comm.cpp)


def piece_bytes(ranks):
    """Returns the size of a piece of a message (lib/comm/mpi/mpi_comm.cpp)."""
    return min(max((4 << 20) // ranks, 16 << 10), 1 << 20)


def bucket_count(parameters, ranks):
    return parameters // ranks // SEGMENT + 1


def control_count(device):
    return 5 if device else 3


def data_message_count(parameters, ranks, gradient, device, slices=1):
    """Returns the number of messages with gradients and parameters from one rank to another, of so many slices."""
    buckets = bucket_count(parameters, ranks)
    if device:
        return buckets + 1
    piece = piece_bytes(ranks)
    segment, part = gradient * parameters / ranks / buckets, 4 * parameters / ranks
    return buckets * (1 + -(-slices * segment // piece)) + 1 + -(-slices * part // piece)


# The models of the paper: numbers of the encoder, of the decoder with the last product, and all.
def sizes(d, ff, vocab, layers=6):
    encoder = layers * (4 * d * d + 2 * d * ff)
    decoder = layers * (8 * d * d + 2 * d * ff) + vocab * d
    return encoder, decoder, encoder + decoder


MODELS = {"base": sizes(512, 2048, 37000), "big": sizes(1024, 4096, 37000)}

# Data sheets. NVIDIA H100 SXM: bf16 dense, memory; NVLink 900 and PCIe 128 GB/s both ways together. DGX H100: a port of
# 400 Gb/s InfiniBand NDR for each of 8 GPUs. Ethernet: one port for the 8 GPUs of a machine.
PEAK, NVLINK, PCIE = 989e12, 450e9, 64e9
PER_MACHINE = 8
NETWORKS = {"InfiniBand": 50e9, "Ethernet 100": 100e9 / 8 / PER_MACHINE, "Ethernet 25": 25e9 / 8 / PER_MACHINE}
# Assumed.
UTILIZATION = 0.3   # of PEAK, of a step's products
LINK = 0.8          # of a link's bandwidth
LATENCY = {"NVLink": 10e-6, "InfiniBand": 15e-6, "Ethernet 100": 50e-6, "Ethernet 25": 50e-6}  # of an exchange
MESSAGE = {"NVLink": 1e-6, "InfiniBand": 2e-6, "Ethernet 100": 5e-6, "Ethernet 25": 5e-6}      # of each message
# Switches of Ethernet drop packets if many ranks send to one at the same time: the fraction of the bandwidth that is left
# if more bytes are on the way to a rank than the buffer of its port holds. InfiniBand and NVLink hold senders back.
INCAST, PORT_BUFFER = 0.7, 1 << 20
STRAGGLING = 0.03   # standard deviation of a rank's time, of its mean
HIDDEN = 0.6        # of the computation, that hides an exchange which is sent while it runs
# Measured on one core of an AMD Zen 4: hash, copies and sockets, for each byte sent.
HOST = 1.0e-9

PAIRS = 3125  # tokens of source, and as many of target, for each GPU: the paper's 25,000 on 8
STEPS = ["host", "device", "bf16", "4 times the tokens", "overlap"]


def slowest(ranks):
    """How many deviations above the mean the slowest of so many is (Blom's approximation)."""
    return statistics.NormalDist().inv_cdf((ranks - 0.375) / (ranks + 0.25)) if ranks > 1 else 0.0


def step(model, network, ranks, tricks, tokens=PAIRS, by_machine=True):
    """Returns its seconds, and those of the computation. tricks: the number of STEPS[1:] that are applied. by_machine:
    as the library does if the transport knows the machines."""
    encoder, decoder, parameters = MODELS[model]
    if tricks >= 3:
        tokens *= 4
    computation = 6 * (encoder + decoder) * tokens / (UTILIZATION * PEAK)
    if ranks == 1:
        return computation, computation
    gradient = 2 if tricks >= 2 else 4
    machines = max(1, ranks // PER_MACHINE)
    device = tricks >= 1
    inside = (gradient + 4) * parameters * (PER_MACHINE - 1) / PER_MACHINE
    outside = (gradient + 4) * parameters / PER_MACHINE * (machines - 1) / machines
    counterparts, slices = machines - 1, machines
    if not by_machine:  # each rank to each other rank
        inside, outside = inside / machines, outside * PER_MACHINE
        counterparts, slices = ranks - PER_MACHINE, 1
    control = 2 * control_count(device)  # a header and the contents
    messages_in = (data_message_count(parameters, ranks, gradient, device, slices) + control) * (PER_MACHINE - 1)
    messages_out = (data_message_count(parameters, ranks, gradient, device) * counterparts +
                    control * (ranks - PER_MACHINE))
    seconds = (inside + HEADER * messages_in) / (NVLINK * LINK)
    exchanges = bucket_count(parameters, ranks) + 1  # of gradients and parameters
    latency = messages_in * MESSAGE["NVLink"]
    if by_machine or machines == 1:
        latency += exchanges * LATENCY["NVLink"]
    latency += control_count(device) * LATENCY[network if machines > 1 else "NVLink"]
    if machines > 1:
        link = LINK
        if network.startswith("Ethernet") and SLOTS * piece_bytes(ranks) * counterparts > PORT_BUFFER:
            link *= INCAST
        wire = (outside + HEADER * messages_out) / (NETWORKS[network] * link)
        seconds = seconds + wire if by_machine else max(seconds, wire)
        latency += exchanges * LATENCY[network] + messages_out * MESSAGE[network]
    if tricks == 0:  # gradients down, what came up, parameters both ways; and the processor's work
        seconds += 12 * parameters / (PCIE * LINK) + (inside + outside) * HOST
    if tricks >= 4:  # the gradients' part, while the backward pass runs; the parameters follow
        share = gradient / (gradient + 4)
        hidden = min(share * seconds, HIDDEN * computation)
        seconds -= hidden
    return computation * (1 + STRAGGLING * slowest(ranks)) + latency + seconds, computation


def efficiency(*arguments):
    seconds, computation = step(*arguments)
    return computation / seconds


def text(value):
    return "%.2f" % value if value >= 0.095 else "%.3f" % value


def places():
    for model in MODELS:
        yield model, "InfiniBand", 8, "only NVLink"
        for network in NETWORKS:
            for ranks in (64, 512):
                yield model, network, ranks, network


def first_to_reach(model, network, ranks, bar=0.9):
    for tricks, name in enumerate(STEPS):
        if efficiency(model, network, ranks, tricks) >= bar:
            return "all up to \"%s\"" % name if tricks else "nothing"
    for times in (8, 16, 32, 64):
        if efficiency(model, network, ranks, len(STEPS) - 1, PAIRS * times // 4) >= bar:
            return "all, with %d times the tokens" % times
    return "more than 64 times the tokens"


def tables():
    lines = ["| model | network | GPUs | shard, ms | step by the host, ms | " + " | ".join(STEPS) +
             " | machines not known | 0.9 needs |",
             "| --- | --- | --- | --- | --- |" + " --- |" * (len(STEPS) + 2)]
    for model, network, ranks, name in places():
        seconds, computation = step(model, network, ranks, 0)
        found = [text(efficiency(model, network, ranks, tricks)) for tricks in range(len(STEPS))]
        flat = text(efficiency(model, network, ranks, 3, PAIRS, False))
        lines.append("| %s | %s | %d | %.1f | %.0f | %s | %s | %s |" %
                     (model, name, ranks, computation * 1e3, seconds * 1e3, " | ".join(found), flat,
                      first_to_reach(model, network, ranks)))
    return lines


def main():
    lines = tables()
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        with open(sys.argv[2], encoding="utf-8") as page:
            there = page.read().splitlines()
        missing = [line for line in lines if line not in there]
        print("\n".join(["the page lacks:"] + missing if missing else ["the page holds what scaling.py prints"]))
        return 1 if missing else 0
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
