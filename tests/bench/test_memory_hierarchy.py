"""Plateaus and edges where the device file has its caches, on every device that the model runs."""

from __future__ import annotations

import itertools
import json

import pytest

from .conftest import ROOT, RowsOfConcept

DAILY = ["h200-sxm"]  # whose rows other tests have, too
OTHERS = ["a100-80-sxm", "h100-sxm", "b200", "l40s", "rtx-4090"]
DEVICES = [*DAILY, *(pytest.param(name, marks=pytest.mark.release) for name in OTHERS)]
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def device_file(device: str) -> dict:
    return json.loads((ROOT / f"harness/devices/{device}.json").read_text())


def figures(device: str) -> dict[str, float]:
    return {name: figure["value"] for name, figure in device_file(device)["figures"].items()}


@pytest.fixture(scope="module", params=DEVICES)
def run(
    request: pytest.FixtureRequest, rows_of_concept: RowsOfConcept
) -> tuple[str, dict[str, dict]]:
    rows = rows_of_concept("memory_hierarchy", request.param)
    assert not [name for name, row in rows.items() if row.get("error_occurred")]
    return request.param, rows


def sweep(rows: dict[str, dict], kernel: str, counter: str) -> dict[int, float]:
    return {
        row["arguments"]["size"]: row[counter]
        for row in rows.values()
        if row["kernel"] == kernel and not row.get("skipped")
    }


def test_laws_hold_on_every_device(run: tuple[str, dict[str, dict]]) -> None:
    _, rows = run
    judged = {name: row for name, row in rows.items() if "law_ratio" in row}
    assert len(judged) > 12
    for name, row in judged.items():
        assert abs(row["law_ratio"] - 1) <= row["law_tolerance"], name


def test_the_edges_found_are_the_caches(run: tuple[str, dict[str, dict]]) -> None:
    device, rows = run
    figure = figures(device)
    found = rows[f"memory_hierarchy/steps/size:{8 * GIB}"]
    # Where another partition's latency is not known, nothing tells it from an SM's own.
    has_far = "l2_far_latency_cycles" in figure
    of_an_sm = figure["l2_bytes"] / (figure["l2_partitions"] if has_far else 1)
    # A chase leaves L1 from 0.86 of it on, and the sizes tried are a factor of 1.4 apart.
    assert 0.75 < found["found_l1_bytes"] / figure["l1_bytes_per_sm"] < 1.15
    assert found["found_l2_bytes"] == pytest.approx(of_an_sm, rel=0.15)
    assert found["stated_l1_bytes"] == figure["l1_bytes_per_sm"]
    assert found["stated_l2_bytes"] == figure["l2_bytes"]
    assert "found_tlb_bytes" not in found  # no TLB in the model, and none is made up
    clock = figure["sm_clock_hz"]
    for level, name in (("l1", "l1"), ("l2", "l2"), ("dram", "dram")):
        cycles = found[f"found_{level}_seconds"] * clock
        assert cycles == pytest.approx(figure[f"{name}_latency_cycles"], rel=0.03), level


def test_bandwidth_falls_and_latency_grows_with_the_working_set(
    run: tuple[str, dict[str, dict]],
) -> None:
    _, rows = run
    rates = sweep(rows, "read", "useful_bytes_per_second")
    in_order = [rates[size] for size in sorted(rates)]
    assert all(b <= a * 1.02 for a, b in itertools.pairwise(in_order)), in_order
    latencies = sweep(rows, "chase", "latency_seconds")
    in_order = [latencies[size] for size in sorted(latencies)]
    assert all(b >= a * 0.98 for a, b in itertools.pairwise(in_order)), in_order


def test_the_hosts_memory_comes_over_the_link(run: tuple[str, dict[str, dict]]) -> None:
    device, rows = run
    (row,) = (row for row in rows.values() if row["kernel"] == "mapped")
    assert row["label"] == "link"
    link = figures(device)["pcie_h2d_bytes_per_second"]
    assert row["useful_bytes_per_second"] == pytest.approx(link, rel=0.1)


def test_what_the_model_cannot_time_is_skipped_with_its_reason(
    run: tuple[str, dict[str, dict]],
) -> None:
    _, rows = run
    assert "no clock inside a kernel" in rows["memory_hierarchy/partitions"]["skip_reason"]
