"""Runs the program whose rows break, and says what became of each."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from .conftest import BUILD

PROGRAM = BUILD / "gpubench-faulty"
DEVICE = "--device=model:h200-sxm"


def run_faulty(
    rows: str, out: Path | None, *flags: str, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """A run of the rows of concept `faulty` whose names begin so."""
    command = [str(PROGRAM), DEVICE, f"--benchmark_filter=^faulty/({rows})(/|$)", *flags]
    if out is not None:
        command.append(f"--benchmark_out={out}")
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=os.environ | {"COLUMNS": "200"},
    )


def rows_in(out: Path) -> dict[str, dict[str, Any]]:
    """By name without the concept."""
    rows = json.loads(out.read_text())["benchmarks"]
    return {row["name"].removeprefix("faulty/"): row for row in rows}


def outcome(row: dict[str, Any]) -> str:
    """In a few words, as the fault matrix has it."""
    if row.get("skipped"):
        return "skipped: " + without_numbers(row["skip_reason"])
    if row.get("error_occurred"):
        why = row["error_message"]
        if row["error_kind"] != "crash":
            why = row.get("diagnosis", why)
        return f"failed, {row['error_kind']}: " + without_numbers(why)
    return "measured"


def without_numbers(text: str) -> str:
    """What another compiler or machine may say differently is left out."""
    return re.sub(r"\(0x[0-9a-f]+\)|0x[0-9a-f]+", "...", text)
