"""Runs the built program as a user would, and parses what it wrote."""

from __future__ import annotations

import json
import math
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))


def run(*flags: str, build: Path = BUILD) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(build / "gpubench"), *flags], capture_output=True, text=True, timeout=300, check=False
    )


def rows_of(*flags: str, build: Path = BUILD) -> dict[str, dict]:
    """The rows of a run by name; the run has succeeded."""
    done = run(*flags, "--benchmark_format=json", build=build)
    assert done.returncode == 0, done.stderr
    return {row["name"]: row for row in json.loads(done.stdout)["benchmarks"]}


def seconds_of_a_busy_memory(waiting: float, busy: float, queue: float) -> float:
    """The time of loads that would wait for `waiting` seconds, and keep memory busy for `busy`.

    At a fraction u of its bandwidth they wait `queue` u / (1 - u) seconds longer, in all: the
    larger root of (time - waiting) (time - busy) = queue busy.
    """
    half = (waiting + busy) / 2
    return half + math.sqrt(half**2 - waiting * busy + queue * busy)


def concepts() -> list[str]:
    return sorted(path.stem for path in (ROOT / "bench").glob("*.cu"))


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    if not (BUILD / "gpubench-model").exists():
        pytest.skip(f"gpubench-model is not built in {BUILD}", allow_module_level=True)
