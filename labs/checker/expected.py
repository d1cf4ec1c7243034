"""What the reference reaches on each device, modelled: for handouts, and for a lab's page."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from .build import compile_solution, prepare
from .course import Lab, LabError
from .grade import FULL_MARKS_RATIO, run_rows, seconds_of
from .sandbox import Limits

BEGIN, END = "<!-- expected: begin -->", "<!-- expected: end -->"


def expected(lab: Lab, build: Path) -> dict[str, dict[str, dict[str, float]]]:
    """device -> row -> seconds and useful bytes/s of the reference."""
    if not lab.reference.exists():
        raise LabError(f"{lab.reference}: no reference here; this is a handout")
    prepare(lab, build)
    found: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="gpubench-lab-") as folder:
        program = compile_solution(lab, build, lab.reference, Path(folder))
        for device in lab.devices:
            ran = run_rows(
                program,
                Path(folder),
                f"model:{device}",
                1,
                "--benchmark_filter=lab/timed",
                limits=Limits(seconds=100),  # a reference ends, on a busy machine too
            )
            if ran.why:
                raise LabError(f"{lab.reference} on {device}: {ran.why}")
            # Six digits: the rest would change with every rounding in the model.
            found[device] = {
                name: {"seconds": float(f"{seconds_of(row):.6g}")} for name, row in ran.rows.items()
            }
    return found


def table(found: dict[str, dict[str, dict[str, float]]]) -> str:
    lines = [
        "| device | row | reference, modelled | full marks up to |",
        "|---|---|---|---|",
    ]
    for device, rows in found.items():
        for name, row in rows.items():
            us = row["seconds"] * 1e6
            lines.append(f"| {device} | `{name}` | {us:.3g} µs | {us * FULL_MARKS_RATIO:.3g} µs |")
    return "\n".join(lines)


def page_with(page: str, found: dict[str, dict[str, dict[str, float]]]) -> str:
    """The lab's page with the table between its marks."""
    if BEGIN not in page or END not in page:
        raise LabError(f"the page has no place for the table: {BEGIN} and {END}")
    before, rest = page.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    return f"{before}{BEGIN}\n{table(found)}\n{END}{after}"


def write(lab: Lab, build: Path) -> None:
    found = expected(lab, build)
    page = lab.folder / "README.md"
    changed = page_with(page.read_text(encoding="utf-8"), found)
    (lab.folder / "expected.json").write_text(
        json.dumps(found, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )
    page.write_text(changed, encoding="utf-8")
