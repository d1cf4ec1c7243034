"""What every concept owes, found by its file alone: it registers, it verifies, its law holds."""

from __future__ import annotations

from typing import Literal

import pytest

from gpubench_reports.rules.verdicts.rulebook import rules

from .conftest import RowsOfConcept, concepts, first_rows, rows_of, run


@pytest.fixture
def rows(concept: str, rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept(concept)


@pytest.mark.parametrize("concept", concepts())
def test_it_registers(concept: str) -> None:
    done = run("--benchmark_list_tests", "--suite=full", f"--benchmark_filter=^{concept}/")
    names = done.stdout.split()
    assert done.returncode == 0
    assert names
    assert all(name.startswith(f"{concept}/") for name in names)
    assert len(names) == len(set(names))
    assert not [name for name in names if "manual_time" in name or "iterations" in name]


@pytest.mark.parametrize("concept", concepts())
def test_it_verifies(concept: str, rows: dict[str, dict]) -> None:
    measured = {n: r for n, r in rows.items() if not r.get("skipped")}
    assert measured
    for name, row in measured.items():
        assert row["concept"] == concept
        assert row.get("verified") in ("full", "sampled", "operation"), name
        assert row["real_time"] > 0, name
        assert row["label"], name


def beyond_law(concept: str, rows: dict[str, dict]) -> dict[str, float]:
    with_law = {n: r for n, r in rows.items() if "law_ratio" in r}
    assert with_law, f"no row of {concept} states a law"
    return {
        name: row["law_ratio"]
        for name, row in with_law.items()
        if abs(row["law_ratio"] - 1) > row["law_tolerance"]
    }


@pytest.mark.parametrize("concept", concepts())
def test_its_law_holds(concept: str, rows: dict[str, dict]) -> None:
    assert not beyond_law(concept, rows)


# Where something else is slow than on an H200: a B200 has 1.6 times the bandwidth for 1.1 times the
# arithmetic; a GB200's copies take less than a launch; an A6000's L2 is small, and its clock falls.
OTHER_BALANCES = {
    "b200": ("async_copy", "bank_conflicts"),
    "rtx-a6000": ("divergence", "embedding"),
}
OTHER_BALANCES_OF_RELEASE = {
    "gb200": ("stream_overlap",),
    "rtx-a6000": ("host_sync", "stream_overlap"),
}


def pairs(of: dict[str, tuple[str, ...]], *marks: pytest.MarkDecorator) -> list:
    return [pytest.param(d, c, marks=marks) for d, concepts in of.items() for c in concepts]


@pytest.mark.parametrize(
    ("device", "concept"),
    pairs(OTHER_BALANCES) + pairs(OTHER_BALANCES_OF_RELEASE, pytest.mark.release),
)
def test_its_law_holds_where_something_else_is_slow(
    device: str, concept: str, rows_of_concept: RowsOfConcept
) -> None:
    assert not beyond_law(concept, rows_of_concept(concept, device))


@pytest.mark.parametrize("concept", concepts())
def test_no_row_passes_the_roof_that_binds_it(concept: str, rows: dict[str, dict]) -> None:
    high = rules()["limits"]["roof_high"]
    assert not {n: r["roof_fraction"] for n, r in rows.items() if r.get("roof_fraction", 0) > high}


@pytest.mark.parametrize("concept", concepts())
def test_requests_cost_what_the_law_says(concept: str, rows: dict[str, dict]) -> None:
    for name, row in rows.items():
        if "law_per_request" in row:
            counted = row.get("wavefronts_per_request", row.get("sectors_per_request"))
            assert counted == pytest.approx(row["law_per_request"]), name


# Rows of a concept in the default suite, at most; more only where a question has many parts.
MOST_DAILY_ROWS = 24
MORE_DAILY_ROWS = {"bank_conflicts": 31, "coalescing": 37, "occupancy": 25}


@pytest.mark.parametrize("concept", concepts())
def test_it_is_short_in_the_default_suite(concept: str, daily: list[str]) -> None:
    rows = [name for name in daily if name.startswith(f"{concept}/")]
    assert len(rows) <= MORE_DAILY_ROWS.get(concept, MOST_DAILY_ROWS)


def test_no_row_that_watches_is_in_the_default_suite(daily: list[str]) -> None:
    assert not [name for name in daily if name.startswith("throttle/")]  # half a minute a row


@pytest.mark.parametrize("of", ["concept", pytest.param("kernel", marks=pytest.mark.release)])
def test_an_older_device_runs_it(of: Literal["concept", "kernel"], daily: list[str]) -> None:
    # compute_peak has tests of its own that run it on this device. One row of others says whether
    # it runs there; coalescing is looked at more closely, and stream is its yardstick.
    own, closely = "compute_peak/", ("coalescing/", "stream/")
    first = first_rows([name for name in daily if not name.startswith(own)], of)
    chosen = {*first, *(name for name in daily if name.startswith(closely))}
    device = "--device=model:a100-80-sxm"
    rows = rows_of(device, f"--benchmark_filter=^({'|'.join(chosen)})$")
    assert set(rows) == chosen
    assert not [name for name, row in rows.items() if row.get("error_occurred")]
    # Where stream runs too, laws stand on the bandwidth that it has measured.
    laws = [r for r in rows.values() if r["concept"] == "coalescing" and "law_ratio" in r]
    assert laws
    assert not [r["name"] for r in laws if abs(r["law_ratio"] - 1) > r["law_tolerance"]]
