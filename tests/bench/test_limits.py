"""Runs within a limit that the system sets: of what a file may hold (ulimit -f)."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest

from .conftest import BUILD, SHORT_ROWS

MODEL = "--device=model:h200-sxm"


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
