#!/usr/bin/env python3
"""Writes stats/testdata/bootstrap.json: the bootstrap of the median by resampling.

An opinion from another language and method than package stats, which counts
resamples instead of drawing them. For each data set it holds
  - the estimated P(med* <= v) at values v spread over the distribution,
  - the interval of scipy.stats.bootstrap (percentile, a million resamples),
  - the distribution-free interval of scipy.stats.quantile_test (null without one).
Needs numpy and scipy. Run: python3 scripts/stats_golden.py [OUTPUT]
"""
import json
import math
import pathlib
import platform
import sys

import numpy as np
import scipy
from scipy import stats

SEED = 20240607
RESAMPLES = 1_000_000
BATCH = 50_000
LEVELS = [0.8, 0.9, 0.95, 0.99]
GRID = [0.001, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.97, 0.99, 0.999]


def datasets(rng):
    """Name and values; rounded to 1/1024, so that sums of two are exact."""
    sets = []
    for n in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 20, 21, 30]:
        sets.append((f"normal-{n}", np.round(rng.normal(5, 3, n) * 1024) / 1024))
    for n in [6, 9, 12, 15]:
        sets.append((f"ties-{n}", rng.integers(-2, 3, n).astype(float)))
    for n in [8, 10]:
        sets.append((f"equal-sums-{n}", rng.permutation(n).astype(float)))
    sets.append(("skewed-14", np.round(rng.lognormal(0, 1.5, 14) * 1024) / 1024))
    return sets


def distribution(x, rng):
    """The values that the medians of the resamples took, and P(med* <= v) at each."""
    medians = []
    for _ in range(RESAMPLES // BATCH):
        draws = x[rng.integers(0, len(x), (BATCH, len(x)))]
        medians.append(np.median(draws, axis=1))
    values, counts = np.unique(np.concatenate(medians), return_counts=True)
    return values, np.cumsum(counts) / RESAMPLES


def percentile_interval(x, level, rng):
    if len(x) < 2:  # scipy refuses a single value
        return None
    result = stats.bootstrap((x,), np.median, n_resamples=RESAMPLES, batch=BATCH, method="percentile",
                             confidence_level=level, vectorized=True, axis=-1, rng=rng)
    return [float(v) for v in result.confidence_interval]


def order_interval(x, level):
    interval = stats.quantile_test(x, p=0.5).confidence_interval(level)
    if any(math.isnan(v) for v in interval):
        return None
    return [float(v) for v in interval]


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "stats/testdata/bootstrap.json"
    rng = np.random.default_rng(SEED)
    cases = []
    for name, x in datasets(rng):
        values, cdf = distribution(x, rng)
        picked = sorted({min(int(np.searchsorted(cdf, p)), len(values) - 1) for p in GRID})
        cases.append({
            "name": name,
            "values": x.tolist(),
            "cdf": [[float(values[i]), float(cdf[i])] for i in picked],
            "intervals": [{"level": level,
                           "bootstrap": percentile_interval(x, level, rng),
                           "order": order_interval(x, level)} for level in LEVELS],
        })
        print(name, file=sys.stderr)
    golden = {
        "made_by": "scripts/stats_golden.py",
        "seed": SEED,
        "resamples": RESAMPLES,
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
        "cases": cases,
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
