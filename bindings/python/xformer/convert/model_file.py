"""A model file of this library from tensors that come piece by piece.

An interim file in the form of docs/guide/files.md is written beside the target in one pass; the library then loads it,
which checks every name, shape, option, number and the tokenizer, and saves the model under its name. So its rules are
kept in one place, and memory is the model's, once.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Tuple

from . import ConvertError

_NO_DIGEST = "0" * 64


class Tensor(NamedTuple):
    """A tensor of the file to be written: its rows as arrays of 32-bit floats, some at a time."""

    name: str
    shape: Tuple[int, ...]
    pieces: Callable[[], Iterable[Any]]


class Progress:
    """A line on standard error that says how far it has come, where that is a terminal. Left with its ``with``, so that
    what is said next has a line of its own."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._shown = max(1, total), 0, -1
        self._width = max(0, min(25, _columns() - 10))  # a line that is folded can't be written over

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._shown >= 0:
            self._write("\n")

    def add(self, count: int) -> None:
        self._done += count
        percent = min(100, 100 * self._done // self._total)
        if percent == self._shown or not sys.stderr.isatty():
            return
        self._shown = percent
        bar = "[%-*s] " % (self._width, "#" * (percent * self._width // 100)) if self._width else ""
        self._write("\r%s%3d %%" % (bar, percent))

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:  # the terminal is gone
            sys.stderr = open(os.devnull, "w")


def _columns() -> int:
    """How wide the terminal of standard error is."""
    told = os.environ.get("COLUMNS", "")
    try:
        return int(told) if told.isdecimal() else os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def header_of(tensors: List[Tensor], metadata: Dict[str, str]) -> bytes:
    """What precedes the data of a safetensors file: length and JSON, so that data begin at a multiple of 8."""
    header: Dict[str, Any] = {"__metadata__": metadata}
    at = 0
    for tensor in tensors:
        size = 4 * math.prod(tensor.shape)
        header[tensor.name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def write_safetensors(path: str, tensors: List[Tensor], metadata: Dict[str, str]) -> str:
    """Writes a new file in one pass; gives the SHA-256 of its bytes."""
    import numpy

    head = header_of(tensors, metadata)
    digest = hashlib.sha256(head)
    total = sum(math.prod(tensor.shape) for tensor in tensors)
    with open(path, "xb") as file, Progress(total) as progress:
        file.write(head)
        for tensor in tensors:
            count = 0
            for piece in tensor.pieces():
                if not piece.size:
                    continue
                data = memoryview(numpy.ascontiguousarray(piece, "<f4").data).cast("B")
                file.write(data)
                digest.update(data)
                count += len(data) // 4
                progress.add(len(data) // 4)
            if count != math.prod(tensor.shape):
                raise AssertionError("%s has %d numbers, expected %s" % (tensor.name, count, tensor.shape))
    return digest.hexdigest()


def save_model(
    out: str,
    options: Dict[str, Any],
    tensors: List[Tensor],
    tokenizer: str,
    texts: Dict[str, str],
    precision: str,
) -> None:
    """Makes the file ``out`` of a model: options "model.", parameters, tokenizer (JSON, empty for none), and texts that
    are kept with it. An error leaves no new file."""
    from .. import Context, Model, XformerError

    metadata = {"format": "xformer", "format_version": "1", "kind": "model", "sha256": _NO_DIGEST}
    metadata.update((key, _text(value)) for key, value in options.items())
    metadata.update(("user." + key, value) for key, value in texts.items())
    if tokenizer:
        metadata["tokenizer"] = tokenizer
    interim = os.path.join(os.path.dirname(out), ".%s.convert.%d" % (os.path.basename(out), os.getpid()))
    try:
        digest = write_safetensors(interim, tensors, metadata)
        _put_digest(interim, digest)
        with Context({"context.device": "cpu:ref", "context.threads": 1}) as context:
            with Model.load(context, interim) as model:
                model.save(out, {"file.precision": precision})
    except OSError as error:
        raise ConvertError("%s: %s" % (out, error.strerror)) from error
    except XformerError as error:
        raise ConvertError(str(error).replace(interim, out)) from error
    finally:
        if os.path.exists(interim):
            os.remove(interim)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _put_digest(path: str, digest: str) -> None:
    """The checksum is that of the file with zeros in its place."""
    with open(path, "r+b") as file:
        length = int.from_bytes(file.read(8), "little")
        at = file.read(length).index(b'"sha256":"' + _NO_DIGEST.encode()) + len('"sha256":"')
        file.seek(8 + at)
        file.write(digest.encode())
