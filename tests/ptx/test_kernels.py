"""The kernel tests on both engines and in every conduct: they pass, and count the same."""

from __future__ import annotations

import subprocess

import pytest

from .conftest import BUILD, OF_TCGEN05, TELLING, on_every_architecture

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


# Kernels of tcgen05, which the usual device skips.
def test_kernels_of_blackwell_on_both_engines() -> None:
    run(2, "--device=b200", f"--gtest_filter={OF_TCGEN05}")


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
