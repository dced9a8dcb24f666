"""Reads and writes the wire format of Protocol Buffers. The input is untrusted.

A table {number: (name, kind)} describes the fields of a message. Kinds are "int" (varint, signed, 64 bits), "bool",
"float" (32 bits), "string", "bytes", a table (a nested message), and None (a known field that is skipped). A kind in a
list marks a repeated field. Fields that are not in the table are errors, because they could change the meaning.

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
    """Returns the fields of a message by name. ``where`` begins the message of a ConvertError."""
    found: Dict[str, Any] = {}
    for number, wire, value in _fields(data, where):
        if number not in table:
            raise ConvertError("%s: field %d is unknown: it could change the meaning of the file" % (where, number))
        name, kind = table[number]
        if kind is None:
            continue
        many = isinstance(kind, list)
        kind = kind[0] if many else kind
        at = "%s: %s" % (where, name)
        if many:
            at += "[%d]" % len(found.setdefault(name, []))
        expected = _BYTES if isinstance(kind, dict) else _WIRE[kind]
        if wire != expected:
            raise ConvertError("%s has wire type %d, expected %d" % (at, wire, expected))
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
    offset = 0
    while offset < len(data):
        key, offset = _varint(data, offset, where)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, offset = _varint(data, offset, where)
            yield number, wire, value
            continue
        if wire == _BYTES:
            size, offset = _varint(data, offset, where)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise ConvertError("%s: field %d has wire type %d, expected 0, 1, 2, or 5" % (where, number, wire))
        if size > len(data) - offset:
            raise ConvertError("%s: field %d has %d bytes, but only %d are left: the file is truncated"
                % (where, number, size, len(data) - offset))
        yield number, wire, data[offset : offset + size]
        offset += size


def _varint(data: memoryview, offset: int, where: str) -> Tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if offset >= len(data):
            raise ConvertError("%s ends within a number: the file is truncated" % where)
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= 1 << 64:
                break
            return value, offset
    raise ConvertError("%s contains a number of more than 64 bits" % where)


def int_field(number: int, value: int) -> bytes:
    """Returns an encoded field. Negative values are encoded in 64 bits."""
    return _encoded(number << 3 | _VARINT) + _encoded(int(value) % (1 << 64))


def float_field(number: int, value: float) -> bytes:
    return _encoded(number << 3 | _FIXED32) + struct.pack("<f", value)


def bytes_field(number: int, value: bytes) -> bytes:
    return _encoded(number << 3 | _BYTES) + _encoded(len(value)) + value


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
