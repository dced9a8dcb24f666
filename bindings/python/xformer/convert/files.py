"""Reads untrusted input files into memory.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import json
from typing import Any, Dict, List, Tuple

from . import ConvertError

_MAX_BYTES = 1 << 28


def read_file(path: str) -> bytes:
    """Returns the contents of a file. ConvertError if it cannot be read or is larger than 256 MiB."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ConvertError("%s: %s" % (path, error.strerror)) from error
    if len(data) > _MAX_BYTES:
        raise ConvertError("%s is too large: expected at most %d bytes" % (path, _MAX_BYTES))
    return data


def read_json(path: str) -> Dict[str, Any]:
    """Reads a file that contains one JSON object."""
    return json_object(read_file(path), path)


def json_object(data: bytes, where: str) -> Dict[str, Any]:
    """Parses one JSON object. Duplicate names and lone surrogates are errors; ``where`` begins the error message."""
    try:
        value = json.loads(data, object_pairs_hook=_unique)
        json.dumps(value, ensure_ascii=False).encode()  # fails for a lone surrogate
    except (ValueError, RecursionError) as error:
        raise ConvertError("%s is not JSON: %s" % (where, error)) from error
    if not isinstance(value, dict):
        raise ConvertError("%s is a JSON %s, expected an object" % (where, type(value).__name__))
    return value


def _unique(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError("the name %r occurs twice" % next(name for name in names if names.count(name) > 1))
    return found
