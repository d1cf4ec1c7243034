"""What a read in the loop costs, by hand from the figures of the device's file."""

from __future__ import annotations

import pytest

from .conftest import RowsOfConcept, figures, rows_of

DEVICE = "h200-sxm"
STEPS, LAYERS = 8, 3


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("host_sync") | rows_of(
        "--suite=full",
        f"--device=model:{DEVICE}",
        "--benchmark_filter=^host_sync/read_every/by:(memcpy|mapped|event)/us:20/every:8$",
    )


@pytest.fixture(scope="module", name="figures")
def figures_of_device() -> dict[str, float]:
    return figures(DEVICE)


def idle(rows: dict[str, dict], by: str, us: int = 20, every: int = 1) -> float:
    return rows[f"host_sync/read_every/by:{by}/us:{us}/every:{every}"]["idle_seconds_per_read"]


def lead_of(figures: dict[str, float]) -> float:
    """The part of a kernel between two events that overlaps the next one, if there is one."""
    return max(figures["kernel_floor_seconds"] - figures["launch_stream_seconds"], 0)


def once(figures: dict[str, float]) -> float:
    """What reading costs a loop however often: the event behind comes one call later than a kernel
    would, and the last kernel's end is waited for without any read."""
    return figures["launch_host_seconds"] - lead_of(figures)


@pytest.mark.parametrize("by", ["memcpy", "pinned", "mapped", "event"])
def test_the_gpu_idles_for_a_round_trip(
    rows: dict[str, dict], figures: dict[str, float], by: str
) -> None:
    launch, wake = figures["launch_latency_seconds"], figures["sync_host_seconds"]
    copy, call = figures["pcie_latency_seconds"], figures["launch_host_seconds"]
    # Nothing starts beside the kernel's end, which a copy waits for as the host does.
    lead = lead_of(figures)
    for every in (1, 8):
        per_read = idle(rows, by, every=every) - once(figures) * every / STEPS
        if by == "event":
            assert 0 <= per_read - (lead + copy + launch) <= call
        else:
            word = 0 if by == "mapped" else copy
            assert per_read == pytest.approx(lead + word + wake + launch, rel=0.01)


def test_the_cost_fades_as_one_over_n(rows: dict[str, dict], figures: dict[str, float]) -> None:
    never = rows["host_sync/never_reading/us:20"]["real_time"] * 1e-6
    lost = [
        rows[f"host_sync/read_every/by:pinned/us:20/every:{every}"]["lost_fraction"]
        for every in (1, 2, 4, 8)
    ]
    # Lost time over time, against that over the time that never reading takes: a share s of the
    # whole is s / (1 - s) of the rest, and what reads cost of that halves exactly.
    of_reads = [s / (1 - s) - once(figures) / never for s in lost]
    for n, share in enumerate(of_reads):
        assert share == pytest.approx(of_reads[0] / 2**n, rel=0.01)


def test_the_cost_fades_as_kernels_grow(rows: dict[str, dict]) -> None:
    lost = {
        us: rows[f"host_sync/read_each_step/by:pinned/us:{us}"]["lost_fraction"]
        for us in (5, 20, 100, 500)
    }
    assert lost[5] > 0.3
    assert lost[500] < 0.01
    assert lost[5] > lost[20] > lost[100] > lost[500] > 0


def test_kernels_are_as_long_as_their_name_says(rows: dict[str, dict]) -> None:
    for us in (5, 20, 100, 500):
        seconds = rows[f"host_sync/never_reading/us:{us}"]["real_time"] * 1e-6
        assert seconds / (STEPS * LAYERS) == pytest.approx(us * 1e-6, rel=0.06)


def test_a_stopwatch_that_does_not_wait_lies(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    launches_only = STEPS / (STEPS * LAYERS * figures["launch_host_seconds"])
    there_and_back = figures["launch_latency_seconds"] + figures["sync_host_seconds"]
    for us in (5, 20, 100, 500):
        row = rows[f"host_sync/never_reading/us:{us}"]
        assert row["claimed_items_per_second"] == pytest.approx(launches_only, rel=0.01)
        # From the host a loop takes longer than between events by the way there and back.
        awaited = STEPS / (STEPS / row["items_per_second"] + there_and_back)
        assert row["awaited_items_per_second"] == pytest.approx(awaited, rel=0.01)
    assert row["claimed_items_per_second"] > 100 * row["items_per_second"]


def test_the_full_suite_has_every_combination() -> None:
    name = "host_sync/read_every/by:mapped/us:500/every:8"
    [row] = rows_of(
        f"--device=model:{DEVICE}", "--suite=full", f"--benchmark_filter=^{name}$"
    ).values()
    assert row["law_ratio"] == pytest.approx(1, abs=row["law_tolerance"])
    assert row["verified"] == "sampled"


def test_who_reads_one_step_late_loses_next_to_nothing(rows: dict[str, dict]) -> None:
    late = rows_of(
        "--suite=full", f"--device=model:{DEVICE}", "--benchmark_filter=^host_sync/read_late/"
    )
    assert len(late) == 4
    for us in (20, 100, 500):
        at_once = rows[f"host_sync/read_each_step/by:pinned/us:{us}"]["lost_fraction"]
        assert late[f"host_sync/read_late/us:{us}"]["lost_fraction"] < 0.5 * at_once
    # What is left is the same for each step.
    idle_seconds = [row["idle_seconds_per_read"] for row in late.values()]
    assert max(idle_seconds) < 1.1 * min(idle_seconds)
    assert not [r["name"] for r in late.values() if abs(r["law_ratio"] - 1) > r["law_tolerance"]]


@pytest.mark.release
def test_who_sleeps_while_waiting_notices_later(figures: dict[str, float]) -> None:
    rows = rows_of(
        "--suite=full", f"--device=model:{DEVICE}", "--benchmark_filter=^host_sync/wait/"
    )
    assert len(rows) == 12
    wake, call = figures["sync_host_seconds"], figures["launch_host_seconds"]
    for us in (5, 20, 100, 500):
        spin, poll, sleep = (
            rows[f"host_sync/wait/by:{by}/us:{us}"]["idle_seconds_per_read"]
            for by in ("spin", "yield", "block")
        )
        later = figures["sync_block_host_seconds"] - wake
        assert sleep - spin == pytest.approx(later, rel=0.01), us
        assert 0 <= poll - (spin - wake) <= call, us  # by none or by one poll
    assert not [r["name"] for r in rows.values() if abs(r["law_ratio"] - 1) > r["law_tolerance"]]
