"""What launches in a row cost, by hand from the figures of the device's file."""

from __future__ import annotations

import json

import pytest

from .conftest import ROOT, RowsOfConcept, rows_of

DEVICE = "h200-sxm"


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("launch_overhead")


@pytest.fixture(scope="module")
def figures() -> dict[str, float]:
    file = json.loads((ROOT / f"harness/devices/{DEVICE}.json").read_text())
    return {name: figure["value"] for name, figure in file["figures"].items()}


def row(rows: dict[str, dict], kernel: str, by: str, launches: int) -> dict:
    return rows[f"launch_overhead/{kernel}/by:{by}/launches:{launches}"]


def test_a_launch_costs_what_the_front_end_and_the_host_let_it(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    host = figures["launch_host_seconds"]
    spacing = {
        ("empty_row", "stream"): max(host, figures["launch_stream_seconds"]),
        ("empty_row", "graph"): figures["launch_graph_seconds"],
        ("programmatic_row", "stream"): max(host, figures["launch_programmatic_seconds"]),
        ("programmatic_row", "graph"): figures["launch_programmatic_seconds"],
    }
    for (kernel, by), seconds in spacing.items():
        for launches in (64, 4096):
            found = row(rows, kernel, by, launches)["spacing_seconds"]
            assert found == pytest.approx(seconds, rel=1e-3), (kernel, by, launches)


def test_a_graph_removes_half_of_a_launch_and_an_early_start_most_of_it(
    rows: dict[str, dict],
) -> None:
    stream, graph, early = (
        row(rows, kernel, by, 4096)["items_per_second"]
        for kernel, by in (
            ("empty_row", "stream"),
            ("empty_row", "graph"),
            ("programmatic_row", "graph"),
        )
    )
    assert 1.8 < graph / stream < 2.2
    assert 6 < early / stream < 10


def test_the_event_behind_one_launch_waits_for_its_own_call() -> None:
    # An A100's host takes longer for a call than the GPU for an empty kernel.
    one = "--benchmark_filter=^launch_overhead/empty_row/by:stream/launches:1$"
    [found] = rows_of("--device=model:a100-80-sxm", one).values()
    assert found["real_time"] == pytest.approx(2 * 2.2, rel=1e-3)
    assert found["law_ratio"] == pytest.approx(1, rel=1e-3)


def test_one_launch_pays_for_its_way_there(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    call, floor = figures["launch_host_seconds"], figures["kernel_floor_seconds"]
    one = row(rows, "empty_row", "stream", 1)
    assert one["real_time"] * 1e-6 == pytest.approx(call + floor, rel=1e-3)
    assert one["empty_kernel_seconds"] == pytest.approx(floor, rel=1e-3)
    assert "event_pair_seconds" not in one, "in virtual time it is none, and none is not written"
    assert "spacing_seconds" not in one


def test_kernels_of_some_length_hide_their_launches(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    overhead = {
        by: rows[f"launch_overhead/work_row/by:{by}/us:5"]["overhead_seconds"]
        for by in ("stream", "graph")
    }
    # Behind one another in a stream each kernel still costs what an empty one does between events.
    assert overhead["stream"] == pytest.approx(figures["kernel_floor_seconds"], rel=0.06)
    assert overhead["graph"] == pytest.approx(figures["launch_graph_seconds"], rel=0.06)
    for by, seconds in overhead.items():
        length = rows[f"launch_overhead/work_row/by:{by}/us:5"]["length_for_5_percent_seconds"]
        assert length == pytest.approx(19 * seconds)


def test_nothing_is_gated(rows: dict[str, dict]) -> None:
    measured = [r for r in rows.values() if not r.get("skipped")]
    assert len(measured) == len(rows) - 1  # all but the first launch
    assert all(
        r["notes"] == ["timed without the start gate: the body blocks the host"] for r in measured
    )


def test_the_model_loads_no_code(rows: dict[str, dict]) -> None:
    assert "loads no code" in rows["launch_overhead/first_launch"]["skip_reason"]


def test_before_hopper_nothing_comes_early() -> None:
    rows = rows_of("--device=model:a100-80-sxm", "--benchmark_filter=programmatic_row/by:graph")
    assert rows
    for name, found in rows.items():
        assert found["skip_reason"].endswith("needs compute capability 9.0; this is 8.0"), name
