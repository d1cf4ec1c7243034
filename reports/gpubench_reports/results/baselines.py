"""Modelled runs of the default suite that come with the package: what to compare a first run with.

In a checkout `modelled` is a link to results/modelled, where scripts/modelled.py writes them.
"""

from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.reader import ResultFile, read

_FOLDER = Path(str(files("gpubench_reports").joinpath("modelled")))


def baselines() -> list[str]:
    """The names of the devices for which there is one, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


@cache
def baseline(device: str) -> ResultFile:
    """The modelled run of that device. Raises ReportError where there is none."""
    if device not in baselines():
        raise ReportError(device, f"is not modelled; there are {', '.join(baselines())}")
    return read(_FOLDER / f"{device}.json")


def baseline_of(result: ResultFile) -> ResultFile | None:
    """The modelled run of the device that `result` was measured on; None where it is modelled
    itself, or there is none."""
    context = result.context
    if context.modelled or context.device not in baselines():
        return None
    return baseline(context.device)


def modelled_run(device: str, mode: str) -> ResultFile | None:
    """The modelled run of that device; None where there is none, or it is of another mode, in which
    other parts limit."""
    if device not in baselines():
        return None
    found = baseline(device)
    return found if found.context.mode == mode else None


def with_limits(result: ResultFile) -> ResultFile:
    """`result` with what limits its rows (label, terms, bytes by level). If it was measured without
    predictions, a row has from the modelled run of its device and mode what it lacks of these."""
    context = result.context
    if context.modelled or result.is_predicted:
        return result
    modelled = modelled_run(context.device, context.mode)
    known = {row["name"]: row for row in modelled.timed} if modelled else {}
    records = [
        row | _limits(row, known[row["name"]])
        if row["status"] == "ok" and row["name"] in known
        else row
        for row in result.records
    ]
    return replace(result, records=records)


def _limits(row: dict[str, Any], modelled: dict[str, Any]) -> dict[str, Any]:
    moved = {**_bytes(modelled), **_bytes(row)}
    return {
        "label": row["label"] or modelled["label"],
        "terms": row["terms"] or modelled["terms"],
        "raw": row["raw"] | ({"bytes": moved} if moved else {}),
    }


def _bytes(row: dict[str, Any]) -> dict[str, Any]:
    found = row["raw"].get("bytes")
    return found if isinstance(found, dict) else {}
