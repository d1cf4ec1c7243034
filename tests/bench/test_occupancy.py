"""Little's law on the plane of resident warps and what each has in flight."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from .conftest import EVERYTHING, ROOT, but_for, rows_of, seconds_of_a_busy_memory

# From the h200-sxm's device file, in seconds.
DRAM_LATENCY, TURNAROUND, QUEUE = (cycles / 1.98e9 for cycles in (689, 464, 225))
SMS, MOST_WARPS = 132, 64
LOADS_A_THREAD = 64
WAVES = (1, 2, 4, 8, 16) if EVERYTHING else (1,)
LONG_ROWS = (
    "occupancy/(waves/waves:(2|4|8|16)/|fma_by_block/block:(512|1024)/"
    "|(copy|fma)/warps:(?!(4|8|16|32|64)/))"
)


@pytest.fixture(scope="module")
def rows() -> dict[str, dict]:
    flags = but_for(LONG_ROWS, "occupancy/|stream/copy/dtype:fp32/bytes:16")
    return rows_of("--device=model:h200-sxm", *flags)


def plane(rows: dict[str, dict], kernel: str) -> dict[tuple[int, int], dict]:
    """The rows of a kernel by (resident warps, what a thread has in flight)."""
    other = {"copy": "unroll", "fma": "ilp"}[kernel]
    return {
        (row["arguments"]["warps"], row["arguments"][other]): row
        for row in rows.values()
        if row.get("kernel") == kernel and row["concept"] == "occupancy" and "skipped" not in row
    }


def test_occupancy_is_the_runtimes_own_case_by_case(rows: dict[str, dict]) -> None:
    cases = [r for r in rows.values() if "resident_blocks" in r and "warps" in r["arguments"]]
    assert len(cases) > (200 if EVERYTHING else 100)
    for row in cases:
        warps = row["resident_blocks"] * row["arguments"].get("block", 128) / 32
        assert warps == row["arguments"]["warps"], row["name"]
        assert row["occupancy"] == pytest.approx(warps / MOST_WARPS), row["name"]


def test_registers_limit_what_is_resident(rows: dict[str, dict]) -> None:
    capped = [r for r in rows.values() if r.get("kernel") == "registers" and "registers" in r]
    assert len(capped) >= 2
    for row in capped:
        a_warp = math.ceil(row["registers"] * 32 / 256) * 256  # as they are given out
        blocks = min(65536 // a_warp // 8, 2048 // 256)  # of 8 warps
        assert row["resident_blocks"] == blocks, row["name"]
        assert row["occupancy"] == pytest.approx(blocks * 8 / MOST_WARPS), row["name"]


def test_bytes_in_flight_are_latency_times_bandwidth(rows: dict[str, dict]) -> None:
    best = rows["stream/copy/dtype:fp32/bytes:16/unroll:4"]["useful_bytes_per_second"]
    for (warps, unroll), row in plane(rows, "copy").items():
        in_flight = warps * 32 * unroll * 4
        covered = 2 * SMS * in_flight / DRAM_LATENCY  # read and written
        if not 0.9 < covered / best < 1.1:
            assert row["label"] == ("latency" if covered < best else "dram"), row["name"]
        # A busy memory makes each load wait longer: what one comes to in seconds, of the latency,
        # of the bandwidth alone, and of both.
        moved = 2 * SMS * in_flight
        waits, busy = DRAM_LATENCY + TURNAROUND * unroll / LOADS_A_THREAD, moved / best
        both = seconds_of_a_busy_memory(waits, busy, QUEUE)
        assert row["useful_bytes_per_second"] == pytest.approx(moved / both, rel=0.06), row["name"]


def test_warps_and_loads_in_flight_are_interchangeable(rows: dict[str, dict]) -> None:
    copies = plane(rows, "copy")
    times = [copies[32 // unroll, unroll]["real_time"] for unroll in (1, 2, 4, 8)]
    # Not quite: blocks with more loads in flight end sooner, and have to be replaced more often.
    assert max(times) == pytest.approx(min(times), rel=0.05)


def test_the_compute_bound_kernel_is_fast_at_low_occupancy(rows: dict[str, dict]) -> None:
    chains = plane(rows, "fma")
    peak = chains[64, 8]["flops_per_second"]
    busy = chains[4, 4]
    assert busy["occupancy"] == pytest.approx(1 / 16)
    # With one block at a time, the next has to be started each time.
    steps = 8192 / 1.98e9
    assert busy["flops_per_second"] == pytest.approx(peak * steps / (steps + TURNAROUND), rel=0.02)
    assert chains[4, 1]["flops_per_second"] == pytest.approx(peak / 4, rel=0.05)
    # The copy at the same occupancy and the same number in flight is nowhere near its own.
    copies = plane(rows, "copy")
    assert copies[4, 4]["useful_bytes_per_second"] < 0.4 * copies[64, 8]["useful_bytes_per_second"]


def test_block_size_does_not_matter(rows: dict[str, dict]) -> None:
    for in_flight in (1, 8):
        times = [
            rows[f"occupancy/copy_by_block/block:{b}/warps:32/unroll:{in_flight}"]["real_time"]
            for b in (32, 64, 128, 256, 512, 1024)
        ]
        assert max(times) == pytest.approx(min(times), rel=0.05)


def test_what_does_not_fit_is_skipped_with_its_reason(tmp_path: Path) -> None:
    spec = json.loads((ROOT / "harness/devices/h200-sxm.json").read_text())
    spec["name"] = "narrow"
    spec["figures"]["max_blocks_per_sm"]["value"] = 16
    file = tmp_path / "narrow.json"
    file.write_text(json.dumps(spec))
    rows = rows_of(
        f"--device=model:{file}",
        "--suite=full",
        "--benchmark_filter=^occupancy/copy_by_block/block:(32|64)/warps:32/unroll:1$",
    )
    one_warp = rows["occupancy/copy_by_block/block:32/warps:32/unroll:1"]
    assert one_warp["skip_reason"] == "an SM of this device holds 16 of these blocks, not 32"
    assert "skipped" not in rows["occupancy/copy_by_block/block:64/warps:32/unroll:1"]


def test_registers_are_not_guessed(rows: dict[str, dict]) -> None:
    capped = [row for row in rows.values() if row.get("kernel") == "registers"]
    assert len(capped) == 6
    for row in capped:
        if "skipped" in row:
            assert "registers" in row["skip_reason"]
        else:
            assert row["registers"] > 0
            fits = row["arguments"]["values"] + 16 < 65536 // (256 * row["arguments"]["blocks"])
            assert (row["local_bytes"] == 0) == fits, row["name"]
            by_registers = 65536 // row["registers"] // 256  # whole blocks, at the very most
            assert 1 <= row["resident_blocks"] <= by_registers


def test_a_block_too_many_costs_a_wave(rows: dict[str, dict]) -> None:
    for waves in WAVES:
        whole = rows[f"occupancy/waves/waves:{waves}/extra:0"]
        more = rows[f"occupancy/waves/waves:{waves}/extra:1"]
        assert more["real_time"] / whole["real_time"] == pytest.approx(1 + 1 / waves, rel=0.05)
        assert more["occupancy"] == whole["occupancy"] == 0.5  # one block of 32 warps
        share = (waves * SMS + 1) / ((waves + 1) * SMS)
        for row, busy in ((whole, 1), (more, share)):
            # The launch is no block's time.
            idle = row["terms"]["launch"] / row["model_seconds"]
            assert row["achieved_occupancy"] == pytest.approx(0.5 * busy * (1 - idle), rel=0.02)


def test_only_rows_about_tails_give_the_achieved_occupancy(rows: dict[str, dict]) -> None:
    kernels = {row.get("kernel") for row in rows.values() if "achieved_occupancy" in row}
    assert kernels == {"waves"}
