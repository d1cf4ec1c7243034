"""Rows that are repeated, and what a file says of all repetitions together."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import run

ONE_ROW = "--benchmark_filter=^coalescing/strided_read/stride:1$"


def test_repetitions_are_aggregated() -> None:
    done = run(
        "--device=model:h200-sxm", ONE_ROW, "--benchmark_repetitions=3", "--benchmark_format=json"
    )
    rows = json.loads(done.stdout)["benchmarks"]
    assert [r["repetition_index"] for r in rows if r["run_type"] == "iteration"] == [0, 1, 2]
    kinds = {r["aggregate_name"] for r in rows if r["run_type"] == "aggregate"}
    assert kinds == {"mean", "median", "stddev", "cv"}


def test_aggregates_alone(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    flags = ("--device=model:h200-sxm", ONE_ROW, f"--benchmark_out={out}")

    def kinds(*more: str) -> tuple[int, int, set[str]]:
        table = run(*flags, *more).stdout
        rows = json.loads(out.read_text())["benchmarks"]
        name = "coalescing/strided_read/stride:1"
        return (table.count(f"{name} "), table.count(f"{name}_"), {r["run_type"] for r in rows})

    display = "--benchmark_display_aggregates_only"
    report = "--benchmark_report_aggregates_only"
    assert kinds("--benchmark_repetitions=2") == (2, 4, {"iteration", "aggregate"})
    assert kinds("--benchmark_repetitions=2", display) == (0, 4, {"iteration", "aggregate"})
    assert kinds("--benchmark_repetitions=2", report) == (0, 4, {"aggregate"})
    assert kinds(report) == (1, 0, {"iteration"})


def test_aggregates_alone_keep_what_the_row_is_and_how_it_was_judged(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    flags = ("--device=model:h200-sxm", ONE_ROW, f"--benchmark_out={out}")
    assert run(*flags).returncode == 0
    [row] = json.loads(out.read_text())["benchmarks"]
    alone = ("--benchmark_repetitions=3", "--benchmark_report_aggregates_only")
    assert run(*flags, *alone).returncode == 0
    rows = {r["aggregate_name"]: r for r in json.loads(out.read_text())["benchmarks"]}
    of_repetitions = {"family_index", "per_family_instance_index", "repetition_index"}
    same = row.keys() - of_repetitions - {"name", "run_type", "repetitions", "iterations"}
    assert {key: rows["median"].get(key) for key in same} == {key: row[key] for key in same}
    assert {"law_ratio", "label", "roof_fraction", "verified"} <= same
    assert not of_repetitions & rows["median"].keys()
    assert "label" not in rows["cv"]
