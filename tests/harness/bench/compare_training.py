#!/usr/bin/env python3
"""Trains in PyTorch with the same initial weights, batches, and hyperparameters as `train_curve`, to compare both.

    dump_batches train=T.tsv dev=D.tsv model=init.safetensors batches=T.bin dev_batches=D.bin count=2000 preset=base ...
    train_curve model=init.safetensors batches=T.bin dev_batches=D.bin every=100 [train.key=value ...]
    compare_training.py model=init.safetensors batches=T.bin dev_batches=D.bin every=100 [train.key=value ...]
                        [steps=N] [threads=2] [precision=fp32|bf16] [checkpoint=FILE] [minutes=5] [stop_after=0]
                        [export=FILE] [snapshots=0]

Both print "step TAB dev_loss TAB dev_nll TAB seconds": smoothed and un-smoothed nats per target token without dropout,
and the seconds of training in this run. Only dropout's random numbers differ, and the order of sums. With checkpoint=
the state is saved every so many minutes and at the end, and a run that finds the file continues from it; stop_after=
minutes ends a run early. export= writes the last weights as a model file of the library, so that `translate evaluate`
measures both sides alike; with snapshots=N those of every N-th step, too, as FILE.avg-STEP.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import math
import os
import sys
import time

import torch

from model_file import read_batches, read_safetensors, write_safetensors
from torch_model import START, Transformer, smoothed_loss

# The library's defaults (lib/core/option_table.cpp) for the options used here.
OPTIONS = {"train.dropout": "0.1", "train.attention_dropout": "0", "train.label_smoothing": "0.1",
           "train.label_smoothing_kind": "others", "train.schedule": "inverse_sqrt", "train.learning_rate": "1",
           "train.warmup_steps": "4000", "train.adam_beta1": "0.9", "train.adam_beta2": "0.98",
           "train.adam_epsilon": "1e-9", "steps": "0", "every": "100", "threads": "2", "precision": "fp32",
           "checkpoint": "", "export": "", "minutes": "5", "stop_after": "0", "seed": "1",
           "snapshots": "0"}
PAD = -100


def model_config(metadata):
    want = {"model.positions": "sinusoid", "model.window": "0"}
    if any(metadata[key] != value for key, value in want.items()) or metadata["model.d_k"] != metadata["model.d_v"] or \
            int(metadata["model.d_k"]) * int(metadata["model.heads"]) != int(metadata["model.d_model"]):
        sys.exit("only models with sinusoids, full attention and d_k = d_v = d_model / heads are compared")
    kinds = {"model.norm": str, "model.norm_epsilon": float}
    return {key: kinds.get(key, int)(value) for key, value in metadata.items()
            if key.startswith("model.") and key not in want}


def padded(sequences, value):
    out = torch.full((len(sequences), max(map(len, sequences))), value, dtype=torch.long)
    for row, ids in zip(out, sequences):
        row[:len(ids)] = torch.from_numpy(ids)
    return out


def parts_of(batch):
    """The batch as a list of batches of similar length, whose padded sides have at most 6000 tokens each.

    The library's batches mix lengths now and then, which costs it nothing: it has no padding. Padded as a whole, one of
    them would take 20 GB here.
    """
    pairs = sorted(zip(*batch), key=lambda pair: max(map(len, pair)))
    parts = [[pairs[0]]]
    for pair in pairs[1:]:
        if (len(parts[-1]) + 1) * max(map(len, pair)) > 6000:
            parts.append([])
        parts[-1].append(pair)
    return [tuple(zip(*part)) for part in parts]


def tensors_of(batch):
    """src, its padding (None when there is none), decoder input, targets with PAD where there are none."""
    src, tgt = padded(batch[0], 0), padded(batch[1], PAD)
    lengths = torch.tensor([len(ids) for ids in batch[0]])
    pad = torch.arange(src.shape[1])[None, :] >= lengths[:, None]
    tgt_in = torch.cat([torch.full((len(tgt), 1), START), tgt[:, :-1].clamp(min=0)], 1)
    return src, pad if pad.any() else None, tgt_in, tgt


def learning_rate(o, d_model, step):
    factor, warmup = float(o["train.learning_rate"]), int(o["train.warmup_steps"])
    if o["train.schedule"] == "constant":
        return factor * min(1.0, step / warmup)
    return factor * d_model ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)


def evaluate(model, o, dev):
    model.eval()
    sums, tokens = [0.0, 0.0], 0
    with torch.no_grad():
        for src, pad, tgt_in, tgt in (tensors_of(part) for batch in dev for part in parts_of(batch)):
            count = int((tgt != PAD).sum())
            loss, nll = smoothed_loss(model, model(src, tgt_in, pad), tgt, float(o["train.label_smoothing"]),
                                      o["train.label_smoothing_kind"])
            sums = [sums[0] + loss.item() * count, sums[1] + nll.item() * count]
            tokens += count
    model.train()
    return sums[0] / tokens, sums[1] / tokens


def save(path, state):
    torch.save(state, path + ".tmp")
    os.replace(path + ".tmp", path)


def main():
    o = dict(OPTIONS)
    for argument in sys.argv[1:]:
        key, equals, value = argument.partition("=")
        if not equals or key not in {*o, "model", "batches", "dev_batches"}:
            sys.exit(f"{argument}: expected one of " + ", ".join(["model", "batches", "dev_batches", *o]) + " = value")
        o[key] = value
    if float(o["train.attention_dropout"]) != 0:
        sys.exit("train.attention_dropout is not supported here")
    torch.set_num_threads(int(o["threads"]))
    torch.manual_seed(int(o["seed"]))
    metadata, tensors = read_safetensors(o["model"])
    cfg = model_config(metadata)
    model = Transformer(cfg, float(o["train.dropout"]))
    model.load(tensors)
    beta1, beta2, eps = (float(o[f"train.adam_{key}"]) for key in ("beta1", "beta2", "epsilon"))
    adam = torch.optim.Adam(model.parameters(), lr=0.0, betas=(beta1, beta2), eps=eps, fused=True)
    batches, dev = read_batches(o["batches"]), read_batches(o["dev_batches"])
    steps, every = int(o["steps"]) or len(batches), int(o["every"])
    bf16 = torch.autocast("cpu", dtype=torch.bfloat16) if o["precision"] == "bf16" else contextlib.nullcontext()
    step = 0
    if o["checkpoint"] and os.path.exists(o["checkpoint"]):
        state = torch.load(o["checkpoint"], weights_only=True)
        model.load_state_dict(state["model"])
        adam.load_state_dict(state["adam"])
        torch.set_rng_state(state["random"])
        step = state["step"]

    def report(seconds):
        print(f"{step}\t{{:.6f}}\t{{:.6f}}\t{seconds:.1f}".format(*evaluate(model, o, dev)), flush=True)

    begin = saved = time.monotonic()
    seconds = 0.0
    if step == 0:
        report(0.0)
    while step < steps:
        before = time.monotonic()
        batch = batches[step % len(batches)]
        tokens = sum(map(len, batch[1]))
        step += 1
        group = adam.param_groups[0]
        group["lr"] = learning_rate(o, cfg["model.d_model"], step)
        group["eps"] = eps / math.sqrt(1 - beta2 ** step)  # then PyTorch's form is the one of Kingma & Ba, end of s. 2
        adam.zero_grad(set_to_none=True)
        for part in parts_of(batch):
            src, pad, tgt_in, tgt = tensors_of(part)
            with bf16:
                loss, _ = smoothed_loss(model, model(src, tgt_in, pad), tgt, float(o["train.label_smoothing"]),
                                        o["train.label_smoothing_kind"])
            (loss * (sum(map(len, part[1])) / tokens)).backward()
        adam.step()
        seconds += time.monotonic() - before
        if step % every == 0 or step == steps:
            report(seconds)
        if int(o["snapshots"]) and step % int(o["snapshots"]) == 0:
            write_safetensors(f"{o['export']}.avg-{step}", o["model"], model.export(tensors))
        now = time.monotonic()
        stop = step == steps or 0 < 60 * float(o["stop_after"]) < now - begin
        if o["checkpoint"] and (stop or now - saved > 60 * float(o["minutes"])):
            save(o["checkpoint"], {"model": model.state_dict(), "adam": adam.state_dict(), "step": step,
                                   "random": torch.get_rng_state()})
            saved = time.monotonic()
        if stop:
            break
    if o["export"]:
        write_safetensors(o["export"], o["model"], model.export(tensors))


if __name__ == "__main__":
    main()
