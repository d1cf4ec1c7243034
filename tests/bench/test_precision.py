"""What each dtype loses, by hand from its bits, and that the model computes in it."""

from __future__ import annotations

import math

import pytest

from .conftest import EVERYTHING, RowsOfConcept, but_for, figures, rows_of

U = {"fp64": 2**-53, "fp32": 2**-24, "tf32": 2**-11, "fp16": 2**-11, "bf16": 2**-8, "e4m3": 2**-4}
LONG_ROWS = "precision/long_sum/dtype:fp16/"
OF_PRODUCT = math.sqrt(2 / 7)  # of u: two operands uniform in [-1, 1), rounded to nearest


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("precision")


@pytest.fixture(scope="module")
def full() -> dict[str, dict]:
    kernels = "gemm|inputs|emulated|underflow|long_sum/dtype:(bf16|fp16)/"
    return rows_of("--device=model:h200-sxm", *but_for(LONG_ROWS, f"precision/({kernels})"))


@pytest.fixture(scope="module")
def blackwell() -> dict[str, dict]:
    flags = ("--device=model:b200", "--suite=full")
    return rows_of(*flags, "--benchmark_filter=^precision/gemm/.*/contents:uniform/n:8192")


def gemm(rows: dict[str, dict], dtype: str, n: int = 8192, contents: str = "uniform") -> dict:
    return rows[f"precision/gemm/dtype:{dtype}/contents:{contents}/n:{n}"]


def test_each_error_is_that_of_its_law(full: dict[str, dict]) -> None:
    # 64 to 4096 elements; outliers add to the scatter. Some sums of bf16 need no rounding, which
    # bf16x6 loses the most by.
    for name, row in full.items():
        if "error_law" in row:
            tolerance = 0.4 if "outliers" in name or "emulated" in name else 0.16
            assert row["relative_error"] == pytest.approx(row["error_law"], rel=tolerance), name


def test_rounding_operands_loses_what_their_bits_say(full: dict[str, dict]) -> None:
    for dtype in ("tf32", "fp16", "bf16"):
        error = gemm(full, dtype)["relative_error"]
        assert error == pytest.approx(OF_PRODUCT * U[dtype], rel=0.1), dtype
    # Steps of 1/127 of the largest, against values of 1/sqrt(3) of it.
    assert gemm(full, "int8")["relative_error"] == pytest.approx(1 / 127 / math.sqrt(2), rel=0.1)
    # 448 is 1.75 times a power of two: more values have the largest step.
    in_binade = math.sqrt(2 * (1.75 - 6 / 7) / 1.75**3)
    assert gemm(full, "fp8")["relative_error"] == pytest.approx(in_binade * U["e4m3"], rel=0.1)


def test_sums_in_fp16_lose_more_than_their_operands_and_as_the_root_of_k(
    full: dict[str, dict],
) -> None:
    short, long = (gemm(full, "fp16_acc16", n)["relative_error"] for n in (1024, 16384))
    assert long / short == pytest.approx(4, rel=0.15)
    assert short > 4 * gemm(full, "fp16", 1024)["relative_error"]
    # In fp32 it is the same for any k.
    short, long = (gemm(full, "fp16", n)["relative_error"] for n in (1024, 16384))
    assert long / short == pytest.approx(1, abs=0.2)


def test_half_the_bits_are_twice_the_rate(rows: dict[str, dict]) -> None:
    rate = {d: gemm(rows, d)["flops_per_second"] for d in ("fp16", "bf16", "fp8", "int8")}
    assert rate["bf16"] == rate["fp16"]
    assert rate["int8"] == pytest.approx(2 * rate["bf16"], rel=0.05)
    # The best multiplications in fp8 were measured, and reach less of their roof.
    figure = figures("h200-sxm")
    reached = figure["gemm_fp8_efficiency"] / figure["gemm_efficiency"]
    assert rate["fp8"] == pytest.approx(2 * reached * rate["bf16"], rel=0.05)
    assert gemm(rows, "int8")["arithmetic_unit"] == "OP/s"


def test_outliers_ruin_int8_and_no_floating_point_type(full: dict[str, dict]) -> None:
    def worse(dtype: str) -> float:
        with_outliers = gemm(full, dtype, contents="outliers")["relative_error"]
        return with_outliers / gemm(full, dtype)["relative_error"]

    assert worse("int8") > 15
    assert worse("fp8") == pytest.approx(1, abs=0.25)
    assert worse("bf16") == pytest.approx(1, abs=0.25)


def test_block_scales_need_blackwell_and_fp8_hopper(
    rows: dict[str, dict], blackwell: dict[str, dict]
) -> None:
    assert gemm(rows, "nvfp4")["skip_reason"] == (
        "NVIDIA H200 SXM 141 GB has no unit for nvfp4: block scales need compute capability 10.0"
    )
    a100 = rows_of(
        "--device=model:a100-80-sxm", "--benchmark_filter=^precision/gemm/dtype:(fp8|bf16)/"
    )
    assert "has no unit for fp8" in gemm(a100, "fp8")["skip_reason"]
    assert gemm(a100, "bf16")["relative_error"] == pytest.approx(OF_PRODUCT * U["bf16"], rel=0.1)
    # One of 16 becomes the largest e2m1; three steps, each for a third of the others.
    fp4 = math.sqrt(2 * 15 * (0.25 + 1 + 4) / 36 / (15 * 12 + 36))
    assert gemm(blackwell, "nvfp4")["relative_error"] == pytest.approx(fp4, rel=0.1)
    assert gemm(blackwell, "mxfp8")["relative_error"] == pytest.approx(
        OF_PRODUCT * U["e4m3"], rel=0.1
    )
    rates = [gemm(blackwell, d)["flops_per_second"] for d in ("bf16", "mxfp8", "nvfp4")]
    assert rates == sorted(rates)


def test_an_accurate_product_is_built_from_several_cheap_ones(
    rows: dict[str, dict], full: dict[str, dict]
) -> None:
    def emulated(by: str) -> dict:
        return full[f"precision/emulated/by:{by}/n:4096"]

    assert [emulated(by)["products"] for by in ("bf16x3", "bf16x6", "int8x28", "int8x36")] == [
        3,
        6,
        28,
        36,
    ]
    assert emulated("bf16x3")["relative_error"] < gemm(full, "bf16", 4096)["relative_error"] / 200
    # The Tensor Cores' fp32 sums are cut off, which no number of parts repairs.
    assert emulated("bf16x6")["relative_error"] > gemm(full, "fp32", 4096)["relative_error"]
    fp64 = gemm(full, "fp64", 4096)["relative_error"]
    assert emulated("int8x36")["relative_error"] < fp64 / 10
    assert emulated("int8x28")["relative_error"] < 4 * fp64
    # A third of what one product takes, less what splitting and adding up cost.
    of_bf16 = emulated("bf16x3")["flops_per_second"] / gemm(full, "bf16", 4096)["flops_per_second"]
    assert 0.25 < of_bf16 < 1 / 3


def test_a_running_sum_in_bf16_stops_at_256(rows: dict[str, dict], full: dict[str, dict]) -> None:
    def error(dtype: str, order: str, n: int) -> float:
        return full[f"precision/long_sum/dtype:{dtype}/order:{order}/n:{n}"]["relative_error"]

    assert error("bf16", "running", 2048) == pytest.approx(1 - 256 / 1024, abs=0.01)
    assert error("bf16", "pairwise", 2048) == pytest.approx(0.75 * U["bf16"], rel=0.2)
    if EVERYTHING:
        assert error("fp16", "running", 2048) < 0.01
        assert error("fp16", "running", 8192) == pytest.approx(1 - 2048 / 4096, abs=0.01)
    times = {r["real_time"] for n, r in rows.items() if n.startswith("precision/long_sum/")}
    assert max(times) / min(times) < 1.02


def test_loss_scaling_keeps_small_gradients(full: dict[str, dict]) -> None:
    def flushed(dtype: str, scale: int) -> float:
        return full[f"precision/underflow/dtype:{dtype}/scale:{scale}"]["flushed_fraction"]

    # Numbers from 2^-39 to 2^-7; up to 2^-25 an fp16 is zero.
    assert [flushed("fp16", scale) for scale in (1, 16, 1024, 16384)] == [
        14 / 32,
        10 / 32,
        4 / 32,
        0,
    ]
    assert flushed("bf16", 1) == 0


def test_the_model_takes_as_long_for_zeros(full: dict[str, dict]) -> None:
    for dtype in ("bf16", "fp8"):
        times = {
            full[f"precision/inputs/dtype:{dtype}/contents:{contents}/n:8192"]["real_time"]
            for contents in ("uniform", "zeros", "constant")
        }
        assert len(times) == 1
