"""What the matrix of scores costs, in memory and in time; and what remains without it."""

from __future__ import annotations

import math

import pytest

from .conftest import EVERYTHING, RowsOfConcept, rows_of

TOKENS, HIDDEN = 16384, 2048
SMS, CLOCK, LAUNCH = 132, 1.98e9, 4.2e-6  # of the h200-sxm's device file
THREE_LAUNCHES = LAUNCH + 2 * 1.88e-6  # and the spacing of a stream's
TENSOR, REACH, DRAM = 4096 * SMS * CLOCK, 0.66, 4.8e12 * 0.917
LOADED = 0.88  # of the clock, with Tensor Cores three quarters busy
LIBRARY, MIXED = 0.742, 4.8e12 * 0.896  # what multiplications reach, and reads with writes
SCHEDULERS, SPECIAL, MAXIMA = 4, 16, 64  # a clock
SHARED, L1, BARRIER = 128, 128, 60 + 29  # bytes a clock; cycles
OPERANDS = 4 * TOKENS * HIDDEN * 2  # bytes of Q, K, V and the result


# Rows of the full suite.
FURTHER = (
    "^attention/((standard|tiled)/seq:(256/head_dim:128|2048/head_dim:64)"
    "|wgmma/seq:2048/head_dim:128)/causal:0$"
)


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    further = rows_of("--device=model:h200-sxm", "--suite=full", f"--benchmark_filter={FURTHER}")
    found = rows_of_concept("attention") | further
    return {name: row for name, row in found.items() if row["kernel"] != "decode"}


def row(rows: dict[str, dict], kernel: str, seq: int, head_dim: int = 128, causal: int = 0) -> dict:
    return rows[f"attention/{kernel}/seq:{seq}/head_dim:{head_dim}/causal:{causal}"]


def scores(seq: int, head_dim: int = 128) -> int:
    """Bytes of the scores of all heads."""
    return TOKENS * HIDDEN // head_dim * seq * 2


def speed_up(rows: dict[str, dict], seq: int, **others: int) -> float:
    standard, tiled = (row(rows, kernel, seq, **others) for kernel in ("standard", "tiled"))
    return standard["real_time"] / tiled["real_time"]


def test_memory_grows_with_the_square_or_not_at_all(rows: dict[str, dict]) -> None:
    assert len(rows) == (12 if EVERYTHING else 11)
    for found in rows.values():
        seq, head_dim = found["arguments"]["seq"], found["arguments"]["head_dim"]
        heads = TOKENS // seq * HIDDEN // head_dim
        elements = 4 * heads * seq * head_dim  # Q, K, V and the result
        if found["kernel"] == "standard":
            elements += heads * seq * seq
        assert found["memory_bytes"] == 2 * elements
    # The same tokens in longer sequences: a matrix twice as large, or nothing.
    memory = {name: row(rows, name, 4096)["memory_bytes"] for name in ("standard", "tiled")}
    before = {name: row(rows, name, 2048)["memory_bytes"] for name in ("standard", "tiled")}
    assert memory["tiled"] == before["tiled"] == OPERANDS
    assert memory["standard"] - OPERANDS == 2 * (before["standard"] - OPERANDS)


def test_scores_pass_through_memory_four_times(rows: dict[str, dict]) -> None:
    for seq in (256, 2048, 4096):
        found = row(rows, "standard", seq)
        moved = found["moved_bytes_per_second"] * found["real_time"] * 1e-6
        assert moved == pytest.approx(OPERANDS + 4 * scores(seq))
        assert found["label"] == "dram"
    # At 2048 tokens 60.2 FLOP a byte, of hundreds that the multiplications could do.
    found = row(rows, "standard", 2048)
    flops = 4 * 16 * 8 * 2048**2 * 128
    assert found["arithmetic_intensity"] == pytest.approx(flops / (OPERANDS + 4 * scores(2048)))
    assert found["arithmetic_intensity"] < 0.5 * TENSOR / DRAM


def in_turn(found: dict, l1: float, shared: float) -> float:
    """Seconds that warps are at all units but the Tensor Cores, one unit after the other, if SMs
    are evenly busy; so many bytes are theirs."""
    counts = found["instructions"]
    kinds = ("fma_fp32", "add_fp32", "special", "shuffle", "vote", "barrier")
    cycles = sum(counts.get(kind, 0) for kind in kinds) / SCHEDULERS
    cycles += sum(counts.get(kind, 0) for kind in ("max_fp32", "pack_16x2")) * 32 / MAXIMA
    cycles += counts["special"] * 32 / SPECIAL + l1 / L1 + shared / SHARED
    return cycles / (SMS * CLOCK)


def tiled_seconds(found: dict) -> float:
    """Each of an SM's two blocks is at all units in turn, and uses what the other one leaves."""
    seq, head_dim = found["arguments"]["seq"], found["arguments"]["head_dim"]
    blocks, warps, moved = TOKENS * HIDDEN // head_dim // 128, 4, found["bytes"]
    products = 4 * TOKENS * HIDDEN * seq / (REACH * TENSOR)
    longest = max(products, moved["shared"] / SHARED / (SMS * CLOCK))
    barriers = found["instructions"]["barrier"] / warps * BARRIER / (SMS * CLOCK)
    copied = 32 * 16 * found["instructions"]["async_copy"]  # meanwhile
    alone = products + in_turn(found, moved["l1"], moved["shared"] - copied) + barriers
    waves = math.ceil(blocks / SMS) * SMS / blocks
    return waves * (alone + longest) / 2 + LAUNCH


def standard_seconds(found: dict) -> float:
    """Half of a multiplication shows beside its bytes, since two tiles of an SM take turns; of the
    softmax's other work what one of its five blocks of an SM does while the rest are served."""
    seq, head_dim = found["arguments"]["seq"], found["arguments"]["head_dim"]
    of_scores = scores(seq, head_dim)
    products = 2 * TOKENS * HIDDEN * seq / (LIBRARY * TENSOR)
    multiplication = products / 2 + (of_scores + OPERANDS / 2) / MIXED
    words = sum(found["instructions"][f"shared_{access}"] for access in ("load", "store"))
    softmax = 2 * of_scores / MIXED + in_turn(found, 2 * of_scores, 128 * words) / 5
    return 2 * multiplication + softmax + THREE_LAUNCHES


def test_tiles_gain_what_the_bytes_of_the_scores_cost(rows: dict[str, dict]) -> None:
    # 8 bytes of DRAM for each score, against 4 head_dim FLOPs of the Tensor Cores, where each way
    # overlaps all of its work. Neither does, and tiles less than passes over memory.
    limit = 2 * REACH * TENSOR / (128 * DRAM)
    for seq, head_dim in ((2048, 128), (4096, 128), (2048, 64)):
        standard, tiled = (row(rows, name, seq, head_dim) for name in ("standard", "tiled"))
        assert tiled["real_time"] * 1e-6 == pytest.approx(tiled_seconds(tiled), rel=0.02)
        assert standard["real_time"] * 1e-6 == pytest.approx(standard_seconds(standard), rel=0.04)
        gain = standard_seconds(standard) / tiled_seconds(tiled)
        assert speed_up(rows, seq, head_dim=head_dim) == pytest.approx(gain, rel=0.04)
        assert 1.5 < gain < limit * 128 / head_dim
    # The exponentials of a score cost as much for half of the FLOPs, so that it is not twice as
    # much: 1.56 times on an H100 (FlashAttention-3 paper, FlashAttention-2 against PyTorch).
    assert 1.5 < speed_up(rows, 2048, head_dim=64) / speed_up(rows, 2048) < 1.7


def test_warpgroups_take_turns_at_products_and_softmax(rows: dict[str, dict]) -> None:
    """Each of two warpgroups multiplies, then takes its softmax while the other one multiplies."""
    for seq in (2048, 4096):
        found = row(rows, "wgmma", seq)
        assert found["label"] == "tensor"
        seconds = found["real_time"] * 1e-6
        flops = 4 * TOKENS * HIDDEN * seq
        assert flops / TENSOR < seconds < row(rows, "tiled", seq)["real_time"] * 1e-6
        counts = found["instructions"]
        # So half of the softmax shows; at the clock that the power limit leaves.
        alone = flops / TENSOR + in_turn(found, 0, 0) / 2
        assert seconds == pytest.approx(alone / LOADED + LAUNCH, rel=0.03)
        # Per tile of 64 queries, products of 16 elements each: as many as head_dim and keys have.
        tiles = TOKENS * HIDDEN // 128 * seq // (64 * 128)
        assert counts["tensor"] == 4 * tiles * (128 // 16 + 128 // 16)


def test_short_rows_cost_either_way_more_for_a_score(rows: dict[str, dict]) -> None:
    # Operands are bytes too, which the standard way waits for; and tiles wait for the first of
    # them, FlashAttention-2 on an H100 for 16 % of its rate at 512 tokens (FlashAttention-3 paper).
    for name in ("standard", "tiled"):
        each = {seq: row(rows, name, seq)["real_time"] / seq for seq in (256, 2048, 4096)}
        assert each[256] > 1.05 * each[2048]
        assert each[2048] > each[4096]
    # The standard way waits for more of them.
    gains = [speed_up(rows, seq) for seq in (256, 2048, 4096)]
    assert gains == sorted(gains, reverse=True)


@pytest.mark.release
def test_what_is_not_seen_costs_next_to_nothing(rows: dict[str, dict]) -> None:
    whole, half = (row(rows, "tiled", 2048, causal=causal) for causal in (0, 1))
    assert 0.5 < half["real_time"] / whole["real_time"] < 0.6
    # The library multiplies all of it.
    whole, half = (row(rows, "standard", 2048, causal=causal) for causal in (0, 1))
    assert 0.85 < half["real_time"] / whole["real_time"] < 0.95


def test_the_laws_are_these(rows: dict[str, dict]) -> None:
    seq = 4096
    flops = 4 * TOKENS * HIDDEN * seq
    blocks = TOKENS * HIDDEN // 128 // 128
    waves = math.ceil(blocks / SMS) * SMS / blocks
    tiled = flops * waves / (REACH * TENSOR) + LAUNCH
    assert row(rows, "tiled", seq)["law"] == pytest.approx(flops / tiled)
    multiplication = (scores(seq) + 0.75 * OPERANDS) / DRAM
    standard = 2 * multiplication + 2 * scores(seq) / DRAM + THREE_LAUNCHES
    assert row(rows, "standard", seq)["law"] == pytest.approx(flops / standard)
