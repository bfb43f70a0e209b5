#!/usr/bin/env python3
"""Writes stats/testdata/manycells.json: tests over many cells by numpy and scipy.

An opinion from another language and other formulas than package stats:
  - flips: max-T p-values of one-sample t statistics, from an array of all sign
    vectors; a cell's own p-value once more from scipy.stats.permutation_test,
  - evalues: the mixture by log-beta functions and, for one side, the incomplete
    beta function,
  - bounds: the ranks of simultaneous one-sided bounds, from binomial quantiles,
  - timeuniform: the rank and the threshold, from log-beta functions,
  - proportions: scipy.stats.binomtest, method exact.
Needs numpy and scipy. Run: python3 scripts/stats_tests_golden.py [OUTPUT]
"""
import itertools
import json
import pathlib
import platform
import sys

import numpy as np
import scipy
from scipy import special, stats

SEED = 20261130
SIDES = {"either": "two-sided", "above": "greater", "below": "less"}
CLOSE = 1e-9


def t_statistics(x, side):
    """The one-sample t of every column, of one matrix or a stack of them."""
    n = x.shape[-2]
    t = x.mean(axis=-2) / (x.std(axis=-2, ddof=1) / np.sqrt(n))
    return {"either": np.abs(t), "above": t, "below": -t}[side]


def reaches(t, observed):
    return t >= observed - CLOSE * np.maximum(1, np.abs(observed))


def flip_test(x, side):
    """p-values of each cell: its own, single-step and step-down."""
    signs = np.array(list(itertools.product([1, -1], repeat=len(x))))
    t = t_statistics(signs[:, :, None] * x[None], side)
    observed = t_statistics(x, side)
    own = reaches(t, observed).mean(axis=0)
    largest = t.max(axis=1)
    adjusted = np.array([reaches(largest, v).mean() for v in observed])
    stepdown, running = np.empty(len(observed)), 0.0
    order = np.argsort(-observed)
    for place, cell in enumerate(order):
        rest = t[:, order[place:]].max(axis=1)
        running = max(running, reaches(rest, observed[cell]).mean())
        stepdown[cell] = running
    return own, adjusted, stepdown


def scipy_own(x, side):
    def statistic(values, axis=0):
        return values.mean(axis=axis)

    result = stats.permutation_test((x,), statistic, permutation_type="samples", vectorized=True,
                                    n_resamples=np.inf, alternative=SIDES[side], axis=0)
    return result.pvalue


def flips(rng):
    cases = []
    for n, m in [(3, 2), (5, 3), (6, 1), (8, 4), (9, 6), (9, 24), (10, 5), (12, 3)]:
        for name in ["normal", "shifted", "heavy"]:
            shared = rng.normal(0, 1, (n, 1))
            x = shared + rng.normal(0, 1, (n, m))
            if name == "shifted":
                x = x + np.linspace(-1.5, 1.5, m)
            if name == "heavy":
                x = shared * rng.standard_t(2, (n, m))
            x = np.round(x * 1024) / 1024
            for side in SIDES:
                own, adjusted, stepdown = flip_test(x, side)
                assert np.allclose(own, scipy_own(x, side), atol=1e-12), (n, m, name, side)
                cases.append({"name": f"{name}-{n}x{m}", "side": side, "rounds": x.tolist(), "p": own.tolist(),
                              "adjusted": adjusted.tolist(), "step_down": stepdown.tolist()})
    return cases


def log_e(n, s):
    return n * np.log(2) + special.betaln(s + 1, n - s + 1)


def evalues():
    cases = []
    for n in [0, 1, 2, 5, 8, 9, 12, 17, 30, 60, 200]:
        for s in sorted({0, 1, n // 3, n // 2, n - 1, n} & set(range(n + 1))):
            e = np.exp(log_e(n, s))
            above = 2 * e * special.betainc(n - s + 1, s + 1, 0.5)
            cases.append({"n": n, "above_zero": s, "either": float(e), "above": float(above)})
    return cases


def bounds():
    cases = []
    for n in [5, 8, 9, 12, 17, 20, 25, 30, 100, 1000]:
        for m in [1, 2, 6, 12, 24]:
            for level in [0.9, 0.95, 0.99]:
                share = (1 - level) / m
                k = int(stats.binom.ppf(share, n, 0.5))  # the first count whose probability reaches the share
                if np.isclose(stats.binom.cdf(k, n, 0.5), share, rtol=1e-9):
                    k += 1
                cases.append({"n": n, "cells": m, "level": level, "rank": k,
                              "attained": float(1 - m * stats.binom.cdf(k - 1, n, 0.5))})
    return cases


def timeuniform():
    cases = []
    for n in [1, 7, 8, 9, 11, 12, 17, 20, 25, 30, 40, 60, 100, 500]:
        for m in [1, 6, 24]:
            for level in [0.9, 0.95, 0.99]:
                reached = [k for k in range(1, n // 2 + 1) if log_e(n, k - 1) >= np.log(m / (1 - level)) - 1e-12]
                cases.append({"n": n, "cells": m, "level": level, "rank": max(reached, default=0)})
    return cases


def proportions():
    cases = []
    for n, successes in [(1, [0, 1]), (9, [0, 1, 5, 9]), (59, [0, 3]), (450, [0, 12, 22, 449]), (4000, [180, 3999]), (100000, [52])]:
        for s in successes:
            for level in [0.8, 0.95, 0.99]:
                interval = stats.binomtest(s, n).proportion_ci(level, method="exact")
                cases.append({"successes": s, "trials": n, "level": level, "low": float(interval.low), "high": float(interval.high)})
    return cases


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "stats/testdata/manycells.json"
    golden = {
        "made_by": "scripts/stats_tests_golden.py",
        "seed": SEED,
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
        "flips": flips(np.random.default_rng(SEED)),
        "evalues": evalues(),
        "bounds": bounds(),
        "timeuniform": timeuniform(),
        "proportions": proportions(),
    }
    output.write_text(json.dumps(golden) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
