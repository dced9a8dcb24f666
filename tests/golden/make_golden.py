#!/usr/bin/env python3
"""Writes NAME.safetensors for each of CONFIGS: the results of reference.py for tiny models of all kinds.

Needed only to make the files anew, never to run the tests: pip install torch; ./make_golden.py [folder [NAME ...]]
Everything is computed in float64 and stored as fp32, so the reference's own error is one rounding. The script refuses
numbers that hang on rounding: beams must come out the same under noise of 1e-5 on each log-probability, and ten Adam
steps in fp32, or from parameters moved by 1e-7, must end at the same weights (a ReLU unit on its kink would not let
them). So whoever is off by more than 1e-4 has another model, not another order of sums.

Tensors of a file (T target tokens of batch0, all sequences packed: ids and offsets [B + 1]):
  param.NAME, grad.NAME, after.NAME       initial parameters, gradient of batch0's mean loss, after ten steps
  batch0.src_ids ... batch1.tgt_offsets   two batches; a step uses both
  encoder, logits [T, V], nll [T]         of batch0, without dropout
  batch0.loss, both.loss [2]              loss and nll of batch0, and of both batches together
  steps [10, 4]                           loss, nll, learning rate, gradient norm of each step
  log_probs [B]                           of batch0's targets
  decode.src_ids, decode.src_offsets      sources
  decode.N.ids, .offsets, .count, .finished, .log_probs, .scores      answers; count [B] answers a sentence
param.* are those of a model that has half learnt to reverse some of the sources: then beams hold several lengths.
Metadata: the options of the model and the trainer by key; "decode.N": the options of beam search N, "key=value ...".

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import random
import struct
import sys

import numpy as np
import torch

import reference
from reference import Transformer

STEPS, VOCAB = 10, 37

COMMON = {
    "model.encoder_layers": 2, "model.decoder_layers": 2, "model.d_model": 16, "model.d_ff": 32, "model.heads": 2,
    "model.d_k": 8, "model.d_v": 8, "model.vocab_size": VOCAB, "model.norm": "post", "model.norm_epsilon": 1e-6,
    "model.positions": "sinusoid", "model.max_length": 40, "model.window": 0,
    "train.dropout": 0.0, "train.attention_dropout": 0.0, "train.label_smoothing": 0.1,
    "train.label_smoothing_kind": "others", "train.schedule": "inverse_sqrt", "train.learning_rate": 0.03,
    "train.warmup_steps": 8, "train.adam_beta1": 0.9, "train.adam_beta2": 0.98, "train.adam_epsilon": 1e-9,
}
CONFIGS = {
    "post": COMMON,
    # Every width apart from every other, so that no two can be mixed up.
    "shapes": COMMON | {
        "model.encoder_layers": 1, "model.d_model": 20, "model.d_ff": 24, "model.heads": 3, "model.d_k": 6,
        "model.d_v": 10, "model.positions": "learned", "train.label_smoothing": 0.2,
        "train.label_smoothing_kind": "uniform", "train.adam_beta1": 0.8, "train.adam_epsilon": 1e-4},
    "pre": COMMON | {
        "model.norm": "pre", "model.window": 4, "train.schedule": "constant", "train.learning_rate": 0.002,
        "train.warmup_steps": 4, "train.label_smoothing": 0.0},
    # As Marian has them. The bias of keys has no gradient (it adds the same to all scores of a query), and a small epsilon
    # would have Adam follow its rounding.
    "swish": COMMON | {
        "train.adam_epsilon": 1e-4,
        "model.decoder_layers": 1, "model.activation": "swish", "model.attention_bias": True,
        "model.output_bias": True, "model.positions": "fixed", "model.norm_epsilon": 1e-5,
        "model.start_token": VOCAB - 1, "model.end_token": 0, "model.banned_tokens": "2,36"},
    # As BART and its kin have them.
    "gelu": COMMON | {
        "train.adam_epsilon": 1e-4,
        "model.encoder_layers": 1, "model.norm": "pre", "model.activation": "gelu", "model.attention_bias": True,
        "model.embedding_norm": True, "model.embedding_scale": False, "model.positions": "learned",
        "model.tie": "decoder", "model.source_vocab_size": 29, "model.first_token": 7},
    # As T5 and later models have them; fed the end symbol first.
    "gated": COMMON | {
        "model.d_ff": 20, "model.norm": "pre_rms", "model.activation": "geglu",
        "model.output_bias": True, "model.tie": "none", "model.start_token": 1},
    # The other way round for what those two share.
    "rms": COMMON | {
        "model.decoder_layers": 1, "model.norm": "post_rms", "model.embedding_norm": True, "model.activation": "swiglu",
        "model.tie": "decoder", "model.window": 4},
}
SEARCHES = [
    {"decode.beam": 4, "decode.alpha": 0.6, "decode.n_best": 4, "decode.max_extra_tokens": 12},
    {"decode.beam": 4, "decode.alpha": 0.0, "decode.n_best": 1, "decode.max_extra_tokens": 12},
    {"decode.beam": 4, "decode.alpha": 0.6, "decode.n_best": 2, "decode.max_extra_tokens": 1},
    {"decode.beam": 1, "decode.alpha": 0.6, "decode.n_best": 1, "decode.max_extra_tokens": 12},
    {"decode.beam": 5, "decode.alpha": 2.0, "decode.n_best": 1, "decode.max_extra_tokens": 12},
]


def initial_parameters(cfg, rng):
    """Glorot-uniform matrices, and everything else off its usual 0 and 1, so that no parameter is without effect."""
    p = {}
    for name, shape in reference.parameter_shapes(cfg):
        if name.endswith("embedding.weight") or name == "output.weight":
            value = rng.normal(0, 1.5 * cfg["model.d_model"] ** -0.5, shape)
            if not cfg.get("model.embedding_scale", True) and name != "output.weight":
                value *= 2
        elif len(shape) == 2 and ".position." not in name:
            value = rng.uniform(-1, 1, shape) * 1.5 * (6 / sum(shape)) ** 0.5
        else:
            value = rng.normal(1.0 if name.endswith("norm.weight") else 0.0, 0.3, shape)
        p[name] = torch.tensor(value.astype(np.float32)).double()
    return p


def sentence(cfg, rng, length):
    """Of ids that both sides have and answers may have."""
    most = cfg.get("model.source_vocab_size", VOCAB)
    ids = [i for i in range(most) if i not in reference.banned_of(cfg) | {reference.end_of(cfg), 0, 1}]
    return [ids[rng.randrange(len(ids))] for _ in range(length - 1)] + [reference.end_of(cfg)]


def batches(cfg, rng):
    lengths = [[(5, 7), (1, 3), (9, 1), (12, 10), (4, 4)], [(3, 6), (11, 2), (2, 9), (7, 7)]]
    return [[(sentence(cfg, rng, s), sentence(cfg, rng, t)) for s, t in batch] for batch in lengths]


def decode_all(model, sources, search, **noise):
    return [reference.beam_search(model, src, search["decode.beam"], search["decode.alpha"],
                                  search["decode.max_extra_tokens"], search["decode.n_best"], **noise)
            for src in sources]


def shape_of(answers):
    return [[(ids, finished) for ids, _, _, finished in sentence_answers] for sentence_answers in answers]


def telling(results):
    """Whether the answers tell a right search from a wrong one."""
    best = [[tuple(answers[0][0]) for answers in result] for result in results]
    ended = [[answers[0][3] for answers in result] for result in results]

    def differ(i, j):
        return sum(a != b for a, b in zip(best[i], best[j]))
    return (len({len(ids) for ids in best[0]}) >= 5 and len(set(best[0])) >= 7
            and sum(ended[0]) >= 5 and 0 in ended[2] and 1 in ended[2]  # the limit cuts some off
            and differ(0, 1) >= 1 and differ(0, 4) >= 1  # alpha matters
            and differ(0, 3) >= 1)  # the beam matters


def step_error(cfg, params, pairs, exact, dtype=torch.float64, noise=0.0, seed=0):
    """How far the weights and the trace of ten steps are off in another precision, or from moved parameters."""
    generator = torch.Generator().manual_seed(seed)
    moved = {n: v * (1 + noise * torch.randn(v.shape, dtype=v.dtype, generator=generator)) for n, v in params.items()}
    weights, trace = reference.train(cfg, moved, pairs, STEPS, dtype)
    errors = [((weights[n].double() - v).abs().max() / v.abs().max()).item() for n, v in exact[0].items()]
    return max(errors + [abs(a - b) / b for row, right in zip(trace, exact[1]) for a, b in zip(row, right)])


def hangs_on_rounding(cfg, params, pairs, sources, results):
    noisy, model = torch.Generator().manual_seed(1), Transformer(cfg, params)
    with torch.no_grad():
        for result, search in zip(results, SEARCHES):
            for _ in range(3):
                if shape_of(result) != shape_of(decode_all(model, sources, search, noise=1e-5, generator=noisy)):
                    return True
    exact = reference.train(cfg, params, pairs, STEPS)
    errors = [step_error(cfg, params, pairs, exact, torch.float32)]
    errors += [step_error(cfg, params, pairs, exact, noise=1e-7, seed=seed) for seed in (1, 2)]
    print("ten steps differ by", " ".join(f"{e:.1e}" for e in errors), flush=True)
    return max(errors) > 1e-5


def half_trained(cfg, pairs, sources):
    """Parameters whose answers are telling and do not hang on rounding, with those answers."""
    first = [cfg["model.first_token"]] if "model.first_token" in cfg else []
    more = [sentence(cfg, random.Random(2), n) for n in (3, 5, 7)]
    lesson = [(src, first + src[-2::-1] + [reference.end_of(cfg)]) for src in sources[::2] + more]
    lesson_cfg = cfg | {"train.schedule": "constant", "train.learning_rate": 0.01, "train.warmup_steps": 10,
                        "train.label_smoothing": 0.0}
    for seed in range(1, 100):
        params, loss = initial_parameters(cfg, np.random.default_rng(seed)), 9.0
        while loss > 0.2:
            params, trace = reference.train(lesson_cfg, params, lesson, 10)
            params = {name: value.float().double() for name, value in params.items()}
            loss, model = trace[-1][0], Transformer(cfg, params)
            if loss > 1.2:
                continue
            with torch.no_grad():
                results = [decode_all(model, sources, search) for search in SEARCHES]
            if telling(results) and not hangs_on_rounding(cfg, params, pairs, sources, results):
                print(f"seed {seed}, loss {loss:.2f}")
                return params, results
    raise RuntimeError("no parameters give telling answers")


def packed(sequences):
    offsets = np.cumsum([0] + [len(s) for s in sequences])
    return np.array([i for s in sequences for i in s]), offsets


def golden(name, cfg):
    rng = random.Random(1)
    pairs = batches(cfg, rng)
    sources = [sentence(cfg, rng, n) for n in (1, 2, 4, 5, 6, 8, 9, 11)]
    params, results = half_trained(cfg, pairs[0] + pairs[1], sources)
    tensors = {f"param.{n}": v for n, v in params.items()}
    for i, batch in enumerate(pairs):
        for side, sequences in (("src", [s for s, _ in batch]), ("tgt", [t for _, t in batch])):
            tensors[f"batch{i}.{side}_ids"], tensors[f"batch{i}.{side}_offsets"] = packed(sequences)

    p = {n: v.clone().requires_grad_() for n, v in params.items()}
    model = Transformer(cfg, p)
    loss, mean_nll, nll = reference.batch_loss(model, pairs[0])
    trained = [n for n in p if reference.is_trained(cfg, n)]
    grads = dict(zip(trained, torch.autograd.grad(loss, [p[n] for n in trained])))
    with torch.no_grad():
        tensors["encoder"] = torch.cat([model.encode(src) for src, _ in pairs[0]])
        tensors["logits"] = torch.cat([model.logits(src, tgt) for src, tgt in pairs[0]])
        both = reference.batch_loss(model, pairs[0] + pairs[1])
    tensors["nll"] = nll.detach()
    tensors["log_probs"] = torch.stack([-part.sum() for part in nll.detach().split([len(t) for _, t in pairs[0]])])
    tensors["batch0.loss"] = torch.stack([loss, mean_nll]).detach()
    tensors["both.loss"] = torch.stack(both[:2])
    tensors |= {f"grad.{n}": grads.get(n, torch.zeros_like(v)) for n, v in p.items()}

    after, trace = reference.train(cfg, params, pairs[0] + pairs[1], STEPS)
    tensors |= {f"after.{n}": v for n, v in after.items()}
    tensors["steps"] = torch.tensor(trace, dtype=torch.float64)
    print(f"{name}: loss {trace[0][0]:.4f} -> {trace[-1][0]:.4f}")

    metadata = {key: repr(value) if isinstance(value, float) else str(value) for key, value in cfg.items()}
    metadata |= {key: str(value).lower() for key, value in cfg.items() if isinstance(value, bool)}
    tensors["decode.src_ids"], tensors["decode.src_offsets"] = packed(sources)
    for i, (search, result) in enumerate(zip(SEARCHES, results)):
        metadata[f"decode.{i}"] = " ".join(f"{key}={value}" for key, value in search.items())
        answers = [a for sentence_answers in result for a in sentence_answers]
        tensors[f"decode.{i}.ids"], tensors[f"decode.{i}.offsets"] = packed([a[0] for a in answers])
        tensors[f"decode.{i}.count"] = np.array([len(sentence_answers) for sentence_answers in result])
        tensors[f"decode.{i}.finished"] = np.array([a[3] for a in answers])
        tensors[f"decode.{i}.log_probs"] = torch.tensor([a[1] for a in answers], dtype=torch.float64)
        tensors[f"decode.{i}.scores"] = torch.tensor([a[2] for a in answers], dtype=torch.float64)
        print(f"{name}: {metadata[f'decode.{i}']}: " +
              " ".join(f"{len(a[0][0])}{'' if a[0][3] else '+'}/{len(a)}" for a in result))
    metadata["made_by"] = f"tests/golden/make_golden.py, torch {torch.__version__}"
    return metadata, tensors


def write_safetensors(path, metadata, tensors):
    header, data = {"__metadata__": metadata}, b""
    for name, value in tensors.items():
        if isinstance(value, torch.Tensor):
            array = value.detach().numpy().astype("<f4")
            assert np.isfinite(array).all(), name
        else:
            array = value.astype("<i4")
        raw = array.tobytes()
        header[name] = {"dtype": "F32" if array.dtype.kind == "f" else "I32", "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    print(f"{path.name}: {path.stat().st_size} bytes")


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent
    for name, cfg in CONFIGS.items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        write_safetensors(folder / f"{name}.safetensors", *golden(name, cfg))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
