"""xformer: trains and decodes the encoder-decoder Transformer of "Attention Is All You Need", by libxformer.

Threads: the interpreter lock is free during each call of the library. One object in two calls at once is a BusyError,
unless both only read it.

Ctrl-C ends a long call (translating, training a tokenizer, loading) within a tenth of a second and a training loop
between two steps: KeyboardInterrupt, and all objects stay usable. From another thread, ``cancel()`` of a context, a
trainer or a decoder ends what runs on it in CancelledError.

Forks: a child can't use the objects of its parent (ForkedError), but may make a Context of its own.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from . import batch, config, context, data, decoder, errors, eval, model, text, trainer
from ._abi import lib as _lib
from ._buffer import integer as _integer
from .batch import *
from .config import *
from .context import *
from .data import *
from .decoder import *
from .errors import *
from .eval import *
from .model import *
from .text import *
from .trainer import *

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
    return str(_lib.xf_status_name(_integer(status, "status", 32)).decode())


__all__ = ["build_info", "status_name", "version", "version_num"]
__all__ += batch.__all__ + config.__all__ + context.__all__ + data.__all__ + decoder.__all__ + errors.__all__
__all__ += eval.__all__ + model.__all__ + text.__all__ + trainer.__all__
