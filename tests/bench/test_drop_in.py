"""A concept is a pair of files: copied under a new name, it builds, runs and charts unasked."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import BUILD, ROOT, run


def succeeded(*words: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(w) for w in words], cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "gpubench"
    tree.mkdir()
    for part in ("CMakeLists.txt", "LICENSE", "bench", "kernels", "harness", "labs", "packaging"):
        source = ROOT / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tree / part)
    return tree


def configure(tree: Path, build: Path) -> list[str]:
    flags = ["-DGPUBENCH_CUDA=OFF", "-DGPUBENCH_TESTS=OFF"]
    return ["cmake", "-S", str(tree), "-B", str(build), "-G", "Ninja", *flags]


def build_new_file(build: Path, name: str) -> None:
    """What `ninja gpubench` would do in `build`, but for what BUILD has already: the object files
    of all that is not new, and the precompiled headers."""
    lines = succeeded("ninja", "-C", build, "-t", "commands", "gpubench-model").splitlines()
    [compilation] = [line for line in lines if f"bench/{name}.cu.o -c" in line]
    words = shlex.split(compilation.replace(f" {build}/", f" {BUILD}/"))
    made = words[words.index("-o") + 1]
    (build / made).parent.mkdir(parents=True, exist_ok=True)
    succeeded(*words, cwd=build)

    link = shlex.split(lines[-1].removeprefix(": && ").removesuffix(" && :"))
    assert made in link
    link = [str(build / word) if word in (made, "gpubench-model") else word for word in link]
    succeeded(*link, cwd=BUILD)
    shutil.copy(BUILD / "gpubench", build)


def test_a_copied_pair_needs_no_other_edit(tree: Path, tmp_path: Path) -> None:
    for file in (tree / "bench/embedding.cu", tree / "kernels/embedding.cuh"):
        text = file.read_text().replace("embedding", "gathering")
        file.with_stem("gathering").write_text(text)
    build = tmp_path / "build"
    succeeded(*configure(tree, build))
    build_new_file(build, "gathering")

    def names(where: Path) -> list[str]:
        return run("--benchmark_list_tests", "--suite=full", build=where).stdout.split()

    before = names(BUILD)
    copied = [n.replace("embedding", "gathering") for n in before if n.startswith("embedding/")]
    assert sorted(names(build)) == sorted(before + copied)

    out = tmp_path / "run.json"
    flags = ("--device=model:h200-sxm", "--benchmark_filter=^gathering/")
    done = run(*flags, f"--benchmark_out={out}", build=build)
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())["benchmarks"]
    assert {row["concept"] for row in rows} == {"gathering"}
    assert all(row["verified"] for row in rows)
    law = [row for row in rows if "law_ratio" in row]
    assert law
    assert all(abs(row["law_ratio"] - 1) <= 0.25 for row in law)

    charts = tmp_path / "charts"
    succeeded(sys.executable, "-m", "gpubench_reports", "render", out, "--out", charts)
    assert [path for path in charts.iterdir() if "gathering" in path.name]


POINTS_KERNEL = """// points: structs, copied.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstring>

namespace points {

struct Point {
  double x, y, z;
};

__global__ void by_struct(const float* in, float* out) {
  const auto* const from = reinterpret_cast<const Point*>(in);
  reinterpret_cast<Point*>(out)[blockIdx.x * 256 + threadIdx.x] =
      from[blockIdx.x * 256 + threadIdx.x];
}
__global__ void by_word(const float* in, float* out) {
  for (unsigned i = threadIdx.x; i < 6 * 256; i += 256) {
    out[blockIdx.x * 6 * 256 + i] = in[blockIdx.x * 6 * 256 + i];
  }
}

}  // namespace points
"""
POINTS_BENCH = """// points: what does it cost to copy structs?
//
// Expected  As much as words.
// Units     none.
// Confirm   ncu --metrics dram__bytes.sum
#include "kernels/points.cuh"

#include "harness/bench/bench.hpp"

namespace {

constexpr std::size_t n = std::size_t{6} << 16;

template <class Kernel>
void copy(Bench& bench, Kernel kernel) {
  const auto in = bench.input<float>(n);
  const auto out = bench.output<float>(n);
  bench.verify(out, in.values());
  bench.work({.useful_bytes = 2.0 * n * sizeof(float)});
  bench.run([&](cudaStream_t stream) {
    launch(kernel, n / 6 / 256, 256, 0, stream, in.data(), out.data());
  });
}
void by_struct(Bench& bench) { copy(bench, points::by_struct); }
void by_word(Bench& bench) { copy(bench, points::by_word); }
GPU_BENCHMARK(points, by_struct);
GPU_BENCHMARK(points, by_word);

}  // namespace
"""


@pytest.mark.release
def test_counts_of_copied_structs_are_said_to_be_a_guess(tree: Path, tmp_path: Path) -> None:
    (tree / "kernels/points.cuh").write_text(POINTS_KERNEL)
    (tree / "bench/points.cu").write_text(POINTS_BENCH)
    build = tmp_path / "build"
    succeeded(*configure(tree, build))
    build_new_file(build, "points")
    out = tmp_path / "run.json"
    flags = ("--device=model:h200-sxm", "--benchmark_filter=^points/", f"--benchmark_out={out}")
    done = run(*flags, build=build)
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(out.read_text())["benchmarks"]}
    assert "nvcc copies by alignment" in rows["points/by_struct"]["counts"]
    assert "counts" not in rows["points/by_word"]


def test_a_bench_file_without_kernels_stops_the_build(tree: Path, tmp_path: Path) -> None:
    (tree / "bench" / "lonely.cu").write_text('#include "harness/bench/bench.hpp"\n')
    done = subprocess.run(
        configure(tree, tmp_path / "build"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert "kernels/lonely.cuh" in done.stderr
