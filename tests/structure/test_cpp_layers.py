"""Includes point one way: a file may include its own folder's headers and those of folders below.

The order is harness/README.md's. A header named without its folder ("warp_mma.hpp") is the device
vocabulary, of which each platform has its own.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# From the bottom up. A folder may include those above it in this list, and none below.
LAYERS = [
    "harness/system",
    "harness/devices",
    "harness/statistics",
    "harness/evidence",
    "harness/records",
    "harness/cuda",
    "harness/contents",
    "harness/platform/include",
    "harness/platform",
    "harness/platform/gpu/include",
    "harness/platform/gpu/contents",
    "harness/platform/gpu",
    "harness/platform/model/include",
    "harness/platform/model/include/cooperative_groups",
    "harness/platform/model/conditions",
    "harness/platform/model/memory",
    "harness/platform/model/launch",
    "harness/platform/model/compiled",
    "harness/platform/model/emulator",
    "harness/platform/model/ptx",
    "harness/platform/model/time",
    "harness/platform/model/engine",
    "harness/platform/model/runtime",
    "harness/platform/model/collectives",
    "harness/platform/model/gemm",
    "harness/platform/model/contents",
    "harness/platform/model/rate",
    "harness/platform/model",
    "harness/timing",
    "harness/platform/model/truth",
    "kernels/common",
    "kernels/attention",
    "kernels/bank_conflicts",
    "kernels/gemm_batch",
    "kernels/gemm_ladder",
    "kernels/precision",
    "kernels",
    "kernels/all_reduce",
    "kernels/compute_peak",
    "kernels/clusters",
    "kernels/training_step",
    "harness/bench",
    "harness/bench/all_reduce",
    "harness/bench/async_copy",
    "harness/bench/attention",
    "harness/bench/bank_conflicts",
    "harness/bench/coalescing",
    "harness/bench/compute_peak",
    "harness/bench/training",
    "harness/bench/gemm_batch",
    "harness/bench/precision",
    "harness/platform/model/audit",
    "harness/program",
    "harness/launcher",
    "bench",
]
# Whose headers are found by their bare names: the words a kernel may use beside CUDA's own.
VOCABULARY = (
    "harness/platform/include",
    "harness/platform/gpu/include",
    "harness/platform/model/include",
)
CONTENTS = ("harness/platform/gpu/contents", "harness/platform/model/contents")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
SOURCES = {".hpp", ".cpp", ".h", ".cu", ".cuh"}


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def includes(root: Path, file: Path) -> list[tuple[int, str]]:
    lines = file.read_text().splitlines()
    found = ((n, INCLUDE.match(line)) for n, line in enumerate(lines, 1))
    return [(n, match.group(1)) for n, match in found if match]


def bare_name_folders(root: Path, name: str) -> list[str]:
    return [f for f in VOCABULARY + CONTENTS if (root / f / name).is_file()]


def violations(root: Path) -> list[str]:
    """Every include that points up, "file:line includes header", under `root`."""
    rank = {folder: i for i, folder in enumerate(LAYERS)}
    wrong = []
    files = [f for top in ("harness", "kernels", "bench") for f in sorted((root / top).rglob("*"))]
    for file in (f for f in files if f.suffix in SOURCES):
        path = file.relative_to(root).as_posix()
        own = folder_of(path)
        if own not in rank:
            wrong.append(f"{path}: its folder {own} has no place in LAYERS")
            continue
        for line, header in includes(root, file):
            if "/" in header and not (root / own / header).is_file():
                theirs = [folder_of(header)]
            else:
                theirs = bare_name_folders(root, header) or [own]
            # A header that each platform has may be read wherever one of the two may.
            reachable = [t for t in theirs if t in rank and rank[t] <= rank[own]]
            if not reachable:
                wrong.append(f'{path}:{line} includes "{header}", which stands above {own}')
            elif own.startswith("kernels") and not (
                header.startswith("kernels/") or any(t in VOCABULARY for t in theirs)
            ):
                wrong.append(f'{path}:{line} includes "{header}", which is not CUDA\'s vocabulary')
    return wrong


def test_every_include_points_down():
    assert violations(ROOT) == []


def test_each_platform_speaks_the_same_vocabulary():
    """What a kernel includes by a bare name has an answer on both platforms, or one for both."""
    for pair in (VOCABULARY[1:], CONTENTS):
        gpu, model = ({f.name for f in (ROOT / folder).glob("*.hpp")} for folder in pair)
        assert gpu == model, f"{gpu ^ model} is on one platform only"


@pytest.fixture
def tree(tmp_path):
    def add(path: str, text: str) -> Path:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        return tmp_path

    return add


def test_an_include_that_points_up_is_named_with_its_line(tree):
    tree("harness/program/options.hpp", "")
    root = tree(
        "harness/timing/timer.cpp", '#include <vector>\n#include "harness/program/options.hpp"\n'
    )
    assert violations(root) == [
        'harness/timing/timer.cpp:2 includes "harness/program/options.hpp", '
        "which stands above harness/timing"
    ]


def test_a_kernel_may_not_include_the_harness(tree):
    tree("harness/contents/random.hpp", "")
    root = tree("kernels/stream.cuh", '#include "harness/contents/random.hpp"\n')
    assert violations(root) == [
        'kernels/stream.cuh:1 includes "harness/contents/random.hpp", '
        "which is not CUDA's vocabulary"
    ]


def test_a_new_folder_needs_a_place_in_the_order(tree):
    root = tree("harness/helpers/all.hpp", "")
    assert violations(root) == [
        "harness/helpers/all.hpp: its folder harness/helpers has no place in LAYERS"
    ]
