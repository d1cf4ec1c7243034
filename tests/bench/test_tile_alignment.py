"""What an odd dimension costs: steps at alignments, whole tiles and waves, padding against it."""

from __future__ import annotations

import math

import pytest

from .conftest import RowsOfConcept, figures, rows_of

DEVICE = "h200-sxm"
BASE = 4032


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("tile_alignment")


@pytest.fixture(scope="module")
def full() -> dict[str, dict]:
    return rows_of(
        f"--device=model:{DEVICE}", "--suite=full", "--benchmark_filter=^tile_alignment/[^e]"
    )


@pytest.fixture(scope="module", name="figures")
def figures_of_device() -> dict[str, float]:
    return figures(DEVICE)


def after_start(rate: float, flops: float, figures: dict[str, float]) -> float:
    """The rate with the start of a kernel."""
    return flops / (flops / rate + figures["kernel_floor_seconds"])


def rate(row: dict) -> float:
    return row["flops_per_second"]


def seconds_of_tiles(row: dict, m: int, n: int, k: int, figures: dict[str, float]) -> float:
    """What a bf16 row's tiles multiply, padding and idle SMs included, at the library's best."""
    sms = figures["sm_count"]
    tile_m, tile_n = map(int, row["tile"].split("x"))
    waves = math.ceil(math.ceil(m / tile_m) * math.ceil(n / tile_n) / sms)
    peak = sms * figures["sm_clock_hz"] * figures["tensor_bf16_flops_per_clock_per_sm"]
    return waves * sms * tile_m * tile_n * 2 * k / (peak * figures["gemm_efficiency"])


def seconds_of_dram(words: int, figures: dict[str, float]) -> float:
    """Time to move so many words of 16 bits."""
    return 2 * words / (figures["dram_bytes_per_second"] * figures["dram_mixed_efficiency"])


def along(rows: dict[str, dict], dim: str, dtype: str = "bf16") -> dict[int, dict]:
    """The rows of a dimension by how far it is beyond a multiple of 64."""
    found = {
        row["arguments"][dim] - BASE: row
        for row in rows.values()
        if row["kernel"] == f"odd_{dim}" and row["arguments"]["dtype"] == dtype
    }
    return dict(sorted(found.items()))


def test_the_default_suite_is_short(rows: dict[str, dict]) -> None:
    assert len(rows) <= 24
    assert not [name for name, row in rows.items() if row.get("skipped")]


@pytest.mark.release
def test_k_steps_at_alignments_and_at_nothing_else(full: dict[str, dict]) -> None:
    by_dtype = {"bf16": 8, "fp16": 8, "tf32": 4, "int8": 16}
    for dtype, elements in by_dtype.items():
        times = {True: [], False: []}
        for beyond, row in along(full, "k", dtype).items():
            if not row.get("skipped"):
                times[beyond % elements == 0].append(row["real_time"])
        for same in times.values():
            # An element more of k may begin another step, a percent at most.
            assert max(same) == pytest.approx(min(same), rel=0.02), dtype
        assert min(times[False]) > 3 * max(times[True]), dtype


def test_n_is_slow_unless_the_results_rows_are_aligned(
    full: dict[str, dict], figures: dict[str, float]
) -> None:
    by_beyond = along(full, "n")
    whole = by_beyond[0]["real_time"]
    multiplied = 1e6 * seconds_of_tiles(by_beyond[0], BASE, BASE, BASE, figures)
    # Only products take longer. The launch and the traffic beside them do not.
    # Off 16 bytes at even elements, and at odd ones.
    even, odd = (
        (multiplied / figures[share] + whole - multiplied) / whole
        for share in ("mma_sync_efficiency", "gemm_unaligned_efficiency")
    )
    assert 1.4 < even < odd
    for beyond, row in by_beyond.items():
        if beyond % 8 == 0:
            assert row["real_time"] == pytest.approx(whole, rel=0.01)
        else:
            # Results are stored in smaller pieces, which takes a little longer too. But the slower
            # the product, the more of the traffic hides behind it.
            expected, least = (odd, 0.97) if beyond % 2 else (even, 1)
            assert least * expected < row["real_time"] / whole < 1.02 * expected


def test_m_costs_nothing_within_a_tile(full: dict[str, dict], figures: dict[str, float]) -> None:
    by_beyond = along(full, "m")
    assert len(by_beyond) == 17
    least = by_beyond[0]["real_time"]
    for beyond, row in by_beyond.items():
        # Nothing but the traffic of its row of A and of D.
        traffic = 1e6 * seconds_of_dram(beyond * 2 * BASE, figures)
        assert least <= row["real_time"] <= least + traffic


def test_padding_costs_less_than_it_saves(rows: dict[str, dict]) -> None:
    compared = {name: row for name, row in rows.items() if "penalty" in row}
    assert len(compared) >= 8
    for name, row in compared.items():
        in_bytes_of_16 = row["penalty"] < 0.01
        assert in_bytes_of_16 or row["penalty"] > 5 * row["pad_cost"], name
    for pass_ in ("forward", "input_gradient"):
        name = f"tile_alignment/vocabulary/dtype:bf16/pass:{pass_}/n:"
        odd, even = rows[name + "50257"], rows[name + "50304"]
        assert odd["pad_cost"] == pytest.approx(50304 / 50257 - 1)
        assert odd["penalty"] == pytest.approx(odd["real_time"] / even["real_time"] - 1, rel=0.02)
        assert odd["penalty"] > 0.3
        assert "penalty" not in even


def test_a_wave_begun_is_a_wave_paid(full: dict[str, dict], figures: dict[str, float]) -> None:
    sms = figures["sm_count"]
    peak = sms * figures["sm_clock_hz"] * figures["tensor_bf16_flops_per_clock_per_sm"]
    seen = set()
    for row in full.values():
        if row["kernel"] != "waves" or row["arguments"]["dtype"] != "bf16":
            continue
        m, n = row["arguments"]["m"], 4096
        tile_m, tile_n = map(int, row["tile"].split("x"))
        tiles = math.ceil(m / tile_m) * math.ceil(n / tile_n)
        waves = math.ceil(tiles / sms)
        share = m * n / (waves * sms * tile_m * tile_n)
        if tile_m * tile_n >= 128 * 128:
            seen.add(waves)
            whole = peak * figures["gemm_efficiency"] * share
            assert row["law"] == pytest.approx(after_start(whole, 2.0 * m * n * 4096, figures))
            # Operands come beside the products. One of an SM's two tiles is stored while the other
            # is multiplied, and waits for its first loads.
            stored = (
                2
                * waves
                * sms
                * tile_m
                * tile_n
                / (figures["dram_bytes_per_second"] * figures["dram_write_efficiency"])
            )
            filling = waves * figures["dram_latency_cycles"] / figures["sm_clock_hz"]
            seconds = (
                seconds_of_tiles(row, m, n, 4096, figures)
                + (stored + filling) / 2
                + figures["kernel_floor_seconds"]
            )
            assert rate(row) == pytest.approx(2 * m * n * 4096 / seconds, rel=0.01), row["name"]
        else:
            assert "law" not in row
    assert len(seen) >= 3


def test_rows_of_the_tensor_cores_have_a_roof(rows: dict[str, dict]) -> None:
    bound = [row for row in rows.values() if row["label"] == "tensor"]
    assert len(bound) > 15
    for row in bound:
        assert row["grade_roof"] == f"tensor_{row['arguments']['dtype']}"
        assert 0.05 < row["roof_fraction"] <= 0.742


def test_leading_dimensions_matter_as_dimensions_do(full: dict[str, dict]) -> None:
    for dtype in ("bf16", "fp16"):
        times = {
            align: full[f"tile_alignment/leading_dimension/dtype:{dtype}/align:{align}"]
            for align in (2, 4, 8, 16)
        }
        assert times[16]["real_time"] < times[8]["real_time"] / 3
        assert times[8]["real_time"] == times[4]["real_time"] == times[2]["real_time"]
    reason = full["tile_alignment/leading_dimension/dtype:tf32/align:2"]["skip_reason"]
    assert reason == "an element of this type is larger than the alignment"


def test_types_that_need_alignment_are_skipped_without(
    full: dict[str, dict], figures: dict[str, float]
) -> None:
    fp8, int8 = along(full, "k", "fp8"), along(full, "k", "int8")
    assert [beyond for beyond, row in fp8.items() if not row.get("skipped")] == [0, 16]
    assert [beyond for beyond, row in int8.items() if not row.get("skipped")] == [0, 4, 8, 12, 16]
    assert fp8[8]["skip_reason"].startswith("cuBLASLt multiplies fp8 only if")
    reached = figures["gemm_fp8_efficiency"] / figures["gemm_efficiency"]
    assert rate(fp8[0]) == pytest.approx(2 * reached * rate(along(full, "k")[0]), rel=0.05)


def test_everything_priced_is_checked_in_small(full: dict[str, dict]) -> None:
    ran = [row for row in full.values() if not row.get("skipped")]
    assert len(ran) > 150
    assert {row["verified"] for row in ran} == {"operation"}
    for row in ran:
        assert row["unit"] == ("imma" if row["arguments"].get("dtype") == "int8" else "hmma")


def test_lanes_go_to_waste_at_edges(rows: dict[str, dict]) -> None:
    predicated, padded = (
        rows[f"tile_alignment/edges/edges:{edges}/k:249"] for edges in ("predicated", "padded")
    )
    assert padded["active_lanes"] == 32
    assert predicated["active_lanes"] < 31.5
    for row in (predicated, padded):
        wasted = 1 - 1000 * 249 / (1024 * 256)
        assert row["wasted_fraction"] == pytest.approx(wasted)
        assert row["verified"] == "sampled"
    # A warp of single elements is one row of 64 bytes, of eight elements eight rows.
    assert padded["sectors_per_request"] == 16
    assert predicated["sectors_per_request"] < 3


def test_a_device_without_such_tensor_cores_says_so() -> None:
    [row] = rows_of(
        "--device=model:a100-80-sxm",
        "--suite=full",
        f"--benchmark_filter=^tile_alignment/odd_k/dtype:fp8/k:{BASE}$",
    ).values()
    assert "has no unit for fp8" in row["skip_reason"]


def test_few_tokens_cost_what_the_weights_do(full: dict[str, dict]) -> None:
    for dtype in ("bf16", "fp8"):
        times = {
            m: full[f"tile_alignment/small_m/dtype:{dtype}/m:{m}"]["real_time"]
            for m in (1, 8, 16, 64, 65, 128, 129)
        }
        # A few more of the rows that a tile multiplies anyway; then another tile.
        assert times[64] < 1.05 * times[1], dtype
        assert times[129] > 1.15 * times[128], dtype
        one = full[f"tile_alignment/small_m/dtype:{dtype}/m:1"]
        assert one["pad_cost"] == 63
        assert one["penalty"] < 0.05


def test_a_copy_to_wider_rows_pays_for_itself(
    full: dict[str, dict], figures: dict[str, float]
) -> None:
    bytes_a_second = figures["dram_bytes_per_second"] * figures["dram_mixed_efficiency"]
    for k in (4033, 8191, 16383):
        one, both = (
            full[f"tile_alignment/pad_and_multiply/pads:{pads}/k:{k}"] for pads in ("a", "both")
        )
        assert one["speedup_over_unaligned"] > both["speedup_over_unaligned"] > 1, k
        copied = 2 * 4096 * (k + math.ceil(k / 64) * 64)
        seconds = (both["real_time"] - one["real_time"]) * 1e-6
        assert copied / bytes_a_second < seconds, k


def test_narrow_loads_run_at_the_published_share(
    full: dict[str, dict], figures: dict[str, float]
) -> None:
    rows = [row for row in full.values() if row["kernel"] == "unaligned"]
    assert len(rows) == 4
    for row in rows:
        assert row["law_ratio"] == pytest.approx(1, abs=row["law_tolerance"]), row["name"]
        tile_m, tile_n = map(int, row["tile"].split("x"))
        tiles = math.ceil(4096 / tile_m) * math.ceil(4096 / tile_n)
        whole = math.ceil(tiles / figures["sm_count"]) * figures["sm_count"] / tiles
        peak = (
            figures["sm_count"]
            * figures["sm_clock_hz"]
            * figures["tensor_bf16_flops_per_clock_per_sm"]
        )
        share = figures["gemm_efficiency"] * figures["gemm_unaligned_efficiency"] / whole
        flops = 2.0 * 4096 * 4096 * row["arguments"]["k"]
        expected = after_start(peak * share, flops, figures)
        assert row["law"] == pytest.approx(expected, rel=1e-3), row["name"]
