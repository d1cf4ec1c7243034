"""The counts that the textbook gives for patterns of 4-byte words."""

from __future__ import annotations

import itertools

import pytest

from .conftest import rows_of


@pytest.fixture(scope="module")
def rows() -> dict[str, dict]:
    return rows_of("--device=model:h100-sxm", "--suite=full", "--benchmark_filter=^coalescing/")


@pytest.mark.parametrize("kernel", ["strided_read", "strided_write"])
def test_sectors_by_stride(rows: dict[str, dict], kernel: str) -> None:
    strides = [1, 2, 4, 8, 16, 32]
    got = [rows[f"coalescing/{kernel}/stride:{s}"]["sectors_per_request"] for s in strides]
    assert got == [4, 8, 16, 32, 32, 32]


def test_a_shifted_warp_touches_a_fifth_sector(rows: dict[str, dict]) -> None:
    for offset in range(32):
        row = rows[f"coalescing/misaligned_read/offset:{offset}"]
        assert row["sectors_per_request"] == (4 if offset % 8 == 0 else 5)


def test_wide_loads_ask_for_more_at_once(rows: dict[str, dict]) -> None:
    got = [rows[f"coalescing/vector_read/bytes:{b}"]["sectors_per_request"] for b in (4, 8, 16)]
    assert got == [4, 8, 16]


def test_one_field_of_a_record(rows: dict[str, dict]) -> None:
    for fields, of_structs in ((4, 16), (8, 32), (16, 32)):
        by_layout = {
            layout: rows[f"coalescing/records/layout:{layout}/fields:{fields}"]
            for layout in ("aos", "soa", "aosoa")
        }
        assert by_layout["aos"]["sectors_per_request"] == of_structs
        assert by_layout["soa"]["sectors_per_request"] == 4
        assert by_layout["aosoa"]["sectors_per_request"] == 4


@pytest.mark.parametrize("kernel", ["strided_read", "strided_write"])
def test_odd_strides_touch_what_lies_between(rows: dict[str, dict], kernel: str) -> None:
    for stride in (3, 5, 7, 9, 31):
        touched = len({lane * stride // 8 for lane in range(32)})
        row = rows[f"coalescing/{kernel}/stride:{stride}"]
        assert row["sectors_per_request"] == touched, stride


def test_a_shifted_store_touches_a_fifth_sector(rows: dict[str, dict]) -> None:
    for offset in (0, 1, 2, 4, 8, 16, 31):
        row = rows[f"coalescing/misaligned_write/offset:{offset}"]
        assert row["sectors_per_request"] == (4 if offset % 8 == 0 else 5)


def test_shared_memory_hands_out_records_that_were_loaded_side_by_side(
    rows: dict[str, dict],
) -> None:
    for fields in (4, 8, 16):
        sectors = {
            by: rows[f"coalescing/whole_records/by:{by}/fields:{fields}"]["sectors_per_request"]
            for by in ("words", "vectors", "shared", "soa")
        }
        strided = min(4 * fields, 32)
        vectors = 16 if fields == 4 else 32
        assert sectors == {"words": strided, "vectors": vectors, "shared": 4, "soa": 4}


def test_only_random_rows_say_nothing_of_sectors(rows: dict[str, dict]) -> None:
    silent = {row["kernel"] for row in rows.values() if "law_per_request" not in row}
    assert silent == {"gather"}


def test_useful_bandwidth_falls_with_the_stride(rows: dict[str, dict]) -> None:
    def bandwidth(stride: int) -> float:
        return rows[f"coalescing/strided_read/stride:{stride}"]["useful_bytes_per_second"]

    for stride in (2, 4, 8):
        assert bandwidth(stride) / bandwidth(1) == pytest.approx(1 / stride, rel=0.15)


def test_the_gather_falls_in_steps(rows: dict[str, dict]) -> None:
    by_window = {w: rows[f"coalescing/gather/window:{w}"] for w in (32, 4096, 1 << 22, 1 << 30)}
    # A window of one sector asks so little of L1 that an empty kernel takes longer.
    label = {w: row["label"] for w, row in by_window.items()}
    assert label == {32: "latency", 4096: "l1", 1 << 22: "l2", 1 << 30: "dram"}
    seconds = [row["model_seconds"] for row in by_window.values()]
    assert all(2 * near < far for near, far in itertools.pairwise(seconds))
