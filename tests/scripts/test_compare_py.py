"""Google Benchmark's compare.py reads our result files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

# Of the distribution's package libbenchmark-tools.
COMPARE = Path("/usr/share/benchmark/compare.py")
SLOWER = "stream/copy/dtype:fp32/bytes:16/unroll:4"


def test_compare_py_shows_which_row_is_slower(tmp_path: Path) -> None:
    if not COMPARE.exists():
        pytest.skip("there is no libbenchmark-tools")
    first = json.loads((ROOT / "tests/data/results/version-2.json").read_text())
    # It takes every row's time, and a skipped row has none (docs/result-format.md).
    first["benchmarks"] = [row for row in first["benchmarks"] if "real_time" in row]
    second = json.loads(json.dumps(first))
    [row] = [row for row in second["benchmarks"] if row["name"] == SLOWER]
    row["real_time"] *= 1.5
    files = [tmp_path / "first.json", tmp_path / "second.json"]
    for file, document in zip(files, (first, second), strict=True):
        file.write_text(json.dumps(document))
    done = subprocess.run(
        [sys.executable, COMPARE, "--no-color", "benchmarks", *files],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    times = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines() if "+" in line}
    assert times[SLOWER] == "+0.5000"
    assert set(times.values()) - {times["OVERALL_GEOMEAN"]} == {"+0.0000", "+0.5000"}
