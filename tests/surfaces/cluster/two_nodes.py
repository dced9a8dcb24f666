#!/usr/bin/env python3
"""two_nodes.py - starts a Ray cluster with a head and two nodes on this machine, two processors each, and runs a
command.

    two_nodes.py COMMAND... [--address is added]

SPDX-License-Identifier: Apache-2.0
"""
import subprocess
import sys

from ray.cluster_utils import Cluster


def main():
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=2)
        cluster.wait_for_nodes()
        status = subprocess.call(sys.argv[1:] + ["--address", cluster.address])
    finally:
        cluster.shutdown()
    sys.exit(status)


if __name__ == "__main__":
    main()
