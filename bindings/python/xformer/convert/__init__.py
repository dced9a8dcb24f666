"""Models and tokenizers of other programs, made into files of this library: ``python -m xformer.convert --help``.

One module for each command. What can't be carried over is refused by the name of the field, never dropped.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import os
import sys

__all__ = ["ConvertError", "say"]


class ConvertError(Exception):
    """What can't be converted: a sentence with the file, and the field where there is one."""


def say(sentence: str) -> None:
    """A line on standard error. Where that can't be written (a pipe that nobody reads, a full disk), it and what
    follows go nowhere: what is converted does not depend on who listens."""
    try:
        print(sentence, file=sys.stderr, flush=True)
    except OSError:
        sys.stderr = open(os.devnull, "w")
