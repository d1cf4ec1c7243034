"""A concept is a pair of files: copied under a new name, it builds, runs and charts unasked."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from .conftest import ROOT, run


def command(*words: str | Path, cwd: Path | None = None) -> None:
    done = subprocess.run(
        [str(w) for w in words], cwd=cwd, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def copy_of_the_tree(to: Path) -> Path:
    tree = to / "gpubench"
    tree.mkdir()
    for part in ("CMakeLists.txt", "bench", "kernels", "harness", "labs"):
        source = ROOT / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tree / part)
    return tree


def test_a_copied_pair_needs_no_other_edit(tmp_path: Path) -> None:
    tree = copy_of_the_tree(tmp_path)
    # Only the new concept: the others are other tests' business, and cost their compilation.
    for pair in ((tree / "bench").glob("*.cu"), (tree / "kernels").glob("*.cuh")):
        for file in pair:
            if file.stem == "coalescing":
                text = file.read_text().replace("coalescing", "gathering")
                (file.parent / f"gathering{file.suffix}").write_text(text)
            file.unlink()
    build = tmp_path / "build"
    command(
        "cmake",
        "-S",
        tree,
        "-B",
        build,
        "-G",
        "Ninja",
        "-DGPUBENCH_CUDA=OFF",
        "-DGPUBENCH_TESTS=OFF",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG",  # compiles in half the time
    )
    command("cmake", "--build", build, "--target", "gpubench")

    out = tmp_path / "run.json"
    done = run("--device=model:h200-sxm", f"--benchmark_out={out}", build=build)
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())["benchmarks"]
    assert {row["concept"] for row in rows} == {"gathering"}
    assert all(row["verified"] for row in rows)
    law = [row for row in rows if "law_ratio" in row]
    assert law
    assert all(abs(row["law_ratio"] - 1) <= 0.25 for row in law)

    charts = tmp_path / "charts"
    command(sys.executable, "-m", "gpubench_reports", "render", out, "--out", charts)
    assert [path for path in charts.iterdir() if "gathering" in path.name]


def test_a_bench_file_without_kernels_stops_the_build(tmp_path: Path) -> None:
    tree = copy_of_the_tree(tmp_path)
    (tree / "bench" / "lonely.cu").write_text('#include "harness/bench.hpp"\n')
    done = subprocess.run(
        [
            "cmake",
            "-S",
            str(tree),
            "-B",
            str(tmp_path / "build"),
            "-G",
            "Ninja",
            "-DGPUBENCH_CUDA=OFF",
            "-DGPUBENCH_TESTS=OFF",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert "kernels/lonely.cuh" in done.stderr
