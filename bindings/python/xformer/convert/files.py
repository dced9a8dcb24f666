"""Files of others, read whole and trusted in nothing.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import json
from typing import Any, Dict, List, Tuple

from . import ConvertError

_MOST = 1 << 28


def read_file(path: str) -> bytes:
    """All bytes of a file; ConvertError when it can't be read or is larger than any of its kind."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST + 1)
    except OSError as error:
        raise ConvertError("%s: %s" % (path, error.strerror)) from error
    if len(data) > _MOST:
        raise ConvertError("%s has more than %d bytes" % (path, _MOST))
    return data


def read_json(path: str) -> Dict[str, Any]:
    """A file that holds one JSON object."""
    return json_object(read_file(path), path)


def json_object(data: bytes, where: str) -> Dict[str, Any]:
    """One JSON object, no name in it twice and all its texts Unicode; ``where`` begins the sentence of an error."""
    try:
        value = json.loads(data, object_pairs_hook=_unique)
        json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair can be escaped, but not written
    except (ValueError, RecursionError) as error:
        raise ConvertError("%s is not JSON: %s" % (where, error)) from error
    if not isinstance(value, dict):
        raise ConvertError("%s holds no JSON object" % where)
    return value


def _unique(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError("the name %r occurs twice" % next(name for name in names if names.count(name) > 1))
    return found
