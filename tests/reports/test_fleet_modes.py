"""Runs of a fleet in other modes, on other devices or days, by other programs are never mixed."""

import json
import shutil
from pathlib import Path

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.fleet.causes import labels_of
from gpubench_reports.fleet.lake import read_lake, write_lake
from gpubench_reports.fleet.result_files import read_folder
from gpubench_reports.nightly.reporting.queries import over_parquet

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


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ({"git_commit": "b" * 40}, "commit bbbbbbbbbb"),
        ({"git_dirty": True}, "commit aaaaaaaaaa-dirty"),
        ({"compiler_flags": "-O0"}, "flags -O0"),
        ({"compiler": "g++ 99"}, "g++ 99"),
    ],
)
def test_a_gpu_that_another_program_measured_has_no_peers(tmp_path, capsys, program, said):
    context = {"git_commit": "a" * 40, "compiler_flags": "-O3", "compiler": "g++ 12"}
    sweep = write_sweep(tmp_path / "sweep", {}, **context)
    other = write_sweep(tmp_path / "other", {3: 1.3}, **context | program)
    shutil.copy(other / "n1-gpu3.json", sweep)
    for folder in (str(sweep), str(tmp_path / "lake")):
        assert main(["fleet", folder]) == 0
        out = capsys.readouterr().out
        assert f"{said}: not judged: only 1 GPU of this kind" in out
        write_lake(read_folder(sweep), tmp_path / "lake")


def test_the_times_of_an_earlier_program_hide_no_slow_gpu(sweep, capsys):
    add_sweep(sweep, "earlier", {3: 0.5}, date="2026-11-20", git_commit="b" * 40)
    assert main(["fleet", str(sweep)]) == 1
    assert "slow GPU n1/gpu3: +30" in capsys.readouterr().out


@pytest.mark.parametrize(("day", "found"), [("2020-01-01", 0), ("2999-01-01", 1)])
def test_of_a_sweep_and_a_night_of_a_gpu_the_later_counts(tmp_path, capsys, day: str, found: int):
    duckdb = pytest.importorskip("duckdb")
    lake = tmp_path / "lake"
    write_lake(read_folder(write_sweep(tmp_path / "slow", {3: 1.3})), lake)
    (path,) = lake.rglob("*.parquet")
    night = path.parent.with_name(f"date={day}") / "night.parquet"
    night.parent.mkdir()
    # As a store exports it: a name without '/', and a number that counts its nights.
    duckdb.execute(
        "copy (select * exclude (machine, night, runs), replace(machine, '/', '-') as machine,"
        " 5 as processes, 12 as night"
        f" from read_parquet('{path}', hive_partitioning = false)) to '{night}'"
    )
    write_lake(read_folder(write_sweep(tmp_path / "repaired")), lake)
    assert read_lake(str(lake)).gpus["runs"].notna().all()
    assert main(["fleet", str(lake)]) == found
    assert capsys.readouterr().out.startswith(f"8 GPUs, {len(ROWS)} rows")
    columns, rows = over_parquet(str(lake), "machines", "%")
    machines = [dict(zip(columns, row, strict=True)) for row in rows]
    assert {row["machines"] for row in machines} == {8}
    assert (max(row["spread"] for row in machines) > 0.2) == bool(found)


def test_two_programs_of_a_day_are_not_mixed_in_a_lake(tmp_path):
    lake = tmp_path / "lake"
    for name, gpus, factor in (("a", 8, 1.0), ("b", 4, 0.5)):
        slower = dict.fromkeys(range(gpus), factor)
        sweep = write_sweep(tmp_path / name, slower, gpus=gpus, git_commit=name * 40)
        write_lake(read_folder(sweep), lake)
    fleet = read_lake(str(lake))
    assert set(fleet.gpus["git_commit"]) == {"a" * 40}
    assert fleet.seconds.min() > 0.9e-3
