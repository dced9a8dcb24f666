#!/usr/bin/env python3
"""Measures a training step of the paper's base model in PyTorch on the CPU, to compare with `xf_bench train`.

    bench_train.py [--precision fp32|bf16] [--threads 2] [--sentences 128] [--tokens 32] [--warmup 2] [--steps 5]
                   [--chunked] [--compile]

Sentences of one length: no padding on either side, and nothing for bucketing to win. Prints lines of
"<what> TAB <value>" that report.py reads: step and cpu (wall and processor seconds of each timed step), tokens (source
+ target of a step), rss (peak bytes of the process), loss, info.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import contextlib
import time

import torch

from model_file import memory
from torch_model import BASE, START, Transformer, smoothed_loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--chunked", action="store_true", help="chunked projection + loss")
    parser.add_argument("--compile", action="store_true", help="torch.compile the network")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    model = Transformer(BASE, dropout=0.1)
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    network = torch.compile(model) if args.compile else model
    shape = (args.sentences, args.tokens)
    src = torch.randint(2, BASE["model.vocab_size"], shape)
    tgt = torch.randint(2, BASE["model.vocab_size"], shape)
    tgt_in = torch.cat([torch.full((shape[0], 1), START), tgt[:, :-1]], 1)
    bf16 = torch.autocast("cpu", dtype=torch.bfloat16) if args.precision == "bf16" else contextlib.nullcontext()

    def step():
        adam.zero_grad(set_to_none=True)
        with bf16:
            loss, _ = smoothed_loss(model, network(src, tgt_in), tgt, 0.1, "others", args.chunked)
        loss.backward()
        adam.step()
        return loss.item()

    for _ in range(args.warmup):
        step()
    for _ in range(args.steps):
        begin, cpu = time.perf_counter(), time.process_time()
        loss = step()
        print(f"step\t{time.perf_counter() - begin:.4f}\ncpu\t{time.process_time() - cpu:.4f}", flush=True)
    print(f"tokens\t{src.numel() + tgt.numel()}")
    print(f"rss\t{memory()}")
    print(f"loss\t{loss:.4f}")
    print(f"info\tPyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, oneDNN "
          f"{'on' if torch.backends.mkldnn.is_available() else 'off'}, {args.threads} threads")


if __name__ == "__main__":
    main()
