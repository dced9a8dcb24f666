"""Writes a model file of this library from tensors that are produced in chunks.

The converter writes a temporary file in the format of docs/guide/files.md next to the output. The library then loads
that file, which validates all names, shapes, options, values, and the tokenizer, and saves the model as the output. So
only the library defines what is valid, and memory holds the model once.

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
    """A tensor to be written. ``chunks`` yields its rows as fp32 arrays, in chunks."""

    name: str
    shape: Tuple[int, ...]
    chunks: Callable[[], Iterable[Any]]


class Progress:
    """A progress bar on standard error, if that is a terminal. Leaving the ``with`` block ends its line."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._shown = max(1, total), 0, -1
        self._width = max(0, min(25, _columns() - 10))  # a wrapped line could not be overwritten

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
    """Returns the width of the terminal on standard error."""
    columns = os.environ.get("COLUMNS", "")
    try:
        return int(columns) if columns.isdecimal() else os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def header_of(tensors: List[Tensor], metadata: Dict[str, str]) -> bytes:
    """Returns the length and the JSON of a safetensors file, padded so that the data are aligned to 8 bytes."""
    header: Dict[str, Any] = {"__metadata__": metadata}
    offset = 0
    for tensor in tensors:
        end = offset + 4 * math.prod(tensor.shape)
        header[tensor.name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def write_safetensors(path: str, tensors: List[Tensor], metadata: Dict[str, str]) -> str:
    """Writes a new file in one pass and returns the SHA-256 of its contents."""
    import numpy

    header = header_of(tensors, metadata)
    digest = hashlib.sha256(header)
    total = sum(math.prod(tensor.shape) for tensor in tensors)
    with open(path, "xb") as file, Progress(total) as progress:
        file.write(header)
        for tensor in tensors:
            count = 0
            for chunk in tensor.chunks():
                if not chunk.size:
                    continue
                data = memoryview(numpy.ascontiguousarray(chunk, "<f4").data).cast("B")
                file.write(data)
                digest.update(data)
                count += len(data) // 4
                progress.add(len(data) // 4)
            if count != math.prod(tensor.shape):
                raise AssertionError("%s has %d elements, expected shape %s" % (tensor.name, count, tensor.shape))
    return digest.hexdigest()


def save_model(
    out: str,
    options: Dict[str, Any],
    tensors: List[Tensor],
    tokenizer: str,
    texts: Dict[str, str],
    precision: str,
) -> None:
    """Writes the model file ``out``. No new file remains after an error.

    ``options`` are those of the group "model.", ``tokenizer`` is JSON or empty, ``texts`` become user metadata.
    """
    from .. import Context, Model, XformerError

    metadata = {"format": "xformer", "format_version": "1", "kind": "model", "sha256": _NO_DIGEST}
    metadata.update((key, _text(value)) for key, value in options.items())
    metadata.update(("user." + key, value) for key, value in texts.items())
    if tokenizer:
        metadata["tokenizer"] = tokenizer
    temporary = os.path.join(os.path.dirname(out), ".%s.convert.%d" % (os.path.basename(out), os.getpid()))
    try:
        digest = write_safetensors(temporary, tensors, metadata)
        _put_digest(temporary, digest)
        with Context({"context.device": "cpu:ref", "context.threads": 1}) as context:
            with Model.load(context, temporary) as model:
                model.save(out, weights=precision)
    except OSError as error:
        raise ConvertError("%s: %s" % (out, error.strerror)) from error
    except XformerError as error:
        raise ConvertError(str(error).replace(temporary, out)) from error
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _put_digest(path: str, digest: str) -> None:
    """Writes the checksum, which is computed with zeros in its place."""
    with open(path, "r+b") as file:
        length = int.from_bytes(file.read(8), "little")
        offset = file.read(length).index(b'"sha256":"' + _NO_DIGEST.encode()) + len('"sha256":"')
        file.seek(8 + offset)
        file.write(digest.encode())
