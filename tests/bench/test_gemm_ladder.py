"""The ladder's laws by arithmetic of their own, and what each rung is above the one before."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import pytest

from .conftest import RowsOfConcept, figures, rows_of

SMS, CLOCK, SCHEDULERS = 132, 1.98e9, 4  # of the h200-sxm's device file
L2 = 9.9e12
L2_FETCH = 64  # what a sector alone costs it
LAUNCH = 4.2e-6
SHARED_LATENCY, L1_LATENCY = 29, 32
L2_LATENCY = (280 + 490) / 2  # of blocks in step: half of it comes from the other partition
MMA_SYNC = 0.66
GEMM_CLOCK, GEMM_EFFICIENCY = 1.71e9, 0.742
IN_STEP, BARRIER = 2048, 60  # cycles: the model's fitted constants (docs/model-accuracy.md)
SIZE = 2048
SHORT = ("naive", "coalesced", "shared_tile", "double_buffered")  # not of LONG_ROWS
FP32 = ("naive", "coalesced", "shared_tile", "register_1d", "register_2d", "vectorised")


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("gemm_ladder")


@pytest.fixture(scope="module")
def fp32(rows: dict[str, dict]) -> dict[str, dict]:
    return {row["kernel"]: row for row in rows.values() if row["arguments"]["dtype"] == "fp32"}


def test_the_default_suite_is_short(rows: dict[str, dict]) -> None:
    assert len(rows) <= 12
    skipped = {name: row["skip_reason"] for name, row in rows.items() if row.get("skipped")}
    assert skipped == {
        "gemm_ladder/tcgen05/dtype:bf16/n:4096": "tcgen05 is compiled for compute capabilities"
        " 10.0 and 10.3 alone"
    }


@pytest.mark.release
def test_the_rungs_come_in_their_order(rows: dict[str, dict]) -> None:
    of_fp32 = [row["kernel"] for row in rows.values() if row["arguments"]["dtype"] == "fp32"]
    assert of_fp32 == [*FP32, "double_buffered", "library"]


@pytest.mark.release
def test_each_rung_is_faster(fp32: dict[str, dict]) -> None:
    times = [fp32[rung]["real_time"] for rung in (*FP32, "double_buffered")]
    assert times == sorted(times, reverse=True)
    # The laws differ by a factor of 120, but only the last rungs' tiles and arithmetic take turns.
    # (Published from the first to the best, of an RTX A6000: 59.)
    assert 80 < times[0] / times[-1] < 120
    assert fp32["library"]["real_time"] < 1.02 * times[-1]
    assert fp32["library"]["real_time"] > 0.9 * times[-1]


@pytest.mark.release
def test_intensity_grows_with_the_tile(fp32: dict[str, dict]) -> None:
    found = [fp32[rung]["tile_intensity"] for rung in FP32]
    assert found == sorted(found)
    # 2 m n k FLOP for (m + n) k elements of 4 bytes.
    for rung, m, n in (("shared_tile", 32, 32), ("register_1d", 64, 32), ("register_2d", 128, 128)):
        assert fp32[rung]["tile_intensity"] == pytest.approx(m * n / 2 / (m + n))
    assert fp32["naive"]["tile_intensity"] == pytest.approx(2 / 8)
    # All matrices count once: they fit into L2.
    assert fp32["vectorised"]["arithmetic_intensity"] == pytest.approx(2 * 2048 / 3 / 4, rel=0.05)


def taking_turns(in_turn: float, longest: float, at_once: float) -> float:
    """What each of `at_once` takes, if the unit needed longest waits for the first of them only."""
    return (max(in_turn, longest) + (at_once - 1) * longest) / at_once


class Block(NamedTuple):
    """Cycles of its SM that a block needs for one of its tiles, by unit, and how it waits."""

    warps: float
    in_turn: float  # of all units, one after the other
    longest: float  # of the busiest
    barriers: float
    waits: float  # for what it loads
    at_once: float = 1  # blocks of an SM

    def cycles_a_tile(self) -> float:
        interval = self.in_turn / self.barriers
        # A scheduler's warps that are no longer where a barrier let them all go.
        apart = 1 + (self.warps / SCHEDULERS - 1) * interval / (interval + IN_STEP)
        alone = taking_turns(self.in_turn, self.longest, apart)
        alone += self.barriers * (BARRIER + SHARED_LATENCY) + self.waits
        return taking_turns(alone, self.longest, self.at_once)


class Rung(NamedTuple):
    """Per warp and k: multiply-adds, other instructions, and wavefronts of shared memory."""

    tile: tuple[int, int, int]
    warps: int
    fmas: float
    others: float
    wavefronts: float
    requests: float  # to L1, for a tile
    barriers: int = 2
    copied: float = 0  # wavefronts that nobody waits for
    blocks: int = 2  # that an SM has at once

    def cycles(self) -> float:
        """An SM's, for a k of 32 x 32 multiply-adds per warp: the busiest unit's."""
        issued = (self.fmas + self.others) / SCHEDULERS
        return max(self.fmas / SCHEDULERS, issued, self.wavefronts) / self.fmas

    def share_of_the_last_wave(self) -> float:
        blocks = SIZE // self.tile[0] * (SIZE // self.tile[1])
        return blocks / (math.ceil(blocks / SMS) * SMS)

    def seconds(self) -> float:
        depth = self.tile[2]
        arithmetic = self.fmas / SCHEDULERS * depth + self.barriers / SCHEDULERS
        awaited = (self.wavefronts - self.copied) * depth
        block = Block(
            self.warps,
            in_turn=self.warps * (arithmetic + awaited + self.requests),
            longest=self.warps * depth * self.cycles() * self.fmas,
            barriers=self.barriers,
            # A tile that is copied in the meantime is there when its turn comes.
            waits=0 if self.copied else L2_LATENCY,
            at_once=self.blocks,
        )
        of_an_sm = math.ceil(SIZE // self.tile[0] * (SIZE // self.tile[1]) / SMS)
        return of_an_sm * SIZE / depth * block.cycles_a_tile() / CLOCK


RUNGS = {
    "shared_tile": Rung((32, 32, 32), 32, 1, 1.25 + 4 / 32, 1.5 + 2 / 32, requests=2),
    "register_1d": Rung((64, 32, 8), 8, 8, 3 + 6 / 8, 5 + 3 / 8, requests=3, blocks=4),
    "register_2d": Rung((128, 128, 8), 8, 64, 10 + 2, 24 + 1, requests=8),
    "vectorised": Rung((128, 128, 8), 8, 64, 4 + 1, 12 + 1, requests=8),
    "double_buffered": Rung((128, 128, 8), 8, 64, 4 + 1, 12 + 1, requests=8, barriers=1, copied=1),
}


@pytest.mark.parametrize(
    "kernel",
    [pytest.param(rung, marks=() if rung in SHORT else pytest.mark.release) for rung in RUNGS],
)
def test_the_law_is_what_an_sm_can_do(fp32: dict[str, dict], kernel: str) -> None:
    rung = RUNGS[kernel]
    law = 64 * SMS * CLOCK / rung.cycles() * rung.share_of_the_last_wave()
    assert fp32[kernel]["law"] == pytest.approx(law, rel=1e-3)
    # Between barriers the block's units take turns, which the law does not know.
    seconds = fp32[kernel]["real_time"] * 1e-6
    assert seconds - LAUNCH == pytest.approx(rung.seconds(), rel=0.02)


def test_nothing_keeps_naive_from_its_law(fp32: dict[str, dict]) -> None:
    blocks = SIZE // 32 * (SIZE // 8)
    law = 64 * SMS * CLOCK / 33 * blocks / (math.ceil(blocks / SMS) * SMS)
    assert fp32["naive"]["law"] == pytest.approx(law, rel=1e-3)
    seconds = fp32["naive"]["real_time"] * 1e-6
    assert 2 * SIZE**3 / (seconds - LAUNCH) == pytest.approx(law, rel=0.02)


def test_coalesced_warps_wait_for_the_lines_that_they_share(fp32: dict[str, dict]) -> None:
    # Two requests for each of a warp's k: a line of B, and one word of A.
    blocks = (SIZE // 32) ** 2
    share = blocks / (math.ceil(blocks / SMS) * SMS)
    row = fp32["coalesced"]
    assert row["law"] == pytest.approx(64 * SMS * CLOCK / 2 * share, rel=1e-3)
    assert row["label"] == "latency"
    # The warps of a block ask for a line of B together, and L2 is asked for it once. A's sectors
    # come one by one, each as slowly as two.
    asked = 32 * SIZE * 4 * (1 + L2_FETCH / 32)
    assert row["terms"]["l2"] * L2 == pytest.approx(blocks * asked, rel=0.02)
    # They wait for it together as well: of five sectors for each k, four are of B, and A's is new
    # for every eighth k. Three loads are in flight at a time.
    beyond_l1 = (4 + 1 / 8) / 5
    waits = 2 * SIZE / 3 * (beyond_l1 * L2_LATENCY + (1 - beyond_l1) * L1_LATENCY)
    turns = math.ceil(blocks / SMS) / 2
    assert row["terms"]["latency"] == pytest.approx(turns * waits / CLOCK, rel=0.05)


@pytest.mark.release
def test_what_binds_moves_inwards(fp32: dict[str, dict]) -> None:
    bound = [fp32[rung]["label"] for rung in (*FP32, "double_buffered")]
    assert bound == ["l1", "latency", "shared", "shared", "shared", "fp32", "fp32"]


def test_neighbours_share_sectors(fp32: dict[str, dict]) -> None:
    # A and B take 32 and 1 per request; then 1 and 4.
    assert fp32["naive"]["sectors_per_request"] == pytest.approx(16.5, rel=1e-3)
    assert fp32["coalesced"]["sectors_per_request"] == pytest.approx(2.5, rel=1e-3)


@pytest.fixture(scope="module")
def bf16(rows: dict[str, dict]) -> dict[str, dict]:
    return {
        row["kernel"]: row
        for row in rows.values()
        if row["arguments"]["dtype"] == "bf16" and not row.get("skipped")
    }


@pytest.mark.release
def test_in_bf16_the_instruction_and_then_l2_bind(bf16: dict[str, dict]) -> None:
    assert list(bf16) == ["mma_sync", "wgmma_tma", "library"]
    peak = SMS * 4096 * CLOCK
    share = 512 / (math.ceil(512 / SMS) * SMS)
    intensity = 128 * 256 / (128 + 256)
    assert bf16["mma_sync"]["tile_intensity"] == pytest.approx(intensity)
    assert bf16["mma_sync"]["law"] == pytest.approx(MMA_SYNC * peak * share, rel=1e-3)
    assert bf16["wgmma_tma"]["law"] == pytest.approx(intensity * L2, rel=1e-3)
    assert bf16["mma_sync"]["label"] == "tensor"
    assert bf16["wgmma_tma"]["label"] == "l2"
    size = 4096
    flops = 2 * size**3
    seconds = {kernel: bf16[kernel]["real_time"] * 1e-6 - LAUNCH for kernel in bf16}
    stored = 2 * size**2 / L2  # which the law leaves out
    assert seconds["wgmma_tma"] == pytest.approx(
        flops / bf16["wgmma_tma"]["law"] + stored, rel=0.01
    )
    # A warp waits for its products, for L1, and for the first of four fragments. Per tile of 64 k:
    tensor = 2 * 128 * 256 * 64 / (4096 * MMA_SYNC)
    fragments = 8 * 4 * (64 + 64) * 16 * 2 / 128
    copied = (128 + 256) * 64 * 2 / 128
    block = Block(8, in_turn=tensor + fragments / 4 + copied, longest=tensor, barriers=1, waits=0)
    cycles = math.ceil(512 / SMS) * size / 64 * block.cycles_a_tile()
    # The power that the library's busier Tensor Cores take at a lower clock is enough for more.
    busy = tensor / block.cycles_a_tile()
    clock = GEMM_CLOCK * (GEMM_EFFICIENCY * CLOCK / GEMM_CLOCK / busy) ** (1 / 3)
    assert seconds["mma_sync"] == pytest.approx(cycles / min(clock, CLOCK), rel=0.03)
    # As FlashAttention-3, by wgmma, is to FlashAttention-2, by mma.sync (arXiv 2407.08608).
    assert 1.5 < bf16["mma_sync"]["real_time"] / bf16["wgmma_tma"]["real_time"] < 2


@pytest.mark.release
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


def test_an_older_device_has_neither_wgmma_nor_tcgen05() -> None:
    found = rows_of(
        "--device=model:a100-80-sxm",
        "--suite=full",
        "--benchmark_filter=^gemm_ladder/(mma_sync|wgmma_tma|tcgen05)/dtype:bf16/n:2048$",
    )
    skipped = {row["kernel"]: row.get("skip_reason", "") for row in found.values()}
    assert skipped == {
        "mma_sync": "",
        "wgmma_tma": "wgmma is an instruction of compute capability 9.0 alone",
        "tcgen05": "tcgen05 is compiled for compute capabilities 10.0 and 10.3 alone",
    }


@cache
def ladder_of_bf16(device: str) -> dict[str, dict]:
    """The rungs of the default suite's size."""
    rungs = "gemm_ladder/(mma_sync|wgmma_tma|tcgen05|tcgen05_pair)/dtype:bf16/n:4096$"
    return rows_of(f"--device=model:{device}", "--suite=full", f"--benchmark_filter=^{rungs}")


@pytest.mark.release
@pytest.mark.parametrize("device", ["b200", "gb300"])
def test_blackwell_has_the_rung_of_tcgen05(device: str) -> None:
    rows = ladder_of_bf16(device)
    rung = rows["gemm_ladder/tcgen05/dtype:bf16/n:4096"]
    assert not rung.get("skipped"), rung
    intensity = 128 * 256 / (128 + 256)
    assert rung["tile_intensity"] == pytest.approx(intensity)
    l2 = figures(device)["l2_bytes_per_second"]
    # What its blocks load from L2, and store: the busiest unit, and next to nothing else.
    moved = 2 * 4096**3 / intensity + 2 * 4096**2
    assert rung["label"] == "l2"
    assert rung["terms"]["l2"] == pytest.approx(moved / l2, rel=0.01)
    assert rung["real_time"] * 1e-6 < 1.1 * (rung["terms"]["l2"] + rung["terms"]["launch"])
    older = rows["gemm_ladder/mma_sync/dtype:bf16/n:4096"]
    assert older["real_time"] / rung["real_time"] > 1.5
    assert rows["gemm_ladder/wgmma_tma/dtype:bf16/n:4096"]["skipped"]


@pytest.mark.release
@pytest.mark.parametrize("device", ["b200", "b300"])
def test_a_pair_of_sms_loads_half_of_b(device: str) -> None:
    size = 4096
    found = ladder_of_bf16(device)
    alone = found[f"gemm_ladder/tcgen05/dtype:bf16/n:{size}"]
    pair = found[f"gemm_ladder/tcgen05_pair/dtype:bf16/n:{size}"]
    intensity = 256 * 256 / (256 + 256)
    assert pair["tile_intensity"] == pytest.approx(intensity)
    assert pair["tile_intensity"] == pytest.approx(1.5 * alone["tile_intensity"])
    figure = figures(device)
    l2 = figure["l2_bytes_per_second"]
    moved = 2 * size**3 / intensity + 2 * size**2
    assert pair["terms"]["l2"] == pytest.approx(moved / l2, rel=0.01)
    # Both leave as many SMs without a tile at the end.
    tiles, pairs = (size // 256) ** 2, figure["sm_count"] // 2
    share = tiles / (math.ceil(tiles / pairs) * pairs)
    rate = figure["tensor_bf16_flops_per_clock_per_sm"]
    peak = rate * figure["sm_count"] * figure["sm_clock_hz"]
    assert pair["law"] == pytest.approx(min(share * peak, intensity * l2), rel=0.01)
    # What L2 holds back leaves the SMs more of their clock.
    slower = pair["terms"]["tensor"] / alone["terms"]["tensor"]
    clock = figure["sm_clock_hz"]
    assert 0.99 < slower < 1.01 * clock / figure.get("gemm_clock_hz", clock)
    assert (alone["label"], pair["label"]) == ("l2", "tensor")
    assert pair["real_time"] < 0.9 * alone["real_time"]


def test_a_pair_is_skipped_where_there_is_no_tcgen05(daily: list[str]) -> None:
    rows = rows_of("--suite=full", "--benchmark_filter=^gemm_ladder/tcgen05_pair/")
    assert len(rows) == 5
    assert {row["skip_reason"] for row in rows.values()} == {
        "tcgen05 is compiled for compute capabilities 10.0 and 10.3 alone"
    }
    assert not rows.keys() & set(daily)


def test_a_size_that_is_not_whole_tiles_is_refused() -> None:
    done = rows_of("--suite=full", "--benchmark_filter=^gemm_ladder/register_2d/.*n:1000$")
    assert all("multiple of 128" in row["skip_reason"] for row in done.values())
    assert done
