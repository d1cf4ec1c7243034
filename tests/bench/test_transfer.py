"""What crosses the link, by hand from the figures of the device's file."""

from __future__ import annotations

import json
import os

import pytest

from .conftest import ROOT, RowsOfConcept, rows_of

DEVICE = "h200-sxm"
MIB = 1 << 20


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("transfer")


@pytest.fixture(scope="module")
def figures() -> dict[str, float]:
    file = json.loads((ROOT / f"harness/devices/{DEVICE}.json").read_text())
    return {name: figure["value"] for name, figure in file["figures"].items()}


def copies(rows: dict[str, dict], memory: str, direction: str, size: int = 16 * MIB) -> dict:
    return rows[f"transfer/{direction}/memory:{memory}/size:{size}"]


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
        "managed/size:16777216": (call + 2 * latency, 1 / (1 / there + 1 / back)),
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
    # Of managed memory a whole page crosses, there and back.
    there, back = figures["pcie_h2d_bytes_per_second"], figures["pcie_d2h_bytes_per_second"]
    page = os.sysconf("SC_PAGESIZE")
    assert rows["transfer/managed/size:64"]["real_time"] * 1e-6 == pytest.approx(
        figures["launch_host_seconds"]
        + 2 * figures["pcie_latency_seconds"]
        + page / there
        + page / back,
        rel=1e-3,
    )
    [large] = rows_of(*flags, "--benchmark_filter=h2d/memory:pinned/size:1073741824").values()
    assert "no more than 64 MiB" in large["skip_reason"]
