"""Runs the built program as a user would, and parses what it wrote."""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Literal

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))
# Set by scripts/test --all.
EVERYTHING = "GPUBENCH_ALL_TESTS" in os.environ

# Rows that take next to no time, and how many they are: for runs that are broken off.
SHORT_ROWS = "--benchmark_filter=^(coalescing|bank_conflicts)/strided"
SHORT_ROWS_COUNT = 24

# Rows of the default suite that take seconds and say little beside their neighbours: only
# scripts/test --all runs them.
LONG_ROWS = (
    "training_step/step/with:(odd_vocabulary|buckets|fused_adamw|starved|all_reduce)/hidden:2048"
    "|gemm_ladder/(register_1d|register_2d|vectorised|mma_sync)/"
    "|attention/tiled/seq:2048/head_dim:128/causal:1"
)
# Concepts of which a row takes seconds.
LONG_CONCEPTS = ("attention", "gemm_ladder", "training_step")

RowsOfConcept = Callable[..., dict[str, dict]]


def run(*flags: str, build: Path = BUILD) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(build / "gpubench"), *flags], capture_output=True, text=True, timeout=300, check=False
    )


def rows_of(*flags: str, build: Path = BUILD) -> dict[str, dict]:
    """The rows of a run by name; the run has succeeded."""
    done = run(*flags, "--benchmark_format=json", build=build)
    assert done.returncode == 0, done.stderr
    return {row["name"]: row for row in json.loads(done.stdout)["benchmarks"]}


def is_run(name: str, long_rows: str = LONG_ROWS) -> bool:
    """Whether this run of the tests has the row."""
    return EVERYTHING or not re.match(long_rows, name)


def but_for(long_rows: str, rows: str, suite: str = "full") -> tuple[str, str]:
    """The flags for these rows of a suite, without the long ones unless scripts/test --all runs."""
    flags = (f"--suite={suite}", f"--benchmark_filter=^({rows})")
    if EVERYTHING:
        return flags
    names = run("--benchmark_list_tests", *flags).stdout.split()
    short = "|".join(name for name in names if is_run(name, long_rows))
    return flags[0], f"--benchmark_filter=^({short})$"


def seconds_of_a_busy_memory(waiting: float, busy: float, queue: float) -> float:
    """The time of loads that would wait for `waiting` seconds, and keep memory busy for `busy`.

    At a fraction u of its bandwidth they wait `queue` u / (1 - u) seconds longer, in all: the
    larger root of (time - waiting) (time - busy) = queue busy.
    """
    half = (waiting + busy) / 2
    return half + math.sqrt(half**2 - waiting * busy + queue * busy)


def first_rows(names: list[str], of: Literal["concept", "kernel"]) -> list[str]:
    """The first row of each concept, or of each kernel of it; without LONG_CONCEPTS unless
    scripts/test --all runs."""
    parts = 1 if of == "concept" else 2
    first: dict[tuple[str, ...], str] = {}
    for name in names:
        if EVERYTHING or not name.startswith(LONG_CONCEPTS):
            first.setdefault(tuple(name.split("/")[:parts]), name)
    return list(first.values())


def concepts() -> list[str]:
    return sorted(path.stem for path in (ROOT / "bench").glob("*.cu"))


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    for program in ("gpubench", "gpubench-model"):
        if not (BUILD / program).exists():
            pytest.skip(
                f"{program} is not built in {BUILD}; set GPUBENCH_BUILD_DIR to where it is",
                allow_module_level=True,
            )


@pytest.fixture(scope="session")
def daily() -> list[str]:
    """The names of the default suite."""
    return run("--benchmark_list_tests").stdout.split()


@pytest.fixture(scope="session")
def rows_of_concept(daily: list[str], tmp_path_factory: pytest.TempPathFactory) -> RowsOfConcept:
    """rows_of_concept(name, device="h200-sxm"): its rows of the default suite, or of the full one
    if that has none, without LONG_ROWS. They are run once, for all tests and for all processes of
    pytest."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # the one that they share

    @cache
    def rows(concept: str, device: str = "h200-sxm") -> dict[str, dict]:
        suite = "default" if any(name.startswith(f"{concept}/") for name in daily) else "full"
        kept = folder / f"{concept}-{device}.json"
        with kept.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                flags = but_for(LONG_ROWS, f"{concept}/", suite)
                kept.write_text(json.dumps(rows_of(f"--device=model:{device}", *flags)))
            return json.loads(kept.read_text())

    return rows


def figures(device: str) -> dict[str, float]:
    """What the device's file says, by name."""
    file = json.loads((ROOT / f"harness/devices/{device}.json").read_text())
    return {name: figure["value"] for name, figure in file["figures"].items()}
