"""What is normal for a series: where its nights lie, how far they spread, what cannot be seen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpubench_reports.nightly.rule.settings import Settings

MAD_TO_SIGMA = 1.4826  # for a normal distribution
_DECILES_TO_SIGMA = 1 / 2.563  # from the first to the ninth decile of a normal distribution
_WEEK = 7
_LATELY = 10  # nights
_ALTERNATING = 3  # levels that were left young: they are how the series spreads
_NINE_OF_TEN = 1.28  # sigmas beyond what a test asks for: it is passed so often


@dataclass(frozen=True)
class Baseline:
    """The nights that a series' next nights are compared with.

    The centre is that of the level alone. The spread is older than the level: a level of two nights
    has none of its own yet, and borrows that of the nights before it, each as a ratio to the median
    of its own level; or of all of them, in a series that goes to and fro.
    """

    centre: float  # [s]
    nights: int  # of the level
    ratios: np.ndarray  # to their own level's median, oldest first
    tick: float  # what times are multiples of, as a fraction of the centre; 0: not known
    settings: Settings

    @classmethod
    def of(
        cls, level: np.ndarray, settings: Settings, earlier: Sequence[np.ndarray] = ()
    ) -> "Baseline":
        """From the nights of a level, at least one, and those of the levels before it [s]."""
        recent = level[-settings.window :]
        centre = float(np.median(recent))
        kept = list(earlier[len(earlier) - _levels_within(earlier, settings.window) :])
        known = np.concatenate([*kept, recent])[-settings.window :]
        if sum(len(nights) < settings.min_nights for nights in kept) >= _ALTERNATING:
            ratios = known / np.median(known)
        else:
            own = [nights / np.median(nights[-settings.window :]) for nights in (*kept, recent)]
            ratios = np.concatenate(own)[-settings.window :]
        return cls(
            centre,
            len(recent),
            ratios,
            tick_of(known) / centre,
            settings,
        )

    @cached_property
    def spread(self) -> float:
        """One sigma of a night, as a fraction. Multiples of a tick lie anywhere within it."""
        return max(sigma_of(self.ratios), self.tick / 2)

    @cached_property
    def reach(self) -> float:
        """How far from the centre a night may lie, as a fraction. A young centre is not sure."""
        return max(self.settings.floor, self.settings.sigmas * self.unsure(1))

    def unsure(self, nights: int) -> float:
        """One sigma of the difference between the centre and that of so many nights, a fraction."""
        return self.spread * math.sqrt(1 / nights + 1 / self.nights)

    @property
    def limits(self) -> tuple[float, float]:
        """Below and above what value a night is provisional [s]."""
        return self.centre * (1 - self.reach), self.centre * (1 + self.reach)

    def side(self, value: float) -> int:
        low, high = self.limits
        return int(value > high) - int(value < low)

    def all_beyond(self, nights: Sequence[float] | np.ndarray) -> bool:
        """Whether all lie beyond the limits, on one side."""
        return {self.side(night) for night in nights} in ({1}, {-1})

    def agree(self, nights: np.ndarray) -> bool:
        """Whether a few nights lie on one level: a step goes to one, two outliers seldom do."""
        shift = abs(float(np.median(nights)) - self.centre)
        width = max(self.reach * self.centre, shift / 2)
        return bool(np.ptp(nights) <= self.settings.agreement * width)

    def is_rare(self, nights: np.ndarray) -> bool:
        """Whether nights that lie on one side of the centre are news.

        Where `k` of `n` nights lay as far out, `m` nights in a row do so by chance with (k / n)^m:
        no more than two in a row of which the window has one.
        """
        ratios = nights / self.centre
        if np.median(ratios) > 1:
            as_far = np.mean(self.ratios >= ratios.min())
        else:
            as_far = np.mean(self.ratios <= ratios.max())
        return bool(as_far ** len(nights) <= self.settings.window**-self.settings.confirm_nights)

    def significant(self, shift: float, nights: int, own: float) -> bool:
        """Whether chance does not explain that the mean of so many nights differs by `shift`.

        The spread is the largest of three: the window's, that of the last ten nights, and `own`,
        that of the nights that are judged (a fraction).
        """
        spread = max(self.spread, sigma_of(self.ratios[-_LATELY:]), own)
        unsure = math.sqrt(1 / nights + 1 / len(self.ratios))
        return shift > self.settings.change_sigmas * spread * unsure

    @property
    def smallest_seen(self) -> float:
        """The smallest change that a week shows in nine of ten series like this one, a fraction."""
        unsure = math.sqrt(1 / _WEEK + 1 / len(self.ratios))
        sigmas = self.settings.change_sigmas + _NINE_OF_TEN
        spread = max(
            sigma_of(self.ratios), self.tick / 2
        )  # ten nights alone would say it too often
        return max(self.settings.change_floor, sigmas * spread * unsure)

    @property
    def why_blind(self) -> str:
        """Why a change as small as `visible` cannot be seen; empty if it can, or is not known."""
        if len(self.ratios) < self.settings.min_nights:
            return ""
        if len(self.ratios) == self.settings.window and np.ptp(self.ratios) == 0:
            return "its nights are equal to the last digit: what one tick hides stays unseen"
        if self.smallest_seen <= self.settings.visible:
            return ""
        unseen = f"changes below {self.smallest_seen:.1%} may stay unseen"
        if self.tick / 2 >= self.spread:
            return f"its times are multiples of {self.tick:.1%}: {unseen}"
        return f"its nights spread by {self.spread:.1%}: {unseen}"


def _levels_within(levels: Sequence[np.ndarray], nights: int) -> int:
    """How many of the last levels the last nights belong to."""
    reached = np.cumsum([len(level) for level in reversed(levels)])
    return min(len(levels), int(np.searchsorted(reached, nights)) + 1)


def sigma_of(values: np.ndarray) -> float:
    """A robust sigma: a tenth of the values may lie anywhere.

    The median absolute deviation alone takes two states that alternate for no spread at all, so the
    deciles speak too.
    """
    return float(_sigmas(values))


def sigmas_of(rows: np.ndarray) -> np.ndarray:
    """`sigma_of` each row; what is not known (NaN) does not count."""
    gaps = np.isnan(rows)
    whole = ~gaps.any(axis=1)
    sigmas = np.empty(len(rows))
    sigmas[whole] = _sigmas(rows[whole])
    for row in np.flatnonzero(~whole):
        sigmas[row] = sigma_of(rows[row][~gaps[row]])
    return sigmas


def _sigmas(values: np.ndarray) -> np.ndarray:
    """Along the last axis."""
    ordered = np.sort(values)
    deviations = np.sort(np.abs(ordered - _quantile(ordered, 0.5)[..., np.newaxis]))
    deciles = _quantile(ordered, 0.9) - _quantile(ordered, 0.1)
    by_deviation = MAD_TO_SIGMA * _quantile(deviations, 0.5)
    return np.asarray(np.maximum(by_deviation, _DECILES_TO_SIGMA * deciles))


def _quantile(ordered: np.ndarray, share: float) -> np.ndarray:
    """As np.quantile has it, without its overhead: the rule asks often, of a few nights."""
    position = share * (ordered.shape[-1] - 1)
    below = int(position)
    above = min(below + 1, ordered.shape[-1] - 1)
    low = ordered[..., below]
    return np.asarray(low + (position - below) * (ordered[..., above] - low))


def tick_of(seconds: np.ndarray) -> float:
    """The step that times are multiples of; 0 if they are of none, or too few of them differ.

    One difference is a step, two are a spike: neither says anything of a tick.
    """
    _, counts = np.unique(seconds, return_counts=True)
    if counts[counts > 1].sum() < len(seconds) / 2:
        return 0.0
    steps = np.abs(np.diff(seconds))
    steps = steps[steps > 1e-9 * seconds.max()]  # what differs by rounding alone is the same
    if len(steps) < 3:
        return 0.0
    multiples = steps / steps.min()
    return float(steps.min()) if np.allclose(multiples, np.round(multiples), atol=0.05) else 0.0
