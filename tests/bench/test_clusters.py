"""Distributed shared memory: a latency between a block's own and L2's, and no more bandwidth."""

from __future__ import annotations

import re

import pytest

from .conftest import EVERYTHING, RowsOfConcept, but_for, figures, rows_of

DEVICE = "h200-sxm"
LONG_ROWS = "clusters/(sum/cluster:(4|8|16)|(multicast|separate)/cluster:(8|16))$"
SUMS = (1, 2, 4, 8, 16) if EVERYTHING else (1, 2)
TILED = (2, 4, 8, 16) if EVERYTHING else (2, 4)


@pytest.fixture(scope="module")
def rows() -> dict[str, dict]:
    found = rows_of(f"--device=model:{DEVICE}", *but_for(LONG_ROWS, "clusters/"))
    assert not [name for name, row in found.items() if row.get("error_occurred")]
    assert not [name for name, row in found.items() if row.get("skipped")]
    return found


def by_size(rows: dict[str, dict], kernel: str) -> dict[int, dict]:
    of_kernel = (row for row in rows.values() if row["kernel"] == kernel)
    return {row["arguments"]["cluster"]: row for row in of_kernel}


def test_every_law_holds(rows: dict[str, dict]) -> None:
    judged = {name: row for name, row in rows.items() if "law_ratio" in row}
    assert judged.keys() == rows.keys()
    for name, row in judged.items():
        assert abs(row["law_ratio"] - 1) <= row["law_tolerance"], name


def test_another_blocks_memory_is_farther_than_its_own_and_nearer_than_l2(
    rows: dict[str, dict],
) -> None:
    cycles = {size: row["latency_cycles"] for size, row in by_size(rows, "chase").items()}
    figure = figures(DEVICE)
    l2 = rows["clusters/chase_l2"]["latency_cycles"]
    assert cycles.pop(1) == pytest.approx(figure["shared_latency_cycles"], rel=0.03)
    assert set(cycles) == {2, 4, 8, 16}
    for size, seen in cycles.items():
        assert seen == pytest.approx(figure["dsm_latency_cycles"], rel=0.03), size
        assert figure["shared_latency_cycles"] < seen < l2
    assert l2 == pytest.approx(figure["l2_latency_cycles"], rel=0.03)


def test_a_barrier_takes_what_the_device_file_says(rows: dict[str, dict]) -> None:
    cycles = {size: row["latency_cycles"] for size, row in by_size(rows, "barrier").items()}
    assert set(cycles) == {2, 4, 8, 16}
    for size, seen in cycles.items():
        assert seen == pytest.approx(figures(DEVICE)["cluster_barrier_cycles"], rel=0.1), size


def test_the_network_is_slower_than_l2_and_slowest_in_large_clusters(
    rows: dict[str, dict],
) -> None:
    rates = {size: row["useful_bytes_per_second"] for size, row in by_size(rows, "read").items()}
    assert rates[2] > 1.15 * rates[4]
    assert rates[4] == pytest.approx(rates[8], rel=0.02)
    assert rates[8] == pytest.approx(rates[16], rel=0.02)
    assert rows["clusters/read_l2"]["useful_bytes_per_second"] > 2 * rates[2]
    for size, row in by_size(rows, "read").items():
        assert row["label"] == "dsm", size
        assert "roof_fraction" not in row
        # What is read from other blocks is no request to L2.
        assert row["instructions"]["remote_load"] > 10 * row["instructions"]["global_load"]


def test_a_multicast_brings_more_than_l2_gives(rows: dict[str, dict]) -> None:
    def rates(kernel: str) -> dict[int, float]:
        return {n: row["useful_bytes_per_second"] for n, row in by_size(rows, kernel).items()}

    multicast, separate = rates("multicast"), rates("separate")
    assert set(multicast) == set(separate) == set(TILED)
    l2 = rows["clusters/read_l2"]["useful_bytes_per_second"]
    for size in separate:
        assert separate[size] == pytest.approx(l2, rel=0.1), size
        assert rows[f"clusters/separate/cluster:{size}"]["label"] == "l2"
    # L2 is read once for two blocks; for more, shared memory takes no more.
    assert multicast[2] == pytest.approx(2 * separate[2], rel=0.15)
    assert rows["clusters/multicast/cluster:2"]["label"] == "l2"
    figure = figures(DEVICE)
    shared = figure["shared_bytes_per_clock_per_sm"] * figure["sm_count"] * figure["sm_clock_hz"]
    for size in TILED[1:]:
        assert 2.4 * l2 < multicast[size] < shared, size


def test_a_launch_costs_the_same_with_clusters(rows: dict[str, dict]) -> None:
    times = {size: row["real_time"] for size, row in by_size(rows, "launch_row").items()}
    assert set(times) == {1, 2, 4, 8, 16}
    assert max(times.values()) == pytest.approx(min(times.values()), rel=0.01)


def test_a_sum_is_bound_by_memory_whoever_adds_up_the_last_words(rows: dict[str, dict]) -> None:
    sums = by_size(rows, "sum")
    assert {row["label"] for row in sums.values()} == {"dram"}
    times = [sums[size]["real_time"] for size in SUMS]
    assert max(times) < 1.03 * min(times)
    # A word from each other block, and a store per cluster.
    for size, row in sums.items():
        assert ("remote_load" in row["instructions"]) == (size > 1)


@pytest.mark.parametrize(
    ("device", "why"),
    [
        ("a100-80-sxm", "a cluster of blocks needs compute capability 9.0, this device has 8.0"),
        ("rtx-4090", "a cluster of blocks needs compute capability 9.0, this device has 8.9"),
    ],
)
def test_an_older_device_skips_every_row(device: str, why: str) -> None:
    rows = rows_of(f"--device=model:{device}", "--suite=full", "--benchmark_filter=^clusters/")
    assert rows
    assert {row.get("skip_reason") for row in rows.values()} == {why}


def test_a_device_without_large_clusters_skips_them() -> None:
    others = "--benchmark_filter=^clusters/([^s]|separate/)"  # sums take long
    rows = rows_of("--device=model:rtx-5090", "--suite=full", others)
    skipped = {name for name, row in rows.items() if row.get("skipped")}
    tiled = {name for name in rows if name.split("/")[1] in ("multicast", "separate")}
    too_large = {name for name in rows if name.endswith("cluster:16")} - tiled
    assert skipped == too_large | tiled
    why = "the largest cluster has 8 blocks here"
    assert {rows[name]["skip_reason"] for name in too_large} == {why}
    for name in tiled:
        assert re.fullmatch(
            r"its tiles need \d+ bytes of shared memory, this device has \d+",
            rows[name]["skip_reason"],
        ), name


def test_the_default_suite_has_its_best_story(rows_of_concept: RowsOfConcept) -> None:
    daily = rows_of_concept("clusters")
    assert set(daily) == {
        "clusters/chase/cluster:1",
        "clusters/chase/cluster:2",
        "clusters/multicast/cluster:4",
        "clusters/read/cluster:2",
        "clusters/read/cluster:8",
    }
