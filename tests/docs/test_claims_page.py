"""The tables of docs/claims.md are what the modelled files say."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import claims  # noqa: E402


def test_the_page_has_what_the_modelled_files_say() -> None:
    tables = claims.tables()
    # 13 claims and the two lines of a head
    assert [len(table.splitlines()) for table in tables.values()] == [15, 15]
    for table in tables.values():
        assert table in claims.PAGE.read_text(), f"scripts/claims.py has to be run:\n{table}"
