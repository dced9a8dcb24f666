#!/usr/bin/env python3
"""Compares the output of searches with generate() of transformers. Called by peers.sh.

    peers_search.py CHECKPOINTS [NAME...]        folders of make_checkpoints.py, with 200 sentences each
    peers_search.py MODEL.xf PAIRS.tsv COUNT     a model of this library, written by to-hf

There are three searches: greedy; a beam of 4 without a length penalty or early stopping; and the published settings of
the family, compared with the defaults of this library. Greedy outputs must be equal. In the second search, two rules of
transformers differ: a hypothesis can only end among the `num_beams` best candidates of a step (RANK), and unfinished
hypotheses at the length limit compete with finished ones (LIMIT). The script therefore runs generate() again with these
two rules replaced. All outputs must then be equal, except TIES, whose log-probabilities agree to six digits.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import os
import sys
import tempfile

import torch
import xformer
from peers import context, converted, read_json, run_converter, transformers_model
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
def our_rules(end):
    """Patches the beam search of transformers: a hypothesis ends if and only if its end token is a candidate."""
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
    """A model of this library and the same model in transformers."""

    def __init__(self, ours, theirs, sources, languages, forced):
        self.ours, self.theirs, self.sources, self.languages, self.forced = ours, theirs, sources, languages, forced
        if theirs.config.model_type != "fsmt":  # its attention mask is fp32
            theirs.double()
        self.end = theirs.generation_config.eos_token_id

    def generate(self, **search):
        """Returns the outputs of transformers: ids up to and including the end token, which unfinished outputs lack."""
        if self.forced is not None:
            search["forced_bos_token_id"] = self.forced
        outputs = [None] * len(self.sources)
        by_length = {}
        for i, source in enumerate(self.sources):  # to avoid padding
            by_length.setdefault(len(source), []).append(i)
        for length, which in by_length.items():
            ids = torch.tensor([self.sources[i] for i in which])
            with torch.no_grad():
                found = self.theirs.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_length=None,
                                             max_new_tokens=length + EXTRA, **search)  # fmt: skip
            for i, output in zip(which, found[:, 1:].tolist()):
                ended = self.end in output
                outputs[i] = output[: output.index(self.end) + 1] if ended else output[: length + EXTRA]
        return outputs

    def decode(self, **options):
        config = {"decode." + key: value for key, value in options.items()}
        config = {**config, "decode.max_extra_tokens": EXTRA, **self.languages}
        with xformer.Decoder(self.ours, config) as decoder:
            outputs = decoder.decode(Batch.from_ids(self.sources))
        return [list(a[0].ids) + [self.end] * a[0].finished for a in outputs]

    def ties(self, differ, ours, theirs):
        """Counts the different outputs that have equal log-probabilities."""
        if not differ:
            return 0
        sources = [self.sources[i] for i in differ]
        with xformer.Decoder(self.ours, {"decode.max_extra_tokens": EXTRA, **self.languages}) as decoder:
            scores = [decoder.score(Batch.from_ids(sources, [a[i] for i in differ])) for a in (ours, theirs)]
        return sum(abs(a / b - 1) < 1e-6 for a, b in zip(*scores))


def different(ours, theirs):
    return [i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b]


def searches(name, peer):
    """Prints a line of results. Returns whether they are as expected."""
    count = len(peer.sources)
    free = {"forced_eos_token_id": None, "length_penalty": 0.0}
    greedy = different(peer.decode(beam=1, alpha=0), peer.generate(num_beams=1, **free))
    ours = peer.decode(beam=4, alpha=0)
    exact = {"num_beams": 4, "early_stopping": "never", **free}
    plain = peer.generate(**exact)
    with our_rules(peer.end):
        ruled = peer.generate(**exact)
    for i, output in enumerate(ours):
        if output[-1] != peer.end:  # only the unpatched generate() returns the best unfinished hypothesis
            ruled[i] = plain[i]
    cut = [i for i in different(ours, plain) if plain[i][-1] != peer.end]
    rank = [i for i in different(ours, plain) if plain[i][-1] == peer.end]
    rest = different(ours, ruled)
    ties = peer.ties(rest, ours, ruled)
    ended, kinds = sum(output[-1] == peer.end for output in ours), len(set(map(tuple, ours)))
    beams, penalty, early = PUBLISHED[peer.theirs.config.model_type]
    usual = peer.generate(num_beams=beams, length_penalty=penalty, early_stopping=early)
    agree = count - len(different([a[:-1] if a[-1] == peer.end else a for a in peer.decode(beam=beams)],
                                  [a[:-1] if a[-1] == peer.end else a for a in usual]))  # fmt: skip
    good = not greedy and len(rest) == ties
    print(
        "%-16s %d outputs, %d distinct, %d finished; greedy differ %d; beam 4 differ %d (LIMIT %d, RANK %d), "
        "with the same rules %d (TIES %d); as published (beam %d, penalty %g) %d equal%s"
        % (name, count, kinds, ended, len(greedy), len(cut) + len(rank), len(cut), len(rank), len(rest), ties, beams,
           penalty, agree, "" if good else "  FAILED"),
        flush=True,
    )  # fmt: skip
    return good


def of_folder(folder):
    languages = read_json(folder, "expected.json")["languages"] or {}
    sentences = read_json(folder, "sentences.json")
    with converted(folder) as (_, model, _):
        peer = Peer(model, transformers_model(folder), sentences["source"], languages, sentences["forced"])
        return searches(os.path.basename(folder), peer)


def of_model(path, pairs, count):
    with open(pairs, encoding="utf-8") as file:
        texts = [line.split("\t")[0] for line, _ in zip(file, range(count))]
    with tempfile.TemporaryDirectory() as work, context() as where, xformer.Model.load(where, path) as model:
        run_converter("to-hf", path, os.path.join(work, "hf"))
        sources = [model.encode(text) for text in texts]
        theirs = transformers_model(os.path.join(work, "hf"))
        return searches(os.path.basename(path), Peer(model, theirs, sources, {}, None))


def main():
    first, *rest = sys.argv[1:]
    if os.path.isdir(first):
        return all([of_folder(os.path.join(first, name)) for name in rest or sorted(os.listdir(first))])
    return of_model(first, rest[0], int(rest[1]))


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
