"""Hot and cold runs of a fleet, or runs on other devices, are never taken for each other."""

import json
import shutil
from pathlib import Path

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.fleet.causes import labels_of
from gpubench_reports.fleet.lake import read_lake, write_lake
from gpubench_reports.fleet.result_files import read_folder

from .sweep import ROWS, write_sweep

COLD, HOT = "2026-11-21T04:40:00+00:00", "2026-11-21T03:40:00+00:00"


def add_sweep(folder: Path, name: str, *sweep, only=None, **context) -> None:
    """Adds another sweep of the same GPUs to the folder, or the result of one of them."""
    other = write_sweep(folder.with_name(name), *sweep, **context)
    for path in other.glob("*.json" if only is None else f"*-gpu{only}.json"):
        shutil.copy(path, folder / f"{path.stem}.{name}.json")


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    return write_sweep(tmp_path / "sweep", {3: 1.3}, date=COLD)


@pytest.mark.parametrize(
    ("other", "date"), [("mode", HOT), ("mode", "2026-11-22"), ("device", HOT)]
)
def test_a_faster_run_of_another_kind_hides_no_slow_gpu(sweep, capsys, other, date):
    kind = {"mode": "hot"} if other == "mode" else {"device": "h200-sxm"}
    assert main(["fleet", str(sweep)]) == 1
    before = capsys.readouterr().out
    add_sweep(sweep, "other", {3: 0.5}, only=3, **kind, date=date)
    assert main(["fleet", str(sweep)]) == 1
    out = capsys.readouterr().out
    where = " (cold mode)" if other == "mode" else ""
    assert f"slow GPU n1/gpu3{where}: +30" in out
    assert "not judged: only 1 GPU of this kind" in out
    assert out.splitlines()[0] == before.splitlines()[0], "it has no more GPUs than before"


def test_modes_are_judged_apart_and_named(sweep, capsys):
    add_sweep(sweep, "hot", {5: 1.2}, mode="hot", date=HOT)
    assert main(["fleet", str(sweep), "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["gpus"] == 8
    found = {(one["name"], one["mode"]) for one in verdict["findings"]}
    assert found == {("n1/gpu3", "cold"), ("n1/gpu5", "hot")}
    assert [line["machine"] for line in verdict["drain"]] == ["n1/gpu3", "n1/gpu5"]


def test_a_hot_sweep_replaces_no_cold_one_of_the_day_in_a_lake(sweep, tmp_path):
    hot = write_sweep(tmp_path / "hot", mode="hot", date=HOT)
    for folder in (sweep, hot):
        write_lake(read_folder(folder), tmp_path / "lake")
    gpus = read_lake(str(tmp_path / "lake")).gpus
    assert sorted(gpus["mode"]) == ["cold"] * 8 + ["hot"] * 8


def test_what_limits_a_cold_row_is_not_said_of_a_hot_one():
    assert all(labels_of("h100-sxm", "cold", ROWS))
    assert not any(labels_of("h100-sxm", "hot", ROWS))
