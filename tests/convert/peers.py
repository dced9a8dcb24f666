#!/usr/bin/env python3
"""Compares models that were converted with transformers and CTranslate2. Called by peers.sh, which says where all is.

    peers.py from CHECKPOINTS              folders of make_checkpoints.py: converted, and compared with expected.json
    peers.py to MODEL.xf PAIRS.tsv COUNT   a model of this library, by transformers and by CTranslate2
    peers.py back CHECKPOINTS              each folder converted and converted back, by transformers

SPDX-License-Identifier: Apache-2.0
"""
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


def compare(model, expected):
    """Our log-probabilities of targets and greedy answers beside those of transformers: (largest relative difference,
    answers that differ, texts whose ids differ)."""
    sentences, languages = expected["sentences"], expected["languages"]
    with xformer.Decoder(model, {**GREEDY, **(languages or {})}) as decoder:
        scores = decoder.score(Batch.from_ids([s["source"] for s in sentences], [s["target"] for s in sentences]))
        answers = decoder.decode(Batch.from_ids([s["source"] for s in sentences]))
    worst = max(abs(a - s["log_probability"]) / abs(s["log_probability"]) for a, s in zip(scores, sentences))
    found = [list(a[0].ids) + [expected["end"]] * a[0].finished for a in answers]
    differ = sum(ids != s["greedy"] for ids, s in zip(found, sentences))
    cut = 0
    if model.tokenizer is not None:
        texts = [model.tokenizer.encode(s["text"]) for s in sentences]
        told = [token for token in model.config["model.languages"].split(",") if token]
        tokens = {int(token.rsplit("=", 1)[1]) for token in told} | {expected["end"]}
        cut = sum(ids != [i for i in s["source"] if i not in tokens] for ids, s in zip(texts, sentences))
        with xformer.Decoder(model, {**GREEDY, **languages}) as decoder:
            by_text = decoder.translate([s["text"] for s in sentences])
        differ += sum(a[0].ids != b[0].ids for a, b in zip(by_text, answers))
    return worst, differ, cut


def from_hf(folder):
    bad = 0
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name, "expected.json")) as file:
            expected = json.load(file)
        with tempfile.TemporaryDirectory() as work, context() as where:
            out = os.path.join(work, "out.xf")
            run_converter("from-hf", os.path.join(folder, name), out)
            with xformer.Model.load(where, out) as model:
                worst, differ, cut = compare(model, expected)
        good = worst <= TOLERANCE and differ == 0 and cut == 0
        bad += not good
        print(
            "%-16s log-probabilities within %.1e, answers that differ %d, texts %d%s"
            % (name, worst, differ, cut, "" if good else "  FAILED")
        )
    return bad


def transformers_model(folder):
    import transformers
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    return transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()


def score_and_answer(model, source, target, limit):
    import torch

    start = model.generation_config.decoder_start_token_id
    with torch.no_grad():
        logits = model(
            input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[start] + target[:-1]]), use_cache=False
        ).logits[0]
        score = float(torch.log_softmax(logits.double(), -1)[range(len(target)), target].sum())
        answer = model.generate(torch.tensor([source]), attention_mask=torch.ones(1, len(source), dtype=torch.long),
                                num_beams=1, do_sample=False, max_length=None, max_new_tokens=limit)  # fmt: skip
    return score, answer[0].tolist()[1:]


def back(folder):
    """A model that came from transformers, converted back."""
    bad = 0
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name, "expected.json")) as file:
            expected = json.load(file)
        with tempfile.TemporaryDirectory() as work:
            run_converter("from-hf", os.path.join(folder, name), os.path.join(work, "out.xf"))
            run_converter("to-hf", os.path.join(work, "out.xf"), os.path.join(work, "back"))
            model = transformers_model(os.path.join(work, "back"))
            kind = type(model).__name__
            worst = differ = 0
            for s in expected["sentences"]:
                # What no configuration says: which language it is to write.
                forced = s["target"][0] if "decode.target_language" in (expected["languages"] or {}) else None
                if forced is not None and model.generation_config.decoder_start_token_id == expected["end"]:
                    model.generation_config.forced_bos_token_id = forced
                score, answer = score_and_answer(model, s["source"], s["target"], len(s["source"]) + 10)
                worst = max(worst, abs(score - s["log_probability"]) / abs(s["log_probability"]))
                differ += answer != s["greedy"]
            if os.path.exists(os.path.join(work, "back", "source.spm")):
                import transformers

                tokenizer = transformers.AutoTokenizer.from_pretrained(os.path.join(work, "back"))
                before = len(expected["sentences"][0]["source"]) and expected["languages"]
                mark = ">>%s<<" % expected["languages"]["decode.target_language"] if before else ""
                differ += sum(tokenizer(mark + s["text"])["input_ids"] != s["source"] for s in expected["sentences"])
                cut = [tokenizer(text_target=s["target_text"])["input_ids"] for s in expected["sentences"]]
                differ += sum(ids != s["target"] for ids, s in zip(cut, expected["sentences"]))
        good = worst <= TOLERANCE and differ == 0
        bad += not good
        print(
            "%-16s back as %s: within %.1e, answers and texts that differ %d%s"
            % (name, kind, worst, differ, "" if good else "  FAILED")
        )
    return bad


def to_hf(path, pairs, count):
    with open(pairs, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line, _ in zip(file, range(count))]
    with tempfile.TemporaryDirectory() as work, context() as where, xformer.Model.load(where, path) as model:
        folder = os.path.join(work, "hf")
        run_converter("to-hf", path, folder)
        sources, targets = ([model.tokenizer.encode(line[side], end=True) for line in lines] for side in (0, 1))
        with xformer.Decoder(model, {**GREEDY, "decode.max_extra_tokens": 50}) as decoder:
            scores = decoder.score(Batch.from_ids(sources, targets))
            answers = [list(a[0].ids) for a in decoder.decode(Batch.from_ids(sources))]
        theirs = transformers_model(folder)
        end = theirs.generation_config.eos_token_id
        worst = differ = 0
        for source, target, score, answer in zip(sources, targets, scores, answers):
            other, found = score_and_answer(theirs, source, target, len(source) + 50)
            worst = max(worst, abs(other - score) / abs(score))
            differ += [id for id in found if id != end] != answer
        print(
            "%s as %s: log-probabilities within %.1e, greedy answers that differ %d of %d"
            % (os.path.basename(path), type(theirs).__name__, worst, differ, count)
        )
        same = by_ctranslate2(folder, os.path.join(work, "ct2"), sources, answers)
        print("through ct2-transformers-converter: %d of %d greedy answers the same" % (same, count))
    return int(worst > TOLERANCE) + int(differ > 0.01 * count) + int(same < 0.98 * count)


def by_ctranslate2(folder, out, sources, answers):
    import ctranslate2

    ctranslate2.converters.TransformersConverter(folder).convert(out)
    translator = ctranslate2.Translator(out, intra_threads=1)
    words = [[str(id) for id in source[:-1]] + ["</s>"] for source in sources]
    same = 0
    for source, answer, word in zip(sources, answers, words):
        found = translator.translate_batch([word], beam_size=1, max_decoding_length=len(source) + 50)[0].hypotheses[0]
        same += found == [str(id) for id in answer]
    return same


def main():
    command, first, *rest = sys.argv[1:]
    if command == "to":
        return to_hf(first, rest[0], int(rest[1]))
    return {"from": from_hf, "back": back}[command](first)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
