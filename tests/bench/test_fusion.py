"""Time follows bytes, whatever is computed on the way."""

from __future__ import annotations

import math

import pytest

from .conftest import rows_of, seconds_of_a_busy_memory

MEBI = 1 << 20
SMS, CLOCK = 132, 1.98e9  # of the h200-sxm's device file
L1_LATENCY, DRAM_LATENCY, TURNAROUND, QUEUE = 32, 689, 464, 225  # cycles
STORE = 280 / 2  # one way to L2
RESIDENT = 8  # blocks of 256 threads on an SM
# An empty kernel between two events, and those behind it in a stream and in a graph.
FLOOR, STREAM, GRAPH = 4.2e-6, 1.88e-6, 0.59e-6


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


def of_kernel(reads: int, size: int, biased: bool = False) -> float:
    """Seconds of a kernel that reads so many arrays of `size` bytes and writes one, at once.

    The bias is small and much used: in L1.
    """
    writes = 1 / (reads + 1)  # of the bytes; at one half the reach is that of a mixture
    busy = (reads + 1) * size / (4.8e12 * (0.917 + (0.896 - 0.917) * 2 * writes))
    hits = biased / (reads + biased)
    turns = math.ceil(size / 16 / 256 / SMS) / RESIDENT
    latency = hits * L1_LATENCY + (1 - hits) * DRAM_LATENCY
    waiting = (turns * latency + (turns - 1) * (TURNAROUND + STORE)) / CLOCK
    queued = seconds_of_a_busy_memory(waiting, busy, turns * (1 - hits) * QUEUE / CLOCK)
    # Memory is idle until the first load is back, and while the last store is on its way.
    return max(queued, busy + (latency + STORE) / CLOCK)


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_times_are_as_bytes(rows: dict[str, dict], dtype: str) -> None:
    size = 256 * MEBI
    links = [of_kernel(1, size, biased=True), *2 * [of_kernel(1, size)], of_kernel(2, size)]
    expected = {
        "kernels": sum(links) + FLOOR + 3 * STREAM,
        "graph": sum(links) + FLOOR + 3 * GRAPH + GRAPH,  # the last of the graph itself
        "fused": of_kernel(2, size, biased=True) + FLOOR,
        "add": of_kernel(2, size) + FLOOR,
    }
    for way, of_way in expected.items():
        assert seconds(rows, way, dtype, size) == pytest.approx(of_way, rel=0.001), way
    # Nine arrays against three. What a fused kernel gains besides: it waits for less of what it
    # reads, and memory has a little more to read than to write.
    assert 9 / 3 < expected["kernels"] / expected["fused"] < 1.05 * 9 / 3


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
    # Between events a kernel costs more than one behind another; a graph brings those closer.
    assert 3 * STREAM < four - one < 1.2 * 3 * STREAM
    assert four > 2 * one
    saved = four - seconds(rows, "graph", "fp32", MEBI)
    assert saved == pytest.approx(3 * STREAM - 4 * GRAPH, rel=0.01)
