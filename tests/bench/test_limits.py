"""Runs within limits that the system sets: of CPU time (ulimit -t) and of a file (ulimit -f)."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from .conftest import BUILD, ROOT, SHORT_ROWS, SHORT_ROWS_COUNT, run

MODEL = "--device=model:h200-sxm"
TIMES = 12  # the short rows take longer than a second of CPU time


def limited(limit: int, value: int, *flags: str) -> subprocess.CompletedProcess[str]:
    """With a hard limit alone, as `ulimit` sets it."""
    return subprocess.run(
        [str(BUILD / "gpubench"), MODEL, *flags],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(limit, (value, value)),
    )


def test_a_hard_limit_of_cpu_time_ends_a_run_after_its_row(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    conditions = f"--conditions={ROOT}/tests/data/conditions/kind.json"  # without helpers
    flags = (SHORT_ROWS, conditions, f"--benchmark_repetitions={TIMES}", f"--benchmark_out={out}")
    done = limited(resource.RLIMIT_CPU, 1, *flags)
    assert done.returncode == 128 + signal.SIGXCPU, done.stderr
    assert done.stderr == ""
    result = json.loads(out.read_text())
    assert result["context"]["interrupted"] is True
    rows = result["benchmarks"]
    assert 0 < len(rows) < TIMES * SHORT_ROWS_COUNT
    assert not any("error_occurred" in row for row in rows)
    done = run(MODEL, *flags[:-1], f"--resume={out}")
    assert done.returncode == 0, done.stderr


def test_a_row_beyond_a_limit_of_cpu_time_has_not_failed(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    long = ("--benchmark_filter=^transpose/by_tile/direction:copy$", "--whole_grids")
    done = limited(resource.RLIMIT_CPU, 1, *long, f"--benchmark_out={out}")
    assert done.returncode == 128 + signal.SIGXCPU, done.stderr
    [line] = done.stderr.splitlines()
    assert line.endswith("at the limit of 1 s of CPU time (ulimit -t)")
    assert "interrupted before the first row was finished" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [0, 1024])
def test_a_limit_of_files_that_none_fits_in_is_one_clear_line(tmp_path: Path, size: int) -> None:
    out = tmp_path / "run.json"
    done = limited(resource.RLIMIT_FSIZE, size, SHORT_ROWS, f"--benchmark_out={out}")
    assert done.returncode == 2
    assert done.stderr == f"gpubench: cannot write '{out}.journal': File too large\n"
    assert list(tmp_path.iterdir()) == []


def test_a_limit_of_files_holds_for_what_is_kept_in_memory() -> None:
    done = limited(resource.RLIMIT_FSIZE, 0, SHORT_ROWS)
    assert done.returncode == 2
    assert done.stderr == "gpubench: cannot keep rows in memory: File too large\n"
