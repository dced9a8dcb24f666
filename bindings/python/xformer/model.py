"""The parameters of a Transformer, in memory and in files.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
import math
from array import array
from typing import Any, Iterable, Iterator, List, MutableMapping, NamedTuple, Optional, Tuple, Union

from . import _buffer
from ._abi import abi, call, fill, lib, to_tuple
from ._buffer import Text
from ._handle import Handle
from .call import Call, CancelToken, Deadline, Progress
from .config import Config, ConfigLike, pointer_of
from .context import Context, type_name
from .errors import NotFoundError, Status
from .io import Sink, Source, c_source, save, save_bytes
from .text import SIDES, Tokenizer, ids_of

__all__ = ["Metadata", "Model", "ModelSummary", "TensorInfo"]


class TensorInfo(NamedTuple):
    """A parameter tensor: its module path, its type in memory ("fp32", "int8", ...), and its shape."""

    name: str
    type: str
    shape: Tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of parameters."""
        return math.prod(self.shape)


class ModelSummary(NamedTuple):
    """Contents of a model file, and estimates of the bytes that decoding and training need. ``weights`` is the type of
    its matrices. ``step`` is -1 unless the file is a checkpoint."""

    parameters: int
    vocab_size: int
    file_bytes: int
    decode_bytes: int
    train_bytes: int
    step: int
    has_tokenizer: bool
    weights: str


class Metadata(MutableMapping[str, str]):
    """The texts that are stored with a model: ``model.metadata["license"] = "CC0"``.

    Reading copies a text, so it remains valid when the model changes.
    """

    def __init__(self, model: "Model") -> None:
        self._model = model

    def __getitem__(self, key: str) -> str:
        try:
            return _text(200, lib.xf_model_get_metadata, self._model._c, _buffer.c_string(key, "key"))
        except NotFoundError:
            raise KeyError(key) from None

    def __setitem__(self, key: str, value: str) -> None:
        texts = (_buffer.c_string(key, "key"), _buffer.c_string(value, "value"))
        call(lib.xf_model_set_metadata, self._model._c, *texts)

    def __delitem__(self, key: str) -> None:
        self[key]
        call(lib.xf_model_set_metadata, self._model._c, _buffer.c_string(key, "key"), None)

    def __iter__(self) -> Iterator[str]:
        keys: List[str] = []
        length = ctypes.c_size_t()
        room = ctypes.create_string_buffer(257)  # fits every key
        while True:
            arguments = (self._model._c, len(keys), room, len(room), ctypes.byref(length))
            if call(lib.xf_model_get_metadata_key, *arguments) == Status.DONE:
                return iter(keys)
            keys.append(room.raw[: length.value].decode("utf-8"))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return "Metadata(%r)" % dict(self)


class Model(Handle):
    """The parameters of a Transformer, its configuration, and optionally a tokenizer.

    The constructor creates random parameters from the options of the group "model.". Without a tokenizer the model
    works on ids, and "model.vocab_size" must be set. Any number of decoders may use one model.
    """

    _kind = "model"
    _free = lib.xf_model_free

    def __init__(self, context: Context, tokenizer: Optional[Tokenizer] = None, config: ConfigLike = None) -> None:
        native = Context._of(context, "context")
        words = None if tokenizer is None else Tokenizer._of(tokenizer, "tokenizer")
        self._create(lib.xf_model_create, native, words, pointer_of(config), keep=native)

    @classmethod
    def load(
        cls,
        context: Context,
        source: Source,
        config: ConfigLike = None,
        *,
        weights: Optional[str] = None,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> "Model":
        """Loads a model or a checkpoint from a file name, its content, an open file, or a :class:`CallbackSource`.

        Everything is validated. ``weights`` is the type of the matrices in memory: "same", "fp32", "fp16", "bf16", or
        "int8"; it sets the option "model.weights".
        """
        call, native = Call(progress, deadline, cancel), Context._of(context, "context")
        c, held = c_source(source, call)
        return cls._make(lib.xf_model_load, native, c, _options(config, weights), call, by=call.run)

    @staticmethod
    def inspect(context: Context, source: Source, config: ConfigLike = None) -> ModelSummary:
        """Reads contents and memory requirements from the header of a model file."""
        call, native = Call(), Context._of(context, "context")
        summary = abi.xf_model_summary()
        c, held = c_source(source, call)
        call.run(lib.xf_model_inspect, native, c, pointer_of(config), ctypes.byref(summary))
        return to_tuple(ModelSummary, summary, has_tokenizer=bool, weights=type_name)

    @classmethod
    def average(
        cls,
        context: Context,
        sources: Iterable[Source],
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> "Model":
        """Averages the parameters of files. The result is fp32 and has the tokenizer and metadata of the first file."""
        if isinstance(sources, (str, bytes)):
            raise _buffer.wrong("sources", "several sources", sources)
        call, native = Call(progress, deadline, cancel), Context._of(context, "context")
        several = enumerate(_buffer.each(sources, "sources", "several sources"))
        pairs = [c_source(source, call, "sources[%d]" % index) for index, source in several]
        c = (abi.xf_source * len(pairs))(*(pair[0] for pair in pairs))
        return cls._make(lib.xf_model_average, native, c, len(pairs), call, by=call.run)

    def copy(
        self,
        context: Optional[Context] = None,
        config: ConfigLike = None,
        *,
        weights: Optional[str] = None,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> "Model":
        """Copies the model, optionally to another context or with another type of matrices (see :meth:`load`).

        ``model.copy(weights="int8")`` is a quantized model for translation.
        """
        native = None if context is None else Context._of(context, "context")
        call = Call(progress, deadline, cancel)
        inputs = (self._c, native, _options(config, weights))
        return self._make(lib.xf_model_copy, *inputs, call, keep=native or self._c, by=call.run)

    def save(
        self,
        sink: Sink,
        config: ConfigLike = None,
        *,
        weights: Optional[str] = None,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> None:
        """Saves the model to a file name, an open file, or a :class:`CallbackSink`.

        A file name is replaced atomically; the old file remains as "<name>.prev". ``weights`` is the type of the
        matrices in the file (see :meth:`load`): "fp16" and "bf16" halve its size, and "int8" divides it by 4.
        """
        call = Call(progress, deadline, cancel)
        save(lib.xf_model_save, self._c, _options(config, weights), sink=sink, call=call)

    def to_bytes(
        self,
        config: ConfigLike = None,
        *,
        weights: Optional[str] = None,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> bytearray:
        """Returns the file that :meth:`save` writes."""
        call = Call(progress, deadline, cancel)
        return save_bytes(lib.xf_model_save, self._c, _options(config, weights), call=call)

    def encode(self, text: Text, side: str = "source", config: ConfigLike = None) -> List[int]:
        """Encodes a text as the ids that the model expects in a :class:`Batch`: with end symbol and language tokens.

        ``side`` is "source" or "target". A multilingual model reads "text.source_language" and "text.target_language".
        """
        return self._encode_all([_buffer.utf8(text)], side, config)[0]

    def _encode_all(self, texts: List[bytes], side: str, config: ConfigLike) -> List[List[int]]:
        if side not in SIDES:
            raise ValueError("side is %r; expected 'source' or 'target'" % (side,))
        model, options = self._c, pointer_of(config)
        return [
            ids_of(lib.xf_model_encode, model, SIDES[side], text, len(text), options, capacity=len(text) + 16)
            for text in texts
        ]

    @property
    def metadata(self) -> Metadata:
        """The texts that are stored with the model, for example its origin, languages, or license."""
        return Metadata(self)

    @property
    def config(self) -> Config:
        """A copy of the model's configuration, including "model.vocab_size"."""
        model = self._c
        return Config._copy_of(lib.xf_model_config(model))

    @property
    def tokenizer(self) -> Optional[Tokenizer]:
        """The model's tokenizer; None if it has none."""
        model = self._c
        pointer = lib.xf_model_tokenizer(model)
        return Tokenizer._borrow(pointer, model) if pointer else None

    @property
    def tensors(self) -> Tuple[TensorInfo, ...]:
        """The parameter tensors in the order of the file."""
        model = self._c
        return tuple(_info(model, index) for index in range(lib.xf_model_tensor_count(model)))

    def read(self, tensor: Union[int, str], out: Any = None) -> memoryview:
        """Copies a parameter tensor, given by index or name. Returns a memoryview of 32-bit floats with its shape.

        ``out`` is a writable buffer of 32-bit floats to fill; None creates a new one.
        """
        model = self._c
        index, info = find_tensor(model, tensor)
        return read_tensor(lib.xf_model_read_tensor, model, index, info, out)

    def write(self, tensor: Union[int, str], values: Any) -> None:
        """Replaces a parameter tensor by finite numbers in row-major order: a buffer of 32-bit floats, or nested
        sequences."""
        numbers, size = _buffer.numbers(values, "f", "values")
        call(lib.xf_model_write_tensor, self._c, find_tensor(self._c, tensor)[0], _buffer.address(numbers), size)


def _options(config: ConfigLike, weights: Optional[str]) -> Any:
    """Returns what is passed for a config in which "model.weights" is set."""
    if weights is None:
        return pointer_of(config)
    pointer_of(config)  # checks the type
    options = config.copy() if isinstance(config, Config) else Config(config)
    options["model.weights"] = weights
    return options._c


def _text(capacity: int, function: Any, *args: object) -> str:
    return str(fill(capacity, bytearray, function, *args).decode("utf-8"))


def _info(model: Any, index: int) -> TensorInfo:
    info = abi.xf_tensor_info()
    call(lib.xf_model_get_tensor, model, index, ctypes.byref(info))
    return TensorInfo(info.name.decode("utf-8"), type_name(info.type), tuple(info.shape[: info.dims]))


def find_tensor(model: Any, tensor: Union[int, str]) -> Tuple[int, TensorInfo]:
    """Returns index and description of a tensor, given by index or name."""
    count = lib.xf_model_tensor_count(model)
    if isinstance(tensor, str):
        for index in range(count):
            info = _info(model, index)
            if info.name == tensor:
                return index, info
        raise KeyError(tensor)
    tensor = _buffer.integer(tensor, "tensor")
    if not 0 <= tensor < count:
        raise IndexError("tensor %d of %d" % (tensor, count))
    return tensor, _info(model, tensor)


def read_tensor(function: Any, handle: Any, index: int, info: TensorInfo, out: Any) -> memoryview:
    """Copies a tensor to out, or to a new array."""
    if out is None:
        values: Any = array("f", bytes(4 * info.size))
        count = len(values)
    else:
        values, count = _buffer.writable(out, "f", "out")
    call(function, handle, index, _buffer.address(values), count)
    data: Any = memoryview(values).cast("B")
    shaped: memoryview = data.cast("f", info.shape)
    return shaped
