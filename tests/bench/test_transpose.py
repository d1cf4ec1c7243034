"""What a transpose moves, with a tile and without one."""

from __future__ import annotations

import pytest

from .conftest import rows_of

USEFUL = 2 * (1 << 28)  # bytes: the matrix is read once and written once


@pytest.fixture(scope="module")
def rows() -> dict[str, dict]:
    return rows_of("--device=model:h100-sxm", "--benchmark_filter=^transpose/")


@pytest.mark.parametrize("scattered", ["reads", "writes"])
@pytest.mark.parametrize(("dtype", "size"), [("fp32", 4), ("int16", 2)])
def test_without_a_tile_each_word_leaves_l1_in_a_sector_of_its_own(
    rows: dict[str, dict], scattered: str, dtype: str, size: int
) -> None:
    row = rows[f"transpose/untiled/scattered:{scattered}/dtype:{dtype}"]
    words = USEFUL / 2 / size
    assert row["sectors_per_request"] == 32
    assert row["bytes"]["l2"] == pytest.approx(words * (32 + size), rel=0.01)
    # Neighbouring lines find the other words of a sector in L2, so DRAM moves each once. (A sector
    # of scattered writes is first read.)
    dram = USEFUL if scattered == "reads" else 1.5 * USEFUL
    assert row["bytes"]["dram"] == pytest.approx(dram, rel=0.05)


def test_a_tile_makes_a_transpose_as_fast_as_a_copy(rows: dict[str, dict]) -> None:
    seconds = {
        direction: rows[f"transpose/by_tile/direction:{direction}"]["model_seconds"]
        for direction in ("transposed", "copy")
    }
    assert seconds["transposed"] == pytest.approx(seconds["copy"], rel=0.05)
    untiled = rows["transpose/untiled/scattered:reads/dtype:fp32"]["model_seconds"]
    assert untiled > 1.3 * seconds["transposed"]
