"""The checker of the labs, and the labs it finds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT / "labs"))

from checker.build import prepare  # noqa: E402
from checker.course import Lab, all_labs  # noqa: E402

LABS = all_labs(ROOT)


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    if not (BUILD / "build.ninja").exists():
        pytest.skip(f"{BUILD} is not configured", allow_module_level=True)


@pytest.fixture(scope="session")
def prepared(built: None) -> list[Lab]:
    for lab in LABS:
        prepare(lab, BUILD)
    return LABS
