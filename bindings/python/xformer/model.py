"""The Transformer's parameters, in memory and in a file.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from array import array
from itertools import count
from typing import Any, Iterable, Iterator, MutableMapping, NamedTuple, Optional, Tuple, Union

from . import _buffer
from ._abi import call, filled, lib, read, structs
from ._buffer import Path
from ._callback import long_call
from ._handle import Handle
from ._source import Source, c_source
from .config import Config, ConfigLike, pointer_of
from .context import Context
from .text import Tokenizer

__all__ = ["Metadata", "Model", "ModelSummary", "TensorInfo"]


class TensorInfo(NamedTuple):
    """One parameter tensor: its module path and shape; a vector has 1 row."""

    name: str
    rows: int
    columns: int


class ModelSummary(NamedTuple):
    """What a model file holds and, in bytes of a context's account, needs; step is -1 unless it is a checkpoint."""

    parameters: int
    vocab_size: int
    file_bytes: int
    decode_bytes: int
    train_bytes: int
    step: int
    has_tokenizer: bool
    precision: str


class Metadata(MutableMapping[str, str]):
    """The texts that are kept with a model, in its files too: ``model.metadata["licence"] = "CC0"``."""

    def __init__(self, model: "Model") -> None:
        self._model = model

    def __getitem__(self, key: str) -> str:
        value = lib.xf_model_metadata(self._model._c, _buffer.c_string(key, "key"))
        if value is None:
            raise KeyError(key)
        return str(value.decode())

    def __setitem__(self, key: str, value: str) -> None:
        given = (_buffer.c_string(key, "key"), _buffer.c_string(value, "value"))
        call(lib.xf_model_set_metadata, self._model._c, *given)

    def __delitem__(self, key: str) -> None:
        self[key]
        call(lib.xf_model_set_metadata, self._model._c, _buffer.c_string(key, "key"), None)

    def __iter__(self) -> Iterator[str]:
        model = self._model._c
        keys = iter(lambda at=count(): lib.xf_model_metadata_key(model, next(at)), None)  # type: ignore[misc]
        return iter([key.decode() for key in keys])

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Model(Handle):
    """A Transformer's parameters with their configuration and, perhaps, a tokenizer.

    The constructor makes fresh parameters from the options of the group "model."; without a tokenizer
    "model.vocab_size" must be set. Many decoders may share a model.
    """

    _kind = "model"
    _free = lib.xf_model_free

    def __init__(self, context: Context, config: ConfigLike = None, tokenizer: Optional[Tokenizer] = None) -> None:
        where = Context._of(context, "context")
        words = None if tokenizer is None else Tokenizer._of(tokenizer, "tokenizer")
        self._create(lib.xf_model_create, where, pointer_of(config), words, keep=where)

    @classmethod
    def load(cls, context: Context, source: Source) -> "Model":
        """Loads what :meth:`save`, :meth:`to_bytes` or :meth:`Trainer.save` wrote: a file name (str, os.PathLike), the
        content of one (bytes, bytearray, memoryview), or a file that is open for reading, in binary mode; one of the
        system is read whole, another object with read() from where it stands. All is checked before it is used."""
        where = Context._of(context, "context")
        given, held = c_source(source)
        if given.path is not None:
            return cls._make(lib.xf_model_load, where, given.path)
        return cls._make(lib.xf_model_load_from, where, ctypes.byref(given))

    @staticmethod
    def inspect(context: Context, source: Source, config: ConfigLike = None) -> ModelSummary:
        """Reads what a model holds, and what decoding and training by ``config`` would need, from its header alone."""
        native, options = Context._of(context, "context"), pointer_of(config)
        given, held = c_source(source)
        where = (native, options, ctypes.byref(given))
        return read(ModelSummary, structs.xf_model_summary, lib.xf_model_inspect, *where, has_tokenizer=bool)

    @classmethod
    def average(cls, models: Iterable["Model"]) -> "Model":
        """The mean of the parameters of models; tokenizer and metadata are the first one's."""
        several = enumerate(_buffer.each(models, "models", "several models"))
        natives = [Model._of(model, "models[%d]" % index) for index, model in several]
        pointers = (ctypes.c_void_p * len(natives))(*(native._as_parameter_.value for native in natives))
        return cls._make(lib.xf_model_average, pointers, len(natives), keep=natives[:1])

    @classmethod
    def average_files(cls, context: Context, paths: Iterable[Path]) -> "Model":
        """The same of files, with the memory of two models however many there are."""
        if isinstance(paths, (str, bytes)):
            raise _buffer.wrong("paths", "several file names", paths)
        several = enumerate(_buffer.each(paths, "paths", "several file names"))
        names = [_buffer.path_bytes(path, "paths[%d]" % index) for index, path in several]
        given = (Context._of(context, "context"), _buffer.strings(names), len(names))
        return cls._make(lib.xf_model_average_files, *given)

    def copy(self, context: Optional[Context] = None) -> "Model":
        """A model of its own with the same parameters, tokenizer and metadata, in another context perhaps."""
        where = None if context is None else Context._of(context, "context")
        return self._make(lib.xf_model_copy, self._c, where, keep=where or self._c)

    def save(self, path: Path, config: ConfigLike = None) -> None:
        """Saves it, replacing an old file at once or not at all; the old one stays as "<path>.prev". With
        ``{"file.precision": "fp16"}`` or "bf16" the file is half as large, with "int8" a quarter; numbers are rounded."""
        long_call(lib.xf_model_save, self._c, pointer_of(config), _buffer.path_bytes(path))

    def to_bytes(self, config: ConfigLike = None) -> bytearray:
        """What :meth:`save` writes, in memory."""
        given = (lib.xf_model_save_memory, self._c, pointer_of(config))
        room: bytearray = filled(0, bytearray, *given, by=long_call)
        return room

    @property
    def metadata(self) -> Metadata:
        """The texts that are kept with the model: where it came from, its languages, a licence."""
        return Metadata(self)

    @property
    def config(self) -> Config:
        """A copy of the configuration the model was made with, "model.vocab_size" filled in."""
        model = self._c
        return Config._copy_of(lib.xf_model_config(model))

    @property
    def tokenizer(self) -> Optional[Tokenizer]:
        """The model's tokenizer; None when it has none."""
        model = self._c
        pointer = lib.xf_model_tokenizer(model)
        return Tokenizer._borrow(pointer, model) if pointer else None

    @property
    def tensors(self) -> Tuple[TensorInfo, ...]:
        """The parameter tensors in the order of the file."""
        model = self._c
        return tuple(_info(model, index) for index in range(lib.xf_model_tensor_count(model)))

    def read(self, tensor: Union[int, str], out: Any = None) -> memoryview:
        """A copy of a parameter tensor, named by index or name, as a memoryview of shape (rows, columns).

        ``out`` is a writable buffer of rows * columns 32-bit floats to be filled in place of a new one."""
        model = self._c
        index, info = info_of(model, tensor)
        values, size = room(info, out)
        call(lib.xf_model_read_tensor, model, index, _buffer.address(values), size)
        return shaped(values, info)

    def write(self, tensor: Union[int, str], values: Any) -> None:
        """Replaces a parameter tensor by rows * columns finite numbers in row-major order: a buffer of 32-bit floats,
        or nested sequences."""
        numbers, size = _buffer.numbers(values, "f", "values")
        call(lib.xf_model_write_tensor, self._c, info_of(self._c, tensor)[0], _buffer.address(numbers), size)


def _info(model: Any, index: int) -> TensorInfo:
    return read(TensorInfo, structs.xf_tensor_info, lib.xf_model_get_tensor, model, index)


def info_of(model: Any, tensor: Union[int, str]) -> Tuple[int, TensorInfo]:
    """Index and shape of a tensor, named by either, of a model."""
    size = lib.xf_model_tensor_count(model)
    if isinstance(tensor, str):
        for index in range(size):
            info = _info(model, index)
            if info.name == tensor:
                return index, info
        raise KeyError(tensor)
    tensor = _buffer.integer(tensor, "tensor")
    if not 0 <= tensor < size:
        raise IndexError("tensor %d of %d" % (tensor, size))
    return tensor, _info(model, tensor)


def room(info: TensorInfo, out: Any) -> Tuple[Any, int]:
    """Where a tensor is copied to, and how many numbers fit: out, or a new array."""
    if out is not None:
        return _buffer.writable(out, "f", "out")
    numbers = array("f", bytes(4 * info.rows * info.columns))
    return numbers, len(numbers)


def shaped(values: Any, info: TensorInfo) -> memoryview:
    """Numbers as a matrix."""
    data: Any = memoryview(values).cast("B")
    matrix: memoryview = data.cast("f", (info.rows, info.columns))
    return matrix
