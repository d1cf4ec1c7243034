"""The points that the model was not developed with: they set no figure, and are in no other set."""

from __future__ import annotations

import json
import re

import pytest

from gpubench_reports.common.units import si
from gpubench_reports.comparisons.points import Point, read_points

from .test_published import PAGES, POINTS, ROOT, UNSEEN, block_of

MEMORY = ("dram_mixed_", "dram_read_", "dram_write_")
# The figures of a device file that limit a concept's rows.
LIMITS = {
    "all_reduce": ("nvlink_ring_", "nvlink_sharp_", "network_"),
    "attention": ("mma_sync_", "tensor_", "sfu_"),
    "coalescing": (*MEMORY, "l1_", "l2_", "global_"),
    "compute_peak": ("fp32_flops_", "fp64_", "int32_", "tensor_"),
    "fusion": (*MEMORY, "kernel_floor_"),
    "gemm_batch": (*MEMORY, "gemm_", "tensor_"),
    "gemm_ladder": ("gemm_", "tensor_", "fp32_flops_"),
    "memory_hierarchy": ("dram_latency_", "l1_", "l2_"),
    "normalization": MEMORY,
    "precision": ("gemm_", "tensor_"),
    "stream": MEMORY,
    "transfer": ("pcie_",),
    "transpose": MEMORY,
}


def same_publication(source: str, cited: str) -> bool:
    """Whether a device file's source names the publication: its repository, and its issue or
    file if it names any."""
    repository, *place = source.split(" at ")[0].split()
    name = " ".join(place[-2:]) if place[-1].isdigit() else place[-1].rpartition("/")[2]
    of_all = rf"{re.escape(repository)}( @\w+)?(?![\w/-]| @| issue| pull|,? \S*[/.]\w)"
    return re.search(rf"{of_all}|{re.escape(repository)}.*\b{re.escape(name)}\b", cited) is not None


@pytest.fixture(scope="module")
def unseen() -> list[Point]:
    return read_points(UNSEEN)


def test_each_is_compared_and_called_predicted(unseen: list[Point]) -> None:
    assert [point.what for point in unseen if point.fitted or not point.row] == []


def test_the_page_has_a_line_for_each(unseen: list[Point]) -> None:
    lines = block_of(PAGES[UNSEEN]).splitlines()[2:]
    starts = [
        f"| {point.device} | [{point.what}]({point.url}) | {si(point.value, point.unit)} |"
        for point in unseen
    ]
    assert len(lines) == len(starts)
    assert [s for s, line in zip(starts, lines, strict=True) if not line.startswith(s)] == []


def test_none_is_where_its_device_file_has_a_figure_from_that_limits_it(
    unseen: list[Point],
) -> None:
    compared, found = 0, []
    for point in unseen:
        device = json.loads((ROOT / f"harness/devices/{point.device}.json").read_text())
        for name, figure in device["figures"].items():
            if not name.startswith(LIMITS[point.row.partition("/")[0]]):
                continue
            cited = device["sources"].get(figure["source"], figure["source"])
            compared += 1
            if same_publication(point.source, cited):
                found.append(f"{name} of {point.device}: {point.what}, {point.source}")
    assert found == []
    assert compared > len(unseen)


def test_a_publication_is_found_in_what_a_device_file_cites() -> None:
    cited = "markdewing/AI_kernels @d916a39, latency/data/5090.dat: chase by index"
    assert same_publication("markdewing/AI_kernels latency/data/5090.dat", cited)
    assert not same_publication("markdewing/AI_kernels latency/data/4090.dat", cited)
    assert same_publication("NVIDIA/cccl pull request 9881", "NVIDIA/cccl pull request 9881: CUB")
    assert not same_publication("NVIDIA/cccl pull request 81", "NVIDIA/cccl pull request 9881")
    assert not same_publication("a/b issue 96", "a/b issue 200, of n = 4096")
    assert same_publication("a/b matmul/README.md", "177.1 at n = 4096 in a/b @1454f8b")


def test_none_is_among_the_points_that_were_known(unseen: list[Point]) -> None:
    known = read_points(POINTS)
    again = [
        point.what
        for point in unseen
        for other in known
        if (point.device, point.row, point.quantity) == (other.device, other.row, other.quantity)
        and point.value == pytest.approx(other.value, rel=1e-3)
    ]
    assert again == []


def test_other_pages_give_the_figures_of_this_one() -> None:
    page = PAGES[UNSEEN].read_text()
    total = re.search(r"^\| all \| (\d+) \| ([\d.]+ %) \| .*? \| (\d+) \|", page, re.MULTILINE)
    met = re.search(r"MAPE was ([\d.]+ %), and (\d+) of the (\d+) were within", page)
    assert total
    assert met
    points, mape, within = total.groups()
    assert met[3] == points
    other = " ".join(PAGES[POINTS].read_text().split())
    assert f"on [{points} points" in other
    assert f"the MAPE was {met[1]} when they were first met, and {met[2]} were within 25 %" in other
    assert f"it is {mape} today, and {within} are" in other
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"On {points} that we did not, MAPE was [{met[1]}](docs/model-unseen.md)" in readme
