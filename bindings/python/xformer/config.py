"""Options by name, and the table of all options.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from collections.abc import Mapping as _Mapping
from enum import IntEnum
from typing import Any, Dict, Iterator, Mapping, NamedTuple, Optional, Tuple, Union

from ._abi import abi, call, lib, text
from ._buffer import c_string, integer, wrong
from ._handle import Handle

__all__ = ["Config", "ConfigLike", "Option", "OptionType", "Value", "option", "options"]


#: Value of an option: of the type in the option table, or text as on a command line.
Value = Union[bool, int, float, str]


class OptionType(IntEnum):
    """Type of an option's value."""

    INTEGER = abi.XF_OPTION_INTEGER
    REAL = abi.XF_OPTION_REAL
    BOOL = abi.XF_OPTION_BOOL
    TEXT = abi.XF_OPTION_TEXT


class Option(NamedTuple):
    """One row of the option table."""

    key: str
    type: OptionType
    default: str
    minimum: float
    maximum: float
    choices: Optional[Tuple[str, ...]]
    doc: str
    paper: str
    since: str


_table: Dict[str, Option] = {}


def _option(row: Any) -> Option:
    choices = tuple(text(row.choices).split("|")) if row.choices else None
    words = (text(member) for member in (row.doc, row.paper, row.since))
    default = text(row.default_value)
    return Option(text(row.key), OptionType(row.type), default, row.minimum, row.maximum, choices, *words)


def options() -> Mapping[str, Option]:
    """Returns the option table of the loaded library, by key."""
    if not _table:
        rows = {}
        for index in range(lib.xf_option_count()):
            row = abi.xf_option_info()
            call(lib.xf_option_get, index, ctypes.byref(row))
            rows[text(row.key)] = _option(row)
        _table.update(rows)
    return dict(_table)


def option(key: str) -> Option:
    """Returns one row of the option table. The NotFoundError of an unknown key names the nearest one."""
    row = abi.xf_option_info()
    call(lib.xf_option_find, c_string(key, "key"), ctypes.byref(row))
    return _option(row)


class Config(Handle, _Mapping):  # type: ignore[type-arg]
    """A set of option values: a mapping of all keys of the option table. An option that was not set has its default.

    >>> Config({"model.d_model": 64}, preset="tiny")["model.d_model"]
    64
    """

    _kind = "config"
    _free = lib.xf_config_free

    def __init__(self, values: Optional[Mapping[str, Value]] = None, *, preset: Optional[str] = None) -> None:
        """Applies a preset ("tiny", "small", "base", "big", or "parsing"), then sets values."""
        self._create(lib.xf_config_create)
        if preset is not None:
            self.preset(preset)
        if values is not None:
            self.update(values)

    @classmethod
    def _copy_of(cls, pointer: Any) -> "Config":
        self = cls.__new__(cls)
        self._create(lib.xf_config_copy, pointer)
        return self

    def copy(self) -> "Config":
        """Returns a copy with all values."""
        return self._copy_of(self._c)

    __copy__ = copy  # type: ignore[assignment]

    def preset(self, name: str) -> None:
        """Sets the model and training options of a preset. Other options are unchanged."""
        call(lib.xf_config_preset, self._c, c_string(name, "preset"))

    def update(self, values: Mapping[str, Value]) -> None:
        """Sets several options."""
        if not isinstance(values, _Mapping):
            raise wrong("values", "a mapping of options", values)
        for key, value in values.items():
            self[key] = value

    def __setitem__(self, key: str, value: Value) -> None:
        name = c_string(key, "the key of an option")
        row = _row(key)
        if row is not None and not isinstance(value, str):
            if row.type == OptionType.TEXT or (isinstance(value, bool) and row.type != OptionType.BOOL):
                raise wrong(key, _WORDS[row.type], value)
            if row.type == OptionType.REAL:
                call(lib.xf_config_set_number, self._c, name, _real(value, key))
                return
            value = integer(value, key)  # as text, because not every int is exact as a double
        # The library's error for an unknown key names the nearest one.
        call(lib.xf_config_set, self._c, name, c_string(str(value), key))

    def __getitem__(self, key: str) -> Value:
        row = _row(key)
        if row is None or row.type == OptionType.TEXT:
            return self.text(key)
        number = ctypes.c_double()
        call(lib.xf_config_get_number, self._c, c_string(key, "the key of an option"), ctypes.byref(number))
        if row.type == OptionType.REAL:
            return number.value
        return bool(number.value) if row.type == OptionType.BOOL else int(number.value)

    def text(self, key: str) -> str:
        """Returns an option of any type as text, in the form that can be set."""
        with self.copy() as mine:  # another thread may set the option, which invalidates the text
            value = ctypes.c_char_p()
            call(lib.xf_config_get, mine._c, c_string(key, "the key of an option"), ctypes.byref(value))
            return (value.value or b"").decode("utf-8")

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value, or default if no such option exists."""
        return self[key] if key in self else default

    def __contains__(self, key: object) -> bool:
        return key in options()

    def __iter__(self) -> Iterator[str]:
        return iter(options())

    def __len__(self) -> int:
        return len(options())

    def __repr__(self) -> str:
        if self.closed:
            return "<Config closed>"
        with Config() as defaults:
            return "Config(%r)" % {key: self[key] for key in self if self[key] != defaults[key]}

    __hash__ = None  # type: ignore[assignment]


ConfigLike = Union[Config, Mapping[str, Value], None]


_WORDS = {OptionType.INTEGER: "an int", OptionType.REAL: "a number", OptionType.TEXT: "str"}


def _real(value: Any, key: str) -> float:
    try:
        # float() would also read text, but options have their own form of text.
        return float(value) if hasattr(value, "__float__") else float(integer(value, key))
    except TypeError:
        raise wrong(key, "a number", value) from None
    except OverflowError:
        raise OverflowError("%s does not fit in a float" % key) from None


def _row(key: str) -> Optional[Option]:
    if not _table:
        options()
    return _table.get(key)


def pointer_of(config: ConfigLike) -> Any:
    """Returns what is passed to the library for a config, a mapping, or None."""
    if config is None:
        return None
    if not isinstance(config, _Mapping):
        raise wrong("config", "a Config, a mapping of options or None", config)
    return config._c if isinstance(config, Config) else Config(config)._c
