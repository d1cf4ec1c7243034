"""Reads and checks a gpubench result file.

A result file is Google Benchmark's JSON with a `context` that names the device and rows that name
their concept, kernel and arguments. Whatever is wrong with a file is one ReportError that says
where; nothing else is raised for any content.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.plain_text import clean
from gpubench_reports.results.broken_off import broken_off, not_run
from gpubench_reports.results.checking import Checker, parse
from gpubench_reports.results.context import Context, context_of
from gpubench_reports.results.rows import COLUMNS, merged, refuse_doubles, row_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ResultFile:
    """One result file.

    `records` has one entry per benchmark name, in file order, with the keys of rows.COLUMNS.
    `arguments`, `terms` (the prediction's, by name [s]) and `raw` (the row as it stands in the
    file) are dictionaries; `status` is "ok", "skipped" or "failed". Repetitions of one name are
    one row: the repetition whose time is the (lower) median, with the envelope of the repetitions'
    confidence intervals. Records and tables are shared: copy them before you change them.
    """

    path: Path
    context: Context
    records: list[dict[str, Any]]

    @property
    def timed(self) -> list[dict[str, Any]]:
        """The records that have a time."""
        return [record for record in self.records if record["status"] == "ok"]

    @property
    def is_predicted(self) -> bool:
        """Whether any row has the model's time beside its own."""
        return any(record["model_seconds"] > 0 for record in self.timed)

    @cached_property
    def rows(self) -> "pd.DataFrame":
        """The records as a table. Made when first asked for: many commands get by without."""
        import pandas as pd

        return pd.DataFrame.from_records(self.records, columns=list(COLUMNS))

    @cached_property
    def ok(self) -> "pd.DataFrame":
        return self.rows[self.rows["status"] == "ok"]


def read(path: Path | str) -> ResultFile:
    """Reads the result file at `path`. Raises ReportError for whatever is wrong with it."""
    check, document, context = open_document(Path(path), "benchmarks")
    benchmarks = document["benchmarks"]
    if not benchmarks:
        raise check.fail("", "holds no rows: 'benchmarks' is empty")
    rows = [row_of(check, index, row, context) for index, row in enumerate(benchmarks)]
    return ResultFile(check.path, context, merged(rows, context))


def reservations_of(results: Iterable[ResultFile]) -> list[dict[str, Any]]:
    """What a reader must know of each file first, for other programs."""
    return [{"file": result.path, "says": result.context.reservations} for result in results]


def open_document(path: Path, content: str) -> tuple["Checker", dict[str, Any], Context]:
    """The JSON object in `path`, which must hold a context and a list `content`, and its context.

    Raises ReportError.
    """
    try:
        document = parse(path)
    except ReportError:
        if (line := broken_off(path)) is None:
            raise
        raise ReportError(path, clean(line)) from None
    if not isinstance(document, dict):
        raise ReportError(path, "not a gpubench result file: the top level is no JSON object")
    if not isinstance(document.get("context"), dict) or not isinstance(document.get(content), list):
        missing = "context" if not isinstance(document.get("context"), dict) else content
        raise ReportError(path, f"not a gpubench result file: it has no '{missing}'")
    check = Checker(path)
    context = context_of(check, document["context"])
    if content == "benchmarks":
        refuse_doubles(check, document["benchmarks"])
    if context.interrupted and content == "benchmarks":
        context = replace(context, not_run=not_run(path, document["benchmarks"]))
    return check, document, context
