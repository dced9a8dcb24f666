"""Writes tokenizer files that transformers reads, for a model exported as MarianMT or Pegasus.

For MarianMT, a SentencePiece tokenizer becomes source.spm, target.spm, and vocab.json. The library's own kinds have no
equivalent in transformers. For these, tokenizer.json maps decimal numbers to ids, so that programs that require a
vocabulary find one; text must be tokenized with this library.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import base64
import json
from typing import Any, Dict, List, Optional

from . import ConvertError
from .hf_classes import Target
from .protobuf import bytes_field, float_field, int_field


def tokenizer_files(target: Target, tokenizer: Optional[Dict[str, Any]]) -> Dict[str, bytes]:
    """Returns the contents of the files by name."""
    if target.unknown < 0:
        return {}
    sides = [] if tokenizer is None else [tokenizer.get(side, tokenizer) for side in ("source", "target")]
    known = sides and all(str(side["kind"]).startswith("sentencepiece-") for side in sides)
    if known and target.config["model_type"] == "marian":
        return _sentencepiece(target, *sides)
    target.notes.append("tokenizer.json maps decimal numbers to ids; from-hf restores the tokenizer from xformer.json")
    end, padding = target.config["eos_token_id"], target.config["pad_token_id"]
    names = {end: "</s>", padding: "<pad>", target.unknown: "<unk>"}
    vocabulary = {names.get(id, str(id)): id for id in range(max(target.vocabulary, target.config["vocab_size"]))}
    special = [
        {
            "id": id,
            "content": name,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for id, name in sorted(names.items())
    ]
    ending = {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"</s>": {"id": "</s>", "ids": [end], "tokens": ["</s>"]}},
    }
    whole = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": ending,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
    }
    setting = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
    }
    return {"tokenizer.json": _json(whole), "tokenizer_config.json": _json(setting)}


def _sentencepiece(target: Target, source: Dict[str, Any], own: Dict[str, Any]) -> Dict[str, bytes]:
    names = _names(target, own, target.vocabulary)
    source_names = _names(target, source, target.config["vocab_size"])
    for name, id in target.languages.items():
        if source_names[id] != ">>%s<<" % name:
            raise ConvertError(
                "model.languages has %s=%d, but the piece with that id is %r, expected '>>%s<<'"
                % (name, id, source_names[id], name)
            )
    setting = {
        "tokenizer_class": "MarianTokenizer",
        "eos_token": names[target.config["eos_token_id"]],
        "pad_token": names[target.config["pad_token_id"]],
        "unk_token": names[target.unknown],
        "source_lang": None,
        "target_lang": None,
        "separate_vocabs": names != source_names,
    }
    files = {
        "source.spm": _model(source),
        "target.spm": _model(own),
        "vocab.json": _json({name: id for id, name in enumerate(source_names)}),
        "tokenizer_config.json": _json(setting),
    }
    if names != source_names:
        files["target_vocab.json"] = _json({name: id for id, name in enumerate(names)})
    return files


def _names(target: Target, tokenizer: Dict[str, Any], size: int) -> List[str]:
    """Returns the pieces of a tokenizer, followed by names for ids that the export added."""
    names: List[str] = [piece[0] for piece in tokenizer["pieces"]]
    special = {target.config["pad_token_id"]: "<pad>", target.unknown: "<unk>"}
    for id in range(len(names), size):
        name = special.get(id, "<unused%d>" % id)
        names.append("<added%d>" % id if name in names else name)
    return names


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def _model(tokenizer: Dict[str, Any]) -> bytes:
    """Encodes a tokenizer as a .model file, see sentencepiece_model.proto. It must have exactly one unknown piece."""
    out = b""
    for text, score, kind in tokenizer["pieces"]:
        out += bytes_field(1, bytes_field(1, text.encode()) + float_field(2, score) + int_field(3, kind))
    controls = {name: tokenizer[name] for name in ("start", "end")}
    trainer = int_field(3, {"sentencepiece-unigram": 1, "sentencepiece-bpe": 2}[tokenizer["kind"]])
    trainer += int_field(24, tokenizer["whitespace_as_suffix"]) + int_field(35, tokenizer["byte_fallback"])
    trainer += bytes_field(44, tokenizer["unknown_surface"].encode())
    unknown = next(id for id, piece in enumerate(tokenizer["pieces"]) if piece[2] == 2)
    trainer += int_field(40, unknown)
    trainer += int_field(41, controls["start"]) + int_field(42, controls["end"]) + int_field(43, -1)
    trainer += bytes_field(45, tokenizer["pieces"][unknown][0].encode())
    for number, key in ((46, "start"), (47, "end")):
        if controls[key] >= 0:
            trainer += bytes_field(number, tokenizer["pieces"][controls[key]][0].encode())
    out += bytes_field(2, trainer)
    rules = bytes_field(1, b"user_defined") + bytes_field(2, base64.b64decode(tokenizer["character_map"]))
    for number, key in ((3, "add_dummy_prefix"), (4, "remove_extra_whitespaces"), (5, "escape_whitespaces")):
        rules += int_field(number, tokenizer[key])
    out += bytes_field(3, rules)
    if tokenizer["decoded_map"]:
        after = bytes_field(2, base64.b64decode(tokenizer["decoded_map"]))
        out += bytes_field(5, after + int_field(3, False) + int_field(4, False) + int_field(5, False))
    return out
