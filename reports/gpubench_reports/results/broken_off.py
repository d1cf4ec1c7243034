"""What a run that was broken off has left beside its result file: FILE.journal."""

import json
import shlex
from pathlib import Path
from typing import Any

from gpubench_reports.common.files import file_bytes
from gpubench_reports.common.units import plural

_ENDING = ".journal"


def broken_off(path: Path) -> str | None:
    """One line on the run that was to write `path`, or whose journal it is, and how to finish it.

    None where there is no journal, or one that cannot be read.
    """
    if not path.name:  # ".", "/", or a variable of the shell that was not set
        return None
    journal = path if path.name.endswith(_ENDING) else journal_of(path)
    lines = _lines(journal)
    command = lines[0].get("command") if lines else None
    if not isinstance(command, list) or "journal" not in lines[0]:
        return None
    rows = sum("row" in line for line in lines)
    result = journal.with_name(journal.name.removesuffix(_ENDING))
    again = shlex.join([*map(str, command), f"--resume={result}"])
    return f"interrupted after {plural(rows, 'row')}; to finish it: {again}"


def journal_of(path: Path) -> Path:
    """Where the run that writes the result file `path` keeps its journal until it has ended."""
    return path.with_name(path.name + _ENDING)


def not_run(path: Path, benchmarks: list[Any]) -> int:
    """How many of the rows that its run was to do the interrupted result file `path` lacks; 0 where
    its journal is not there to say so."""
    lines = _lines(journal_of(path))
    same = lines[0].get("same") if lines else None
    planned = same.get("rows") if isinstance(same, dict) else None
    if not isinstance(planned, list):
        return 0
    names = [row.get("run_name", row.get("name")) for row in benchmarks if isinstance(row, dict)]
    done = {name for name in names if isinstance(name, str)}
    return len({name for name in planned if isinstance(name, str)} - done)


def _lines(journal: Path) -> list[dict[str, Any]]:
    """A journal's lines; none where it cannot be read. What follows the last line break was cut off
    by the kill."""
    try:
        text = file_bytes(journal).decode("utf-8", "replace")
    except (OSError, ValueError):
        return []
    return [_object(line) for line in text.split("\n")[:-1]]


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
