"""What a row costs: the pieces that memory fetches for it."""

from __future__ import annotations

import pytest

from .conftest import RowsOfConcept

INSIDE, BEYOND = 16 << 20, 8 << 30


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("embedding")


def look_up(rows: dict[str, dict], indices: str, table: int, row: int) -> dict:
    return rows[f"embedding/{indices}/table:{table}/row:{row}"]


def test_rows_from_dram_cost_the_pieces_they_touch(rows: dict[str, dict]) -> None:
    # By hand: 64-byte pieces, 36 bytes for the way to them, four bytes of index a row, an eighth of
    # a row written.
    whole = {64: 64, 32: 64, 96: 128, 256: 256, 4096: 4096}

    def useful(row: int) -> float:
        return row / (whole[row] + 36 + 4 + row / 8)

    long = look_up(rows, "uniform", BEYOND, 4096)["useful_bytes_per_second"]
    for row in (64, 32, 96, 256):
        got = look_up(rows, "uniform", BEYOND, row)
        assert got["label"] == "dram"
        expected = useful(row) / useful(4096)
        assert got["useful_bytes_per_second"] / long == pytest.approx(expected, rel=0.06)


def test_a_table_inside_l2_is_faster(rows: dict[str, dict]) -> None:
    for row in (64, 4096):
        near = look_up(rows, "uniform", INSIDE, row)
        far = look_up(rows, "uniform", BEYOND, row)
        assert near["useful_bytes_per_second"] > 1.5 * far["useful_bytes_per_second"]


def test_popular_rows_are_found_again(rows: dict[str, dict]) -> None:
    for row in (64, 4096):
        popular = look_up(rows, "zipf", BEYOND, row)
        uniform = look_up(rows, "uniform", BEYOND, row)
        assert popular["useful_bytes_per_second"] > 1.3 * uniform["useful_bytes_per_second"]


def test_popular_rows_come_from_dram_once(rows_of_concept: RowsOfConcept) -> None:
    # What blocks met of popular rows is extrapolated as popularity goes, not as if all were alike.
    a100 = rows_of_concept("embedding", "a100-80-sxm")
    for row in (64, 256, 4096):
        assert look_up(a100, "zipf", BEYOND, row)["law_ratio"] == pytest.approx(1, abs=0.16)


def test_rows_beyond_l2_say_that_the_tlb_is_left_out(
    rows: dict[str, dict], rows_of_concept: RowsOfConcept
) -> None:
    for row in (64, 4096):
        assert look_up(rows, "uniform", BEYOND, row)["assuming"] == "the TLB misses nothing"
        assert "assuming" not in look_up(rows, "uniform", INSIDE, row)
    # Somebody has measured that an A100's TLB maps all of it.
    a100 = rows_of_concept("embedding", "a100-80-sxm")
    assert "assuming" not in look_up(a100, "uniform", BEYOND, 64)


def test_short_rows_ask_for_more_sectors(rows: dict[str, dict]) -> None:
    got = {
        row: look_up(rows, "uniform", BEYOND, row)["sectors_per_request"] for row in (64, 256, 4096)
    }
    assert got == {64: (16 + 8) / 2, 256: (16 + 2) / 2, 4096: (16 + 1) / 2}
