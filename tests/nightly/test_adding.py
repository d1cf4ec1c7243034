"""Which files make a night, and when it may be added."""

import fcntl
from pathlib import Path

import pytest

from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.store.store import Store

from .conftest import MACHINE, process_file, put_night


@pytest.fixture
def adds(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """adds(dates...) -> exit code and standard error of adding a file of each date."""

    def call(*dates: str, machine: str = MACHINE) -> tuple[int, str]:
        files = [tmp_path / f"{number}.json" for number in range(len(dates))]
        for path, date in zip(files, dates, strict=True):
            path.write_bytes(process_file({"a/b/n:1": 1e-4}, date=date))
        words = ["add", f"--store={store.root}", f"--machine={machine}", *map(str, files)]
        return main(words), capsys.readouterr().err

    return call


def night(day: str) -> list[str]:
    return [f"{day}T0{hour}:00:00+00:00" for hour in (2, 3, 4)]


def test_files_of_several_days_are_no_night(store: Store, tmp_path: Path, adds) -> None:
    first, last = "2026-10-02T02:00:00+00:00", "2026-10-03T04:30:00+02:00"
    code, err = adds(last, first, first)
    assert code == 2
    assert err == (
        f"nightly: {tmp_path / '0.json'}: was begun 2026-10-03 02:30, and {tmp_path / '1.json'} "
        "2026-10-02 02:00: files of one night lie within 24 hours\n"
    )
    assert store.nights(MACHINE) == []
    assert adds("2026-10-02T23:00:00", "2026-10-03T01:00:00", "2026-10-03T22:59:00")[0] == 0


def test_a_night_before_the_last_one_is_refused(store: Store, tmp_path: Path, adds) -> None:
    for day in ("2026-10-05", "2026-10-06"):
        assert adds(*night(day)) == (0, "")
    code, err = adds(*night("2026-10-04"))
    assert code == 2
    assert err == (
        f"nightly: {tmp_path / '0.json'}: was begun 2026-10-04 02:00, before night 2 of 2026-10-06 "
        "02:00: add nights in their order, or with a --machine of their own\n"
    )
    assert len(store.nights(MACHINE)) == 2
    assert adds(*night("2026-10-04"), machine="earlier") == (0, "")
    assert adds(*night("2026-10-06")) == (0, "")  # two nights of one day


def test_a_night_sees_one_that_another_process_is_adding(store: Store, adds, monkeypatch) -> None:
    lock = fcntl.flock

    def wait(stream, how: int) -> None:
        if not how & fcntl.LOCK_NB:
            put_night(store, {"a/b/n:1": 1e-4}, date="2026-10-05T02:00:00+00:00")
        lock(stream, how)

    monkeypatch.setattr(fcntl, "flock", wait)
    code, err = adds(*night("2026-10-04"))
    assert code == 2
    assert "before night 1 of 2026-10-05 02:00" in err
    assert len(store.nights(MACHINE)) == 1


def test_no_night_is_older_than_one_without_a_date(store: Store, adds) -> None:
    put_night(store, {"a/b/n:1": 1e-4}, date="yesterday")
    assert adds(*night("2026-10-04"))[0] == 0


def test_a_clock_that_was_wrong_keeps_no_later_night_out(store: Store, adds) -> None:
    put_night(store, {"a/b/n:1": 1e-4}, date="2999-01-01T00:00:00+00:00")
    assert adds(*night("2026-10-04"))[0] == 0
    code, complaint = adds(*night("2026-10-03"))
    assert code == 2
    assert "before night 2" in complaint


def test_what_the_files_say_to_know_of_their_runs_is_told(
    store: Store, tmp_path: Path, capsys
) -> None:
    files = [tmp_path / f"{number}.json" for number in range(3)]
    for path in files:
        path.write_bytes(process_file({"a/b/n:1": 1e-4}, caveats=["this GPU is shared"]))
    assert main(["add", f"--store={store.root}", "--machine=lab", *map(str, files)]) == 0
    assert capsys.readouterr().err == "nightly: this GPU is shared\n"


@pytest.mark.parametrize(
    ("context", "row", "complaint"),
    [
        ({"git_dirty": True}, {}, "and the others differ in whether their commit had changes"),
        ({}, {"error_occurred": 1}, "'error_occurred' must be true or false, not 1"),
        ({}, {"throttled": "yes"}, "'throttled' must be a number, not \"yes\""),
    ],
)
def test_no_file_is_taken_for_what_it_does_not_say(
    store: Store, tmp_path: Path, capsys, context: dict, row: dict, complaint: str
) -> None:
    files = [tmp_path / f"{number}.json" for number in range(3)]
    for number, path in enumerate(files):
        odd = number == 0
        rows = {"a/b/n:1": {"seconds": 1e-4, **(row if odd else {})}}
        path.write_bytes(process_file(rows, **(context if odd else {})))
    assert main(["add", f"--store={store.root}", "--machine=lab", *map(str, files)]) == 2
    assert complaint in capsys.readouterr().err
    assert store.nights("lab") == []
