"""A warp pays for every path that one of its lanes takes, and for no other warp's."""

from __future__ import annotations

import math

import pytest

from .conftest import rows_of

FP32 = 132 * 256 * 1.98e9  # FLOP/s, of the h200-sxm's device file
LAUNCH = 4.2e-6  # kernel_floor_seconds of the same file
THREADS, STEPS = 1 << 23, 512
SECONDS = 2 * THREADS * STEPS / FP32  # at the peak
CLOCK = 1.98e9
FMA_LATENCY, TURNAROUND = 4, 464  # cycles
RESIDENT = 8  # blocks of 256 threads on an SM


@pytest.fixture(scope="module")
def rows() -> dict[str, dict]:
    flags = ("--device=model:h200-sxm", "--suite=full", "--benchmark_time_unit=s")
    return rows_of(*flags, "--benchmark_filter=^divergence/")


def seconds(row: dict) -> float:
    return row["model_seconds"] - LAUNCH


def of_kernel(rows: dict[str, dict], kernel: str, axis: str) -> dict[tuple[str, int], dict]:
    number = {"branches": "ways", "trips": "ratio"}[kernel]
    return {
        (row["arguments"][axis], row["arguments"][number]): row
        for row in rows.values()
        if row["kernel"] == kernel
    }


def test_time_is_the_sum_of_the_paths_that_the_warp_takes(rows: dict[str, dict]) -> None:
    branches = of_kernel(rows, "branches", "order")
    interleaved = {ways: row for (order, ways), row in branches.items() if order == "interleaved"}
    assert {1, 2, 4, 8, 16, 32} < set(interleaved)
    for ways, row in interleaved.items():
        assert seconds(row) == pytest.approx(ways * SECONDS, rel=0.02), row["name"]
        assert row["active_lanes"] == pytest.approx(32 / ways), row["name"]


def test_sorted_by_warp_nothing_is_lost(rows: dict[str, dict]) -> None:
    branches = of_kernel(rows, "branches", "order")
    ordered = {ways: row for (order, ways), row in branches.items() if order == "sorted"}
    assert 32 in ordered
    for row in ordered.values():
        assert seconds(row) == pytest.approx(SECONDS, rel=0.02), row["name"]
        assert row["active_lanes"] == 32, row["name"]


def waiting_seconds(ratio: int) -> float:
    """Time of the fullest SM, whose blocks each last as long as a warp with the work of `ratio`."""
    turns = math.ceil(THREADS / 256 / 132) / RESIDENT
    return (turns * STEPS * ratio * FMA_LATENCY + (turns - 1) * TURNAROUND) / CLOCK


def test_a_busy_lane_holds_its_warp_a_busy_warp_its_block_and_a_busy_block_nobody(
    rows: dict[str, dict],
) -> None:
    trips = of_kernel(rows, "trips", "among")
    for ratio in (1, 2, 8, 32):
        assert seconds(trips["lanes", ratio]) == pytest.approx(ratio * SECONDS, rel=0.02)
        assert trips["lanes", ratio]["active_lanes"] == pytest.approx(32 / ratio)
    # 64 warps fit on an SM: 64 / ratio of them are busy, and 16 would just hide the latency if
    # blocks followed one another at once.
    for ratio in (1, 2):
        assert seconds(trips["warps", ratio]) == pytest.approx(SECONDS, rel=0.02)
        assert trips["warps", ratio]["label"] == "fp32"
    for ratio in (4, 8):
        assert seconds(trips["warps", ratio]) == pytest.approx(waiting_seconds(ratio), rel=1e-3)
        assert trips["warps", ratio]["label"] == "latency"
    assert waiting_seconds(4) > 1.05 * SECONDS
    for ratio in (1, 2, 4, 8):
        assert seconds(trips["blocks", ratio]) == pytest.approx(SECONDS, rel=0.02)


def test_the_law_says_so(rows: dict[str, dict]) -> None:
    for row in rows.values():
        assert row["law_ratio"] == pytest.approx(1, abs=row["law_tolerance"]), row["name"]
