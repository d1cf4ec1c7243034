"""Model devices that are less kind: --conditions and the profiles in tests/data/conditions."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import ROOT, rows_of, run

PROFILES = ROOT / "tests" / "data" / "conditions"
ROW = "--benchmark_filter=^coalescing/strided_read/stride:1$"


def test_the_result_file_names_the_conditions(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    kind = f"--conditions={PROFILES / 'kind.json'}"
    done = run("--device=model:h200-sxm", kind, ROW, f"--benchmark_out={out}")
    assert done.returncode == 0, done.stderr
    assert "conditions: kind\n" in done.stdout
    file = json.loads(out.read_text())
    assert file["context"]["conditions"] == "kind"
    [row] = file["benchmarks"]
    [usual] = rows_of("--device=model:h200-sxm", ROW).values()
    assert row["real_time"] == usual["real_time"]


def test_conditions_that_cannot_be_read_are_one_clear_line(tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    file.write_text('{"ordering": {"hardware_queues": 64}}')
    for flag, named in [
        (f"--conditions={file}", "'ordering.hardware_queues' must be a whole number from 1 to 32"),
        ("--conditions=/nonexistent/odd.json", "/nonexistent/odd.json"),
        ("--conditions", "--conditions=FILE"),
    ]:
        done = run("--device=model:h200-sxm", ROW, flag)
        assert done.returncode == 2
        [complaint] = done.stderr.splitlines()
        assert complaint.startswith("gpubench: ")
        assert named in complaint
