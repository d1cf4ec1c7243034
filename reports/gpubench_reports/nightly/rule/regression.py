"""The rule: what makes a night's time a regression. Numbers only, no files.

A night's value is the median of its processes' medians. It is *provisional* when it leaves its
baseline by more than max(`floor`, `sigmas` sigmas of a night); then it is measured again at once.
A *change* is found when `confirm_nights` nights running were confirmed so, in the same direction,
and agree with each other; or when E-divisive places a change with `points_before` nights before and
`points_after` behind it that stands out from how the series spreads. Neither is news where the
baseline itself lay as far out now and then. A night that is back at a level that was left *returns*
to it at once.

The series given here are those of one level: one key (benchmark, machine, driver, CUDA, compiler,
flags), since the last change of it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gpubench_reports.nightly.rule.baseline import Baseline, sigma_of
from gpubench_reports.nightly.rule.settings import LONGEST_RUN, Settings

REGRESSION, IMPROVEMENT, RETURN = "regression", "improvement", "return"
DRIFT = "drift"  # how a change was found that no night began
_SPIKES = 0.1  # share of the nights; more of them are how the series spreads


@dataclass(frozen=True)
class Change:
    """The series' time changed at `index` (its first night at the new level)."""

    index: int
    before: float  # [s], median of the nights that it is compared with
    after: float  # [s], median since
    # "two nights" (or as many as the setting says), "change point", "back again" or DRIFT
    how: str

    def compared(self, window: int) -> slice:
        """The nights of the level that those since are compared with."""
        return (
            slice(0, window)
            if self.how == DRIFT
            else slice(max(0, self.index - window), self.index)
        )

    @property
    def ratio(self) -> float:
        return self.after / self.before

    @property
    def slower(self) -> bool:
        return self.after > self.before


@dataclass(frozen=True)
class Past:
    """What was before the level: its spread counts, and the series may return to it."""

    earlier: Sequence[np.ndarray] = ()  # the nights [s] of the levels before, oldest first
    reference: float = math.nan  # [s], what the level stands apart from; NaN: from nothing

    @property
    def nights(self) -> int:
        return sum(map(len, self.earlier))


NO_PAST = Past()


def kind_of(level: float, reference: float, floor: float) -> str:
    """What a change to `level` is to people; a way back to the reference is neither of the two."""
    if level / reference > 1 + floor:
        return REGRESSION
    return IMPROVEMENT if level / reference < 1 / (1 + floor) else RETURN


def night_values(first: np.ndarray, rerun: np.ndarray) -> np.ndarray:
    """The value of each night: that of its rerun where there was one (NaN: none), else the first.

    The first was chosen for being extreme; the rerun was not.
    """
    return np.where(np.isnan(rerun), first, rerun)


def provisional(before: np.ndarray, first: float, settings: Settings, past: Past = NO_PAST) -> int:
    """+1 if tonight's first value is suspiciously slow, -1 if fast, 0 if neither or still learning.

    `before` holds the values of the level's valid nights before this one, oldest first.
    """
    if len(before) == 0 or past.nights + len(before) < settings.min_nights:
        return 0
    return Baseline.of(before, settings, past.earlier).side(first)


def judge(
    first: np.ndarray, rerun: np.ndarray, settings: Settings, past: Past = NO_PAST
) -> Change | None:
    """Whether the level's valid nights (oldest first, the last is tonight) hold a change.

    `rerun` is NaN for nights that were not measured again. Both in seconds, of equal length.
    """
    values = night_values(first, rerun)
    return (
        _return(first, rerun, values, settings, past)
        or _run_of_nights(first, rerun, values, settings, past)
        or _change_point(values, settings, past)
        or _drift(values, settings, past)
    )


def _return(
    first: np.ndarray, rerun: np.ndarray, values: np.ndarray, settings: Settings, past: Past
) -> Change | None:
    """Whether the last nights are back at the reference: tonight if measured twice, else some."""
    if math.isnan(past.reference):
        return None
    for nights in range(1, min(LONGEST_RUN, len(values) - 1) + 1):
        level = Baseline.of(values[:-nights], settings, past.earlier)
        # A time that was not measured again, NaN, is near nothing.
        seen = (first[-1], rerun[-1]) if nights == 1 else (float(np.median(values[-nights:])),)
        near = settings.agreement * max(settings.floor, settings.sigmas * level.spread)
        far = max(settings.change_floor, settings.sigmas * level.unsure(nights))
        if abs(values[-nights] - past.reference) > abs(values[-nights] - level.centre):
            continue  # the first of them is still a night of the level
        if np.abs(_middle(values[-nights:]) / past.reference - 1).max() > 2 * near:
            continue
        if all(
            abs(time / past.reference - 1) <= near and abs(time / level.centre - 1) > far
            for time in seen
        ):
            return Change(len(values) - nights, level.centre, past.reference, "back again")
    return None


def _middle(values: np.ndarray) -> np.ndarray:
    """The median; of an even number, the two values around it. Their mean may lie where no night
    was: halfway between the levels that a series jumped from and to."""
    return np.sort(values)[(len(values) - 1) // 2 : len(values) // 2 + 1]


def _run_of_nights(
    first: np.ndarray, rerun: np.ndarray, values: np.ndarray, settings: Settings, past: Past
) -> Change | None:
    """The fewest nights running, tonight the last, that are a change.

    As many as are confirmed by being measured again; or more, on a level that is too young for a
    change point.
    """
    for nights in range(settings.confirm_nights, LONGEST_RUN + 1):
        if len(values) <= nights or past.nights + len(values) < settings.min_nights + nights:
            return None
        level = Baseline.of(values[:-nights], settings, past.earlier)
        run = values[-nights:]
        if nights == settings.confirm_nights:
            # A night without a rerun is confirmed on neither side: NaN is beyond no limit.
            seen = [*first[-nights:], *rerun[-nights:]]
            apart = level.agree(run) and level.all_beyond(seen)
            if apart:
                shift = abs(float(np.mean(run)) / level.centre - 1)
                apart = level.significant(shift, nights, spread_of(np.array(seen)))
        elif level.nights < settings.min_nights:
            shift = abs(float(np.median(run)) / level.centre - 1)
            apart = shift > max(settings.floor, settings.change_sigmas * level.unsure(nights))
        else:
            return None
        if apart and level.is_rare(run):
            return Change(
                index=len(values) - nights,
                before=level.centre,
                after=float(np.median(run)),
                how=f"{nights} nights running",
            )
    return None


def spread_of(seen: np.ndarray) -> float:
    """How far a few measured times themselves spread, as a fraction: one sigma. The standard
    deviation of few is less than that on average, by the factor c4 of control charts (ISO 7870-2).
    """
    known = seen[~np.isnan(seen)]
    free = len(known) - 1
    if free < 1:
        return 0.0
    c4 = math.sqrt(2 / free) * math.exp(math.lgamma((free + 1) / 2) - math.lgamma(free / 2))
    return float(np.std(known, ddof=1) / np.mean(known)) / c4


def _change_point(values: np.ndarray, settings: Settings, past: Past) -> Change | None:
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
    at = points[-1]
    # What is too short to compare with, a spike of two nights perhaps, belongs to what was before.
    left = max(point for point in (0, *points) if point <= at - settings.points_before)
    before, since = series[left:at], series[at:]
    change = Change(
        index=start + at,
        before=float(np.median(before)),
        after=float(np.median(since)),
        how="change point",
    )
    # Otava compares means, which a spike moves.
    if abs(math.log(change.ratio)) <= math.log1p(settings.change_floor):
        return None
    cuts = (0, start + left, start + at)
    earlier = [*past.earlier, *(values[a:b] for a, b in pairwise(cuts) if a < b)]
    shift = abs(float(np.mean(since)) / float(np.mean(before)) - 1)
    both_sides = Baseline.of(values[start + at :], settings, earlier)
    baseline = Baseline.of(earlier[-1], settings, earlier[:-1])
    restless = spread_of(since)
    if not all(side.significant(shift, len(since), restless) for side in (baseline, both_sides)):
        return None
    return change if len(since) > 3 or _is_no_spike(baseline, since, change, settings) else None


def _is_no_spike(baseline: Baseline, since: np.ndarray, change: Change, settings: Settings) -> bool:
    """Whether two or three nights are a step: each stands apart, and it is new that they do.

    Two have to agree besides.
    """
    shares = (since - change.before) / (change.after - change.before)
    agree = len(since) > 2 or baseline.agree(since)
    return bool(agree and shares.min() >= 0.5 and baseline.is_rare(since))


def _drift(values: np.ndarray, settings: Settings, past: Past) -> Change | None:
    """Whether the level became slower too slowly for any night to stand out: its last nights beside
    its first ones. What became faster so slowly is no news."""
    count = settings.window
    if len(values) < 2 * count:
        return None
    values = without_spikes(values, settings.spike_sigmas)
    first, last = values[:count], values[-count:]
    shift = float(np.mean(last) / np.mean(first)) - 1
    ratio = float(np.median(last) / np.median(first))
    if min(shift, ratio - 1) <= settings.visible:  # two states that alternate have no median
        return None
    baseline = Baseline.of(first, settings, past.earlier)
    if not baseline.significant(shift, count, spread_of(last)):
        return None
    at = len(values) - count
    return Change(at, float(np.median(first)), float(np.median(last)), DRIFT)


def without_spikes(values: np.ndarray, sigmas: float) -> np.ndarray:
    """`values` with each spike replaced by the median of up to three nights on either side of it.

    A spike leaves the median of the nights before it, and that of those after it, to the same side
    by more than `sigmas` robust sigmas (of the differences of successive nights). The first night
    has none before it, and is held against those after it alone. Whether one of the last two is a
    spike is not known yet: they stay.
    """
    if len(values) < 4:
        return values.copy()
    limit = sigmas * sigma_of(np.diff(values)) / math.sqrt(2)
    before = _medians_before(values)
    after = _medians_before(values[::-1])[::-1]
    before[0], after[-2:] = after[0], values[-2:]
    above = (values > before + limit) & (values > after + limit)
    below = (values < before - limit) & (values < after - limit)
    spikes = np.flatnonzero(above | below)
    result = values.copy()
    if len(spikes) > _SPIKES * len(values):
        return result
    for index in spikes:
        around = np.r_[values[max(0, index - 3) : index], values[index + 1 : index + 4]]
        result[index] = np.median(around)
    return result


def _medians_before(values: np.ndarray) -> np.ndarray:
    """For each value but the first, the median of up to three before it."""
    result = np.empty_like(values)
    a, b, c = values[:-3], values[1:-2], values[2:-1]
    result[3:] = np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))
    result[0], result[1], result[2] = values[0], values[0], (values[0] + values[1]) / 2
    return result
