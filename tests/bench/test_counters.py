"""What --profile says on the model: a profiler that counts alike finds no difference."""

from __future__ import annotations

import json
from pathlib import Path

from reports.profiles import metrics_of, ncu_csv

from gpubench_reports.comparisons import counters, ncu_profile
from gpubench_reports.results.reader import read

from .conftest import rows_of, run

ROWS = "^(reduction/sum/by:shuffle|bank_conflicts/transpose/layout:(none|padded))"
FLAGS = ("--device=model:h200-sxm", f"--benchmark_filter={ROWS}")


def test_its_launches_are_those_of_the_profiler(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    done = run(*FLAGS, "--profile", f"--benchmark_out={out}")
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())["benchmarks"]
    profile = tmp_path / "profile.csv"
    launches = [
        (row["name"], f"void {one['kernel']}(int)", metrics_of(one["figures"]))
        for row in rows
        for one in row["launches"]
        for _ in range(one["times"])
    ]
    profile.write_text(ncu_csv(launches))
    found = counters.compare(read(out), ncu_profile.read_profile(profile))
    assert found.launches == len(launches) > len(rows)  # a sum takes several
    assert (found.differences, found.alone) == ([], [])
    assert found.equal["shared_load_wavefronts"] >= 3
    assert found.equal["resident_blocks"] == found.launches


def test_a_launch_says_what_the_law_says() -> None:
    flags = ("--device=model:h200-sxm", "--benchmark_filter=^coalescing/strided_read/.*stride:4$")
    (row,) = rows_of(*flags, "--profile").values()
    (launch,) = row["launches"]
    figures = launch["figures"]
    assert figures["global_load_sectors"] == 16 * figures["global_load_requests"]
    assert figures["global_load_bytes"] == 128 * figures["global_load_requests"]


def test_only_a_profile_lists_launches() -> None:
    assert all("launches" not in row for row in rows_of(*FLAGS).values())
