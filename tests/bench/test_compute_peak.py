"""Every unit at its rate, on every device that the model runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import RowsOfConcept, figures, rows_of

DEVICES = [
    *("h200-sxm", "a100-80-sxm", "b200", "rtx-4090"),
    *(pytest.param(name, marks=pytest.mark.release) for name in ("h100-sxm", "l40s")),
]
LEAST = 0.98
# Each generation's own instruction of the Tensor Cores.
OF_GENERATION = {"h200-sxm": "wgmma", "h100-sxm": "wgmma", "b200": "tcgen05"}


@pytest.fixture(scope="module", params=DEVICES)
def run(
    request: pytest.FixtureRequest, rows_of_concept: RowsOfConcept
) -> tuple[str, dict[str, dict]]:
    rows = rows_of_concept("compute_peak", request.param)
    assert not [name for name, row in rows.items() if row.get("error_occurred")]
    return request.param, rows


def test_every_unit_reaches_its_clock_times_its_rate(run: tuple[str, dict[str, dict]]) -> None:
    device, rows = run
    figure = figures(device)
    an_sm_second = figure["sm_count"] * figure["sm_clock_hz"]
    for name, row in rows.items():
        if row.get("skipped"):
            continue
        dtype = row["arguments"]["dtype"]
        rate = {
            "fma": f"{dtype}_flops_per_clock_per_sm",
            "mma": f"tensor_{dtype}_flops_per_clock_per_sm",
            "wgmma": f"tensor_{dtype}_flops_per_clock_per_sm",
            "tcgen05": f"tensor_{dtype}_flops_per_clock_per_sm",
        }[row["kernel"]]
        peak = figure["int32_ops_per_clock_per_sm" if dtype == "int32" else rate] * an_sm_second
        if row["kernel"] == "mma" and dtype != "fp64":
            peak *= figure["mma_sync_efficiency"]
        assert LEAST < row["flops_per_second"] / peak <= 1, name
        assert row["label"] == ("tensor" if row["kernel"] != "fma" else dtype), name
        assert row["law_ratio"] == pytest.approx(row["flops_per_second"] / peak), name


def test_what_a_device_lacks_is_skipped(run: tuple[str, dict[str, dict]]) -> None:
    device, rows = run
    assert not [n for n, r in rows.items() if r.get("kernel") == "fma" and r.get("skipped")]
    own = OF_GENERATION.get(device)
    for name, row in rows.items():
        if row["kernel"] in ("wgmma", "tcgen05"):
            assert bool(row.get("skipped")) == (row["kernel"] != own), name
    assert rows["compute_peak/mma/dtype:fp8"].get("skipped", False) == (
        device not in ("l40s", "rtx-4090")
    )


@pytest.mark.parametrize("device", ["h200-sxm", "b200"])
def test_the_fastest_instruction_is_the_roof(device: str, rows_of_concept: RowsOfConcept) -> None:
    rows = rows_of_concept("compute_peak", device)
    best = rows[f"compute_peak/{OF_GENERATION[device]}/dtype:bf16"]
    assert best["roof_fraction"] == pytest.approx(1)
    share = figures(device)["mma_sync_efficiency"]
    # Where no row by the faster one has run, the roof is the device file's.
    for dtype in ("bf16", "fp16", "tf32", "int8"):
        row = rows[f"compute_peak/mma/dtype:{dtype}"]
        assert row["roof_fraction"] == pytest.approx(share, rel=0.02), dtype


def test_each_type_is_a_multiple_of_bf16_and_nearly_all_run_every_day(daily: list[str]) -> None:
    found = rows_of(
        "--device=model:b200", "--suite=full", "--benchmark_filter=^compute_peak/tcgen05/"
    )
    assert not [name for name, row in found.items() if row.get("skipped")]
    rate = {row["arguments"]["dtype"]: row["flops_per_second"] for row in found.values()}
    assert rate["fp16"] == pytest.approx(rate["bf16"])
    assert rate["tf32"] == pytest.approx(rate["bf16"] / 2)
    assert rate["int8"] == pytest.approx(rate["fp8"])
    assert rate["mxfp8"] == pytest.approx(rate["fp8"], rel=0.02)
    assert rate["nvfp4"] == pytest.approx(2 * rate["fp8"], rel=0.02)
    every_day = rate.keys() - {"mxfp8", "nvfp4"}
    assert every_day == {"bf16", "fp8", "fp16", "tf32", "int8"}
    assert {name for name in daily if name.startswith(("compute_peak/wg", "compute_peak/tc"))} == {
        f"compute_peak/{kernel}/dtype:{t}" for kernel in ("wgmma", "tcgen05") for t in every_day
    }


@pytest.mark.release
@pytest.mark.parametrize("device", ["b200", "b300"])
def test_a_pair_of_sms_has_the_rate_of_two(device: str, daily: list[str]) -> None:
    found = rows_of(
        f"--device=model:{device}",
        "--suite=full",
        "--benchmark_filter=^compute_peak/tcgen05(_pair)?/",
    )
    figure = figures(device)
    rows = [row for row in found.values() if row["kernel"] == "tcgen05_pair"]
    assert len(rows) == 7
    assert not [row["name"] for row in rows if row["name"] in daily]
    # All rows of a type and of those of its rate measure one roof, which is the best of them.
    best: dict[str, float] = {}
    for row in found.values():
        if not row.get("skipped"):
            roof = row["grade_roof"]
            best[roof] = max(best.get(roof, 0), row["flops_per_second"])
    for row in rows:
        dtype = row["arguments"]["dtype"]
        alone = found[f"compute_peak/tcgen05/dtype:{dtype}"]
        assert row.get("skip_reason") == alone.get("skip_reason")
        if row.get("skipped"):
            assert (device, dtype) in (("b300", "int8"), ("b300", "nvfp4"))
            continue
        unit = {"mxfp8": "fp8", "nvfp4": "fp4"}.get(dtype, dtype)
        rate = figure[f"tensor_{unit}_flops_per_clock_per_sm"]
        peak = rate * figure["sm_count"] * figure["sm_clock_hz"]
        assert LEAST < row["flops_per_second"] / peak <= 1
        assert row["label"] == "tensor"
        assert row["grade_roof"] == alone["grade_roof"] == f"tensor_{unit}"
        for each in (row, alone):
            fraction = each["flops_per_second"] / best[f"tensor_{unit}"]
            assert each["roof_fraction"] == pytest.approx(fraction)


def test_a_pair_is_skipped_where_there_is_no_tcgen05() -> None:
    flags = ("--suite=full", "--benchmark_filter=^compute_peak/tcgen05_pair/")
    for device in ("h200-sxm", "rtx-5090"):
        rows = rows_of(f"--device=model:{device}", *flags)
        assert len(rows) == 7
        assert {row["skip_reason"] for row in rows.values()} == {
            "tcgen05 is compiled for compute capabilities 10.0 and 10.3 alone"
        }


@pytest.mark.parametrize(("device", "of_fp8"), [("rtx-5090", 2), ("rtx-pro-6000", 1)])
def test_block_scales_run_at_their_rate(device: str, of_fp8: float, daily: list[str]) -> None:
    found = rows_of(
        f"--device=model:{device}",
        "--suite=full",
        "--benchmark_filter=^compute_peak/mma/dtype:(fp8|mxfp8|nvfp4)$",
    )
    rate = {row["arguments"]["dtype"]: row["flops_per_second"] for row in found.values()}
    figure = figures(device)
    an_sm_second = figure["sm_count"] * figure["sm_clock_hz"]
    for dtype, peak in (
        ("mxfp8", of_fp8 * figure["tensor_fp8_flops_per_clock_per_sm"]),
        ("nvfp4", figure["tensor_fp4_flops_per_clock_per_sm"]),
    ):
        row = found[f"compute_peak/mma/dtype:{dtype}"]
        assert LEAST < rate[dtype] / (peak * an_sm_second) <= 1
        assert row["law_ratio"] == pytest.approx(rate[dtype] / (peak * an_sm_second))
        assert row["label"] == "tensor"
        assert row["name"] not in daily
    own_roof = {"rtx-5090": "tensor_mxfp8", "rtx-pro-6000": "tensor_fp8"}[device]
    assert found["compute_peak/mma/dtype:mxfp8"]["grade_roof"] == own_roof
    assert found["compute_peak/mma/dtype:nvfp4"]["grade_roof"] == "tensor_fp4"
    assert rate["mxfp8"] == pytest.approx(of_fp8 * rate["fp8"], rel=0.02)


def test_block_scales_are_skipped_elsewhere() -> None:
    flags = ("--suite=full", "--benchmark_filter=^compute_peak/mma/dtype:(mxfp8|nvfp4)$")
    for device in ("h200-sxm", "b200"):
        rows = rows_of(f"--device=model:{device}", *flags)
        assert {row["skip_reason"] for row in rows.values()} == {
            "mma.sync with block scales is an instruction of compute capability 12.x alone"
        }


def test_compute_capability_10_3_has_no_products_of_integers() -> None:
    flags = ("--suite=full", "--benchmark_filter=^compute_peak/tcgen05/dtype:int8$")
    (row,) = rows_of("--device=model:b300", *flags).values()
    assert row["skip_reason"] == "compute capability 10.3 has no tcgen05.mma of integers"


def test_compute_capability_10_3_needs_longer_products_for_the_rate_of_nvfp4() -> None:
    only = "^compute_peak/tcgen05(_pair)?/dtype:(mxfp8|nvfp4)$"
    rows = rows_of("--device=model:b300", "--suite=full", f"--benchmark_filter={only}")
    for kernel in ("tcgen05", "tcgen05_pair"):
        assert rows[f"compute_peak/{kernel}/dtype:nvfp4"]["skip_reason"] == (
            "the rate of compute capability 10.3 is that of products of 96 along k, not of 64"
        )
        assert not rows[f"compute_peak/{kernel}/dtype:mxfp8"].get("skipped")


def test_roofs_are_printed_and_written(tmp_path: Path) -> None:
    from .conftest import run as run_program

    out = tmp_path / "roofs.json"
    done = run_program("--device=model:h200-sxm", "--roofs", f"--benchmark_out={out}")
    assert done.returncode == 0, done.stderr
    context = json.loads(out.read_text())["context"]
    modelled = {r["name"]: r for r in context["roofs"] if r["provenance"] == "modelled"}
    expected = {"dram", "l2", "l1", "shared", "fp64", "fp32", "fp16x2", "bf16x2", "int32"}
    expected |= {f"tensor_{t}" for t in ("fp64", "tf32", "fp16", "bf16", "fp8", "int8")}
    assert set(modelled) == expected
    table = {line.split()[0]: line for line in done.stdout.splitlines() if "modelled" in line}
    filed = {r["name"]: r["value"] for r in context["roofs"] if r["provenance"] != "modelled"}
    for name, roof in modelled.items():
        assert f"{roof['value'] / filed[name] * 100:.2f} %" in table[name]
        assert roof["source"] in table[name]
