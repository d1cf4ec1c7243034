"""Products with block scales by a kernel of the suite's own, in tensor memory."""

from __future__ import annotations

from functools import cache

import pytest

from .conftest import figures, rows_of

NAME = "precision/{}/dtype:{}/contents:uniform/n:{}"
SIZE = 1024  # less than any row has: the model quantises every element that a block reads
# Elements along k of a step, which are 128 bytes.
STEPS = {"mxfp8": 128, "nvfp4": 256}
# By how many SMs, the rows of A and of B that each brings for a tile, and those of scales.
TILES = {"tcgen05": (1, 128 + 256, 128 + 256), "tcgen05_pair": (2, 128 + 128, 128 + 256)}


def rows(device: str, kernel: str) -> dict[str, dict]:
    return rows_of(
        f"--device=model:{device}",
        "--suite=full",
        f"--axis=precision/{kernel}/n={SIZE}",
        "--benchmark_filter=uniform",
    )


@pytest.mark.parametrize(
    "kernel", ["tcgen05", pytest.param("tcgen05_pair", marks=pytest.mark.release)]
)
@pytest.mark.parametrize("device", ["b200", pytest.param("b300", marks=pytest.mark.release)])
def test_it_is_bound_by_its_tiles_and_by_its_start(device: str, kernel: str) -> None:
    found = rows(device, kernel)
    figure = figures(device)
    sms, clock = figure["sm_count"], figure["sm_clock_hz"]
    together, brought, scaled = TILES[kernel]
    tile_rows = 128 * together
    tiles = SIZE // tile_rows * (SIZE // 256)
    flops = 2 * SIZE**3
    measured = ["mxfp8", "nvfp4"] if device == "b200" else ["mxfp8"]
    for dtype in measured:
        row = found[NAME.format(kernel, dtype, SIZE)]
        depth = STEPS[dtype]
        step_bytes = brought * 128 + scaled * depth // (32 if dtype == "mxfp8" else 16)
        # Four products for each step of a tile.
        assert row["instructions"]["tensor"] == tiles * SIZE // depth * 4
        roof = figure[f"tensor_{'fp8' if dtype == 'mxfp8' else 'fp4'}_flops_per_clock_per_sm"]
        from_l2 = 2 * 128 * 256 * depth / step_bytes * figure["l2_bytes_per_second"]
        rate = min(together * tiles / sms * roof * sms * clock, from_l2)
        assert row["law"] == pytest.approx(flops / (flops / rate + figure["kernel_floor_seconds"]))
        assert abs(row["law_ratio"] - 1) < row["law_tolerance"]
        assert row["flops_per_second"] * row["model_seconds"] == pytest.approx(flops)
    if device == "b300":
        assert found[NAME.format(kernel, "nvfp4", SIZE)]["skip_reason"] == (
            "the rate of compute capability 10.3 is that of products of 96 along k, not of 64"
        )
    else:
        loses_what_the_library_loses(found, kernel)


@cache
def library() -> dict[str, dict]:
    """A row of each dtype on a b200."""
    wanted = "--benchmark_filter=^precision/gemm/dtype:(mxfp8|nvfp4)/contents:uniform/n:8192$"
    return rows_of("--device=model:b200", "--suite=full", wanted)


def loses_what_the_library_loses(found: dict[str, dict], kernel: str) -> None:
    for dtype in ("mxfp8", "nvfp4"):
        theirs = library()[f"precision/gemm/dtype:{dtype}/contents:uniform/n:8192"]
        own = found[NAME.format(kernel, dtype, SIZE)]
        assert own["relative_error"] == pytest.approx(theirs["relative_error"], rel=0.1)
        assert own["relative_error"] == pytest.approx(own["error_law"], rel=0.1)


@pytest.mark.parametrize("device", ["h200-sxm", "rtx-5090"])
def test_it_is_skipped_where_there_is_no_tcgen05(device: str, daily: list[str]) -> None:
    found = rows_of(
        f"--device=model:{device}", "--suite=full", "--benchmark_filter=^precision/tcgen05"
    )
    assert len(found) == 2 * 6
    assert {row["skip_reason"] for row in found.values()} == {
        "tcgen05 is compiled for compute capabilities 10.0 and 10.3 alone"
    }
    assert not found.keys() & set(daily)
