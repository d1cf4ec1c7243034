"""Long series with labelled changes, in the likeness of what others have published and labelled.

Such series are uglier than a GPU's nights: one measurement a night and none again, noise that
differs from series to series by ten times, nights that resemble the night before, heavy tails,
drift, nights that are missing, levels that change by 2 % to 40 % and often back again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.trials.simulation import judge_series

_NIGHTS = 300
_EARLY, _LATE = 3, 10  # an alert belongs to a change that begins so many nights around it
_CLEAR = 3.0  # sigmas of a night: a person labels no smaller change


@dataclass(frozen=True)
class Score:
    found: int  # labelled changes
    labels: int
    right: int  # alerts
    alerts: int

    @property
    def recall(self) -> float:
        return self.found / max(1, self.labels)

    @property
    def precision(self) -> float:
        return self.right / max(1, self.alerts)

    def __add__(self, other: "Score") -> "Score":
        return Score(
            self.found + other.found,
            self.labels + other.labels,
            self.right + other.right,
            self.alerts + other.alerts,
        )


NOTHING = Score(0, 0, 0, 0)


def score(labels: Sequence[int], alerts: Sequence[int]) -> Score:
    """What the first nights of changes found have to do with those labelled, one to one."""
    free = sorted(alerts)
    found = 0
    for label in sorted(labels):
        near = [alert for alert in free if label - _EARLY <= alert <= label + _LATE]
        if near:
            free.remove(min(near, key=lambda alert: abs(alert - label)))
            found += 1
    return Score(found, len(labels), found, len(alerts))


def score_of(seconds: np.ndarray, labels: Sequence[int], settings: Settings) -> Score:
    """How well the rule finds the labels in a series that nobody measures again."""
    none = np.full(len(seconds), np.nan)
    return score(labels, [alert.first_night for alert in judge_series(seconds, none, settings)])


def labelled(seed: int) -> tuple[np.ndarray, list[int]]:
    """A series, and the nights on which its level changes."""
    rng = np.random.default_rng(seed)
    sigma = 10 ** rng.uniform(-2.7, -1.7)  # 0.2 % to 2 % of a night
    levels, labels = _levels(rng, sigma)
    kept, state = rng.uniform(0, 0.5), 0.0
    noise = np.empty(_NIGHTS)
    for night, fresh in enumerate(rng.standard_t(4, _NIGHTS) / np.sqrt(2)):
        state = kept * state + np.sqrt(1 - kept**2) * fresh
        noise[night] = state
    drift = rng.normal(0, 0.5) * sigma * np.linspace(-1, 1, _NIGHTS)
    spikes = np.where(rng.random(_NIGHTS) < 0.02, 3 * sigma + rng.exponential(0.05, _NIGHTS), 0.0)
    there = np.flatnonzero(rng.random(_NIGHTS) >= 0.1)
    series = levels * np.exp(sigma * noise + drift) * (1 + spikes)
    return series[there], [int(np.searchsorted(there, label)) for label in labels]


def _levels(rng: np.random.Generator, sigma: float) -> tuple[np.ndarray, list[int]]:
    """Each night's level: it lasts 12 nights or more, and every other change is taken back."""
    levels, labels = np.ones(_NIGHTS), []
    night, level, before = 30 + int(rng.exponential(40)), 1.0, 1.0
    while night < _NIGHTS - 15:
        back = level != before and rng.random() < 0.5
        smallest = max(0.02, _CLEAR * sigma)
        size = 1 + smallest * float(np.exp(rng.exponential(0.8)))
        after = before if back else level * (size if rng.random() < 0.5 else 1 / size)
        level, before = after, level
        levels[night:] = level
        labels.append(night)
        night += 12 + int(rng.exponential(60))
    return levels, labels
