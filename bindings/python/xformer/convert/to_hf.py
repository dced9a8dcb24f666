"""Converts a model file of this library to a folder for transformers: MarianMT or another equivalent class.

An option that the class does not support is an error that names the option.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
from typing import Any, Dict, Iterator

from . import ConvertError, say
from .checkpoint import Checkpoint, SafetensorsFile
from .hf_classes import Target, target_of
from .hf_tokenizer import tokenizer_files
from .model_file import write_safetensors
from .sidecar import NAME, sidecar_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="IN.xf", help="a model file of this library")
    parser.add_argument("folder", metavar="FOLDER", help="new or empty folder for config.json, weights, and tokenizer")


def run(arguments: argparse.Namespace) -> None:
    convert(arguments.model, arguments.folder)


def convert(path: str, folder: str) -> None:
    """Writes ``folder``, which must not exist or be empty. After a ConvertError it is as before."""
    options = _verified_options(path)
    file = SafetensorsFile(path)
    tokenizer_json = file.metadata.get("tokenizer")
    tokenizer = json.loads(tokenizer_json) if tokenizer_json is not None else None
    if tokenizer is not None and tokenizer["kind"] == "pair":
        tokenizer.update((side, json.loads(tokenizer[side])) for side in ("source", "target"))
    target = target_of(path, options, Checkpoint.of_file(file), tokenizer)
    files = tokenizer_files(target, tokenizer)
    if "source.spm" not in files:
        files[NAME] = sidecar_json(target, options, tokenizer_json)
    try:
        with _new_folder(folder):
            write_safetensors(os.path.join(folder, "model.safetensors"), target.tensors, {"format": "pt"})
            _write_json(folder, "config.json", target.config)
            _write_json(folder, "generation_config.json", _generation(target))
            for name, data in files.items():
                with open(os.path.join(folder, name), "xb") as out:
                    out.write(data)
    except OSError as error:
        raise ConvertError("%s: %s" % (error.filename or folder, error.strerror)) from error
    for note in target.notes:
        say("%s: %s" % (path, note))


@contextlib.contextmanager
def _new_folder(folder: str) -> Iterator[None]:
    """Creates an empty folder. After any exception, Ctrl-C included, the folder is again absent or empty."""
    existed = os.path.exists(folder)
    if existed and os.listdir(folder):
        raise ConvertError("%s is not empty: name a new or an empty folder" % folder)
    if not existed:
        os.mkdir(folder)
    try:
        yield
    except BaseException:
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        if not existed:
            os.rmdir(folder)
        raise


def _verified_options(path: str) -> Dict[str, Any]:
    """Loads the whole model, which validates it, and returns its options."""
    from .. import Context, Model, XformerError

    try:
        with Context({"context.device": "cpu:ref", "context.threads": 1}) as context:
            with Model.load(context, path) as model:
                return {key: value for key, value in model.config.items() if key.startswith("model.")}
    except XformerError as error:
        raise ConvertError(str(error)) from error


def _generation(target: Target) -> Dict[str, Any]:
    """Returns the fields that ``generate()`` reads. Search settings are left at their defaults, greedy search."""
    names = ("pad_token_id", "eos_token_id", "decoder_start_token_id", "forced_bos_token_id")
    settings = {name: target.config[name] for name in names if target.config.get(name) is not None}
    if target.banned:
        settings["bad_words_ids"] = [[id] for id in target.banned]
    settings["max_length"] = target.config["max_position_embeddings"]
    return settings


def _write_json(folder: str, name: str, value: Dict[str, Any]) -> None:
    with open(os.path.join(folder, name), "x", encoding="utf-8") as file:
        json.dump(value, file, indent=2, ensure_ascii=False)
        file.write("\n")
