"""Batches of runs on the same buffers: --mode=hot goes for every concept, graphs and all. (Long
ones are run before releases.)"""

from __future__ import annotations

import pytest

from .conftest import first_rows, rows_of

SECONDS = "--benchmark_min_time=0.02"  # of real time, a row


# A row of each concept (but LONG_CONCEPTS), those that have events of their own, and one that
# caches make faster.
FUSED = "fusion/chain/by:kernels/dtype:fp32/size:1048576"
# Their laws count bytes of DRAM, and a launch that is waited for.
FASTER = (
    "gemm_batch/gemv/dtype:int4/m:1/n:14336/k:4096",
    "launch_overhead/empty_row/by:stream/launches:1",
    "training_step/step/with:nothing/hidden:256",
)


@pytest.fixture(scope="module")
def chosen(daily: list[str]) -> list[str]:
    own_events = [name for name in daily if name.startswith("stream_overlap/p")]
    return sorted({*first_rows(daily, of="concept"), *own_events, FUSED, *FASTER})


@pytest.fixture(scope="module")
def hot(chosen: list[str]) -> dict[str, dict]:
    return hot_rows(chosen)


def hot_rows(names: list[str]) -> dict[str, dict]:
    """Their rows; all of them were measured."""
    rows = rows_of("--mode=hot", SECONDS, f"--benchmark_filter=^({'|'.join(names)})$")
    assert set(rows) == set(names)
    assert not {n: r["error_message"] for n, r in rows.items() if r.get("error_occurred")}
    return rows


def test_every_concept_runs_hot(hot: dict[str, dict]) -> None:
    assert len({row["concept"] for row in hot.values()}) >= 20


def test_a_law_of_cold_runs_judges_no_hot_ones(hot: dict[str, dict]) -> None:
    with_law = {n: r for n, r in hot.items() if "law_ratio" in r}
    assert with_law
    assert not with_law.keys() & {*FASTER, FUSED}


def test_a_law_of_arithmetic_judges_hot_rows_too() -> None:
    named = "divergence/branches/order:interleaved/ways:32"
    [row] = rows_of("--mode=hot", SECONDS, f"--benchmark_filter=^{named}$").values()
    assert row["law_ratio"] == pytest.approx(1, abs=row["law_tolerance"])


@pytest.mark.release
def test_every_kernel_runs_hot(daily: list[str]) -> None:
    assert hot_rows(first_rows(daily, of="kernel"))


def test_what_the_caches_hold_is_faster_hot(hot: dict[str, dict]) -> None:
    cold = rows_of(f"--benchmark_filter=^{FUSED}$", SECONDS)
    assert hot[FUSED]["real_time"] < cold[FUSED]["real_time"]


def test_an_urgent_kernel_has_its_time_in_both_modes(hot: dict[str, dict]) -> None:
    rows = "^stream_overlap/priority/"
    cold = rows_of(f"--benchmark_filter={rows}", SECONDS)
    assert len(cold) == 2
    for name, row in cold.items():
        assert hot[name]["urgent_seconds"] == pytest.approx(row["urgent_seconds"], rel=0.02)
