"""Attention with scores, weights and results in tensor memory."""

from __future__ import annotations

import math

import pytest

from .conftest import figures, rows_of

TOKENS, HIDDEN = 16384, 2048
BY_TCGEN05 = "--benchmark_filter=^attention/(tcgen05|grouped/by:tcgen05)/"
NAME = "attention/{}/seq:{}/head_dim:{}/causal:{}"


def rows(device: str, of: str) -> dict[str, dict]:
    return rows_of(f"--device=model:{device}", "--suite=full", f"--benchmark_filter={of}")


@pytest.mark.release
@pytest.mark.parametrize("device", ["b200", "b300"])
def test_one_thread_multiplies_while_warps_take_the_softmax(device: str) -> None:
    seq = 1024
    found = rows(device, rf"^attention/(tcgen05|tiled)/seq:{seq}/")
    figure = figures(device)
    sms, clock = figure["sm_count"], figure["sm_clock_hz"]
    peak = figure["tensor_bf16_flops_per_clock_per_sm"] * sms * clock
    special = figure["sfu_ops_per_clock_per_sm"] * sms * clock
    for head_dim in (64, 128):
        row = found[NAME.format("tcgen05", seq, head_dim, 0)]
        heads = TOKENS // seq * HIDDEN // head_dim
        flops = 4 * heads * seq**2 * head_dim
        assert row["flops_per_second"] * row["model_seconds"] == pytest.approx(flops)
        # Per tile of 128 queries and 128 keys, a product for each 16 of head_dim and of keys.
        tiles = heads * (seq // 128) ** 2
        assert row["instructions"]["tensor"] == tiles * (head_dim // 16 + 128 // 16)
        # Every score has its exponential; few rows are taken against another maximum.
        assert row["instructions"]["special"] == pytest.approx(heads * seq**2 / 32, rel=0.02)
        # What is busiest, if the last wave of blocks of 256 queries counts whole.
        blocks = heads * seq // 256
        waves = math.ceil(blocks / sms) * sms / blocks
        busiest = waves * max(flops / peak, heads * seq**2 / special)
        assert row["law"] == pytest.approx(flops / (busiest + figure["kernel_floor_seconds"]))
        tiled = found[NAME.format("tiled", seq, head_dim, 0)]
        assert tiled["real_time"] / row["real_time"] > 2
        causal = found[NAME.format("tcgen05", seq, head_dim, 1)]
        assert 0.5 < causal["real_time"] / row["real_time"] < 0.75


@pytest.mark.release
@pytest.mark.parametrize("device", ["b200", "b300"])
def test_no_row_is_beyond_its_law(device: str) -> None:
    found = rows(
        device, r"^attention/(tcgen05/seq:(128|1024)/|grouped/by:tcgen05/seq:256/)"
    ).values()
    assert len(found) == 2 * 4 + 3
    assert not [r["name"] for r in found if r.get("skipped")]
    ratios = {r["name"]: r["law_ratio"] for r in found if "law_ratio" in r}
    assert ratios[NAME.format("tcgen05", 1024, 128, 0)]
    assert not [name for name, ratio in ratios.items() if ratio > 1]
    assert not [r["name"] for r in found if abs(r.get("law_ratio", 1) - 1) > r["law_tolerance"]]
    assert not [r["name"] for r in found if r.get("roof_fraction", 0) > 1]


@pytest.mark.parametrize("device", ["h100-sxm", "rtx-5090"])
def test_it_is_skipped_where_there_is_no_tcgen05(device: str) -> None:
    found = rows_of(f"--device=model:{device}", "--suite=full", BY_TCGEN05)
    assert len(found) == 40 + 6
    assert {row["skip_reason"] for row in found.values()} == {
        "tcgen05 is compiled for compute capabilities 10.0 and 10.3 alone"
    }


def test_it_is_of_the_full_suite_alone(daily: list[str]) -> None:
    assert not [name for name in daily if "attention/tcgen05" in name or "by:tcgen05" in name]
