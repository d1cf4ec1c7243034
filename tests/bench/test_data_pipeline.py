"""Who the loader's loop waits for, by hand from the work that the rows' names state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import RowsOfConcept, run

ITEMS, KERNEL, WORK = 48, 25e-6, 100e-6


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("data_pipeline")


def load(
    rows: dict[str, dict],
    threads: int,
    depth: int = 8,
    us: int = 100,
    memory: str = "pinned",
    decode: str = "host",
) -> dict:
    return rows[
        f"data_pipeline/load/memory:{memory}/decode:{decode}/threads:{threads}/depth:{depth}/us:{us}"
    ]


def seconds_per_item(row: dict) -> float:
    return 1 / row["items_per_second"]


def test_producers_set_the_pace_until_the_gpu_does(rows: dict[str, dict]) -> None:
    for threads in (1, 2):
        assert seconds_per_item(load(rows, threads)) == pytest.approx(WORK / threads, rel=0.05)
        assert load(rows, threads)["label"] == "host"
    # Four deliver as fast as the kernel works, and eight twice as fast.
    assert load(rows, 8)["items_per_second"] == pytest.approx(
        load(rows, 4)["items_per_second"], rel=0.02
    )
    steady = (load(rows, 8)["real_time"] * 1e-6 - WORK) / ITEMS
    assert steady == pytest.approx(KERNEL, rel=0.1)
    assert load(rows, 8)["label"] == "fp32"


def test_without_producers_the_loop_does_their_work_itself(rows: dict[str, dict]) -> None:
    alone, one = load(rows, 0), load(rows, 1)
    calls = seconds_per_item(alone) - WORK
    assert 0 < calls < 0.2 * WORK
    assert alone["items_per_second"] < one["items_per_second"]


def test_the_depth_bounds_how_many_producers_work(rows: dict[str, dict]) -> None:
    for depth in (1, 2):
        same = load(rows, threads=depth)["items_per_second"]
        assert load(rows, 8, depth)["items_per_second"] == pytest.approx(same, rel=0.06)
    assert load(rows, 8, depth=4)["items_per_second"] == pytest.approx(
        load(rows, 8)["items_per_second"], rel=0.02
    )


def test_more_work_per_item_starves_the_gpu_again(rows: dict[str, dict]) -> None:
    slow = load(rows, 8, us=400)
    assert seconds_per_item(slow) == pytest.approx(400e-6 / 8, rel=0.15)
    assert slow["label"] == "host"
    assert slow["gpu_idle_fraction"] > 2 * load(rows, 8)["gpu_idle_fraction"]


def test_pageable_memory_makes_the_link_the_slowest(rows: dict[str, dict]) -> None:
    pageable = load(rows, 8, memory="pageable")
    assert pageable["label"] == "link"
    assert pageable["items_per_second"] < 0.5 * load(rows, 8)["items_per_second"]
    # With one producer, its work is longer than the copy that blocks the loop.
    one = load(rows, 1, memory="pageable")
    assert one["items_per_second"] == pytest.approx(load(rows, 1)["items_per_second"], rel=0.03)


def test_decoding_on_the_gpu_leaves_a_quarter_of_the_work(rows: dict[str, dict]) -> None:
    alone, one = (load(rows, threads, decode="gpu") for threads in (0, 1))
    assert seconds_per_item(alone) - WORK / 4 < 0.2 * WORK
    assert one["label"] == "fp32"
    assert one["items_per_second"] > 3 * load(rows, 1)["items_per_second"]


def test_the_gpu_is_idle_for_what_its_kernels_leave(rows: dict[str, dict]) -> None:
    kernels = {
        (1 - row["gpu_idle_fraction"]) * row["real_time"]
        for name, row in rows.items()
        if "/load/" in name and "decode:host" in name
    }
    assert min(kernels) == pytest.approx(max(kernels), rel=1e-3), "the same kernels in each row"
    # Back to back, part of each one's launch passes beside the kernel before.
    assert 0.85 * ITEMS * KERNEL < min(kernels) * 1e-6 < ITEMS * KERNEL


def test_finished_items_queue_up_only_where_producers_are_faster(rows: dict[str, dict]) -> None:
    depths = [load(rows, threads)["queue_depth"] for threads in (1, 2, 4, 8)]
    assert depths == sorted(depths)
    assert depths[0] == 0
    # Two that work in step deliver two at once: one of them waits.
    assert depths[1] == pytest.approx(0.5)
    assert depths[-1] > 2


def test_a_busy_gpu_may_do_next_to_nothing(rows: dict[str, dict]) -> None:
    block, full = (
        rows[f"data_pipeline/busy/grid:{grid}/host:queues"] for grid in ("block", "full")
    )
    assert block["busy_fraction"] == full["busy_fraction"] == 1
    assert block["mfu"] < 0.01 < 0.9 < full["mfu"]
    assert block["resident_warp_fraction"] < 0.001 < full["resident_warp_fraction"]
    waits = rows["data_pipeline/busy/grid:block/host:waits"]
    assert 0.5 < waits["busy_fraction"] < 1
    assert waits["mfu"] < block["mfu"]


def test_a_trace_shows_who_waits_for_whom(tmp_path: Path) -> None:
    row = "data_pipeline/load/memory:pinned/decode:host/threads:2/depth:8/us:100"
    trace = tmp_path / "run.trace.json"
    out = f"--benchmark_out={tmp_path}/run.json"
    done = run("--device=model:h200-sxm", f"--benchmark_filter=^{row}$", out, f"--trace={trace}")
    assert done.returncode == 0, done.stderr
    events = json.loads(trace.read_text())["traceEvents"]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    jobs = [e for e in events if e["ph"] == "X" and tracks[e["tid"]].startswith("thread ")]
    assert {tracks[e["tid"]] for e in jobs} == {"thread 1", "thread 2"}
    assert len(jobs) == ITEMS
    assert [e["dur"] for e in jobs] == pytest.approx([WORK * 1e6] * ITEMS)
    waits = [e for e in events if e["name"] == "wait for a thread"]
    assert {tracks[e["tid"]] for e in waits} == {"host"}
    ends = {round(e["ts"] + e["dur"], 3) for e in jobs}
    assert waits
    assert {round(e["ts"] + e["dur"], 3) for e in waits} <= ends, "the host waits for jobs' ends"
