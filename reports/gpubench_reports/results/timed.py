"""The rows of a result file that have a time, for programs that want one in every row."""

from pathlib import Path
from typing import Any

from gpubench_reports.results.reader import open_document


def timed(path: Path) -> dict[str, Any]:
    """The document in `path` without its skipped and failed rows. Raises ReportError."""
    check, document, _ = open_document(path, "benchmarks")
    for index, row in enumerate(document["benchmarks"]):
        if not isinstance(row, dict):
            raise check.fail(f"row {index + 1}", "must be an object")
    rows = [row for row in document["benchmarks"] if "real_time" in row]
    if not rows:
        raise check.fail("", "no row has a time")
    return {**document, "benchmarks": rows}
