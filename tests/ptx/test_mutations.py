"""The PTX engine notices what is wrong: errors planted in PTX make a kernel's tests fail."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from .conftest import BUILD
from .mutations import MUTATIONS, Mutation

PROGRAM = BUILD / "ptx_tests"
PTX = BUILD / "tests/kernels/CMakeFiles"
# Built by scripts/test --all only (tests/kernels/CMakeLists.txt).
LATER = ("attention", "divergence", "clusters", "all_reduce_switch")
TELLING = [m for m in MUTATIONS if m.file not in LATER][::10]
CONTROLS = sorted({(m.file, m.tests, m.device) for m in MUTATIONS})
# One is enough where test_kernels.py runs the rest.
TELLING_CONTROL = min((m.file, m.tests, m.device) for m in TELLING)


def of_release(is_telling: bool) -> tuple[pytest.MarkDecorator, ...]:
    return () if is_telling else (pytest.mark.release,)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    if not PROGRAM.exists():
        pytest.skip(f"ptx_tests is not built in {BUILD}: there is no nvcc, or nobody asked for it")


def mutated(text: str, m: Mutation) -> str:
    """The module with the n-th match in the kernel replaced; all of them if n is negative."""
    entry = re.search(rf"\.entry \w*{m.kernel}\w*\(", text)
    assert entry is not None, f"no kernel {m.kernel}"
    end = (text + ".entry").index(".entry", entry.end())
    kernel = text[entry.start() : end]
    matches = list(re.finditer(m.pattern, kernel))
    assert len(matches) > m.n, f"{m.kernel} has {len(matches)} of {m.pattern}"
    for match in reversed(matches if m.n < 0 else [matches[m.n]]):
        kernel = kernel[: match.start()] + match.expand(m.instead) + kernel[match.end() :]
    return text[: entry.start()] + kernel + text[end:]


def run(folder: Path, tests: str, device: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            str(PROGRAM),
            f"--ptx={folder}",
            f"--device={device}",
            f"--gtest_filter={tests}",
            "--gtest_brief=1",
            *flags,
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def ptx_of(file: str, device: str) -> str:
    libraries = {
        "h200-sxm": ("kernel_tests_ptx", "kernel_tests_ptx_rest"),
        "b200": ("kernel_tests_ptx_tcgen05",),
        "rtx-5090": ("kernel_tests_ptx_block_scales",),
    }
    found = [PTX / f"{library}.dir/{file}_test.ptx" for library in libraries[device]]
    built = [path for path in found if path.exists()]
    assert len(built) == 1, f"{file}_test.ptx is not built in {PTX}"
    return built[0].read_text()


def test_none_has_got_lost() -> None:
    assert len(MUTATIONS) == 309
    assert len({(m.what, m.kernel) for m in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.parametrize(
    ("file", "tests", "device"),
    [pytest.param(*control, marks=of_release(control == TELLING_CONTROL)) for control in CONTROLS],
)
def test_without_an_error_all_is_well(file: str, tests: str, device: str, tmp_path: Path) -> None:
    (tmp_path / f"{file}.ptx").write_text(ptx_of(file, device))
    done = run(tmp_path, tests, device)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.release
def test_the_block_that_stops_its_cluster_is_named(tmp_path: Path) -> None:
    """And not the one that, stopped with it, has tensor memory left."""
    [m] = [m for m in MUTATIONS if m.what.startswith("no fence behind") and "pairE" in m.kernel]
    (tmp_path / f"{m.file}.ptx").write_text(mutated(ptx_of(m.file, m.device), m))
    done = run(tmp_path, m.tests, m.device)
    assert "an mbarrier without fence.mbarrier_init" in done.stdout + done.stderr


@pytest.mark.parametrize(
    "m",
    [
        pytest.param(m, id=f"{m.kernel}: {m.what}", marks=of_release(m in TELLING))
        for m in MUTATIONS
    ],
)
def test_an_error_is_noticed(m: Mutation, tmp_path: Path) -> None:
    (tmp_path / f"{m.file}.ptx").write_text(mutated(ptx_of(m.file, m.device), m))
    done = run(tmp_path, m.tests, m.device)
    if done.returncode == 0:  # some need another order
        done = run(tmp_path, m.tests, m.device, "--conducts=all")
    assert done.returncode == 1, f"nobody noticed: {m}"
    assert "FAILED" in done.stdout
