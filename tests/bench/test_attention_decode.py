"""Decoding a token costs the bytes of its keys and values; grouped heads divide them."""

from __future__ import annotations

import pytest

from .conftest import RowsOfConcept, figures, rows_of

DEVICE = "h200-sxm"
HEADS, HEAD_DIM = 32, 128
BATCH, CONTEXT = 16, 8192


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    found = rows_of_concept("attention", DEVICE)
    return {name: row for name, row in found.items() if row["kernel"] == "decode"}


@pytest.fixture(scope="module", name="figures")
def figures_of_device() -> dict[str, float]:
    return figures(DEVICE)


def row(rows: dict[str, dict], kv_heads: int, page: int = 16) -> dict:
    return rows[f"attention/decode/batch:{BATCH}/context:{CONTEXT}/kv_heads:{kv_heads}/page:{page}"]


def cache_bytes(kv_heads: int) -> int:
    """The size of all keys and values."""
    return BATCH * CONTEXT * kv_heads * HEAD_DIM * 2 * 2


def launches(found: dict, figures: dict[str, float]) -> float:
    again = figures["launch_stream_seconds"] if found["splits"] > 1 else 0
    return figures["kernel_floor_seconds"] + again


def test_a_token_brings_the_bytes_of_its_context(rows: dict[str, dict]) -> None:
    assert len(rows) == 5
    for found in rows.values():
        arguments = found["arguments"]
        of_token = arguments["context"] * arguments["kv_heads"] * HEAD_DIM * 2 * 2
        assert found["bytes_per_token"] == of_token
        assert found["label"] == "dram"
        assert found["tokens_per_second"] == pytest.approx(
            arguments["batch"] / found["model_seconds"]
        )
        # Each of them once; results of splits stay in L2.
        moved = found["moved_bytes_per_second"] * found["model_seconds"]
        assert moved == pytest.approx(arguments["batch"] * of_token, rel=0.06)


def test_the_law_is_the_bytes_over_the_bandwidth(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    dram = figures["dram_bytes_per_second"] * figures["dram_read_efficiency"]
    for kv_heads in (32, 8, 1):
        found = row(rows, kv_heads)
        besides = BATCH * 2 * HEADS * HEAD_DIM * 2  # queries and results
        seconds = launches(found, figures) + (cache_bytes(kv_heads) + besides) / dram
        assert found["law"] == pytest.approx(BATCH / seconds)


def test_grouping_divides_bytes_and_time_until_launches_are_left(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    def without_launches(kv_heads: int) -> float:
        found = row(rows, kv_heads)
        return found["model_seconds"] - launches(found, figures)

    assert without_launches(32) / without_launches(8) == pytest.approx(4, rel=0.05)
    assert 5 < without_launches(8) / without_launches(1) < 8
    fractions = [row(rows, kv_heads)["roof_fraction"] for kv_heads in (32, 8, 1)]
    assert fractions == sorted(fractions, reverse=True)
    assert fractions[0] > 0.9
    assert fractions[2] < 0.8
    # The arithmetic is the same for all.
    flops = {
        row(rows, kv_heads)["flops_per_second"] * row(rows, kv_heads)["model_seconds"]
        for kv_heads in (32, 8, 1)
    }
    assert max(flops) == pytest.approx(4 * BATCH * CONTEXT * HEADS * HEAD_DIM)
    assert min(flops) == pytest.approx(max(flops))


def test_pages_cost_a_look_into_a_table(rows: dict[str, dict]) -> None:
    paged, contiguous = row(rows, 8), row(rows, 8, page=0)
    assert 1 < paged["model_seconds"] / contiguous["model_seconds"] < 1.1
    # A look for each tile of 16 keys.
    tiles = BATCH * 8 * CONTEXT // 16
    looks = [found["instructions"]["global_load"] for found in (paged, contiguous)]
    assert looks[0] - looks[1] == pytest.approx(tiles, rel=0.01)


@pytest.mark.release
def test_the_size_of_a_page_matters_little(rows: dict[str, dict]) -> None:
    (large,) = rows_of(
        f"--device=model:{DEVICE}",
        "--suite=full",
        f"--benchmark_filter=^attention/decode/batch:{BATCH}/context:{CONTEXT}/kv_heads:8/page:256$",
    ).values()
    assert large["model_seconds"] == pytest.approx(row(rows, 8)["model_seconds"], rel=0.02)


def test_one_long_sequence_is_split_over_the_gpu(
    rows: dict[str, dict], figures: dict[str, float]
) -> None:
    found = rows["attention/decode/batch:1/context:65536/kv_heads:8/page:16"]
    blocks = 8 * found["splits"]
    # Whole waves of the blocks that shared memory has room for: two tiles of K and of V per warp.
    of_block = 4 * 2 * 2 * 16 * 256 + 16 * 256 + figures["shared_reserved_bytes_per_block"]
    at_once = figures["shared_bytes_per_sm"] // of_block * figures["sm_count"]
    assert 0.9 < blocks / at_once <= 1
    assert found["roof_fraction"] > 0.75


@pytest.mark.parametrize("seq", [256, pytest.param(4096, marks=pytest.mark.release)])
def test_shared_heads_save_bytes_and_no_flops(seq: int) -> None:
    found = rows_of(
        f"--device=model:{DEVICE}",
        "--suite=full",
        f"--benchmark_filter=^attention/grouped/by:(tiled|wgmma)/seq:{seq}/kv_heads:(16|1)$",
    )
    assert len(found) == 4
    for by in ("tiled", "wgmma"):
        every, few = (
            found[f"attention/grouped/by:{by}/seq:{seq}/kv_heads:{kv_heads}"]
            for kv_heads in (16, 1)
        )
        times = [one["model_seconds"] for one in (every, few)]
        flops = [one["flops_per_second"] * one["model_seconds"] for one in (every, few)]
        useful = [one["useful_bytes_per_second"] * one["model_seconds"] for one in (every, few)]
        assert flops[0] == pytest.approx(flops[1])
        assert useful[1] / useful[0] == pytest.approx((2 + 2 / 16) / 4)
        # Keys are read once for 128 queries, and L2 has them for the next: bytes are no limit.
        assert 0.95 < times[1] / times[0] <= 1.001


@pytest.mark.parametrize(
    "device",
    [pytest.param(d, marks=pytest.mark.release) for d in ("b200", "a100-80-sxm", "rtx-4090")],
)
def test_its_laws_hold_on_other_devices(device: str) -> None:
    flags = (f"--device=model:{device}", "--benchmark_filter=^attention/decode/")
    found = rows_of(*flags).values()
    assert len(found) == 5
    assert all("law_ratio" in r for r in found)
    assert not [r["name"] for r in found if abs(r["law_ratio"] - 1) > r["law_tolerance"]]
    assert not [r["name"] for r in found if r.get("roof_fraction", 0) > 1.05]
