"""Converts a SentencePiece .model file (unigram or BPE) to a tokenizer with the same ids.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import argparse

from . import ConvertError
from .sentencepiece_model import SentencePieceModel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="IN.model", help="file written by spm_train")
    parser.add_argument("tokenizer", metavar="OUT.json", help="tokenizer to write, for xf_tokenizer_load()")


def run(arguments: argparse.Namespace) -> None:
    model = SentencePieceModel.read(arguments.model)
    try:
        model.write(arguments.tokenizer)
    except ConvertError as error:
        raise ConvertError("%s as %s" % (arguments.model, error)) from error
