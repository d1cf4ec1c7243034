"""Batches of runs on the same buffers: --mode=hot goes for every concept, graphs and all."""

from __future__ import annotations

import pytest

from .conftest import rows_of

SECONDS = "--benchmark_min_time=0.02"  # of real time, a row


@pytest.fixture(scope="module")
def hot() -> dict[str, dict]:
    return rows_of("--suite=quick", "--mode=hot", SECONDS)


def test_every_concept_runs_hot(hot: dict[str, dict], daily: list[str]) -> None:
    assert {name.split("/")[0] for name in hot} == {name.split("/")[0] for name in daily}
    assert not {n: r["error_message"] for n, r in hot.items() if r.get("error_occurred")}


def test_what_the_caches_hold_is_faster_hot(hot: dict[str, dict]) -> None:
    cold = rows_of("--suite=quick", "--benchmark_filter=^fusion/", SECONDS)
    name = "fusion/chain/by:kernels/dtype:fp32/size:1048576"
    assert hot[name]["real_time"] < cold[name]["real_time"]


def test_an_urgent_kernel_has_its_time_in_both_modes(hot: dict[str, dict]) -> None:
    rows = "^stream_overlap/priority/"
    cold = rows_of(f"--benchmark_filter={rows}", SECONDS)
    assert len(cold) == 2
    for name, row in cold.items():
        assert hot[name]["urgent_seconds"] == pytest.approx(row["urgent_seconds"], rel=0.02)
