"""scripts/calibrate with stand-ins for build and program: what it runs, writes and refuses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from reports.factory import make_document, make_row

from .conftest import run_script, stand_ins

PROGRAM = """#!/bin/sh
here="$(dirname "$0")"
printf '%s\\n' "$@" >"$here/arguments"
for argument in "$@"; do
  case "$argument" in
    --benchmark_out=*) out="${argument#*=}" ;;
  esac
done
cp "$here/document.json" "$out"
exit "$(cat "$here/status")"
"""
FLOOR = make_row("launch_overhead/empty_row/by:stream/launches:1", empty_kernel_seconds=2.5e-6)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    stand_ins(tmp_path, "calibrate", PROGRAM, [FLOOR])
    (tmp_path / "build/status").write_text("0")
    return tmp_path


def run(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_script(tree, "calibrate", *arguments)


def floor_of(path: Path) -> dict:
    return json.loads(path.read_text())["figures"]["kernel_floor_seconds"]


def test_without_a_gpu_one_line_and_2(tree: Path) -> None:
    for arguments in ([], ["--device=cuda:1"], ["--device=auto"]):
        done = run(tree, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        [line] = done.stderr.splitlines()
        assert "no GPU here" in line
    assert not (tree / "results").exists()


def test_an_argument_that_it_does_not_know(tree: Path) -> None:
    done = run(tree, "--benchmark_filter=x")
    assert done.returncode == 2
    assert "unknown argument --benchmark_filter=x" in done.stderr


def test_on_a_gpu_it_measures_the_rules_rows_and_writes_the_device(tree: Path) -> None:
    (tree / "gpu").touch()
    done = run(tree)
    assert done.returncode == 0, done.stderr
    arguments = (tree / "build/arguments").read_text().splitlines()
    assert "--device=cuda" in arguments
    assert "--suite=full" in arguments
    assert any(argument.startswith("--benchmark_filter=^(launch_") for argument in arguments)
    device, result = map(Path, done.stdout.splitlines()[-2:])
    assert device.parent == result.parent == tree / "results/local"
    assert floor_of(device) | {"source": ""} == {
        "value": 2.5e-6,
        "from": "calibrated",
        "source": "",
    }


def test_a_model_calibrates_nothing_and_says_so(tree: Path) -> None:
    document = make_document([FLOOR], device_kind="model")
    (tree / "build/document.json").write_text(json.dumps(document))
    done = run(tree, "--device=model:h200-sxm", "--name=mine", "--base=h200-sxm")
    assert done.returncode == 0, done.stderr
    assert "MODELLED, not measured" in done.stdout
    assert floor_of(tree / "results/local/mine.json")["from"] == "assumed"


def test_a_row_that_failed_costs_that_figure_only(tree: Path) -> None:
    (tree / "gpu").touch()
    (tree / "build/status").write_text("1")
    done = run(tree, "--out=mine.json")
    assert done.returncode == 1
    assert floor_of(tree / "mine.json")["from"] == "calibrated"


def test_a_run_that_stopped_calibrates_nothing(tree: Path) -> None:
    (tree / "gpu").touch()
    (tree / "build/status").write_text("130")
    assert run(tree, "--out=mine.json").returncode == 130
    assert not (tree / "mine.json").exists()
