"""The kernel tests on both engines and in every conduct: they pass, and count the same."""

from __future__ import annotations

import subprocess

import pytest

from .conftest import BUILD, EVERYTHING, TELLING

PROGRAM = BUILD / "ptx_tests"


def test_kernels_on_both_engines() -> None:
    if not PROGRAM.exists():
        pytest.skip(f"ptx_tests is not built in {BUILD}: there is no nvcc")
    flags = ["--conducts=all"] if EVERYTHING else [f"--gtest_filter={TELLING}"]
    done = subprocess.run(
        [str(PROGRAM), "--gtest_brief=1", *flags],
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    iterations = done.stdout.count("on ptx")
    assert iterations == (7 if EVERYTHING else 2)
