"""All rows of a file as CSV: SI base units, a column for everything that any row has."""

import csv
import io
import math
from collections.abc import Mapping
from typing import Any

from gpubench_reports.figures import with_headline
from gpubench_reports.reader import COUNTERS, WORDS, ResultFile
from gpubench_reports.verdicts import Verdict

# Google Benchmark's own keys, which the other columns say already or which say nothing of the row.
_LEFT_OUT = {
    "name", "run_name", "run_type", "concept", "kernel", "arguments", "family_index",
    "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations",
    "real_time", "cpu_time", "time_unit", "skipped", "skip_reason", "error_occurred",
    "error_message", "terms", *COUNTERS, *WORDS,
}  # fmt: skip


def to_csv(result: ResultFile, verdicts: Mapping[str, Verdict]) -> str:
    """A line a row, after a line of titles. A cell is empty where the row has no such figure."""
    rows = result.rows.to_dict("records")
    arguments = list(dict.fromkeys(name for row in rows for name in row["arguments"]))
    own = list(
        dict.fromkeys(
            key
            for row in rows
            for key, value in row["raw"].items()
            if key not in _LEFT_OUT and isinstance(value, int | float | str)
        )
    )
    counters = [c for c in ("seconds", *COUNTERS) if result.rows[c].notna().any()]
    words = [word for word in WORDS if (result.rows[word] != "").any()]
    head = {row["name"]: row for row in with_headline(result.ok).to_dict("records")}
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ["name", "concept", "kernel", "status", "reason", *map(_cell, arguments), *counters,
         *words, *map(_cell, own), "headline", "wall", "grade", "share", "yardstick"]
    )  # fmt: skip
    for row in rows:
        verdict = verdicts.get(row["name"])
        judged = [""] * 4
        if verdict:
            judged = [verdict.wall, verdict.grade, _cell(verdict.share), verdict.yardstick]
        headline = head[row["name"]]["headline"] if row["name"] in head else ""
        writer.writerow(
            [*(_cell(row[key]) for key in ("name", "concept", "kernel", "status", "reason")),
             *(_cell(row["arguments"].get(name, "")) for name in arguments),
             *(_cell(row[counter]) for counter in counters),
             *(_cell(row[word]) for word in words),
             *(_cell(row["raw"].get(key, "")) for key in own),
             headline, *judged]
        )  # fmt: skip
    return stream.getvalue()


def _cell(value: Any) -> str:
    """Numbers with all their digits; text that a spreadsheet would run as a formula is quoted."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        if isinstance(value, float) and math.isnan(value):
            return ""
        return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
    if not isinstance(value, str):
        return ""
    flat = value.replace("\r", " ").replace("\n", " ")
    return f"'{flat}" if flat.startswith(("=", "+", "-", "@", "\t")) else flat
