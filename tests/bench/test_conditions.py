"""Model devices that are less kind: --conditions and the profiles in tests/data/conditions."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from .conftest import BUILD, ROOT, first_rows, rows_of, run

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


def one_row_of_each_concept() -> str:
    """A filter: of the quick suite, but for LONG_CONCEPTS."""
    names = run("--suite=quick", "--benchmark_list_tests").stdout.split()
    return "--benchmark_filter=^(" + "|".join(first_rows(names, of="concept")) + ")$"


@pytest.fixture(scope="module")
def usual() -> dict[str, dict]:
    return rows_of("--device=model:h200-sxm", "--suite=quick", one_row_of_each_concept())


DAILY = ["all-at-once"]
OTHERS = ["late", "one-queue", "eight-queues", "random-order", "slow-host"]


@pytest.mark.parametrize(
    "profile", [*DAILY, *(pytest.param(name, marks=pytest.mark.release) for name in OTHERS)]
)
def test_what_a_device_may_do_changes_no_result(profile: str, usual: dict[str, dict]) -> None:
    unkind = rows_of(
        "--device=model:h200-sxm",
        "--suite=quick",
        one_row_of_each_concept(),
        f"--conditions={PROFILES / profile}.json",
    )
    assert unkind.keys() == usual.keys()
    for name, row in usual.items():
        for key in ("verified", "skipped", "sectors_per_request", "wavefronts_per_request"):
            assert unkind[name].get(key) == row.get(key), (name, key)


def test_a_fault_in_mid_suite_is_said_once_and_what_was_measured_stays() -> None:
    faulty = f"--conditions={PROFILES / 'faulty.json'}"
    rows = "--benchmark_filter=^(bank_conflicts/strided|coalescing/strided_read)"
    alone = "--isolate=none"
    done = run("--device=model:h200-sxm", rows, faulty, alone, "--benchmark_format=json")
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if line.startswith("model device: ")]
    assert len(said) == 1
    assert "coalescing::strided_read faults, as the conditions say" in said[0]
    found = json.loads(done.stdout)["benchmarks"]
    assert "error_message" not in found[0]
    [failed] = [row for row in found if row.get("error_occurred")]
    assert failed["name"].startswith("coalescing/strided_read/")
    after = found[found.index(failed) + 1 :]
    assert after
    assert all(failed["name"] in row["skip_reason"] for row in after)


def test_launches_that_block_are_refused() -> None:
    program = BUILD / "gpubench-cuda"
    if not program.exists():
        pytest.skip("gpubench-cuda is not built")
    done = subprocess.run(
        [program, ROW],
        env=os.environ | {"CUDA_LAUNCH_BLOCKING": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    [complaint] = done.stderr.splitlines()
    assert "CUDA_LAUNCH_BLOCKING" in complaint
