"""What one result file says about time and the machine: the part of it that nights are made of."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.checking import Checker, seconds_of, share_of
from gpubench_reports.results.context import Context
from gpubench_reports.results.reader import open_document
from gpubench_reports.results.rows import notes_of

_FAILED = "failed"
_SKIPPED = "skipped: "


@dataclass(frozen=True)
class Environment:
    """What a time depends on besides the program's source. A new one starts a new segment."""

    device: str
    device_title: str
    mode: str
    driver: str
    cuda: str
    compiler: str
    flags: str


class Timing(NamedTuple):
    """One row of one process. What the file does not say is NaN."""

    seconds: float
    within: float  # standard error of that median as a fraction, from its 95 % interval
    clock_hz: float
    power_w: float
    temperature_c: float
    throttled: bool | None  # None: nothing observed it
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ProcessFile:
    """One process: `timings` by row name, and `problems`: why other rows have none. `machine` is
    the name that who started it gave the GPU (--benchmark_context=machine=NAME), if any."""

    path: Path
    context: Context
    environment: Environment
    host: str
    machine: str
    timings: dict[str, Timing]
    problems: dict[str, str]


def read_process(path: Path) -> ProcessFile:
    """Reads a result file for its times. Raises ReportError for whatever is wrong with it."""
    check, document, context = open_document(path, "benchmarks")
    if not document["benchmarks"]:
        raise check.fail("", "holds no rows: 'benchmarks' is empty")
    raw = document["context"]
    found: dict[str, list[Timing]] = {}
    problems: dict[str, list[str]] = {}
    for index, row in enumerate(document["benchmarks"]):
        where = f"row {index + 1}"
        if not isinstance(row, dict):
            raise check.fail(where, "must be an object")
        if row.get("run_type", "iteration") != "iteration":
            continue  # a statistic of repetitions, which are here themselves
        name = check.text(row, "name", where)
        if not name:
            raise check.fail(where, "'name' is empty")
        if check.flag(row, "skipped", where):
            why = check.text(row, "skip_reason", where, "no reason given")
            problems.setdefault(name, []).append(f"{_SKIPPED}{why}")
        elif check.flag(row, "error_occurred", where):
            why = check.text(row, "error_message", where, "no message")
            problems.setdefault(name, []).append(f"{_FAILED}: {why}")
        else:
            found.setdefault(name, []).append(_timing(check, row, where, context.older))
    timings = {name: _middle(repeated) for name, repeated in found.items() if name not in problems}
    environment = Environment(
        device=context.device,
        device_title=context.device_title,
        mode=context.mode,
        driver=context.driver_version,
        cuda=context.cuda_version,
        compiler=context.compiler,
        flags=check.text(raw, "compiler_flags", "context", ""),
    )
    host = check.text(raw, "host_name", "context", "")
    machine = check.text(raw, "machine", "context", "")
    worst = {name: worst_problem(texts) for name, texts in problems.items()}
    return ProcessFile(path, context, environment, host, machine, timings, worst)


def is_failure(problem: str) -> bool:
    """Whether a row's problem is that it failed; otherwise it was skipped, or has no sound time."""
    return problem.startswith(_FAILED)


def is_left_out(problem: str) -> bool:
    """Whether all processes skipped the row: the device cannot run it."""
    return problem.startswith(_SKIPPED)


def worst_problem(problems: Sequence[str]) -> str:
    """The last failure: it may hide wrong results, as a skipped row cannot. Without one, the last
    problem."""
    return next((text for text in reversed(problems) if is_failure(text)), problems[-1])


def worst_of(problems: Sequence[str]) -> tuple[str, int]:
    """The worst problem, and how many are of its kind."""
    worst = worst_problem(problems)
    return worst, sum(is_failure(text) == is_failure(worst) for text in problems)


def in_some(problems: Sequence[str], processes: int) -> str:
    """The worst problem ("failed: why") that some of a row's `processes` had, and in how many."""
    worst, count = worst_of(problems)
    kind, _, why = worst.partition(": ")
    return f"{kind} in {count} of {processes} processes: {why}"


def refuse_other_kind(context: Context, path: Path, rehearsal: bool) -> None:
    """Raises ReportError unless the file is of the store's kind: nights are never a mixture."""
    if context.modelled and not rehearsal:
        raise ReportError(
            path,
            "is modelled, nothing in it was measured: it is no night (a rehearsal store takes it)",
        )
    if rehearsal and not context.modelled:
        raise ReportError(path, "was measured, and this store is a rehearsal of modelled nights")


def _timing(check: Checker, row: dict[str, Any], where: str, older: bool) -> Timing:
    def number(key: str) -> float:
        return check.number(row[key], key, where) if key in row else math.nan

    seconds = seconds_of(check, row, where)
    throttled = share_of(check, row, "throttled", where)
    return Timing(
        seconds=seconds,
        # The half-width of a 95 % interval is 1.96 standard errors.
        within=(number("ci_high_seconds") - number("ci_low_seconds")) / (3.92 * seconds),
        clock_hz=number("sm_clock_hz"),
        power_w=number("power_w"),
        temperature_c=number("temperature_c"),
        throttled=None if math.isnan(throttled) else throttled > 0,
        notes=tuple(notes_of(check, row, where, older)),
    )


def _middle(repeated: list[Timing]) -> Timing:
    if len(repeated) == 1:
        return repeated[0]
    middle = statistics.median_low(timing.seconds for timing in repeated)
    return next(timing for timing in repeated if timing.seconds == middle)
