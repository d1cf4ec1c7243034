"""Planted faults are named, and a healthy device has none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.results.reader import ResultFile, read
from gpubench_reports.rules.diagnosis.diagnose import diagnose, names, why_changed

from . import planted

PREDICTED = {
    row["name"]: row["real_time"] * 1e-6 for row in planted.BASE["benchmarks"] if "real_time" in row
}


def measured(folder: Path, seed: int, fault: str = "", predicted: bool = True) -> ResultFile:
    """A file of a device with the fault, with the healthy device's predictions or without."""
    document = planted.document(seed, fault)
    if predicted:
        for row in document["benchmarks"]:
            if row["name"] in PREDICTED:
                row["model_seconds"] = PREDICTED[row["name"]]
    path = folder / f"{seed}.json"
    path.write_text(json.dumps(document))
    return read(path)


ALL = list(planted.FAULTS)


@pytest.mark.parametrize(
    ("seed", "faults"),
    [(0, ALL[1::3]), *(pytest.param(seed, ALL, marks=pytest.mark.release) for seed in range(4))],
    ids=lambda value: str(value if isinstance(value, int) else len(value)),
)
def test_nine_of_ten_faults_are_named_first(seed: int, faults: list[str], tmp_path: Path) -> None:
    missed = {}
    for fault in faults:
        kind = planted.FAULTS[fault]
        found = diagnose(measured(tmp_path, seed, fault))
        if not found or found[0].fault not in kind.right:
            missed[fault] = [one.sentence for one in found]
    assert len(missed) <= 0.1 * len(faults), missed


@pytest.mark.parametrize(
    "seeds", [range(5), pytest.param(range(5, 200), marks=pytest.mark.release)]
)
def test_a_healthy_device_has_no_fault(seeds: range, tmp_path: Path) -> None:
    named = {}
    for seed in seeds:
        if found := diagnose(measured(tmp_path, seed)):
            named[seed] = found[0].sentence
    assert named == {}


def test_without_predictions_the_modelled_run_of_the_device_is_expected(tmp_path: Path) -> None:
    (found, *_) = diagnose(measured(tmp_path, 0, "PCIe x8", predicted=False))
    assert found.fault == "pcie"
    assert diagnose(measured(tmp_path, 0, predicted=False)) == []


def test_what_changed_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = measured(tmp_path, 1), measured(tmp_path, 2, "device memory at 90 %")
    (found, *_) = why_changed(before, after)
    assert found.fault == "device_memory"
    assert main(["compare", str(before.path), str(after.path)]) == 0
    out = capsys.readouterr().out
    assert f"\nprobably: {found.sentence}" in out
    assert "\nB  NOT HEALTHY\n" in out
    assert out.count("probably: ") == 1
    assert main(["compare", str(after.path), str(after.path)]) == 0
    health, fault = capsys.readouterr().out.splitlines()[2:4]
    assert health == "B  NOT HEALTHY"
    assert fault.startswith("B  probably: device memory is slow")


@pytest.mark.parametrize(
    ("slower", "said"),
    [
        (["transpose/untiled"], "only transpose/untiled takes 1.5"),
        (["transpose/untiled", "fusion/chain"], "several kernels take longer, most clearly "),
    ],
)
def test_a_kernel_is_the_only_one_if_no_other_has_changed(
    tmp_path: Path, slower: list[str], said: str
) -> None:
    before = measured(tmp_path, 1)
    document = planted.document(1, "")
    for row in document["benchmarks"]:
        if "real_time" in row and f"{row['concept']}/{row['kernel']}" in slower:
            for time in ("real_time", "ci_low_seconds", "ci_high_seconds"):
                row[time] *= 1.5
    after = tmp_path / "after.json"
    after.write_text(json.dumps(document))
    (found, *_) = why_changed(before, read(after))
    assert found.fault == "kernel"
    assert found.says.startswith(said)


def test_evidence_is_quoted(tmp_path: Path) -> None:
    (found, *_) = diagnose(measured(tmp_path, 0, "throttled"))
    assert "the driver held the clock back in 100% of the rows" in found.sentence


def test_ecc_is_no_evidence_since_it_is_always_on_where_it_costs_nothing(tmp_path: Path) -> None:
    (found, *_) = diagnose(measured(tmp_path, 0, "ECC on"))
    assert (found.fault, found.evidence) == ("device_memory", "")


def test_a_model_has_no_fault(tmp_path: Path) -> None:
    assert diagnose(read(planted.ROOT / "results/modelled/h200-sxm.json")) == []


def test_there_are_enough_faults_and_each_is_planted() -> None:
    assert len(planted.FAULTS) >= 30
    planted_names = {name for fault in planted.FAULTS.values() for name in fault.right}
    # A few are alternatives of others.
    assert set(names()) - planted_names <= {"collective_latency"}


def test_the_first_lines_of_the_table_say_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = measured(tmp_path, 0, "one bad GPU of eight")
    assert main(["table", str(result.path)]) == 0
    health, fault, look, also = capsys.readouterr().out.splitlines()[1:5]
    assert health.strip() == "NOT HEALTHY"
    assert fault.startswith("probably: GPU 5 or its links are slow: rows with it take")
    assert look.startswith("look at:  that GPU")
    assert also.startswith("also:     2 rows did not converge")
