"""A report as text for the terminal, as Gradescope's results.json, as a row of a class summary."""

from __future__ import annotations

import math
from typing import Any

from .course import PARTS
from .device import is_model
from .report import Part, Report, one_line, short


def as_text(report: Report, known_predictions: bool = False) -> str:
    """`known_predictions`: what is said of them was said before, and is left out."""
    lab = report.lab
    modelled = (
        "modelled, not measured" if is_model(report.device) else "measured; counted on the model"
    )
    lines = [
        f"Lab {lab.number}: {lab.title}   ({report.device}, {modelled}; seed {report.seed})",
        "",
    ]
    for part in report.parts:
        if part.of == 0 and not part.lines:
            continue
        lines.append(f"{part.name:<12} {worth(part)}")
        if part.name == "predictions" and known_predictions and not report.waits_for_predictions:
            lines.append("    as before: --predictions shows them again")
        else:
            lines += [f"    {line}" for line in part.told]
    lines += ["", f"{'total':<12} {points(report.points):>5} of 100"]
    if report.isolation:
        lines.append(f"run {report.isolation}")
    return "\n".join(lines)


def worth(part: Part) -> str:
    """The points of a part; where it has none, whether it lets others have theirs."""
    if part.of > 0:
        return f"{points(part.points):>5} of {part.of:g}"
    return "right" if part.is_full else "no points for the code yet"


# The characters that start a formula, the tab and the carriage return that some spreadsheets skip,
# and what a Japanese or Chinese one takes as well: fullwidth and small forms.
STARTS_FORMULA = tuple("=+-@\t\r" + "\uff1d\uff0b\uff0d\uff20" + "\ufe66\ufe62\ufe63\ufe6b")


def cell(text: str) -> str:
    """As a cell of one line that no spreadsheet takes for a formula."""
    return one_line(f"'{text}" if text.startswith(STARTS_FORMULA) else text)


def points(value: float) -> str:
    """Rounded down to a tenth, so that 100 is only said of 100."""
    return f"{math.floor(value * 10 + 1e-9) / 10:g}"


SEEN_BY_STUDENTS = {"visibility": "visible", "stdout_visibility": "hidden"}


def as_gradescope(report: Report) -> dict[str, Any]:
    """https://gradescope-autograders.readthedocs.io/en/latest/specs/, results.json."""
    return {
        "score": round(report.points, 2),
        "output": f"{report.lab.title}, on {report.device}, seed {report.seed}"
        + (f", run {report.isolation}" if report.isolation else ""),
        **SEEN_BY_STUDENTS,
        "tests": [
            {
                "name": part.name,
                "score": round(part.points, 2),
                "max_score": part.of,
                "status": "passed" if part.is_full else "failed",
                "output": "\n".join(part.told),
            }
            for part in report.parts
        ],
    }


def as_gradescope_ungraded(why: str) -> dict[str, Any]:
    """With a score, without which Gradescope would call it a failure of the autograder."""
    return {"score": 0, "output": short(f"not graded: {why}"), **SEEN_BY_STUDENTS}


SUMMARY_COLUMNS = ("student", "lab", "total", *PARTS, "device", "seed", "run", "remark")


def remark_of(part: Part) -> str:
    """What a part lost points for, in one line: a heading with what stands below it. A compiler's
    warning costs none, so it is told only where there is nothing else."""
    lost = [line for line in part.told if not line.startswith("right ")]
    told = [line for line in lost if " warning: " not in line] or lost or part.told
    return " ".join(told[:2]) if told[0].endswith(":") else told[0]


def as_summary(student: str, report: Report) -> dict[str, Any]:
    remark = next((remark_of(p) for p in report.parts if p.lines and not p.is_full), "")
    return {
        "student": cell(student),
        "lab": report.lab.folder.name,
        "total": round(report.points, 2),
        **{part.name: round(part.points, 2) for part in report.parts},
        "device": report.device,
        "seed": report.seed,
        "run": report.isolation,
        "remark": cell(remark),
    }


def as_ungraded(student: str, lab: str, why: str) -> dict[str, Any]:
    """No points, which is not the same as none reached."""
    return {"student": cell(student), "lab": lab, "remark": cell(short(f"not graded: {why}"))}
