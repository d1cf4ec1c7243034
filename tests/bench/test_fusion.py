"""Time follows bytes, whatever is computed on the way."""

from __future__ import annotations

import pytest

from .conftest import rows_of

MEBI = 1 << 20


@pytest.fixture(scope="module")
def rows() -> dict[str, dict]:
    return rows_of(
        "--device=model:h200-sxm",
        "--suite=full",
        f"--benchmark_filter=^fusion/.*/size:({MEBI}|{16 * MEBI}|{256 * MEBI})$",
    )


def seconds(rows: dict[str, dict], way: str, dtype: str, size: int) -> float:
    kernel = "add" if way == "add" else f"chain/by:{way}"
    return rows[f"fusion/{kernel}/dtype:{dtype}/size:{size}"]["real_time"] * 1e-6


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_times_are_as_bytes(rows: dict[str, dict], dtype: str) -> None:
    fused = seconds(rows, "fused", dtype, 256 * MEBI)
    for chain in ("kernels", "graph"):
        assert seconds(rows, chain, dtype, 256 * MEBI) / fused == pytest.approx(9 / 3, rel=0.05)
    assert seconds(rows, "add", dtype, 256 * MEBI) == pytest.approx(fused, rel=0.03)


def test_flops_do_not_count(rows: dict[str, dict]) -> None:
    # Twice the numbers in as many bytes: twice the arithmetic in the same time.
    fp32, bf16 = (seconds(rows, "fused", dtype, 256 * MEBI) for dtype in ("fp32", "bf16"))
    assert bf16 == pytest.approx(fp32, rel=0.01)


def test_an_addition_uses_next_to_nothing_of_the_peak(rows: dict[str, dict]) -> None:
    row = rows[f"fusion/add/dtype:fp32/size:{256 * MEBI}"]
    additions_per_second = row["useful_bytes_per_second"] / 12
    assert row["fp32_peak_fraction"] == pytest.approx(additions_per_second / 67e12)
    assert row["fp32_peak_fraction"] < 0.01


def test_what_stays_in_l2_costs_less(rows: dict[str, dict]) -> None:
    def ratio(size: int) -> float:
        return seconds(rows, "kernels", "fp32", size) / seconds(rows, "fused", "fp32", size)

    assert ratio(16 * MEBI) < 0.95 * ratio(256 * MEBI)


def test_launches_decide_where_there_are_few_bytes(rows: dict[str, dict]) -> None:
    for way in ("kernels", "graph", "fused", "add"):
        row = "add" if way == "add" else f"chain/by:{way}"
        assert "law" not in rows[f"fusion/{row}/dtype:fp32/size:{MEBI}"]
    four, one = (seconds(rows, way, "fp32", MEBI) for way in ("kernels", "fused"))
    assert four > 3.5 * one
