"""Batches of runs on the same buffers: --mode=hot goes for every concept, graphs and all."""

from __future__ import annotations

import pytest

from .conftest import rows_of

SECONDS = "--benchmark_min_time=0.02"  # of real time, a row


@pytest.fixture(scope="module")
def chosen(daily: list[str]) -> list[str]:
    """The first row of each kernel, and those that have events of their own."""
    kernels: dict[str, str] = {}
    for name in daily:
        kernels.setdefault("/".join(name.split("/")[:2]), name)
    return sorted({*kernels.values(), *(n for n in daily if n.startswith("stream_overlap/p"))})


@pytest.fixture(scope="module")
def hot(chosen: list[str]) -> dict[str, dict]:
    return rows_of("--mode=hot", SECONDS, f"--benchmark_filter=^({'|'.join(chosen)})$")


def test_every_kernel_runs_hot(hot: dict[str, dict], chosen: list[str]) -> None:
    assert set(hot) == set(chosen)
    assert not {n: r["error_message"] for n, r in hot.items() if r.get("error_occurred")}


def test_what_the_caches_hold_is_faster_hot(hot: dict[str, dict]) -> None:
    cold = rows_of("--benchmark_filter=^fusion/.*/size:1048576$", SECONDS)
    name = "fusion/chain/by:kernels/dtype:fp32/size:1048576"
    assert hot[name]["real_time"] < cold[name]["real_time"]


def test_an_urgent_kernel_has_its_time_in_both_modes(hot: dict[str, dict]) -> None:
    rows = "^stream_overlap/priority/"
    cold = rows_of(f"--benchmark_filter={rows}", SECONDS)
    assert len(cold) == 2
    for name, row in cold.items():
        assert hot[name]["urgent_seconds"] == pytest.approx(row["urgent_seconds"], rel=0.02)
