"""An optimized training step of PyTorch on a GPU; gpu_bench.py compares it with `xf_bench train`.

The network and the loss are those of torch_model.py: fused q, k, v, scaled_dot_product_attention, sentences of one
length, so no padding and no mask. On top of it: torch.compile of network and loss together, one fused Adam, and the
whole step (forward, backward, update) in one CUDA graph, which leaves no cost of launching. Numbers: "autocast" is
PyTorch's usual bf16 (fp32 weights, cast for each product; fp32 residuals), "bf16" has bf16 weights and activations
and an fp32 master copy that Adam updates, which is what this library does.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import threading
import time

import torch

from torch_model import BASE, START, Transformer, smoothed_loss

SIZES = {
    "base": (BASE, 0.1),
    "big": ({**BASE, "model.d_model": 1024, "model.d_ff": 4096, "model.heads": 16}, 0.3),
    "tiny": ({**BASE, "model.encoder_layers": 2, "model.decoder_layers": 2, "model.d_model": 64, "model.d_ff": 128,
              "model.heads": 4}, 0.1),
}


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class Memory:
    """Bytes that PyTorch's allocator takes from the device from here on, at most."""

    def __init__(self, device):
        self.device, self.before = device, 0
        if device.type == "cuda":
            torch.cuda.synchronize(device)
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(device)
            self.before = torch.cuda.memory_reserved(device)

    def peak(self):
        if self.device.type != "cuda":
            return 0
        return torch.cuda.max_memory_reserved(self.device) - self.before


def watched(run, device):
    """(its result, the most bytes by which the device's free memory fell meanwhile, by any process)"""
    if device.type != "cuda":
        return run(), 0

    def free():
        return torch.cuda.mem_get_info(device)[0]
    before = least = free()
    ended = threading.Event()

    def watch():
        nonlocal least
        while not ended.wait(0.03):
            least = min(least, free())
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        result = run()
    finally:
        ended.set()
        thread.join()
    return result, before - least


class TrainPeer:
    """One model, its optimizer and one batch; step() trains once and returns the loss."""

    def __init__(self, size, sentences, tokens, numbers, compiled, device, graph=True):
        torch.manual_seed(1)
        config, dropout = SIZES[size]
        self.device, self.numbers, self.replay = device, numbers, None
        self.model = Transformer(config, dropout).to(device)
        vocab = config["model.vocab_size"]
        shape = (sentences, tokens)
        self.src = torch.randint(2, vocab, shape, device=device)
        self.tgt = torch.randint(2, vocab, shape, device=device)
        self.tgt_in = torch.cat([torch.full((sentences, 1), START, device=device), self.tgt[:, :-1]], 1)
        self.params = list(self.model.parameters())
        self.masters = self.params
        if numbers == "bf16":
            self.masters = [p.detach().clone() for p in self.params]
            for master in self.masters:
                master.grad = torch.zeros_like(master)
            self.model.to(torch.bfloat16)
            self.params = list(self.model.parameters())
        cuda = device.type == "cuda"
        self.adam = torch.optim.Adam(self.masters, lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True, capturable=cuda)
        self.loss_of = torch.compile(self.forward, dynamic=False) if compiled else self.forward
        if graph and cuda:
            self.capture()

    def forward(self):
        cast = self.numbers == "autocast"
        context = torch.autocast(self.device.type, dtype=torch.bfloat16) if cast else contextlib.nullcontext()
        with context:
            states = self.model(self.src, self.tgt_in)
            return smoothed_loss(self.model, states, self.tgt, 0.1, "others")[0]

    def launch(self):
        """The whole step; expects no gradients, so that backward writes them rather than adds."""
        loss = self.loss_of()
        loss.backward()
        if self.masters is not self.params:
            torch._foreach_copy_([m.grad for m in self.masters], [p.grad for p in self.params])
        self.adam.step()
        if self.masters is not self.params:
            with torch.no_grad():
                torch._foreach_copy_(self.params, self.masters)
        return loss.detach()

    def forget_gradients(self):
        for p in self.params:
            p.grad = None

    def capture(self):
        """The recipe of PyTorch's manual: a few steps on another stream, then one is recorded."""
        side = torch.cuda.Stream(self.device)
        side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(side):
            for _ in range(3):
                self.forget_gradients()
                self.launch()
        torch.cuda.current_stream(self.device).wait_stream(side)
        self.forget_gradients()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.static_loss = self.launch()
        self.replay = graph.replay

    def step(self):
        if self.replay is not None:
            self.replay()
            return self.static_loss.item()
        self.forget_gradients()
        return self.launch().item()


def timed(run, device, warmup, steps):
    """Seconds of each run, the device idle before and after."""
    for _ in range(warmup):
        value = run()
    seconds = []
    for _ in range(steps):
        synchronize(device)
        begin = time.perf_counter()
        value = run()
        synchronize(device)
        seconds.append(time.perf_counter() - begin)
    return seconds, value
