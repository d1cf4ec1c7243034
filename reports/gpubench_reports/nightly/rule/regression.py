"""The rule: what makes a night's time a regression. Numbers only, no files.

A night's value is the median of its processes' medians. It is *provisional* when it leaves the last
`window` valid nights by more than max(`floor`, `sigmas` robust sigmas); then it is measured again
at once. A *change* is found when `confirm_nights` nights running were confirmed so, in the same
direction, and agree with each other; or when E-divisive places a change with `points_before` nights
before and `points_after` behind it.

The series given here are those of one level: one key (benchmark, machine, driver, CUDA, compiler,
flags), since the last change of it.
"""

import math
from dataclasses import dataclass

import numpy as np

from gpubench_reports.nightly.rule.settings import Settings

_MAD_TO_SIGMA = 1.4826  # for a normal distribution


@dataclass(frozen=True)
class Change:
    """The series' time changed at `index` (its first night at the new level)."""

    index: int
    before: float  # [s], median of the nights that it is compared with
    after: float  # [s], median since
    how: str  # "two nights" (or as many as the setting says) or "change point"

    @property
    def ratio(self) -> float:
        return self.after / self.before

    @property
    def slower(self) -> bool:
        return self.after > self.before


def night_values(first: np.ndarray, rerun: np.ndarray) -> np.ndarray:
    """The value of each night: that of its rerun where there was one (NaN: none), else the first.

    The first was chosen for being extreme; the rerun was not.
    """
    return np.where(np.isnan(rerun), first, rerun)


def limits(baseline: np.ndarray, settings: Settings) -> tuple[float, float]:
    """Below and above what value a night is provisional, from the valid nights before it."""
    centre = float(np.median(baseline))
    reach = _reach(baseline, settings)
    return centre - reach, centre + reach


def _reach(baseline: np.ndarray, settings: Settings) -> float:
    """How far from its baseline's median a night may lie [s]."""
    centre = float(np.median(baseline))
    sigma = _MAD_TO_SIGMA * float(np.median(np.abs(baseline - centre)))
    return max(settings.floor * centre, settings.sigmas * sigma)


def _agree(nights: np.ndarray, baseline: np.ndarray, settings: Settings) -> bool:
    """Whether a few nights lie on one level: a step goes to one, two outliers seldom do."""
    return bool(np.ptp(nights) <= settings.agreement * _reach(baseline, settings))


def provisional(before: np.ndarray, first: float, settings: Settings) -> int:
    """+1 if tonight's first value is suspiciously slow, -1 if fast, 0 if neither or still learning.

    `before` holds the values of the level's valid nights before this one, oldest first.
    """
    if len(before) < settings.min_nights:
        return 0
    return _side(first, *limits(before[-settings.window :], settings))


def judge(first: np.ndarray, rerun: np.ndarray, settings: Settings) -> Change | None:
    """Whether the level's valid nights (oldest first, the last is tonight) hold a change.

    `rerun` is NaN for nights that were not measured again. Both in seconds, of equal length.
    """
    values = night_values(first, rerun)
    return _confirmed(first, rerun, values, settings) or _change_point(values, settings)


def _side(value: float, low: float, high: float) -> int:
    return int(value > high) - int(value < low)


def _confirmed(
    first: np.ndarray, rerun: np.ndarray, values: np.ndarray, settings: Settings
) -> Change | None:
    nights = settings.confirm_nights
    if len(values) < settings.min_nights + nights:
        return None
    baseline = values[:-nights][-settings.window :]
    bounds = limits(baseline, settings)
    # A night without a rerun is confirmed on neither side: NaN is not beyond a limit.
    sides = {_side(value, *bounds) for value in (*first[-nights:], *rerun[-nights:])}
    if sides not in ({1}, {-1}) or not _agree(values[-nights:], baseline, settings):
        return None
    return Change(
        index=len(values) - nights,
        before=float(np.median(baseline)),
        after=float(np.median(values[-nights:])),
        how=f"{nights} nights running",
    )


def _change_point(values: np.ndarray, settings: Settings) -> Change | None:
    start = max(0, len(values) - settings.change_window)
    series = without_spikes(values[start:], settings.spike_sigmas)
    # Two means within the range of all values cannot lie further apart than it.
    if len(series) < settings.min_nights:
        return None
    if series.max() / series.min() - 1 <= settings.change_floor:
        return None
    from gpubench_reports.nightly.rule.change_points import change_points

    points = [
        index
        for index in change_points(series, settings)
        if settings.points_before <= index <= len(series) - settings.points_after
    ]
    if not points:
        return None
    left = [0, *points][-2]
    baseline, since = series[left : points[-1]], series[points[-1] :]
    # Near the end a step cannot be told from spikes: two nights have to agree, and each of three to
    # stand apart.
    if len(since) <= 2 and not _agree(since, baseline, settings):
        return None
    change = Change(
        index=start + points[-1],
        before=float(np.median(baseline)),
        after=float(np.median(since)),
        how="change point",
    )
    shares = (since - change.before) / (change.after - change.before or math.inf)
    if len(since) <= 3 and shares.min() < 0.5:
        return None
    # Otava compares means, which a spike moves.
    return change if abs(math.log(change.ratio)) > math.log1p(settings.change_floor) else None


def without_spikes(values: np.ndarray, sigmas: float) -> np.ndarray:
    """`values` with each spike replaced by the median of up to three nights on either side of it.

    A spike leaves the median of the nights before it, and that of those after it, to the same side
    by more than `sigmas` robust sigmas (of the differences of successive nights). The first night
    has none before it, and is held against those after it alone. Whether one of the last two is a
    spike is not known yet: they stay.
    """
    if len(values) < 4:
        return values.copy()
    steps = np.abs(np.diff(values))
    limit = sigmas * _MAD_TO_SIGMA * float(np.median(steps)) / math.sqrt(2)
    before = _medians_before(values)
    after = _medians_before(values[::-1])[::-1]
    before[0], after[-2:] = after[0], values[-2:]
    above = (values > before + limit) & (values > after + limit)
    below = (values < before - limit) & (values < after - limit)
    result = values.copy()
    for index in np.flatnonzero(above | below):
        around = np.r_[values[max(0, index - 3) : index], values[index + 1 : index + 4]]
        result[index] = np.median(around)
    return result


def _medians_before(values: np.ndarray) -> np.ndarray:
    """Of each value but the first, the median of up to three before it."""
    result = np.empty_like(values)
    a, b, c = values[:-3], values[1:-2], values[2:-1]
    result[3:] = np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))
    result[0], result[1], result[2] = values[0], values[0], (values[0] + values[1]) / 2
    return result
