"""Models and tokenizers of other programs, made into files of this library: ``python -m xformer.convert --help``.

One module for each command. What can't be carried over is refused by the name of the field, never dropped.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

__all__ = ["ConvertError"]


class ConvertError(Exception):
    """What can't be converted: a sentence with the file, and the field where there is one."""
