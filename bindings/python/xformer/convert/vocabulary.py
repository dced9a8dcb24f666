"""Vocabularies of model folders: SentencePiece pieces ordered by the ids of the model.

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
#: The first four ids in fairseq. SentencePiece assigns other ids to these tokens.
FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>"]


def read_ids(path: str, V: int) -> Dict[str, int]:
    """Reads vocab.json, which maps pieces to ids."""
    ids = read_json(path)
    for name, id in ids.items():
        if type(id) is not int or not 0 <= id < V:
            raise ConvertError(
                "%s: %r is %r, expected an id from 0 to %d, because the model has %d tokens"
                % (path, name, id, V - 1, V)
            )
    if len(set(ids.values())) != len(ids):
        seen: Dict[int, str] = {}
        for name, id in ids.items():
            if seen.setdefault(id, name) != name:
                raise ConvertError("%s: %r and %r have the same id %d" % (path, seen[id], name, id))
    return ids


def reorder(
    model: SentencePieceModel, names: Dict[int, str], V: int, controls: List[str]
) -> Tuple[SentencePieceModel, int]:
    """Reorders the pieces of a tokenizer by the ids in ``names``. Returns it and the number of pieces without an id.

    Encoding never produces ``controls``, nor names that the tokenizer does not contain, except single characters.
    Pieces without an id are dropped.
    """
    own = {piece.text: piece for piece in model.pieces}
    special = {**SPECIAL, **dict.fromkeys(controls, CONTROL)}
    pieces = []
    # transformers looks up each unknown text in the vocabulary, and so finds characters that only the other side's
    # tokenizer contains. They become pieces here. Their score is that of the unknown piece in SentencePiece, 10 below
    # the lowest score, so that the segmentation of the remaining text does not change.
    unknown_score = min([piece.score for piece in model.pieces if piece.type == NORMAL], default=0.0) - 10.0
    by_text = model.kind == "unigram" and not model.flags.get("byte_fallback")
    for id in range(V):
        text = names.get(id, "<unused%d>" % id)
        known = own.get(text)
        if text in special:
            pieces.append(Piece(text, known.score if known else 0.0, special[text]))
        elif known is not None and known.type not in (UNKNOWN, CONTROL):
            pieces.append(known)
        elif known is None and by_text and len(text) == 1:
            pieces.append(Piece(text, unknown_score, NORMAL))
        else:
            # The library's BPE does not support unused pieces.
            pieces.append(Piece(text, 0.0, CONTROL if model.kind == "bpe" else UNUSED))
    missing = [
        text for text, piece in own.items() if piece.type in (NORMAL, USER_DEFINED) and text not in names.values()
    ]
    model.pieces = pieces
    return model, len(missing)


def note_of_pieces(left_out: int, spm: str, vocabulary: str) -> str:
    return "%d pieces of %s are not in %s: their text is split into other pieces, but is <unk> in transformers" % (
        left_out,
        spm,
        vocabulary,
    )


def pair_json(source: SentencePieceModel, target: SentencePieceModel) -> str:
    """Returns the JSON of a pair of tokenizers, one for each side."""
    both = {"source": source.tokenizer_json(), "target": target.tokenizer_json()}
    return json.dumps({"format": "xformer-tokenizer", "version": 1, "kind": "pair", **both}, ensure_ascii=False)


def fairseq_names(model: SentencePieceModel) -> Dict[int, str]:
    """Returns the pieces by fairseq's ids: four special tokens, then SentencePiece's from 3, shifted by one."""
    names = dict(enumerate(FAIRSEQ))
    names.update((i + 1, piece.text) for i, piece in enumerate(model.pieces) if i >= 3)
    return names


def added_tokens(folder: str) -> Dict[str, int]:
    """Returns the added tokens of a tokenizer and their ids, from the first file that lists any."""
    for file, read in _ADDED.items():
        path = os.path.join(folder, file)
        try:
            found = read(read_json(path)) if os.path.exists(path) else {}
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise ConvertError("%s has invalid added tokens: expected a text and an id for each" % path) from error
        if found:
            return found
    return {}


#: Files that list added tokens, and functions that extract them.
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
    """Returns the tokens that name a language, by the name of the language, ordered by id."""
    found = {}
    for name, id in sorted(tokens.items(), key=lambda item: item[1]):
        match = pattern.fullmatch(name)
        if match:
            found[match.group(1)] = id
    return found


def tokenizer_setting(folder: str, name: str) -> Optional[object]:
    """Returns a field of tokenizer_config.json, or None."""
    path = os.path.join(folder, "tokenizer_config.json")
    return read_json(path).get(name) if os.path.exists(path) else None


def check_id(where: str, names: Dict[int, str], token: str, id: int) -> None:
    """Checks that a token has the same id in the tokenizer and in config.json."""
    if names.get(id) != token:
        raise ConvertError("%s: token %d is %r, expected %r because of config.json" % (where, id, names.get(id), token))


LANGUAGE = {
    "marian": re.compile(r">>([^<>]+)<<"),
    "m2m_100": re.compile(r"__([a-z]{2,3})__"),
    "nllb": re.compile(r"([a-z]{3}_[A-Z][a-z]{3})"),
    "mbart": re.compile(r"([a-z]{2}_[A-Z]{2})"),
}
