"""Options by name: the table of the library, and a set of values.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from collections.abc import Mapping as _Mapping
from enum import IntEnum
from typing import Any, Dict, Iterator, Mapping, NamedTuple, Optional, Tuple, Union

from ._abi import call, lib, structs, text
from ._buffer import c_string, integer, wrong
from ._handle import Handle

__all__ = ["Config", "ConfigLike", "Option", "OptionType", "Value", "options"]


#: Value of an option: what its type says, or text in the form of a command line.
Value = Union[bool, int, float, str]


class OptionType(IntEnum):
    """Type of an option's value."""

    I64 = 1
    F64 = 2
    BOOL = 3
    STR = 4


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


def options() -> Mapping[str, Option]:
    """The option table of the loaded library, by key."""
    if not _table:
        rows = {}
        for index in range(lib.xf_option_count()):
            row = structs.xf_option_info()
            call(lib.xf_option_get, index, ctypes.byref(row))
            rows[text(row.key)] = Option(
                text(row.key),
                OptionType(row.type),
                text(row.default_value),
                row.minimum,
                row.maximum,
                row.choices and tuple(text(row.choices).split("|")),
                text(row.doc),
                text(row.paper),
                text(row.since),
            )
        _table.update(rows)
    return dict(_table)


class Config(Handle, _Mapping):  # type: ignore[type-arg]
    """A set of option values: a mapping over all keys of the table, in which what was not set has its default.

    >>> Config({"model.d_model": 64}, preset="tiny")["model.d_model"]
    64
    """

    _kind = "config"
    _free = lib.xf_config_free

    def __init__(self, values: Optional[Mapping[str, Value]] = None, *, preset: Optional[str] = None) -> None:
        """preset ("tiny", "small", "base", "big" or "parsing") is applied first, then values."""
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
        """A config of its own with the same values."""
        return self._copy_of(self._c)

    __copy__ = copy  # type: ignore[assignment]

    def preset(self, name: str) -> None:
        """Sets the model and training options of a preset; other options stay."""
        call(lib.xf_config_preset, self._c, c_string(name, "preset"))

    def update(self, values: Mapping[str, Value]) -> None:
        """Sets several options, one after the other."""
        if not isinstance(values, _Mapping):
            raise wrong("values", "a mapping of options", values)
        for key, value in values.items():
            self[key] = value

    def __setitem__(self, key: str, value: Value) -> None:
        name = c_string(key, "the key of an option")
        row = _row(key)
        if isinstance(value, str) or row is None:
            # The library has the sentence for an unknown key, with the nearest one.
            call(lib.xf_config_set, self._c, name, c_string(str(value), key))
        elif row.type == OptionType.STR or (isinstance(value, bool) and row.type != OptionType.BOOL):
            raise wrong(key, _WORDS[row.type], value)
        elif row.type == OptionType.F64:
            call(lib.xf_config_set_f64, self._c, name, _real(value, key))
        else:
            call(lib.xf_config_set_i64, self._c, name, integer(value, key))

    def __getitem__(self, key: str) -> Value:
        row = _row(key)
        if row is None or row.type == OptionType.STR:
            return self.text(key)
        name = c_string(key, "the key of an option")
        if row.type == OptionType.F64:
            real = ctypes.c_double()
            call(lib.xf_config_get_f64, self._c, name, ctypes.byref(real))
            return real.value
        number = ctypes.c_int64()
        call(lib.xf_config_get_i64, self._c, name, ctypes.byref(number))
        return bool(number.value) if row.type == OptionType.BOOL else number.value

    def text(self, key: str) -> str:
        """An option of any type in the form of a command line."""
        with self.copy() as mine:  # the text belongs to the config until the option is set again, by a thread perhaps
            value = ctypes.c_char_p()
            call(lib.xf_config_get, mine._c, c_string(key, "the key of an option"), ctypes.byref(value))
            return (value.value or b"").decode("utf-8")

    def get(self, key: str, default: Any = None) -> Any:
        """The value, or default when there is no such option."""
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


_WORDS = {OptionType.I64: "an int", OptionType.F64: "a number", OptionType.STR: "str"}


def _real(value: Any, key: str) -> float:
    try:
        # A float of the whole value: float() would also read text, which options have their own form of.
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
    """What the library takes of a config, of a mapping made into one, or of None."""
    if config is None:
        return None
    if not isinstance(config, _Mapping):
        raise wrong("config", "a Config, a mapping of options or None", config)
    return config._c if isinstance(config, Config) else Config(config)._c
