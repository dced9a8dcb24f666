#!/usr/bin/env python3
"""Compares parts of converted models with those of transformers: what the encoder gives, and how texts are cut. Called
by peers.sh.

    peers_parts.py CHECKPOINTS ENCODER_OUTPUTS [NAME...]

Encoder: the largest difference of a sentence's numbers over the largest of them, at most 1e-4; by the reference and by
the best backend of the CPU. Texts: the folder's own tokenizer, where transformers has it all: batches of 200 sources
and 200 targets have its ids, languages and end symbols too. Of 1,000 hostile texts it is told how many differ; and how
many differ from what the sentencepiece package makes of them, as transformers has rules of its own around it.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy
import sentencepiece
import texts
import torch
import transformers
import xformer
from peers import TOLERANCE, context, run_converter, transformers_model


def encoder_difference(tool, path, folder, sources):
    theirs = transformers_model(folder)
    if theirs.config.model_type != "fsmt":  # its mask is of 32 bits
        theirs = theirs.double()
    with torch.no_grad():
        expected = [theirs.get_encoder()(torch.tensor([ids])).last_hidden_state[0].numpy() for ids in sources]
    said = "".join(" ".join(map(str, ids)) + "\n" for ids in sources).encode()
    worst = 0.0
    for device in ("cpu:ref", "cpu"):
        done = subprocess.run([tool, path, device], input=said, stdout=subprocess.PIPE, check=True)
        found, at = numpy.frombuffer(done.stdout, "<f4"), 0
        for numbers in expected:
            ours = found[at : at + numbers.size].reshape(numbers.shape)
            at += numbers.size
            worst = max(worst, float(abs(ours - numbers).max() / abs(numbers).max()))
        if at != found.size:
            raise AssertionError("%s: %d numbers, expected %d" % (path, found.size, at))
    return worst


def ids_that_differ(where, tokenizer, folder, languages, sentences):
    """Of the sources and targets, and of hostile texts; None where the folder has no tokenizer for transformers."""
    if not os.path.exists(os.path.join(folder, "source.spm")) and not folder.endswith("-own"):
        return None
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    marian = os.path.exists(os.path.join(folder, "source.spm"))
    mark = ">>%s<<" % languages["decode.target_language"] if marian and languages else ""
    if not marian:
        theirs.src_lang = languages["decode.source_language"]
        theirs.tgt_lang = languages.get("decode.target_language", "ro_RO")
    told = {key.replace("decode.", "data."): value for key, value in languages.items()}
    around = {id for ids in (theirs(mark)["input_ids"], theirs(text_target="")["input_ids"]) for id in ids}

    def cut(ids):
        return [id for id in ids if id not in around]

    spm_file = "source.spm" if marian else "sentencepiece.bpe.model"
    spm = sentencepiece.SentencePieceProcessor(os.path.join(folder, spm_file))
    differ = hostile = alone = 0
    for source, target in zip(sentences["text"], sentences["target_text"]):
        with xformer.Corpus.from_pairs(where, [(source, target)]) as corpus:
            with xformer.Batcher(corpus, tokenizer, told) as batcher:
                batch = batcher.next()
        ids = theirs(mark + source)["input_ids"], theirs(text_target=target)["input_ids"]
        differ += list(batch.src_ids) != ids[0]
        # MBartTokenizer has the language behind the end symbol, where the decoder gets it as its start.
        differ += list(batch.tgt_ids) != (ids[1][:-1] if type(theirs).__name__ == "MBartTokenizer" else ids[1])
    lines = [line.encode() for line in sentences["text"]]
    for text in texts.hostile(lines, [], 1000):
        text = text.decode("utf-8", "ignore")
        ours = tokenizer.encode(text)
        hostile += cut(ours) != cut(theirs(mark + text)["input_ids"])
        alone += ours != theirs.convert_tokens_to_ids([spm.id_to_piece(id) for id in spm.encode(text)])
    return differ, hostile, alone, type(theirs).__name__


def main():
    folder, tool, *names = sys.argv[1:]
    bad = 0
    for name in names or sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        with open(os.path.join(path, "expected.json")) as file:
            languages = json.load(file)["languages"] or {}
        with open(os.path.join(path, "sentences.json")) as file:
            sentences = json.load(file)
        with tempfile.TemporaryDirectory() as work, context() as where:
            out = os.path.join(work, "out.xf")
            run_converter("from-hf", path, out)
            worst = encoder_difference(tool, out, path, sentences["source"][:50])
            with xformer.Model.load(where, out) as model:
                cut = ids_that_differ(where, model.tokenizer, path, languages, sentences)
        good = worst <= TOLERANCE and (cut is None or cut[0] == 0)
        bad += not good
        said = "no tokenizer"
        if cut is not None:
            said = "%s: of 400 texts %d differ, of 1000 hostile ones %d, from sentencepiece's %d" % (cut[3], *cut[:3])
        print("%-16s encoder within %.1e; %s%s" % (name, worst, said, "" if good else "  FAILED"), flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
