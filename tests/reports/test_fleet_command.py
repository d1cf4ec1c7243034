"""gpubench-report fleet on folders of result files and on Parquet, and its command line."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from gpubench_reports.commands import fleet as command
from gpubench_reports.commands.command_line import main
from gpubench_reports.common.plain_text import clean
from gpubench_reports.fleet.findings import judge_fleet
from gpubench_reports.fleet.inventory import Place, read_inventory
from gpubench_reports.fleet.page import build
from gpubench_reports.fleet.result_files import read_folder
from gpubench_reports.fleet.summary import text

from .factory import make_context, make_document, make_row
from .html_pages import EVIL, Elements
from .sweep import ROWS, write_sweep


def ran(capsys, *words: str) -> tuple[int, str, str]:
    code = main(["fleet", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_folder_of_result_files(tmp_path: Path, capsys):
    sweep = write_sweep(tmp_path / "sweep", {3: 1.1})
    (tmp_path / "racks.csv").write_text("node,rack,slot\nn1,r1,4\nn2,r1,5\n")
    inventory = f"--inventory={tmp_path / 'racks.csv'}"
    code, out, _ = ran(capsys, str(sweep), inventory, "-o", str(tmp_path / "fleet.html"))
    assert code == 1
    assert "slow GPU n1/gpu3 (rack r1, slot 4): +10.0% time in " in out
    assert "no result: n2: is in the inventory and has no result" in out
    assert (tmp_path / "fleet.html").exists()
    code, out, _ = ran(capsys, str(sweep), inventory, "--json")
    assert code == 1
    drain = json.loads(out)["drain"]
    assert [line["machine"] for line in drain] == ["n1/gpu3", "n2"]
    assert (drain[0]["node"], drain[0]["gpu"], drain[0]["rack"]) == ("n1", "3", "r1")
    (sweep / "verdict.json").write_text(out)  # it may lie there, and is no result
    assert ran(capsys, str(sweep))[1].endswith("1 slow GPU\n")


def test_the_page_lists_places_by_their_numbers(tmp_path: Path, capsys):
    sweep = write_sweep(tmp_path / "sweep")
    write_sweep(tmp_path / "another")
    for node in (2, 10):
        for path in (tmp_path / "another").iterdir():
            text = path.read_text().replace("n1/gpu", f"n{node}/gpu")
            (sweep / path.name.replace("n1-", f"n{node}-")).write_text(text)
    ran(capsys, str(sweep), "-o", str(tmp_path / "fleet.html"))
    page = (tmp_path / "fleet.html").read_text()
    lines = re.findall(r'<tr><th scope="row">(\w+)</th><th scope="row">(\d)</th>', page)
    assert lines == [(f"n{node}", str(gpu)) for node in (1, 2, 10) for gpu in range(8)]


def test_nothing_found_is_zero(tmp_path: Path, capsys):
    code, out, _ = ran(capsys, str(write_sweep(tmp_path / "sweep")))
    assert (code, out.splitlines()[-1]) == (0, "nothing found")


def test_of_several_runs_the_shortest_time_counts(tmp_path: Path, capsys):
    sweep = write_sweep(tmp_path / "sweep", {3: 1.1})
    write_sweep(tmp_path / "again")
    (tmp_path / "again/n1-gpu3.json").rename(sweep / "n1-gpu3.2.json")
    assert ran(capsys, str(sweep))[0] == 0


def write_unnamed(path: Path, uuid: str, mig: bool = False, **changes) -> None:
    """A result that does not say which GPU of its host it is of."""
    rows = [make_row(name) for name in ROWS]
    state = {"uuid": uuid, "mig": mig}
    document = make_document(rows, device="h100-sxm", device_state=state, **changes)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document))


def test_files_of_one_gpu_are_not_its_peers(tmp_path: Path, capsys):
    for number in range(3):
        write_unnamed(tmp_path / f"host-gpu{number}.json", f"GPU-{number}")
    later = "2026-11-22T04:40:00+00:00"
    write_unnamed(tmp_path / "monday.json", "GPU-2", date=later)
    write_unnamed(tmp_path / "copy.json", "GPU-2", date=later)
    code, out, _ = ran(capsys, str(tmp_path))
    assert code == 2
    assert "only 3 GPUs of this kind" in out
    gpus = read_folder(tmp_path).gpus
    assert list(gpus["machine"]) == ["copy", "host/gpu0", "host/gpu1"]
    assert list(gpus["runs"]) == [2, 1, 1]  # a copy confirms nothing
    write_unnamed(tmp_path / "elsewhere.json", "GPU-2", host_name="other")
    assert len(read_folder(tmp_path).gpus) == 3


def test_a_pods_name_tells_no_gpu_from_itself(tmp_path: Path):
    """An indexed job's host names are those of its pods, and every sweep gives them anew."""
    for sweep in (0, 1):
        for gpu in range(4):
            write_unnamed(
                tmp_path / f"{sweep}-gpu{gpu}.json",
                f"GPU-{gpu}",
                machine=f"n{gpu}/gpu0",
                host_name=f"gpubench-fleet-{(gpu + sweep) % 4}",
                date=f"2026-11-2{sweep}T04:40:00+00:00",
            )
    gpus = read_folder(tmp_path).gpus
    assert list(gpus["machine"]) == [f"n{gpu}/gpu0" for gpu in range(4)]
    assert list(gpus["runs"]) == [2] * 4


def test_a_gpu_that_took_anothers_place_is_told_from_it(tmp_path: Path):
    later = "2026-11-22T04:40:00+00:00"
    write_unnamed(tmp_path / "before.json", "GPU-0", machine="host/gpu0")
    write_unnamed(tmp_path / "now.json", "GPU-1", machine="host/gpu0", date=later)
    gpus = read_folder(tmp_path).gpus
    assert dict(zip(gpus["machine"], gpus["uuid"], strict=True)) == {
        "host/gpu0": "GPU-1",
        "host/gpu0 (GPU-0)": "GPU-0",
    }


def test_slices_of_one_gpu_are_judged_apart(tmp_path: Path):
    for number in range(3):
        write_unnamed(tmp_path / f"host-gpu{number}.json", "GPU-0", mig=True)
    gpus = read_folder(tmp_path).gpus
    assert list(gpus["machine"]) == ["host/gpu0", "host/gpu1", "host/gpu2"]
    assert set(gpus["uuid"]) == {"GPU-0"}


def test_what_has_failed_or_cannot_be_read_costs_its_gpu_only(tmp_path: Path, capsys):
    sweep = write_sweep(tmp_path / "sweep")
    (sweep / "n1-gpu1.json").write_text("{")
    (sweep / "n9-gpu0.log").write_text("starting\ngpubench: no CUDA device\n\n")
    wrong = make_row(ROWS[0], error_occurred=True, error_message="wrong result in y[3]")
    document = make_document([wrong], device="h100-sxm", machine="n1/gpu2")
    (sweep / "n1-gpu2.json").write_text(json.dumps(document))
    code, out, _ = ran(capsys, str(sweep))
    assert code == 1
    assert f"rows failed: n1/gpu2: {ROWS[0]}: wrong result in y[3]" in out
    assert "no result: n1/gpu1: its result file cannot be read: " in out
    assert "no result: n9/gpu0: gpubench: no CUDA device" in out


def write_part(path: Path, kept: int, lost: list[dict] | None = None, **context) -> None:
    """Leaves the first rows of a result file only, and those of `lost`."""
    document = json.loads(path.read_text())
    document["benchmarks"] = [*document["benchmarks"][:kept], *(lost or [])]
    document["context"] |= context
    path.write_text(json.dumps(document))


def test_a_run_that_was_interrupted_is_found(tmp_path: Path, capsys):
    sweep = write_sweep(tmp_path / "sweep")
    write_part(sweep / "n1-gpu3.json", 2, interrupted=True)
    code, out, _ = ran(capsys, str(sweep), "-o", str(tmp_path / "fleet.html"))
    gap = f"rows missing: n1/gpu3: {len(ROWS) - 2} of {len(ROWS)} rows that its peers have: "
    assert (code, out.splitlines()[-2]) == (1, "1 GPU with missing rows")
    assert f"{gap}this run was interrupted" in out
    assert gap in (tmp_path / "fleet.html").read_text()
    verdict = json.loads(ran(capsys, str(sweep), "--json")[1])
    assert verdict["findings"][0]["gpus"] == ["n1/gpu3"]  # what --again looks for
    assert verdict["drain"] == []
    write_sweep(tmp_path / "again")
    (tmp_path / "again/n1-gpu3.json").rename(sweep / "n1-gpu3.2.json")
    assert ran(capsys, str(sweep))[0] == 0


def test_a_sweep_that_was_interrupted_everywhere_is_found(tmp_path: Path, capsys):
    code, out, _ = ran(capsys, str(write_sweep(tmp_path / "sweep", interrupted=True)))
    assert (code, out.splitlines()[-1]) == (1, "8 GPUs with missing rows")


def test_a_journal_tells_of_an_interrupted_run(tmp_path: Path, capsys):
    sweep = write_sweep(tmp_path / "sweep", gpus=7)
    (sweep / "n1-gpu3.json.journal").touch()  # beside a result: the run that was to replace it
    (sweep / "n1-gpu7.json.journal").write_text('{"command": ["gpubench"], "journal": 1}\n')
    code, out, _ = ran(capsys, str(sweep))
    assert code == 1
    assert "rows missing: n1/gpu3: a later run of it was interrupted" in out
    assert "no result: n1/gpu7: interrupted after 0 rows" in out


def test_rows_that_only_one_gpu_lacks_are_found(tmp_path: Path, capsys):
    sweep = write_sweep(tmp_path / "sweep")
    full = {"skipped": True, "skip_reason": "no memory left"}
    write_part(sweep / "n1-gpu2.json", len(ROWS) - 1, [make_row(ROWS[-1]) | full])
    write_part(sweep / "n1-gpu5.json", len(ROWS) - 1)
    code, out, _ = ran(capsys, str(sweep))
    assert (code, out.splitlines()[-1]) == (1, "2 GPUs with missing rows")
    assert f"n1/gpu2: 1 of {len(ROWS)} rows that its peers have: skipped: no memory left" in out
    assert "n1/gpu5: 1 of" in out
    assert "have: not in its file" in out


def test_rows_that_few_have_are_missed_nowhere(tmp_path: Path, capsys):
    sweep = write_sweep(tmp_path / "sweep")
    for gpu in range(5):
        write_part(sweep / f"n1-gpu{gpu}.json", len(ROWS) - 1)
    assert ran(capsys, str(sweep))[0] == 0


def test_what_to_know_of_gpus_is_noted(tmp_path: Path, capsys):
    shared = "this GPU is shared: 2 processes compute on it"
    sweep = write_sweep(tmp_path / "sweep", {3: 1.1})
    write_part(sweep / "n1-gpu3.json", len(ROWS), caveats=[shared], device_state={"processes": 2})
    out = ran(capsys, str(sweep))[1]
    assert f"note: n1/gpu3: {shared}" in out
    assert "evidence: 2 processes computed on it, ours included" in out


def test_few_gpus_cannot_be_judged(tmp_path: Path, capsys):
    code, out, _ = ran(capsys, str(write_sweep(tmp_path / "sweep", gpus=3)))
    assert code == 2
    assert "not judged: only 3 GPUs of this kind; at least 4 are needed" in out
    _, out, _ = ran(capsys, str(write_sweep(tmp_path / "one", gpus=1)))
    assert out.startswith(f"1 GPU, {len(ROWS)} rows\n")


def test_parquet_of_measured_results_is_kept_apart(tmp_path: Path, capsys):
    lake = tmp_path / "la[k]e's *"
    assert ran(capsys, str(write_sweep(tmp_path / "a")), f"--parquet={lake}")[0] == 0
    code, out, _ = ran(capsys, str(lake))
    assert (code, "MODELLED" in out) == (0, False)
    for day in ("2999-01-01", "29990101"):
        assert ran(capsys, str(lake), f"--since={day}")[2].endswith("holds no results\n")
    modelled = str(write_sweep(tmp_path / "modelled", device_kind="model"))
    code, _, err = ran(capsys, modelled, f"--parquet={lake}")
    assert code == 2
    assert err.endswith("holds results of the other kind: measured and modelled never mix\n")
    write_sweep(tmp_path / "a", device_kind="model", gpus=1)
    code, _, err = ran(capsys, str(tmp_path / "a"))
    assert code == 2
    assert "mixes modelled and measured" in err


def test_sweeps_of_one_day_lie_side_by_side_in_a_lake(tmp_path: Path, capsys):
    lake = tmp_path / "lake"
    for node, slow in ((1, {3: 1.1}), (2, {})):
        sweep = write_sweep(tmp_path / f"{node}", slow)
        for path in sweep.iterdir():
            path.write_text(path.read_text().replace("n1/gpu", f"n{node}/gpu"))
        ran(capsys, str(sweep), f"--parquet={lake}")
    code, out, _ = ran(capsys, str(lake))
    assert out.startswith(f"16 GPUs, {len(ROWS)} rows")
    assert (code, out.splitlines()[-1]) == (1, "1 slow GPU")
    # The same GPUs once more replace their file, and other ones with some of them add to it.
    ran(capsys, str(write_sweep(tmp_path / "again", {3: 1.2})), f"--parquet={lake}")
    assert len(list(lake.rglob("*.parquet"))) == 2
    ran(capsys, str(write_sweep(tmp_path / "few", gpus=4)), f"--parquet={lake}")
    assert len(list(lake.rglob("*.parquet"))) == 3
    code, out, _ = ran(capsys, str(lake))
    assert (code, out.splitlines()[-1]) == (0, "nothing found")


@pytest.mark.parametrize("date", ["tomorrow!!", "26.11.2026", "9999-99-99", "٢٠٢٦-١١-٢٦"])
def test_a_date_that_is_none_is_one_line(tmp_path: Path, capsys, date: str):
    folder = write_sweep(tmp_path / "a")
    file = sorted(folder.iterdir())[0]
    document = json.loads(file.read_text())
    document["context"]["date"] = date
    file.write_text(json.dumps(document))
    code, _, err = ran(capsys, str(folder), f"--parquet={tmp_path / 'lake'}")
    assert code == 2
    assert err.splitlines()[-1].endswith("is no day: YYYY-MM-DD")
    assert not (tmp_path / "lake").exists()


def test_an_inventory_may_have_a_byte_order_mark(tmp_path: Path):
    path = tmp_path / "racks.csv"
    path.write_text("node,rack\r\nn1,a\r\n", encoding="utf-8-sig")
    assert read_inventory(path) == {("n1", ""): Place(rack="a", slot="")}


@pytest.mark.parametrize(
    ("inventory", "said"),
    [
        ("node,slot\nn1,1\n", "has no column 'rack'"),
        ("node,rack\nn1,a\nn1,b\n", "line 3: n1 is listed twice"),
        ("node,rack\n,a\n", "line 2: 'node' is empty"),
        ("node,rack\n\xff,a\n", "is not UTF-8 text"),
        (f"node,rack\nn1,{'a' * 200_000}\n", "is not a CSV file"),
        (None, "cannot read: No such file"),
    ],
)
def test_a_wrong_inventory_is_one_line(tmp_path: Path, capsys, inventory: str | None, said: str):
    path = tmp_path / "racks.csv"
    if inventory is not None:
        path.write_bytes(inventory.encode("latin-1"))
    code, _, err = ran(capsys, str(write_sweep(tmp_path / "s", gpus=1)), f"--inventory={path}")
    assert (code, len(err.splitlines())) == (2, 1)
    assert said in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "which folder?"),
        (["/nonexistent"], "no such folder"),
        (["."], "holds no result file"),
        ([".", "--since=2026-01-01"], "--since: is for Parquet"),
        ([".", "--since=january"], "--since: 'january' is no day like 2026-12-31"),
        ([".", "--parquet=s3://bucket/lake"], "s3://bucket/lake: is an address"),
        (["--rehearse", "--rows=0"], "--rows: must be from 1"),
        (["--rehearse", "--gpus=40"], "--gpus: 40 are too few"),
        (["--rehearse", "--gpus=100000000"], "--gpus: with 60 rows, at most 100000"),
        (["--rehearse", "--fleets=0"], "--fleets: must be >= 1"),
        (["--rehearse", "--seed=-1"], "--seed: must be >= 0"),
    ],
)
def test_a_wrong_command_line_is_one_line(tmp_path: Path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    code, _, err = ran(capsys, *words)
    assert code == 2
    assert said in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("module", "words", "said"),
    [("scipy", [], "fleet: needs SciPy"), ("duckdb", ["--parquet=lake"], "Parquet: needs DuckDB")],
)
def test_a_module_that_is_not_installed_is_one_line(
    tmp_path: Path, monkeypatch, capsys, module: str, words: list[str], said: str
):
    sweep = write_sweep(tmp_path / "sweep")
    monkeypatch.setitem(sys.modules, module, None)
    code, _, err = ran(capsys, str(sweep), *words)
    install = f"{sys.executable} -m pip install 'gpubench-reports[fleet]'"
    assert (code, err) == (2, f"gpubench-report: {said}: {install}\n")


def test_why_an_object_store_cannot_be_read_is_one_line(tmp_path: Path, monkeypatch, capsys):
    """DuckDB says over several lines that it has no extension for it, and why."""
    monkeypatch.setenv("HOME", str(tmp_path / "absent"))
    code, _, err = ran(capsys, "s3://bucket/lake")
    assert (code, len(err.splitlines())) == (2, 1)
    assert err.startswith("gpubench-report: s3://bucket/lake: ")
    assert "httpfs" in err
    assert str(tmp_path / "absent") in err


def test_an_error_of_the_program_is_no_slow_gpu(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(command, "_judge", lambda options: 1 // 0)
    code, _, err = ran(capsys, str(tmp_path))
    assert code == 3
    assert err.startswith("gpubench-report: internal error at ")


def test_text_from_files_is_harmless(tmp_path: Path):
    sweep = write_sweep(tmp_path / "sweep", {3: 1.5}, driver_version=EVIL)
    document = json.loads((sweep / "n1-gpu3.json").read_text())
    document["context"] |= make_context(device="h100-sxm", machine=f"{EVIL}\x1b[31m")
    (sweep / "n1-gpu3.json").write_text(json.dumps(document))
    verdict = judge_fleet(read_folder(sweep))
    parsed = Elements(build(verdict).decode())
    assert parsed.of("script") == parsed.of("img") == parsed.of("svg") == []
    assert "\x1b" not in text(verdict)


def test_names_and_logs_of_gpus_are_harmless(tmp_path: Path, capsys):
    sweep = write_sweep(tmp_path / "sweep")
    (sweep / "n9\x1b[31m-gpu0.log").write_bytes(b"said \x1b]0;x\x07 \xff \x9b31m\n")
    (sweep / "n8\x1b[31m-gpu0.json").write_text("{")
    for words in ([], ["--json"], ["-o", str(tmp_path / "\x1b[31m.html")]):
        code, out, err = ran(capsys, str(sweep), *words)
        assert code == 1
        assert "n9\ufffd[31m" in out
        assert "n8\ufffd[31m" in out
        assert [line for line in (out + err).split("\n") if clean(line) != line] == []
    page = (tmp_path / "\x1b[31m.html").read_text()
    assert "said \ufffd]0;x\ufffd" in page
    assert not set("\x1b\x07\x9b") & set(page)


@pytest.mark.release
def test_a_rehearsal_finds_what_it_planted_and_nothing_healthy(capsys):
    code, out, _ = ran(capsys, "--rehearse", "--fleets=1", "--gpus=2048")
    assert code == 0
    assert "| slow GPUs found, of those slower by 5% to 10% | 3 of 3 |" in out
    assert "| healthy GPUs, nodes or racks named, in all fleets | 0 |" in out
