"""Files of one run: a copy says nothing that the run has not said."""

from collections.abc import Mapping

from gpubench_reports.results.context import Context
from gpubench_reports.results.reader import ResultFile


def is_same_run(
    one: Context, seconds: Mapping[str, float], other: Context, others: Mapping[str, float]
) -> bool:
    """Whether two files with these times by row are of one run: a machine that ran anew at the same
    moment would differ in the last digits."""
    runs = [(c.date, c.device_kind, c.device, c.mode, c.git_commit) for c in (one, other)]
    return runs[0] == runs[1] and seconds == others


def is_copy(one: ResultFile, other: ResultFile) -> bool:
    same_rows = _states(one) == _states(other)
    return same_rows and is_same_run(one.context, _seconds(one), other.context, _seconds(other))


def _states(result: ResultFile) -> dict[str, str]:
    return {row["name"]: row["status"] for row in result.records}


def _seconds(result: ResultFile) -> dict[str, float]:
    return {row["name"]: row["seconds"] for row in result.timed}
