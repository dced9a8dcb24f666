"""Optimized greedy and beam search of PyTorch on a GPU; gpu_bench.py compares it with `xf_bench decode`.

bf16 weights, a key-value cache of fixed shape, the keys and values of the source computed once a sentence (the beams of
a sentence are its queries), a compiled step that does all of a position on the device: the network, the choice, and the
reordering of the cache. A search is one CUDA graph from the encoder to the last position: nothing is launched, and
the loop does not check between positions whether all hypotheses have ended, which a real program must do.
Every answer has exactly as many tokens as its source, as untrained weights give with decode.max_extra_tokens=0.

SPDX-License-Identifier: Apache-2.0
"""
import math

import torch
import torch.nn.functional as F

from gpu_torch import SIZES
from torch_model import START, Transformer


class DecodePeer:
    """search(sources [batch, tokens]) -> ids [batch, tokens], the best answer of each source, on the host."""

    def __init__(self, size, batch, beam, tokens, compiled, device, graph=True):
        torch.manual_seed(1)
        config, _ = SIZES[size]
        self.batch, self.beam, self.tokens, self.device = batch, beam, tokens, device
        self.model = Transformer(config, 0.0).eval().requires_grad_(False).to(device, torch.bfloat16)
        self.width, self.heads = config["model.d_model"], config["model.heads"]
        self.positions = torch.arange(tokens, device=device)
        self.at = [torch.tensor([t], device=device) for t in range(tokens)]
        self.src = torch.randint(2, config["model.vocab_size"], (batch, tokens), device=device)
        wrap = (lambda f: torch.compile(f, dynamic=False)) if compiled else lambda f: f
        self.encode, self.step = wrap(self.encoder), wrap(self.one_step)
        self.replay = None
        if graph and device.type == "cuda":
            self.capture()

    def split(self, x, queries):
        """[..., D] -> [sentences, heads, queries, D / heads]"""
        return x.view(-1, queries, self.heads, self.width // self.heads).transpose(1, 2)

    def encoder(self, src):
        """Keys and values of each decoder layer over the source."""
        memory = self.model.embed(src)
        for layer in self.model.encoder:
            memory = layer(memory)
        cross = []
        for layer in self.model.decoder:
            k, v = layer.cross_attention.kv(memory).chunk(2, -1)
            cross.append((self.split(k, self.tokens).contiguous(), self.split(v, self.tokens).contiguous()))
        return cross

    def one_step(self, t, ids, scores, parent, cache, cross):
        """Position t (a tensor [1]): what was chosen last and from which row of the cache, to what is chosen now."""
        model, rows = self.model, self.batch * self.beam
        x = model.embedding(ids) * math.sqrt(self.width) + model.table[t]
        here = (self.positions == t).view(1, 1, -1, 1)
        seen = (self.positions <= t).view(1, 1, 1, -1)
        grown = []
        for layer, (keys, values), (src_keys, src_values) in zip(model.decoder, cache, cross):
            own, cross_attention = layer.self_attention, layer.cross_attention
            q, k, v = own.qkv(x).chunk(3, -1)
            if self.beam > 1:  # one pass that reorders and inserts
                keys = torch.where(here, self.split(k, 1), keys[parent])
                values = torch.where(here, self.split(v, 1), values[parent])
            else:
                keys.index_copy_(2, t, self.split(k, 1))
                values.index_copy_(2, t, self.split(v, 1))
            grown.append((keys, values))
            y = F.scaled_dot_product_attention(self.split(q, 1), keys, values, attn_mask=seen)
            x = own.norm(x + own.o(y.reshape(rows, -1)))
            q = self.split(cross_attention.q(x), self.beam)
            y = F.scaled_dot_product_attention(q, src_keys, src_values)
            x = cross_attention.norm(x + cross_attention.o(y.transpose(1, 2).reshape(rows, -1)))
            x = layer.feed_forward.norm(x + layer.feed_forward(x))
        logits = x @ model.embedding.weight.T
        if self.beam == 1:
            return logits.argmax(-1), scores, parent, grown
        best, choice = logits.topk(self.beam, -1)
        total = scores.view(-1, 1) + best.float() - torch.logsumexp(logits.float(), -1, keepdim=True)
        scores, place = total.view(self.batch, -1).topk(self.beam, -1)
        ids = choice.view(self.batch, -1).gather(1, place).flatten()
        first = torch.arange(self.batch, device=self.device)[:, None] * self.beam
        return ids, scores, (first + place // self.beam).flatten(), grown

    @torch.no_grad()
    def launch(self, src):
        rows = self.batch * self.beam
        cross = self.encode(src)
        shape = (rows, self.heads, self.tokens, self.width // self.heads)
        cache = [tuple(torch.zeros(shape, dtype=torch.bfloat16, device=self.device) for _ in range(2)) for _ in cross]
        ids = torch.full((rows,), START, device=self.device)
        parent = torch.arange(rows, device=self.device)
        scores = torch.full((self.batch, self.beam), -math.inf, device=self.device)
        scores[:, 0] = 0.0
        chosen = []
        for t in range(self.tokens):
            ids, scores, parent, cache = self.step(self.at[t], ids, scores, parent, cache, cross)
            chosen.append((ids, parent))
        row = torch.arange(self.batch, device=self.device) * self.beam + scores.argmax(-1)
        answer = []
        for ids, parent in reversed(chosen):
            answer.append(ids[row])
            row = parent[row]
        return torch.stack(answer[::-1], 1)

    def capture(self):
        side = torch.cuda.Stream(self.device)
        side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(side):
            for _ in range(2):
                self.launch(self.src)
        torch.cuda.current_stream(self.device).wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.answer = self.launch(self.src)
        self.replay = graph.replay

    def search(self, src):
        """src is on the host, as it is for the library."""
        if self.replay is None:
            return self.launch(src.to(self.device)).cpu()
        self.src.copy_(src)
        self.replay()
        return self.answer.cpu()
