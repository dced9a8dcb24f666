"""Vocabularies of published folders: pieces of SentencePiece in the order of the model's ids.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import json
import os
import re
from typing import Any, Callable, Dict, List, Optional, Pattern, Tuple

from . import ConvertError
from .files import read_json
from .sentencepiece_model import CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, Piece, SentencePieceModel

SPECIAL = {"<s>": CONTROL, "<pad>": CONTROL, "</s>": CONTROL, "<mask>": CONTROL, "<unk>": UNKNOWN}
#: fairseq's first four ids, which SentencePiece has elsewhere.
FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>"]


def read_ids(path: str, V: int) -> Dict[str, int]:
    """vocab.json: an id for each piece."""
    ids = read_json(path)
    for name, id in ids.items():
        if type(id) is not int or not 0 <= id < V:
            raise ConvertError(
                "%s: %r is %r, expected a number from 0 to %d, as the model has it" % (path, name, id, V - 1)
            )
    if len(set(ids.values())) != len(ids):
        seen: Dict[int, str] = {}
        for name, id in ids.items():
            if seen.setdefault(id, name) != name:
                raise ConvertError("%s: %r and %r are both %d" % (path, seen[id], name, id))
    return ids


def place(
    model: SentencePieceModel, names: Dict[int, str], V: int, controls: List[str]
) -> Tuple[SentencePieceModel, int]:
    """The same tokenizer with the pieces by other ids: what it does not know of ``names`` is never made from text, but
    for single characters, and ``controls`` give none either. Also the number of its pieces that have no id, and that it
    does without."""
    own = {piece.text: piece for piece in model.pieces}
    special = {**SPECIAL, **dict.fromkeys(controls, CONTROL)}
    pieces = []
    # transformers looks up what is unknown to SentencePiece by its text, and so finds characters of the other side's
    # vocabulary. As a piece one must cost what the unknown one costs, 10 more than the worst: then no text is cut anew.
    alone = min([piece.score for piece in model.pieces if piece.type == NORMAL], default=0.0) - 10.0
    by_text = model.kind == "unigram" and not model.flags.get("byte_fallback")
    for id in range(V):
        text = names.get(id, "<unused%d>" % id)
        known = own.get(text)
        if text in special:
            pieces.append(Piece(text, known.score if known else 0.0, special[text]))
        elif known is not None and known.type not in (UNKNOWN, CONTROL):
            pieces.append(known)
        elif known is None and by_text and len(text) == 1:
            pieces.append(Piece(text, alone, NORMAL))
        else:
            pieces.append(Piece(text, 0.0, CONTROL if model.kind == "bpe" else UNUSED))  # a BPE has no unused ones here
    missing = [
        text for text, piece in own.items() if piece.type in (NORMAL, USER_DEFINED) and text not in names.values()
    ]
    model.pieces = pieces
    return model, len(missing)


def note_of_pieces(left_out: int, spm: str, vocabulary: str) -> str:
    return "%d pieces of %s are not in %s: text that has them is cut into others, where transformers has <unk>" % (
        left_out,
        spm,
        vocabulary,
    )


def pair_json(source: SentencePieceModel, target: SentencePieceModel) -> str:
    """The tokenizer of a model that has one for each side."""
    both = {"source": source.tokenizer_json(), "target": target.tokenizer_json()}
    return json.dumps({"format": "xformer-tokenizer", "version": 1, "kind": "pair", **both}, ensure_ascii=False)


def fairseq_names(model: SentencePieceModel) -> Dict[int, str]:
    """fairseq's order: its four, then the pieces of SentencePiece from the fourth on, each moved by one."""
    names = dict(enumerate(FAIRSEQ))
    names.update((i + 1, piece.text) for i, piece in enumerate(model.pieces) if i >= 3)
    return names


def added_tokens(folder: str) -> Dict[str, int]:
    """Tokens that were added to a tokenizer, by name, from the first file that lists them."""
    for file, read in _ADDED.items():
        path = os.path.join(folder, file)
        try:
            found = read(read_json(path)) if os.path.exists(path) else {}
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise ConvertError("%s has added tokens without a text and an id" % path) from error
        if found:
            return found
    return {}


#: Where added tokens are listed, and how.
_ADDED: Dict[str, Callable[[Dict[str, Any]], Dict[str, int]]] = {
    "tokenizer_config.json": lambda values: {
        str(token["content"]): int(id) for id, token in (values.get("added_tokens_decoder") or {}).items()
    },
    "tokenizer.json": lambda values: {
        str(token["content"]): int(token["id"]) for token in values.get("added_tokens") or []
    },
    "added_tokens.json": lambda values: {name: int(id) for name, id in values.items()},
}


def languages_of(tokens: Dict[str, int], pattern: Pattern[str]) -> Dict[str, int]:
    """Those of the tokens that name a language, by that name, in the order of their ids."""
    found = {}
    for name, id in sorted(tokens.items(), key=lambda item: item[1]):
        match = pattern.fullmatch(name)
        if match:
            found[match.group(1)] = id
    return found


def tokenizer_setting(folder: str, name: str) -> Optional[object]:
    """A field of tokenizer_config.json, or None."""
    path = os.path.join(folder, "tokenizer_config.json")
    return read_json(path).get(name) if os.path.exists(path) else None


def check_id(where: str, names: Dict[int, str], token: str, id: int) -> None:
    """A token of the tokenizer must have the id that the configuration gives it."""
    if names.get(id) != token:
        raise ConvertError("%s: token %d is %r, expected %r as config.json has it" % (where, id, names.get(id), token))


LANGUAGE = {
    "marian": re.compile(r">>([^<>]+)<<"),
    "m2m_100": re.compile(r"__([a-z]{2,3})__"),
    "nllb": re.compile(r"([a-z]{3}_[A-Z][a-z]{3})"),
    "mbart": re.compile(r"([a-z]{2}_[A-Z]{2})"),
}
