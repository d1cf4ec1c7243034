"""Pairs of GPUs: what connects them, what crosses, and whether the two agree."""

from __future__ import annotations

import pytest

from .conftest import RowsOfConcept, figures, rows_of

DEVICE = "h200-sxm"
BULK = 64 << 20


@pytest.fixture(scope="module", name="figures")
def figures_of_device() -> dict[str, float]:
    return figures(DEVICE)


def test_pairs_are_connected_as_the_driver_says(
    figures: dict[str, float], rows_of_concept: RowsOfConcept
) -> None:
    rows = rows_of_concept("topology")
    assert len(rows) == 6
    floor, link = figures["kernel_floor_seconds"], figures["nvlink_bytes_per_second"]
    memory = figures["dram_bytes_per_second"] * figures["dram_mixed_efficiency"]
    for kernel in ("copy", "load"):
        same, peer = (rows[f"topology/{kernel}/from:0/to:{to}"] for to in (0, 1))
        assert same["connection"] == "same GPU"
        # A kernel's loads queue where the memory is busy.
        slack = 0.01 if kernel == "copy" else 0.1
        assert same["real_time"] * 1e-6 == pytest.approx(floor + 2 * BULK / memory, rel=slack)
        assert (peer["connection"], peer["agrees"]) == ("NVLink", "yes")
        assert peer["real_time"] * 1e-6 == pytest.approx(floor + BULK / link, rel=0.01)
        assert (peer["p2p_performance_rank"], peer["p2p_native_atomics"]) == (0, 1)
    for to in (0, 1):
        row = rows[f"topology/latency/from:0/to:{to}"]
        assert row["real_time"] * 1e-6 == pytest.approx(floor, rel=0.01)
        assert "agrees" not in row, "one word says nothing of a link"


def test_on_one_gpu_the_others_are_skipped() -> None:
    rows = rows_of("--device=model:l40s", "--benchmark_filter=^topology/")
    for kernel in ("copy", "load", "latency"):
        assert "skipped" not in rows[f"topology/{kernel}/from:0/to:0"]
        other = rows[f"topology/{kernel}/from:0/to:1"]
        assert other["skip_reason"] == "needs 2 GPUs; there is 1"


def test_the_full_suite_has_all_pairs() -> None:
    rows = rows_of(
        f"--device=model:{DEVICE}", "--suite=full", "--benchmark_filter=^topology/latency/"
    )
    assert len(rows) == 64
    assert not [n for n, row in rows.items() if row.get("skipped") or row.get("error_occurred")]
    assert rows["topology/latency/from:5/to:5"]["connection"] == "same GPU"
    assert rows["topology/latency/from:7/to:2"]["connection"] == "NVLink"
