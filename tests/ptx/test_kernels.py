"""The kernel tests on both engines and in every conduct: they pass, and count the same."""

from __future__ import annotations

import subprocess

import pytest

from .conftest import BUILD, OF_BLOCK_SCALES, OF_TCGEN05, TELLING, on_every_architecture

PROGRAM = BUILD / "ptx_tests"


@pytest.mark.parametrize(
    ("flag", "conducts"),
    [
        pytest.param(f"--gtest_filter={TELLING}", 2, id="telling"),
        pytest.param("--conducts=all", 7, id="all", marks=pytest.mark.release),
    ],
)
def test_kernels_on_both_engines(flag: str, conducts: int) -> None:
    run(conducts, flag)


# Kernels of tcgen05 and those with block scales, which the usual device skips.
@pytest.mark.parametrize(("device", "tests"), [("b200", OF_TCGEN05), ("rtx-5090", OF_BLOCK_SCALES)])
def test_kernels_of_blackwell_on_both_engines(device: str, tests: str) -> None:
    run(2, f"--device={device}", f"--gtest_filter={tests}")


@pytest.mark.release
@on_every_architecture
def test_kernels_of_every_architecture_on_both_engines(device: str) -> None:
    run(7, f"--device={device}", "--conducts=all")


def run(conducts: int, *flags: str) -> None:
    if not PROGRAM.exists():
        pytest.skip(f"ptx_tests is not built in {BUILD}: there is no nvcc")
    done = subprocess.run(
        [str(PROGRAM), "--gtest_brief=1", *flags],
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert done.stdout.count("on ptx") == conducts
