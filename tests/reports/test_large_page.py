"""A page of a thousand rows: how large it is, and what it costs."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from gpubench_reports.pages.html.build import LARGEST, build
from gpubench_reports.results.reader import read

from .large import document


def page_of(rows: int, folder: Path) -> tuple[bytes, float]:
    """The page, and the processor time that it took [s]: drawn in this process, see conftest.py."""
    path = folder / f"{rows}.json"
    path.write_text(json.dumps(document(rows)))
    begin = time.process_time()
    page = build(read(path))
    return page, time.process_time() - begin


@pytest.mark.release
def test_a_thousand_rows_fit_a_page_with_all_their_charts(tmp_path: Path) -> None:
    page, _ = page_of(1000, tmp_path)
    assert len(page) <= LARGEST == 4_000_000
    assert page.count(b'<tr id="row-') == 1000
    assert b"is left out to keep this page small" not in page


@pytest.mark.release
def test_many_rows_take_little_longer_than_few(tmp_path: Path) -> None:
    _, seconds = page_of(1000, tmp_path)
    # What the page of few costs is its concepts.
    _, few = page_of(400, tmp_path)
    assert seconds < 2 * few


@pytest.mark.release
def test_more_rows_than_a_page_holds_leave_out_the_last_charts(tmp_path: Path) -> None:
    page, _ = page_of(2000, tmp_path)
    assert len(page) <= LARGEST
    assert page.count(b'<tr id="row-') == 1200
    left = re.findall(rb"(\S+) is left out to keep this page small", page)
    assert b"concept-coalescing" not in left
    assert page.count(b"<figure id=") >= 20
