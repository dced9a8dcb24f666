"""A folder of transformers (MarianMT, M2M-100, NLLB, BART, mBART, FSMT, Pegasus) into a model file of this library.

Weights, configuration, tokenizer and languages are carried over; a field that can't be is refused by its name.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import argparse
import os
from typing import Callable, Dict

from . import ConvertError, bart, fsmt, m2m100, marian, pegasus, say
from .checkpoint import Checkpoint
from .fields import Fields
from .files import read_json
from .model_file import save_model
from .plan import Folder, Plan

_FAMILIES: Dict[str, Callable[[Folder], Plan]] = {
    "marian": marian.read,
    "m2m_100": m2m100.read,
    "bart": bart.read_bart,
    "mbart": bart.read_mbart,
    "fsmt": fsmt.read,
    "pegasus": pegasus.read,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="config.json, weights, tokenizer, as published")
    parser.add_argument("out", metavar="OUT.xf", help="the model, for xf_model_load()")
    parser.add_argument(
        "--precision", default="fp32", choices=("fp32", "fp16", "bf16", "int8"), help="of the file's numbers"
    )
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="FIELD", help="a field of a configuration to leave out"
    )


def run(arguments: argparse.Namespace) -> None:
    convert(arguments.folder, arguments.out, arguments.precision, arguments.ignore)


def convert(folder: str, out: str, precision: str = "fp32", ignored: "list[str]" = []) -> None:
    """Writes ``out``, or raises ConvertError and leaves nothing."""
    config = os.path.join(folder, "config.json")
    family = read_json(config).get("model_type")
    if not isinstance(family, str) or family not in _FAMILIES:
        raise ConvertError("%s: model_type is %r, expected one of %s" % (config, family, ", ".join(_FAMILIES)))
    fields = Fields(folder, ignored)
    plan = _FAMILIES[family](Folder(folder, fields, Checkpoint(folder)))
    settings = fields.search_settings()
    fields.finish()
    texts = {"generation." + name: value for name, value in settings.items()}
    texts["converted_from"] = family
    save_model(out, plan.options, plan.tensors, plan.tokenizer or "", texts, precision)
    if settings:
        listed = ", ".join("%s %s" % item for item in settings.items())
        plan.notes.append("settings of generate() are kept as texts and not obeyed: %s" % listed)
    for note in plan.notes:
        say("%s: %s" % (folder, note))
