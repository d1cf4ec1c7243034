"""A result file and what the rules say of it, for other programs."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from gpubench_reports.common.json_text import json_text
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.diagnosis.diagnose import Diagnosis
from gpubench_reports.rules.verdicts.health import health
from gpubench_reports.rules.verdicts.verdict import Verdict

# Columns of the reader's table, in SI base units.
_FIGURES = ("value", "low", "high", "law_value", "predicted", "seconds", "law_ratio")


def as_json(result: ResultFile, verdicts: Mapping[str, Verdict]) -> str:
    """What `gpubench-report table` says; what is not known is null."""
    state, context = health(result), result.context
    found = {
        "file": str(result.path),
        "device": context.device,
        "modelled": context.modelled,
        "interrupted": context.interrupted,
        "reservations": context.reservations,
        "healthy": state.well,
        "seen": state.sentences,
        "fault": _fault(state.fault) if state.fault else None,
        "grades": Counter(verdict.grade for verdict in verdicts.values()),
        "bound_by": Counter(verdict.wall or "unknown" for verdict in verdicts.values()),
        "rows": [_row(row, verdicts) for row in result.records],
    }
    return json_text(found)


def _fault(fault: Diagnosis) -> dict[str, Any]:
    return {
        "name": fault.fault,
        "factor": fault.factor,
        "says": fault.sentence,
        "look_at": fault.look,
        "of_device": fault.of_device,
        "rows": len(fault.rows),
    }


def _row(row: dict[str, Any], verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    found = {"name": row["name"], "concept": row["concept"], "status": row["status"]}
    if row["status"] != "ok":
        return found | {"reason": row["reason"]}
    figures = {name: row[name] for name in _FIGURES}
    found |= {"figure": row["headline"], "unit": row["unit"], "better": row["better"], **figures}
    found |= {"roof": row["roof"] or None, "of_roof": row["roof_fraction"]}
    verdict = verdicts.get(row["name"])
    if verdict is None:
        return found
    return found | {
        "grade": verdict.grade,
        "share": verdict.share,
        "of": verdict.yardstick or None,
        "bound_by": verdict.bound or None,
        "bound_from_model": verdict.borrowed,
        "wall": verdict.wall or None,
        "why": [cause.says for cause in verdict.causes],
    }
