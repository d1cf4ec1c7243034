"""Runs without predictions, as the program measures by default: what limits their rows is that of
the modelled run, so that all commands name the same cause."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.fleet.causes import Times, cause_of
from gpubench_reports.results.baselines import baseline, with_limits
from gpubench_reports.results.reader import ResultFile, read
from gpubench_reports.results.roof_fractions import roof_fractions
from gpubench_reports.rules.diagnosis.diagnose import why_changed
from gpubench_reports.rules.verdicts.judge import judge

RESULTS = Path(__file__).resolve().parents[2] / "results/h100-sxm"
DEFAULT = RESULTS / "2026-11-27-default.json"
LABELS = {row["name"]: row["label"] for row in baseline("h100-sxm").timed}
# All that a low clock of the SMs makes slower.
OF_SMS = (
    "tensor",
    "fp32",
    "fp64",
    "fp16x2",
    "bf16x2",
    "int32",
    "issue",
    "shared",
    "l1",
    "l2",
    "latency",
)
THROTTLED = {"throttled": 1.0, "sm_clock_hz": 1.76e9}

Row = dict[str, Any]


def slower(
    path: Path,
    factor: float,
    which: Callable[[Row], bool],
    state: Row | None = None,
    **context: Any,
) -> ResultFile:
    """The run with some rows slower, and every row in this state."""
    document = copy.deepcopy(json.loads(DEFAULT.read_text(encoding="utf-8")))
    document["context"] |= context
    for row in document["benchmarks"]:
        if "real_time" in row:
            row |= state or {}
            if which(row):
                for time in row.keys() & {"real_time", "ci_low_seconds", "ci_high_seconds"}:
                    row[time] *= factor
    path.write_text(json.dumps(document), encoding="utf-8")
    return read(path)


def limited_by(*labels: str) -> Callable[[Row], bool]:
    return lambda row: LABELS.get(row["name"]) in labels


def over_pcie(row: Row) -> bool:
    is_long = row["arguments"].get("size", 1 << 24) > 1 << 20
    return LABELS.get(row["name"]) == "link" and is_long and "pageable" not in row["name"]


@pytest.mark.parametrize(
    ("factor", "which", "state", "fault"),
    [
        (1.15, limited_by("dram"), {}, "device_memory"),
        (1.95, over_pcie, {}, "pcie"),
        (1.12, limited_by(*OF_SMS), THROTTLED, "clock"),
    ],
)
def test_the_cause_of_a_change_is_the_part_that_became_slow(tmp_path, factor, which, state, fault):
    after = slower(tmp_path / "after.json", factor, which, state)
    (found, *_) = why_changed(read(DEFAULT), after)
    assert found.fault == fault


def test_two_runs_of_one_build_do_not_differ_by_their_code(tmp_path):
    def which(row: Row) -> bool:
        return row["concept"] in ("transpose", "fusion")

    before = read(DEFAULT)
    assert [d.fault for d in why_changed(before, slower(tmp_path / "a.json", 1.4, which))] == []
    other = slower(tmp_path / "b.json", 1.4, which, git_commit="f" * 40)
    assert why_changed(before, other)[0].fault == "kernel"


def test_compare_and_markdown_name_one_cause(tmp_path, capsys):
    state = json.loads(DEFAULT.read_text())["context"]["device_state"] | {"pcie_width": 8}
    after = slower(tmp_path / "after.json", 1.95, over_pcie, device_state=state)
    assert main(["compare", str(DEFAULT), str(after.path)]) == 0
    assert main(["markdown", str(after.path)]) == 0
    said = capsys.readouterr().out
    for lead in ("probably: ", "Probably: "):
        cause = said.partition(lead)[2].partition("\n")[0]
        assert cause.startswith("PCIe takes")
        assert "the link trained at x8 of x16" in cause


def test_slow_rows_of_one_concept_at_the_end_are_no_heat(capsys):
    """The transfers from pageable memory, which come last in the shorter file."""
    assert main(["compare", str(DEFAULT), str(RESULTS / "2026-11-27-calibration.json")]) == 0
    said = capsys.readouterr().out
    assert "probably: copies from pageable memory take 1.1" in said
    assert "temperature" not in said


def test_a_throttled_gpu_of_a_fleet_is_explained_by_its_clock():
    rows = baseline("h100-sxm").timed
    names = [row["name"] for row in rows]
    seconds = np.array([row["seconds"] for row in rows])
    sms = np.array([row["label"] in OF_SMS for row in rows])
    still = np.zeros(len(rows))
    warm = np.full(len(rows), 50.0)
    peers = Times(names, seconds, still + 1.98e9, warm, still)
    own = Times(names, seconds * np.where(sms, 1.12, 1), still + 1.76e9, warm, still + 1)
    found = cause_of("h100-sxm", "cold", own, peers, {})
    assert found.says.startswith("the SMs' clock is low")
    assert "held the clock back in 100%" in found.evidence


def test_only_limits_of_the_modelled_run_are_called_modelled():
    verdicts = judge(read(DEFAULT))
    step = verdicts["training_step/step/with:nothing/hidden:256"]  # says itself what limits it
    assert not step.borrowed
    assert "modelled" not in step.sentence
    copied = verdicts["stream/copy/dtype:fp32/bytes:16/unroll:4"]
    assert copied.bound_words == "dram (modelled)"
    spilled = verdicts["registers/capped/edge:16/blocks:8"]  # as its own registers say
    assert spilled.bound_words == "spilled registers"


def test_limits_are_a_files_own_and_else_those_of_the_modelled_run(tmp_path):
    found = {row["name"]: row for row in with_limits(read(DEFAULT)).timed}
    step = "training_step/step/with:item/hidden:256"
    assert (found[step]["label"], LABELS[step]) == ("launch", "dram")
    copied = found["stream/copy/dtype:fp32/bytes:16/unroll:4"]
    assert copied["label"] == "dram"
    assert copied["terms"]["dram"] > 0
    assert copied["raw"]["bytes"]["l2"] > 0
    hot = slower(tmp_path / "hot.json", 1, limited_by(), mode="hot")
    assert {row["label"] for row in with_limits(hot).timed} == {
        "",
        "host",
        "dram",
        "launch",
        "tensor",
    }


def test_a_roof_is_that_of_the_modelled_run_as_high_as_it_was_measured():
    measured = read(DEFAULT)
    found = roof_fractions(measured)
    rows = {row["name"]: row for row in measured.timed}
    roofs = {r.name: r.value for r in measured.context.roofs if r.provenance == "measured"}
    copied, mma = "stream/copy/dtype:fp32/bytes:16/unroll:4", "compute_peak/mma/dtype:bf16"
    assert found[copied] == rows[copied]["moved_bytes_per_second"] / roofs["dram"]
    assert found[mma] == rows[mma]["flops_per_second"] / roofs["tensor_bf16"]
    item = "training_step/step/with:item/hidden:256"  # says itself that launches limit it
    assert math.isnan(found[item])
    assert sum(fraction > 0 for fraction in found.values()) > 90
