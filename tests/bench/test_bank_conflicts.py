"""The queues at the banks, against arithmetic that a student can do by hand."""

from __future__ import annotations

from math import gcd

import pytest

from .conftest import rows_of


@pytest.fixture(scope="module")
def rows() -> dict[str, dict]:
    flags = ("--device=model:h200-sxm", "--suite=full")
    return rows_of(*flags, "--benchmark_filter=^(bank_conflicts/|stream/copy/dtype:fp32/bytes:16)")


def strided(rows: dict[str, dict], size: int, stride: int) -> dict:
    return rows[f"bank_conflicts/strided/bytes:{size}/stride:{stride}"]


def test_words_queue_by_the_common_divisor_of_stride_and_banks(rows: dict[str, dict]) -> None:
    for stride in range(34):
        expected = gcd(stride, 32) if stride else 1  # one word for all lanes is a broadcast
        assert strided(rows, 4, stride)["wavefronts_per_request"] == expected, stride


@pytest.mark.parametrize(("size", "passes"), [(8, 2), (16, 4)])
def test_wide_accesses_are_served_by_parts_of_the_warp(
    rows: dict[str, dict], size: int, passes: int
) -> None:
    for stride in range(34):
        row = strided(rows, size, stride)
        queue = gcd(stride, 32 // passes) if stride else 1
        assert row["wavefronts_per_request"] == passes * queue, stride
        assert row["rule"] == "unconfirmed"


def test_only_wide_and_atomic_rows_rest_on_an_unconfirmed_rule(rows: dict[str, dict]) -> None:
    doubtful = {name for name, row in rows.items() if "rule" in row}
    assert doubtful
    parts = ("/bytes:8/", "/bytes:16/", "/atomic/")
    assert all(any(part in name for part in parts) for name in doubtful)


def test_stores_and_additions_queue_as_loads_do(rows: dict[str, dict]) -> None:
    for stride in (1, 2, 4, 8, 16, 32, 33):
        queue = gcd(stride, 32)
        for kernel in ("store/bytes:4", "atomic"):
            row = rows[f"bank_conflicts/{kernel}/stride:{stride}"]
            assert row["wavefronts_per_request"] == queue, (kernel, stride)
            times = [rows[f"bank_conflicts/{kernel}/stride:{s}"]["real_time"] for s in (stride, 1)]
            assert times[0] / times[1] == pytest.approx(queue, rel=0.1), (kernel, stride)


def test_nobody_says_what_additions_to_one_word_cost(rows: dict[str, dict]) -> None:
    assert "one word" in rows["bank_conflicts/atomic/stride:0"]["skip_reason"]


def test_elements_of_a_word_share_it(rows: dict[str, dict]) -> None:
    wavefronts = {
        row["arguments"]["bytes"] * row["arguments"]["stride"]: row["wavefronts_per_request"]
        for row in rows.values()
        if row["kernel"] == "narrow"
    }
    assert wavefronts == {1: 1, 2: 1, 4: 1, 8: 2, 64: 16, 128: 32, 132: 1}


def test_padding_and_swizzle_spread_the_rows_of_matrices(rows: dict[str, dict]) -> None:
    by = {r["arguments"]["rows"]: r for r in rows.values() if r["kernel"] == "ldmatrix"}
    assert {name: row["wavefronts_per_request"] for name, row in by.items()} == {
        "plain": 32,
        "padded": 4,
        "swizzled": 4,
    }
    assert by["plain"]["real_time"] / by["swizzled"]["real_time"] == pytest.approx(8, rel=0.05)


def test_a_shared_word_is_free(rows: dict[str, dict]) -> None:
    for lanes in (1, 2, 4, 8, 16, 32):
        in_one_bank = rows[f"bank_conflicts/broadcast/stride:32/lanes:{lanes}"]
        side_by_side = rows[f"bank_conflicts/broadcast/stride:1/lanes:{lanes}"]
        assert in_one_bank["wavefronts_per_request"] == 32 / lanes
        assert side_by_side["wavefronts_per_request"] == 1


def test_time_follows_the_queue(rows: dict[str, dict]) -> None:
    alone = strided(rows, 4, 1)["real_time"]
    for stride in (2, 4, 8, 16, 32):
        row = strided(rows, 4, stride)
        assert row["real_time"] / alone == pytest.approx(stride, rel=0.05)
        assert row["label"] == "shared"


def test_padding_and_swizzle_reach_the_copy(rows: dict[str, dict]) -> None:
    def bandwidth(layout: str) -> float:
        return rows[f"bank_conflicts/transpose/layout:{layout}"]["useful_bytes_per_second"]

    assert bandwidth("copy") == pytest.approx(
        rows["stream/copy/dtype:fp32/bytes:16/unroll:4"]["useful_bytes_per_second"], rel=0.08
    )
    assert bandwidth("padded") == pytest.approx(bandwidth("copy"), rel=0.02)
    assert bandwidth("swizzled") == pytest.approx(bandwidth("copy"), rel=0.02)
    assert bandwidth("none") < 0.6 * bandwidth("copy")
    assert rows["bank_conflicts/transpose/layout:none"]["label"] == "shared"


def test_sums_by_halves_do_not_queue(rows: dict[str, dict]) -> None:
    by_neighbours = rows["bank_conflicts/reduction/addressing:interleaved"]
    by_halves = rows["bank_conflicts/reduction/addressing:sequential"]
    assert by_halves["wavefronts_per_request"] == 1
    assert by_neighbours["wavefronts_per_request"] > 3
    assert (by_neighbours["label"], by_halves["label"]) == ("shared", "dram")


def test_the_row_without_conflicts_is_the_roof(rows: dict[str, dict]) -> None:
    alone = strided(rows, 4, 1)
    assert alone["roof_fraction"] == pytest.approx(1, rel=0.03)
    # It has measured the roof, its launch and its barrier included: in a row 32 times as long they
    # are next to nothing.
    busy = alone["terms"]["shared"] / alone["model_seconds"]
    assert 0.97 < busy < 1
    assert strided(rows, 4, 32)["roof_fraction"] == pytest.approx(1 / busy, rel=0.01)
