#!/usr/bin/env python3
"""Compares encoder outputs and tokenizers of converted models with transformers. Called by peers.sh.

    peers_parts.py CHECKPOINTS ENCODER_OUTPUTS [NAME...]

Encoder: the largest difference in a sentence, divided by the largest absolute value, is at most 1e-4, with the
reference backend and with the best CPU backend. Tokenizer, if transformers has a complete one: 200 sources and 200
targets have the same ids, including language and end tokens. For 1,000 hostile texts, the script prints the number of
differences from transformers, and from the sentencepiece package, because transformers adds its own rules.

SPDX-License-Identifier: Apache-2.0
"""
import os
import subprocess
import sys

import numpy
import sentencepiece
import texts
import torch
import transformers
import xformer
from peers import TOLERANCE, converted, read_json, transformers_model


def encoder_difference(tool, path, folder, sources):
    theirs = transformers_model(folder)
    if theirs.config.model_type != "fsmt":  # its attention mask is fp32
        theirs = theirs.double()
    with torch.no_grad():
        expected = [theirs.get_encoder()(torch.tensor([ids])).last_hidden_state[0].numpy() for ids in sources]
    lines = "".join(" ".join(map(str, ids)) + "\n" for ids in sources).encode()
    largest = 0.0
    for device in ("cpu:ref", "cpu"):
        done = subprocess.run([tool, path, device], input=lines, stdout=subprocess.PIPE, check=True)
        found, offset = numpy.frombuffer(done.stdout, "<f4"), 0
        for numbers in expected:
            ours = found[offset : offset + numbers.size].reshape(numbers.shape)
            offset += numbers.size
            largest = max(largest, float(abs(ours - numbers).max() / abs(numbers).max()))
        if offset != found.size:
            raise AssertionError("%s: %d numbers, expected %d" % (path, found.size, offset))
    return largest


def different_ids(where, tokenizer, folder, languages, sentences):
    """Counts texts with different ids. Returns None if transformers has no complete tokenizer for the folder."""
    if not os.path.exists(os.path.join(folder, "source.spm")) and not folder.endswith("-own"):
        return None
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    marian = os.path.exists(os.path.join(folder, "source.spm"))
    mark = ">>%s<<" % languages["text.target_language"] if marian and languages else ""
    if not marian:
        theirs.src_lang = languages["text.source_language"]
        theirs.tgt_lang = languages.get("text.target_language", "ro_RO")
    around = {id for ids in (theirs(mark)["input_ids"], theirs(text_target="")["input_ids"]) for id in ids}

    def cut(ids):
        return [id for id in ids if id not in around]

    spm_file = "source.spm" if marian else "sentencepiece.bpe.model"
    spm = sentencepiece.SentencePieceProcessor(os.path.join(folder, spm_file))
    differ = hostile = alone = 0
    for source, target in zip(sentences["text"], sentences["target_text"]):
        with xformer.Corpus.from_pairs(where, [(source, target)]) as corpus:
            with xformer.Batcher(corpus, tokenizer, languages) as batcher:
                batch = batcher.next()
        ids = theirs(mark + source)["input_ids"], theirs(text_target=target)["input_ids"]
        differ += list(batch.src_ids) != ids[0]
        # MBartTokenizer adds the language after the end token, but the decoder starts with it.
        differ += list(batch.tgt_ids) != (ids[1][:-1] if type(theirs).__name__ == "MBartTokenizer" else ids[1])
    lines = [line.encode() for line in sentences["text"]]
    for text in texts.hostile(lines, [], 1000):
        text = text.decode("utf-8", "ignore")
        ours = tokenizer.source.encode(text)
        hostile += cut(ours) != cut(theirs(mark + text)["input_ids"])
        alone += ours != theirs.convert_tokens_to_ids([spm.id_to_piece(id) for id in spm.encode(text)])
    return differ, hostile, alone, type(theirs).__name__


def main():
    folder, tool, *names = sys.argv[1:]
    bad = 0
    for name in names or sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        languages = read_json(path, "expected.json")["languages"] or {}
        sentences = read_json(path, "sentences.json")
        with converted(path) as (where, model, out):
            worst = encoder_difference(tool, out, path, sentences["source"][:50])
            counts = different_ids(where, model.tokenizer, path, languages, sentences)
        good = worst <= TOLERANCE and (counts is None or counts[0] == 0)
        bad += not good
        result = "no tokenizer"
        if counts is not None:
            result = "%s: %d of 400 texts differ, %d of 1000 hostile, %d from the package" % (counts[3], *counts[:3])
        print("%-16s encoder within %.1e; %s%s" % (name, worst, result, "" if good else "  FAILED"), flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
