"""Reads model files and the batches of dump_batches, and writes models. Requires only numpy.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import json
import struct

import numpy as np


def read_safetensors(path):
    """(metadata, name -> float32 array) of a model file or checkpoint; fp16 is converted."""
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
    data = np.memmap(path, dtype=np.uint8, mode="c", offset=8 + length)
    tensors = {}
    for name, info in header.items():
        if name != "__metadata__" and info["dtype"] in ("F16", "F32"):
            begin, end = info["data_offsets"]
            values = np.asarray(data[begin:end]).view("<f2" if info["dtype"] == "F16" else "<f4")
            tensors[name] = values.astype(np.float32, copy=False).reshape(info["shape"])
    return header.get("__metadata__", {}), tensors


def write_safetensors(path, template, tensors):
    """A copy of the model file `template` with other numbers, by name, and the checksum of docs/guide/files.md."""
    with open(template, "rb") as file:
        raw = bytearray(file.read())
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    for name, info in header.items():
        if name != "__metadata__":
            begin, end = (8 + length + at for at in info["data_offsets"])
            raw[begin:end] = np.ascontiguousarray(tensors[name], dtype="<f4").tobytes()
    digest = header["__metadata__"]["sha256"].encode()
    at = raw.index(digest)
    raw[at:at + 64] = b"0" * 64
    raw[at:at + 64] = hashlib.sha256(raw).hexdigest().encode()
    with open(path, "wb") as file:
        file.write(raw)


def read_batches(path):
    """A list of (sources, targets), each a list of id arrays; the format is in common.h. Targets may be empty."""
    words = np.fromfile(path, dtype="<i4")
    if words[:1].tobytes() != b"XFB1":
        raise ValueError(f"{path} is not a file of batches")
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


def memory(field="VmHWM"):
    """The memory of this process in bytes; by default the largest resident set so far."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


def sinusoid(length, d):
    """Paper s. 3.5, float32."""
    angle = np.arange(length)[:, None] / 10000.0 ** (np.arange(0, d, 2) / d)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(length, d).astype(np.float32)
