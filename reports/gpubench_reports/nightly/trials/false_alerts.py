"""Calibrates the judge itself: false alerts a night, and what is found how soon, by simulation.

A simulated night's time is the series' level x a factor of the night x, for an outlier, its size;
a process's median is that x a factor of the process x one of its own noise. A rerun on the same
night has the same factor of the night, fresh processes, and meets an outlier again with probability
`persist`. Outliers only make slower: the worst case, since it is slowness that is alerted.

The rule that judges these nights is the one that judges real ones: the same function.
"""

import argparse
import json
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import ensure_directory, write_atomically
from gpubench_reports.nightly.gate.gate import statistics
from gpubench_reports.nightly.rule import regression
from gpubench_reports.nightly.rule.settings import Settings, load
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store

_STEPS = (1.01, 1.015, 1.02, 1.03, 1.05, 1.10)
_BEFORE, _AFTER = 60, 21  # nights before and after a step
_DRIFT, _DRIFT_NIGHTS = 1.05, 60
_WEEK = 7
_TRIALS, _RESAMPLES = 0.3, 400  # pull requests for the gate, a series of the nights


@dataclass(frozen=True)
class Noise:
    """Relative standard deviations, the share of outlier nights, and their size."""

    within: float = 0.002  # of a process's median
    process: float = 0.004
    night: float = 0.004
    outliers: float = 0.03
    outlier_floor: float = 0.02  # an outlier adds this much and an exponential share on top,
    outlier_mean: float = 0.03  # of this mean
    persist: float = 0.5
    source: str = "assumed"

    def line(self) -> str:
        return (
            f"Noise ({self.source}): {self.within:.2%} within a process, {self.process:.2%} "
            f"between processes, {self.night:.2%} between nights; {self.outliers:.1%} of nights "
            f"are outliers, slower by {self.outlier_floor:.0%} and {self.outlier_mean:.0%} more on "
            f"average; a rerun meets {self.persist:.0%} of them again."
        )


def noise_of(index: Index, settings: Settings) -> Noise | None:
    """What the store's valid nights say of the noise; None if there are too few of them.

    Robust estimates, by series and then the median over the series: within from the processes' own
    intervals, between processes and between nights from medians' spreads, each less what the finer
    ones explain. Changes of level would count as noise, so nights are compared with their
    neighbours only. What a night measured first counts, since an outlier is measured again.
    """
    series: dict[tuple, list[tuple[float, float, str]]] = {}
    within: list[float] = []
    for number, environment, first, rerun, fine, medians in index.rows(
        "select series, environment, first, rerun, within, medians from value"
        " order by series, environment, night"
    ):
        again = math.nan if rerun is None else rerun
        series.setdefault((number, environment), []).append((first, again, medians))
        if fine is not None:
            within.append(fine)
    by_process, by_night, far, met_again, count = [], [], [], [], 0
    for values in series.values():
        if len(values) < 2 * settings.min_nights:
            continue
        processes = [np.log(json.loads(medians)) for *_, medians in values]
        by_process.append(np.sqrt(np.mean([np.var(x, ddof=1) for x in processes if len(x) > 1])))
        logs, again = np.log(np.array([value[:2] for value in values])).T
        sigma = 1.4826 * float(np.median(np.abs(_against_neighbours(logs))))
        by_night.append(sigma)
        sizes = _above_both_sides(logs)
        count += len(sizes)
        outliers = np.flatnonzero(sizes > max(4 * sigma, 0.01))
        far += list(sizes[outliers])
        gone = (logs - again)[3:-3][outliers] / sizes[outliers]
        met_again += list(gone[~np.isnan(gone)] < 0.5)
    if not by_night:
        return None
    fine = float(np.median(within)) if within else 0.0
    process = float(np.median(by_process))
    # The median of five is 1.2 times as uncertain as their mean; a difference from the median of
    # four neighbours adds their own uncertainty.
    of_median = 1.2 * process / math.sqrt(settings.processes)
    night = math.sqrt(max(0.0, float(np.median(by_night)) ** 2 / 1.35 - of_median**2))
    floor = float(np.min(far)) if far else Noise.outlier_floor
    return Noise(
        within=fine,
        process=math.sqrt(max(0.0, process**2 - fine**2)),
        night=night,
        outliers=len(far) / count,
        persist=float(np.mean(met_again)) if met_again else Noise.persist,
        outlier_floor=floor,
        outlier_mean=max(float(np.mean(far)) - floor, 0.001) if far else Noise.outlier_mean,
        source=f"from {sum(map(len, series.values()))} nights of {len(by_night)} series",
    )


def _above_both_sides(logs: np.ndarray) -> np.ndarray:
    """Each inner night less the higher of the medians of the three before and the three after it:
    an outlier stands above both, the first night of a step does not."""
    around = np.lib.stride_tricks.sliding_window_view(logs, 3)
    before, after = np.median(around[:-4], axis=1), np.median(around[4:], axis=1)
    return logs[3:-3] - np.maximum(before, after)


def _against_neighbours(logs: np.ndarray) -> np.ndarray:
    """Each inner night less the median of the two before and the two after it."""
    around = np.stack([logs[:-4], logs[1:-3], logs[3:-1], logs[4:]])
    return logs[2:-2] - np.median(around, axis=0)


@dataclass(frozen=True)
class Task:
    """One simulated series: its true level a night, and from which night on it is judged."""

    seed: int
    levels: tuple[float, ...]
    judge_from: int
    noise: Noise
    settings: Settings


@dataclass(frozen=True)
class Alert:
    night: int
    slower: bool
    how: str


def simulate(task: Task) -> list[Alert]:
    """All changes that the rule finds in the series, by the night on which it finds them."""
    rng = np.random.default_rng(task.seed)
    noise, settings = task.noise, task.settings
    first, rerun = np.empty(len(task.levels)), np.full(len(task.levels), np.nan)
    alerts, start = [], 0
    for night, level in enumerate(task.levels):
        now = level * math.exp(noise.night * rng.standard_normal())
        size = 1.0
        if rng.random() < noise.outliers:
            size += noise.outlier_floor + rng.exponential(noise.outlier_mean)
        again = size if rng.random() < noise.persist else 1.0

        first[night] = _measured(rng, now * size, noise, settings)
        end = night + 1
        before = regression.night_values(first[start:night], rerun[start:night])
        if regression.provisional(before, first[night], settings):
            rerun[night] = _measured(rng, now * again, noise, settings)
        if night < task.judge_from:
            continue
        change = regression.judge(first[start:end], rerun[start:end], settings)
        if change is not None:
            alerts.append(Alert(night, change.slower, change.how))
            start += change.index
    return alerts


def _measured(rng: np.random.Generator, level: float, noise: Noise, settings: Settings) -> float:
    sigma = math.hypot(noise.process, noise.within)
    return float(np.median(level * np.exp(sigma * rng.standard_normal(settings.processes))))


@dataclass(frozen=True)
class Outcome:
    """What the simulation found. `found` maps a step's size to the share found by each night."""

    false_slow: float  # a night, over all series
    false_fast: float
    found: dict[float, np.ndarray]
    drift_by_end: float  # share of drifting series alerted while they drifted
    drift_after_week: float
    gate_false: float  # share of pull requests without a change that the gate refuses
    gate_found: dict[float, float]


def run(
    noise: Noise,
    settings: Settings,
    series: int,
    nights: int,
    seed: int,
    workers: int,
    say: Callable[[str], None],
) -> Outcome:
    """Simulates; the same arguments give the same outcome, whatever the number of workers."""

    def tasks(levels: Sequence[float], judge_from: int, block: int) -> list[Task]:
        return [
            Task(
                seed * 1_000_003 + block * 10_007 + number,
                tuple(levels),
                judge_from,
                noise,
                settings,
            )
            for number in range(series)
        ]

    with ProcessPoolExecutor(workers) as pool:

        def all_of(what: list[Task]) -> list[list[Alert]]:
            return list(pool.map(simulate, what, chunksize=max(1, series // 16)))

        say(f"{series} unchanged series, {nights} nights")
        quiet = [alert for found in all_of(tasks([1.0] * nights, 0, 0)) for alert in found]
        found = {}
        for block, step in enumerate(_STEPS, start=1):
            say(f"{series} series with a step of {step - 1:.1%}")
            levels = [1.0] * _BEFORE + [step] * _AFTER
            when = _first_nights(all_of(tasks(levels, _BEFORE, block)), _BEFORE)
            found[step] = np.array([np.mean(when <= n) for n in range(1, _AFTER + 1)])
        say(f"{series} series that drift by {_DRIFT - 1:.0%} in {_DRIFT_NIGHTS} nights")
        drift = np.linspace(1.0, _DRIFT, _DRIFT_NIGHTS + 1)[1:]
        levels = [1.0] * _BEFORE + list(drift) + [_DRIFT] * _WEEK
        when = _first_nights(all_of(tasks(levels, _BEFORE, len(_STEPS) + 1)), _BEFORE)
        say("the pull-request gate")
        steps = (1.0, *_STEPS)
        shares = pool.map(partial(_gate, noise, settings, seed, trials_of(series)), steps)
        gate = dict(zip(steps, shares, strict=True))
    return Outcome(
        false_slow=sum(alert.slower for alert in quiet) / nights,
        false_fast=sum(not alert.slower for alert in quiet) / nights,
        found=found,
        drift_by_end=float(np.mean(when <= _DRIFT_NIGHTS)),
        drift_after_week=float(np.mean(when <= _DRIFT_NIGHTS + _WEEK)),
        gate_false=gate[1.0],
        gate_found={step: gate[step] for step in _STEPS},
    )


def trials_of(series: int) -> int:
    """For how many pull requests the gate is tried where `series` series are simulated."""
    return max(2, round(_TRIALS * series))


def _first_nights(found: list[list[Alert]], start: int) -> np.ndarray:
    """Of each series, on which night from `start` on (1 is the first) it was first called slower.

    Infinite where it never was.
    """
    return np.array(
        [
            min((a.night - start + 1 for a in alerts if a.slower), default=math.inf)
            for alerts in found
        ]
    )


def _gate(noise: Noise, settings: Settings, seed: int, trials: int, step: float) -> float:
    """Of `trials` suites of 200 rows, the share whose changed row is found.

    One row is slower by `step`; with a step of 1 it is the share in which any row is called slower.
    """
    rows, found = 200, 0
    rng = np.random.default_rng([seed, round(step * 1000)])
    sigma = math.hypot(noise.process, noise.within)
    for trial in range(trials):
        a, b = np.exp(sigma * rng.standard_normal((2, rows, settings.rounds)))
        b[0] *= step
        side = statistics(a, b, settings, trial, _RESAMPLES, all_intervals=False).side
        found += bool((side > 0).any() if step == 1.0 else side[0] > 0)
    return found / trials


def markdown(outcome: Outcome, noise: Noise, settings: Settings, series: int, nights: int) -> str:
    """The table for a README."""
    lines = [
        noise.line(),
        "",
        f"| {series} series x {nights} nights, simulated | |",
        "|---|---|",
        f"| false alerts a night | {outcome.false_slow:.3f} |",
        f"| false improvements a night | {outcome.false_fast:.3f} |",
    ]
    lines += [
        f"| a step of +{step - 1:.1%} found within 2, {_WEEK}, {_AFTER} nights | "
        f"{share[1]:.1%}, {share[_WEEK - 1]:.1%}, {share[-1]:.1%} |"
        for step, share in outcome.found.items()
    ]
    lines += [
        f"| a drift of +{_DRIFT - 1:.0%} in {_DRIFT_NIGHTS} nights found by its end, "
        f"a week later | {outcome.drift_by_end:.1%}, {outcome.drift_after_week:.1%} |",
        f"| gate, A against A: refused, of {trials_of(series)} suites of 200 rows, "
        f"{settings.rounds} processes each | {outcome.gate_false:.1%} |",
    ]
    lines += [
        f"| gate: one row of 200 slower by {step - 1:.1%} found | {share:.1%} |"
        for step, share in outcome.gate_found.items()
    ]
    return "\n".join(lines) + "\n"


def draw(outcome: Outcome, noise: Noise, folder: Path) -> list[Path]:
    """Detection by nights for each step, as PNG and SVG."""
    from gpubench_reports.charts import style
    from gpubench_reports.charts.render import save

    figure = style.new_figure(7.2, 4.2)
    axes = figure.add_axes((0.1, 0.2, 0.62, 0.68))
    nights = np.arange(1, _AFTER + 1)
    for number, (step, share) in enumerate(outcome.found.items()):
        axes.plot(
            nights,
            share,
            marker=style.MARKERS[number],
            ms=3.5,
            lw=1.2,
            color=style.COLOURS[number % len(style.COLOURS)],
            label=f"+{step - 1:.1%}",
        )
    axes.axvline(_WEEK, color=style.GREY, lw=0.8, ls=":")
    axes.set(
        xlabel="nights since the step",
        ylabel="share of the series alerted",
        ylim=(-0.02, 1.04),
        xlim=(0.5, _AFTER + 0.5),
    )
    axes.set_xticks([1, 2, 3, 5, _WEEK, 10, 14, _AFTER])
    axes.legend(title="step", loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure.text(
        0.012,
        0.975,
        "What the judge finds, and how soon",
        size=12,
        weight="bold",
        va="top",
        color=style.INK,
    )
    style.footnote(
        figure,
        f"Simulated. {noise.line()} False alerts: {outcome.false_slow:.3f} a night.",
        width=118,
    )
    return save(figure, folder / "detection")


def try_judge(options: argparse.Namespace, say: Callable[[str], None]) -> str:
    """The command: noise from the store if it has enough nights, changed by the options."""
    settings, noise = Settings(), None
    if (options.store / "store.json").exists():
        store = Store.open(options.store, options.rehearsal)
        settings = load(store.root)
        with Index(store) as index:
            index.update(settings)
            noise = noise_of(index, settings)
    noise = noise or Noise()
    given = {
        name: getattr(options, name)
        for name in ("within", "process", "night", "outliers", "persist")
        if getattr(options, name) is not None
    }
    if given:
        noise = replace(noise, **given, source=f"{noise.source}, {', '.join(given)} as given")
    for name in ("within", "process", "night", "outliers", "persist"):
        if not 0 <= getattr(noise, name) <= (1 if name in ("outliers", "persist") else 0.5):
            raise ReportError(f"--{name}", "must be a fraction: 0.004 is 0.4 %")
    if options.series < 1 or options.nights <= settings.min_nights or options.workers < 1:
        raise ReportError(
            "calibrate-judge", f"needs series, and nights above {settings.min_nights}"
        )
    outcome = run(
        noise, settings, options.series, options.nights, options.seed, options.workers, say
    )
    text = markdown(outcome, noise, settings, options.series, options.nights)
    if options.out is not None:
        ensure_directory(options.out)
        write_atomically(options.out / "calibration.md", text.encode())
        for path in draw(outcome, noise, options.out):
            say(f"wrote {path}")
    return text
