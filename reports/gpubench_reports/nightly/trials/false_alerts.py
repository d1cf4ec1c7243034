"""Calibrates the judge itself by simulation: false alerts per night, and what is found how soon."""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import ensure_directory, write_atomically
from gpubench_reports.common.processes import process_pool
from gpubench_reports.nightly.gate.gate import statistics
from gpubench_reports.nightly.rule.regression import IMPROVEMENT, REGRESSION
from gpubench_reports.nightly.rule.settings import Settings, load
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.read_only import to_read
from gpubench_reports.nightly.store.store import Store
from gpubench_reports.nightly.trials.noise import Noise, noise_of
from gpubench_reports.nightly.trials.simulation import WARM_UP, Alert, Task, simulate
from gpubench_reports.nightly.trials.ugly import Ugly, ugly_noise, ugly_table

_STEPS = (1.01, 1.015, 1.02, 1.03, 1.05, 1.10)
_AFTER = 21  # nights after a step
_DRIFT, _DRIFT_NIGHTS = 1.05, 60
_WEEK = 7
_TRIALS, _RESAMPLES = 0.3, 400  # pull requests for the gate, a series of the nights


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
    ugly: Ugly


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

    with process_pool(workers) as pool:

        def all_of(what: list[Task]) -> list[list[Alert]]:
            return list(pool.map(simulate, what, chunksize=max(1, series // 16)))

        say(f"{series} unchanged series, {nights} nights")
        quiet = [alert for found in all_of(tasks([1.0] * nights, 0, 0)) for alert in found]
        found = {}
        for block, step in enumerate(_STEPS, start=1):
            say(f"{series} series with a step of {step - 1:.1%}")
            levels = [1.0] * WARM_UP + [step] * _AFTER
            when = _first_nights(all_of(tasks(levels, WARM_UP, block)), WARM_UP)
            found[step] = np.array([np.mean(when <= n) for n in range(1, _AFTER + 1)])
        say(f"{series} series that drift by {_DRIFT - 1:.0%} in {_DRIFT_NIGHTS} nights")
        drift = np.linspace(1.0, _DRIFT, _DRIFT_NIGHTS + 1)[1:]
        levels = [1.0] * WARM_UP + list(drift) + [_DRIFT] * _WEEK
        when = _first_nights(all_of(tasks(levels, WARM_UP, len(_STEPS) + 1)), WARM_UP)
        ugly = ugly_noise(noise, settings, series, nights, seed, pool, say)
        say("the pull-request gate")
        steps = (1.0, *_STEPS)
        shares = pool.map(partial(_gate, noise, settings, seed, trials_of(series)), steps)
        gate = dict(zip(steps, shares, strict=True))
    return Outcome(
        false_slow=sum(alert.kind == REGRESSION for alert in quiet) / nights,
        false_fast=sum(alert.kind == IMPROVEMENT for alert in quiet) / nights,
        found=found,
        drift_by_end=float(np.mean(when <= _DRIFT_NIGHTS)),
        drift_after_week=float(np.mean(when <= _DRIFT_NIGHTS + _WEEK)),
        gate_false=gate[1.0],
        gate_found={step: gate[step] for step in _STEPS},
        ugly=ugly,
    )


def trials_of(series: int) -> int:
    """For how many pull requests the gate is tried where `series` series are simulated."""
    return max(2, round(_TRIALS * series))


def _first_nights(found: list[list[Alert]], start: int) -> np.ndarray:
    """On which night from `start` on (1 is the first) each series was first called slower.

    Infinite where it never was.
    """
    return np.array(
        [
            min((a.night - start + 1 for a in alerts if a.slower), default=math.inf)
            for alerts in found
        ]
    )


def _gate(noise: Noise, settings: Settings, seed: int, trials: int, step: float) -> float:
    """The share of `trials` suites of 200 rows whose changed row is found.

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
        f"| false alerts per night | {outcome.false_slow:.3f} |",
        f"| false improvements per night | {outcome.false_fast:.3f} |",
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
    return "\n".join([*lines, "", *ugly_table(outcome.ugly, series, nights)]) + "\n"


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
        store = to_read(Store.open(options.store, options.rehearsal))
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
