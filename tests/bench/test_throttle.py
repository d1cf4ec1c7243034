"""Watched programs on the model, which has no clock to lose; and runs that somebody ends early."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import BUILD, rows_of, run

MODEL = "--device=model:h200-sxm"


def test_the_model_computes_all_and_judges_none(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    done = run(MODEL, "--suite=full", "--benchmark_filter=^throttle/", f"--benchmark_out={out}")
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(out.read_text())["benchmarks"]}
    assert set(rows) == {"throttle/library", "throttle/gemm", "throttle/stream"}
    for row in rows.values():
        assert row["verdict"] == "none: the model has no clock to lose"
        assert row["law_ratio"] == pytest.approx(1, abs=row["law_tolerance"])
    assert rows["throttle/gemm"]["label"] == rows["throttle/library"]["label"] == "tensor"
    # mma.sync with operands in registers is not what a Hopper can.
    rate = {name: rows[f"throttle/{name}"]["flops_per_second"] for name in ("gemm", "library")}
    assert rate["library"] > 1.05 * rate["gemm"]
    assert rows["throttle/stream"]["label"] == "dram"
    assert not (tmp_path / "run.series.jsonl").exists(), "nothing was watched"


def test_it_is_no_part_of_the_default_suite() -> None:
    assert run("--benchmark_list_tests", "--benchmark_filter=^throttle/").returncode == 2


def test_the_length_of_the_watch_is_a_number() -> None:
    done = run(MODEL, "--watch_seconds=long")
    assert done.returncode == 2
    assert "--watch_seconds='long': must be a number" in done.stderr
    assert rows_of(
        MODEL, "--suite=full", "--watch_seconds=0.5", "--benchmark_filter=^throttle/stream"
    )


def interrupted(out: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """A run of very many rows that gets a Ctrl-C once it has begun to print them."""
    command = [str(BUILD / "gpubench"), MODEL, *flags, f"--benchmark_out={out}"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdout is not None
        begun = [process.stdout.readline() for _ in range(5)]
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    return subprocess.CompletedProcess(command, process.returncode, "".join(begun) + rest, errors)


def test_an_interrupted_run_keeps_what_it_has(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    began = time.monotonic()
    done = interrupted(out, "--suite=full", "--benchmark_filter=^topology/copy/")
    assert done.returncode == 130, done.stderr
    assert time.monotonic() - began < 30
    file = json.loads(out.read_text())
    assert file["context"]["interrupted"] is True
    assert 2 <= len(file["benchmarks"]) < 64
    assert all("real_time" in row for row in file["benchmarks"])
    assert f"interrupted: {len(file['benchmarks'])} of 64 rows" in done.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "run.json",
        "run.json.journal",
        "run.samples.jsonl",
    ]


def test_a_run_that_ends_by_itself_does_not_say_so(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    assert (
        run(MODEL, "--benchmark_filter=^topology/latency/", f"--benchmark_out={out}").returncode
        == 0
    )
    assert "interrupted" not in json.loads(out.read_text())["context"]
