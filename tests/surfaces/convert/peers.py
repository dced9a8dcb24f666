#!/usr/bin/env python3
"""Compares converted models with transformers and CTranslate2. Called by peers.sh.

    peers.py from CHECKPOINTS              converts the folders of make_checkpoints.py, compares with expected.json
    peers.py to MODEL.xf PAIRS.tsv COUNT   exports a model of this library, compares with transformers and CTranslate2
    peers.py back CHECKPOINTS              converts each folder and exports it again, compares with transformers

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import json
import os
import subprocess
import sys
import tempfile

import xformer
from xformer.data import Batch

TOLERANCE = 1e-4
GREEDY = {"decode.beam": 1, "decode.alpha": 0, "decode.max_extra_tokens": 10}


def run_converter(*arguments):
    subprocess.run([sys.executable, "-B", "-m", "xformer.convert", *arguments], check=True, stderr=subprocess.DEVNULL)


def context():
    return xformer.Context({"context.device": "cpu", "context.threads": 1})


@contextlib.contextmanager
def converted(folder):
    """Converts a folder of make_checkpoints.py. Yields the context and the model."""
    with tempfile.TemporaryDirectory() as work, context() as where:
        path = os.path.join(work, "out.xf")
        run_converter("from-hf", folder, path)
        with xformer.Model.load(where, path) as model:
            yield where, model, path


def read_json(folder, name):
    with open(os.path.join(folder, name)) as file:
        return json.load(file)


def compare(model, expected):
    """Compares log-probabilities of targets and greedy outputs with transformers.

    Returns (largest relative difference, number of different outputs, number of texts with different ids).
    """
    sentences, languages = expected["sentences"], expected["languages"]
    with xformer.Decoder(model, {**GREEDY, **(languages or {})}) as decoder:
        scores = decoder.score(Batch.from_ids([s["source"] for s in sentences], [s["target"] for s in sentences]))
        outputs = decoder.decode(Batch.from_ids([s["source"] for s in sentences]))
    worst = max(abs(a - s["log_probability"]) / abs(s["log_probability"]) for a, s in zip(scores, sentences))
    found = [list(a[0].ids) + [expected["end"]] * a[0].finished for a in outputs]
    differ = sum(ids != s["greedy"] for ids, s in zip(found, sentences))
    cut = 0
    if model.tokenizer is not None:
        texts = [model.tokenizer.source.encode(s["text"]) for s in sentences]
        told = [token for token in model.config["model.languages"].split(",") if token]
        tokens = {int(token.rsplit("=", 1)[1]) for token in told} | {expected["end"]}
        cut = sum(ids != [i for i in s["source"] if i not in tokens] for ids, s in zip(texts, sentences))
        with xformer.Decoder(model, {**GREEDY, **languages}) as decoder:
            by_text = decoder.translate([s["text"] for s in sentences])
        differ += sum(a[0].ids != b[0].ids for a, b in zip(by_text, outputs))
    return worst, differ, cut


def from_hf(folder):
    bad = 0
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        with converted(path) as (_, model, _):
            worst, differ, cut = compare(model, read_json(path, "expected.json"))
        good = worst <= TOLERANCE and differ == 0 and cut == 0
        bad += not good
        print(
            "%-16s log-probabilities within %.1e, different outputs %d, texts %d%s"
            % (name, worst, differ, cut, "" if good else "  FAILED")
        )
    return bad


def transformers_model(folder):
    import transformers
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    return transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()


def score_and_decode(model, source, target, limit):
    import torch

    start = model.generation_config.decoder_start_token_id
    with torch.no_grad():
        logits = model(
            input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[start] + target[:-1]]), use_cache=False
        ).logits[0]
        score = float(torch.log_softmax(logits.double(), -1)[range(len(target)), target].sum())
        output = model.generate(torch.tensor([source]), attention_mask=torch.ones(1, len(source), dtype=torch.long),
                                num_beams=1, do_sample=False, max_length=None, max_new_tokens=limit)  # fmt: skip
    return score, output[0].tolist()[1:]


def back(folder):
    """Compares models that were converted from and to transformers."""
    bad = 0
    for name in sorted(os.listdir(folder)):
        expected = read_json(os.path.join(folder, name), "expected.json")
        with tempfile.TemporaryDirectory() as work:
            run_converter("from-hf", os.path.join(folder, name), os.path.join(work, "out.xf"))
            run_converter("to-hf", os.path.join(work, "out.xf"), os.path.join(work, "back"))
            model = transformers_model(os.path.join(work, "back"))
            kind = type(model).__name__
            worst = differ = 0
            for s in expected["sentences"]:
                # The target language is not part of any configuration.
                forced = s["target"][0] if "text.target_language" in (expected["languages"] or {}) else None
                if forced is not None and model.generation_config.decoder_start_token_id == expected["end"]:
                    model.generation_config.forced_bos_token_id = forced
                score, output = score_and_decode(model, s["source"], s["target"], len(s["source"]) + 10)
                worst = max(worst, abs(score - s["log_probability"]) / abs(s["log_probability"]))
                differ += output != s["greedy"]
            if os.path.exists(os.path.join(work, "back", "source.spm")):
                import transformers

                tokenizer = transformers.AutoTokenizer.from_pretrained(os.path.join(work, "back"))
                before = len(expected["sentences"][0]["source"]) and expected["languages"]
                mark = ">>%s<<" % expected["languages"]["text.target_language"] if before else ""
                differ += sum(tokenizer(mark + s["text"])["input_ids"] != s["source"] for s in expected["sentences"])
                cut = [tokenizer(text_target=s["target_text"])["input_ids"] for s in expected["sentences"]]
                differ += sum(ids != s["target"] for ids, s in zip(cut, expected["sentences"]))
        good = worst <= TOLERANCE and differ == 0
        bad += not good
        print(
            "%-16s exported as %s: within %.1e, different outputs and texts %d%s"
            % (name, kind, worst, differ, "" if good else "  FAILED")
        )
    return bad


def to_hf(path, pairs, count):
    with open(pairs, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line, _ in zip(file, range(count))]
    with tempfile.TemporaryDirectory() as work, context() as where, xformer.Model.load(where, path) as model:
        folder = os.path.join(work, "hf")
        run_converter("to-hf", path, folder)
        sources = [model.encode(line[0]) for line in lines]
        targets = [model.encode(line[1], "target") for line in lines]
        with xformer.Decoder(model, {**GREEDY, "decode.max_extra_tokens": 50}) as decoder:
            scores = decoder.score(Batch.from_ids(sources, targets))
            outputs = [list(a[0].ids) for a in decoder.decode(Batch.from_ids(sources))]
        theirs = transformers_model(folder)
        end = theirs.generation_config.eos_token_id
        worst = differ = 0
        for source, target, score, output in zip(sources, targets, scores, outputs):
            other, found = score_and_decode(theirs, source, target, len(source) + 50)
            worst = max(worst, abs(other - score) / abs(score))
            differ += [id for id in found if id != end] != output
        print(
            "%s as %s: log-probabilities within %.1e, different greedy outputs %d of %d"
            % (os.path.basename(path), type(theirs).__name__, worst, differ, count)
        )
        same = by_ctranslate2(folder, os.path.join(work, "ct2"), sources, outputs)
        print("ct2-transformers-converter: %d of %d greedy outputs identical" % (same, count))
    return int(worst > TOLERANCE) + int(differ > 0.01 * count) + int(same < 0.98 * count)


def by_ctranslate2(folder, out, sources, outputs):
    import ctranslate2

    ctranslate2.converters.TransformersConverter(folder).convert(out)
    translator = ctranslate2.Translator(out, intra_threads=1)
    words = [[str(id) for id in source[:-1]] + ["</s>"] for source in sources]
    same = 0
    for source, output, word in zip(sources, outputs, words):
        found = translator.translate_batch([word], beam_size=1, max_decoding_length=len(source) + 50)[0].hypotheses[0]
        same += found == [str(id) for id in output]
    return same


def main():
    command, first, *rest = sys.argv[1:]
    if command == "to":
        return to_hf(first, rest[0], int(rest[1]))
    return {"from": from_hf, "back": back}[command](first)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
