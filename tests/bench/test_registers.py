"""What a thread keeps in registers it need not load, until there are not enough of them."""

from __future__ import annotations

import math

import pytest

from .conftest import rows_of

SMS, CLOCK = 132, 1.98e9  # of the h200-sxm's device file
SCHEDULERS, WAVEFRONTS_A_CLOCK = 4, 1
# An SM's part of the bandwidths, of DRAM as reads and writes share it.
L2_BYTES, L2_BYTES_A_CLOCK = 60 << 20, 9.9e12 / SMS / CLOCK
DRAM_BYTES_A_CLOCK = 0.896 * 4.8e12 / SMS / CLOCK
LAUNCH = 4.2e-6
OUTPUTS, STEPS = 1 << 24, 64


@pytest.fixture(scope="module")
def rows() -> dict[str, dict]:
    flags = ("--device=model:h200-sxm", "--suite=full")
    found = rows_of(*flags, "--benchmark_filter=^(registers/|occupancy/registers)")
    if any("scripts/audit" in row.get("skip_reason", "") for row in found.values()):
        pytest.skip("nobody has written down what nvcc makes of these kernels (scripts/audit)")
    return found


def shared_bytes(edge: int) -> int:
    """Shared memory per block: two panels of 16 steps, for 8 tiles side by side."""
    return 2 * 16 * 8 * edge * 4


def beyond_l2(row: dict, threads: int) -> float:
    """The share m of accesses to local memory that L2 misses: every word comes again after all the
    others, and survives that with exp(-m frames / L2), if it fits at all."""
    frames = SMS * row["resident_blocks"] * threads * row["local_bytes"]
    if frames <= L2_BYTES:
        return 0.0
    low, high = 1e-9, 1.0  # 1 - exp(-m f / L2) - m is positive before the root, negative after
    for _ in range(60):
        m = (low + high) / 2
        low, high = (m, high) if 1 - math.exp(-m * frames / L2_BYTES) > m else (low, m)
    return low


def cycles_a_step(row: dict) -> dict[str, float]:
    """Cycles of one warp on its SM, by what it needs."""
    edge, words = row["arguments"]["edge"], row["local_bytes"] / 4
    loads, fmas, moved = 2 * edge, edge**2, 2 * words
    return {
        "shared": loads / WAVEFRONTS_A_CLOCK,
        "l1": moved / WAVEFRONTS_A_CLOCK,
        "l2": moved * 128 / L2_BYTES_A_CLOCK,
        "dram": moved * 128 * beyond_l2(row, 64) / DRAM_BYTES_A_CLOCK,
        "fp32": fmas / SCHEDULERS,
        "issue": (loads + fmas + moved) / SCHEDULERS,
    }


def cycles_of_turns(row: dict) -> float:
    """The same, if each unit waits for the one before, and other blocks use what a block leaves."""
    needs, blocks = cycles_a_step(row), row["resident_blocks"]
    arithmetic = needs["fp32"]  # with nothing else to issue, as many as the unit takes
    longest = max(needs[unit] for unit in ("shared", "l1", "fp32", "issue"))
    in_turn = arithmetic + needs["shared"] + needs["l1"]
    return (max(in_turn, longest) + (blocks - 1) * longest) / blocks


def tiles(rows: dict[str, dict], kernel: str) -> list[dict]:
    return [r for r in rows.values() if r["concept"] == "registers" and r["kernel"] == kernel]


def test_loads_a_multiply_add_fall_as_the_edge_grows(rows: dict[str, dict]) -> None:
    for row in tiles(rows, "tile"):
        assert row["loads_per_fma"] == 2 / row["arguments"]["edge"]
        assert row["wavefronts_per_request"] == 1


def test_a_step_takes_what_its_busiest_unit_takes(rows: dict[str, dict]) -> None:
    for row in tiles(rows, "tile") + tiles(rows, "capped"):
        needs = cycles_a_step(row)
        bound = max(needs, key=lambda unit: needs[unit])
        warps = math.ceil(OUTPUTS / row["arguments"]["edge"] ** 2 / 64 / SMS) * 2
        cycles = max(needs[bound], cycles_of_turns(row))
        expected = cycles * warps * STEPS / CLOCK + LAUNCH
        # Filling the panels, waiting at barriers, and words of local memory that not every step
        # needs.
        tolerance = 0.2 if row["local_bytes"] else 0.08
        assert row["model_seconds"] == pytest.approx(expected, rel=tolerance), row["name"]
        second = sorted(needs.values())[-2]
        if second < 0.9 * needs[bound]:
            assert row["label"] == bound, row["name"]


def test_reuse_reaches_the_peak_and_spilling_leaves_it(rows: dict[str, dict]) -> None:
    rate = {r["arguments"]["edge"]: r["flops_per_second"] for r in tiles(rows, "tile")}
    assert rate[2] == pytest.approx(2 * rate[1], rel=0.1)
    assert rate[4] == pytest.approx(4 * rate[1], rel=0.1)
    assert rate[8] == max(rate.values())
    assert rate[16] < rate[8]


def test_only_what_does_not_fit_is_spilled(rows: dict[str, dict]) -> None:
    for row in tiles(rows, "tile") + tiles(rows, "capped"):
        edge = row["arguments"]["edge"]
        limit = min(255, 65536 // (row["arguments"].get("blocks", 1) * 64))
        assert row["registers"] <= limit, row["name"]
        # Sums, a row and a column of values, and a few addresses.
        needed = edge**2 + edge
        if needed + 32 < limit:
            assert row["local_bytes"] == 0, row["name"]
        if needed > limit:
            missing = 4 * (needed - limit)
            assert missing <= row["local_bytes"] <= missing + 4 * (edge + 64), row["name"]


def test_what_is_resident_is_what_registers_and_shared_memory_allow(rows: dict[str, dict]) -> None:
    for row in tiles(rows, "tile") + tiles(rows, "capped"):
        a_warp = math.ceil(row["registers"] * 32 / 256) * 256  # as they are given out
        by_registers = 65536 // SCHEDULERS // a_warp * SCHEDULERS // 2  # each has its own
        by_shared = 233472 // (shared_bytes(row["arguments"]["edge"]) + 1024)
        assert row["resident_blocks"] == min(by_registers, by_shared, 32), row["name"]
        # What the compiler has promised it keeps, as far as registers go.
        assert by_registers >= row["arguments"].get("blocks", 1), row["name"]


def test_a_promise_of_more_blocks_costs_more_than_their_warps_bring(rows: dict[str, dict]) -> None:
    by_blocks = {
        r["arguments"]["blocks"]: r for r in tiles(rows, "capped") if r["arguments"]["edge"] == 16
    }
    assert by_blocks[16]["occupancy"] > by_blocks[8]["occupancy"]
    assert by_blocks[16]["flops_per_second"] < by_blocks[8]["flops_per_second"]


def test_occupancys_own_spilled_chains_have_a_price(rows: dict[str, dict]) -> None:
    chains = {
        (r["arguments"]["values"], r["arguments"]["blocks"]): r
        for r in rows.values()
        if r["concept"] == "occupancy"
    }
    spilled, kept = chains[192, 4], chains[192, 1]
    assert spilled["local_bytes"] > 0
    assert kept["local_bytes"] == 0
    # Blocks of 256 threads: what a line takes of L2, and what L2 misses of DRAM.
    in_l2, in_dram = 1 / L2_BYTES_A_CLOCK, beyond_l2(spilled, 256) / DRAM_BYTES_A_CLOCK
    assert not 0.9 < in_dram / in_l2 < 1.1  # else nobody can tell which binds
    assert spilled["label"] == ("dram" if in_dram > in_l2 else "l2")
    assert spilled["flops_per_second"] < 0.5 * kept["flops_per_second"]
