"""Budgets that a row keeps or fails by, however short it is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .conftest import run
from .faulty import DEVICE, rows_in, run_faulty

TWO_ROWS = "--benchmark_filter=^bank_conflicts/strided/bytes:4/stride:[12]$"


def bytes_of_the_program_alone() -> float:
    """As the refusal of a budget below them names them."""
    done = run(DEVICE, TWO_ROWS, "--row_memory=1")
    assert done.returncode == 2, done.stdout
    line = r"gpubench: --row_memory=1: the program alone takes ([0-9]+) bytes\n"
    found = re.fullmatch(line, done.stderr)
    assert found, done.stderr
    return float(found[1])


def test_a_budget_below_what_the_program_takes_is_one_clear_line() -> None:
    assert 1e6 < bytes_of_the_program_alone() < 1e10


def test_rows_that_end_before_anybody_looks_keep_to_their_memory(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    budget = int(1.2 * bytes_of_the_program_alone())  # less than the emulator's first buffers
    done = run(DEVICE, TWO_ROWS, f"--row_memory={budget}", f"--benchmark_out={out}")
    assert done.returncode == 1, done.stdout
    assert "0 rows modelled, 0 skipped, 2 failed" in done.stdout
    for row in rows_in(out).values():
        assert row["error_kind"] == "out_of_memory"
        assert row["error_message"].endswith("bytes of the host's memory (--row_memory)")
    done = run(DEVICE, TWO_ROWS, "--row_memory=10000000000")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("row", ["out_of_bounds", "endless"])
def test_a_run_whose_last_row_breaks_the_device_is_shown_once(row: str) -> None:
    done = run_faulty(f"sound_first|{row}", None, "--row_limit=0.5", "--benchmark_format=json")
    assert done.returncode == 1
    rows = json.loads(done.stdout)["benchmarks"]  # one document
    assert rows[-1]["name"] == f"faulty/{row}"
    assert rows[-1]["error_occurred"]
