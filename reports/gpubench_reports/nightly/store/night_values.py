"""What a night says of one series, from its processes."""

import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gpubench_reports.nightly.store.process_file import ProcessFile, Timing


def night_value(
    first: list[Timing], rerun: list[Timing], all_first: list[Timing]
) -> tuple[Any, ...]:
    """The columns of `value` behind `environment`."""
    sound = rerun or first
    medians = [timing.seconds for timing in first]
    cycles = [timing.seconds * timing.clock_hz for timing in sound]
    first_median = statistics.median(medians)
    rerun_median = statistics.median(t.seconds for t in rerun) if rerun else None
    return (
        first_median if rerun_median is None else rerun_median,
        first_median,
        rerun_median,
        _median(cycles),
        *conditions(sound, all_first),
        "; ".join(sorted({"; ".join(timing.notes) for timing in sound if timing.notes})),
        len(first),
        _median(timing.within for timing in first),
        json.dumps(medians),
    )


def conditions(shown: list[Timing], all_first: list[Timing]) -> tuple[float | None, ...]:
    """Clock, power and temperature of the processes shown, and the share of all that throttled."""
    observed = [timing.throttled for timing in all_first if timing.throttled is not None]
    return (
        _median(timing.clock_hz for timing in shown),
        _median(timing.power_w for timing in shown),
        _median((timing.temperature_c for timing in shown), max),
        sum(observed) / len(observed) if observed else None,
    )


def _median(
    numbers: Iterable[float], of: Callable[[list[float]], float] = statistics.median
) -> float | None:
    known = [number for number in numbers if not math.isnan(number)]
    return of(known) if known else None


def throttled_share(files: list[ProcessFile]) -> float:
    """Share of the nights' rows that ran throttled."""
    flags = [bool(timing.throttled) for file in files for timing in file.timings.values()]
    return sum(flags) / len(flags) if flags else 0.0


def planned_processes(plan: Mapping[str, Any], otherwise: int) -> int:
    """How many processes the night was to have, which may be fewer than the store's settings say;
    `otherwise` where its plan does not tell."""
    units = plan.get("units")
    numbers = [
        unit.get("process")
        for unit in (units if isinstance(units, list) else [])
        if isinstance(unit, dict)
    ]
    return max((n for n in numbers if type(n) is int and n > 0), default=otherwise)


def identity(health: Any, files: list[ProcessFile]) -> dict[str, Any]:
    """What tells the night's GPU from another: what nvidia-smi said, and what the files say."""
    sources: list[Mapping[str, Any]] = [health if isinstance(health, dict) else {}]
    sources += [file.context.device_state for file in files]
    return {
        what: source[what]
        for source in sources
        for what in ("uuid", "serial", "vbios", "ecc")
        if isinstance(source.get(what), str | bool)
    }
