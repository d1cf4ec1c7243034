"""A night is of one program: one that is built anew meanwhile spoils it."""

from pathlib import Path

from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.store.store import Store, publish

from .conftest import MACHINE, judged, process_file, put_nights, values
from .nights import ROWS, opened

CHANGED = "was changed while it was being measured"


def rebuilt(program: Path, log: Path) -> Path:
    """`program`, which is built anew just after the third process."""
    wrapper = program.with_name("gpubench-wrapped")
    wrapper.write_text(
        f'#!/bin/sh\n"{program}" "$@"\nended=$?\n'
        f'if [ -e "{log}" ] && [ "$(wc -c < "{log}")" = 3 ]; then\n'
        '  cp "$0" "$0.new" && echo "# new" >> "$0.new" && mv "$0.new" "$0"\n'
        "fi\nexit $ended\n"
    )
    wrapper.chmod(0o755)
    return wrapper


def test_a_night_of_two_commits_is_not_judged(store: Store) -> None:
    put_nights(store, 11)
    night = store.begin(MACHINE, {"began": "2026-01-12T02:00:00+00:00", "units": []}, {})
    for process in range(1, 6):
        content = process_file({"a/b/n:1": 1.5e-4}, git_commit="aa" if process < 3 else "bb")
        publish(night.path / f"first-{process}-all.json", content)
    night.close({})
    one = judged(store)
    assert one.unjudged == ["night 12 is invalid: the program changed during the night"]
    assert one.exit_code == 2
    assert [value[2] for value in values(store)] == list(range(1, 12))


def test_a_program_that_is_built_anew_ends_the_night(run, fake, tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = rebuilt(fake(rows=ROWS, log=str(log)), log)
    code, _, err = run(program)
    assert (code, err.splitlines()[-1]) == (2, f"nightly: {program}: {CHANGED}")
    (night,) = opened(tmp_path).nights("lab")
    assert len(night.results()) == 2  # what the third has measured may be of either program
    log.unlink()
    log.write_text("more than three")
    assert run(program)[0] == 0
    first, second = opened(tmp_path).nights("lab")
    assert first.document("done.json")["abandoned"] is True
    assert len(second.results()) == 10


def test_a_program_that_is_only_touched_is_the_same(run, fake, tmp_path: Path) -> None:
    program = fake(rows={"gather/n:4": 3e-4})
    touching = program.with_name("touching")
    touching.write_text(f'#!/bin/sh\ntouch "$0"\nexec "{program}" "$@"\n')
    touching.chmod(0o755)
    assert run(touching)[0] == 0


def test_the_gate_ends_at_a_program_that_is_built_anew(fake, tmp_path: Path, capsys) -> None:
    log = tmp_path / "log"
    program = rebuilt(fake(rows=ROWS, log=str(log)), log)
    code = main(["compare", str(fake("a", rows=ROWS)), str(program), "--rounds=5"])
    assert code == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"nightly: {program}: {CHANGED}"
