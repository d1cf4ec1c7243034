"""An installation in a fresh prefix, moved, where checkout and build are not to be seen."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import ROOT, run_hidden

BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))
HIDDEN = [ROOT / name for name in ("bench", "harness", "kernels", "labs", "docs")]
ROW = "coalescing/strided_read/stride:4"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if not (BUILD / "gpubench-model").exists() or not (BUILD / "gpubench").exists():
        pytest.skip(f"gpubench is not built in {BUILD}")
    where = tmp_path_factory.mktemp("prefix")
    subprocess.run(
        ["cmake", "--install", BUILD, "--prefix", where / "first"],
        check=True,
        capture_output=True,
        timeout=300,
    )
    yield Path((where / "first").rename(where / "moved"))
    shutil.rmtree(where)  # 400 MB, and pytest would keep it


def run_installed(prefix: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_hidden([*HIDDEN, BUILD], [prefix / "bin/gpubench", *words], prefix)


def test_version_says_where_the_program_came_from_and_where_its_files_are(prefix: Path) -> None:
    done = run_installed(prefix, "--version")
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.splitlines()
    assert re.fullmatch(r"gpubench \d+\.\d+\.\d+, commit \w+( \(modified\))?, GNU .*", first)
    said = {key: value.strip() for key, _, value in (line.partition(":") for line in others)}
    assert set(said) == {"from", "program", "kernels", "devices", "labs"}
    assert said["program"] == str(prefix / "bin/gpubench-model")
    assert (Path(said["kernels"]) / "coalescing.cuh").exists()
    assert (Path(said["devices"]) / "h200-sxm.json").exists()
    assert (Path(said["labs"]) / "01-coalescing/solution.cuh").exists()
    assert all(Path(said[key]).is_relative_to(prefix) for key in ("kernels", "devices", "labs"))


def test_a_moved_installation_models_and_explains(prefix: Path) -> None:
    done = run_installed(prefix, "--device=model:h200-sxm", f"--explain={ROW}")
    assert done.returncode == 0, done.stderr
    [where] = re.findall(r"^  (coalescing\.cuh:\d+): load", done.stdout, re.MULTILINE)
    [kernels] = re.findall(r"^kernels: (.*)$", done.stdout, re.MULTILINE)
    file, _, line = where.partition(":")
    assert "[" in (Path(kernels) / file).read_text().splitlines()[int(line) - 1]


def test_a_program_elsewhere_asks_the_environment(prefix: Path, tmp_path: Path) -> None:
    program = tmp_path / "gpubench-model"
    shutil.copy(prefix / "bin/gpubench-model", program)

    def version(**environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, "--version"],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    assert "kernels:" not in version().stdout
    assert (
        f"kernels: {prefix}/include/gpubench/kernels\n" in version(GPUBENCH_ROOT=str(prefix)).stdout
    )
    wrong = version(GPUBENCH_ROOT=str(tmp_path))
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith(f"gpubench: GPUBENCH_ROOT='{tmp_path}': ")


def test_the_course_of_an_installation_has_what_its_pages_and_notebooks_show(
    prefix: Path, tmp_path: Path
) -> None:
    course = prefix / "share/gpubench/course"
    pages = [*course.glob("labs/README.md"), *course.glob("labs/*/README.md")]
    assert len(pages) > 12
    for page in pages:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
            assert "://" in link or (page.parent / link).exists(), f"{page}: {link}"
    checker = ["env", f"PYTHONPATH={course / 'labs'}", sys.executable, "-m", "checker"]
    for page in pages[1:]:
        number = page.parent.name[:2]
        words = ["notebook", number, f"--out={tmp_path / number}.ipynb"]
        done = run_hidden([*HIDDEN, BUILD], [*checker, *words], tmp_path)
        assert done.returncode == 0, done.stderr


@pytest.mark.release  # compiles a lab's checker
def test_the_labs_of_an_installation_check_a_solution(prefix: Path, tmp_path: Path) -> None:
    course = Path(shutil.copytree(prefix / "share/gpubench/course", tmp_path / "course"))
    lab = course / "labs/01-coalescing"
    for name in ("solution.cuh", "answers.toml"):
        shutil.copy(lab / "reference" / name, lab / name)
    done = subprocess.run(
        [course / "scripts/lab", "01", "--device=model:h200-sxm"],
        env={**os.environ, "PATH": f"{prefix}/bin:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=580,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.release  # builds everything once more, without the machine's own libraries
def test_the_archive_needs_no_library_of_ours(tmp_path: Path) -> None:
    if not (ROOT / ".offline/benchmark").exists():
        pytest.skip("there is no .offline/: scripts/bundle-offline makes one")
    build = ROOT / "build-package"
    for words in (
        ["cmake", "--preset", "package", "-DGPUBENCH_CUDA=OFF"],
        ["cmake", "--build", build],
        ["cpack", "-G", "TGZ", "--config", build / "CPackConfig.cmake", "-B", tmp_path],
    ):
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    [archive] = tmp_path.glob("*-linux-*.tar.gz")
    subprocess.run(["tar", "-xzf", archive, "-C", tmp_path], check=True)
    prefix = archive.with_name(archive.name.removesuffix(".tar.gz"))
    shared = subprocess.run(
        ["ldd", prefix / "bin/gpubench-model"], capture_output=True, text=True, check=True
    ).stdout
    assert not re.search(r"libbenchmark|libstdc\+\+|libmpi", shared)
    done = run_hidden(
        [*HIDDEN, build, Path("/usr/include")],
        [prefix / "bin/gpubench", "--device=model:h200-sxm", f"--benchmark_filter=^{ROW}$"],
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert ROW in done.stdout


def test_all_say_the_same_version() -> None:
    project = tomllib.loads((ROOT / "reports/pyproject.toml").read_text())["project"]["version"]
    for file, pattern in (
        ("CMakeLists.txt", r"project\(gpubench VERSION ([\d.]+) "),
        ("reports/gpubench_reports/__init__.py", r'__version__ = "([\d.]+)"'),
        ("packaging/conda/recipe.yaml", r'version: "([\d.]+)"'),
        (
            "packaging/spack/spack_repo/gpubench/packages/gpubench/package.py",
            r'version\("([\d.]+)", branch="main"\)',
        ),
        ("CHANGELOG.md", r"(?ms)\A.*?^## \[([\d.]+)\]"),  # the latest
    ):
        assert re.findall(pattern, (ROOT / file).read_text()) == [project], file
