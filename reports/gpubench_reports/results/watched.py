"""Reads NAME.series.jsonl: what rows that were watched for a while were like over time.

A line a row, of the run whose date it carries. Lists are as long as `seconds`; what the driver did
not tell is null.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import file_bytes
from gpubench_reports.results.checking import Checker, json_of
from gpubench_reports.results.companions import companion_of
from gpubench_reports.results.quantities import BY_COLUMN, Quantity
from gpubench_reports.results.reader import ResultFile

_EVIDENCE = ("sm_clock_hz", "power_w", "temperature_c")


@dataclass(frozen=True)
class WatchedRow:
    """One watched row; NaN where nobody told."""

    name: str
    verdict: str
    quantity: Quantity
    seconds: np.ndarray
    rate: np.ndarray
    evidence: dict[str, np.ndarray]  # sm_clock_hz, power_w, temperature_c
    reasons: tuple[str, ...]  # of the driver, in words; "" for none


def series_beside(result: ResultFile) -> list[WatchedRow]:
    """Those that the run of `result` wrote; none when there are none, or only an older run's.

    Raises ReportError when the file beside the result is damaged.
    """
    path = companion_of(result.path, "series.jsonl")
    if not path.exists():
        return []
    try:
        lines = file_bytes(path).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise ReportError(path, "cannot read") from None
    found = []
    for number, line in enumerate(lines, start=1):
        check, where = Checker(path), f"line {number}"
        try:
            entry = json_of(path, line)
        except ReportError:
            raise check.fail(where, "not valid JSON") from None
        if not isinstance(entry, dict):
            raise check.fail(where, "must be an object")
        if entry.get("date") == result.context.date:
            found.append(_series(check, where, entry))
    return found


def _series(check: Checker, where: str, entry: dict[str, Any]) -> WatchedRow:
    quantity = BY_COLUMN.get(check.text(entry, "figure", where))
    if quantity is None:
        raise check.fail(where, "'figure' is none that a row is judged by")
    seconds = _numbers(check, where, entry, "seconds")
    if len(seconds) == 0:
        raise check.fail(where, "'seconds' must hold one number at least")
    columns = {name: _numbers(check, where, entry, name) for name in ("rate", *_EVIDENCE)}
    reasons = entry.get("reasons")
    if not isinstance(reasons, list) or not all(r is None or isinstance(r, str) for r in reasons):
        raise check.fail(where, "'reasons' must be a list of words")
    lengths = {name: len(values) for name, values in columns.items()}
    for name, length in {**lengths, "reasons": len(reasons)}.items():
        if length != len(seconds):
            raise check.fail(where, f"'{name}' must be as long as 'seconds'")
    return WatchedRow(
        name=check.text(entry, "name", where),
        verdict=check.text(entry, "verdict", where, ""),
        quantity=quantity,
        seconds=seconds,
        rate=columns["rate"],
        evidence={name: columns[name] for name in _EVIDENCE},
        reasons=tuple(reason or "" for reason in reasons),
    )


def _numbers(check: Checker, where: str, entry: dict[str, Any], key: str) -> np.ndarray:
    values = entry.get(key)
    if not isinstance(values, list):
        raise check.fail(where, f"'{key}' must be a list")
    return np.array(
        [np.nan if value is None else check.number(value, key, where) for value in values]
    )
