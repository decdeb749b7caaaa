#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reference results for tests/unit/test_stat.c, computed with NumPy, SciPy and R's package diptest.

    python3 tests/data/stat/reference.py > tests/data/stat/reference.json

Needs python3-scipy and r-cran-diptest (Debian 12: NumPy 1.24.2, SciPy 1.10.1, diptest 0.76). Nothing of gputune runs
here: what is not a library's function is written from its definition. All samples are rounded to 12 digits, so that
the file holds exactly what was computed with.
"""
import json
import math
import subprocess
import sys

import numpy
import scipy
import scipy.stats

rng = numpy.random.Generator(numpy.random.PCG64(7))


def ar1(n, rho, sigma):
    x = [rng.standard_normal() * sigma / math.sqrt(1 - rho * rho)]
    while len(x) < n:
        x.append(rho * x[-1] + sigma * rng.standard_normal())
    return numpy.array(x)


def flips(n, stay, gap, sigma):
    """Two states; each sample stays in the state of the last one with probability stay."""
    state, out = 0, []
    for _ in range(n):
        state = state if rng.random() < stay else 1 - state
        out.append(100 + gap * state + sigma * rng.standard_normal())
    return numpy.array(out)


series = {
    "one": numpy.array([42.5]),
    "two": numpy.array([3.0, 1.0]),
    "three": numpy.array([1.0, 5.0, 2.0]),
    "constant": numpy.full(50, 7.25),
    "normal": 100 + rng.standard_normal(101),
    "normal_even": 100 + rng.standard_normal(200),
    "skewed": rng.lognormal(3, 0.4, 151),
    "tied": numpy.round(10 + 2 * rng.standard_normal(120)),
    "mostly_equal": numpy.where(rng.random(60) < 0.7, 5.0, 5 + rng.random(60)),
    "outliers": numpy.where(rng.random(150) < 0.05, 130.0, 100 + rng.standard_normal(150)),
    "ar_half": 100 + ar1(400, 0.5, 1),
    "ar_strong": 100 + ar1(600, 0.9, 0.5),
    "alternating": 100 + ar1(200, -0.6, 1),
    "falling": 100 - 0.05 * numpy.arange(120) + rng.standard_normal(120),
    "warming": 100 * (1 - 0.1 * numpy.exp(-numpy.arange(80) / 10)) + 0.05 * rng.standard_normal(80),
    "uniform": rng.random(300),
    "flipping": flips(240, 0.9, 10, 1),
    "two_modes_close": flips(200, 0.5, 4.2, 1),
    "step": numpy.concatenate([100 + rng.standard_normal(60), 112 + rng.standard_normal(60)]),
    "negative": -50 + 5 * rng.standard_normal(77),
}
series = {k: numpy.array([float(f"{v:.12g}") for v in x]) for k, x in series.items()}


def integrated(x):
    """Geyer's initial monotone sequence, from the full autocorrelation by FFT (not by sums)."""
    n = len(x)
    d = x - x.mean()
    if n < 4 or not (d * d).sum() > 0:
        return 1.0
    f = numpy.fft.rfft(d, 4 * n)
    r = numpy.fft.irfft(f * numpy.conj(f))[:n]
    r /= r[0]
    pairs = [r[2 * k] + r[2 * k + 1] for k in range((n - 1) // 2 + (n % 2 == 0)) if 2 * k + 1 < n]
    total, last = 0.0, math.inf
    for p in pairs:
        if p <= 0:
            break
        last = min(last, p)
        total += last
    return min(max(2 * total - 1, 1.0), n)


def sign_interval(x, alpha):
    n, s = len(x), numpy.sort(x)
    k = 0
    while k < n // 2 + 1 and scipy.stats.binom.cdf(k, n, 0.5) <= alpha / 2:
        k += 1
    return [float(s[k - 1]), float(s[n - k])] if k else None


def bootstrap(x, block, level=0.95, resamples=20000):
    """Circular block bootstrap of the median; block 1 through scipy.stats.bootstrap."""
    if len(x) < 5:
        return None
    if block == 1 and len(set(x)) > 1:
        r = scipy.stats.bootstrap((x,), numpy.median, n_resamples=resamples, confidence_level=level,
                                  method="percentile", random_state=numpy.random.default_rng(1))
        return [float(r.confidence_interval.low), float(r.confidence_interval.high)]
    n, own = len(x), numpy.random.default_rng(2)
    starts = own.integers(0, n, (resamples, -(-n // block)))
    at = (starts[:, :, None] + numpy.arange(block)).reshape(resamples, -1)[:, :n] % n
    return [float(q) for q in numpy.quantile(numpy.median(x[at], axis=1), [(1 - level) / 2, (1 + level) / 2])]


def block_of(x):
    act = integrated(x)
    return min(math.ceil(2 * act) if act > 1.5 else 1, max(len(x) // 4, 1))


def kendall(x):
    """Mann-Kendall with ties, variance widened by the autocorrelation time of what the trend leaves."""
    if len(x) < 8:
        return None
    t = numpy.arange(len(x))
    slope = scipy.stats.theilslopes(x, t).slope
    n = len(x)
    s = sum(numpy.sign(x[i + 1:] - x[i]).sum() for i in range(n))
    ties = numpy.unique(x, return_counts=True)[1]
    var = (n * (n - 1) * (2 * n + 5) - (ties * (ties - 1) * (2 * ties + 5)).sum()) / 18
    var *= integrated(x - slope * t)
    p = 2 * scipy.stats.norm.sf(abs(s) / math.sqrt(var)) if var > 0 else 1.0
    return {"slope": float(slope), "p": float(p)}


def r(program, text=""):
    p = subprocess.run(["Rscript", "-e", "suppressMessages(library(diptest));" + program], input=text,
                       capture_output=True, text=True, check=True)
    return [float(v) for v in p.stdout.split()]


def dip(x):
    return r("cat(sprintf('%.17g', dip(scan('stdin', quiet=TRUE))))", " ".join(repr(float(v)) for v in x))[0]


def version_of_diptest():
    return subprocess.run(["Rscript", "-e", "cat(as.character(packageVersion('diptest')))"],
                          capture_output=True, text=True, check=True).stdout


out = {"origin": f"reference.py: NumPy {numpy.__version__}, SciPy {scipy.__version__}, R diptest {version_of_diptest()}",
       "series": {}}
for name, x in series.items():
    med = float(numpy.median(x))
    out["series"][name] = {
        "x": list(x), "median": med, "mean": float(x.mean()),
        "mad": float(scipy.stats.median_abs_deviation(x)),
        "quantiles": {str(p): float(numpy.quantile(x, p)) for p in (0, 0.01, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1)},
        "sign": sign_interval(x, 0.05), "act": integrated(x), "kendall": kendall(x), "dip": dip(x),
        "bootstrap": bootstrap(x, block_of(x)), "block": block_of(x),
    }


def sign_rank(n, alpha):
    """The largest k with P(Bin(n, 1/2) <= k - 1) <= alpha."""
    k = int(scipy.stats.binom.ppf(alpha, n, 0.5))
    return k + 1 if scipy.stats.binom.cdf(k, n, 0.5) <= alpha else k


out["sign_rank"] = [[n, a, sign_rank(n, a)] for n in (1, 4, 5, 6, 8, 16, 24, 100, 1001, 100000, 1000000)
                    for a in (0.05 / 3, 0.025, 0.05)]
out["t_quantile"] = [[p, df, float(scipy.stats.t.ppf(p, df))] for p in (0.5, 0.9, 0.975, 0.995)
                     for df in (1, 2, 3.7, 8, 30, 1000)]
a, b = series["normal"], series["normal_even"] * 1.02
own = numpy.random.default_rng(3)
ratios = [numpy.median(own.choice(b, len(b))) / numpy.median(own.choice(a, len(a))) for _ in range(20000)]
out["ratio"] = {"factor": 1.02, "ratio": float(numpy.median(b) / numpy.median(a)),
                "interval": [float(q) for q in numpy.quantile(ratios, [0.025, 0.975])]}
logs = [numpy.log([100, 103, 99, 101, 102.0]), numpy.log([104, 107, 103, 108.0])]
w = scipy.stats.ttest_ind(logs[1], logs[0], equal_var=False)
va, vb = (v.var(ddof=1) / len(v) for v in logs)
df = (va + vb) ** 2 / (va ** 2 / (len(logs[0]) - 1) + vb ** 2 / (len(logs[1]) - 1))
out["welch"] = {"half": float(scipy.stats.t.ppf(0.975, df) * math.sqrt(va + vb)), "t": float(w.statistic), "df": float(df)}
out["dip_critical"] = [[n, r(f"set.seed(5); cat(quantile(replicate({20000 if n <= 500 else 4000}, dip(runif({n}))), 0.99))")[0]]
                       for n in (10, 20, 50, 100, 200, 500, 2000, 10000)]
json.dump(out, sys.stdout, indent=0)
print()
