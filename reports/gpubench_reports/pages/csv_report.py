"""All rows of a file as CSV, in SI base units: what they are judged by, or all that they have."""

import csv
import io
import math
import re
from collections.abc import Mapping
from typing import Any

from gpubench_reports.common.plain_text import STARTS_FORMULA, clean
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.results.rows import COUNTERS, WORDS
from gpubench_reports.rules.verdicts.verdict import Verdict

# Google Benchmark's own keys, which the other columns say already or which say nothing of the row.
_LEFT_OUT = {
    "name",
    "run_name",
    "run_type",
    "concept",
    "kernel",
    "arguments",
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "real_time",
    "cpu_time",
    "time_unit",
    "skipped",
    "skip_reason",
    "error_occurred",
    "error_message",
    "terms",
    "note",
    "notes",
    *COUNTERS,
    *WORDS,
}


# What a row is judged by, where it has it.
_HEADLINES = (
    "seconds",
    "ci_low_seconds",
    "ci_high_seconds",
    "law",
    "law_ratio",
    "roof_fraction",
    "model_seconds",
)
_JUDGED = ("headline", "value", "bound", "wall", "grade", "share", "yardstick")


def to_csv(result: ResultFile, verdicts: Mapping[str, Verdict], everything: bool = False) -> str:
    """A line a row, after a line of titles. A cell is empty where the row has no such figure. With
    `everything` there is a column for whatever any row has."""
    rows = result.records
    arguments: list[str] = []
    own: list[str] = []
    counters, words = list(_HEADLINES), ["label"]
    if everything:
        arguments = list(dict.fromkeys(name for row in rows for name in row["arguments"]))
        own = list(
            dict.fromkeys(
                key
                for row in rows
                for key, value in row["raw"].items()
                if key not in _LEFT_OUT and isinstance(value, int | float | str)
            )
        )
        counters, words = ["seconds", *COUNTERS], list(WORDS)
    counters = [c for c in counters if any(not math.isnan(row[c]) for row in rows)]
    words = [word for word in words if any(row[word] for row in rows)]
    noted = any(row["notes"] for row in rows)
    head = {row["name"]: row for row in result.timed}
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        [
            "name",
            "concept",
            "kernel",
            "status",
            "reason",
            *map(_cell, arguments),
            *counters,
            *words,
            *(["note"] if noted else []),
            *map(_cell, own),
            *_JUDGED,
        ]
    )
    for row in rows:
        judged = {key: head.get(row["name"], {}).get(key, "") for key in _JUDGED}
        if row["name"] in verdicts:
            judged |= {k: v for k, v in vars(verdicts[row["name"]]).items() if k in _JUDGED}
        writer.writerow(
            [
                *(_cell(row[key]) for key in ("name", "concept", "kernel", "status", "reason")),
                *(_cell(row["arguments"].get(name, "")) for name in arguments),
                *(_cell(row[counter]) for counter in counters),
                *(_cell(row[word]) for word in words),
                *([_cell("; ".join(row["notes"]))] if noted else []),
                *(_cell(row["raw"].get(key, "")) for key in own),
                *(_cell(judged[key]) for key in _JUDGED),
            ]
        )
    return stream.getvalue()


def _cell(value: Any) -> str:
    """Numbers with all their digits; text that a spreadsheet would run as a formula is quoted, and
    none that a terminal would obey is left."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        if isinstance(value, float) and math.isnan(value):
            return ""
        return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
    if not isinstance(value, str):
        return ""
    flat = clean(re.sub(r"\s", " ", value))
    return f"'{flat}" if flat.lstrip().startswith(STARTS_FORMULA) else flat
