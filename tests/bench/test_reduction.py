"""What the ladder's rungs cost, and that its last ones read as fast as memory allows."""

from __future__ import annotations

import pytest

from .conftest import rows_of, seconds_of_a_busy_memory

TREES = ("divergent", "conflicting", "sequential", "first_add", "unrolled")
SMS, CLOCK, THREADS_AN_SM = 132, 1.98e9, 2048  # of the h200-sxm's device file
DRAM_LATENCY, QUEUE = 689, 225  # cycles
READ, LAUNCH = 4.8e12 * 0.917, 4.2e-6
WORDS = 1 << 26
LAST = ("grid_stride", "last_block", "atomic", "cub")


@pytest.fixture(scope="module")
def rows() -> dict[str, dict]:
    flags = "^(reduction/|atomics/|stream/read/dtype:fp32/bytes:16/unroll:4$)"
    return rows_of("--device=model:h200-sxm", f"--benchmark_filter={flags}")


def rung(rows: dict[str, dict], by: str) -> dict:
    return rows[f"reduction/sum/by:{by}"]


@pytest.mark.parametrize("by", LAST)
def test_the_last_rungs_reach_a_plain_read(rows: dict[str, dict], by: str) -> None:
    read = rows["stream/read/dtype:fp32/bytes:16/unroll:4"]["useful_bytes_per_second"]
    assert rung(rows, by)["useful_bytes_per_second"] == pytest.approx(read, rel=0.1)
    assert rung(rows, by)["label"] == "dram"


def test_a_grid_that_meets_is_as_fast_as_a_plain_read(rows: dict[str, dict]) -> None:
    name = "reduction/sum/by:grid_sync"
    flags = ("--suite=full", f"--benchmark_filter=^{name}$")
    row = rows_of("--device=model:h200-sxm", *flags)[name]
    assert "error_occurred" not in row
    assert row["label"] == "dram"
    plain = rung(rows, "grid_stride")["real_time"]
    assert row["real_time"] == pytest.approx(plain, rel=0.1)


def test_each_step_takes_away_requests_or_conflicts(rows: dict[str, dict]) -> None:
    wavefronts = {by: rung(rows, by)["wavefronts_per_request"] for by in TREES}
    assert wavefronts["conflicting"] > 3
    for by in ("divergent", "sequential", "first_add", "unrolled"):
        assert wavefronts[by] == 1
    assert rung(rows, "divergent")["active_lanes"] < rung(rows, "sequential")["active_lanes"]
    times = [rung(rows, by)["real_time"] for by in ("divergent", "sequential", "first_add")]
    assert times == sorted(times, reverse=True)
    assert rung(rows, "sequential")["real_time"] < rung(rows, "conflicting")["real_time"]


def test_libraries_are_operations_on_the_model(rows: dict[str, dict]) -> None:
    for by in ("cub", "thrust"):
        assert rung(rows, by)["verified"] == "operation"
    # It allocates, waits and copies four bytes.
    assert rung(rows, "thrust")["real_time"] > rung(rows, "cub")["real_time"] + 3


def test_own_bins_cost_their_reading_by_one_load_after_the_other(rows: dict[str, dict]) -> None:
    own = rows["atomics/histogram/by:privatised/bins:1024"]
    loads = WORDS / 4 / (SMS * THREADS_AN_SM)  # of a thread, each before it counts what it got
    waiting, queue = (loads * cycles / CLOCK for cycles in (DRAM_LATENCY, QUEUE))
    expected = seconds_of_a_busy_memory(waiting, 4 * WORDS / READ, queue)
    # And clearing the bins before.
    assert own["real_time"] * 1e-6 == pytest.approx(expected + 2 * LAUNCH, rel=0.005)
    assert own["label"] == "dram"


def test_turns_of_atomics_are_not_guessed(rows: dict[str, dict]) -> None:
    for bins in (1, 1024):
        row = rows[f"atomics/histogram/by:global/bins:{bins}"]
        assert row["skip_reason"].startswith("no device file says")
