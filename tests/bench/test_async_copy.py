"""Little's law with tiles for loads."""

from __future__ import annotations

import math

import pytest

from .conftest import rows_of, seconds_of_a_busy_memory

SMS, CLOCK = 132, 1.98e9  # of the h200-sxm's device file
LATENCY, QUEUE, FMA_LATENCY = 689, 225, 4  # cycles
TURNAROUND = 464 + 280 / 2  # and the way of a block's last store to L2
BARRIER, SHARED_LATENCY, UNIT_BYTES = 60, 29, 128  # cycles, and bytes a cycle of shared memory, L1
STEPS = 24
READ = 4.8e12 * 0.917  # bytes/s
BYTES, BLOCK_BYTES = 1 << 28, 1 << 17
LAUNCH = 4.2e-6
TURNS = math.ceil(BYTES / BLOCK_BYTES / SMS)  # one block at a time
BUSY = BYTES / READ


@pytest.fixture(scope="module")
def rows() -> dict[str, dict]:
    flags = ("--device=model:h200-sxm", "--suite=full")
    return rows_of(*flags, "--benchmark_filter=^async_copy/")


def waiting_seconds(tile: int, ahead: int) -> tuple[float, float]:
    """For an SM with `ahead` tiles in flight while one is computed, where memory is not busy;
    and how much of that grows with the memory's queue, if the latency were one of its length."""
    tiles = BLOCK_BYTES / tile
    loads = tiles / max(ahead, 1)  # in latencies, of a block
    # Without anything computed meanwhile: every one, or of two stages the first.
    alone = {0: tiles, 1: 1}.get(ahead, 0)
    compute = BLOCK_BYTES / 2048 * STEPS * FMA_LATENCY  # one warp a scheduler, four chains each
    turn = LATENCY * alone + max(compute, LATENCY * (loads - alone))
    return (TURNS * turn + (TURNS - 1) * TURNAROUND) / CLOCK, TURNS * QUEUE * loads / CLOCK


def barriers(kernel: str, tile: int) -> float:
    tiles = BLOCK_BYTES / tile
    return {"plain": 2 * tiles, "cp_async": tiles, "bulk": tiles + 1}[kernel]


def phases_seconds(kernel: str, tile: int, ahead: int) -> float:
    """The one block of an SM cannot compute while its warps wait at a barrier. What they do
    themselves follows one after the other; what copies bring is under way meanwhile."""
    tiles = BLOCK_BYTES / tile
    loads = tiles / max(ahead, 1)
    alone = {0: tiles, 1: 1}.get(ahead, 0)
    at_barriers = barriers(kernel, tile)  # each is one instruction more for every scheduler
    compute = BLOCK_BYTES / 2048 * STEPS * FMA_LATENCY + at_barriers
    read_shared = BLOCK_BYTES / UNIT_BYTES
    # The threads of `plain` write shared memory too; the copy engine passes L1 by.
    shared = 2 * read_shared if kernel == "plain" else read_shared
    l1 = 0 if kernel == "bulk" else BLOCK_BYTES / UNIT_BYTES
    work = compute + shared + l1
    waits = LATENCY * alone + at_barriers * (BARRIER + SHARED_LATENCY)
    # No other block is there that would compute until the next one has come, and the first copies.
    first = LATENCY if ahead > 1 else 0
    turn = max(work, LATENCY * (loads - alone) - first) + waits
    turn += first + TURNAROUND * (1 - 1 / TURNS)
    if kernel == "plain":  # nothing is under way while it computes: the memory's time adds up too
        turn = max(turn, work + BUSY * CLOCK / TURNS)
    return TURNS * turn / CLOCK


def expected_seconds(kernel: str, tile: int, ahead: int) -> float:
    """A busy memory makes each load wait longer, the less so the longer all takes."""
    waiting, queue = waiting_seconds(tile, ahead)
    loaded = seconds_of_a_busy_memory(waiting, BUSY, queue)
    return max(loaded, phases_seconds(kernel, tile, ahead)) + LAUNCH


@pytest.mark.release
def test_time_follows_the_tiles_under_way(rows: dict[str, dict]) -> None:
    assert len(rows) > 30
    for row in rows.values():
        arguments = row["arguments"]
        case = arguments["tile"], arguments.get("stages", 1) - 1
        expected = expected_seconds(row["kernel"], *case)
        assert row["model_seconds"] == pytest.approx(expected, rel=0.01), row["name"]
        waiting, _ = waiting_seconds(*case)
        assert row["label"] == ("latency" if waiting > BUSY else "dram"), row["name"]
        assert row["law_ratio"] == pytest.approx(1, abs=row["law_tolerance"]), row["name"]
        assert row["resident_blocks"] == 1


def test_two_stages_hide_the_arithmetic_and_more_the_latency(rows: dict[str, dict]) -> None:
    def rate(name: str) -> float:
        return rows[f"async_copy/{name}"]["useful_bytes_per_second"]

    plain = rate("plain/tile:4096")
    two, four = (rate(f"cp_async/tile:4096/stages:{stages}") for stages in (2, 4))
    assert 1.2 * plain < two < 0.6 * four
    # Just enough is under way there to cover the latency of a memory that is not busy.
    assert waiting_seconds(4096, 3)[0] == pytest.approx(BUSY, rel=0.05)
    assert four < rate("bulk/tile:4096/stages:8") < rate("bulk/tile:16384/stages:4")
    assert four < 0.6 * READ < 0.75 * READ < rate("bulk/tile:16384/stages:4")


def test_who_copies_does_not_matter_to_the_law(rows: dict[str, dict]) -> None:
    # A block of `bulk` has one barrier more, behind which its mbarriers are ready.
    a_barrier = 1.01 * TURNS * (BARRIER + SHARED_LATENCY) / CLOCK
    for tile in (2048, 4096, 8192, 16384):
        for stages in (2, 3, 4):
            by_warps, by_engine = (
                rows[f"async_copy/{kernel}/tile:{tile}/stages:{stages}"]["model_seconds"]
                for kernel in ("cp_async", "bulk")
            )
            # What warps copy goes through L1, too.
            assert -a_barrier < by_warps - by_engine < 0.09 * by_engine, (tile, stages)


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("a100-80-sxm", "cp.async.bulk needs compute capability 9.0, this device has 8.0"),
        ("rtx-4090", "cp.async.bulk needs compute capability 9.0, this device has 8.9"),
    ],
)
def test_older_parts_say_what_they_lack(device: str, reason: str) -> None:
    rows = rows_of(f"--device=model:{device}", "--benchmark_filter=^async_copy/.*stages:2")
    for name, row in rows.items():
        if "/bulk/" in name:
            assert row["skip_reason"] == reason
        else:
            assert "skipped" not in row
