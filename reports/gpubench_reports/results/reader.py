"""Reads and checks a gpubench result file.

A result file is Google Benchmark's JSON with a `context` that names the device and rows that name
their concept, kernel and arguments. Whatever is wrong with a file is one ReportError that says
where; nothing else is raised for any content.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import reason

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1

# Numbers a row may carry, in SI base units; NaN in the table means that the row did not have it.
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
    "sm_clock_hz",
    "power_w",
    "temperature_c",
    "throttled",
)

# What a row says in words; empty where it does not.
WORDS = ("label", "verified", "rule", "counts", "assuming", "note")

# Where a roof comes from: the run itself, or the device file (its README says what each means).
PROVENANCES_OF_RUN = ("measured", "modelled")
PROVENANCES = (
    *PROVENANCES_OF_RUN,
    "data_sheet",
    "published",
    "calibrated",
    "derived",
    "assumed",
)

_TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
# Far beyond anything physical in SI base units; keeps every later product finite.
_LARGEST, _SMALLEST = 1e30, 1e-30


@dataclass(frozen=True)
class Roof:
    """A ceiling: `value` in bytes/s (kind "bandwidth") or FLOP/s (kind "compute")."""

    name: str
    kind: str
    value: float
    provenance: str  # one of PROVENANCES
    source: str


@dataclass(frozen=True)
class Context:
    """What a file says about machine and run. Text that is absent is empty, a number NaN."""

    device_kind: str
    device: str
    device_title: str
    date: str
    mode: str
    suite: str
    filter: str  # of the rows that were run; empty: all of the suite
    driver_version: str
    cuda_version: str
    compiler: str
    git_commit: str
    git_dirty: bool
    imported_from: str  # the program whose output was imported; empty for our own
    run_seconds: float  # from the first row to the last
    roofs: tuple[Roof, ...]

    @property
    def modelled(self) -> bool:
        return self.device_kind == "model"

    @property
    def verb(self) -> str:
        """How this file came by its numbers: "modelled" or "measured"."""
        return "modelled" if self.modelled else "measured"


@dataclass(frozen=True)
class ResultFile:
    """One result file.

    `rows` has one line a benchmark name, in file order, with the columns name, concept, kernel,
    arguments (dict), status ("ok", "skipped", "failed"), reason, roof (of the label, by
    its name), WORDS, seconds (median), COUNTERS,
    terms (the prediction's, by name [s]) and raw (the row as it stands in the file). Repetitions
    of one name are one row: the repetition whose time is the (lower) median, with the envelope of
    the repetitions' confidence intervals.
    """

    path: Path
    context: Context
    rows: "pd.DataFrame"

    @property
    def ok(self) -> "pd.DataFrame":
        return self.rows[self.rows["status"] == "ok"]


def read(path: Path | str) -> ResultFile:
    """Reads the result file at `path`. Raises ReportError for whatever is wrong with it."""
    check, document, context = open_document(Path(path), "benchmarks")
    benchmarks = document["benchmarks"]
    if not benchmarks:
        raise check.fail("", "holds no rows: 'benchmarks' is empty")
    rows = [_row(check, index, row) for index, row in enumerate(benchmarks)]
    return ResultFile(check.path, context, _table(rows))


def open_document(path: Path, content: str) -> tuple["Checker", dict[str, Any], Context]:
    """The JSON object in `path`, which must hold a context and a list `content`, and its context.

    Raises ReportError.
    """
    document = parse(path)
    if not isinstance(document, dict):
        raise ReportError(path, "not a gpubench result file: the top level is no JSON object")
    if not isinstance(document.get("context"), dict) or not isinstance(document.get(content), list):
        missing = "context" if not isinstance(document.get("context"), dict) else content
        raise ReportError(path, f"not a gpubench result file: it has no '{missing}'")
    check = Checker(path)
    return check, document, context_of(check, document["context"])


def split_name(name: str) -> tuple[str, str, dict[str, float | str]]:
    """Concept, kernel and arguments of `concept/kernel/arg:value/...`; missing parts are empty."""
    concept, _, rest = name.partition("/")
    kernel, _, rest = rest.partition("/")
    arguments: dict[str, float | str] = {}
    for part in filter(None, rest.split("/")):
        key, _, text = part.partition(":")
        try:
            number = float(text)
            arguments[key] = number if abs(number) <= _LARGEST else text
        except ValueError:
            arguments[key] = text
    return concept, kernel, arguments


def clean(text: str) -> str:
    """`text` without what neither a terminal nor XML can hold; each becomes U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _harmless(ord(c)) else "\ufffd" for c in text)


def _harmless(code: int) -> bool:
    control = code < 0x20 or 0x7F <= code < 0xA0 or code in (0x2028, 0x2029)
    surrogate = 0xD800 <= code <= 0xDFFF
    direction = 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069  # would reorder the line
    return not (control or surrogate or direction or code & 0xFFFE == 0xFFFE)


class _ConstantError(ValueError):
    """NaN or Infinity, which Python's parser would accept."""


def _refuse_constant(text: str) -> float:
    raise _ConstantError(text)


def parse(path: Path) -> Any:
    """The JSON document in `path`; ReportError for whatever is wrong with it."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ReportError(path, f"cannot read: {reason(error)}") from None
    except UnicodeDecodeError:
        raise ReportError(path, "not a result file: it is not UTF-8 text") from None
    except ValueError:
        raise ReportError(clean(str(path)), "cannot read: not a file name") from None
    if not text.strip():
        raise ReportError(path, "is empty")
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except _ConstantError as error:
        raise ReportError(
            path, f"holds {error}, which JSON does not allow; a counter that is not known is absent"
        ) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
            raise ReportError(path, f"is truncated: the JSON stops at {where}") from None
        raise ReportError(path, f"not valid JSON at {where}: {error.msg}") from None
    except RecursionError:
        raise ReportError(path, "not a gpubench result file: nested too deeply") from None
    except ValueError:  # a whole number of thousands of digits
        raise ReportError(path, "holds a number that is too long to read") from None


class Checker:
    """Takes typed values out of JSON objects, or says which one is wrong and where."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fail(self, where: str, problem: str) -> ReportError:
        return ReportError(self.path, f"{where}: {problem}" if where else problem)

    def text(self, source: dict[str, Any], key: str, where: str, default: str | None = None) -> str:
        value = source.get(key, default)
        if value is None and key not in source:
            raise self.fail(where, f"'{key}' is missing")
        if not isinstance(value, str):
            raise self.fail(where, f"'{key}' must be text, not {_shown(value)}")
        return clean(value)

    def number(self, value: Any, key: str, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(where, f"'{key}' must be a number, not {_shown(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if number != 0 and not _SMALLEST <= abs(number) <= _LARGEST:
            raise self.fail(where, f"'{key}' is {_shown(value)}, out of any range")
        return number

    def positive(self, source: dict[str, Any], key: str, where: str) -> float:
        if key not in source:
            raise self.fail(where, f"'{key}' is missing")
        number = self.number(source[key], key, where)
        if number <= 0:
            raise self.fail(where, f"'{key}' must be positive, not {_shown(source[key])}")
        return number


def _shown(value: Any) -> str:
    """A JSON value in an error line: short, on one line."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except (ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:37]}..."


def context_of(check: Checker, context: dict[str, Any]) -> Context:
    if "schema_version" not in context:
        raise check.fail(
            "",
            "not a gpubench result file: its context has no 'schema_version' "
            "(plain Google Benchmark output?)",
        )
    version = context["schema_version"]
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise check.fail(
            "context", f"schema_version is {_shown(version)}, this program reads {SCHEMA_VERSION}"
        )
    kind = check.text(context, "device_kind", "context")
    if kind not in ("model", "cuda"):
        raise check.fail("context", f"device_kind is {_shown(kind)}, must be 'model' or 'cuda'")
    device = check.text(context, "device", "context")
    roofs = context.get("roofs", [])
    if not isinstance(roofs, list):
        raise check.fail("context", f"'roofs' must be a list, not {_shown(roofs)}")
    return Context(
        device_kind=kind,
        device=device,
        device_title=check.text(context, "device_title", "context", device),
        date=check.text(context, "date", "context", ""),
        mode=check.text(context, "mode", "context", ""),
        suite=check.text(context, "suite", "context", ""),
        filter=check.text(context, "filter", "context", ""),
        driver_version=check.text(context, "driver_version", "context", ""),
        cuda_version=check.text(context, "cuda_version", "context", ""),
        compiler=check.text(context, "compiler", "context", ""),
        git_commit=check.text(context, "git_commit", "context", ""),
        git_dirty=context.get("git_dirty", False) is True,
        imported_from=check.text(context, "imported_from", "context", ""),
        run_seconds=check.positive(context, "run_seconds", "context")
        if "run_seconds" in context
        else math.nan,
        roofs=tuple(_roof(check, index, roof) for index, roof in enumerate(roofs)),
    )


def _roof(check: Checker, index: int, roof: Any) -> Roof:
    where = f"roof {index + 1}"
    if not isinstance(roof, dict):
        raise check.fail(where, f"must be an object, not {_shown(roof)}")
    name = check.text(roof, "name", where)
    where = f"roof '{name}'"
    kind = check.text(roof, "kind", where)
    if kind not in ("bandwidth", "compute"):
        raise check.fail(where, f"kind is {_shown(kind)}, must be 'bandwidth' or 'compute'")
    provenance = check.text(roof, "provenance", where)
    if provenance not in PROVENANCES:
        raise check.fail(
            where, f"provenance is {_shown(provenance)}, must be one of {', '.join(PROVENANCES)}"
        )
    return Roof(
        name=name,
        kind=kind,
        value=check.positive(roof, "value", where),
        provenance=provenance,
        source=check.text(roof, "source", where, ""),
    )


def _row(check: Checker, index: int, row: Any) -> dict[str, Any]:
    """One entry of `benchmarks` as a flat record. Keys that are absent become NaN."""
    where = f"row {index + 1}"
    if not isinstance(row, dict):
        raise check.fail(where, f"must be an object, not {_shown(row)}")
    name = check.text(row, "name", where)
    if not name:
        raise check.fail(where, "'name' is empty")
    where = f"row {index + 1} ({name})"
    run_type = check.text(row, "run_type", where, "iteration")
    aggregate = check.text(row, "aggregate_name", where, "") if run_type == "aggregate" else ""
    key = check.text(row, "run_name", where, name) or name
    concept, kernel, arguments = split_name(key)
    concept = check.text(row, "concept", where, concept) or concept
    kernel = check.text(row, "kernel", where, kernel) or kernel
    if "arguments" in row:
        arguments = _arguments(check, row["arguments"], where)
    record: dict[str, Any] = {
        "name": key,
        "concept": concept or "(none)",
        "kernel": kernel or concept or "(none)",
        "arguments": arguments,
        "aggregate": aggregate,
        "status": "ok",
        "reason": "",
        "roof": check.text(row, "roof", where, "") or check.text(row, "label", where, ""),
        **{word: check.text(row, word, where, "") for word in WORDS},
        "terms": {},
        "raw": row,
        "seconds": math.nan,
        **dict.fromkeys(COUNTERS, math.nan),
    }
    if row.get("skipped") is True:
        return record | {
            "status": "skipped",
            "reason": check.text(row, "skip_reason", where, "no reason given"),
        }
    if row.get("error_occurred") is True:
        return record | {
            "status": "failed",
            "reason": check.text(row, "error_message", where, "no message given"),
        }
    if aggregate not in ("", "mean", "median"):
        return record  # stddev and cv may be 0, and cv is no time
    record["seconds"] = seconds_of(check, row, where)
    for counter in COUNTERS:
        if counter not in row:
            continue
        value = row[counter]
        if counter in ("converged", "throttled") and isinstance(value, bool):
            value = int(value)
        number = check.number(value, counter, where)
        if number < 0 and counter != "temperature_c":
            raise check.fail(where, f"'{counter}' must not be negative, it is {_shown(value)}")
        record[counter] = number
    record["terms"] = _terms(check, row.get("terms", {}), where)
    for counter in ("model_seconds", "min_seconds", "ci_low_seconds", "ci_high_seconds"):
        if record[counter] == 0:
            raise check.fail(where, f"'{counter}' must be positive, not 0")
    if record["ci_low_seconds"] > record["ci_high_seconds"]:
        raise check.fail(where, "'ci_low_seconds' is above 'ci_high_seconds'")
    return record


def _terms(check: Checker, terms: Any, where: str) -> dict[str, float]:
    if not isinstance(terms, dict):
        raise check.fail(where, f"'terms' must be an object, not {_shown(terms)}")
    return {
        clean(key): check.number(value, f"terms.{clean(key)}", where)
        for key, value in terms.items()
    }


def seconds_of(check: Checker, row: dict[str, Any], where: str) -> float:
    """The row's time [s]."""
    unit = check.text(row, "time_unit", where, "ns")
    if unit not in _TIME_UNITS:
        raise check.fail(where, f"time_unit is {_shown(unit)}, must be one of s, ms, us, ns")
    return check.positive(row, "real_time", where) * _TIME_UNITS[unit]


def _arguments(check: Checker, arguments: Any, where: str) -> dict[str, float | str]:
    if not isinstance(arguments, dict):
        raise check.fail(where, f"'arguments' must be an object, not {_shown(arguments)}")
    return {
        clean(key): clean(value)
        if isinstance(value, str)
        else check.number(value, f"arguments.{clean(key)}", where)
        for key, value in arguments.items()
    }


def _table(records: list[dict[str, Any]]) -> "pd.DataFrame":
    import pandas as pd  # who only checks a file need not wait for it

    by_name: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_name.setdefault(record["name"], []).append(record)
    merged = [row for group in by_name.values() if (row := _merged(group)) is not None]
    columns = [
        "name",
        "concept",
        "kernel",
        "arguments",
        "status",
        "reason",
        "roof",
        *WORDS,
        "seconds",
        *COUNTERS,
        "terms",
        "raw",
    ]
    return pd.DataFrame.from_records(merged, columns=columns)


def _merged(group: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The one row that stands for all rows of a name; None if only spreads were given."""
    for status in ("failed", "skipped"):
        for row in group:
            if row["status"] == status:
                return row  # a repetition that failed makes the name fail
    runs = [row for row in group if not row["aggregate"]]
    if not runs:  # --benchmark_report_aggregates_only
        aggregates = {row["aggregate"]: row for row in group}
        return aggregates.get("median") or aggregates.get("mean")
    runs.sort(key=lambda row: row["seconds"])
    middle = dict(runs[(len(runs) - 1) // 2])
    lows = [r["ci_low_seconds"] for r in runs if not math.isnan(r["ci_low_seconds"])]
    highs = [r["ci_high_seconds"] for r in runs if not math.isnan(r["ci_high_seconds"])]
    if lows and highs:
        middle["ci_low_seconds"], middle["ci_high_seconds"] = min(lows), max(highs)
    return middle
