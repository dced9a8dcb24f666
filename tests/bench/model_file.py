"""Reads what the library writes: model files, and the batches of dump_batches. Needs numpy alone.

SPDX-License-Identifier: Apache-2.0
"""
import json
import struct

import numpy as np


def read_safetensors(path):
    """(metadata, name -> float32 array) of a model file or checkpoint."""
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
    data = np.memmap(path, dtype=np.uint8, mode="c", offset=8 + length)
    tensors = {}
    for name, info in header.items():
        if name != "__metadata__" and info["dtype"] == "F32":
            begin, end = info["data_offsets"]
            tensors[name] = np.asarray(data[begin:end]).view("<f4").reshape(info["shape"])
    return header.get("__metadata__", {}), tensors


def read_batches(path):
    """A list of (sources, targets), each a list of id arrays; the format is in common.h. Targets may be empty."""
    words = np.fromfile(path, dtype="<i4")
    if words[:1].tobytes() != b"XFB1":
        raise ValueError(f"{path} is no file of batches")
    at, batches = 2, []
    for _ in range(words[1]):
        count, *tokens = words[at:at + 3]
        at += 3
        sides = []
        for total in tokens:
            if total == 0:
                sides.append([])
                continue
            offsets, ids = words[at:at + count + 1], words[at + count + 1:at + count + 1 + total]
            at += count + 1 + total
            sides.append(np.split(ids, offsets[1:-1]))
        batches.append(tuple(sides))
    return batches


def sinusoid(length, d):
    """Paper s. 3.5, float32."""
    angle = np.arange(length)[:, None] / 10000.0 ** (np.arange(0, d, 2) / d)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(length, d).astype(np.float32)
