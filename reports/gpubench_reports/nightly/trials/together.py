"""Simulated machines of many series: what they show together, and one that was replaced."""

import math
from collections.abc import Iterable

import numpy as np

from gpubench_reports.nightly.judging.history import LEAN_NIGHTS
from gpubench_reports.nightly.judging.machine import WEEK, is_much
from gpubench_reports.nightly.judging.suite import Rows, lean, least_nights
from gpubench_reports.nightly.rule.regression import RETURN
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.trials.noise import Noise
from gpubench_reports.nightly.trials.simulation import WARM_UP, Alert, Task, times

_ROWS = 200
_SHARED = 0.5  # of a night's variance: the machine's mood, which all rows share


def leaning_nights(
    seed: int, age: int, slower: int, step: float, nights: int, noise: Noise, settings: Settings
) -> list[int]:
    """The nights on which rows lean together, of those that follow the first `age` of a store or of
    a segment; of 200 rows, `slower` step with the first of them."""
    rng = np.random.default_rng(seed)
    own = Noise(
        **{**vars(noise), "night": noise.night * math.sqrt(1 - _SHARED), "source": noise.source}
    )
    length = age + nights
    mood = np.exp(noise.night * math.sqrt(_SHARED) * rng.standard_normal(length))
    series = []
    for row in range(_ROWS):
        levels = mood.copy()
        levels[age:] *= step if row < slower else 1.0
        series.append(times(Task(0, tuple(levels), 0, own, settings), rng)[0])
    values, found = np.array(series), []
    keys = [("", "", str(row)) for row in range(_ROWS)]
    for night in range(max(age, young(settings)), length):
        window = values[:, max(0, night + 1 - settings.window - LEAN_NIGHTS) : night + 1]
        ratios = window / np.median(window[:, :-LEAN_NIGHTS], axis=1, keepdims=True)
        rows = Rows(keys, list(range(night + 1 - window.shape[1], night + 1)), ratios)
        if lean(rows):
            found.append(night - age)
    return found


def young(settings: Settings) -> int:
    """How many nights a store has when the next is the first to show what rows do together."""
    return least_nights(settings) + LEAN_NIGHTS - 1


def first_much(series: Iterable[list[Alert]], count: int, settings: Settings) -> float:
    """On which night after the warm-up it is said to look at the machine first; infinite: never."""
    nights = [
        {alert.night for alert in alerts if alert.kind != RETURN and alert.night >= WARM_UP}
        for alerts in series
    ]
    for night in range(WARM_UP, WARM_UP + 10):
        changed = sum(any(night - WEEK < at <= night for at in found) for found in nights)
        if is_much(changed, count, settings):
            return night - WARM_UP + 1
    return math.inf
