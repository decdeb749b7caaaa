#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs transformers of true shapes with random weights in PyTorch on this GPU and prints what it measured as rows of measured.csv.

  loop.py [HARDWARE] > rows.csv     for example: loop.py "h200-sxm x1"

A decode step is one CUDA graph: every layer's normalisation, projections, attention over a cache of the given length, feed-forward block,
and the output head. A prompt is the same layers over all its tokens with flash attention, and the head for the last one.
"""
import csv
import sys
import time

import torch
import torch.nn.functional as F

SHAPES = {  # layers, hidden, heads, key-value heads, head width, feed-forward width, vocabulary
    "Llama-3.2-3B": (28, 3072, 24, 8, 128, 8192, 128256),
    "Llama-3.1-8B": (32, 4096, 32, 8, 128, 14336, 128256),
    "Qwen3-14B": (40, 5120, 40, 8, 128, 17408, 151936),
    "Qwen2.5-32B": (64, 5120, 40, 8, 128, 27648, 152064),
}
CASES = [("Llama-3.2-3B", "bf16"), ("Llama-3.1-8B", "bf16"), ("Llama-3.1-8B", "fp8-tensor"), ("Qwen3-14B", "bf16"), ("Qwen3-14B", "fp8-tensor"),
         ("Qwen2.5-32B", "bf16"), ("Qwen2.5-32B", "fp8-tensor")]
dev = torch.device("cuda")


class Matrix:
    def __init__(self, rows, cols, fp8):
        w = torch.empty(rows, cols, device=dev, dtype=torch.bfloat16).normal_(0, .02)
        self.fp8 = fp8
        self.w = w.to(torch.float8_e4m3fn) if fp8 else w
        self.one = torch.ones((), device=dev)

    def __call__(self, x):
        if not self.fp8:
            return F.linear(x, self.w)
        flat = x.reshape(-1, x.shape[-1])
        m = flat.shape[0]
        if m % 16:  # the FP8 multiplication wants rows in sixteens
            flat = F.pad(flat, (0, 0, 0, 16 - m % 16))
        y = torch._scaled_mm(flat.to(torch.float8_e4m3fn), self.w.t(), scale_a=self.one, scale_b=self.one, out_dtype=torch.bfloat16)
        return y[:m].reshape(*x.shape[:-1], -1)


class Model:
    def __init__(self, shape, fp8):
        self.layers, self.h, self.nh, self.nkv, self.hd, self.ffn, self.vocab = shape
        q, kv = self.nh * self.hd, self.nkv * self.hd
        self.blocks = [(Matrix(q + 2 * kv, self.h, fp8), Matrix(self.h, q, fp8), Matrix(2 * self.ffn, self.h, fp8), Matrix(self.h, self.ffn, fp8))
                       for _ in range(self.layers)]
        self.norm = torch.ones(self.h, device=dev, dtype=torch.bfloat16)
        self.head = Matrix(self.vocab, self.h, False)

    def block(self, b, x, attend):
        qkv, out, up, down = b
        x = x + out(attend(qkv(F.rms_norm(x, (self.h,), self.norm))))
        g, u = up(F.rms_norm(x, (self.h,), self.norm)).chunk(2, -1)
        return x + down(F.silu(g) * u)

    def step(self, x, caches):
        batch = x.shape[0]

        for b, (k, v) in zip(self.blocks, caches):
            def attend(y, k=k, v=v):
                q = y[:, :self.nh * self.hd].reshape(batch * self.nkv, self.nh // self.nkv, self.hd)
                new = y[:, self.nh * self.hd:].reshape(batch, 2, self.nkv, self.hd)
                k.view(batch, self.nkv, -1, self.hd)[:, :, -1] = new[:, 0]
                v.view(batch, self.nkv, -1, self.hd)[:, :, -1] = new[:, 1]
                p = torch.softmax(torch.bmm(q, k.transpose(1, 2)) * self.hd ** -.5, -1)
                return torch.bmm(p, v).view(batch, self.nh * self.hd)
            x = self.block(b, x, attend)
        return self.head(F.rms_norm(x, (self.h,), self.norm))

    def prompt(self, x):
        n = x.shape[0]

        def attend(y):
            q, k, v = y.split([self.nh * self.hd, self.nkv * self.hd, self.nkv * self.hd], -1)
            q, k, v = (t.view(1, n, -1, self.hd).transpose(1, 2) for t in (q, k, v))
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2).reshape(n, -1)
        for b in self.blocks:
            x = self.block(b, x, attend)
        return self.head(F.rms_norm(x[-1:], (self.h,), self.norm))


def median_ms(run, n):
    times = []
    for _ in range(n):
        torch.cuda.synchronize()
        t = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - t))
    return sorted(times)[n // 2]


def decode(m, batch, context):
    caches = [tuple(torch.randn(batch * m.nkv, context, m.hd, device=dev, dtype=torch.bfloat16) for _ in range(2)) for _ in range(m.layers)]
    x = torch.randn(batch, m.h, device=dev, dtype=torch.bfloat16)
    for _ in range(2):
        m.step(x, caches)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        m.step(x, caches)
    for _ in range(3):
        graph.replay()
    ms = median_ms(graph.replay, 21)
    del graph, caches
    torch.cuda.empty_cache()
    return ms


def main():
    hardware = sys.argv[1] if len(sys.argv) > 1 else "h200-sxm x1"
    out = csv.writer(sys.stdout)
    out.writerow("model hardware engine weight_format kv_format tp pp batch_or_concurrency prompt_len output_len ttft_ms tpot_ms notes".split())
    torch.manual_seed(1)
    with torch.no_grad():
        for name, fmt in CASES:
            m = Model(SHAPES[name], fmt == "fp8-tensor")
            base = [name, hardware, "pytorch", fmt, "bf16", 1, 1]
            for n in (1024, 4096, 8192):
                x = torch.randn(n, m.h, device=dev, dtype=torch.bfloat16)
                for _ in range(3):
                    m.prompt(x)
                out.writerow(base + [1, n, 1, round(median_ms(lambda: m.prompt(x), 7), 4), "", "loop.py"])
            for batch in (1, 8, 32):
                for context in (1024, 8192):
                    out.writerow(base + [batch, context, 1, "", round(decode(m, batch, context), 4), "loop.py"])
            sys.stdout.flush()
            del m
            torch.cuda.empty_cache()


main()
