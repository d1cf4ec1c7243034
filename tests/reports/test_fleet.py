"""The judge of fleets names what is slow and nothing healthy."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpubench_reports.fleet import judging
from gpubench_reports.fleet.causes import Cause
from gpubench_reports.fleet.findings import judge_fleet
from gpubench_reports.fleet.inventory import read_inventory, with_places
from gpubench_reports.fleet.lake import read_lake, write_lake
from gpubench_reports.fleet.page import build
from gpubench_reports.fleet.simulation import Noise, Plan, simulate
from gpubench_reports.fleet.summary import as_json

from .html_pages import Elements

PLAN = Plan(gpus=1024, slow=4, slow_low=1.06, racks=(1.08,))
HEALTHY = replace(PLAN, slow=0, racks=(), firmware_share=0.0)


@pytest.fixture(scope="module")
def simulated():
    fleet, planted, places = simulate(PLAN, Noise(), seed=3)
    return fleet, planted, places, judge_fleet(fleet)


def names(verdict, kind: str) -> set[str]:
    return {finding.name for finding in verdict.findings if finding.kind == kind}


def test_what_is_planted_is_named_and_nothing_else(simulated):
    fleet, planted, _, verdict = simulated
    assert names(verdict, "gpu") == {fleet.gpus["machine"][gpu] for gpu in planted.gpus}
    assert names(verdict, "rack") == set(planted.racks)
    assert names(verdict, "firmware") == {"vbios 96.00.99 (against vbios 96.00.88)"}
    assert names(verdict, "node") == set()


def test_the_likely_cause_is_the_planted_one(simulated):
    _, planted, _, verdict = simulated
    words = {
        "clock": "SMs' clock is low",
        "device_memory": "device memory is slow",
        "tensor_cores": "Tensor Cores",
        "pcie": "PCIe takes",
    }
    for finding in verdict.findings:
        if finding.kind == "gpu":
            fault, factor = planted.gpus[finding.gpus[0]]
            assert words[fault] in finding.cause.says
            assert finding.rows[0].slower == pytest.approx(factor - 1, abs=0.025)
            # Some of the rows depend on it only in part.
            assert factor - 1.03 < finding.slower < factor - 0.975
            assert finding.rows[0].seconds > finding.rows[0].peers_seconds


def test_a_gpu_that_is_slow_in_every_row_is_called_that():
    fleet, _, _ = simulate(replace(HEALTHY, gpus=64), Noise(), seed=1)
    seconds = fleet.seconds.copy()
    seconds[7] *= 1.12
    (finding,) = judge_fleet(replace(fleet, seconds=seconds)).findings
    assert re.fullmatch(r"every row takes 1\.1[123] times as long, .*", finding.cause.says)


def test_the_evidence_of_a_throttled_gpu_is_said_once():
    plan = replace(HEALTHY, gpus=64, slow=1, slow_low=1.2)
    fleet, planted, _ = simulate(plan, Noise(), seed=1)
    ((slow, (fault, _)),) = planted.gpus.items()
    assert fault == "clock"
    own = np.arange(64)[:, None] == slow
    state = {"clock_hz": (1.5e9, 1.8e9), "temperature_c": (86, 60), "throttled": (1, 0)}
    shape = fleet.seconds.shape
    seen = {name: np.broadcast_to(np.where(own, *both), shape) for name, both in state.items()}
    (finding,) = judge_fleet(replace(fleet, **seen)).findings
    assert "the SMs' clock is low" in finding.cause.says
    held, clock, heat, hotter = finding.cause.evidence.split("; ")
    assert held == "the driver held the clock back in 100% of the rows"
    assert clock.startswith("the SMs ran at 1.50 GHz, ")
    assert (heat, hotter) == ("up to 86 °C", "26 °C hotter than its peers")


def test_the_peers_clock_is_what_a_clock_is_measured_by():
    plan = replace(HEALTHY, gpus=64, slow=1, slow_low=1.1)
    fleet, planted, _ = simulate(plan, Noise(), seed=1)
    fleet.gpus["device"] = "unknown"  # so that no cause is found
    ((slow, _),) = planted.gpus.items()
    clock = np.full(fleet.seconds.shape, 1.8e9)
    clock[slow] = 1.75e9
    (finding,) = judge_fleet(replace(fleet, clock_hz=clock)).findings
    assert finding.cause == Cause(evidence="the SMs ran at 1.75 GHz, 97% of 1.80 GHz")


def test_healthy_fleets_of_any_size_are_left_alone():
    named = 0
    for gpus in (8, 64, 256):
        for seed in range(3):
            verdict = judge_fleet(simulate(replace(HEALTHY, gpus=gpus), Noise(), seed)[0])
            named += len(verdict.findings)
    assert named == 0


def test_a_row_that_was_disturbed_is_no_slow_gpu_unless_a_second_run_agrees():
    fleet, _, _ = simulate(replace(HEALTHY, gpus=64), Noise(disturbed=0.0), seed=1)
    fleet.seconds[5, 7] *= 1.5
    assert names(judge_fleet(fleet), "gpu") == set()
    fleet.gpus.loc[5, "runs"] = 2
    assert names(judge_fleet(fleet), "gpu") == {fleet.gpus["machine"][5]}


def test_a_slow_node_is_one_finding():
    fleet, _, _ = simulate(replace(HEALTHY, gpus=256), Noise(), seed=1)
    fleet.seconds[16:24] *= 1.06
    verdict = judge_fleet(fleet)
    assert [(f.kind, f.name, len(f.gpus)) for f in verdict.findings] == [("node", "node0002", 8)]


def test_firmware_that_costs_nothing_is_a_note():
    plan = replace(HEALTHY, gpus=1024, firmware_share=0.5, firmware_factor=1.0)
    verdict = judge_fleet(simulate(plan, Noise(), seed=1)[0])
    assert verdict.findings == ()
    assert "mixed firmware, no measurable cost: " in verdict.notes[0]


def test_heavier_tails_of_the_fast_side_are_seen():
    rng = np.random.default_rng(1)
    normal, heavy = rng.standard_normal((400, 40)), rng.standard_t(3, (400, 40))
    assert judging.scale_of(normal)[1] > 20
    assert judging.scale_of(heavy)[1] <= 4


def test_holm_names_no_more_than_bonferroni_would_need():
    assert list(judging.named(np.array([0.001, 0.2, 0.024, 0.9]))) == [True, False, False, False]
    assert list(judging.named(np.array([0.001, 0.2, 0.016, 0.9]))) == [True, False, True, False]


def test_parquet_gives_the_same_verdict(tmp_path: Path):
    fleet, _, places = simulate(replace(HEALTHY, gpus=64, slow=1), Noise(), seed=1)
    verdict = judge_fleet(fleet)
    assert len(verdict.findings) == 1
    write_lake(fleet, tmp_path / "lake")
    places.to_csv(tmp_path / "inventory.csv", index=False)
    again = with_places(
        read_lake(str(tmp_path / "lake")), read_inventory(tmp_path / "inventory.csv")
    )
    assert as_json(judge_fleet(again)) == as_json(verdict)


def test_the_page_names_each_finding_and_shows_racks(simulated):
    page = build(simulated[3]).decode()
    parsed = Elements(page)
    assert "MODELLED" in parsed.text
    for finding in simulated[3].findings:
        assert finding.name in parsed.text
    assert "rack003" in parsed.text
    assert parsed.of("script") == []
