#!/usr/bin/env python3
"""Writes stats/testdata/intervals.json: scipy's opinion on tests, bounds and power.

An opinion from another language than package stats, where it can be by another
method. For each data set it holds
  - the median of the Walsh averages, and for several levels the interval of those
    shifts that scipy.stats.wilcoxon (method exact) does not reject, found by
    asking it at both sides of every Walsh average (data sets without equal ones),
  - the one-sided bounds of scipy.stats.quantile_test (null without one),
  - median_abs_deviation with scale normal, and the lag-1 autocorrelation,
  - scipy.stats.permutation_test over all choices (exact) of the rank sum of the
    values that a list of coins marks, and of the median of the differences.
Beside the data sets: the distribution of the signed-rank sum for large n by whole
numbers, the power of the sign test by scipy.stats.binom, and the effect found with
that power by scipy.optimize.brentq.
Needs numpy and scipy. Run: python3 scripts/stats_golden_intervals.py [OUTPUT]
"""
import itertools
import json
import math
import pathlib
import platform
import sys
from fractions import Fraction

import numpy as np
import scipy
from scipy import optimize, stats

SEED = 20261130
# No 0.5: with an odd number of values a one-sided bound meets it exactly, where scipy takes the
# middle value from above but the next one from below.
LEVELS = [0.6, 0.8, 0.9, 0.95, 0.99, 0.998]
ALPHAS = {0.5: "0.5", 0.6: "0.4", 0.8: "0.2", 0.9: "0.1", 0.95: "0.05", 0.99: "0.01", 0.998: "0.002", 0.9999: "0.0001"}


def datasets(rng):
    """Name, values and coins; values rounded to 2^-20, so that sums of two are exact."""
    sets = []
    for n in [4, 5, 6, 7, 8, 9, 10, 12, 15, 17, 20, 25, 30]:
        sets.append((f"normal-{n}", np.round(rng.normal(0.4, 1, n) * 2**20) / 2**20))
    for n in [6, 9, 12]:
        sets.append((f"ties-{n}", rng.integers(-2, 4, n).astype(float)))
    sets.append(("skewed-14", np.round(rng.lognormal(0, 1.5, 14) * 2**20) / 2**20))
    sets.append(("spikes-20", np.round((rng.normal(0, 1, 20) + 9 * (rng.random(20) < 0.15)) * 2**20) / 2**20))
    return [(name, x, coins(len(x), rng)) for name, x in sets]


def coins(n, rng):
    while True:
        c = rng.integers(0, 2, n).astype(bool)
        if 0 < c.sum() < n:
            return c


def walsh(x):
    return sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(x, 2))


def p_of_shift(x, shift):
    return stats.wilcoxon(x - shift, method="exact").pvalue


def signed_rank_interval(x, level):
    """The closed set of shifts with p > alpha, by asking for p between Walsh averages."""
    w = walsh(x)
    if len(set(w)) < len(w):
        return None
    alpha = float(ALPHAS[level])
    gaps = [w[0] - 1] + [(a + b) / 2 for a, b in zip(w, w[1:])] + [w[-1] + 1]
    kept = [p_of_shift(x, g) > alpha * (1 + 1e-12) for g in gaps]
    if kept[0] or kept[-1]:
        return None
    return [w[kept.index(True) - 1], w[len(kept) - 1 - kept[::-1].index(True)]]


def one_sided(x, level, alternative):
    low, high = stats.quantile_test(x, p=0.5, alternative=alternative).confidence_interval(level)
    value = high if alternative == "less" else low
    return None if math.isnan(value) or math.isinf(value) else float(value)


def lag1(x):
    d = x - x.mean()
    return float(np.dot(d[1:], d[:-1]) / np.dot(d, d))


def position(x, first):
    shift = float(np.median(np.subtract.outer(x[first], x[~first])))
    if math.comb(len(x), int(first.sum())) > 400_000:
        return {"shift": shift, "p": None}
    ranks = stats.rankdata(x)
    mean = first.sum() * (len(x) + 1) / 2
    result = stats.permutation_test((ranks[first], ranks[~first]), lambda a, b, axis: np.abs(a.sum(axis=axis) - mean),
                                    vectorized=True, n_resamples=np.inf, alternative="greater")
    return {"shift": shift, "p": float(result.pvalue)}


def signed_rank_counts(n):
    counts = [1]
    for rank in range(1, n + 1):
        longer = counts + [0] * rank
        for t, c in enumerate(counts):
            longer[t + rank] += c
        counts = longer
    return counts


def large(n, level):
    """k and the attained level of the signed-rank interval, by whole numbers."""
    below, k, total, tail = 0, 0, 2**n, Fraction(ALPHAS[level]) / 2
    for c in signed_rank_counts(n):
        if Fraction(below + c, total) > tail:
            break
        below, k = below + c, k + 1
    return {"n": n, "level": level, "k": k, "attained": float(1 - Fraction(2 * below, total))}


def rank(n, tail):
    """The largest k with P(Bin(n,1/2) <= k-1) <= tail."""
    below, k = 0, 0
    while Fraction(below + math.comb(n, k), 2**n) <= tail:
        below, k = below + math.comb(n, k), k + 1
    return k


def power(n, k, ratio):
    return float(stats.binom.cdf(k - 1, n, stats.norm.sf(ratio)))


def powers():
    out = []
    for n in [6, 9, 12, 17, 20, 25, 30, 51, 100, 400, 1000]:
        for level in [0.9, 0.95, 0.99]:
            k = rank(n, Fraction(ALPHAS[level]) / 2)
            if k == 0:
                continue
            effect = optimize.brentq(lambda e: power(n, k, e) - 0.8, 0, 30, xtol=1e-14, rtol=1e-14)
            out.append({"n": n, "level": level, "effect80": effect,
                        "power": [[r, power(n, k, r)] for r in [0, 0.05, 0.35, 0.5, 0.75, 1, 1.5, 2]]})
    return out


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "stats/testdata/intervals.json"
    cases = []
    for name, x, first in datasets(np.random.default_rng(SEED)):
        cases.append({
            "name": name, "values": x.tolist(), "candidate_first": first.tolist(),
            "hodges_lehmann": float(np.median(walsh(x))),
            "mad_sigma": float(stats.median_abs_deviation(x, scale="normal")),
            "lag1": lag1(x),
            "position": position(x, first),
            "intervals": [{"level": level, "signed_rank": signed_rank_interval(x, level),
                           "upper": one_sided(x, level, "less"), "lower": one_sided(x, level, "greater")}
                          for level in LEVELS],
        })
        print(name, file=sys.stderr)
    golden = {
        "made_by": "scripts/stats_golden_intervals.py",
        "seed": SEED,
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
        "cases": cases,
        "large": [large(n, level) for n in [40, 53, 54, 60, 100, 200] for level in [0.5, 0.95, 0.99, 0.9999]],
        "powers": powers(),
    }
    output.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
