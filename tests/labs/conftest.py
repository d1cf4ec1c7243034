"""The checker of the labs, and the labs it finds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT / "labs"))

from checker import expected, grade  # noqa: E402
from checker.build import prepare  # noqa: E402
from checker.course import Lab, all_labs  # noqa: E402

LABS = all_labs(ROOT)


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    if not (BUILD / "build.ninja").exists():
        pytest.skip(f"{BUILD} is not configured", allow_module_level=True)


@pytest.fixture(scope="session")
def prepared(built: None) -> Iterator[list[Lab]]:
    """Every lab's program but for the solution; who grades need not ask ninja again and again."""
    for lab in LABS:
        prepare(lab, BUILD)
    with pytest.MonkeyPatch.context() as patch:
        for module in (expected, grade):
            patch.setattr(module, "prepare", lambda *_: None)
        yield LABS
