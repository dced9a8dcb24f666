"""xformer: trains and decodes the encoder-decoder Transformer of "Attention Is All You Need" with libxformer.

Threads: the interpreter lock is released during each call of the library. A call that finds its object in use by
another call raises :class:`BusyError`, unless both only read it.

Cancellation: Ctrl-C stops a long call (translating, training a tokenizer, loading) within a tenth of a second, and a
training loop between two steps. It raises KeyboardInterrupt, and all objects remain usable. A :class:`CancelToken`
(``cancel=token``) cancels a call from another thread. Cancelling an asyncio task cancels its call
(``translate_async()``). ``deadline=seconds`` limits the time of a call, and ``progress=function`` reports its progress.

Forks: a child process cannot use the objects of its parent (:class:`ForkedError`). It may create its own contexts.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from . import batch, call, config, context, data, decoder, engine, errors, eval, experimental, io, model, text, trainer
from ._abi import lib as _lib
from ._buffer import integer as _integer
from .batch import *
from .call import *
from .config import *
from .context import *
from .data import *
from .decoder import *
from .engine import *
from .errors import *
from .eval import *
from .io import *
from .model import *
from .text import *
from .trainer import *

#: Version of this package and of the headers from which it was generated.
__version__ = "0.1.0"


def version() -> str:
    """Returns the version of the loaded library, such as "0.1.0"."""
    return str(_lib.xf_version().decode())


def version_num() -> int:
    """Returns the version of the loaded library as one number 0xXXYYZZ, for comparison."""
    return int(_lib.xf_version_num())


def build_info() -> str:
    """Returns how the library was built, one line for bug reports."""
    return str(_lib.xf_build_info().decode())


def status_name(status: int) -> str:
    """Returns the library's name of a status, such as "XF_ERROR_CORRUPT"."""
    return str(_lib.xf_status_name(_integer(status, "status", 32)).decode())


__all__ = ["build_info", "experimental", "status_name", "version", "version_num"]
__all__ += batch.__all__ + call.__all__ + config.__all__ + context.__all__ + data.__all__ + decoder.__all__
__all__ += engine.__all__ + errors.__all__ + eval.__all__ + io.__all__ + model.__all__ + text.__all__ + trainer.__all__
