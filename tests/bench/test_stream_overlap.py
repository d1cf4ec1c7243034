"""What chunks on streams take, by hand from the stages that the rows state, and the known traps."""

from __future__ import annotations

import pytest

from .conftest import RowsOfConcept, rows_of

CHUNKS = (1, 8, 16, 32)
FEW_CHUNKS = (1, 8, 32)


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("stream_overlap") | rows_of(
        "--suite=full",
        "--device=model:h200-sxm",
        "--benchmark_filter=^stream_overlap/(pipeline|both_directions)/memory:pageable/"
        "(chunks:8/streams:8|direction:)",
    )


def seconds(rows: dict[str, dict], rest: str) -> float:
    return rows[f"stream_overlap/{rest}"]["real_time"] * 1e-6


def pipeline(rows: dict[str, dict], chunks: int, streams: int = 8, memory: str = "pinned") -> float:
    return seconds(rows, f"pipeline/memory:{memory}/chunks:{chunks}/streams:{streams}")


def stages(rows: dict[str, dict], memory: str = "pinned") -> tuple[float, float, float]:
    row = rows[f"stream_overlap/pipeline/memory:{memory}/chunks:1/streams:8"]
    return row["to_device_seconds"], row["kernel_seconds"], row["to_host_seconds"]


def test_one_chunk_takes_all_stages_in_a_row(rows: dict[str, dict]) -> None:
    for streams in (1, 8):
        assert pipeline(rows, 1, streams) == pytest.approx(sum(stages(rows)), rel=0.01)


def test_chunks_take_the_sum_once_and_the_longest_stage_for_each_other(
    rows: dict[str, dict],
) -> None:
    whole = stages(rows)
    for chunks in CHUNKS:
        ideal = sum(whole) / chunks + (chunks - 1) * max(whole) / chunks
        overhead_a_chunk = (pipeline(rows, chunks) - ideal) / chunks
        assert -0.01e-6 <= overhead_a_chunk < 6e-6


def test_too_small_chunks_lose_again(rows: dict[str, dict]) -> None:
    times = [pipeline(rows, chunks) for chunks in CHUNKS]
    best = times.index(min(times))
    assert CHUNKS[best] in (8, 16)
    assert times[-1] > 1.1 * times[best]
    efficiency = [
        rows[f"stream_overlap/pipeline/memory:pinned/chunks:{c}/streams:8"]["overlap_efficiency"]
        for c in CHUNKS
    ]
    assert efficiency.index(max(efficiency)) == best
    assert 0.7 < max(efficiency) < 1


def test_one_stream_overlaps_nothing(rows: dict[str, dict]) -> None:
    for chunks in FEW_CHUNKS:
        assert pipeline(rows, chunks, streams=1) >= sum(stages(rows))


def test_pageable_memory_overlaps_nothing(rows: dict[str, dict]) -> None:
    pageable = [pipeline(rows, chunks, memory="pageable") for chunks in FEW_CHUNKS]
    assert pageable == sorted(pageable), "every chunk is only one more"
    # The stages were timed by themselves, where the host's part of a blocking call shows too.
    assert pageable[0] == pytest.approx(sum(stages(rows, "pageable")), rel=0.05)


def test_the_legacy_default_stream_puts_everything_in_a_row(rows: dict[str, dict]) -> None:
    none, own, legacy = (
        seconds(rows, f"default_stream/default:{default}/chunks:4")
        for default in ("none", "per_thread", "legacy")
    )
    assert own == pytest.approx(none, rel=0.02)
    assert legacy > pipeline(rows, 1, streams=1)
    assert legacy > 1.6 * own


def test_both_directions_at_once_are_twice_one(rows: dict[str, dict]) -> None:
    def rate(memory: str, direction: str) -> float:
        name = f"stream_overlap/both_directions/memory:{memory}/direction:{direction}"
        return rows[name]["useful_bytes_per_second"]

    for direction in ("h2d", "d2h"):
        assert rate("pinned", "both") == pytest.approx(2 * rate("pinned", direction), rel=0.02)
        assert rate("pageable", "both") == pytest.approx(rate("pageable", direction), rel=0.02)


def test_an_urgent_kernel_waits_for_one_not_for_all(rows: dict[str, dict]) -> None:
    long, short = 50e-6, 5e-6
    urgent = {
        priority: rows[f"stream_overlap/priority/urgent:{priority}"]["urgent_seconds"]
        for priority in ("equal", "high")
    }
    assert urgent["high"] <= 1.1 * (long + short)
    assert urgent["equal"] >= 3 * long + short
    total = {p: seconds(rows, f"priority/urgent:{p}") for p in urgent}
    assert total["high"] == pytest.approx(total["equal"], rel=0.01), "going first costs no work"


@pytest.fixture(scope="module")
def full() -> dict[str, dict]:
    flags = ("--device=model:h200-sxm", "--suite=full")
    return rows_of(*flags, "--benchmark_filter=^stream_overlap/(compute|concurrent)/")


def test_a_long_kernel_hides_both_copies(full: dict[str, dict]) -> None:
    def efficiency(copies: int, streams: int) -> float:
        name = f"stream_overlap/compute/copies:{copies}/chunks:8/streams:{streams}"
        return full[name]["overlap_efficiency"]

    assert efficiency(1, 8) < efficiency(2, 8) < efficiency(4, 8)
    # One chunk of eight stays visible of the stage before, and one of that after.
    assert efficiency(4, 8) == pytest.approx(4 / (4 + 2 / 8), abs=0.06)
    assert efficiency(4, 1) == pytest.approx(4 / 6, abs=0.06)


def test_small_kernels_run_side_by_side(full: dict[str, dict]) -> None:
    seconds = {n: full[f"stream_overlap/concurrent/streams:{n}"]["real_time"] for n in (1, 2, 4, 8)}
    for few in (1, 2, 4):
        assert seconds[few] / seconds[2 * few] == pytest.approx(2, rel=0.1)


def test_laws_hold_in_the_full_suite(full: dict[str, dict]) -> None:
    assert len(full) == 13
    assert not [r["name"] for r in full.values() if abs(r["law_ratio"] - 1) > r["law_tolerance"]]
