"""Simulated nights, judged by the function that judges real ones.

A simulated night's time is the series' level x a factor of the night x, for an outlier, its size;
a process's median is that x a factor of the process x one of its own noise. A rerun on the same
night has the same factor of the night, fresh processes, and meets an outlier again with probability
`persist`. Outliers only make slower: the worst case, since it is slowness that is alerted.

A kind of noise makes this uglier, as real machines do.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpubench_reports.nightly.rule import regression
from gpubench_reports.nightly.rule.baseline import Baseline
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.trials.noise import Noise

WARM_UP = 60  # nights before a step, and before a spread that triples does so

Factors = Callable[[np.random.Generator, int, float], np.ndarray]


def _plain(rng: np.random.Generator, nights: int, sigma: float) -> np.ndarray:
    return np.exp(sigma * rng.standard_normal(nights))


def _autocorrelated(rng: np.random.Generator, nights: int, sigma: float) -> np.ndarray:
    """Each night keeps 0.6 of the night before it."""
    kept, state = 0.6, rng.standard_normal()
    states = np.empty(nights)
    for night in range(nights):
        states[night] = state
        state = kept * state + math.sqrt(1 - kept**2) * rng.standard_normal()
    return np.exp(sigma * states)


def _heavy_tails(rng: np.random.Generator, nights: int, sigma: float) -> np.ndarray:
    """Student's t with three degrees of freedom, of the same variance."""
    return np.exp(sigma * rng.standard_t(3, nights) / math.sqrt(3))


def _drift(rng: np.random.Generator, nights: int, sigma: float) -> np.ndarray:
    """Up and down by 1 % in 100 nights: seasons, not changes."""
    season = 0.01 * np.sin(2 * np.pi * (np.arange(nights) / 200 + rng.random()))
    return _plain(rng, nights, sigma) * np.exp(season)


def _two_states(rng: np.random.Generator, nights: int, sigma: float) -> np.ndarray:
    """The clock settles 3 % lower on half of the nights."""
    return _plain(rng, nights, sigma) * np.where(rng.random(nights) < 0.5, 1.03, 1.0)


def _triples(rng: np.random.Generator, nights: int, sigma: float) -> np.ndarray:
    return np.asarray(_plain(rng, nights, sigma) ** _wilder(nights))


def _wilder(nights: int) -> np.ndarray:
    return np.where(np.arange(nights) < WARM_UP, 1.0, 3.0)


@dataclass(frozen=True)
class Kind:
    """A kind of noise. `tick` is a fraction of the series' time, which lies anywhere within it."""

    title: str
    factors: Factors = _plain
    tick: float = 0.0
    triples: bool = False
    missing: float = 0.0  # share of the nights


OWN = Kind("its own noise")
KINDS = (
    OWN,
    Kind("autocorrelated nights, 0.6", _autocorrelated),
    Kind("heavy tails, t with 3 degrees of freedom", _heavy_tails),
    Kind("drift by 2 % in 100 nights, to and fro", _drift),
    Kind("a fifth of the nights missing", missing=0.2),
    Kind("two clock states 3 % apart", _two_states),
    Kind("spread that triples", _triples, triples=True),
    Kind("a 5 us kernel on ticks of 0.1 us", tick=0.02),
    Kind("a 5 us kernel on ticks of 0.5 us", tick=0.1),
)


@dataclass(frozen=True)
class Task:
    """One simulated series: its true level a night, and from which night on it is judged."""

    seed: int
    levels: tuple[float, ...]
    judge_from: int
    noise: Noise
    settings: Settings
    kind: Kind = OWN


@dataclass(frozen=True)
class Alert:
    """A change that the rule found on `night`; `kind` is that of an event."""

    night: int
    slower: bool
    how: str
    kind: str = ""
    ratio: float = 1.0  # of the level since to the one before
    first_night: int = 0


def simulate(task: Task) -> list[Alert]:
    """All changes that the rule finds in the series, by the night on which it finds them."""
    rng = np.random.default_rng(task.seed)
    first, again = times(task, rng)
    there = np.flatnonzero(rng.random(len(first)) >= task.kind.missing)
    start = int(np.searchsorted(there, task.judge_from))
    found = judge_series(first[there], again[there], task.settings, start)
    return [
        Alert(
            int(there[alert.night]),
            alert.slower,
            alert.how,
            alert.kind,
            alert.ratio,
            int(there[alert.first_night]),
        )
        for alert in found
    ]


def times(task: Task, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """What each night measures first, and what it would if it measured again."""
    noise, kind, nights = task.noise, task.kind, len(task.levels)
    now = np.array(task.levels) * kind.factors(rng, nights, noise.night)
    if kind.tick:
        now *= 1 + kind.tick * rng.random()
    size = noise.outlier_floor + rng.exponential(noise.outlier_mean, nights)
    size = 1 + np.where(rng.random(nights) < noise.outliers, size, 0.0)
    again = np.where(rng.random(nights) < noise.persist, size, 1.0)
    return _measured(rng, now * size, task), _measured(rng, now * again, task)


def _measured(rng: np.random.Generator, levels: np.ndarray, task: Task) -> np.ndarray:
    sigma = math.hypot(task.noise.process, task.noise.within)
    draws = rng.standard_normal((len(levels), task.settings.processes))
    wilder = _wilder(len(levels)) if task.kind.triples else np.ones(len(levels))
    processes = levels[:, None] * np.exp(sigma * wilder[:, None] * draws)
    if task.kind.tick:
        processes = np.round(processes / task.kind.tick) * task.kind.tick
    return np.asarray(np.median(processes, axis=1))


def judge_series(
    first: np.ndarray, again: np.ndarray, settings: Settings, judge_from: int = 0
) -> list[Alert]:
    """Night after night, as a store is judged; NaN in `again`: that night cannot measure again."""
    rerun = np.full(len(first), np.nan)
    alerts: list[Alert] = []
    earlier: tuple[np.ndarray, ...] = ()
    start, reference = 0, math.nan
    for night in range(len(first)):
        past = regression.Past(earlier, reference)
        before = regression.night_values(first[start:night], rerun[start:night])
        if regression.provisional(before, first[night], settings, past):
            rerun[night] = again[night]
        if night < judge_from:
            continue
        now = slice(start, night + 1)
        change = regression.judge(first[now], rerun[now], settings, past)
        if change is None:
            continue
        accepted = change.before if math.isnan(reference) else reference
        kind = regression.kind_of(change.after, accepted, settings.change_floor)
        start += change.index
        alerts.append(Alert(night, change.slower, change.how, kind, change.ratio, start))
        level = regression.night_values(first[now], rerun[now])[: change.index]
        earlier = (*earlier, level)
        reference = math.nan if kind == regression.RETURN else accepted
    return alerts


def says_blind(task: Task) -> bool:
    """Whether the series says that a small change of it cannot be seen."""
    first, _ = times(task, np.random.default_rng(task.seed))
    return bool(Baseline.of(first, task.settings).why_blind)
