# SPDX-License-Identifier: Apache-2.0
"""The work of "gputune stack canary": products and attention of the installed libraries on one GPU, held against the same in higher precision
on the processor. argv[1] is this text. argv[2] "all": starts itself with "from N" for the checks, again behind each that crashed or hung, and prints
the result as JSON. "from": a line of JSON before and after each check; what hangs is ended after argv[3] seconds."""
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading

CHILDREN, CHECKS, LINE = 12, 256, 65536


def said(line):
    try:
        j = json.loads(line) if len(line) < LINE else None
    except (ValueError, RecursionError):
        j = None
    return j if isinstance(j, dict) else {}


def short(text):
    """A text of a library, for a terminal."""
    return "".join(c if c.isprintable() else " " for c in str(text))[:400] if text is not None else None


def checks_of(child, out):
    """What one child says, taken into out: the number of the check to go on with, or None."""
    begun = None
    with tempfile.TemporaryFile() as errors:
        p = subprocess.Popen(child, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        for line in iter(lambda: p.stdout.readline(LINE), b""):
            j = said(line)
            if "torch" in j:
                out.update({k: short(j.get(k)) for k in ("torch", "cuda", "gpu")})
            if "state" not in j or not isinstance(j.get("i"), int) or len(out["checks"]) >= CHECKS:
                continue
            begun = (short(j["check"]), j["i"]) if j["state"] == "begun" else None
            if j["check"] == "start":
                out["why"] = short(j.get("why"))
            elif j["state"] in ("right", "wrong", "crashes", "hangs", "fails", "absent"):
                out["checks"].append({"check": short(j["check"]), "state": j["state"], "deviation_ratio": j.get("off") if isinstance(j.get("off"), float | int) else None,
                                      "kernels": [short(k) for k in j.get("kernels") or []][:8], "why": short(j.get("why"))})
                out["next"] = j["i"] + 1
        code = p.wait()
        if begun and code:
            out["checks"].append({"check": begun[0], "state": "crashes", "deviation_ratio": None, "kernels": [],
                                  "why": f"the process ended with {'signal' if code < 0 else 'status'} {abs(code)}"})
            out["next"] = begun[1] + 1
        if code and not out["checks"] and not out["why"]:
            errors.seek(0)
            out["why"] = short(f"Python ended with status {code}: " + errors.read().decode(errors="replace").strip().split("\n")[-1])
        return out.pop("next", None) if code else None


def all_checks(script, limit):
    out, next_ = {"python": sys.executable, "torch": None, "cuda": None, "gpu": None, "checks": [], "why": None}, 0
    for _ in range(CHILDREN):
        next_ = checks_of([sys.executable, "-c", "import sys; exec(sys.argv[1])", script, "from", limit, str(next_)], out)
        if next_ is None:
            break
    out.pop("next", None)
    return out


if sys.argv[2] == "all":
    print(json.dumps(all_checks(sys.argv[1], sys.argv[3])))
    sys.exit()
first, limit_s, device = int(sys.argv[4]), float(sys.argv[3]), "cuda"
at = {"check": "start", "i": first}


def say(**what):
    print(json.dumps({**at, **what}), flush=True)


def hang():
    say(state="hangs", why=f"no answer within {limit_s:g} s")
    os._exit(3)


watch = None


def watched():
    global watch
    if watch:
        watch.cancel()
    watch = threading.Timer(limit_s, hang)
    watch.daemon = True
    watch.start()


watched()
try:
    import torch
    import torch.nn.functional as F
except Exception as e:  # noqa: BLE001
    say(state="absent", why=f"PyTorch cannot be imported: {type(e).__name__}: {e}"[:300])
    sys.exit(4)
try:
    torch.zeros(1, device=device)
except Exception as e:  # noqa: BLE001
    say(state="absent", why=f"PyTorch has no GPU: {e}"[:300])
    sys.exit(4)

checks = []
major = torch.cuda.get_device_capability()[0] if device == "cuda" else 0
F8 = getattr(torch, "float8_e4m3fn", None)
F4 = getattr(torch, "float4_e2m1fn_x2", None)


class Absent(Exception):
    pass


def installed(module, name, what):
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        raise Absent(f"{what} is not installed") from None


class Quiet:
    """Names of the kernels that ran, where the profiler sees them."""

    def __enter__(self):
        self.names, self.p = [], None
        try:
            self.p = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA if device == "cuda" else torch.profiler.ProfilerActivity.CPU])
            self.p.__enter__()
        except Exception:  # noqa: BLE001
            self.p = None
        return self

    def __exit__(self, *why):
        if device == "cuda" and why[0] is None:
            torch.cuda.synchronize()
        if self.p:
            try:
                self.p.__exit__(*why)
                seen = [e.name for e in self.p.events() if device != "cuda" or "CUDA" in str(e.device_type)]
                self.names = list(dict.fromkeys(n for n in seen if not n.startswith(("Mem", "cuda", "Activity", "Lazy"))))
            except Exception:  # noqa: BLE001
                pass
        return False


def random(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float32)


def judge(got, want, spread, eps):
    """What lies further from the exact value than rounding to that format can bring it: share and the worst place."""
    got = got.detach().to("cpu", torch.float64)
    if got.shape != want.shape:
        return {"state": "wrong", "why": f"the result has the shape {list(got.shape)}, not {list(want.shape)}"}
    off = (got - want).abs() / (eps * (want.abs() + 4 * spread) + 1e-30)
    off = torch.where(torch.isfinite(got), off, torch.full_like(off, 1e9))
    bad = off > 1
    worst = int(off.argmax())
    place, left = [], worst
    for n in reversed(got.shape):
        place.insert(0, left % n)
        left //= n
    out = {"state": "wrong" if bool(bad.any()) else "right", "off": round(min(float(off.max()), 1e9), 4)}
    if out["state"] == "wrong":
        out["why"] = f"{100 * float(bad.double().mean()):.3g} % of the values are wrong; at {place}: {float(got.flatten()[worst]):.6g}, not " \
                     f"{float(want.flatten()[worst]):.6g}"
    return out


def some(n):
    """At most 96 indices of n: ends, edges of tiles and others."""
    if n <= 96:
        return torch.arange(n)
    edges = [i for i in (0, 1, 15, 16, 63, 64, 127, 128, 255, 256, n // 2, n - 129, n - 17, n - 2, n - 1) if 0 <= i < n]
    rest = torch.randperm(n, generator=torch.Generator().manual_seed(n))[:96 - len(edges)].tolist()
    return torch.tensor(sorted(set(edges + rest)))


def judge_sums(c, a, b, eps, what):
    """All of c: sums of its rows with random signs. A wrong tile shows in them, wherever it is."""
    signs = torch.randint(0, 2, (c.shape[1], 8), generator=torch.Generator().manual_seed(7)).double() * 2 - 1
    got, want = c.double() @ signs, a @ (b @ signs)
    off = (got - want).abs() / (5 * eps * ((a * a) @ (b * b).sum(1, keepdim=True)).sqrt() + 1e-30)
    off = torch.where(torch.isfinite(got), off, torch.full_like(off, 1e9))
    row, of = divmod(int(off.argmax()), 8)
    out = {"state": "wrong" if bool((off > 1).any()) else "right", "off": round(min(float(off.max()), 1e9), 4)}
    if out["state"] == "wrong":
        out["why"] = f"values of {what} {row} are wrong: their sum with random signs is {float(got[row, of]):.6g}, not {float(want[row, of]):.6g}"
    return out


def judge_product(c, a, b, eps):
    """c of a times b (as they were rounded): some rows and some columns of it, whole; of all the others, sums."""
    a, b, c = a.double(), b.double(), c.detach().cpu()
    if c.shape != (a.shape[0], b.shape[1]):
        return {"state": "wrong", "why": f"the result has the shape {list(c.shape)}, not {[a.shape[0], b.shape[1]]}"}
    worst = None
    for rows, columns in ((some(a.shape[0]), slice(None)), (slice(None), some(b.shape[1]))):
        x, y = a[rows], b[:, columns]
        one = judge(c[rows][:, columns], x @ y, ((x * x) @ (y * y)).sqrt(), eps)
        if worst is None or one.get("off", 1e9) > worst.get("off", 1e9):
            worst = one
    for one in (judge_sums(c, a, b, eps, "row"), judge_sums(c.t(), b.t(), a.t(), eps, "column")):
        if one["state"] == "wrong" and worst["state"] == "right":
            worst = one
    return worst


def check(path, name):
    def add(f):
        checks.append((path, name, f))
        return f
    return add


# --- products ------------------------------------------------------------------------------------

SHAPES = [(1, 4096, 4096), (17, 4096, 4096), (300, 1000, 1016), (4096, 4096, 4096)]
# How far rounding may bring a value, as a share; on an H100 the furthest of all checks was a quarter of it.
KINDS = {"fp32": (torch.float32, 1e-5), "tf32": (torch.float32, 1.2e-3), "fp16": (torch.float16, 2e-3), "bf16": (torch.bfloat16, 1e-2)}


def plain(kind, m, n, k):
    dtype, eps = KINDS[kind]
    a, b = random(m, k).to(dtype), random(k, n, seed=2).to(dtype)
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    with Quiet() as q:
        c = torch.matmul(a.to(device), b.to(device))
    return judge_product(c, a, b, eps), q


def fp8(m, n, k, rowwise):
    if not F8 or not hasattr(torch, "_scaled_mm"):
        raise Absent("this PyTorch has no FP8 product")
    a, b = random(m, k), random(n, k, seed=2)
    sa = (a.abs().amax(1, keepdim=True) if rowwise else a.abs().max()) / 448
    sb = (b.abs().amax(1, keepdim=True) if rowwise else b.abs().max()) / 448
    qa, qb = (a / sa).to(F8), (b / sb).to(F8)
    with Quiet() as q:
        c = torch._scaled_mm(qa.to(device), qb.to(device).t(), scale_a=sa.to(device), scale_b=(sb.t() if rowwise else sb).to(device),
                             out_dtype=torch.bfloat16)
    return judge_product(c, qa.float() * sa, (qb.float() * sb).t(), 1.5e-2), q


def int8(m, n, k):
    a = torch.randint(-100, 100, (m, k), dtype=torch.int8, generator=torch.Generator().manual_seed(1))
    b = torch.randint(-100, 100, (n, k), dtype=torch.int8, generator=torch.Generator().manual_seed(2))
    with Quiet() as q:
        c = torch._int_mm(a.to(device), b.to(device).t())
    return judge_product(c, a, b.t(), 1e-9), q


def batched(kind):
    dtype, eps = KINDS[kind]
    a, b = random(6, 130, 264).to(dtype), random(6, 264, 72, seed=2).to(dtype)
    with Quiet() as q:
        c = torch.bmm(a.to(device), b.to(device))
    x, y = a.double(), b.double()
    return judge(c, x @ y, ((x * x) @ (y * y)).sqrt(), eps), q


for kind in KINDS:
    for m, n, k in SHAPES:
        check("gemm", f"{kind} {m}x{n}x{k}")(lambda kind=kind, m=m, n=n, k=k: plain(kind, m, n, k))
check("gemm", "bf16 batched 6x130x72x264")(lambda: batched("bf16"))
check("gemm", "fp16 batched 6x130x72x264")(lambda: batched("fp16"))
for rowwise in (False, True):
    for m, n, k in ((16, 4096, 4096), (304, 1008, 1024), (4096, 4096, 4096)):
        check("gemm", f"fp8 {'a scale a row' if rowwise else 'one scale'} {m}x{n}x{k}")(lambda m=m, n=n, k=k, r=rowwise: fp8(m, n, k, r))
check("gemm", "int8 320x1024x1024")(lambda: int8(320, 1024, 1024))


# --- FP4 -----------------------------------------------------------------------------------------

E2M1 = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])


def to_fp4(x, scale_type, block):
    """Codes, two a byte; scales of blocks of a row; and what they stand for."""
    rows, k = x.shape
    parts = x.reshape(rows, k // block, block)
    s = (parts.abs().amax(2) / 6).clamp(min=2 ** -8)
    s = s.to(scale_type) if scale_type == F8 else torch.exp2(torch.ceil(torch.log2(s))).to(scale_type)
    codes = ((parts / s.float()[..., None])[..., None] - E2M1).abs().argmin(-1).to(torch.uint8)
    values = (E2M1[codes.long()] * s.float()[..., None]).reshape(rows, k)
    codes = codes.reshape(rows, k)
    return codes[:, 0::2] | codes[:, 1::2] << 4, s, values


def swizzled(s):
    """Scales in tiles of 128 rows and 4 columns, as tensor cores read them."""
    r, c = -(-s.shape[0] // 128), -(-s.shape[1] // 4)
    whole = torch.zeros(r * 128, c * 4, dtype=torch.uint8)
    whole[:s.shape[0], :s.shape[1]] = s.view(torch.uint8)
    tiles = whole.view(r, 128, c, 4).permute(0, 2, 1, 3).reshape(-1, 4, 32, 4).transpose(1, 2).reshape(-1, 32, 16)
    return tiles.flatten().view(s.dtype)


def fp4(m, n, k, how):
    if device == "cuda" and major < 10:
        raise Absent("this GPU has no FP4")
    if how == "mxfp8":
        if not hasattr(torch, "float8_e8m0fnu"):
            raise Absent("this PyTorch has no block scales")
        block, kind = 32, torch.float8_e8m0fnu
        scale = [torch.exp2(torch.ceil(torch.log2(random(r, k, seed=s).reshape(r, k // 32, 32).abs().amax(2) / 448))).to(kind) for r, s in ((m, 1), (n, 2))]
        code = [(random(r, k, seed=s).reshape(r, k // 32, 32) / scale[i].float()[..., None]).reshape(r, k).to(F8) for i, (r, s) in enumerate(((m, 1), (n, 2)))]
        value = [(code[i].float().reshape(r, k // 32, 32) * scale[i].float()[..., None]).reshape(r, k) for i, r in enumerate((m, n))]
    else:
        if not F4:
            raise Absent("this PyTorch has no FP4 product")
        block = 16
        made = [to_fp4(random(r, k, seed=s), F8, block) for r, s in ((m, 1), (n, 2))]
        code, scale, value = [x[0].view(F4) for x in made], [x[1] for x in made], [x[2] for x in made]
    with Quiet() as q:
        if how == "flashinfer":
            mm = installed("flashinfer", "mm_fp4", "FlashInfer with mm_fp4")
            c = mm(code[0].view(torch.uint8).to(device), code[1].view(torch.uint8).to(device).t(), swizzled(scale[0]).view(-1, k // block).to(device),
                   swizzled(scale[1]).view(-1, k // block).to(device).t(), torch.ones(1, device=device), torch.bfloat16)
        elif how == "vllm":
            mm = installed("vllm._custom_ops", "cutlass_scaled_fp4_mm", "vLLM with cutlass_scaled_fp4_mm")
            c = mm(code[0].view(torch.uint8).to(device), code[1].view(torch.uint8).to(device), swizzled(scale[0]).view(-1, k // block).to(device),
                   swizzled(scale[1]).view(-1, k // block).to(device), torch.ones(1, device=device), torch.bfloat16)
        else:
            c = torch._scaled_mm(code[0].to(device), code[1].to(device).t(), scale_a=swizzled(scale[0]).to(device), scale_b=swizzled(scale[1]).to(device),
                                 out_dtype=torch.bfloat16)
    return judge_product(c, value[0], value[1].t(), 1e-2), q


for how in ("nvfp4", "mxfp8", "flashinfer", "vllm"):
    for m, n, k in ((128, 512, 1024), (1024, 1024, 4096)):
        check("fp4", f"{how} {m}x{n}x{k}")(lambda m=m, n=n, k=k, how=how: fp4(m, n, k, how))


# --- attention -----------------------------------------------------------------------------------

def attention(backend, dtype, heads, kv, rows, keys, size, causal, backward):
    eps = 6e-3 if dtype == torch.float16 else 3e-2
    q, k, v = (random(2, h, r, size, seed=s).to(dtype) for h, r, s in ((heads, rows, 1), (kv, keys, 2), (kv, keys, 3)))
    grad = random(2, heads, rows, size, seed=4).to(dtype)
    gpu = [x.to(device).requires_grad_(backward) for x in (q, k, v)]
    with Quiet() as seen:
        if backend == "flash_attn":
            f = installed("flash_attn", "flash_attn_func", "flash-attn")
            out = f(*(x.transpose(1, 2) for x in gpu), causal=causal).transpose(1, 2)
        else:
            from torch.nn.attention import SDPBackend, sdpa_kernel
            if not hasattr(SDPBackend, backend):
                raise Absent("this PyTorch has none")
            more = {"enable_gqa": True} if kv != heads else {}
            with sdpa_kernel(getattr(SDPBackend, backend)):
                out = F.scaled_dot_product_attention(*gpu, is_causal=causal, **more)
        if backward:
            out.backward(grad.to(device))
    exact = [x.double().requires_grad_(backward) for x in (q, k, v)]
    whole = [exact[0]] + [x.repeat_interleave(heads // kv, 1) for x in exact[1:]]
    scores = whole[0] @ whole[1].transpose(2, 3) / size ** .5
    if causal:
        scores = scores.masked_fill(~torch.ones(rows, keys, dtype=torch.bool).tril(), float("-inf"))
    want = torch.softmax(scores, -1) @ whole[2]
    worst = judge(out, want.detach(), want.detach().abs().mean(), eps)
    if backward:
        want.backward(grad.double())
        for name, x, y in zip("qkv", gpu, exact):
            one = judge(x.grad, y.grad, y.grad.abs().mean(), 2 * eps)
            if one.get("off", 1e9) > worst.get("off", 1e9):
                worst = {**one, **({"why": f"gradient of {name}: {one['why']}"} if "why" in one else {})}
    return worst, seen


for backend in ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH", "flash_attn"):
    for what, args in (("prefill 512, 4 of 32 heads", (torch.bfloat16, 32, 4, 512, 512, 128, True, False)),
                       ("decode 1 of 777", (torch.bfloat16, 8, 8, 1, 777, 64, False, False)),
                       ("training 192", (torch.float16, 4, 4, 192, 192, 64, True, True))):
        check("attention", f"{backend.lower().removesuffix('_attention').replace('_', '-')}: {what}")(lambda b=backend, a=args: attention(b, *a))

NONE = ("not compiled", "no available kernel", "not supported", "only supported", "requires", "no kernel image", "not implemented", "unsupported")
print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda, "checks": len(checks),
                  "gpu": torch.cuda.get_device_name() if device == "cuda" else "the processor", "python": sys.executable}), flush=True)
for i in range(first, len(checks)):
    path, name, work = checks[i]
    at = {"check": f"{path}: {name}", "i": i}
    watched()
    say(state="begun")
    try:
        verdict, kernels = work()
        say(kernels=[n[:160] for n in kernels.names[:8]], **verdict)
    except Absent as e:
        say(state="absent", why=str(e))
    except Exception as e:  # noqa: BLE001
        text = f"{type(e).__name__}: {e}".split("\n")[0][:300]
        lost = "illegal" in text or "unspecified launch" in text or "device-side" in text or "misaligned" in text
        state = "crashes" if lost else "absent" if any(w in text.lower() for w in NONE) and "illegal" not in text else "fails"
        say(state=state, why=text)
        if lost:
            os._exit(3)
watch.cancel()
