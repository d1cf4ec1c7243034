"""Gradients of attention: 2.5 times the FLOPs of forward, and what their kernels read for them."""

from __future__ import annotations

import pytest

from .conftest import rows_of

ROWS = "--benchmark_filter=^attention/backward/seq:2048/"
TOKENS, HIDDEN = 16384, 2048


def rows(device: str) -> dict[int, dict]:
    found = rows_of(f"--device=model:{device}", "--suite=full", ROWS).values()
    return {row["arguments"]["head_dim"]: row for row in found}


def test_gradients_take_2_5_times_the_flops_of_forward() -> None:
    found = rows("h200-sxm")
    assert sorted(found) == [64, 128]
    for head_dim, row in found.items():
        flops = row["flops_per_second"] * row["model_seconds"]
        assert flops == pytest.approx(2.5 * 4 * TOKENS * HIDDEN * 2048)
        # Seven products of 16 x 8 x 16 instead of five: each score is made twice.
        tiles = TOKENS * HIDDEN // head_dim * 2048 // (16 * 8)
        assert row["instructions"]["tensor"] == pytest.approx(7 * tiles * head_dim // 16, rel=0.01)
        # Two exponentials of each score.
        scores = TOKENS * HIDDEN // head_dim * 2048
        assert row["instructions"]["special"] == pytest.approx(2 * scores / 32, rel=0.01)
        assert row["label"] == {64: "latency", 128: "shared"}[head_dim]


@pytest.mark.release
@pytest.mark.parametrize(
    "device",
    ["b200", "a100-80-sxm", "rtx-4090"],
)
def test_its_laws_hold_on_other_devices(device: str) -> None:
    found = rows(device).values()
    assert len(found) == 2
    assert not [r["name"] for r in found if abs(r["law_ratio"] - 1) > r["law_tolerance"]]
    assert not [r["name"] for r in found if r.get("roof_fraction", 0) > 1.05]
