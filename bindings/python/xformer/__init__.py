"""xformer: trains and decodes the encoder-decoder Transformer of "Attention Is All You Need", by libxformer.

Threads: the interpreter lock is free during each call of the library. One object in two calls at once is a BusyError,
unless both only read it.

Ctrl-C: Python raises KeyboardInterrupt when the call of the library that runs has returned. ``Trainer.train`` and
``Decoder.translate`` work in short calls, so it comes soon and between two steps. To end one long call (training a
tokenizer, ``Decoder.decode`` of a large batch) call ``Context.cancel()`` from another thread.

Forks: a child can't use the objects of its parent (ForkedError), but may make a Context of its own.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from ._abi import lib as _lib
from .config import Config, ConfigLike, Option, OptionType, Value, options
from .context import BackendInfo, Context, LogLevel, MemoryStats
from .data import Batch, Batcher, BatcherStats, Corpus, CorpusStats
from .decoder import Answers, AttentionKind, Constraint, Decoder, EvalStats, Hypothesis, Prefix, translate
from .errors import (
    BackendError,
    BufferTooSmallError,
    BusyError,
    CallbackError,
    CancelledError,
    ClosedError,
    CorruptError,
    DataError,
    FileError,
    ForkedError,
    InternalError,
    InvalidArgumentError,
    LimitError,
    NoMemoryError,
    NonfiniteError,
    NotFoundError,
    OutOfRangeError,
    StateError,
    Status,
    UnsupportedError,
    VersionError,
    XformerError,
)
from .eval import BleuScore, bleu, chrf
from .model import Model, ParamInfo
from .text import TOKEN_END, TOKEN_START, Tokenizer
from .trainer import StepStats, Trainer

#: Version of this package, the headers of which it mirrors.
__version__ = "0.1.0"


def version() -> str:
    """Version of the library that is loaded, such as "0.1.0"."""
    return str(_lib.xf_version().decode())


def version_num() -> int:
    """Version of the library that is loaded as one number 0xXXYYZZ, for comparison."""
    return int(_lib.xf_version_num())


def build_info() -> str:
    """How the library was built, one line for bug reports."""
    return str(_lib.xf_build_info().decode())


def status_name(status: int) -> str:
    """The library's name of a status, such as "XF_ERROR_CORRUPT"."""
    return str(_lib.xf_status_name(status).decode())


__all__ = [
    "Answers",
    "AttentionKind",
    "BackendError",
    "BackendInfo",
    "Batch",
    "Batcher",
    "BatcherStats",
    "BleuScore",
    "BufferTooSmallError",
    "BusyError",
    "CallbackError",
    "CancelledError",
    "ClosedError",
    "Config",
    "ConfigLike",
    "Constraint",
    "Context",
    "Corpus",
    "CorpusStats",
    "CorruptError",
    "DataError",
    "Decoder",
    "EvalStats",
    "FileError",
    "ForkedError",
    "Hypothesis",
    "InternalError",
    "InvalidArgumentError",
    "LimitError",
    "LogLevel",
    "MemoryStats",
    "Model",
    "NoMemoryError",
    "NonfiniteError",
    "NotFoundError",
    "Option",
    "OptionType",
    "OutOfRangeError",
    "ParamInfo",
    "Prefix",
    "StateError",
    "Status",
    "StepStats",
    "TOKEN_END",
    "TOKEN_START",
    "Tokenizer",
    "Trainer",
    "UnsupportedError",
    "Value",
    "VersionError",
    "XformerError",
    "bleu",
    "build_info",
    "chrf",
    "options",
    "status_name",
    "translate",
    "version",
    "version_num",
]
