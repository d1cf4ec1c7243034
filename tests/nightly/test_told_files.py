"""What is written of a night replaces nothing that is read for it, and is refused before there is a
night."""

from pathlib import Path

import pytest

from gpubench_reports.nightly.commands.command_line import main

from .conftest import process_file
from .nights import ROWS

IS_READ = "is read here: a report must not replace its input"


@pytest.fixture
def results(tmp_path: Path) -> list[Path]:
    """The files of a night, and the samples of the first."""
    files = [tmp_path / f"q60-{number}.json" for number in range(5)]
    for path in files:
        path.write_bytes(process_file(ROWS))
    (tmp_path / "q60-0.samples.jsonl").write_text("the samples\n")
    (tmp_path / "secret").write_text("http://127.0.0.1:9/services/T0\n")
    return files


@pytest.mark.parametrize("flag", ["junit", "openmetrics"])
@pytest.mark.parametrize("name", ["q60-0.json", "q60-1.json", "q60-0.samples.jsonl", "secret"])
def test_a_night_that_is_added_keeps_what_it_was_made_of(
    results: list[Path], tmp_path: Path, capsys, flag: str, name: str
) -> None:
    out, store = tmp_path / name, tmp_path / "nights"
    before = out.read_bytes()
    words = [f"--{flag}={out}", f"--webhook=slack:@{tmp_path / 'secret'}", *map(str, results)]
    assert main(["add", f"--store={store}", *words]) == 2
    assert capsys.readouterr().err == f"nightly: {out}: {IS_READ}\n"
    assert out.read_bytes() == before
    assert not store.exists()


@pytest.mark.parametrize("flag", ["junit", "openmetrics"])
def test_a_night_that_is_measured_keeps_its_program(fake, run, tmp_path: Path, flag: str) -> None:
    program = fake(rows=ROWS)
    before = program.read_bytes()
    code, _, err = run(program, f"--{flag}={program}")
    assert (code, err) == (2, f"nightly: {program}: {IS_READ}\n")
    assert program.read_bytes() == before
    assert not (tmp_path / "nights").exists()


def test_a_store_keeps_what_it_holds(results: list[Path], tmp_path: Path, capsys) -> None:
    store = tmp_path / "nights"
    where = [f"--store={store}", "--machine=lab"]
    assert main(["add", *where, f"--junit={store}/store.json", str(results[0])]) == 2
    assert "must not replace what the store holds" in capsys.readouterr().err
    assert not store.exists()


def test_the_first_night_may_be_told_in_the_stores_own_folder(
    results: list[Path], tmp_path: Path
) -> None:
    store = tmp_path / "nights"
    where = [f"--store={store}", "--machine=lab"]
    assert main(["add", *where, f"--junit={store}/junit.xml", *map(str, results)]) == 0
    assert (store / "junit.xml").read_text().startswith("<?xml")
