"""The fault matrix of docs/reliability.md is what the faults come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from .fault_matrix import block, limited_rows, matrix, of_rows, written


def test_the_page_has_what_becomes_of_rows_that_a_limit_ends(tmp_path: Path) -> None:
    for line in block(list(of_rows(limited_rows(tmp_path)))).splitlines()[4:]:
        assert line in written()


@pytest.mark.release
def test_the_whole_matrix_is_the_pages(tmp_path: Path) -> None:
    lines = matrix(tmp_path)
    assert len(lines) >= 60
    assert block(lines).splitlines() == written()
