"""What crosses the link, by hand from the figures of the device's file."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

from .conftest import RowsOfConcept, figures, rows_of

DEVICE = "h200-sxm"
MIB = 1 << 20


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("transfer")


@pytest.fixture(scope="module", name="figures")
def figures_of_device() -> dict[str, float]:
    return figures(DEVICE)


def copies(rows: dict[str, dict], memory: str, direction: str, size: int = 16 * MIB) -> dict:
    return rows[f"transfer/{direction}/memory:{memory}/size:{size}"]


def fitted(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Latency and bytes/s of the line through bytes and seconds with the least sum of squared
    relative errors: of latency / t + bytes / (rate t) = 1."""
    both = [[1 / t, size / t] for size, t in points]
    [latency, slope], *_ = np.linalg.lstsq(np.array(both), np.ones(len(both)))
    return latency, 1 / slope


def managed_seconds(figures: dict[str, float], size: int) -> float:
    """Whole pages, there and back. The event before is written while the host issues the first of
    two prefetches; it is not through with the event after before a third call."""
    page = os.sysconf("SC_PAGESIZE")
    moved = math.ceil(size / page) * page
    there, back = figures["pcie_h2d_bytes_per_second"], figures["pcie_d2h_bytes_per_second"]
    crossing = 2 * figures["pcie_latency_seconds"] + moved / there + moved / back
    return max(3 * figures["launch_host_seconds"], crossing)


def test_every_path_takes_a_latency_and_its_bytes(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    latency, floor = figures["pcie_latency_seconds"], figures["kernel_floor_seconds"]
    call = figures["launch_host_seconds"]
    blocks = call + figures["launch_latency_seconds"] + figures["sync_host_seconds"]
    there, back = figures["pcie_h2d_bytes_per_second"], figures["pcie_d2h_bytes_per_second"]
    staged, link = figures["pageable_bytes_per_second"], figures["nvlink_bytes_per_second"]
    memory = figures["dram_bytes_per_second"] * figures["dram_mixed_efficiency"]
    expected = {
        "h2d/memory:pinned/size:16777216": (latency, there),
        "d2h/memory:pinned/size:16777216": (latency, back),
        "h2d/memory:pageable/size:16777216": (latency + blocks, staged),
        "d2h/memory:pageable/size:16777216": (latency + blocks, staged),
        "h2d/memory:mapped/size:16777216": (floor + latency, there),
        "d2h/memory:mapped/size:16777216": (floor + latency, back),
        "on_device/size:67108864": (floor, memory / 2),
        "peer/size:16777216": (floor, link),
    }
    for name, (alpha, rate) in expected.items():
        row = rows[f"transfer/{name}"]
        size = row["arguments"]["size"]
        assert row["real_time"] * 1e-6 == pytest.approx(alpha + size / rate, rel=0.01), name
        assert row["fit_latency_seconds"] == pytest.approx(alpha, rel=0.02), name
        assert row["fit_bytes_per_second"] == pytest.approx(rate, rel=0.02), name
        assert row["fit_half_bandwidth_bytes"] == pytest.approx(
            row["fit_latency_seconds"] * row["fit_bytes_per_second"]
        ), name


def test_managed_memory_goes_there_and_back(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    row = rows["transfer/managed/size:16777216"]
    assert row["real_time"] * 1e-6 == pytest.approx(managed_seconds(figures, 16 * MIB), rel=1e-4)
    sizes = (4, 65536, MIB, 4 * MIB, 16 * MIB)
    latency, rate = fitted([(size, managed_seconds(figures, size)) for size in sizes])
    assert row["fit_latency_seconds"] == pytest.approx(latency, rel=1e-4)
    assert row["fit_bytes_per_second"] == pytest.approx(rate, rel=1e-4)
    # The host's calls hide what the smallest sizes take; the link decides about the others.
    link = 2 * figures["pcie_latency_seconds"]
    assert link < row["fit_latency_seconds"] < 3 * figures["launch_host_seconds"]


def test_half_of_the_bandwidth_is_reached_at_the_size_that_says_so(rows: dict[str, dict]) -> None:
    fitted = copies(rows, "pinned", "h2d")
    half, rate = fitted["fit_half_bandwidth_bytes"], fitted["fit_bytes_per_second"]
    small, large = (copies(rows, "pinned", "h2d", size) for size in (65536, MIB))
    assert 65536 < half < MIB
    assert small["useful_bytes_per_second"] < rate / 2 < large["useful_bytes_per_second"]


def test_pageable_memory_is_slower_and_waits(rows: dict[str, dict]) -> None:
    for direction in ("h2d", "d2h"):
        pinned, pageable = (copies(rows, m, direction) for m in ("pinned", "pageable"))
        assert pageable["real_time"] > 4 * pinned["real_time"]
        assert pageable["notes"] == ["timed without the start gate: the body blocks the host"]
        assert "notes" not in pinned


def test_a_single_numa_node_is_stated(rows: dict[str, dict]) -> None:
    for direction in ("h2d", "d2h"):
        only = rows[f"transfer/numa/direction:{direction}/node:0"]
        assert only["numa"] == "the only node"
        assert only["real_time"] == pytest.approx(copies(rows, "pinned", direction)["real_time"])
        other = rows[f"transfer/numa/direction:{direction}/node:1"]
        assert other["skip_reason"] == "no memory on NUMA node 1, only on 0"


def test_one_gpu_has_no_peer() -> None:
    [row] = rows_of("--device=model:l40s", "--benchmark_filter=^transfer/peer/").values()
    assert row["skip_reason"] == "needs 2 GPUs; there is 1"


def test_the_full_suite_has_the_sweeps(figures: dict[str, float]) -> None:
    flags = (f"--device=model:{DEVICE}", "--suite=full")
    rows = rows_of(*flags, "--benchmark_filter=^transfer/(d2h/memory:mapped|managed)/size:..?$")
    assert len(rows) == 4  # of 4 and of 64 bytes
    for name, row in rows.items():
        assert row["law_ratio"] == pytest.approx(1, rel=1e-4), name
    [small] = rows_of(*flags, "--benchmark_filter=^transfer/managed/size:16384$").values()
    for row in (rows["transfer/managed/size:64"], small):
        expected = managed_seconds(figures, row["arguments"]["size"])
        assert row["real_time"] * 1e-6 == pytest.approx(expected, rel=1e-4)
    [large] = rows_of(*flags, "--benchmark_filter=h2d/memory:pinned/size:1073741824").values()
    assert "up to 64 MiB" in large["skip_reason"]
