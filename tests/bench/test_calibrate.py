"""Calibration in a closed loop: the model of a device whose figures were all changed is run for the
rows that the rules name, and the rules find those figures again, starting from the unchanged file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.common import programs
from gpubench_reports.results import device_files
from gpubench_reports.results.reader import read
from gpubench_reports.rules import calibration

from .conftest import BUILD, ROOT, run

BASE = "h200-sxm"
TOLERANCE = 0.03
# Found by taking off the launch latency, whose error it takes over: how late a poll is differs by
# up to a call, and sixteen rows give its mean to 0.29 / 4 of that.
OF_A_DIFFERENCE = {"sync_host_seconds": 0.07}
# What each figure is multiplied by. Fetches are of 32, 64 or 128 bytes.
FACTORS = {
    "dram_fetch_bytes": 0.5,
    "kernel_floor_seconds": 1.2,
    "launch_stream_seconds": 1.1,
    "launch_graph_seconds": 0.85,
    "launch_programmatic_seconds": 1.25,
    "launch_host_seconds": 0.9,
    "launch_latency_seconds": 1.15,
    "sync_host_seconds": 0.84,
    "sync_block_host_seconds": 1.1,
    "pcie_h2d_bytes_per_second": 0.8,
    "pcie_d2h_bytes_per_second": 0.95,
    "pcie_latency_seconds": 1.21,
    "pageable_bytes_per_second": 1.12,
    "nvlink_bytes_per_second": 0.88,
    "nvlink_ring_bytes_per_second": 1.05,
    "nvlink_sharp_bytes_per_second": 1.18,
    "network_bytes_per_second": 0.83,
    "fp32_flops_per_clock_per_sm": 0.92,
    "fp64_flops_per_clock_per_sm": 1.08,
    "fp16x2_flops_per_clock_per_sm": 0.87,
    "bf16x2_flops_per_clock_per_sm": 0.81,
    "int32_ops_per_clock_per_sm": 1.22,
    "tensor_fp16_flops_per_clock_per_sm": 1.06,
    "tensor_bf16_flops_per_clock_per_sm": 0.94,
    "tensor_tf32_flops_per_clock_per_sm": 1.14,
    "tensor_fp8_flops_per_clock_per_sm": 0.86,
    "tensor_int8_flops_per_clock_per_sm": 1.17,
    "tensor_fp64_flops_per_clock_per_sm": 0.91,
    "mma_sync_efficiency": 1.13,
    "gemm_efficiency": 0.89,
    "gemm_unaligned_efficiency": 1.19,
    # Loads of words take as long by requests as by data: a faster unit would not be seen.
    "l1_bytes_per_clock_per_sm": 0.93,
    "global_requests_per_clock_per_sm": 0.82,
    "l1_tags_per_clock_per_sm": 1.16,
    "l1_latency_cycles": 1.24,
    "shared_bytes_per_clock_per_sm": 0.96,
    "shared_latency_cycles": 1.07,
    "fp32_latency_cycles": 1.23,
    "dsm_latency_cycles": 1.11,
    "dsm_bytes_per_clock_per_sm": 0.84,
    "dsm_crowded_bytes_per_clock_per_sm": 1.12,
    "cluster_barrier_cycles": 1.13,
    "l2_bytes_per_second": 1.09,
    "l2_latency_cycles": 0.89,
    "dram_latency_cycles": 1.2,
    "dram_read_efficiency": 0.85,
    "dram_write_efficiency": 0.97,
    "dram_mixed_efficiency": 0.9,
    "dram_jump_bytes": 1.3,
    "l2_fetch_bytes": 1.15,
    "l2_partial_write_bytes": 0.86,
    "block_turnaround_cycles": 1.16,
    "dram_queue_cycles": 0.82,
}
# What the model cannot give back, and the reason that the calibration states.
NOT_GIVEN_BACK = {
    "l2_far_latency_cycles": "the model has no clock inside a kernel",
    "tlb_reach_bytes": "no row memory_hierarchy/steps",  # the model's TLB maps everything
    "tensor_mxfp8_flops_per_clock_per_sm": "of compute capability 12.x alone",
    "tensor_fp4_flops_per_clock_per_sm": "of compute capability 12.x alone",
}


@pytest.fixture(scope="module")
def perturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result file of the changed device."""
    folder = tmp_path_factory.mktemp("calibration")
    device = json.loads((ROOT / f"harness/devices/{BASE}.json").read_text())
    for figure, factor in FACTORS.items():
        value = device["figures"][figure]["value"] * factor
        is_count = device_files.figure_rules()[figure].constraint == "count"
        device["figures"][figure]["value"] = round(value) if is_count else value
    device["name"] = "perturbed"
    (folder / "perturbed.json").write_text(json.dumps(device))
    result = folder / "result.json"
    # `steps` is a tenth of the time, and finds here only what is known to be absent.
    pattern = calibration.rules().pattern().replace("|memory_hierarchy/steps/size:8589934592", "")
    programs.run(
        BUILD / "gpubench",
        [
            f"--device=model:{folder / 'perturbed.json'}",
            "--suite=full",
            f"--benchmark_filter={pattern}",
            f"--benchmark_out={result}",
        ],
        "the closed loop",
    )
    return result


def figures_of(path: Path) -> dict[str, dict]:
    return json.loads(path.read_text())["figures"]


@pytest.mark.release
def test_every_figure_comes_back(perturbed: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "found.json"
    assert main(["calibrate", str(perturbed), "--from-model", "--base", BASE, "-o", str(out)]) == 0
    print(capsys.readouterr().out)
    true, found = figures_of(perturbed.parent / "perturbed.json"), figures_of(out)
    wrong = {
        figure: f"{found[figure]['value']:.4g}, must be {true[figure]['value']:.4g}"
        for figure in FACTORS
        if abs(found[figure]["value"] / true[figure]["value"] - 1)
        > OF_A_DIFFERENCE.get(figure, TOLERANCE)
    }
    assert not wrong
    same = set(true) - set(FACTORS)
    assert {figure: found[figure] for figure in same} == {figure: true[figure] for figure in same}


@pytest.mark.release
def test_all_figures_of_the_rules_are_tried_but_those_that_cannot_be(perturbed: Path) -> None:
    by = calibration.rules()
    assert {rule.figure for rule in by.rules} == set(FACTORS) | set(NOT_GIVEN_BACK)
    found = calibration.calibrate(read(perturbed), device_files.read_device(BASE), True, by)
    assert set(found.missed) == set(NOT_GIVEN_BACK)
    for figure, why in NOT_GIVEN_BACK.items():
        assert why in found.missed[figure]
    # Nothing rests on a figure that another rule should have given.
    assert not [one.figure for one in found.figures if one.from_base]


def test_every_row_that_a_rule_names_exists() -> None:
    listed = run("--device=model:h200-sxm", "--suite=full", "--benchmark_list_tests").stdout
    names = listed.splitlines()
    for rule in calibration.rules().rules:
        for pattern in (rule.rows, *rule.with_rows.values()):
            pattern = re.sub(r"\{\w+\}", "[^/]+", pattern)
            for branch in pattern.split("|") if "(" not in pattern else [pattern]:
                assert any(re.fullmatch(branch, name) for name in names), branch


@pytest.mark.release
def test_the_program_takes_what_was_written(perturbed: Path, tmp_path: Path) -> None:
    # As if measured: such rows have a clock, and the figures are marked as calibrated.
    document = json.loads(perturbed.read_text())
    document["context"] |= {"device_kind": "cuda", "driver_version": "580", "cuda_version": "13.0"}
    for row in document["benchmarks"]:
        row |= {"sm_clock_hz": 1.98e9, "converged": 1}
    measured = tmp_path / "measured.json"
    measured.write_text(json.dumps(document))
    out = tmp_path / "mine.json"
    assert main(["calibrate", str(measured), "--base", BASE, "--out", str(out)]) == 0
    assert {figures_of(out)[figure]["from"] for figure in FACTORS} == {"calibrated"}
    again = tmp_path / "again.json"
    row = "launch_overhead/empty_row/by:stream/launches:4096"
    done = run(f"--device=model:{out}", f"--benchmark_filter=^{row}$", f"--benchmark_out={again}")
    assert done.returncode == 0, done.stderr
    [spacing] = [line["spacing_seconds"] for line in json.loads(again.read_text())["benchmarks"]]
    stream = figures_of(ROOT / f"harness/devices/{BASE}.json")["launch_stream_seconds"]["value"]
    assert spacing == pytest.approx(stream * FACTORS["launch_stream_seconds"], rel=1e-3)


@pytest.mark.release
def test_the_page_tells_these_figures(perturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    assert main(["calibrate", str(perturbed), "--from-model", "--base", BASE, "-o", str(out)]) == 0
    original = figures_of(ROOT / f"harness/devices/{BASE}.json")
    columns = original, figures_of(perturbed.parent / "perturbed.json"), figures_of(out)
    page = (ROOT / "docs/calibrate.md").read_text()
    told = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \|", page, re.MULTILINE)
    assert len(told) > 10
    for figure, *cells in told:
        assert cells == [f"{column[figure]['value']:.4g}" for column in columns], figure
