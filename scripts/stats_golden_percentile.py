#!/usr/bin/env python3
"""Writes stats/testdata/percentile.json: nearest ranks and intervals of quantiles.

The ranks of the interval are those of scipy.stats.quantile_test, which are null
where no two values are one; its coverage is a difference of scipy's binomial
distribution function; the nearest rank is that of Python's fractions. (numpy's
percentile with inverted_cdf multiplies floats, and so takes the 8th of 100 values as
the 7th percentile.)
Needs numpy and scipy. Run: python3 scripts/stats_golden_percentile.py [OUTPUT]
"""
import fractions
import json
import math
import pathlib
import platform
import sys

import numpy as np
import scipy
from scipy import stats

SIZES = [1, 2, 5, 6, 7, 10, 20, 28, 29, 35, 36, 50, 99, 100, 101, 250, 367, 368, 500, 1000, 3000, 20000]
SHARES = ["0.01", "0.07", "0.25", "0.5", "0.9", "0.95", "0.99", "0.999"]
LEVELS = [0.8, 0.95, 0.99]


def nearest(n, share):
    return math.ceil(fractions.Fraction(share) * n)


def interval(n, q, level):
    ranks = stats.quantile_test(np.arange(1, n + 1), p=q).confidence_interval(level)
    if any(math.isnan(v) for v in ranks):
        return {"level": level, "low": None, "high": None, "covered": None}
    low, high = (int(v) for v in ranks)
    covered = stats.binom.cdf(high - 1, n, q) - stats.binom.cdf(low - 1, n, q)
    return {"level": level, "low": low, "high": high, "covered": float(covered)}


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "stats/testdata/percentile.json"
    cases = [{"n": n, "q": float(share), "rank": nearest(n, share),
              "intervals": [interval(n, float(share), level) for level in LEVELS]}
             for n in SIZES for share in SHARES]
    golden = {
        "made_by": "scripts/stats_golden_percentile.py",
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
        "cases": cases,
    }
    output.write_text(json.dumps(golden) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
