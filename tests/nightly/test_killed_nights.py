"""Nights that were killed, met another, or ran out of disk."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.commands.command_line import main

from .conftest import values
from .nights import ROWS, command, opened, put_quiet_nights


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def is_free(tmp_path: Path) -> bool:
    """Nothing measures on the machine."""
    try:
        with opened(tmp_path).measuring("lab"):
            return True
    except ReportError:
        return False


def killed_night(tmp_path: Path, program: Path) -> None:
    """A night on a program that `kills`; returns once the program has ended, too."""
    done = subprocess.run(command(tmp_path, program), capture_output=True, check=False)
    assert done.returncode != 0
    wait_for(lambda: is_free(tmp_path))


def test_a_killed_night_is_taken_up_again(run, fake, tmp_path: Path) -> None:
    log = tmp_path / "log"
    kills = {2: signal.SIGKILL, 6: signal.SIGTERM, 9: signal.SIGKILL}
    program = fake(rows=ROWS, log=str(log), kills=kills)
    for stored in (1, 1 + 3, 1 + 3 + 2):  # what the killed one measured is lost
        killed_night(tmp_path, program)
        (night,) = opened(tmp_path).nights("lab")
        assert not night.has("done.json")
        assert len(night.results()) == stored
    kept = {path.name: path.stat().st_mtime_ns for path in night.results()}
    log.unlink()
    program = fake(rows=ROWS, log=str(log))
    code, _, err = run(program)
    assert code == 0
    assert "night 1 was killed: going on with it" in err
    assert len(log.read_text()) == 10 - len(kept)  # nothing was measured twice
    (night,) = opened(tmp_path).nights("lab")
    after = {path.name: path.stat().st_mtime_ns for path in night.results()}
    assert len(after) == 10
    assert kept.items() <= after.items()
    assert {(v[1], v[6]) for v in values(opened(tmp_path))} == {(name, 5) for name in ROWS}


def test_a_killed_night_of_another_program_is_closed_as_it_is(run, fake, tmp_path: Path) -> None:
    kills = {2: signal.SIGKILL}
    killed_night(tmp_path, fake(rows=ROWS, log=str(tmp_path / "log"), kills=kills))
    other = fake("other", rows=ROWS)
    other.write_text(other.read_text() + "# a new build\n")
    code, out, _ = run(other)
    assert code == 0, out
    first, second = opened(tmp_path).nights("lab")
    assert first.document("done.json")["abandoned"] is True
    assert "abandoned" not in second.document("done.json")


def test_two_nights_at_once_do_not_disturb_each_other(run, fake, tmp_path: Path) -> None:
    log, until = tmp_path / "log", tmp_path / "until"
    program = fake(rows=ROWS, log=str(log), until=str(until))
    process = subprocess.Popen(
        command(tmp_path, program), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    wait_for(log.exists)
    code, _, err = run(program)
    assert code == 2
    assert "another night is being measured here" in err
    until.touch()
    assert process.wait() == 0
    assert len(opened(tmp_path).nights("lab")) == 1


def test_a_program_that_outlives_its_night_is_not_disturbed(run, fake, tmp_path: Path) -> None:
    until = tmp_path / "until"
    log = str(tmp_path / "log")
    program = fake(rows=ROWS, log=log, kills={1: signal.SIGKILL}, until=str(until))
    # To a file: the program that lives on would hold a pipe.
    with (tmp_path / "out").open("w") as out:
        process = subprocess.Popen(command(tmp_path, program), stdout=out, stderr=out)
        assert process.wait() == -signal.SIGKILL
    fake(rows=ROWS)
    code, _, err = run(program)
    assert (code, "another night is being measured here" in err) == (2, True)
    until.touch()
    wait_for(lambda: is_free(tmp_path))
    assert run(program)[0] == 0
    assert len(opened(tmp_path).nights("lab")[0].results()) == 10


def test_a_disk_that_fills_up_during_a_night(run, fake, tmp_path: Path) -> None:
    """The night is taken up where it stopped once there is room again."""
    program = fake(rows=ROWS, counters={"note": "x" * 400})
    script = (
        "import os, sys\n"
        "from gpubench_reports.nightly.commands import command_line\n"
        "from gpubench_reports.nightly.nights import running\n"
        "made, link = [], os.link\n"
        "def full(*a):\n"
        "    made.append(a)\n"
        "    if len(made) > 6: raise OSError(28, 'No space left on device')\n"
        "    link(*a)\n"
        "running.os.link = full; sys.exit(command_line.main(sys.argv[1:]))"
    )
    flags = command(tmp_path, program)[3:]
    done = subprocess.run(
        [sys.executable, "-c", script, *flags], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "cannot write: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    (night,) = opened(tmp_path).nights("lab")
    before = len(night.results())
    assert 1 <= before < 10
    assert run(program)[0] == 0
    assert len(opened(tmp_path).nights("lab")[0].results()) == 10


def test_a_night_killed_among_its_reruns_finishes_them(run, fake, tmp_path: Path) -> None:
    put_quiet_nights(tmp_path)
    slow = {"rows": ROWS | {"gather/n:4": 3.1e-4}, "log": str(tmp_path / "log")}
    killed_night(tmp_path, fake(**slow, kills={10 + 4: signal.SIGKILL}))
    # The rest of the reruns find it as it was; those that are there are not measured again.
    assert run(fake(rows=ROWS))[0] == 0
    (night,) = opened(tmp_path).nights("lab")[11:]
    assert len([path for path in night.results() if path.name.startswith("rerun-")]) == 5
    rerun = {(v[1], v[2]): v[5] for v in values(opened(tmp_path))}["gather/n:4", 12]
    assert rerun == pytest.approx(3.1e-4)  # the median of three slow ones and two quick ones


def test_who_calls_the_command_keeps_its_own_handler(tmp_path: Path, capsys) -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert main(["run", f"--store={tmp_path}", f"--program={tmp_path}/none"]) == 2
    assert signal.getsignal(signal.SIGTERM) is before
