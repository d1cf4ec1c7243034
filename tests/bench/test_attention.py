"""What the matrix of scores costs, in memory and in time; and what remains without it."""

from __future__ import annotations

import math

import pytest

from .conftest import RowsOfConcept

TOKENS, HIDDEN = 16384, 2048
SMS, CLOCK, LAUNCH = 132, 1.98e9, 2e-6  # of the h200-sxm's device file
TENSOR, REACH, DRAM = 4096 * SMS * CLOCK, 0.66, 4.8e12 * 0.917
OPERANDS = 4 * TOKENS * HIDDEN * 2  # bytes of Q, K, V and the result


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("attention")


def row(rows: dict[str, dict], kernel: str, seq: int, head_dim: int = 128, causal: int = 0) -> dict:
    return rows[f"attention/{kernel}/seq:{seq}/head_dim:{head_dim}/causal:{causal}"]


def scores(seq: int, head_dim: int = 128) -> int:
    """Bytes of the scores of all heads."""
    return TOKENS * HIDDEN // head_dim * seq * 2


def speed_up(rows: dict[str, dict], seq: int, **others: int) -> float:
    standard, tiled = (row(rows, kernel, seq, **others) for kernel in ("standard", "tiled"))
    return standard["real_time"] / tiled["real_time"]


def test_memory_grows_with_the_square_or_not_at_all(rows: dict[str, dict]) -> None:
    assert len(rows) == 12
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
    for seq in (256, 512, 2048, 4096):
        found = row(rows, "standard", seq)
        moved = found["moved_bytes_per_second"] * found["real_time"] * 1e-6
        assert moved == pytest.approx(OPERANDS + 4 * scores(seq))
        assert found["label"] == "dram"
    # At 2048 tokens 60.2 FLOP a byte, of hundreds that the multiplications could do.
    found = row(rows, "standard", 2048)
    flops = 4 * 16 * 8 * 2048**2 * 128
    assert found["arithmetic_intensity"] == pytest.approx(flops / (OPERANDS + 4 * scores(2048)))
    assert found["arithmetic_intensity"] < 0.5 * TENSOR / DRAM


def test_tiles_gain_what_the_bytes_of_the_scores_cost(rows: dict[str, dict]) -> None:
    # 8 bytes of DRAM for each score, against 4 head_dim FLOPs of the Tensor Cores.
    limit = 2 * REACH * TENSOR / (128 * DRAM)
    gains = {seq: speed_up(rows, seq) for seq in (512, 2048, 4096)}
    assert gains[4096] == pytest.approx(limit, rel=0.05)
    # Operands are bytes too, which only the standard way waits for.
    assert gains[512] > gains[2048] > gains[4096] > 2
    assert speed_up(rows, 2048, head_dim=64) == pytest.approx(2 * limit, rel=0.05)


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
    standard = 2 * multiplication + 2 * scores(seq) / DRAM + 3 * LAUNCH
    assert row(rows, "standard", seq)["law"] == pytest.approx(flops / standard)
