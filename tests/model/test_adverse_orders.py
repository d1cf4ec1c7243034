"""Kernel tests where blocks, warps and lanes run in any order and bulk copies land last."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))
PROFILES = ROOT / "tests" / "data" / "conditions"
# How long a tile is waited for depends on what else is under way when a lane comes by.
IN_ORDER = "AsyncCopyCounts.ATileIsWaitedForOnceByTheShareThatThoseUnderWayLeave"


# Whose kernels wait for others: by barriers, copies under way, atomics.
TELLING = ("async_copy*", "atomics*", "reduction*")


def fixtures(concepts: tuple[str, ...]) -> set[str]:
    """Those that test these concepts' kernels, results and counts."""
    folder = ROOT / "tests" / "kernels"
    files = [file for concept in concepts for file in folder.glob(f"{concept}_test.cpp")]
    return {name for file in files for name in re.findall(r"TEST_F\((\w+)", file.read_text())}


@pytest.mark.parametrize(
    ("profile", "concepts", "at_least"),
    [
        ("random-order", TELLING, 8),
        pytest.param("random-order", ("*",), 80, marks=pytest.mark.release),
        pytest.param("late", ("*",), 80, marks=pytest.mark.release),
    ],
)
def test_results_and_counts_do_not_depend_on_the_order(
    profile: str, concepts: tuple[str, ...], at_least: int
) -> None:
    program = BUILD / "model_tests"
    if not program.exists():
        pytest.skip(f"model_tests is not built in {BUILD}")
    tests = ":".join(f"{fixture}.*" for fixture in sorted(fixtures(concepts)))
    done = subprocess.run(
        [program, "--gtest_brief=1", f"--gtest_filter={tests}:-{IN_ORDER}"],
        env=os.environ | {"GPUBENCH_TEST_CONDITIONS": str(PROFILES / f"{profile}.json")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    passed = re.search(r"PASSED  \] (\d+) tests", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= at_least
