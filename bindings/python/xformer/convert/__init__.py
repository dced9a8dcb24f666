"""Converts models and tokenizers from and to other programs: ``python -m xformer.convert --help``.

Each command has its own module. A field that cannot be converted is an error that names the field.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import os
import sys

__all__ = ["ConvertError", "say"]


class ConvertError(Exception):
    """An input that cannot be converted. The message is one sentence that names the file and, if known, the field."""


def say(sentence: str) -> None:
    """Prints a line to standard error.

    If that fails (a closed pipe, a full disk), this line and all later ones are discarded and the conversion continues.
    """
    try:
        print(sentence, file=sys.stderr, flush=True)
    except OSError:
        sys.stderr = open(os.devnull, "w")
