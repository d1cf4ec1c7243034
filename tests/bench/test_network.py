"""The program asks no network."""

import subprocess
from pathlib import Path

import pytest

from .conftest import BUILD


def test_a_run_needs_no_network(tmp_path: Path) -> None:
    alone = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no network namespace can be made here")
    row = "--benchmark_filter=^bank_conflicts/strided/bytes:4/stride:1$"
    command = [str(BUILD / "gpubench"), "--device=model:h200-sxm", row]
    done = subprocess.run(
        [*alone, *command, f"--benchmark_out={tmp_path / 'run.json'}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
