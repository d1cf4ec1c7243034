"""The rows of a result file as flat records, one per name."""

import math
from collections.abc import Iterable
from typing import Any

from gpubench_reports.common.plain_text import clean
from gpubench_reports.results import legacy
from gpubench_reports.results.checking import (
    LARGEST,
    Checker,
    numbers_of,
    seconds_of,
    share_of,
    shown,
    texts_of,
    words_of,
)
from gpubench_reports.results.context import PROVENANCES_OF_RUN, Context

# Numbers a row may carry, in SI base units; NaN in a record means that the row did not have it.
COUNTERS = (
    "useful_bytes_per_second",
    "moved_bytes_per_second",
    "flops_per_second",
    "items_per_second",
    # What a stopwatch says that does not wait for the device.
    "claimed_useful_bytes_per_second",
    "claimed_flops_per_second",
    "claimed_items_per_second",
    "algorithm_bytes_per_second",
    "bus_bytes_per_second",
    "fit_latency_seconds",
    "fit_bytes_per_second",
    "relative_error",
    "error_law",
    "latency_seconds",
    "latency_cycles",
    "load_cycles",
    "arithmetic_intensity",
    "roof_fraction",
    "law",
    "law_ratio",
    "law_per_request",
    "law_tolerance",
    "model_seconds",
    "model_low_seconds",
    "model_high_seconds",
    "sectors_per_request",
    "wavefronts_per_request",
    "active_lanes",
    "occupancy",
    "resident_blocks",
    "registers",
    "local_bytes",
    "min_seconds",
    "ci_low_seconds",
    "ci_high_seconds",
    "samples",
    "converged",
    "paused_seconds",
    "joules",
    "joules_per_flop",
    "joules_per_byte",
    "joules_per_token",
    "joules_error_fraction",
    "average_power_w",
    "energy_run_seconds",
    "sm_clock_hz",
    "power_w",
    "temperature_c",
    "throttled",
)

_ROUNDED = 1e-6  # what a time may be beside itself in another unit, relative

# What a row says in words; empty where it does not.
WORDS = ("label", "source", "verified", "rule", "counts", "assuming")

_NO_FIGURES: dict[str, Any] = {
    "seconds": math.nan,
    **dict.fromkeys(COUNTERS, math.nan),
    "terms": {},
    "bytes": {},
    "headline": "",
    "unit": "",
    "better": "",
    "arithmetic_unit": "",
    **dict.fromkeys(("value", "low", "high", "law_value", "predicted"), math.nan),
}
COLUMNS = (
    *("name", "concept", "kernel", "arguments", "axes", "status", "reason", "roof"),
    *WORDS,
    "notes",
    *_NO_FIGURES,
    "raw",
)


def split_name(name: str) -> tuple[str, str, dict[str, float | str]]:
    """Concept, kernel and arguments of `concept/kernel/arg:value/...`; missing parts are empty."""
    concept, _, rest = name.partition("/")
    kernel, _, rest = rest.partition("/")
    arguments: dict[str, float | str] = {}
    for part in filter(None, rest.split("/")):
        key, _, text = part.partition(":")
        try:
            number = float(text)
            arguments[key] = number if abs(number) <= LARGEST else text
        except ValueError:
            arguments[key] = text
    return concept, kernel, arguments


def by_concept(records: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The records of each concept, in order of appearance."""
    found: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        found.setdefault(record["concept"], []).append(record)
    return found


def row_of(check: Checker, index: int, row: Any, context: Context) -> dict[str, Any]:
    """One entry of `benchmarks` as a flat record. Keys that are absent become NaN."""
    where = f"row {index + 1}"
    if not isinstance(row, dict):
        raise check.fail(where, f"must be an object, not {shown(row)}")
    name = check.text(row, "name", where)
    if not name:
        raise check.fail(where, "'name' is empty")
    where = f"row {index + 1} ({name})"
    record = _described(check, row, where, context.older)
    units = {**context.axes, **words_of(check, row, "axes", where)}
    record["axes"] = {axis: units[axis] for axis in record["arguments"] if axis in units}
    if check.flag(row, "skipped", where):
        reason = check.text(row, "skip_reason", where, "no reason given")
        return record | {"status": "skipped", "reason": reason}
    if check.flag(row, "error_occurred", where):
        reason = check.text(row, "error_message", where, "no message given")
        return record | {"status": "failed", "reason": reason}
    if record["aggregate"] not in ("", "mean", "median"):
        return record  # stddev and cv may be 0, and cv is no time
    record |= _figures(check, row, where)
    if not record["aggregate"]:
        _refuse_apart(check, record, where)
    if not context.older:
        record |= _stated(check, row, record, where)
    return record


def _described(check: Checker, row: dict[str, Any], where: str, older: bool) -> dict[str, Any]:
    """What a row says of itself in words, and no figure yet."""
    run_type = check.text(row, "run_type", where, "iteration")
    aggregate = check.text(row, "aggregate_name", where, "") if run_type == "aggregate" else ""
    name = check.text(row, "name", where)
    key = check.text(row, "run_name", where, name) or name
    if name != (f"{key}_{aggregate}" if aggregate else key):
        raise check.fail(where, f"'run_name' is {shown(key)}, the name of another row")
    concept, kernel, arguments = split_name(key)
    concept = check.text(row, "concept", where, concept) or concept
    kernel = check.text(row, "kernel", where, kernel) or kernel
    if "arguments" in row:
        arguments = _arguments(check, row["arguments"], where)
    roof = check.text(row, "roof" if older else "grade_roof", where, "")
    return {
        "name": key,
        "concept": concept or "(none)",
        "kernel": kernel or concept or "(none)",
        "arguments": arguments,
        "aggregate": aggregate,
        "status": "ok",
        "reason": "",
        "roof": roof or check.text(row, "label", where, ""),
        **{word: check.text(row, word, where, "") for word in WORDS},
        "notes": notes_of(check, row, where, older),
        "raw": row,
        **_NO_FIGURES,
    }


def notes_of(check: Checker, row: dict[str, Any], where: str, older: bool) -> list[str]:
    """What a row has to say of itself beside its figures."""
    if older:
        return legacy.notes_of(check.text(row, "note", where, ""))
    return texts_of(check, row, "notes", where)


def _figures(check: Checker, row: dict[str, Any], where: str) -> dict[str, Any]:
    """The time of a row, its counters and the terms of its prediction."""
    record: dict[str, Any] = {"seconds": seconds_of(check, row, where)}
    for counter in COUNTERS:
        if counter not in row:
            continue
        if counter in ("converged", "throttled"):
            record[counter] = share_of(check, row, counter, where)
            continue
        value = row[counter]
        number = check.number(value, counter, where)
        if number < 0 and counter != "temperature_c":
            raise check.fail(where, f"'{counter}' must not be negative, it is {shown(value)}")
        record[counter] = number
    record["terms"] = numbers_of(check, row, "terms", where)
    for counter in ("model_seconds", "min_seconds", "ci_low_seconds", "ci_high_seconds"):
        if record.get(counter) == 0:
            raise check.fail(where, f"'{counter}' must be positive, not 0")
    if record.get("ci_low_seconds", 0.0) > record.get("ci_high_seconds", math.inf):
        raise check.fail(where, "'ci_low_seconds' is above 'ci_high_seconds'")
    return record


def _refuse_apart(check: Checker, record: dict[str, Any], where: str) -> None:
    """Raises ReportError where a run's time is not in its interval: one of them was changed, and
    no verdict holds that is by both."""
    low, seconds, high = (record[k] for k in ("ci_low_seconds", "seconds", "ci_high_seconds"))
    if seconds < low * (1 - _ROUNDED) or seconds > high * (1 + _ROUNDED):
        interval = f"'ci_low_seconds' to 'ci_high_seconds', {low:g} to {high:g} s"
        raise check.fail(where, f"'real_time' is {seconds:g} s, outside {interval}")


def _stated(
    check: Checker, row: dict[str, Any], record: dict[str, Any], where: str
) -> dict[str, Any]:
    """What a row of version 2 says of its figures."""
    if "headline" not in row:
        raise check.fail(where, "'headline' is missing")
    headline = row["headline"]
    if not isinstance(headline, dict):
        raise check.fail(where, f"'headline' must be an object, not {shown(headline)}")
    inside = f"{where}, 'headline'"
    name = check.text(headline, "name", inside)
    better = check.text(headline, "better", inside)
    if better not in ("higher", "lower"):
        raise check.fail(inside, f"better is {shown(better)}, must be 'higher' or 'lower'")
    if "value" in headline:
        value = check.positive(headline, "value", inside)
    elif name == "seconds":
        value = record["seconds"]
    else:
        value = check.positive(row, name, where)
    return {
        "headline": name,
        "unit": check.text(headline, "unit", inside),
        "better": better,
        "value": value,
        "law_value": record.get("law", math.nan),
        "bytes": numbers_of(check, row, "bytes", where),
        "arithmetic_unit": check.text(row, "arithmetic_unit", where, ""),
    }


def _arguments(check: Checker, arguments: Any, where: str) -> dict[str, float | str]:
    if not isinstance(arguments, dict):
        raise check.fail(where, f"'arguments' must be an object, not {shown(arguments)}")
    return {
        clean(key): clean(value)
        if isinstance(value, str)
        else check.number(value, f"arguments.{clean(key)}", where)
        for key, value in arguments.items()
    }


def refuse_doubles(check: Checker, benchmarks: list[Any]) -> None:
    """Raises ReportError where two rows have one name and are no repetitions of each other, as in
    files that were put together by hand: which of them counts is not known."""
    seen: dict[tuple[str, int], int] = {}
    for number, row in enumerate(benchmarks, start=1):
        if not isinstance(row, dict) or not isinstance(name := row.get("name"), str):
            continue  # row_of says what is wrong with it
        repetition = row.get("repetition_index", 0)
        if isinstance(repetition, int):
            first = seen.setdefault((name, repetition), number)
            if first != number:
                raise check.fail(
                    f"row {number} ({clean(name)})",
                    f"has the name of row {first} and is no repetition of it",
                )


def merged(records: list[dict[str, Any]], context: Context) -> list[dict[str, Any]]:
    """The rows of a file, one for each name, with the keys that ResultFile names."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_name.setdefault(record["name"], []).append(record)
    rows = [row for group in by_name.values() if (row := _merged(group)) is not None]
    timed = [row for row in rows if row["status"] == "ok"]
    if context.older:
        memory = {
            roof.name: roof.value
            for roof in context.roofs
            if roof.kind == "bandwidth" and roof.provenance not in PROVENANCES_OF_RUN
        }
        legacy.complete(timed, memory)
    for row in timed:
        row |= _in_unit_of_headline(row)
    return rows


def _in_unit_of_headline(row: dict[str, Any]) -> dict[str, float]:
    """Prediction and 95 % interval of the headline figure, from those of the time."""

    def if_it_took(seconds: float) -> float:
        slowdown = seconds / row["seconds"]
        return float(
            row["value"] / slowdown if row["better"] == "higher" else row["value"] * slowdown
        )

    # For a time, the longer end of the interval is the upper one.
    ends = [if_it_took(row["ci_high_seconds"]), if_it_took(row["ci_low_seconds"])]
    low, high = sorted(ends) if not any(map(math.isnan, ends)) else ends
    return {"predicted": if_it_took(row["model_seconds"]), "low": low, "high": high}


def _merged(group: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The one row that stands for all rows of a name; None if only spreads were given."""
    for status in ("failed", "skipped"):
        for row in group:
            if row["status"] == status:
                return row  # a repetition that failed makes the name fail
    runs = [row for row in group if not row["aggregate"]]
    if not runs:  # --benchmark_report_aggregates_only
        aggregates = {row["aggregate"]: row for row in group}
        one = aggregates.get("median") or aggregates.get("mean")
        runs = [one] if one else []
    if not runs:
        return None
    runs.sort(key=lambda row: row["seconds"])
    middle = dict(runs[(len(runs) - 1) // 2])
    lows = [r["ci_low_seconds"] for r in runs if not math.isnan(r["ci_low_seconds"])]
    highs = [r["ci_high_seconds"] for r in runs if not math.isnan(r["ci_high_seconds"])]
    if lows and highs:
        # The middle one may be a run without an interval, far from those that have one.
        middle["ci_low_seconds"] = min(*lows, middle["seconds"])
        middle["ci_high_seconds"] = max(*highs, middle["seconds"])
    return middle
