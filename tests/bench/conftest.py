"""Runs the built program as a user would, and parses what it wrote."""

from __future__ import annotations

import json
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


def concepts() -> list[str]:
    return sorted(path.stem for path in (ROOT / "bench").glob("*.cu"))


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    if not (BUILD / "gpubench-model").exists():
        pytest.skip(f"gpubench-model is not built in {BUILD}", allow_module_level=True)
