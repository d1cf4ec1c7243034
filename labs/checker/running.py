"""Runs a lab's program, and reads what it wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .build import Program
from .course import LabError
from .device import is_model
from .sandbox import Limits, run


@dataclass(frozen=True)
class Ran:
    rows: dict[str, dict[str, Any]]  # by name; none if `why`
    why: str = ""
    diagnoses: tuple[str, ...] = ()  # the emulator's: what, where and who


def run_rows(
    program: Program, here: Path, device: str, seed: int, *flags: str, limits: Limits | None = None
) -> Ran:
    modelled = ["--whole_grids"] if is_model(device) else []
    ended = run(
        [
            str(program.path),
            f"--device={device}",
            f"--seed={seed}",
            "--benchmark_format=json",
            *modelled,
            *flags,
        ],
        here,
        limits,
    )
    if ended.why:
        return Ran({}, ended.why)
    mark = "model device: "
    said = ended.stderr.strip().splitlines()
    diagnoses = tuple(line.removeprefix(mark) for line in said if line.startswith(mark))
    try:
        rows = {row["name"]: row for row in json.loads(ended.stdout)["benchmarks"]}
    except (json.JSONDecodeError, KeyError, TypeError):
        return Ran({}, f"broke off: {said[-1] if said else 'it wrote no results'}")
    return Ran(rows, diagnoses=diagnoses)


def explained(
    program: Program, here: Path, device: str, seed: int, row: str
) -> tuple[dict[str, Any], str]:
    """What one warp's accesses cost, line by line: as data, and as the text with the warp view."""
    out = here / "explained.json"
    ended = run(
        [
            str(program.path),
            f"--device={device}",
            f"--seed={seed}",
            f"--explain={row}",
            f"--benchmark_out={out}",
            "--benchmark_out_format=json",
        ],
        here,
        Limits(),
    )
    beside = out.with_suffix(".explain.json")
    if ended.why or not beside.exists():
        raise LabError(f"--explain={row}: {ended.why or ended.stderr.strip()}")
    return json.loads(beside.read_text()), ended.stdout


def seconds_of(row: dict[str, Any]) -> float:
    return (
        float(row["real_time"]) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[row["time_unit"]]
    )
