"""Grades time, as a ratio to the reference's."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

from .build import compile_solution
from .course import Lab, LabError, read_numbers
from .report import Part
from .requirement import value_of
from .running import run_rows, seconds_of

# As CS149 grades: all points up to this ratio to the reference's time, none beyond the other.
FULL_MARKS_RATIO = 1.2
NO_MARKS_RATIO = 10.0

TIMED = "lab/timed"  # how the names of timed rows begin

Times = dict[str, dict[str, dict[str, float]]]  # device -> row -> what is known of it


def share_of_points(ratio: float, worst: float = NO_MARKS_RATIO) -> float:
    """1 up to FULL_MARKS_RATIO, 0 from `worst` on, between them linear in its logarithm."""
    if ratio <= FULL_MARKS_RATIO:
        return 1.0
    if ratio >= worst:
        return 0.0
    return math.log(worst / ratio) / math.log(worst / FULL_MARKS_RATIO)


def known_times(lab: Lab) -> Times:
    """What expected.json holds; nothing where there is none. LabError."""
    path = lab.folder / "expected.json"
    if not path.exists():
        return {}
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(known, dict):
            raise ValueError("not a table of devices")
        return {device: _times_of(lab, device, known) for device in known}
    except ValueError as error:
        raise _broken(lab, str(error)) from None


def _times_of(lab: Lab, device: str, known: dict[str, Any]) -> dict[str, dict[str, float]]:
    """ValueError."""
    needed = ("seconds", "start_seconds") if lab.starts_right else ("seconds",)
    rows = value_of(known, device, dict)
    if not rows:
        raise ValueError(f"{device}: no times of any row")
    times = {row: read_numbers(rows, row, ("seconds", "start_seconds")) for row in rows}
    for row, numbers in times.items():
        if missing := [key for key in needed if key not in numbers]:
            raise ValueError(f"{device}: [{row}] has no {missing[0]}")
    return times


def _broken(lab: Lab, what: str) -> LabError:
    again = f"; scripts/lab expected {lab.number} writes it anew" if lab.reference.exists() else ""
    return LabError(f"{lab.folder / 'expected.json'}: {what}{again}")


def no_marks_ratios(lab: Lab, model: str) -> dict[str, float]:
    """By row, the ratio that a skeleton has which is right and slow: nobody has made it faster.

    On a device that the lab does not list it is that of the first one listed.
    """
    if not lab.starts_right:
        return {}
    known = known_times(lab)
    rows = known.get(model.removeprefix("model:"), known.get(lab.devices[0]))
    if rows is None:
        raise _broken(lab, f"has no {lab.devices[0]}")
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
    ran = run_rows(program, folder, device, seed, f"--benchmark_filter={TIMED}")
    if ran.why:
        raise LabError(f"{lab.reference}: {ran.why}")
    return {name: seconds_of(row) for name, row in ran.rows.items()}


def modelled_reference(
    lab: Lab, build: Path, here: Path, model: str, seed: int, rows: Collection[str]
) -> tuple[dict[str, float], str]:
    """The same on a model device, and where it is from; empty, and why, where unknown.
    `rows`: those that the solution ran.

    What the model says of the reference does not change from run to run, so it is kept.
    """
    known = known_times(lab)
    name = model.removeprefix("model:")
    if name in known:
        if differing := {row for row in rows if row.startswith(TIMED)} ^ known[name].keys():
            first = min(differing)
            what = "lacks a row that is timed" if first in rows else "has a row that was not timed"
            raise _broken(lab, f"{name}: {what}, {first}")
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
