"""What the reference reaches on each device, modelled: for handouts, and for a lab's page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .build import compile_solution, prepare
from .course import Lab, LabError
from .outputs import written
from .running import run_rows, seconds_of, traced
from .sandbox import Limits
from .temporary import temporary_folder
from .timeline import Operation, profile
from .timing import FULL_MARKS_RATIO, Times

BEGIN, END = "<!-- expected: begin -->", "<!-- expected: end -->"
PROFILES_BEGIN, PROFILES_END = "<!-- profiles: begin -->", "<!-- profiles: end -->"


def expected(lab: Lab, build: Path) -> Times:
    """The reference's seconds, and those of a skeleton that is right. Not by wall: handouts have
    this, and would have the diagnosis."""
    if not lab.reference.exists():
        raise LabError(f"{lab.reference}: no reference here; this is a handout")
    prepare(lab, build)
    found: Times = {
        device: {name: {"seconds": _six_digits(seconds_of(row))} for name, row in rows.items()}
        for device, rows in _timed_rows(lab, build, lab.reference).items()
    }
    if lab.timeline is None:
        return found
    for device, rows in _timed_rows(lab, build, lab.folder / "solution.cuh").items():
        for name, row in rows.items():
            found[device][name]["start_seconds"] = _six_digits(seconds_of(row))
    return found


def traces_of_skeleton(lab: Lab, build: Path, device: str) -> dict[str, list[Operation]]:
    """What it does when, by row. LabError."""
    with temporary_folder("gpubench-lab-") as folder:
        program = compile_solution(lab, build, lab.folder / "solution.cuh", folder)
        return traced(program, folder, f"model:{device}", 1)


def _six_digits(value: float) -> float:
    """The rest would change with every rounding in the model."""
    return float(f"{value:.6g}")


def _timed_rows(lab: Lab, build: Path, solution: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """By device and name. LabError."""
    found = {}
    with temporary_folder("gpubench-lab-") as folder:
        program = compile_solution(lab, build, solution, folder)
        for device in lab.devices:
            ran = run_rows(
                program,
                folder,
                f"model:{device}",
                1,
                "--benchmark_filter=lab/timed",
                limits=Limits(seconds=100),  # a reference ends, on a busy machine too
            )
            if ran.why:
                raise LabError(f"{solution} on {device}: {ran.why}")
            found[device] = ran.rows
    return found


def profiles(lab: Lab, build: Path) -> str:
    """What a diagnosis of the skeleton is made of, on the lab's first device."""
    if lab.timeline is None:
        raise LabError(f"{lab.folder}/lab.toml: has no [timeline]")
    blocks = []
    for name, operations in traces_of_skeleton(lab, build, lab.devices[0]).items():
        step = name.rpartition(":")[2].upper()
        blocks.append(f"Step {step}:\n\n```\n{profile(operations, lab.timeline)}\n```")
    return "\n\n".join(blocks)


def table(found: Times) -> str:
    has_start = any("start_seconds" in row for rows in found.values() for row in rows.values())
    lines = [
        "| device | row | reference, modelled | full marks up to |"
        + (" no marks from |" if has_start else ""),
        "|---|---|---|---|" + ("---|" if has_start else ""),
    ]
    for device, rows in found.items():
        for name, row in rows.items():
            us = row["seconds"] * 1e6
            worst = f" {row['start_seconds'] * 1e6:.3g} µs |" if has_start else ""
            lines.append(
                f"| {device} | `{name}` | {us:.3g} µs | {us * FULL_MARKS_RATIO:.3g} µs |{worst}"
            )
    return "\n".join(lines)


def page_with(lab: Lab, build: Path, page: str, found: Times) -> str:
    """The lab's page with its tables and profiles between their marks."""
    page = _between(page, BEGIN, END, table(found))
    if lab.timeline is None:
        return page
    return _between(page, PROFILES_BEGIN, PROFILES_END, profiles(lab, build))


def _between(page: str, begin: str, end: str, text: str) -> str:
    if begin not in page or end not in page:
        raise LabError(f"the page has no place for the table: {begin} and {end}")
    before, rest = page.split(begin, 1)
    after = rest.split(end, 1)[1]
    return f"{before}{begin}\n{text}\n{end}{after}"


def write(lab: Lab, build: Path) -> None:
    found = expected(lab, build)
    page = lab.folder / "README.md"
    changed = page_with(lab, build, page.read_text(encoding="utf-8"), found)
    with written(lab.folder / "expected.json") as file:
        file.write(json.dumps(found, indent=2, sort_keys=True) + "\n")
    with written(page) as file:
        file.write(changed)
