"""The ladder's laws by arithmetic of their own, and what each rung is above the one before."""

from __future__ import annotations

import math

import pytest

from .conftest import RowsOfConcept, rows_of

SMS, CLOCK, SCHEDULERS = 132, 1.98e9, 4  # of the h200-sxm's device file
L2 = 9.9e12
LAUNCH = 2e-6
MMA_SYNC = 0.66
SIZE = 2048
FP32 = ("naive", "coalesced", "shared_tile", "register_1d", "register_2d", "vectorised")


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("gemm_ladder")


@pytest.fixture(scope="module")
def fp32(rows: dict[str, dict]) -> dict[str, dict]:
    return {row["kernel"]: row for row in rows.values() if row["arguments"]["dtype"] == "fp32"}


def test_the_default_suite_is_short(rows: dict[str, dict]) -> None:
    assert len(rows) <= 11
    assert not [name for name, row in rows.items() if row.get("skipped")]


def test_the_rungs_come_in_their_order(rows: dict[str, dict]) -> None:
    of_fp32 = [row["kernel"] for row in rows.values() if row["arguments"]["dtype"] == "fp32"]
    assert of_fp32 == [*FP32, "double_buffered", "library"]


def test_each_rung_is_faster(fp32: dict[str, dict]) -> None:
    times = [fp32[rung]["real_time"] for rung in (*FP32, "double_buffered")]
    assert times == sorted(times, reverse=True)
    # On the model the next tile costs little either way: other blocks hide it.
    assert times[0] > 100 * times[-1]
    assert fp32["library"]["real_time"] < 1.02 * times[-1]
    assert fp32["library"]["real_time"] > 0.9 * times[-1]


def test_intensity_grows_with_the_tile(fp32: dict[str, dict]) -> None:
    found = [fp32[rung]["tile_intensity"] for rung in FP32]
    assert found == sorted(found)
    # 2 m n k FLOP for (m + n) k elements of 4 bytes.
    for rung, m, n in (("shared_tile", 32, 32), ("register_1d", 64, 32), ("register_2d", 128, 128)):
        assert fp32[rung]["tile_intensity"] == pytest.approx(m * n / 2 / (m + n))
    assert fp32["naive"]["tile_intensity"] == pytest.approx(2 / 8)
    # Of all matrices once: they fit into L2.
    assert fp32["vectorised"]["arithmetic_intensity"] == pytest.approx(2 * 2048 / 3 / 4, rel=0.05)


def cycles(kernel: str) -> tuple[float, float]:
    """An SM's cycles for a k of 32 x 32 multiply-adds per warp, and the share of the last wave."""
    passes, fmas, tile = {
        "naive": (33, 1, (32, 8)),
        "shared_tile": (2 + 64 / 1024, 1, (32, 32)),
        "register_1d": (9 + 96 / 256, 8, (64, 32)),
        "register_2d": ((64 + 16 + 2) / SCHEDULERS, 64, (128, 128)),
        "double_buffered": ((64 + 4 + 1) / SCHEDULERS, 64, (128, 128)),
    }[kernel]
    blocks = (SIZE / tile[0]) * (SIZE / tile[1])
    return passes / fmas, blocks / (math.ceil(blocks / SMS) * SMS)


@pytest.mark.parametrize(
    "kernel", ["naive", "shared_tile", "register_1d", "register_2d", "double_buffered"]
)
def test_the_law_is_what_an_sm_can_do(fp32: dict[str, dict], kernel: str) -> None:
    of_a_warp, share = cycles(kernel)
    law = 64 * SMS * CLOCK / of_a_warp * share
    assert fp32[kernel]["law"] == pytest.approx(law, rel=1e-3)
    seconds = fp32[kernel]["real_time"] * 1e-6
    assert 2 * SIZE**3 / (seconds - LAUNCH) == pytest.approx(law, rel=0.02)


def test_coalesced_rows_wait_for_l2(fp32: dict[str, dict]) -> None:
    # A line of B for each of a warp's k, and one word of A.
    share = SIZE * 8 / (math.ceil(SIZE * 8 / SMS) * SMS)
    assert fp32["coalesced"]["law"] == pytest.approx(64 / 132 * L2 * share, rel=1e-3)
    assert fp32["coalesced"]["label"] == "l2"


def test_what_binds_moves_inwards(fp32: dict[str, dict]) -> None:
    bound = [fp32[rung]["label"] for rung in (*FP32, "double_buffered")]
    assert bound == ["l1", "l2", "shared", "shared", "issue", "fp32", "fp32"]


def test_neighbours_share_sectors(fp32: dict[str, dict]) -> None:
    # Of A and B: 32 and 1 a request; then 1 and 4.
    assert fp32["naive"]["sectors_per_request"] == pytest.approx(16.5, rel=1e-3)
    assert fp32["coalesced"]["sectors_per_request"] == pytest.approx(2.5, rel=1e-3)


@pytest.fixture(scope="module")
def bf16(rows: dict[str, dict]) -> dict[str, dict]:
    return {row["kernel"]: row for row in rows.values() if row["arguments"]["dtype"] == "bf16"}


def test_in_bf16_the_instruction_and_then_l2_bind(bf16: dict[str, dict]) -> None:
    assert list(bf16) == ["mma_sync", "wgmma_tma", "library"]
    peak = SMS * 4096 * CLOCK
    share = 512 / (math.ceil(512 / SMS) * SMS)
    intensity = 128 * 256 / (128 + 256)
    assert bf16["mma_sync"]["tile_intensity"] == pytest.approx(intensity)
    assert bf16["mma_sync"]["law"] == pytest.approx(MMA_SYNC * peak * share, rel=1e-3)
    assert bf16["wgmma_tma"]["law"] == pytest.approx(intensity * L2 * share, rel=1e-3)
    assert bf16["mma_sync"]["label"] == "tensor"
    assert bf16["wgmma_tma"]["label"] == "l2"
    assert 1.1 < bf16["mma_sync"]["real_time"] / bf16["wgmma_tma"]["real_time"] < 1.5


def test_the_tensor_cores_are_a_ladder_of_their_own(
    fp32: dict[str, dict], bf16: dict[str, dict]
) -> None:
    best = fp32["double_buffered"]
    assert bf16["mma_sync"]["flops_per_second"] > 8 * best["flops_per_second"]
    assert bf16["mma_sync"]["tile_intensity"] > 2 * best["tile_intensity"]


def test_fp8_is_the_librarys(bf16: dict[str, dict]) -> None:
    wanted = "--benchmark_filter=^gemm_ladder/library/dtype:fp8/n:(1000|4096)$"
    found = rows_of("--suite=full", wanted)
    fp8 = found["gemm_ladder/library/dtype:fp8/n:4096"]
    assert fp8["flops_per_second"] > 1.5 * bf16["library"]["flops_per_second"]
    assert "multiples of 16 bytes" in found["gemm_ladder/library/dtype:fp8/n:1000"]["skip_reason"]


def test_an_older_device_has_no_wgmma() -> None:
    found = rows_of(
        "--device=model:a100-80-sxm", "--benchmark_filter=^gemm_ladder/(mma_sync|wgmma_tma)/"
    )
    skipped = {row["kernel"]: row.get("skip_reason", "") for row in found.values()}
    assert skipped == {
        "mma_sync": "",
        "wgmma_tma": "wgmma is an instruction of compute capability 9.0 alone",
    }


def test_a_size_that_is_not_whole_tiles_is_refused() -> None:
    done = rows_of("--suite=full", "--benchmark_filter=^gemm_ladder/register_2d/.*n:1000$")
    assert all("multiple of 128" in row["skip_reason"] for row in done.values())
    assert done
