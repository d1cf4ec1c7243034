"""Which package is tested, the order of files, what only `scripts/test --all` runs, a browser."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from reports.browser import Browser, find_browser

# That of this checkout, here and in what tests start: an installed one may be of another, and then
# no change here could fail a test.
REPORTS = str(Path(__file__).resolve().parents[1] / "reports")
sys.path.insert(0, REPORTS)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (REPORTS, os.environ.get("PYTHONPATH"))))

# Where several processes share them, the longest must not come last.
LONGEST = (
    "test_concepts",
    "test_submissions",
    "test_read_only",
    "test_compiled_code",
    "test_killed_nights",
    "test_situations",
    "test_audit",
    "test_validate_gpu",
    "test_fortnight",
    "test_diagnosis",
    "test_cli",
)


# Set by scripts/test --all.
EVERYTHING = "GPUBENCH_ALL_TESTS" in os.environ


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "release: takes long; run by scripts/test --all only")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    order = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))
    if EVERYTHING:
        return
    left_out = [item for item in items if item.get_closest_marker("release")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("release")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium: apt-get install chromium")
    opened = Browser(program, tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()
