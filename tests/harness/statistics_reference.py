"""SciPy's and NumPy's answers for the order statistics of harness/statistics/statistics.hpp.

Run it to rewrite tests/data/statistics_reference.json, which the C++ tests read.
"""

import json
import math
import random
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import stats

REFERENCE = Path(__file__).resolve().parents[1] / "data" / "statistics_reference.json"

SEED = 20240
SIZES = [1, 2, 3, 4, 5, 6, 7, 10, 25, 100, 1001]
PROBABILITIES = [0.0, 0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999, 1.0]
RANK_SIZES = [*range(1, 301), 999, 1000, 1001, 9_999, 10_000, 99_999, 100_000, 1_000_000]


def _normal(uniform: float) -> float:
    return 100 + NormalDist().inv_cdf(uniform)


def _lognormal(uniform: float) -> float:
    return 1e-5 * math.exp(NormalDist().inv_cdf(uniform))


def _ties(uniform: float) -> float:
    return float(math.floor(5 * uniform))


def _bimodal(uniform: float) -> float:
    mode, within = (10, 2 * uniform) if uniform < 0.5 else (12, 2 * uniform - 1)
    return NormalDist(mode, 0.1).inv_cdf(within)


DISTRIBUTIONS = {"normal": _normal, "lognormal": _lognormal, "ties": _ties, "bimodal": _bimodal}


def samples(distribution: str, size: int) -> list[float]:
    """Seeded samples, rounded to six digits to keep the file small.

    Drawn with random.random() alone, whose sequence Python promises never to change.
    """
    generator = random.Random(f"{SEED} {distribution} {size}")
    # Away from 0 and 1, where the inverse distribution functions are infinite.
    uniforms = (1e-9 + (1 - 2e-9) * generator.random() for _ in range(size))
    return [float(f"{DISTRIBUTIONS[distribution](uniform):.6g}") for uniform in uniforms]


def median_interval_ranks(size: int) -> list[int] | None:
    """Ranks, from 1, of the 95 % interval of the median, from the binomial distribution."""
    below = int(stats.binom.ppf(0.025, size, 0.5))
    above = int(stats.binom.isf(0.025, size, 0.5)) + 1
    return [below, above] if below >= 1 and above <= size else None


def median_interval(values: list[float]) -> list[float] | None:
    """The interval itself, from SciPy's own quantile test."""
    interval = stats.quantile_test(values, p=0.5).confidence_interval(confidence_level=0.95)
    if math.isnan(interval.low) or math.isnan(interval.high):
        return None
    return [float(interval.low), float(interval.high)]


def answers(values: list[float]) -> dict[str, Any]:
    return {
        "min": min(values),
        "max": max(values),
        "median": float(np.median(values)),
        "quantiles": [float(q) for q in np.quantile(values, PROBABILITIES)],
        "robust_sigma": float(stats.median_abs_deviation(values, scale="normal")),
        "median_interval": median_interval(values),
    }


def _case(distribution: str, size: int) -> dict[str, Any]:
    values = samples(distribution, size)
    return {"distribution": distribution, "samples": values, **answers(values)}


def reference() -> dict[str, Any]:
    return {
        "probabilities": PROBABILITIES,
        "median_interval_ranks": [
            {"samples": size, "ranks": median_interval_ranks(size)} for size in RANK_SIZES
        ],
        "cases": [_case(name, size) for name in DISTRIBUTIONS for size in SIZES],
    }


def write(path: Path = REFERENCE) -> None:
    """One line an entry, so that a change shows where it is."""
    content = reference()
    blocks = [f'"probabilities": {json.dumps(content["probabilities"])}']
    for key in ("median_interval_ranks", "cases"):
        lines = ",\n".join(json.dumps(entry) for entry in content[key])
        blocks.append(f'"{key}": [\n{lines}\n]')
    path.write_text("{\n" + ",\n".join(blocks) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    write()
