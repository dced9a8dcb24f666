"""Converts a transformers folder (MarianMT, M2M-100, NLLB, BART, mBART, FSMT, Pegasus) to a model file.

Weights, configuration, tokenizer, and languages are converted. A field that is not supported is an error that names it.

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
from .sidecar import apply_sidecar

_FAMILIES: Dict[str, Callable[[Folder], Plan]] = {
    "marian": marian.read,
    "m2m_100": m2m100.read,
    "bart": bart.read_bart,
    "mbart": bart.read_mbart,
    "fsmt": fsmt.read,
    "pegasus": pegasus.read,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="folder with config.json, weights, and tokenizer files")
    parser.add_argument("out", metavar="OUT.xf", help="model file to write, for xf_model_load()")
    parser.add_argument(
        "--precision", default="fp32", choices=("fp32", "fp16", "bf16", "int8"), help="precision of the weights"
    )
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="FIELD", help="configuration field to ignore"
    )


def run(arguments: argparse.Namespace) -> None:
    convert(arguments.folder, arguments.out, arguments.precision, arguments.ignore)


def convert(folder: str, out: str, precision: str = "fp32", ignored: "list[str]" = []) -> None:
    """Writes ``out``. After a ConvertError there is no new file."""
    config = os.path.join(folder, "config.json")
    family = read_json(config).get("model_type")
    if not isinstance(family, str) or family not in _FAMILIES:
        raise ConvertError("%s: model_type is %r, expected one of %s" % (config, family, ", ".join(_FAMILIES)))
    fields = Fields(folder, ignored)
    plan = _FAMILIES[family](Folder(folder, fields, Checkpoint(folder)))
    settings = fields.search_settings()
    fields.finish()
    apply_sidecar(folder, plan)
    if plan.tokenizer is None and plan.no_text:
        plan.notes.append("%s: the model translates ids, not text" % plan.no_text)
    texts = {"generation." + name: value for name, value in settings.items()}
    texts["converted_from"] = family
    save_model(out, plan.options, plan.tensors, plan.tokenizer or "", texts, precision)
    if settings:
        listed = ", ".join("%s %s" % item for item in settings.items())
        plan.notes.append("search settings are stored as metadata, but not used: %s" % listed)
    for note in fields.notes + plan.notes:
        say("%s: %s" % (folder, note))
