"""How the rule holds under ugly noise: each kind, levels that come and go, many rows at once."""

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gpubench_reports.nightly.rule.regression import REGRESSION, RETURN
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.trials.labelled import NOTHING, Score, labelled, score_of
from gpubench_reports.nightly.trials.noise import Noise
from gpubench_reports.nightly.trials.simulation import (
    KINDS,
    WARM_UP,
    Alert,
    Kind,
    Task,
    says_blind,
    simulate,
)
from gpubench_reports.nightly.trials.together import first_much, leaning_nights, young

_STEPS = (1.02, 1.03, 1.05, 1.10)
_STEP = 1.05  # of levels that come and go
_SHORT = (2, 3, 4)  # nights that a level lasts before it is taken back, or steps again
_WEEK, _LASTING = 7, 40  # nights
_SEED = 7_000_003
_QUIET = 8  # times as many machines on which nothing changes: an alert there is rare


@dataclass(frozen=True)
class KindOutcome:
    """What came of one kind of noise; NaN where nothing could be said."""

    false_alerts: float  # a night, over 200 series
    found: dict[float, float]  # by the step's size, the share within a week
    blind: float  # share of series that say that +3 % cannot be judged
    closed: float  # of levels taken back that had been alerted, the share within two nights
    second: float  # of second steps, the share found within a week
    wrongly_closed: float  # of lasting steps found, the share


@dataclass(frozen=True)
class Ugly:
    kinds: dict[str, KindOutcome]
    leaning: dict[str, float]  # shares, by what was simulated
    machine_nights: list[float]  # on which it was said first to look at a replaced machine
    labelled: Score


def ugly_noise(
    noise: Noise,
    settings: Settings,
    series: int,
    nights: int,
    seed: int,
    pool: Executor,
    say: Callable[[str], None],
) -> Ugly:
    """Simulates all of it; the same arguments give the same outcome."""
    chunk = max(1, series // 16)

    def tasks(kind: Kind, levels: Sequence[float], judge_from: int, block: int) -> list[Task]:
        first = seed * 1_000_003 + block * 20_011 + _SEED
        return [
            Task(first + number, tuple(levels), judge_from, noise, settings, kind)
            for number in range(series)
        ]

    def run(*arguments: Any) -> list[list[Alert]]:
        return list(pool.map(simulate, tasks(*arguments), chunksize=chunk))

    kinds = {}
    for kind in KINDS:
        say(f"{series} series: {kind.title}")
        quiet = run(kind, [1.0] * nights, 0, 0)
        steps = {
            step: _share_found(run(kind, [1.0] * WARM_UP + [step] * _WEEK, WARM_UP, 1), WARM_UP)
            for step in _STEPS
        }
        # Asked when the series has the noise in its whole window, also where it came with a step.
        known = [1.0] * (WARM_UP + settings.window)
        blind = list(pool.map(says_blind, tasks(kind, known, 0, 1), chunksize=chunk))
        lasting = run(kind, [1.0] * WARM_UP + [_STEP] * _LASTING, WARM_UP, 2)
        kinds[kind.title] = KindOutcome(
            200 * sum(a.kind == REGRESSION for found in quiet for a in found) / nights / series,
            steps,
            float(np.mean(blind)),
            *_come_and_go(partial(run, kind)),
            _wrongly_closed(lasting),
        )
    return Ugly(
        kinds,
        _leaning(noise, settings, max(2, series // 10), seed, pool, say),
        _machines(noise, settings, max(1, series // 50), series, seed, pool, say),
        _labelled(settings, max(2, series // 2), seed, pool, say),
    )


def _share_found(found: Iterable[list[Alert]], start: int) -> float:
    """The share of series that were called slower within a week from night `start` on."""
    return float(
        np.mean(
            [any(a.slower and start <= a.night < start + _WEEK for a in alerts) for alerts in found]
        )
    )


def _come_and_go(run: Callable[..., list[list[Alert]]]) -> tuple[float, float]:
    """Levels of a few nights: the share that is closed within two, and of second steps found."""
    closed, second = [], []
    for block, nights in enumerate(_SHORT, start=3):
        young = [1.0] * WARM_UP + [_STEP] * nights
        end = WARM_UP + nights
        for alerts in run([*young, *[1.0] * _WEEK], WARM_UP, block):
            open_at_end = _is_open(alerts, end - 1)
            closed += [not _is_open(alerts, end + 1)] if open_at_end else []
        second.append(_share_found(run([*young, *[_STEP**2] * _WEEK], WARM_UP, block + 3), end))
    return float(np.mean(closed)) if closed else math.nan, float(np.mean(second))


def _is_open(alerts: Iterable[Alert], night: int) -> bool:
    kinds = [alert.kind for alert in alerts if alert.night <= night]
    return bool(kinds) and kinds[-1] == REGRESSION


def _wrongly_closed(lasting: Iterable[list[Alert]]) -> float:
    kinds = [[alert.kind for alert in alerts] for alerts in lasting]
    found = [alerts for alerts in kinds if REGRESSION in alerts]
    return float(np.mean([RETURN in alerts for alerts in found])) if found else math.nan


def _leaning(
    noise: Noise,
    settings: Settings,
    machines: int,
    seed: int,
    pool: Executor,
    say: Callable[[str], None],
) -> dict[str, float]:
    say(f"{machines} machines whose rows move together, {_QUIET * machines} quiet ones")
    first = young(settings)
    trial = partial(leaning_nights, noise=noise, settings=settings)
    found = {}
    for title, age, slower in (
        ("40 of 200 series slower by 1 % at once", WARM_UP, 40),
        ("all 200 series slower by 1 % at once", WARM_UP, 200),
        (f"40 of 200, in a store or segment of {first} nights", first, 40),
        (f"40 of 200, in a store or segment of {2 * first} nights", 2 * first, 40),
    ):
        step = partial(trial, age=age, slower=slower, step=1.01, nights=_WEEK)
        shares = [bool(nights) for nights in pool.map(step, range(seed, seed + machines))]
        found[f"{title}: found within {_WEEK} nights"] = float(np.mean(shares))
    # The windows of a young store are short until it has as many nights as a full one.
    ages = {"": (WARM_UP, 30), ", in a young store or segment": (first, settings.window)}
    for where, (age, nights) in ages.items():
        quiet = partial(trial, age=age, slower=0, step=1.0, nights=nights)
        count = sum(map(len, pool.map(quiet, range(seed, seed + _QUIET * machines))))
        found[f"quiet nights with such an alert{where}"] = count / (_QUIET * machines * nights)
    return found


def _machines(
    noise: Noise,
    settings: Settings,
    machines: int,
    series: int,
    seed: int,
    pool: Executor,
    say: Callable[[str], None],
) -> list[float]:
    """Machines replaced by others of their kind: each row's time is another, by 2 % or so."""
    say(f"{machines} machines that are replaced")
    found = []
    for machine in range(machines):
        shifts = np.exp(0.02 * np.random.default_rng(machine).standard_normal(series))
        first = seed * 1_000_003 + (20 + machine) * 20_011 + _SEED
        tasks = [
            Task(first + row, (1.0,) * WARM_UP + (float(shift),) * 10, WARM_UP, noise, settings)
            for row, shift in enumerate(shifts)
        ]
        found.append(first_much(pool.map(simulate, tasks), series, settings))
    return found


def _labelled(
    settings: Settings, series: int, seed: int, pool: Executor, say: Callable[[str], None]
) -> Score:
    say(f"{series} series with labelled changes")
    trial = partial(_one_labelled, settings)
    return sum(pool.map(trial, range(seed, seed + series), chunksize=4), NOTHING)


def _one_labelled(settings: Settings, seed: int) -> Score:
    return score_of(*labelled(seed), settings)


def ugly_table(ugly: Ugly, series: int, nights: int) -> list[str]:
    """The lines of the table, and those of what many series show together."""
    sizes = " | ".join(f"+{step - 1:.0%} found" for step in _STEPS)
    lines = [
        f"| {series} series x {nights} nights, by kind of noise | false alerts per night (of 200 "
        f"series) | {sizes} | say that +3% cannot be judged | 2 to 4 nights of +5%: closed within "
        "2 nights | second +5% found | lasting +5% wrongly closed |",
        "|---" * (len(_STEPS) + 6) + "|",
    ]
    for title, one in ugly.kinds.items():
        shares = (*one.found.values(), one.blind, one.closed, one.second, one.wrongly_closed)
        cells = " | ".join("" if math.isnan(share) else f"{share:.1%}" for share in shares)
        lines.append(f"| {title} | {one.false_alerts:.3f} | {cells} |")
    lines += ["", "(Steps: within 7 nights.)", "", "| many series at once | |", "|---|---|"]
    lines += [f"| {title} | {share:.1%} |" for title, share in ugly.leaning.items()]
    said = [night for night in ugly.machine_nights if night < math.inf]
    lines += [
        f"| replaced machines of which it is said to look at them first | {len(said)} of "
        f"{len(ugly.machine_nights)}, on night {max(said, default=math.nan):.0f} at the latest |",
        f"| labelled series: precision, recall ({ugly.labelled.labels} labels) | "
        f"{ugly.labelled.precision:.2f}, {ugly.labelled.recall:.2f} |",
    ]
    return lines
