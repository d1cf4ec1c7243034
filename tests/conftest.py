"""Which package is tested, and the order of the files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

# That of this checkout, here and in what tests start: an installed one may be of another, and then
# no change here could fail a test.
REPORTS = str(Path(__file__).resolve().parents[1] / "reports")
sys.path.insert(0, REPORTS)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (REPORTS, os.environ.get("PYTHONPATH"))))

# Where several processes share them, the longest must not come last.
LONGEST = ("test_submissions", "test_offline", "test_audit", "test_concepts")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))
