"""scripts/bench with stand-ins for the build and the program: what it runs, writes and names."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from reports.factory import make_document, make_row

from .conftest import run_script, stand_ins

PROGRAM = """#!/bin/sh
for argument in "$@"; do
  case "$argument" in
    --list_devices) exit 0 ;;
    --version) echo "version 1" && exit 0 ;;
    --resume=*) out="${argument#*=}" && resumes=yes ;;
    --benchmark_out=*) out="${argument#*=}" ;;
    --trace=*) echo "traced" ;;
  esac
done
case "$resumes$*" in
  yes*--benchmark_out=*) echo "both" >&2 && exit 2 ;;
esac
cp "$(dirname "$0")/document.json" "$out"
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("results", "tests/data/published"):
        (tmp_path / folder).mkdir(parents=True)
    rows = [make_row("a/b/n:1", law=1e9, law_ratio=0.5), make_row("a/b/n:2")]
    return stand_ins(tmp_path, "bench", PROGRAM, rows)


def bench(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_script(tree, "bench", *arguments)


def test_it_ends_with_the_report(tree: Path) -> None:
    done = bench(tree, "--benchmark_out=run.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-3:] == ["Written:", "  run.json", "  run.html"]
    page = (tree / "run.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "50 % of the predicted limit" in page


def test_a_resumed_run_writes_the_file_that_it_finishes(tree: Path) -> None:
    done = bench(tree, "--resume=run.json")
    assert done.returncode == 0, done.stderr
    assert (tree / "run.html").exists()


def test_the_version_is_no_run(tree: Path) -> None:
    done = bench(tree, "--version")
    assert (done.returncode, done.stdout) == (0, "version 1\n")


def test_without_a_name_files_go_to_results_local(tree: Path) -> None:
    done = bench(tree)
    (result,) = (tree / "results/local").glob("*.json")
    assert f"results/local/{result.stem}.html" in done.stdout


def test_recorded_results_grade_the_run(tree: Path) -> None:
    (tree / "results/h200").mkdir()
    recorded = make_document([make_row("a/b/n:2", 1e-4)])
    (tree / "results/h200/first.json").write_text(json.dumps(recorded))
    assert bench(tree, "--benchmark_out=run.json").returncode == 0
    assert "10 % of what was recorded for it (1 run)" in (tree / "run.html").read_text()


def test_a_csv_result_has_no_report(tree: Path) -> None:
    done = bench(tree, "--benchmark_out=run.csv", "--benchmark_out_format=csv")
    assert done.returncode == 0
    assert not list(tree.glob("*.html"))


def test_a_result_that_cannot_be_read_fails_the_run(tree: Path) -> None:
    (tree / "build/document.json").write_text("{")
    done = bench(tree, "--benchmark_out=run.json")
    assert done.returncode == 1
    assert "is truncated" in done.stderr
