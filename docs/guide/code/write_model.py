"""write_model.py - writes a model file with only Python's standard library.

    python3 write_model.py MODEL.xf

SPDX-License-Identifier: Apache-2.0
"""
import array
import hashlib
import json
import math
import random
import struct
import sys


def shapes(cfg):
    """Yields name and shape of every tensor of a post-norm model with sinusoidal positions, in file order."""
    d, f = cfg["model.d_model"], cfg["model.d_ff"]
    k, v = cfg["model.heads"] * cfg["model.d_k"], cfg["model.heads"] * cfg["model.d_v"]
    yield "embedding.weight", (cfg["model.vocab_size"], d)
    for stack, attentions in ("encoder", ["self_attention"]), ("decoder", ["self_attention", "cross_attention"]):
        for i in range(cfg[f"model.{stack}_layers"]):
            for name in attentions:
                for part, shape in ("q", (k, d)), ("k", (k, d)), ("v", (v, d)), ("o", (d, v)):
                    yield f"{stack}.{i}.{name}.{part}.weight", shape
                yield f"{stack}.{i}.{name}.norm.weight", (d,)
                yield f"{stack}.{i}.{name}.norm.bias", (d,)
            name = f"{stack}.{i}.feed_forward"
            yield f"{name}.in.weight", (f, d)
            yield f"{name}.in.bias", (f,)
            yield f"{name}.out.weight", (d, f)
            yield f"{name}.out.bias", (d,)
            yield f"{name}.norm.weight", (d,)
            yield f"{name}.norm.bias", (d,)


def write_model(path, cfg, tensors):
    """Writes a model file. tensors yields (name, (shape, values in row-major order))."""
    digits = "0" * 64
    header = {"__metadata__": {"format": "xformer", "format_version": "1", "kind": "model", "sha256": digits}
              | {key: str(value) for key, value in cfg.items()}}
    data = bytearray()
    for name, (shape, values) in tensors:
        numbers = array.array("f", values)
        if sys.byteorder == "big":
            numbers.byteswap()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(numbers)]}
        data += numbers.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    raw = struct.pack("<Q", len(text)) + text + data
    raw = raw.replace(digits.encode(), hashlib.sha256(raw).hexdigest().encode(), 1)
    with open(path, "wb") as file:
        file.write(raw)


cfg = {"model.encoder_layers": 1, "model.decoder_layers": 1, "model.d_model": 16, "model.d_ff": 32, "model.heads": 2,
       "model.d_k": 8, "model.d_v": 8, "model.vocab_size": 40}
random.seed(1)
write_model(sys.argv[1], cfg, ((name, (shape, [random.gauss(0, 0.1) for _ in range(math.prod(shape))]))
                               for name, shape in shapes(cfg)))
