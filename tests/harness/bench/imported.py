#!/usr/bin/env python3
"""Measures decoding of a model of the size of OPUS-MT with this library, CTranslate2, and transformers, from the same
weights.

    imported.py make FOLDER             a MarianMT of random weights (6 + 6 layers, d 512, V 58,101, swish), converted
    imported.py run FOLDER SYSTEM COMPUTE BEAM BATCH     one system, once: report.py's lines; run.sh calls it in turn

Needs torch, transformers, ctranslate2 and numpy, and XFORMER_LIBRARY with bindings/python on PYTHONPATH. 2 threads.
Sources have 25 tokens, the end symbol counted, answers 25. CTranslate2 runs 1 x 2 and 2 x 1 workers x threads.

SPDX-License-Identifier: Apache-2.0
"""
import os
import random
import subprocess
import sys
import time

from model_file import memory

THREADS, TOKENS, V = 2, 25, 58101
SENTENCES = {1: 16, 32: 64}  # of a batch


def make(folder):
    import ctranslate2
    import torch
    import transformers

    torch.manual_seed(1)
    config = transformers.MarianConfig(
        vocab_size=V, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, activation_function="swish",
        max_position_embeddings=512, scale_embedding=True, pad_token_id=V - 1, eos_token_id=0,
        decoder_start_token_id=V - 1, forced_eos_token_id=None)  # fmt: skip
    first, model = os.path.join(folder, "first"), os.path.join(folder, "model.xf")
    transformers.MarianMTModel(config).save_pretrained(first)
    for command in (["from-hf", first, model], ["to-hf", model, os.path.join(folder, "hf")]):
        subprocess.run([sys.executable, "-m", "xformer.convert", *command], check=True)
    for compute in ("float32", "int8"):
        converter = ctranslate2.converters.TransformersConverter(os.path.join(folder, "hf"))
        converter.convert(os.path.join(folder, compute), quantization=None if compute == "float32" else compute)


def sources(count):
    draw = random.Random(1)
    return [[draw.randrange(2, V - 1) for _ in range(TOKENS - 1)] + [0] for _ in range(count)]


def libxformer(folder, compute, beam, batch):
    import xformer
    from xformer.data import Batch

    context = xformer.Context({"context.device": "cpu", "context.threads": THREADS})
    model = xformer.Model.load(context, os.path.join(folder, "model.xf"), weights=compute)
    options = {"decode.beam": beam, "decode.min_tokens": TOKENS, "decode.max_extra_tokens": 0}
    decoder = xformer.Decoder(model, {**options, "decode.batch_sentences": batch})
    info = "libxformer %s" % context.info.description

    def translate(texts):
        groups = [texts] if batch > 1 else [[text] for text in texts]
        return sum(len(a[0].ids) for group in groups for a in decoder.decode(Batch.from_ids(group)))

    return translate, info


def by_ctranslate2(folder, compute, beam, batch, workers):
    sys.modules["torch"] = None  # it would pay for its memory
    import ctranslate2

    inter, intra = (int(n) for n in workers.split("x"))
    translator = ctranslate2.Translator(
        os.path.join(folder, compute), device="cpu", inter_threads=inter, intra_threads=intra, compute_type=compute
    )
    options = {"beam_size": beam, "length_penalty": 0.6, "max_decoding_length": TOKENS, "min_decoding_length": TOKENS}

    def translate(texts):
        words = [[str(id) for id in text[:-1]] + ["</s>"] for text in texts]
        if batch == 1 and inter == 1:
            results = [translator.translate_batch([word], **options)[0] for word in words]
        else:
            results = translator.translate_batch(words, max_batch_size=batch, **options)
        return sum(len(result.hypotheses[0]) for result in results)

    return translate, "CTranslate2 %s, %s" % (ctranslate2.__version__, translator.compute_type)


def by_transformers(folder, beam, batch):
    import torch
    import transformers

    torch.set_num_threads(THREADS)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(os.path.join(folder, "hf")).eval()

    def translate(texts):
        tokens = 0
        for at in range(0, len(texts), batch):
            ids = torch.tensor(texts[at : at + batch])
            with torch.no_grad():
                out = model.generate(ids, attention_mask=torch.ones_like(ids), num_beams=beam, do_sample=False,
                                     max_length=None, min_new_tokens=TOKENS, max_new_tokens=TOKENS)  # fmt: skip
            tokens += out.shape[0] * (out.shape[1] - 1)
        return tokens

    return translate, "transformers %s, torch %s" % (transformers.__version__, torch.__version__)


def run(folder, system, compute, beam, batch):
    if system == "libxformer":
        translate, info = libxformer(folder, compute, beam, batch)
    elif system == "transformers":
        translate, info = by_transformers(folder, beam, batch)
    else:
        translate, info = by_ctranslate2(folder, compute, beam, batch, system.split("-")[1])
    texts = sources(SENTENCES[batch])
    for timed in (False, True, True):
        begin, cpu = time.perf_counter(), time.process_time()
        tokens = translate(texts)
        if timed:
            print("step\t%.4f\ncpu\t%.4f" % (time.perf_counter() - begin, time.process_time() - cpu), flush=True)
    print("tokens\t%d\nrss\t%d\ninfo\t%s" % (tokens, memory(), info))


def main():
    os.environ.setdefault("OMP_NUM_THREADS", str(THREADS))
    command, folder, *rest = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    if command == "make":
        make(folder)
    else:
        run(folder, rest[0], rest[1], int(rest[2]), int(rest[3]))


if __name__ == "__main__":
    main()
