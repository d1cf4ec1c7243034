"""Tokens per second of a layer: its weights' bytes, then its arithmetic; four bits; experts."""

from __future__ import annotations

import pytest

from .conftest import RowsOfConcept, figures, rows_of

DEVICE = "h200-sxm"
N, K = 14336, 4096
LAYER = f"n:{N}/k:{K}"


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("gemm_batch")


@pytest.fixture(scope="module", name="figures")
def figures_of_device() -> dict[str, float]:
    return figures(DEVICE)


@pytest.fixture(scope="module")
def sweep() -> dict[int, dict]:
    """The library's rows of one layer in bf16, by number of tokens."""
    found = rows_of(
        f"--device=model:{DEVICE}",
        "--suite=full",
        f"--benchmark_filter=^gemm_batch/library/dtype:bf16/m:[0-9]+/{LAYER}$",
    )
    return {row["arguments"]["m"]: row for row in found.values()}


def seconds(row: dict) -> float:
    return row["model_seconds"]


def test_the_library_reads_the_weights_once_up_to_the_ridge(sweep: dict[int, dict]) -> None:
    assert sorted(sweep) == [2**i for i in range(13)]
    for m in (2, 4, 8, 16, 32):
        assert seconds(sweep[m]) == pytest.approx(seconds(sweep[1]), rel=0.05), m
        assert sweep[m]["label"] == "dram"
    # As published kernels: cuBLAS reaches 78 to 83 % of an A10G's bandwidth for such layers
    # (mlc-ai/mlc-llm pull request 695), CUTLASS 68 % of an H100's (NVIDIA/cutlass issue 1139).
    assert 0.6 < sweep[1]["moved_bytes_per_second"] / 4.8e12 < 0.85
    for m in (1024, 2048, 4096):
        assert sweep[m]["label"] == "tensor"
    assert sweep[4096]["tokens_per_second"] < 1.1 * sweep[1024]["tokens_per_second"]
    assert sweep[4096]["tokens_per_second"] > 190 * sweep[1]["tokens_per_second"]


def test_the_ridge_is_where_the_roofs_cross(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    clocks = figures["sm_count"] * figures["sm_clock_hz"]
    dram = figures["dram_bytes_per_second"] * figures["dram_read_efficiency"]
    for dtype, size, reached in (("bf16", 2, "gemm_efficiency"), ("fp8", 1, "gemm_fp8_efficiency")):
        row = rows[f"gemm_batch/library/dtype:{dtype}/m:1/{LAYER}"]
        m = row["ridge_tokens"]
        flops = clocks * figures[f"tensor_{dtype}_flops_per_clock_per_sm"] * figures[reached]
        arithmetic = 2 * m * N * K / flops
        memory = (N * K * size + m * (K * size + N * 2)) / dram
        assert arithmetic == pytest.approx(memory, rel=1e-9)


def test_a_token_costs_the_bytes_of_the_weights(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    launch = figures["kernel_floor_seconds"]
    time = {
        dtype: seconds(rows[f"gemm_batch/gemv/dtype:{dtype}/m:1/{LAYER}"])
        for dtype in ("bf16", "int4")
    }
    dram = figures["dram_bytes_per_second"] * figures["dram_read_efficiency"]
    for dtype, bits in (("bf16", 16), ("int4", 4 + 16 / 128)):
        weights = N * K * bits / 8
        row = rows[f"gemm_batch/gemv/dtype:{dtype}/m:1/{LAYER}"]
        moved = row["moved_bytes_per_second"] * time[dtype]
        assert moved == pytest.approx(weights + (N + K) * 2, rel=0.01), dtype
        assert time[dtype] - launch == pytest.approx(weights / dram, rel=0.1), dtype
    # Four bits and a scale per 128 weights.
    faster = (time["bf16"] - launch) / (time["int4"] - launch)
    assert faster == pytest.approx(16 / 4.125, rel=0.05)


def of_experts(rows: dict[str, dict], by: str) -> dict:
    return rows[f"gemm_batch/grouped/by:{by}/split:even/experts:128/m:4"]


def test_one_launch_saves_those_of_the_other_experts(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    time = {by: seconds(of_experts(rows, by)) for by in ("separate", "batched", "one_launch")}
    for by in ("batched", "one_launch"):
        assert time["separate"] - time[by] > 127 * figures["launch_stream_seconds"]
    assert 0.8 < time["batched"] / time["one_launch"] < 1.2


# 128 products, each with a second launch that adds up its parts: their spacing is four times what
# their weights take.
def test_separate_products_cost_the_spacing_of_their_launches(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    launches = figures["kernel_floor_seconds"] + (2 * 128 - 1) * figures["launch_stream_seconds"]
    separate = of_experts(rows, "separate")
    weights = 128 * 768 * 2048 * 2
    dram = figures["dram_bytes_per_second"] * figures["dram_read_efficiency"]
    assert launches > 4 * weights / dram
    law = 128 * 4 / separate["law"]
    # Besides the weights, X and Y are read and written.
    assert law == pytest.approx(launches + weights / dram, rel=0.01)
    # Nothing overlaps at the end of one product and the beginning of the next.
    assert law < seconds(separate) < 1.25 * law


# Four tokens of an expert fill a tile of 64 rows by a 16th, and four columns of our own kernel.
def test_the_padding_of_each_way_is_told(rows: dict[str, dict]) -> None:
    for by in ("separate", "batched"):
        assert of_experts(rows, by)["padding_fraction"] == pytest.approx(1 - 4 / 64), by
    assert of_experts(rows, "one_launch")["padding_fraction"] == 0


def test_padding_to_the_fullest_expert_is_free_while_memory_sets_the_pace() -> None:
    found = rows_of(
        f"--device=model:{DEVICE}",
        "--suite=full",
        "--benchmark_filter=^gemm_batch/grouped/by:(batched|one_launch)/.*/experts:128/m:(4|16)$",
    )
    for m, dearer in ((4, 1.05), (16, 1.15)):
        even, uneven = (
            seconds(found[f"gemm_batch/grouped/by:batched/split:{split}/experts:128/m:{m}"])
            for split in ("even", "uneven")
        )
        assert even <= uneven < dearer * even
    # Our own kernel pads to four tokens: experts with 16, 8, 4 and 36 take as many passes together
    # as four with 16 each.
    even, uneven = (
        found[f"gemm_batch/grouped/by:one_launch/split:{split}/experts:128/m:16"]
        for split in ("even", "uneven")
    )
    assert even["padding_fraction"] == uneven["padding_fraction"] == 0
    assert seconds(uneven) == pytest.approx(seconds(even), rel=0.05)


# A B200's library is taken not to cut the sums of an expert's product: as a whole it is as fast as
# in parts with a second launch, and takes longer than the spacing of launches that the law knows.
BEYOND = {"b200": ["gemm_batch/grouped/by:separate/split:even/experts:128/m:4"]}


@pytest.mark.parametrize("device", ["h100-sxm", "b200", "rtx-4090", "l40s"])
def test_its_laws_hold_on_other_devices(device: str, rows_of_concept: RowsOfConcept) -> None:
    found = rows_of_concept("gemm_batch", device).values()
    laws = [row for row in found if "law_ratio" in row]
    assert len(laws) == len(found)
    beyond = [r["name"] for r in laws if abs(r["law_ratio"] - 1) > r["law_tolerance"]]
    assert beyond == BEYOND.get(device, [])
    assert not [r["name"] for r in laws if r.get("roof_fraction", 0) > 1.05]
