"""Protocol Buffers as bytes: the wire format, read and written without another package; the reader trusts nothing.

A message is read by a table of its fields, {number: (name, kind)}. Kinds: "int" (varint, signed 64 bits), "bool",
"float" (32 bits), "string", "bytes", a table (a message), and None (known, not read). A kind in a list is one that may
occur many times. A number that is not in the table is refused: it may mean anything.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import struct
from typing import Any, Dict, Iterator, Mapping, Tuple, Union

from . import ConvertError

Table = Mapping[int, Tuple[str, Any]]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIRE = {"int": _VARINT, "bool": _VARINT, "float": _FIXED32, "string": _BYTES, "bytes": _BYTES}


def read_message(data: memoryview, table: Table, where: str) -> Dict[str, Any]:
    """The fields that a message has, by name. ``where`` begins the sentence of a ConvertError."""
    found: Dict[str, Any] = {}
    for number, wire, value in _fields(data, where):
        if number not in table:
            raise ConvertError("%s: field %d is not known, and may change what the file means" % (where, number))
        name, kind = table[number]
        if kind is None:
            continue
        many = isinstance(kind, list)
        kind = kind[0] if many else kind
        at = "%s: %s" % (where, name)
        if many:
            at += "[%d]" % len(found.setdefault(name, []))
        if wire != (_BYTES if isinstance(kind, dict) else _WIRE[kind]):
            raise ConvertError("%s has wire type %d, expected another for this field" % (at, wire))
        if isinstance(kind, dict):
            read: Any = read_message(_view(value), kind, at)
            if not many:
                read = {**found.get(name, {}), **read}
        else:
            read = _value(kind, value, at)
        if many:
            found[name].append(read)
        else:
            found[name] = read
    return found


def _view(value: Union[int, memoryview]) -> memoryview:
    assert isinstance(value, memoryview)
    return value


def _value(kind: str, value: Any, at: str) -> Any:
    if kind == "int":
        return value - (1 << 64) if value >= 1 << 63 else value
    if kind == "bool":
        return value != 0
    if kind == "float":
        return struct.unpack("<f", value)[0]
    if kind == "bytes":
        return bytes(value)
    try:
        return str(value, "utf-8")
    except UnicodeDecodeError as error:
        raise ConvertError("%s is not UTF-8" % at) from error


def _fields(data: memoryview, where: str) -> Iterator[Tuple[int, int, Union[int, memoryview]]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at, where)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(data, at, where)
            yield number, wire, value
            continue
        if wire == _BYTES:
            size, at = _varint(data, at, where)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise ConvertError("%s: field %d has wire type %d, which is no longer in use" % (where, number, wire))
        if size > len(data) - at:
            raise ConvertError("%s: field %d has %d bytes, of which %d are there" % (where, number, size, len(data) - at))
        yield number, wire, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int, where: str) -> Tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ConvertError("%s ends within a number" % where)
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= 1 << 64:
                break
            return value, at
    raise ConvertError("%s: a number has more than 64 bits" % where)


def int_field(number: int, value: int) -> bytes:
    """A field as it stands in a message; negative values are those of 64 bits."""
    return _written(number << 3 | _VARINT) + _written(int(value) % (1 << 64))


def float_field(number: int, value: float) -> bytes:
    return _written(number << 3 | _FIXED32) + struct.pack("<f", value)


def bytes_field(number: int, value: bytes) -> bytes:
    return _written(number << 3 | _BYTES) + _written(len(value)) + value


def _written(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
