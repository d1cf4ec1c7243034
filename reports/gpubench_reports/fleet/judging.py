"""Finds which of many alike units (GPUs, nodes, racks) are slow: robust, and with the number of
false findings controlled over all rows and units.

A row's excess is the logarithm of a unit's time over the median of its peers. Its scale is the
median absolute deviation over the peers; of few peers, drawn towards that of the other rows (as a
moderated variance is: Smyth 2004, Statistical Applications in Genetics 3(1)). Excess over scale is
a Student's t whose degrees of freedom are those of the scale, or fewer where the fleet's own noise
has heavier tails.

A disturbance of one row is no slow unit. So rows are looked at in groups (a concept's rows, the
rows that one part of the GPU limits), and three rows of a group must be slow: the p-value of a
group is that of "at least 3 of these rows are slow" (partial conjunction by Bonferroni: Benjamini
and Heller 2008, Biometrics 64). If a time was confirmed by a second run, one row is enough. The
median of a group's rows, and of all rows, is tested as well: it has less noise than a row. The
p-values of a unit are corrected by Bonferroni for its groups, and those of all units by Holm (1979,
Scandinavian Journal of Statistics 6): the probability that any healthy unit is named is at most
ALPHA, whatever the rows have in common.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from gpubench_reports.nightly.rule.baseline import MAD_TO_SIGMA

ALPHA = 0.05
FLOOR = 0.02  # a smaller slowdown is no finding, however sure it is
FEWEST = 4  # units that can be compared
AGREE = 3  # rows of a group that must be slow where each was measured once
_DECIDED_BY_AGREE = 2 * AGREE - 1  # rows whose median is slow only if so many of them are
_MAD_EFFICIENCY = 0.37  # of the MAD's variance for a normal distribution: degrees of freedom a unit
_PRIOR_FREEDOM = 4.0  # how much the other rows' scale counts, in degrees of freedom
_LEAST_SIGMA = 0.001  # a row's times have no more digits than that
_LEAST_FOR_TAILS = 1000  # values from which the weight of a tail can be told
_TAILS = np.array([3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, np.inf])
_TAIL, _MIDDLE = 0.99, 0.5  # quantiles of the values on one side that tell it


@dataclass(frozen=True)
class Group:
    """Rows that a fault would make slow together: `title` says which, for people."""

    title: str
    rows: np.ndarray


@dataclass(frozen=True)
class Judged:
    """What judge() found, for n units and g groups.

    p        [n] a unit's p-value, corrected for its groups
    slow     [n, g] which groups are slow, given that the unit is
    """

    p: np.ndarray
    slow: np.ndarray


def median_of(values: np.ndarray) -> np.ndarray:
    """The median of each column, NaN where it holds no value."""
    known = np.isfinite(values)
    if known.all():
        found: np.ndarray = np.median(values, axis=0)
        return found
    empty = ~known.any(axis=0)
    found = np.nanmedian(np.where(empty, 0.0, values), axis=0)
    return np.where(empty, np.nan, found)


def judge(excess: np.ndarray, groups: Sequence[Group], runs: np.ndarray) -> Judged:
    """Judges units by their `excess` [unit, row] over their peers'; `runs` is how many runs each
    unit's times come from. At least FEWEST units."""
    sigma, freedom = scale_of(excess)
    tests = p_of_groups(excess, sigma, freedom, groups, runs)
    for number, group in enumerate(groups):
        tests[:, number] = 2 * np.minimum(tests[:, number], _of_middle(excess[:, group.rows]))
    each = np.minimum(np.column_stack([tests, _of_middle(excess)]) * (len(groups) + 1), 1.0)
    return Judged(each.min(axis=1), each[:, :-1] <= ALPHA)


def p_of_groups(
    excess: np.ndarray,
    sigma: np.ndarray,
    freedom: float,
    groups: Sequence[Group],
    runs: np.ndarray,
) -> np.ndarray:
    """[unit, group] the p-value of "enough rows of this group are slow", not yet corrected for the
    number of groups."""
    p = _p_values(excess, sigma, freedom)
    columns = [_of_group(p[:, group.rows], excess[:, group.rows], runs) for group in groups]
    return np.column_stack(columns) if columns else np.ones((len(excess), 0))


def scale_of(excess: np.ndarray) -> tuple[np.ndarray, float]:
    """The scale of each row's excess, and the degrees of freedom of excess over scale."""
    units = len(excess)
    own = median_of(np.abs(excess - median_of(excess))) * MAD_TO_SIGMA
    noisy = np.nan_to_num(own) > _LEAST_SIGMA  # the scale of other rows is not their own
    tails = _freedom_of_tails(excess[:, noisy] / own[noisy])
    own = np.where(noisy, own, _LEAST_SIGMA)
    freedom = _MAD_EFFICIENCY * (units - 1)
    typical = np.median(own) if len(own) else _LEAST_SIGMA
    variance = (freedom * own**2 + _PRIOR_FREEDOM * typical**2) / (freedom + _PRIOR_FREEDOM)
    sigma: np.ndarray = np.sqrt(variance)
    return sigma, min(freedom + _PRIOR_FREEDOM, tails)


def _freedom_of_tails(z: np.ndarray) -> float:
    """The degrees of freedom of the Student's t whose tails are as heavy as that of `z` on the
    fast side, which no slow unit is in."""
    sizes = -z[z < 0]
    if len(sizes) < _LEAST_FOR_TAILS:
        return float("inf")
    tail, middle = np.quantile(sizes, [_TAIL, _MIDDLE])
    ratios = stats.t.ppf((1 + _TAIL) / 2, _TAILS) / stats.t.ppf((1 + _MIDDLE) / 2, _TAILS)
    # The ratio falls as the degrees of freedom rise; what lies between two is taken as the lower.
    heavier = _TAILS[ratios >= tail / middle]
    return float(heavier[-1]) if len(heavier) else float(_TAILS[0])


def judgeable(excess: np.ndarray, groups: Sequence[Group], runs: np.ndarray) -> np.ndarray:
    """[unit] whether it has enough rows that judge() could find it slow."""
    present = np.isfinite(excess)
    needed = _needed(runs)
    found: np.ndarray = present.sum(axis=1) >= _DECIDED_BY_AGREE
    for group in groups:
        found |= present[:, group.rows].sum(axis=1) >= needed
    return found


def _needed(runs: np.ndarray) -> np.ndarray:
    """[unit] how many rows of a group must be slow."""
    return np.where(runs > 1, 1, AGREE)


def _p_values(excess: np.ndarray, sigma: np.ndarray, freedom: float) -> np.ndarray:
    """One-sided, of each row of each unit; 1 below the floor and where there is no time."""
    p = np.ones(excess.shape)
    above = excess >= np.log1p(FLOOR)  # false for NaN
    at = np.nonzero(above)
    p[at] = stats.t.sf(excess[at] / sigma[at[1]], freedom)
    return p


def _of_group(p: np.ndarray, excess: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """Each unit's p-value for a group of rows: that as many of them are slow as must agree."""
    present = np.isfinite(excess).sum(axis=1)
    ordered = np.sort(p, axis=1)
    needed = _needed(runs)
    enough = (present >= needed) & (needed <= p.shape[1])
    at = np.minimum(needed, p.shape[1]) - 1
    least = ordered[np.arange(len(p)), at] * np.maximum(present - needed + 1, 1)
    return np.where(enough, np.minimum(least, 1.0), 1.0)


def _of_middle(excess: np.ndarray) -> np.ndarray:
    """Each unit's p-value for the median of these rows; 1 where fewer than AGREE rows could
    decide it."""
    if excess.shape[1] < _DECIDED_BY_AGREE:
        return np.ones(len(excess))
    middle = median_of(excess.T)
    middle[np.isfinite(excess).sum(axis=1) < _DECIDED_BY_AGREE] = np.nan
    middle = (middle - median_of(middle[:, None]))[:, None]
    sigma, freedom = scale_of(middle)
    return _p_values(middle, sigma, freedom)[:, 0]


def named(p: np.ndarray, alpha: float = ALPHA) -> np.ndarray:
    """Which of the units with these p-values are named, by Holm's procedure."""
    order = np.argsort(p)
    steps = p[order] * np.arange(len(p), 0, -1)
    found = np.zeros(len(p), dtype=bool)
    found[order] = np.maximum.accumulate(steps) <= alpha
    return found
