"""Concepts outside the tree: the example project against an installed package, and --concepts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))
EXAMPLE = ROOT / "packaging/example"


def done(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(w) for w in words], capture_output=True, text=True, timeout=500, check=False
    )


def succeeded(*words: str | Path) -> str:
    result = done(*words)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    return result.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (BUILD / "gpubench-model").exists():
        pytest.skip(f"gpubench-model is not built in {BUILD}")
    where = tmp_path_factory.mktemp("installed")
    succeeded("cmake", "--install", BUILD, "--prefix", where / "first")
    (where / "first").rename(where / "moved")
    return where / "moved"


def configure(project: Path, prefix: Path) -> subprocess.CompletedProcess[str]:
    return done("cmake", "-S", project, "-B", project / "build", f"-Dgpubench_ROOT={prefix}")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "project"))


@pytest.mark.release
def test_a_project_of_ones_own_has_the_suite_and_its_own_rows(project: Path, prefix: Path) -> None:
    configured = configure(project, prefix)
    assert configured.returncode == 0, configured.stderr
    succeeded("cmake", "--build", project / "build")
    program = project / "build/my-bench"

    names = succeeded(program, "--device=model:h200-sxm", "--benchmark_list_tests").split()
    assert {"stencil/sum/radius:1", "coalescing/strided_read/stride:1"} <= set(names)

    out = project / "run.json"
    succeeded(
        program,
        "--device=model:h200-sxm",
        "--benchmark_filter=^stencil/",
        f"--benchmark_out={out}",
    )
    file = json.loads(out.read_text())
    question = "how wide can a stencil be before it costs more than a copy?"
    assert file["context"]["concepts"] == {"stencil": question}
    rows = {row["name"]: row for row in file["benchmarks"]}
    assert all(row["verified"] and abs(row["law_ratio"] - 1) <= 0.15 for row in rows.values())
    assert rows["stencil/sum/radius:1"]["label"] == "dram"
    assert rows["stencil/sum/radius:32"]["label"] == "l1"

    page = project / "page.html"
    succeeded(sys.executable, "-m", "gpubench_reports", "html", out, "--out", page)
    assert question in page.read_text().lower()


@pytest.mark.release
def test_a_project_with_cuda_has_both_halves(project: Path, prefix: Path) -> None:
    if not (prefix / "bin/gpubench-cuda").exists():
        pytest.skip("gpubench was built without nvcc")
    lists = project / "CMakeLists.txt"
    lists.write_text(lists.read_text().replace("LANGUAGES CXX)", "LANGUAGES CXX CUDA)"))
    configured = configure(project, prefix)
    assert configured.returncode == 0, configured.stderr
    succeeded("cmake", "--build", project / "build")
    for half in ("model", "cuda"):
        assert (project / f"build/my-bench-{half}").exists()


def test_a_project_may_have_warnings(prefix: Path) -> None:
    """Also with an installation made of a build that may not, as CI's."""
    targets = (prefix / "lib/cmake/gpubench/gpubench-targets.cmake").read_text()
    assert "-Wall" in targets
    assert "-Werror" not in targets


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda p: (p / "kernels/stencil.cuh").unlink(), "has no kernels/stencil.cuh"),
        (lambda p: shutil.rmtree(p / "bench"), "there is no bench/NAME.cu in it"),
        (
            lambda p: [
                (p / "bench/stencil.cu").rename(p / "bench/stream.cu"),
                (p / "kernels/stencil.cuh").rename(p / "kernels/stream.cuh"),
            ],
            "there is a concept of this name: stream.cu",
        ),
    ],
)
def test_a_mistake_stops_the_project(project: Path, prefix: Path, change, complaint: str) -> None:
    change(project)
    configured = configure(project, prefix)
    assert configured.returncode != 0
    assert complaint in " ".join(configured.stderr.split())


def test_a_checkout_builds_a_folder_beside_the_suite(tmp_path: Path) -> None:
    flags = ("-DGPUBENCH_CUDA=OFF", "-DGPUBENCH_TESTS=OFF", "-G", "Ninja")
    folder = f"-DGPUBENCH_CONCEPT_FOLDERS={EXAMPLE}"
    succeeded("cmake", "-S", ROOT, "-B", tmp_path, *flags, folder)
    commands = succeeded("ninja", "-C", tmp_path, "-t", "commands", "gpubench-model")
    assert str(EXAMPLE / "bench/stencil.cu") in commands
    assert str(ROOT / "bench/coalescing.cu") in commands


def test_scripts_bench_refuses_what_is_no_folder_of_concepts(tmp_path: Path) -> None:
    result = done(ROOT / "scripts/bench", f"--concepts={tmp_path}")
    assert result.returncode == 1
    [line] = result.stderr.splitlines()
    assert str(tmp_path) in line
    assert "bench/NAME.cu" in line
