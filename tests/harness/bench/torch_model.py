"""The base Transformer as an optimized PyTorch model, for bench_train.py and compare_training.py.

Fused q, k, and v projections, scaled_dot_product_attention, one fused Adam, and no computation on padding if a batch
has none. Parameters have the names of the library's model file, so that both sides can start from the same weights; q,
k, and v are rows of one matrix here and are split when they are loaded and saved.

SPDX-License-Identifier: Apache-2.0
"""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from model_file import sinusoid

START, END = 0, 1
BASE = {"model.encoder_layers": 6, "model.decoder_layers": 6, "model.d_model": 512, "model.d_ff": 2048,
        "model.heads": 8, "model.vocab_size": 37000, "model.norm": "post", "model.norm_epsilon": 1e-6,
        "model.max_length": 1024}


class Attention(nn.Module):
    def __init__(self, cfg, cross):
        super().__init__()
        d = cfg["model.d_model"]
        self.heads, self.cross = cfg["model.heads"], cross
        if cross:
            self.q, self.kv = nn.Linear(d, d, bias=False), nn.Linear(d, 2 * d, bias=False)
        else:
            self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.o = nn.Linear(d, d, bias=False)
        self.norm = nn.LayerNorm(d, cfg["model.norm_epsilon"])

    def forward(self, x, memory=None, mask=None, causal=False):
        if self.cross:
            parts = [self.q(x), *self.kv(memory).chunk(2, -1)]
        else:
            parts = self.qkv(x).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.o(y.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        d, f = cfg["model.d_model"], cfg["model.d_ff"]
        self.add_module("in", nn.Linear(d, f))
        self.out = nn.Linear(f, d)
        self.norm = nn.LayerNorm(d, cfg["model.norm_epsilon"])

    def forward(self, x):
        return self.out(F.relu(getattr(self, "in")(x)))


class Layer(nn.Module):
    def __init__(self, cfg, decoder, dropout):
        super().__init__()
        self.self_attention = Attention(cfg, cross=False)
        if decoder:
            self.cross_attention = Attention(cfg, cross=True)
        self.feed_forward = FeedForward(cfg)
        self.decoder, self.dropout, self.pre = decoder, nn.Dropout(dropout), cfg["model.norm"] == "pre"

    def forward(self, x, memory=None, self_mask=None, cross_mask=None):
        causal = self.decoder and self_mask is None
        x = self.around(self.self_attention, x, mask=self_mask, causal=causal)
        if self.decoder:
            x = self.around(self.cross_attention, x, memory, mask=cross_mask)
        return self.around(self.feed_forward, x)

    def around(self, sublayer, x, *inputs, **masks):
        """Residual connection, dropout and normalisation around a sub-layer."""
        if self.pre:
            return x + self.dropout(sublayer(sublayer.norm(x), *inputs, **masks))
        return sublayer.norm(x + self.dropout(sublayer(x, *inputs, **masks)))


class Stack(nn.ModuleList):
    """Layers; those of a pre-LN model have a normalisation after the last."""

    def __init__(self, cfg, decoder, dropout):
        super().__init__(Layer(cfg, decoder, dropout) for _ in range(cfg[f"model.{'de' if decoder else 'en'}coder_layers"]))
        if cfg["model.norm"] == "pre":
            self.norm = nn.LayerNorm(cfg["model.d_model"], cfg["model.norm_epsilon"])

    def __iter__(self):
        return (layer for layer in super().__iter__() if isinstance(layer, Layer))

    def forward(self, x, *inputs, **masks):
        for layer in self:
            x = layer(x, *inputs, **masks)
        return self.norm(x) if hasattr(self, "norm") else x


class Transformer(nn.Module):
    """d_k = d_v = d_model / heads, sinusoids, one embedding for all: the paper's base model, with pre-LN on demand."""

    def __init__(self, cfg, dropout):
        super().__init__()
        d = cfg["model.d_model"]
        self.embedding = nn.Embedding(cfg["model.vocab_size"], d)
        nn.init.normal_(self.embedding.weight, std=d ** -0.5)
        self.encoder, self.decoder = Stack(cfg, False, dropout), Stack(cfg, True, dropout)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("table", torch.from_numpy(sinusoid(cfg["model.max_length"], d)), persistent=False)

    def embed(self, ids):
        d = self.embedding.embedding_dim
        return self.dropout(self.embedding(ids) * math.sqrt(d) + self.table[:ids.shape[1]])

    def forward(self, src, tgt_in, src_pad=None):
        """States [B, T, D] before the projection. src_pad [B, S]: True where src is padding, None when nowhere.

        Padding of the target needs no mask: it follows all visible positions, and its loss is excluded.
        """
        mask = None if src_pad is None else ~src_pad[:, None, None, :]
        memory = self.encoder(self.embed(src), self_mask=mask)
        return self.decoder(self.embed(tgt_in), memory, cross_mask=mask)

    def load(self, tensors):
        """Takes weights under the library's names."""
        with torch.no_grad():
            for name, value in self.named_parameters():
                value.copy_(torch.from_numpy(np.concatenate([tensors[part] for part in library_names(name)])))


    def export(self, shapes):
        """Its weights under the library's names; shapes: name -> array, which tells where a fused tensor is cut."""
        tensors = {}
        for name, value in self.named_parameters():
            parts = library_names(name)
            sizes = [shapes[part].shape[0] for part in parts]
            tensors |= zip(parts, value.detach().split(sizes))
        return {name: value.numpy() for name, value in tensors.items()}


def library_names(name):
    """The library's tensors that make up a parameter here."""
    for fused, parts in (("self_attention.qkv", "qkv"), ("cross_attention.kv", "kv")):
        if fused in name:
            return [name.replace(fused, f"{fused.split('.')[0]}.{part}") for part in parts]
    return [name]


def smoothed_loss(model, states, targets, smoothing, kind, chunked=False, ignore_index=-100):
    """(smoothed loss, nll), each the mean over the targets that are not ignored.

    kind "others" is smoothing / (V - 1) on each other id, which is PyTorch's own "uniform" with a larger smoothing.
    chunked: PyTorch's chunked projection + loss, which holds no [tokens, V] logits. It knows no smoothing, so that
    is added by s (x . e_target - x . mean e), which is the same function.
    """
    weight, x = model.embedding.weight, states.flatten(0, 1)
    v = weight.shape[0]
    s = smoothing * v / (v - 1) if kind == "others" else smoothing
    targets = targets.flatten()
    if chunked:
        nll = F.linear_cross_entropy(x, weight, targets, ignore_index=ignore_index,
                                     options=nn.LinearCrossEntropyOptions())
        kept = targets != ignore_index
        gap = (x * (F.embedding(targets.clamp(min=0), weight) - weight.mean(0))).sum(-1)
        return nll + s * gap[kept].mean(), nll.detach()
    logits = x @ weight.T
    if torch.is_grad_enabled():
        return F.cross_entropy(logits, targets, label_smoothing=s, ignore_index=ignore_index), None
    return (F.cross_entropy(logits, targets, label_smoothing=s, ignore_index=ignore_index),
            F.cross_entropy(logits, targets, ignore_index=ignore_index))
