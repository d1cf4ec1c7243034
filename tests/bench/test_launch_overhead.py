"""What launches in a row cost, by hand from the figures of the device's file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import ROOT, RowsOfConcept, figures, rows_of

DEVICE = "h200-sxm"


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("launch_overhead")


@pytest.fixture(scope="module", name="figures")
def figures_of_device() -> dict[str, float]:
    return figures(DEVICE)


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


def test_a_graph_removes_most_of_a_launch_and_an_early_start_half_of_the_rest(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    stream, graph, early = (
        row(rows, kernel, by, 4096)["items_per_second"]
        for kernel, by in (
            ("empty_row", "stream"),
            ("empty_row", "graph"),
            ("programmatic_row", "graph"),
        )
    )
    # An x86 host keeps a stream busy no faster than it calls; a graph needs one call.
    issued = max(figures["launch_host_seconds"], figures["launch_stream_seconds"])
    assert graph / stream == pytest.approx(issued / figures["launch_graph_seconds"], rel=0.01)
    assert 3 < graph / stream < 3.4
    assert 6 < early / stream < 10


def test_the_event_behind_one_launch_waits_for_its_own_call(tmp_path: Path) -> None:
    # Two calls of a slow host take longer than the GPU's empty kernel.
    call = 3e-6
    device = json.loads((ROOT / "harness/devices/a100-80-sxm.json").read_text())
    assert 2 * call > device["figures"]["kernel_floor_seconds"]["value"]
    device["figures"]["launch_host_seconds"]["value"] = call
    file = tmp_path / "a100-80-sxm.json"
    file.write_text(json.dumps(device))
    one = "--benchmark_filter=^launch_overhead/empty_row/by:stream/launches:1$"
    [found] = rows_of(f"--device=model:{file}", one).values()
    assert found["real_time"] * 1e-6 == pytest.approx(2 * call, rel=1e-3)
    assert found["law_ratio"] == pytest.approx(1, rel=1e-3)


def test_one_launch_takes_as_long_as_behind_other_work(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    call, floor = figures["launch_host_seconds"], figures["kernel_floor_seconds"]
    one = row(rows, "empty_row", "stream", 1)
    # The event before is written while the kernel is on its way, the one behind after its own call.
    assert one["real_time"] * 1e-6 == pytest.approx(max(floor, 2 * call), rel=1e-3)
    assert one["empty_kernel_seconds"] == pytest.approx(floor, rel=1e-3)
    assert "event_pair_seconds" not in one, "in virtual time it is none, and none is not written"
    assert "spacing_seconds" not in one


def test_kernels_of_some_length_hide_their_launches(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    launches, floor = 64, figures["kernel_floor_seconds"]
    in_graph = figures["launch_graph_seconds"]
    spacing = {
        "stream": max(figures["launch_host_seconds"], figures["launch_stream_seconds"]),
        "graph": in_graph,
    }
    # Behind one another kernels cost what empty ones are apart. Only the last pays all of what one
    # takes between events; the graph's own launch is one more.
    once = {"stream": floor - spacing["stream"], "graph": floor - spacing["graph"] + in_graph}
    for by, apart in spacing.items():
        work = rows[f"launch_overhead/work_row/by:{by}/us:5"]
        seconds = work["overhead_seconds"]
        assert seconds == pytest.approx(apart + once[by] / launches, rel=0.02), by
        assert work["length_for_5_percent_seconds"] == pytest.approx(19 * seconds)


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


def test_a_barrier_of_the_grid_takes_round_trips_to_l2_and_less_than_a_launch(
    figures: dict[str, float],
) -> None:
    flags = ("--suite=full", "--benchmark_filter=^launch_overhead/grid_sync/")
    met = rows_of(f"--device=model:{DEVICE}", *flags)
    assert set(met) == {f"launch_overhead/grid_sync/blocks:{n}" for n in (1, 4)}
    trip = figures["l2_latency_cycles"] / figures["sm_clock_hz"]
    for name, row in met.items():
        assert 4 * trip < row["latency_seconds"] < 6 * trip, name
        assert row["latency_seconds"] < row["second_launch_seconds"], name
        assert row["verified"] == "sampled", name
