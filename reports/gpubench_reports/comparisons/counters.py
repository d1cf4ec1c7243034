"""The model's counts beside Nsight Compute's, launch by launch. Numbers only.

A result file of `gpubench --profile` (on a GPU with --predict) holds for each row its `launches`:
what the model counts in each.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.comparisons.ncu_profile import CYCLES, DURATION, METRICS, Profiled, kernel_of
from gpubench_reports.results.checking import Checker, numbers_of, shown, words_of
from gpubench_reports.results.reader import ResultFile

# From the compiled kernel or the launch: absent means unknown. All others are counts: absent is 0.
_NOT_COUNTS = {
    "blocks",
    "threads_per_block",
    "registers",
    "shared_bytes",
    "local_moved_bytes",
    "resident_blocks",
    "occupancy",
}

# What a timed row may differ from the profiler's duration, and the time from which it counts [s].
TIME_TOLERANCE, LEAST_SECONDS = 0.02, {"hot": 50e-6, "cold": 500e-6}

# Limit per row: far beyond any suite's, and few enough to compare one by one.
MOST_LAUNCHES = 100_000

# No kernel is given fewer for each thread, however few it uses (seen on an H100).
_LEAST_REGISTERS = 16.0

_BY_SAMPLING = 2.0  # times: blocks that were not traced do not explain more
_SAMPLED_TOLERANCE, _EXACT_TOLERANCE = 0.01, 1e-6


@dataclass(frozen=True)
class Counted:
    """A launch as a row of a result file lists it: what the model counted in it."""

    kernel: str
    times: int
    figures: dict[str, float]
    departures: dict[str, str]  # by kind of access: why the profiler may count otherwise


@dataclass(frozen=True)
class Difference:
    """A figure of a launch on which the two do not agree. `why`: "" if nobody knows."""

    row: str
    kernel: str
    figure: str
    model: float
    profiler: float
    why: str


@dataclass
class CountComparison:
    """`equal`: by figure, how many launches agree. `differences`: every one that does not.
    `alone`: launches of one side only, in words. `rows`: those compared; `unprofiled`: others."""

    launches: int = 0
    rows: int = 0
    unprofiled: list[str] = field(default_factory=list)
    equal: Counter[str] = field(default_factory=Counter[str])
    differences: list[Difference] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Timed:
    """A row's median beside the profiler's duration of its only launch. `ratio`: in cycles where
    the row's clock is known and the profiler's was another one, else in seconds."""

    row: str
    seconds: float
    profiler_seconds: float
    ratio: float
    in_cycles: bool
    expected: bool  # long enough to be held to TIME_TOLERANCE


def compare(result: ResultFile, profiled: Sequence[Profiled]) -> CountComparison:
    """Every launch of every row of `result` beside ncu's. Raises ReportError where the two have
    no launch of a row in common."""
    by_row: dict[str, list[Profiled]] = {}
    for launch in profiled:
        by_row.setdefault(launch.row, []).append(launch)
    found = CountComparison()
    for row in result.timed:
        name, raw = row["name"], row["raw"]
        if name in by_row:
            launches = launches_of(Checker(result.path), raw, name)
            _compare_row(name, raw, launches, by_row[name], found)
            found.rows += 1
        elif raw.get("launches"):
            found.unprofiled.append(name)
    if not found.launches:
        raise ReportError(
            result.path,
            "has no launch in common with the profile: it must come from --profile (on a GPU with "
            "--predict), and ncu must run with --nvtx",
        )
    if not found.equal.total() and not found.differences:
        raise ReportError(
            result.path, "has no figure in common with the profile: counters --metrics names them"
        )
    return found


def launches_of(check: Checker, raw: dict[str, Any], name: str) -> list[Counted]:
    """The launches of a row, which is `raw` in its file. Raises ReportError."""
    launches = raw.get("launches", [])
    if not isinstance(launches, list):
        raise check.fail(name, f"'launches' must be a list, not {shown(launches)}")
    found = [_launch(check, launch, f"{name}, launch {n}") for n, launch in enumerate(launches, 1)]
    if sum(launch.times for launch in found) > MOST_LAUNCHES:
        raise check.fail(name, f"has over {MOST_LAUNCHES} launches")
    return found


def _launch(check: Checker, launch: Any, where: str) -> Counted:
    if not isinstance(launch, dict):
        raise check.fail(where, f"must be an object, not {shown(launch)}")
    times = check.number(launch.get("times", 1), "times", where)
    if times != int(times) or not 1 <= times <= MOST_LAUNCHES:
        raise check.fail(where, f"'times' must be a whole number from 1 to {MOST_LAUNCHES}")
    return Counted(
        check.text(launch, "kernel", where),
        int(times),
        numbers_of(check, launch, "figures", where),
        words_of(check, launch, "departures", where),
    )


def _compare_row(
    name: str,
    raw: dict[str, Any],
    launches: Sequence[Counted],
    profiled: Sequence[Profiled],
    found: CountComparison,
) -> None:
    counted = [launch for launch in launches for _ in range(launch.times)]
    here = Counter(kernel_of(launch.kernel) for launch in counted)
    there = Counter(launch.kernel for launch in profiled)
    for kernel, times in (here - there).items():
        found.alone.append(f"{name}: {times} of {kernel} only on the model")
    for kernel, times in (there - here).items():
        found.alone.append(f"{name}: {times} of {kernel} only in the profile")
    seen: dict[str, Iterator[Profiled]] = {
        kernel: iter([p for p in profiled if p.kernel == kernel]) for kernel in there
    }
    for launch in counted:
        kernel = kernel_of(launch.kernel)
        other = next(seen.get(kernel, iter(())), None)
        if other is None:
            continue
        found.launches += 1
        figures = launch.figures
        whole = figures.get("traced_blocks") == figures.get("blocks")
        for figure, profiler in other.figures().items():
            if figure in _NOT_COUNTS and figure not in figures:
                continue
            model = figures.get(figure, 0.0)
            if figure == "registers":
                model = max(model, _LEAST_REGISTERS)
            exact = whole or figure in _NOT_COUNTS - {"local_moved_bytes"}
            tolerance = _EXACT_TOLERANCE if exact else _SAMPLED_TOLERANCE
            if abs(model - profiler) <= tolerance * max(abs(model), abs(profiler)):
                if model or profiler:
                    found.equal[figure] += 1
                continue
            difference = Difference(name, kernel, figure, model, profiler, "")
            difference = replace(difference, why=_why(difference, launch, raw, whole))
            # Launches of one row that are all alike differ alike.
            if difference not in found.differences[-len(METRICS) :]:
                found.differences.append(difference)


def _why(difference: Difference, launch: Counted, raw: dict[str, Any], whole: bool) -> str:
    """What is known of a difference beforehand, in one line."""
    figures, figure = launch.figures, difference.figure
    model, profiler = difference.model, difference.profiler
    kind = " ".join(figure.split("_")[:2])
    if departure := launch.departures.get(kind):
        return departure
    if kind in ("global load", "shared store", "shared load"):
        if figures.get("async_copies"):
            return "asynchronous copies are counted apart by the profiler"
        if figures.get("bulk_copies"):
            return "what the copy engine brings is no warp's request"
    if figures.get("remote_load_requests") and figure.endswith("_bytes"):
        return "reads of another block's shared memory count as global, shared and local ones"
    if figure == "fma_16x2" and not figures.get(figure):
        return "the compiler loads constants by multiply-adds of pairs of halves (HFMA2)"
    if figure.startswith("fma_"):
        return "the model counts multiply-adds that are called by name, not a * b + c"
    if figure == "local_moved_bytes" and figures.get("local_bytes"):
        return "the model takes local memory to be moved once through the code"
    if figure.endswith("_wavefronts") and raw.get("rule") == "unconfirmed":
        return "the rule for 8 and 16 bytes per lane is documented only for earlier GPUs"
    if figure == "shared_load_bytes" and 0 < profiler < model:
        return "the profiler counts a word once that several lanes read"
    if (
        figure not in _NOT_COUNTS
        and not whole
        and model / _BY_SAMPLING < profiler < model * _BY_SAMPLING
    ):
        traced, blocks = (figures.get(key, math.nan) for key in ("traced_blocks", "blocks"))
        return f"the model traced {traced:.0f} of {blocks:.0f} blocks"
    return ""


def timings(timed: ResultFile, profiled: Sequence[Profiled]) -> list[Timed]:
    """The rows of `timed` that are one launch, beside its duration under ncu (with its clock and
    cache control off)."""
    times = Counter(launch.row for launch in profiled)
    only = {launch.row: launch.metrics for launch in profiled if times[launch.row] == 1}
    least = LEAST_SECONDS.get(timed.context.mode, math.inf)
    found = []
    for row in timed.timed:
        metrics_of_it = only.get(row["name"], {})
        duration = metrics_of_it.get(DURATION)
        if not duration:
            continue
        ratio, in_cycles = row["seconds"] / duration, False
        cycles, clock = metrics_of_it.get(CYCLES), row["sm_clock_hz"]
        if cycles and clock > 0 and abs(cycles / duration / clock - 1) > TIME_TOLERANCE / 2:
            ratio, in_cycles = row["seconds"] * clock / cycles, True
        found.append(
            Timed(row["name"], row["seconds"], duration, ratio, in_cycles, row["seconds"] >= least)
        )
    return found
