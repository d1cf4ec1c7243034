"""No run takes the place of a file that it reads, nor of what another run needs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from .conftest import BUILD, ROOT, SHORT_ROWS, run

MODEL = "--device=model:h200-sxm"
ROW = "--benchmark_filter=^bank_conflicts/strided/bytes:4/stride:1$"
DEVICE = ROOT / "harness/devices/h200-sxm.json"
CONDITIONS = ROOT / "tests/data/conditions/kind.json"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(folder: Path, *flags: str) -> str:
    """The one line that is said; no file has changed."""
    before = contents(folder)
    done = run(ROW, *flags)
    assert done.returncode == 2, done.stderr
    [line] = done.stderr.splitlines()
    assert contents(folder) == before
    return line


@pytest.mark.parametrize(
    ("source", "read_by", "name", "written_by"),
    [
        (DEVICE, "--device=model:", "own.json", "--benchmark_out=own.json"),
        (DEVICE, "--device=model:", "own.json", "--benchmark_out=link.json"),
        (DEVICE, "--device=model:", "own.json", "--benchmark_out=./other/../own.json"),
        (DEVICE, "--device=model:", "own.json", "--trace=own.json"),
        (DEVICE, "--device=model:", "./own.explain.json", "--benchmark_out=own.json"),
        (DEVICE, "--device=model:", "./own.series.jsonl", "--benchmark_out=own.json"),
        (DEVICE, "--device=model:", "./own.json.journal", "--benchmark_out=own.json"),
        (DEVICE, "--device=model:", "./own.json.journal.old", "--benchmark_out=own.json"),
        (CONDITIONS, "--conditions=", "own.json", "--benchmark_out=own.json"),
        (CONDITIONS, "--conditions=", "own.json", "--trace=link.json"),
        (CONDITIONS, "--conditions=", "own.samples.jsonl", "--benchmark_out=own.json"),
        (CONDITIONS, "--conditions=", "own.json", "--resume=own.json"),
    ],
)
def test_no_output_takes_the_place_of_an_input(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: Path,
    read_by: str,
    name: str,
    written_by: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(source, name)
    Path("link.json").symlink_to("own.json")
    before = Path(name).read_bytes()
    Path("other").mkdir()
    done = run(ROW, *([] if "device" in read_by else [MODEL]), read_by + name, written_by)
    assert done.returncode == 2, done.stderr
    flag, out = written_by.split("=")
    reader = read_by.split("=")[0]
    assert done.stderr == (
        f"gpubench: '{name}' is read here, by {reader}: {flag}='{out}' would replace it\n"
    )
    assert Path(name).read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {Path(name).name, "link.json", "other"}


def test_a_device_that_is_no_file_is_none_to_replace(tmp_path: Path) -> None:
    out = tmp_path / "h200-sxm"
    assert run(MODEL, ROW, f"--benchmark_out={out}").returncode == 0
    assert run(MODEL, ROW, f"--benchmark_out={out}").returncode == 0


@pytest.mark.parametrize("name", ["run.json.journal", "run.json.journal.old", "run.samples.jsonl"])
def test_no_trace_takes_the_place_of_what_lies_beside_a_result(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text("another run's rows")
    line = refused(tmp_path, MODEL, f"--trace={file}")
    assert line.startswith(f"gpubench: --trace='{file}': a name that ends in '.")
    assert line.endswith("is for what lies beside another result file")


def test_no_trace_takes_the_place_of_a_result_of_which_there_is_a_journal(tmp_path: Path) -> None:
    out, link = tmp_path / "run.json", tmp_path / "link.json"
    out.write_text("another run's result")
    link.symlink_to("run.json")
    journal = tmp_path / "run.json.journal"
    journal.write_text("another run's rows")
    for name in (out, link):
        assert refused(tmp_path, MODEL, f"--trace={name}") == (
            f"gpubench: --trace='{name}': it is the result file of a run whose rows are in"
            f" '{journal}'"
        )


@pytest.mark.parametrize("flag", ["--benchmark_out", "--trace"])
def test_a_trace_that_is_being_made_is_nobody_elses_file(tmp_path: Path, flag: str) -> None:
    trace, journal = tmp_path / "x.json", tmp_path / "x.json.journal"
    journal.touch()  # as a killed run leaves it
    long = (MODEL, SHORT_ROWS, "--benchmark_repetitions=1000", f"--trace={trace}")
    with subprocess.Popen(
        [str(BUILD / "gpubench-model"), *long], stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        while "row" not in first.stdout.readline():
            assert first.poll() is None
        assert refused(tmp_path, MODEL, f"{flag}={trace}") == (
            f"gpubench: another run is writing to this file: it has locked '{journal}'"
        )
        first.terminate()
        first.stdout.read()
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
    assert run(MODEL, ROW, f"--trace={trace}").returncode == 0


def test_results_that_are_only_kept_are_not_called_verified(tmp_path: Path) -> None:
    out, folder = tmp_path / "run.json", tmp_path / "kept"
    folder.mkdir()
    assert run(MODEL, ROW, f"--keep_results={folder}", f"--benchmark_out={out}").returncode == 0
    document = json.loads(out.read_text())
    assert all("verified" not in row for row in document["benchmarks"])
    assert any("were checked" in caveat for caveat in document["context"]["caveats"])


@pytest.mark.parametrize("reader", ["--keep_results", "--judge_results"])
@pytest.mark.parametrize("flag", ["--benchmark_out", "--trace"])
def test_no_output_lies_among_the_results_of_rows(tmp_path: Path, reader: str, flag: str) -> None:
    (folder := tmp_path / "results").mkdir()
    (folder / "row").write_text("a row's results")
    (tmp_path / "link.json").symlink_to("results/run.json")
    for name in ("results/run.json", "results/../results/run.json", "link.json"):
        file = tmp_path / name
        line = refused(folder, MODEL, f"{reader}={folder}", f"{flag}={file}")
        assert line == (
            f"gpubench: {flag}='{file}': '{folder}' is for the results of rows, by {reader}:"
            " name another folder"
        )


def test_results_of_rows_are_files_of_their_own(tmp_path: Path) -> None:
    """What lies in the folder may be there to make the program write elsewhere, or wait."""
    folder, victim = tmp_path / "results", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("precious")
    assert run(MODEL, ROW, f"--keep_results={folder}").returncode == 0
    [kept] = folder.iterdir()
    results = kept.read_bytes()
    kept.unlink()
    kept.symlink_to(victim)
    assert run(MODEL, ROW, f"--keep_results={folder}").returncode == 0
    assert (victim.read_text(), kept.is_symlink()) == ("precious", False)
    assert kept.read_bytes() == results
    assert run(MODEL, ROW, f"--judge_results={folder}").returncode == 0
    for put in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        kept.unlink()
        put(kept)
        done = run(MODEL, ROW, f"--judge_results={folder}")
        assert done.returncode == 1
        assert "no results of it were kept" in done.stdout


@pytest.mark.parametrize("name", ["run.trace.json", "run-trace.json"])
def test_a_name_of_a_trace_is_for_traces(tmp_path: Path, name: str) -> None:
    line = refused(tmp_path, MODEL, f"--benchmark_out={tmp_path / name}")
    assert "is for what lies beside another result file" in line
    assert run(MODEL, ROW, f"--trace={tmp_path / name}").returncode == 0


@pytest.mark.parametrize("taken", ["run.json", "run.samples.jsonl"])
def test_a_file_that_only_another_user_may_replace_is_told_at_once(taken: str) -> None:
    """As in /tmp; not after all rows have been run."""
    if os.geteuid() != 0:
        pytest.skip("only root becomes another user")
    nobody = 65534
    with tempfile.TemporaryDirectory() as name:  # others may not look into pytest's
        folder = Path(name)
        folder.chmod(0o1777)
        (folder / taken).write_text("mine")
        command = [str(BUILD / "gpubench"), MODEL, ROW, f"--benchmark_out={folder / 'run.json'}"]
        done = subprocess.run(
            command, user=nobody, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 2
        assert (
            done.stderr == f"gpubench: cannot write '{folder / taken}': Operation not permitted\n"
        )
        assert contents(folder) == {taken: b"mine"}
