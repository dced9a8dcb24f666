"""Reads the weights of a model folder: safetensors or PyTorch pickles, in one file or in shards.

Rows are read on demand, so a checkpoint is never in memory as a whole. Files are untrusted; pickles are opened with
``weights_only=True``, which executes no code from the file.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import math
import os
from typing import Any, Dict, Iterator, List, Set, Tuple

from . import ConvertError
from .files import json_object, read_json

#: NumPy types of the dtypes. Tensors with a dtype of _OTHERS may exist, but cannot be converted.
_NUMBERS = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "F64": "<f8"}
_OTHERS = {"I64": "<i8", "I32": "<i4", "I8": "<i1", "U8": "<u1", "BOOL": "<u1"}
_MAX_HEADER_BYTES = 100_000_000
_CHUNK_ELEMENTS = 1 << 22

#: File names of weights, in the order in which transformers searches for them.
_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


class SafetensorsFile:
    """The tensors of one safetensors file. Opening it reads only the header."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.metadata: Dict[str, str] = {}
        self.shapes: Dict[str, Tuple[int, ...]] = {}
        self._locations: Dict[str, Tuple[str, int]] = {}
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                length = int.from_bytes(file.read(8), "little")
                if size < 8 or length > min(size - 8, _MAX_HEADER_BYTES):
                    raise ConvertError(
                        "%s has %d bytes and a header of %d: it is truncated or not a safetensors file"
                        % (path, size, length)
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
            raise ConvertError("%s is incomplete: expected dtype, shape, and data_offsets" % where) from error
        if not all(type(n) is int and n >= 0 for n in (*shape, begin, end)):
            raise ConvertError("%s: expected nonnegative integers in shape and data_offsets" % where)
        self.shapes[name] = shape
        self._locations[name] = (dtype, start + begin)
        numpy_type = _NUMBERS.get(dtype) or _OTHERS.get(dtype)
        if numpy_type is None:
            raise ConvertError("%s has dtype %s, expected F32, F16, BF16, or F64" % (where, dtype))
        expected = math.prod(shape) * int(numpy_type[2:])
        if end - begin != expected:
            raise ConvertError("%s has %d bytes, its shape requires %d" % (where, end - begin, expected))
        if start + end > size:
            raise ConvertError("%s ends at byte %d, but the file has %d: it is truncated" % (where, start + end, size))

    def read(self, name: str, first: int, count: int) -> Any:
        """Returns ``count`` elements in row-major order as fp32. Of an int8 matrix, only whole rows."""
        import numpy

        dtype, offset = self._locations[name]
        scale = name + "_scale"
        if dtype == "I8" and scale in self._locations:  # int8 weights of this library: one scale per row
            columns = self.shapes[name][1]
            rows = self._read(name, "i1", offset + first, count).reshape(-1, columns).astype("<f4")
            return (rows * self.read(scale, first // columns, count // columns)[:, None]).reshape(-1)
        if dtype not in _NUMBERS:
            raise ConvertError("%s: tensor %s has dtype %s, expected F32, F16, BF16, or F64" % (self.path, name, dtype))
        numpy_type = numpy.dtype(_NUMBERS[dtype])
        values = self._read(name, numpy_type, offset + first * numpy_type.itemsize, count)
        if dtype == "BF16":
            return (values.astype("<u4") << 16).view("<f4")
        with numpy.errstate(over="ignore"):  # F64 values too large for fp32 become infinite; chunks() refuses them
            return values.astype("<f4", copy=False)

    def _read(self, name: str, numpy_type: Any, offset: int, count: int) -> Any:
        import numpy

        try:
            with open(self.path, "rb") as file:
                file.seek(offset)
                values = numpy.fromfile(file, numpy_type, count)
        except OSError as error:
            raise ConvertError("%s: %s" % (self.path, error.strerror)) from error
        if len(values) != count:
            raise ConvertError("%s: tensor %s: the file is truncated" % (self.path, name))
        return values


class _TorchFile:
    """The tensors of one PyTorch pickle, with the interface of SafetensorsFile."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            import torch
        except ImportError as error:
            raise ConvertError("%s requires PyTorch, which is not installed: pip install torch" % path) from error
        try:
            try:
                tensors = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
            except RuntimeError:  # files written before PyTorch 1.6 cannot be mapped
                tensors = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise ConvertError("%s is not a valid PyTorch weights file: %s" % (path, reason)) from error
        if not isinstance(tensors, dict) or not all(isinstance(t, torch.Tensor) for t in tensors.values()):
            raise ConvertError("%s does not contain a dictionary of tensors" % path)
        self._tensors = tensors
        self.shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}

    def read(self, name: str, first: int, count: int) -> Any:
        tensor = self._tensors[name]
        if not tensor.is_floating_point():
            raise ConvertError("%s: tensor %s has dtype %s, expected floating point" % (self.path, name, tensor.dtype))
        return tensor.reshape(-1)[first : first + count].float().numpy()


class Checkpoint:
    """All tensors of a folder by name. Records which tensors were read, so that unused ones can be refused."""

    def __init__(self, folder: str) -> None:
        names = [name for name in _FILES if os.path.exists(os.path.join(folder, name))]
        if not names:
            raise ConvertError("%s has no weights: expected one of %s" % (folder, ", ".join(_FILES)))
        self._files: Dict[str, Any] = {}
        self._used: Set[str] = set()
        self.path = os.path.join(folder, names[0])
        self._add_all(folder)

    @classmethod
    def of_file(cls, file: SafetensorsFile) -> "Checkpoint":
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
                raise ConvertError("%s: weight_map is invalid: expected an object of file names" % self.path)
            for name in set(index.values()):
                if os.path.basename(name) != name or "\0" in name:
                    raise ConvertError(
                        "%s: weight_map contains %r, expected a file name without a folder" % (self.path, name)
                    )
            shards = [os.path.join(folder, name) for name in sorted(set(index.values()))]
        for shard in shards:
            file = open_file(shard)
            for name in file.shapes:
                if name in self._files:
                    raise ConvertError("%s: tensor %s is also in %s" % (shard, name, self._files[name].path))
                self._files[name] = file
        for name in index:
            if name not in self._files:
                raise ConvertError("%s: weight_map lists %s, but no file contains it" % (self.path, name))

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def names(self) -> List[str]:
        return list(self._files)

    def unused(self) -> List[str]:
        return [name for name in self._files if name not in self._used]

    def where(self, name: str) -> str:
        """Returns the beginning of an error message about a tensor."""
        return "%s: tensor %s" % (self._files[name].path if name in self._files else self.path, name)

    def shape(self, name: str) -> Tuple[int, ...]:
        if name not in self._files:
            raise ConvertError("%s: tensor %s is missing" % (self.path, name))
        return tuple(self._files[name].shapes[name])

    def check(self, name: str, shape: Tuple[int, ...]) -> None:
        found = self.shape(name)
        if found != shape:
            raise ConvertError("%s has the shape %s, expected %s" % (self.where(name), list(found), list(shape)))
        self._used.add(name)

    def rows(self, name: str, first: int, count: int) -> Any:
        """Returns rows of a matrix as fp32, [count, columns]. A vector is a matrix with one column."""
        columns = math.prod(self.shape(name)[1:])
        self._used.add(name)
        return self._files[name].read(name, first * columns, count * columns).reshape(count, columns)

    def chunks(self, name: str) -> Iterator[Any]:
        """Yields all rows in chunks. ConvertError for NaN or infinity."""
        import numpy

        shape = self.shape(name)
        step = max(1, _CHUNK_ELEMENTS // max(1, math.prod(shape[1:])))
        for first in range(0, shape[0], step):
            rows = self.rows(name, first, min(step, shape[0] - first))
            if not numpy.isfinite(rows).all():
                raise ConvertError("%s contains NaN, infinity, or a number too large for fp32" % self.where(name))
            yield rows

    def same(self, name: str, other: str) -> bool:
        """Returns whether two tensors have the same shape and values."""
        if self.shape(name) != self.shape(other):
            return False
        return all((a == b).all() for a, b in zip(self.chunks(name), self.chunks(other)))
