#!/usr/bin/env python3
"""Compares the answers of searches with those of transformers' generate(). Called by peers.sh.

    peers_search.py CHECKPOINTS [NAME...]        folders of make_checkpoints.py, with 200 sentences each
    peers_search.py MODEL.xf PAIRS.tsv COUNT     a model of this library, written by to-hf

Three searches: greedy; a beam of 4 by the rule that both have (no length penalty, to the end); and a beam as the family
is published, by transformers' rules and by the defaults here. The first two must give equal answers. In the second two
rules of transformers' differ, and a difference must be theirs: an ending that is not among the `num_beams` best of its
step does not count (RANK), and what the limit cuts off competes with what ended (LIMIT). So generate() is asked twice,
the second time with these two replaced: then all answers must be equal, but for TIES, whose log-probabilities agree to
six digits.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import json
import os
import sys
import tempfile

import torch
import xformer
from peers import context, run_converter, transformers_model
from transformers.generation.utils import GenerationMixin
from xformer.data import Batch

EXTRA = 30
PUBLISHED = {  # num_beams, length_penalty, early_stopping of a published model of the family
    "marian": (4, 1.0, False),  # opus-mt
    "m2m_100": (5, 1.0, True),  # m2m100_418M
    "bart": (4, 2.0, True),  # bart-large-cnn
    "mbart": (5, 1.0, True),  # mbart-large-en-ro
    "pegasus": (8, 0.8, False),  # pegasus-cnn_dailymail
    "fsmt": (5, 1.0, False),  # wmt19
}


@contextlib.contextmanager
def rules_of_ours(end):
    """Beam search of transformers in which each end symbol that is looked at ends an answer, and nothing else does."""
    theirs = GenerationMixin._update_finished_beams

    def update(self, *, topk_running_sequences, next_token_hits_stopping_criteria, top_num_beam_mask, cur_len, **more):
        return theirs(
            self,
            topk_running_sequences=topk_running_sequences,
            next_token_hits_stopping_criteria=topk_running_sequences[:, :, cur_len] == end,
            top_num_beam_mask=torch.ones_like(top_num_beam_mask),
            cur_len=cur_len,
            **more,
        )

    GenerationMixin._update_finished_beams = update
    try:
        yield
    finally:
        GenerationMixin._update_finished_beams = theirs


class Peer:
    """A model here, and the same in transformers."""

    def __init__(self, ours, theirs, sources, languages, forced):
        self.ours, self.theirs, self.sources, self.languages, self.forced = ours, theirs, sources, languages, forced
        if theirs.config.model_type != "fsmt":  # its mask is of 32 bits
            theirs.double()
        self.end = theirs.generation_config.eos_token_id

    def generate(self, **search):
        """Answers of transformers: ids up to the end symbol, with it; what the limit cut off has none."""
        if self.forced is not None:
            search["forced_bos_token_id"] = self.forced
        answers = [None] * len(self.sources)
        by_length = {}
        for i, source in enumerate(self.sources):  # so that none is padded
            by_length.setdefault(len(source), []).append(i)
        for length, which in by_length.items():
            ids = torch.tensor([self.sources[i] for i in which])
            with torch.no_grad():
                found = self.theirs.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_length=None,
                                             max_new_tokens=length + EXTRA, **search)  # fmt: skip
            for i, answer in zip(which, found[:, 1:].tolist()):
                ended = self.end in answer
                answers[i] = answer[: answer.index(self.end) + 1] if ended else answer[: length + EXTRA]
        return answers

    def decode(self, **options):
        told = {"decode." + key: value for key, value in options.items()}
        told = {**told, "decode.max_extra_tokens": EXTRA, **self.languages}
        with xformer.Decoder(self.ours, told) as decoder:
            answers = decoder.decode(Batch.from_ids(self.sources))
        return [list(a[0].ids) + [self.end] * a[0].finished for a in answers]

    def ties(self, differ, ours, theirs):
        """Of the answers that differ, those of equal log-probability."""
        if not differ:
            return 0
        sources = [self.sources[i] for i in differ]
        with xformer.Decoder(self.ours, {"decode.max_extra_tokens": EXTRA, **self.languages}) as decoder:
            scores = [decoder.score(Batch.from_ids(sources, [a[i] for i in differ])) for a in (ours, theirs)]
        return sum(abs(a / b - 1) < 1e-6 for a, b in zip(*scores))


def different(ours, theirs):
    return [i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b]


def searches(name, peer):
    """Prints a line; gives whether all is as it must be."""
    count = len(peer.sources)
    free = {"forced_eos_token_id": None, "length_penalty": 0.0}
    greedy = different(peer.decode(beam=1, alpha=0), peer.generate(num_beams=1, **free))
    ours = peer.decode(beam=4, alpha=0)
    exact = {"num_beams": 4, "early_stopping": "never", **free}
    plain = peer.generate(**exact)
    with rules_of_ours(peer.end):
        ruled = peer.generate(**exact)
    for i, answer in enumerate(ours):
        if answer[-1] != peer.end:  # nothing ended: only with its own rule does generate() give the best that did not
            ruled[i] = plain[i]
    cut = [i for i in different(ours, plain) if plain[i][-1] != peer.end]
    rank = [i for i in different(ours, plain) if plain[i][-1] == peer.end]
    rest = different(ours, ruled)
    ties = peer.ties(rest, ours, ruled)
    ended, kinds = sum(answer[-1] == peer.end for answer in ours), len(set(map(tuple, ours)))
    beams, penalty, early = PUBLISHED[peer.theirs.config.model_type]
    usual = peer.generate(num_beams=beams, length_penalty=penalty, early_stopping=early)
    agree = count - len(different([a[:-1] if a[-1] == peer.end else a for a in peer.decode(beam=beams)],
                                  [a[:-1] if a[-1] == peer.end else a for a in usual]))  # fmt: skip
    good = not greedy and len(rest) == ties
    print(
        "%-16s %d answers, %d kinds, %d ended; greedy differ %d; beam 4 differ %d (LIMIT %d, RANK %d), "
        "by the same rules %d (TIES %d); as published (beam %d, penalty %g) %d the same%s"
        % (name, count, kinds, ended, len(greedy), len(cut) + len(rank), len(cut), len(rank), len(rest), ties, beams,
           penalty, agree, "" if good else "  FAILED"),
        flush=True,
    )  # fmt: skip
    return good


def of_folder(folder):
    with open(os.path.join(folder, "expected.json")) as file:
        languages = json.load(file)["languages"] or {}
    with open(os.path.join(folder, "sentences.json")) as file:
        sentences = json.load(file)
    with tempfile.TemporaryDirectory() as work, context() as where:
        out = os.path.join(work, "out.xf")
        run_converter("from-hf", folder, out)
        with xformer.Model.load(where, out) as model:
            peer = Peer(model, transformers_model(folder), sentences["source"], languages, sentences["forced"])
            return searches(os.path.basename(folder), peer)


def of_model(path, pairs, count):
    with open(pairs, encoding="utf-8") as file:
        texts = [line.split("\t")[0] for line, _ in zip(file, range(count))]
    with tempfile.TemporaryDirectory() as work, context() as where, xformer.Model.load(where, path) as model:
        run_converter("to-hf", path, os.path.join(work, "hf"))
        sources = [model.tokenizer.encode(text, end=True) for text in texts]
        theirs = transformers_model(os.path.join(work, "hf"))
        return searches(os.path.basename(path), Peer(model, theirs, sources, {}, None))


def main():
    first, *rest = sys.argv[1:]
    if os.path.isdir(first):
        return all([of_folder(os.path.join(first, name)) for name in rest or sorted(os.listdir(first))])
    return of_model(first, rest[0], int(rest[1]))


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
