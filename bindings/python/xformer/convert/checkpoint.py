"""The weights of a folder as published: safetensors, or pickles of PyTorch, whole or in shards.

Rows are read as they are asked for, so that a checkpoint takes no memory. Nothing in a file is trusted; pickles are
opened with ``weights_only=True``, which runs nothing of theirs.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import math
import os
from typing import Any, Dict, Iterator, List, Set, Tuple

from . import ConvertError
from .files import json_object, read_json

#: Types of tensors as numpy has them; those of _OTHERS may be there, but are not read.
_NUMBERS = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "F64": "<f8"}
_OTHERS = {"I64": "<i8", "I32": "<i4", "I8": "<i1", "U8": "<u1", "BOOL": "<u1"}
_MOST_HEADER = 100_000_000
_ROWS_AT_ONCE = 1 << 22  # numbers

#: Where published checkpoints keep their weights, in the order in which transformers looks for them.
_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


class SafetensorsFile:
    """Tensors of one file: shapes from its header, numbers on request."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.metadata: Dict[str, str] = {}
        self.shapes: Dict[str, Tuple[int, ...]] = {}
        self._places: Dict[str, Tuple[str, int]] = {}
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                length = int.from_bytes(file.read(8), "little")
                if size < 8 or length > min(size - 8, _MOST_HEADER):
                    raise ConvertError(
                        "%s has %d bytes, too few for its header, or is no safetensors file" % (path, size)
                    )
                header = file.read(length)
        except OSError as error:
            raise ConvertError("%s: %s" % (path, error.strerror)) from error
        entries = json_object(header, "%s: the header" % path)
        self.metadata = entries.pop("__metadata__", {})
        for name, entry in entries.items():
            self._add(name, entry, 8 + length, size)

    def _add(self, name: str, entry: Any, start: int, size: int) -> None:
        where = "%s: tensor %s" % (self.path, name)
        try:
            dtype, shape = str(entry["dtype"]), tuple(entry["shape"])
            begin, end = entry["data_offsets"]
        except (KeyError, TypeError, ValueError) as error:
            raise ConvertError("%s has no dtype, shape and data_offsets" % where) from error
        if not all(type(n) is int and n >= 0 for n in (*shape, begin, end)):
            raise ConvertError("%s has a shape or data_offsets that are not numbers of 0 or more" % where)
        self.shapes[name] = shape
        self._places[name] = (dtype, start + begin)
        kind = _NUMBERS.get(dtype) or _OTHERS.get(dtype)
        if kind is None:
            raise ConvertError("%s is of type %s, expected F32, F16, BF16 or F64" % (where, dtype))
        expected = math.prod(shape) * int(kind[2:])
        if end - begin != expected:
            raise ConvertError("%s has %d bytes, expected %d for its shape" % (where, end - begin, expected))
        if start + end > size:
            raise ConvertError("%s ends at byte %d of a file of %d: the file is cut off" % (where, start + end, size))

    def read(self, name: str, first: int, count: int) -> Any:
        """So many numbers, in row-major order, in 32 bits; whole rows of a matrix of 8 bits."""
        import numpy

        dtype, offset = self._places[name]
        scale = name + "_scale"
        if dtype == "I8" and scale in self._places:  # of this library: a factor for each row
            columns = self.shapes[name][1]
            rows = self._read(name, "i1", offset + first, count).reshape(-1, columns).astype("<f4")
            return (rows * self.read(scale, first // columns, count // columns)[:, None]).reshape(-1)
        if dtype not in _NUMBERS:
            raise ConvertError("%s: tensor %s is of type %s, expected F32, F16, BF16 or F64" % (self.path, name, dtype))
        kind = numpy.dtype(_NUMBERS[dtype])
        values = self._read(name, kind, offset + first * kind.itemsize, count)
        if dtype == "BF16":
            return (values.astype("<u4") << 16).view("<f4")
        with numpy.errstate(over="ignore"):  # what is too large for 32 bits becomes infinite, and is refused
            return values.astype("<f4", copy=False)

    def _read(self, name: str, kind: Any, at: int, count: int) -> Any:
        import numpy

        try:
            with open(self.path, "rb") as file:
                file.seek(at)
                values = numpy.fromfile(file, kind, count)
        except OSError as error:
            raise ConvertError("%s: %s" % (self.path, error.strerror)) from error
        if len(values) != count:
            raise ConvertError("%s: tensor %s: the file is cut off" % (self.path, name))
        return values


class _TorchFile:
    """The same of a pickle of PyTorch."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            import torch
        except ImportError as error:
            raise ConvertError("%s needs PyTorch to be read, which is not installed" % path) from error
        try:
            try:
                tensors = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
            except RuntimeError:  # the form from before PyTorch 1.6 can't be mapped
                tensors = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:
            sentence = str(error).partition("\n")[0]
            raise ConvertError("%s can't be read as weights of PyTorch: %s" % (path, sentence)) from error
        if not isinstance(tensors, dict) or not all(isinstance(t, torch.Tensor) for t in tensors.values()):
            raise ConvertError("%s holds something else than tensors by name" % path)
        self._tensors = tensors
        self.shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}

    def read(self, name: str, first: int, count: int) -> Any:
        tensor = self._tensors[name]
        if not tensor.is_floating_point():
            raise ConvertError("%s: tensor %s is of type %s, expected floating point" % (self.path, name, tensor.dtype))
        return tensor.reshape(-1)[first : first + count].float().numpy()


class Checkpoint:
    """All tensors of a folder by name. What was read is remembered, so that what is left over can be refused."""

    def __init__(self, folder: str) -> None:
        names = [name for name in _FILES if os.path.exists(os.path.join(folder, name))]
        if not names:
            raise ConvertError("%s: there is none of %s" % (folder, ", ".join(_FILES)))
        self._files: Dict[str, Any] = {}
        self._used: Set[str] = set()
        self.path = os.path.join(folder, names[0])
        self._add_all(folder)

    @classmethod
    def of_file(cls, file: SafetensorsFile) -> "Checkpoint":
        """The tensors of one file."""
        self = cls.__new__(cls)
        self.path, self._used = file.path, set()
        self._files = dict.fromkeys(file.shapes, file)
        return self

    def _add_all(self, folder: str) -> None:
        open_file = SafetensorsFile if ".safetensors" in os.path.basename(self.path) else _TorchFile
        shards = [self.path]
        index: Any = {}
        if self.path.endswith(".json"):
            index = read_json(self.path).get("weight_map")
            if not isinstance(index, dict) or not all(isinstance(name, str) for name in index.values()):
                raise ConvertError("%s: weight_map is no object of file names" % self.path)
            for name in set(index.values()):
                if os.path.basename(name) != name or "\0" in name:
                    raise ConvertError(
                        "%s: weight_map names the file %s, expected one of this folder" % (self.path, name)
                    )
            shards = [os.path.join(folder, name) for name in sorted(set(index.values()))]
        for shard in shards:
            file = open_file(shard)
            for name in file.shapes:
                if name in self._files:
                    raise ConvertError("%s: tensor %s is in %s too" % (shard, name, self._files[name].path))
                self._files[name] = file
        for name in index:
            if name not in self._files:
                raise ConvertError("%s: weight_map has %s, which is in no file" % (self.path, name))

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def names(self) -> List[str]:
        return list(self._files)

    def unused(self) -> List[str]:
        return [name for name in self._files if name not in self._used]

    def use(self, name: str) -> None:
        self._used.add(name)

    def where(self, name: str) -> str:
        """What begins a sentence about a tensor."""
        return "%s: tensor %s" % (self._files[name].path if name in self._files else self.path, name)

    def shape(self, name: str) -> Tuple[int, ...]:
        if name not in self._files:
            raise ConvertError("%s lacks the tensor %s" % (self.path, name))
        return tuple(self._files[name].shapes[name])

    def check(self, name: str, shape: Tuple[int, ...]) -> None:
        found = self.shape(name)
        if found != shape:
            raise ConvertError("%s has the shape %s, expected %s" % (self.where(name), list(found), list(shape)))
        self.use(name)

    def rows(self, name: str, first: int, count: int) -> Any:
        """Rows of a matrix, or numbers of a vector (rows of one), as an array [count, columns] of 32 bits."""
        columns = math.prod(self.shape(name)[1:])
        self.use(name)
        return self._files[name].read(name, first * columns, count * columns).reshape(count, columns)

    def pieces(self, name: str) -> Iterator[Any]:
        """All rows, some at a time; refuses numbers that are not finite."""
        import numpy

        shape = self.shape(name)
        step = max(1, _ROWS_AT_ONCE // max(1, math.prod(shape[1:])))
        for first in range(0, shape[0], step):
            rows = self.rows(name, first, min(step, shape[0] - first))
            if not numpy.isfinite(rows).all():
                raise ConvertError("%s has a number that is not finite in 32 bits" % self.where(name))
            yield rows

    def same(self, name: str, other: str) -> bool:
        """Whether two tensors hold the same numbers."""
        if self.shape(name) != self.shape(other):
            return False
        return all((a == b).all() for a, b in zip(self.pieces(name), self.pieces(other)))
