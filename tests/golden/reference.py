"""The Transformer of Vaswani et al. 2017 in plain PyTorch, one sentence at a time, in float64.

It is an independent check of the library: it shares no code with it, has no padding, caches, or fused operations, and
follows the equations of the paper in the order of the text. make_golden.py stores its results. Names and shapes of
parameters are those of the library's model file; options are its option keys (lib/core/option_table.cpp).

SPDX-License-Identifier: Apache-2.0
"""
import math

import torch



def start_of(cfg):
    return cfg.get("model.start_token", 0)


def end_of(cfg):
    return cfg.get("model.end_token", 1)


def banned_of(cfg):
    """What no answer has."""
    banned = {int(i) for i in cfg.get("model.banned_tokens", "").split(",") if i}
    return banned | ({start_of(cfg)} - {end_of(cfg)})


def norm_shapes(cfg, name):
    shapes = [(f"{name}.weight", (cfg["model.d_model"],))]
    return shapes if cfg["model.norm"].endswith("rms") else shapes + [(f"{name}.bias", (cfg["model.d_model"],))]


def attention_shapes(cfg, prefix):
    d, h = cfg["model.d_model"], cfg["model.heads"]
    k, v = h * cfg["model.d_k"], h * cfg["model.d_v"]
    shapes = [(f"{prefix}.q.weight", (k, d)), (f"{prefix}.k.weight", (k, d)), (f"{prefix}.v.weight", (v, d))]
    biased = cfg.get("model.attention_bias", False)
    if biased:
        shapes += [(f"{prefix}.q.bias", (k,)), (f"{prefix}.k.bias", (k,)), (f"{prefix}.v.bias", (v,))]
    shapes.append((f"{prefix}.o.weight", (d, v)))
    if biased:
        shapes.append((f"{prefix}.o.bias", (d,)))
    return shapes + norm_shapes(cfg, f"{prefix}.norm")


def is_gated(cfg):
    return cfg.get("model.activation", "relu").endswith("glu")


def feed_forward_shapes(cfg, prefix):
    d, f = cfg["model.d_model"], cfg["model.d_ff"]
    into = ["in", "gate"] if is_gated(cfg) else ["in"]
    return ([(f"{prefix}.{name}.weight", (f, d)) for name in into] + [(f"{prefix}.{name}.bias", (f,)) for name in into]
            + [(f"{prefix}.out.weight", (d, f)), (f"{prefix}.out.bias", (d,))] + norm_shapes(cfg, f"{prefix}.norm"))


def parameter_shapes(cfg):
    """Every parameter in the order of the model file."""
    d, vocabulary, tie = cfg["model.d_model"], cfg["model.vocab_size"], cfg.get("model.tie", "all")
    shapes = [("embedding.weight", (vocabulary, d))] if tie == "all" else []
    for stack, attentions in (("encoder", ["self_attention"]), ("decoder", ["self_attention", "cross_attention"])):
        if tie != "all":
            rows = cfg.get("model.source_vocab_size", vocabulary) if stack == "encoder" else vocabulary
            shapes.append((f"{stack}.embedding.weight", (rows, d)))
        if cfg["model.positions"] != "sinusoid":
            shapes.append((f"{stack}.position.weight", (cfg["model.max_length"], d)))
        if cfg.get("model.embedding_norm"):
            shapes += norm_shapes(cfg, f"{stack}.embedding_norm")
        for i in range(cfg[f"model.{stack}_layers"]):
            for name in attentions:
                shapes += attention_shapes(cfg, f"{stack}.{i}.{name}")
            shapes += feed_forward_shapes(cfg, f"{stack}.{i}.feed_forward")
        if cfg["model.norm"].startswith("pre"):
            shapes += norm_shapes(cfg, f"{stack}.norm")
    if tie == "none":
        shapes.append(("output.weight", (vocabulary, d)))
    if cfg.get("model.output_bias"):
        shapes.append(("output.bias", (vocabulary,)))
    return shapes


def is_trained(cfg, name):
    return not (cfg["model.positions"] == "fixed" and ".position." in name)


def sinusoid(length, d):
    """s. 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same."""
    table = torch.zeros(length, d, dtype=torch.float64)
    for pos in range(length):
        for i in range(0, d, 2):
            angle = pos / 10000.0 ** (i / d)
            table[pos, i] = math.sin(angle)
            table[pos, i + 1] = math.cos(angle)
    return table


class Transformer:
    """p maps names to tensors; the dtype of the tensors is that of the computation."""

    def __init__(self, cfg, p):
        self.cfg, self.p = cfg, p
        self.dtype = next(iter(p.values())).dtype
        tie = cfg.get("model.tie", "all")
        self.embedding = {stack: p["embedding.weight" if tie == "all" else f"{stack}.embedding.weight"]
                          for stack in ("encoder", "decoder")}
        self.output = p["output.weight"] if tie == "none" else self.embedding["decoder"]
        self.table = sinusoid(cfg["model.max_length"], cfg["model.d_model"]).to(self.dtype)

    def norm(self, x, name):
        if self.cfg["model.norm"].endswith("rms"):
            return self.p[f"{name}.weight"] * x / torch.sqrt((x ** 2).mean(-1, keepdim=True)
                                                             + self.cfg["model.norm_epsilon"])
        mean = x.mean(-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(-1, keepdim=True)
        normal = (x - mean) / torch.sqrt(variance + self.cfg["model.norm_epsilon"])
        return self.p[f"{name}.weight"] * normal + self.p[f"{name}.bias"]

    def attention(self, prefix, queries, keys, causal=False, window=0):
        """Eq. (1) head by head, then the output map (s. 3.2.2)."""
        d_k, d_v = self.cfg["model.d_k"], self.cfg["model.d_v"]
        q = self.linear(f"{prefix}.q", queries)
        k = self.linear(f"{prefix}.k", keys)
        v = self.linear(f"{prefix}.v", keys)
        i = torch.arange(q.shape[0])[:, None]
        j = torch.arange(k.shape[0])[None, :]
        hidden = torch.zeros(q.shape[0], k.shape[0], dtype=torch.bool)
        if causal:
            hidden |= j > i
        if window > 0:
            hidden |= (i - j).abs() > window // 2
        heads = []
        for h in range(self.cfg["model.heads"]):
            scores = q[:, h * d_k:(h + 1) * d_k] @ k[:, h * d_k:(h + 1) * d_k].T / math.sqrt(d_k)
            scores = scores.masked_fill(hidden, -math.inf)
            heads.append(torch.softmax(scores, -1) @ v[:, h * d_v:(h + 1) * d_v])
        return self.linear(f"{prefix}.o", torch.cat(heads, -1))

    def linear(self, name, x):
        y = x @ self.p[f"{name}.weight"].T
        return y + self.p[f"{name}.bias"] if f"{name}.bias" in self.p else y

    def activation(self, x):
        kind = self.cfg.get("model.activation", "relu")
        if kind in ("gelu", "geglu"):
            return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        return x / (1 + torch.exp(-x)) if kind in ("swish", "swiglu") else torch.relu(x)

    def feed_forward(self, prefix, x):
        """Eq. (2)."""
        inner = self.activation(self.linear(f"{prefix}.in", x))
        if is_gated(self.cfg):
            inner = inner * self.linear(f"{prefix}.gate", x)
        return self.linear(f"{prefix}.out", inner)

    def sublayer(self, prefix, x, f):
        if self.cfg["model.norm"].startswith("pre"):
            return x + f(self.norm(x, f"{prefix}.norm"))
        return self.norm(x + f(x), f"{prefix}.norm")

    def embed(self, ids, stack):
        x = self.embedding[stack][torch.tensor(ids)]
        if self.cfg.get("model.embedding_scale", True):
            x = x * math.sqrt(self.cfg["model.d_model"])
        own = self.cfg["model.positions"] != "sinusoid"
        x = x + (self.p[f"{stack}.position.weight"] if own else self.table)[:len(ids)]
        return self.norm(x, f"{stack}.embedding_norm") if self.cfg.get("model.embedding_norm") else x

    def encode(self, src):
        x, window = self.embed(src, "encoder"), self.cfg["model.window"]
        for i in range(self.cfg["model.encoder_layers"]):
            name = f"encoder.{i}.self_attention"
            x = self.sublayer(name, x, lambda y: self.attention(name, y, y, window=window))
            name = f"encoder.{i}.feed_forward"
            x = self.sublayer(name, x, lambda y: self.feed_forward(name, y))
        return self.norm(x, "encoder.norm") if self.cfg["model.norm"].startswith("pre") else x

    def decode(self, memory, inputs):
        """Logits [T, V] after each of the input ids."""
        x, window = self.embed(inputs, "decoder"), self.cfg["model.window"]
        for i in range(self.cfg["model.decoder_layers"]):
            name = f"decoder.{i}.self_attention"
            x = self.sublayer(name, x, lambda y: self.attention(name, y, y, causal=True, window=window))
            name = f"decoder.{i}.cross_attention"
            x = self.sublayer(name, x, lambda y: self.attention(name, y, memory))
            name = f"decoder.{i}.feed_forward"
            x = self.sublayer(name, x, lambda y: self.feed_forward(name, y))
        if self.cfg["model.norm"].startswith("pre"):
            x = self.norm(x, "decoder.norm")
        y = x @ self.output.T
        return y + self.p["output.bias"] if "output.bias" in self.p else y

    def logits(self, src, tgt):
        return self.decode(self.encode(src), [start_of(self.cfg)] + tgt[:-1])


def token_losses(cfg, logits, tgt):
    """Smoothed and un-smoothed cross-entropy of each token, in nats (s. 5.4)."""
    log_p = torch.log_softmax(logits, -1)
    count, eps = logits.shape[-1], cfg["train.label_smoothing"]
    gold = torch.nn.functional.one_hot(torch.tensor(tgt), count).to(logits.dtype)
    if cfg["train.label_smoothing_kind"] == "uniform":
        q = (1 - eps) * gold + eps / count
    else:
        q = (1 - eps) * gold + eps / (count - 1) * (1 - gold)
    return -(q * log_p).sum(-1), -(gold * log_p).sum(-1)


def batch_loss(model, pairs):
    """Mean loss and mean nll per target token over all pairs, and the nll of each token."""
    losses, nlls = [], []
    for src, tgt in pairs:
        loss, nll = token_losses(model.cfg, model.logits(src, tgt), tgt)
        losses.append(loss)
        nlls.append(nll)
    loss, nll = torch.cat(losses), torch.cat(nlls)
    return loss.mean(), nll.mean(), nll


def learning_rate(cfg, step):
    """Eq. (3), or a linear warm-up to a constant."""
    warmup, factor = cfg["train.warmup_steps"], cfg["train.learning_rate"]
    if cfg["train.schedule"] == "constant":
        return factor * min(1.0, step / warmup)
    return factor * cfg["model.d_model"] ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)


def train(cfg, params, pairs, steps, dtype=torch.float64):
    """Adam in the form at the end of section 2 of Kingma & Ba, epsilon applied as written."""
    p = {name: value.to(dtype, copy=True).requires_grad_() for name, value in params.items()}
    m = {name: torch.zeros_like(value) for name, value in p.items()}
    v = {name: torch.zeros_like(value) for name, value in p.items()}
    b1, b2 = cfg["train.adam_beta1"], cfg["train.adam_beta2"]
    trace = []
    for t in range(1, steps + 1):
        loss, nll, _ = batch_loss(Transformer(cfg, p), pairs)
        trained = {name: value for name, value in p.items() if is_trained(cfg, name)}
        grads = dict(zip(trained, torch.autograd.grad(loss, list(trained.values()))))
        norm = math.sqrt(sum(float((g.double() ** 2).sum()) for g in grads.values()))
        lr = learning_rate(cfg, t)
        alpha = lr * math.sqrt(1 - b2 ** t) / (1 - b1 ** t)
        with torch.no_grad():
            for name, g in grads.items():
                m[name].mul_(b1).add_((1 - b1) * g)
                v[name].mul_(b2).add_((1 - b2) * g * g)
                p[name].sub_(alpha * m[name] / (v[name].sqrt() + cfg["train.adam_epsilon"]))
        trace.append((loss.item(), nll.item(), lr, norm))
    return {name: value.detach() for name, value in p.items()}, trace


def length_penalty(length, alpha):
    return ((5 + length) / 6) ** alpha


def beam_search(model, src, beam, alpha, max_extra, n_best, noise=0.0, generator=None):
    """s. 6.1 and Wu et al. 2016: a list of (ids without the end symbol, log P, score, finished), best first.

    The 2B best continuations of B beams are looked at; with one beam only the best one: greedy search.
    noise: adds that much normal noise to every log-probability, to find out whether an answer hangs on rounding.
    """
    cfg, memory = model.cfg, model.encode(src)
    banned, end, first = banned_of(cfg), end_of(cfg), cfg.get("model.first_token", -1)
    max_length = len(src) + max_extra
    alive, finished = [(0.0, [])], []
    for length in range(1, max_length + 1):
        candidates = []
        for rank, (log_p, ids) in enumerate(alive):
            step = torch.log_softmax(model.decode(memory, [start_of(cfg)] + ids)[-1], -1)
            if noise > 0:
                step = step + noise * torch.randn(step.shape, dtype=step.dtype, generator=generator)
            possible = [first] if length == 1 and first >= 0 else [i for i in range(len(step)) if i not in banned]
            candidates += [(log_p + float(step[i]), rank, i, ids + [i]) for i in possible]
        candidates.sort(key=lambda c: (-c[0], c[1], c[2]))
        best = candidates[:2 * beam if beam > 1 else 1]
        for log_p, _, i, ids in best:
            if i == end:
                finished.append((ids[:-1], log_p, log_p / length_penalty(length, alpha), 1))
        finished.sort(key=lambda f: -f[2])
        finished = finished[:n_best]
        alive = [(log_p, ids) for log_p, _, i, ids in best if i != end][:beam]
        if not alive:
            break
        if len(finished) == n_best and alive[0][0] / length_penalty(max_length, alpha) < finished[-1][2]:
            break
    if not finished:
        log_p, ids = alive[0]
        return [(ids, log_p, log_p / length_penalty(max_length, alpha), 0)]
    return finished
