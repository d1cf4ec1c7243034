"""1,000 kernels with random control flow, counted as their trees say (tests/model/flow)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))
PROGRAM = BUILD / "flow_tests"


@pytest.mark.release
def test_a_thousand_kernels_count_as_their_trees_say() -> None:
    assert PROGRAM.exists(), f"{PROGRAM} is not built"
    done = subprocess.run(
        [str(PROGRAM), "--gtest_brief=1"], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
