"""Grades time, as a ratio to the reference's."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from .build import compile_solution
from .course import Lab, LabError
from .report import Part
from .running import run_rows, seconds_of

# As CS149 grades: all points up to this ratio to the reference's time, none beyond the other.
FULL_MARKS_RATIO = 1.2
NO_MARKS_RATIO = 10.0


def share_of_points(ratio: float, worst: float = NO_MARKS_RATIO) -> float:
    """1 up to FULL_MARKS_RATIO, 0 from `worst` on, between them linear in its logarithm."""
    if ratio <= FULL_MARKS_RATIO:
        return 1.0
    if ratio >= worst:
        return 0.0
    return math.log(worst / ratio) / math.log(worst / FULL_MARKS_RATIO)


def no_marks_ratios(lab: Lab, model: str) -> dict[str, float]:
    """By row, the ratio that a skeleton has which is right and slow: nobody has made it faster.

    On a device that the lab does not list it is that of the first one listed.
    """
    if not lab.starts_right:
        return {}
    known = json.loads((lab.folder / "expected.json").read_text())
    rows = known.get(model.removeprefix("model:"), known[lab.devices[0]])
    return {name: row["start_seconds"] / row["seconds"] for name, row in rows.items()}


def is_faster(row: dict[str, Any], reference: float, worst: float) -> bool:
    """Than a skeleton of the ratio `worst` to the reference, by more than the model rounds."""
    return seconds_of(row) < 0.99 * worst * reference


def run_reference(
    lab: Lab, build: Path, here: Path, device: str, seed: int, kind: str
) -> dict[str, float]:
    """The reference's times by row. LabError."""
    folder = here / f"reference{kind}"
    folder.mkdir()
    program = compile_solution(lab, build, lab.reference, folder, kind)
    ran = run_rows(program, folder, device, seed, "--benchmark_filter=lab/timed")
    if ran.why:
        raise LabError(f"{lab.reference}: {ran.why}")
    return {name: seconds_of(row) for name, row in ran.rows.items()}


def modelled_reference(
    lab: Lab, build: Path, here: Path, model: str, seed: int
) -> tuple[dict[str, float], str]:
    """The same on a model device, and where it is from; empty, and why, where unknown.

    What the model says of the reference does not change from run to run, so it is kept.
    """
    kept = lab.folder / "expected.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    name = model.removeprefix("model:")
    if name in known:
        return {row: of["seconds"] for row, of in known[name].items()}, "the reference, modelled"
    if not lab.reference.exists():
        return {}, f"nothing to compare with: the handout knows {', '.join(known)}, modelled"
    return run_reference(lab, build, here, model, seed, ""), "the reference, modelled here"


def grade_time(
    rows: dict[str, dict[str, Any]],
    reference: dict[str, float],
    source: str,
    part: Part,
    worst: dict[str, float],
) -> None:
    """Points for the rows' times, as ratios to the reference's; `source`: where those are from;
    `worst`: the ratios that get none, where these are not the usual ones."""
    if not reference:
        part.lines.append(source)
        return
    shares = []
    for name, seconds in reference.items():
        ratio = seconds_of(rows[name]) / seconds
        shares.append(share_of_points(ratio, worst.get(name, NO_MARKS_RATIO)))
        bound = rows[name].get("label", "")
        part.lines.append(
            f"{name}: {seconds_of(rows[name]) * 1e6:.3g} us, {ratio:.2f} x {source}"
            + (f"; bound by {bound}" if bound else "")
        )
    part.points = part.of * sum(shares) / len(shares)
