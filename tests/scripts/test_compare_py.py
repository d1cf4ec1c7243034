"""Google Benchmark's compare.py reads our result files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpubench_reports.commands.command_line import main

from .conftest import ROOT

# From the distribution's package libbenchmark-tools.
COMPARE = Path("/usr/share/benchmark/compare.py")
SLOWER = "stream/copy/dtype:fp32/bytes:16/unroll:4"
FAILED = "stream/copy/dtype:fp32/bytes:4/unroll:1"


def compare(*files: Path) -> subprocess.CompletedProcess[str]:
    if not COMPARE.exists():
        pytest.skip("there is no libbenchmark-tools")
    return subprocess.run(
        [sys.executable, COMPARE, "--no-color", "benchmarks", *files],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """A run with a skipped row, and one in which a row is slower and another has failed."""
    first = json.loads((ROOT / "tests/data/results/version-2.json").read_text())
    assert any(row.get("skipped") for row in first["benchmarks"])
    second = json.loads(json.dumps(first))
    rows = {row["name"]: row for row in second["benchmarks"]}
    rows[SLOWER]["real_time"] *= 1.5
    for key in ("real_time", "cpu_time", "time_unit"):
        del rows[FAILED][key]
    rows[FAILED] |= {"error_occurred": True, "error_message": "wrong results"}
    files = [tmp_path / "first.json", tmp_path / "second.json"]
    for file, document in zip(files, (first, second), strict=True):
        file.write_text(json.dumps(document))
    return files


def test_compare_py_shows_which_row_is_slower(
    two: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    timed = [file.with_name(f"timed-{file.name}") for file in two]
    for file, out in zip(two, timed, strict=True):
        assert main(["timed", str(file), "-o", str(out)]) == 0
        assert capsys.readouterr().out == f"{out}\n"
    done = compare(*timed)
    assert done.returncode == 0, done.stderr
    times = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines() if "+" in line}
    assert times[SLOWER] == "+0.5000"
    assert FAILED not in times
    assert set(times.values()) - {times["OVERALL_GEOMEAN"]} == {"+0.0000", "+0.5000"}


def test_compare_py_needs_the_rows_without_a_time_left_out(two: list[Path]) -> None:
    """If this fails, `gpubench-report timed` is no longer needed."""
    assert compare(*two).returncode != 0


def test_a_file_in_which_no_row_has_a_time_is_an_error(
    two: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(two[0].read_text())
    document["benchmarks"] = [row for row in document["benchmarks"] if row.get("skipped")]
    two[0].write_text(json.dumps(document))
    out = two[0].with_name("timed.json")
    assert main(["timed", str(two[0]), "-o", str(out)]) == 2
    assert capsys.readouterr().err.endswith("no row has a time\n")
    assert not out.exists()
