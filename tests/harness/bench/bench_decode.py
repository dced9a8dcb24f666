#!/usr/bin/env python3
"""Measures decoding with CTranslate2, to compare with `xf_bench decode`: the same weights and sources.

    bench_decode.py convert MODEL.safetensors FOLDER [--quantization int8]
    bench_decode.py run FOLDER SOURCES [--beam 4] [--batch 1] [--inter 1] [--intra 2] [--compute float32|int8]
                    [--extra -1] [--length 0] [--warmup 1] [--passes 3] [--answers FILE]

convert writes a CTranslate2 model from a model file of this library (post-LN or pre-LN, no biases in attention, tied
embeddings, the same position table). run translates the sources, a file of ids from `xf_bench init`. --length N: answers of exactly
N tokens, for weights that were never trained; --extra N: at most N tokens more than the longest source; else
CTranslate2's own limit. --same bans the start symbol, as this library does, so that answers can be compared; it is
off when timing. With batches of 1 and one translator each batch is one call; otherwise CTranslate2 forms the batches.

Output, read by report.py: lines "<what> TAB <value>": step and cpu (wall and processor seconds of each pass), tokens
(of the answers, end symbols counted), rss (peak bytes of the process, Python included), base (bytes before the model
was loaded), info.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import pathlib
import sys
import time

sys.modules["torch"] = None  # CTranslate2 would import an installed torch, which takes memory
import ctranslate2  # noqa: E402
import numpy as np  # noqa: E402
from ctranslate2.specs import TransformerSpec  # noqa: E402

from model_file import memory, read_batches, read_safetensors, sinusoid  # noqa: E402

START, END = 0, 1


def set_norm(spec, tensors, name):
    spec.gamma, spec.beta = tensors[f"{name}.norm.weight"], tensors[f"{name}.norm.bias"]


def set_attention(spec, tensors, name, cross=False):
    q, k, v, o = (tensors[f"{name}.{part}.weight"] for part in "qkvo")
    stacks = [[q], [k, v], [o]] if cross else [[q, k, v], [o]]
    for linear, stack in zip(spec.linear, stacks):
        linear.weight = np.concatenate(stack)
    set_norm(spec.layer_norm, tensors, name)


def set_feed_forward(spec, tensors, name):
    for linear, part in ((spec.linear_0, "in"), (spec.linear_1, "out")):
        linear.weight, linear.bias = tensors[f"{name}.{part}.weight"], tensors[f"{name}.{part}.bias"]
    set_norm(spec.layer_norm, tensors, name)


def convert(model, folder, quantization):
    cfg, tensors = read_safetensors(model)
    layers = [int(cfg["model.encoder_layers"]), int(cfg["model.decoder_layers"])]
    pre_norm = cfg["model.norm"] == "pre"
    if cfg["model.norm"] not in ("post", "pre") or cfg["model.window"] != "0" or cfg["model.positions"] != "sinusoid":
        sys.exit("only LayerNorm models with sinusoids and full attention are converted")
    spec = TransformerSpec.from_config(tuple(layers), int(cfg["model.heads"]), pre_norm=pre_norm)
    table = sinusoid(int(cfg["model.max_length"]), int(cfg["model.d_model"]))
    embedding = tensors["embedding.weight"]
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = embedding
    for stack in (spec.encoder, spec.decoder):
        stack.position_encodings.encodings = table
        stack.scale_embeddings = True
    if pre_norm:
        set_norm(spec.encoder.layer_norm, tensors, "encoder")
        set_norm(spec.decoder.layer_norm, tensors, "decoder")
    for i, layer in enumerate(spec.encoder.layer):
        set_attention(layer.self_attention, tensors, f"encoder.{i}.self_attention")
        set_feed_forward(layer.ffn, tensors, f"encoder.{i}.feed_forward")
    for i, layer in enumerate(spec.decoder.layer):
        set_attention(layer.self_attention, tensors, f"decoder.{i}.self_attention")
        set_attention(layer.attention, tensors, f"decoder.{i}.cross_attention", cross=True)
        set_feed_forward(layer.ffn, tensors, f"decoder.{i}.feed_forward")
    words = ["<s>", "</s>"] + [f"t{i}" for i in range(2, embedding.shape[0])]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.layer_norm_epsilon = float(cfg["model.norm_epsilon"])
    spec.validate()
    spec.optimize(quantization)
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    spec.save(folder)


def run(args):
    def word(i):
        return ("<s>", "</s>")[i] if i < 2 else f"t{i}"

    sources = [[word(i) for i in ids] for batch in read_batches(args.sources) for ids in batch[0]]
    base = memory("VmRSS")
    translator = ctranslate2.Translator(args.folder, device="cpu", inter_threads=args.inter, intra_threads=args.intra,
                                        compute_type=args.compute)
    options = {"beam_size": args.beam, "length_penalty": 0.6, "max_input_length": 0, "return_end_token": True}
    if args.length > 0:
        options |= {"max_decoding_length": args.length, "min_decoding_length": args.length}
    elif args.extra >= 0:
        options |= {"max_decoding_length": max(map(len, sources)) + args.extra}
    if args.same:
        options |= {"suppress_sequences": [["<s>"]]}

    def translate():
        if args.batch == 1 and args.inter == 1:
            return [translator.translate_batch([source], **options)[0] for source in sources]
        return translator.translate_batch(sources, max_batch_size=args.batch, **options)

    for i in range(args.warmup + args.passes):
        begin, cpu = time.perf_counter(), time.process_time()
        results = translate()
        if i >= args.warmup:
            print(f"step\t{time.perf_counter() - begin:.4f}\ncpu\t{time.process_time() - cpu:.4f}", flush=True)
    answers = [result.hypotheses[0] for result in results]
    if args.answers:
        with open(args.answers, "w") as file:
            for answer in answers:
                print(*(word[1:] for word in answer if word != "</s>"), file=file)
    print(f"tokens\t{sum(map(len, answers))}")
    print(f"rss\t{memory()}\nbase\t{base}")
    print(f"info\tCTranslate2 {ctranslate2.__version__}, {translator.compute_type}, {args.inter} x {args.intra} "
          "threads")


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    sub = commands.add_parser("convert")
    sub.add_argument("model")
    sub.add_argument("folder")
    sub.add_argument("--quantization")
    sub = commands.add_parser("run")
    sub.add_argument("folder")
    sub.add_argument("sources")
    for name, default in (("beam", 4), ("batch", 1), ("inter", 1), ("intra", 2), ("extra", -1), ("length", 0),
                          ("warmup", 1), ("passes", 3)):
        sub.add_argument(f"--{name}", type=int, default=default)
    sub.add_argument("--compute", default="float32")
    sub.add_argument("--answers")
    sub.add_argument("--same", action="store_true")
    args = parser.parse_args()
    if args.command == "convert":
        convert(args.model, args.folder, args.quantization)
    else:
        run(args)


if __name__ == "__main__":
    main()
