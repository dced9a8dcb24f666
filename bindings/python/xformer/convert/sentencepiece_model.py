"""Reads .model files of SentencePiece and writes them as tokenizer files of this library.

The fields are those of sentencepiece_model.proto. lib/text/json/sentencepiece.h defines the output format.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import base64
import json
import math
import os
import struct
from dataclasses import dataclass, field
from typing import Any, Dict, List

from . import ConvertError
from .files import read_file
from .protobuf import read_message

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
_MODEL_TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}

_NORMALIZER = {
    1: ("name", None),
    2: ("precompiled_charsmap", "bytes"),
    3: ("add_dummy_prefix", "bool"),
    4: ("remove_extra_whitespaces", "bool"),
    5: ("escape_whitespaces", "bool"),
    6: ("normalization_rule_tsv", None),  # already part of the precompiled map
}
_PIECE = {1: ("piece", "string"), 2: ("score", "float"), 3: ("type", "int")}
# Fields that only training reads.
_TRAINING = [1, 2, 4, 5, 6, 7, *range(10, 24), 25, 26, 30, 31, 32, 33, 34, 36, *range(40, 44), 45, 48, *range(49, 55)]
_TRAINER: Dict[int, Any] = {number: ("field %d" % number, None) for number in _TRAINING}
_TRAINER.update(
    {
        3: ("model_type", "int"),
        24: ("treat_whitespace_as_suffix", "bool"),
        35: ("byte_fallback", "bool"),
        44: ("unk_surface", "string"),
        46: ("bos_piece", "string"),
        47: ("eos_piece", "string"),
    }
)
_MODEL = {
    1: ("pieces", [_PIECE]),
    2: ("trainer_spec", _TRAINER),
    3: ("normalizer_spec", _NORMALIZER),
    4: ("self_test_data", None),
    5: ("denormalizer_spec", _NORMALIZER),
}


@dataclass
class Piece:
    text: str
    score: float
    type: int


@dataclass
class SentencePieceModel:
    """The contents of a .model file. Pieces may be changed and reordered before it is written."""

    kind: str  # "unigram" or "bpe"
    pieces: List[Piece]
    start: str = "<s>"  # names of control pieces, which may be absent
    end: str = "</s>"
    unknown_surface: str = " \u2047 "
    character_map: bytes = b""
    decoded_map: bytes = b""
    flags: Dict[str, bool] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str) -> "SentencePieceModel":
        """Reads a file. ConvertError if it is invalid or has settings that this library does not support."""
        model = read_message(memoryview(read_file(path)), _MODEL, path)
        trainer = model.get("trainer_spec", {})
        rules = model.get("normalizer_spec", {})
        after = model.get("denormalizer_spec", {})
        type_ = trainer.get("model_type", 1)
        kind = _MODEL_TYPES.get(type_, "of type %d" % type_)
        if kind not in ("unigram", "bpe"):
            raise ConvertError("%s: trainer_spec: model_type is %s, expected unigram or bpe" % (path, kind))
        if not model.get("pieces"):
            raise ConvertError("%s contains no pieces: expected a .model file of SentencePiece" % path)
        if after.get("precompiled_charsmap"):
            for name in ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"):
                if after.get(name, True):
                    raise ConvertError("%s: denormalizer_spec: %s is true, expected false" % (path, name))
        pieces = [cls._piece(piece, "%s: pieces[%d]" % (path, i)) for i, piece in enumerate(model["pieces"])]
        return cls(
            kind,
            pieces,
            trainer.get("bos_piece", cls.start),
            trainer.get("eos_piece", cls.end),
            trainer.get("unk_surface", cls.unknown_surface),
            rules.get("precompiled_charsmap", b""),
            after.get("precompiled_charsmap", b""),
            {
                "add_dummy_prefix": rules.get("add_dummy_prefix", True),
                "remove_extra_whitespaces": rules.get("remove_extra_whitespaces", True),
                "escape_whitespaces": rules.get("escape_whitespaces", True),
                "whitespace_as_suffix": trainer.get("treat_whitespace_as_suffix", False),
                "byte_fallback": trainer.get("byte_fallback", False),
            },
        )

    @staticmethod
    def _piece(fields: Dict[str, Any], where: str) -> Piece:
        piece = Piece(fields.get("piece", ""), fields.get("score", 0.0), fields.get("type", NORMAL))
        if not piece.text:
            raise ConvertError("%s: piece is empty" % where)
        if not math.isfinite(piece.score):
            raise ConvertError("%s: score is %r, expected a finite number" % (where, piece.score))
        if not NORMAL <= piece.type <= BYTE:
            raise ConvertError("%s: type is %d, expected 1 to 6" % (where, piece.type))
        return piece

    def id_of(self, name: str) -> int:
        """Returns the id of a control piece, or -1."""
        ids = [i for i, piece in enumerate(self.pieces) if piece.text == name and piece.type == CONTROL]
        return ids[0] if ids else -1

    def tokenizer_json(self) -> str:
        """Returns the tokenizer in the JSON format of this library."""
        header = {
            "format": "xformer-tokenizer",
            "version": 1,
            "kind": "sentencepiece-" + self.kind,
            **self.flags,
            "start": self.id_of(self.start),
            "end": self.id_of(self.end),
            "unknown_surface": self.unknown_surface,
            "character_map": base64.b64encode(self.character_map).decode(),
            "decoded_map": base64.b64encode(self.decoded_map).decode(),
        }
        parts = ["%s:%s" % (_text(key), _text(value)) for key, value in header.items()]
        rows = ["[%s,%s,%d]" % (_text(piece.text), _digits(piece.score), piece.type) for piece in self.pieces]
        return "{%s,\"pieces\":[%s]}" % (",".join(parts), ",".join(rows))

    def write(self, path: str) -> None:
        """Validates the tokenizer by loading it, then writes it. No file remains after a ConvertError."""
        from .. import Context, Tokenizer, XformerError

        temporary = "%s.%d.tmp" % (path, os.getpid())
        try:
            with open(temporary, "x", encoding="utf-8") as file:
                file.write(self.tokenizer_json())
            with Context({"context.device": "cpu:ref", "context.threads": 1}) as context:
                with Tokenizer.load(context, temporary) as tokenizer:
                    tokenizer.save(path)
        except OSError as error:
            raise ConvertError("%s: %s" % (path, error.strerror)) from error
        except XformerError as error:
            raise ConvertError("%s: %s" % (path, error)) from error
        finally:
            if os.path.exists(temporary):
                os.remove(temporary)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _digits(score: float) -> str:
    """Returns the shortest decimal that reads back as the same fp32 value."""
    for count in range(1, 9):
        digits = "%.*g" % (count, score)
        try:
            if struct.pack("<f", float(digits)) == struct.pack("<f", score):
                return digits
        except OverflowError:
            pass
    return "%.9g" % score
