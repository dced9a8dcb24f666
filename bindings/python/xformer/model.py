"""The Transformer's parameters, in memory and in a file.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from array import array
from typing import Any, Iterable, NamedTuple, Optional, Tuple, Union

from . import _buffer
from ._abi import call, lib, xf_tensor_info
from ._buffer import Path
from ._handle import Guard, Handle
from .config import Config, ConfigLike, using
from .context import Context
from .text import Tokenizer


class ParamInfo(NamedTuple):
    """One parameter tensor: its module path and shape; a vector has 1 row."""

    name: str
    rows: int
    columns: int


class Model(Handle):
    """A Transformer's parameters with their configuration and, perhaps, a tokenizer.

    The constructor makes fresh parameters from the options of the group "model."; without a tokenizer
    "model.vocab_size" must be set. Many decoders may share a model.
    """

    _kind = "model"
    _free = lib.xf_model_free
    _context: Context

    def __init__(self, context: Context, config: ConfigLike = None, tokenizer: Optional[Tokenizer] = None) -> None:
        self._begin(context)
        with context._read() as c, using(config) as options:
            if tokenizer is None:
                call(lib.xf_model_create, c, options, None, ctypes.byref(self._pointer))
            else:
                with tokenizer._read() as words:
                    call(lib.xf_model_create, c, options, words, ctypes.byref(self._pointer))

    def _begin(self, context: Context, owner: Optional[Handle] = None, guard: Optional[Guard] = None) -> None:
        self._setup(keep=(context,), guards=(context._guard,), owner=owner, guard=guard)
        self._context = context

    @classmethod
    def load(cls, context: Context, path: Path) -> "Model":
        """Loads what :meth:`save` or :meth:`Trainer.save` wrote. The file is checked before it is used."""
        self = cls.__new__(cls)
        self._begin(context)
        with context._read() as c:
            call(lib.xf_model_load, c, _buffer.path_bytes(path), ctypes.byref(self._pointer))
        return self

    @classmethod
    def average(cls, context: Context, paths: Iterable[Path]) -> "Model":
        """Loads several files of one model and averages their parameters."""
        self = cls.__new__(cls)
        self._begin(context)
        names = [_buffer.path_bytes(path) for path in paths]
        with context._read() as c:
            call(lib.xf_model_average, c, _buffer.strings(names), len(names), ctypes.byref(self._pointer))
        return self

    @classmethod
    def _borrow(cls, owner: Handle, context: Context, pointer: int, guard: Guard) -> "Model":
        """A model that belongs to a trainer."""
        self = cls.__new__(cls)
        self._begin(context, owner, guard)
        self._pointer = ctypes.c_void_p(pointer)
        return self

    def save(self, path: Path) -> None:
        """Saves it, replacing an old file at once or not at all; the old one stays as "<path>.prev"."""
        with self._read() as model:
            call(lib.xf_model_save, model, _buffer.path_bytes(path))

    def export(self, path: Path, config: ConfigLike = None) -> None:
        """Writes it as the options "file." say: ``{"file.precision": "fp16"}`` or "bf16" halves the file. Numbers are
        rounded; :meth:`load` widens them."""
        with self._read() as model, using(config) as options:
            call(lib.xf_model_export, model, options, _buffer.path_bytes(path))

    @property
    def config(self) -> Config:
        """A copy of the configuration the model was made with, "model.vocab_size" filled in."""
        with self._read() as model:
            return Config._copy_of(lib.xf_model_config(model))

    @property
    def tokenizer(self) -> Optional[Tokenizer]:
        """The model's tokenizer, usable until the model is closed; None when it has none."""
        with self._read() as model:
            pointer = lib.xf_model_tokenizer(model)
            return Tokenizer._borrow(self, self._context, pointer) if pointer else None

    @property
    def params(self) -> Tuple[ParamInfo, ...]:
        """The parameter tensors in the order of the file."""
        with self._read() as model:
            return tuple(_info(model, index) for index in range(lib.xf_model_tensor_count(model)))

    def read(self, param: Union[int, str], out: Any = None) -> memoryview:
        """A copy of a parameter tensor, named by index or name, as a memoryview of shape (rows, columns).

        ``out`` is a writable buffer of rows * columns 32-bit floats to be filled in place of a new one."""
        with self._read() as model:
            index = index_of(model, param)
            info = _info(model, index)
            values, count = room(info, out)
            call(lib.xf_model_read_tensor, model, index, _buffer.address(values), count)
        return shaped(values, info)

    def write(self, param: Union[int, str], values: Any) -> None:
        """Replaces a parameter tensor by rows * columns finite numbers in row-major order: a buffer of 32-bit floats,
        or nested sequences."""
        numbers, count = _buffer.numbers(values, "f")
        with self._write() as model:
            call(lib.xf_model_write_tensor, model, index_of(model, param), _buffer.address(numbers), count)


def _info(model: Any, index: int) -> ParamInfo:
    info = xf_tensor_info()
    call(lib.xf_model_get_tensor, model, index, ctypes.byref(info))
    return ParamInfo(info.name.decode(), info.rows, info.columns)


def index_of(model: Any, param: Union[int, str]) -> int:
    """The index of a parameter, of the pointer to a model."""
    count = lib.xf_model_tensor_count(model)
    if isinstance(param, str):
        for index in range(count):
            if _info(model, index).name == param:
                return index
        raise KeyError(param)
    if not 0 <= param < count:
        raise IndexError("parameter %d of %d" % (param, count))
    return param


def room(info: ParamInfo, out: Any) -> Tuple[Any, int]:
    """Where a tensor is copied to, and how many numbers fit: out, or a new array."""
    if out is not None:
        return _buffer.writable(out, "f")
    numbers = array("f", bytes(4 * info.rows * info.columns))
    return numbers, len(numbers)


def shaped(values: Any, info: ParamInfo) -> memoryview:
    """Numbers as a matrix."""
    data: Any = memoryview(values).cast("B")
    matrix: memoryview = data.cast("f", (info.rows, info.columns))
    return matrix


def info_of(model: Any, param: Union[int, str]) -> Tuple[int, ParamInfo]:
    """Index and shape of a parameter, of the pointer to a model."""
    index = index_of(model, param)
    return index, _info(model, index)
