"""What a program in a box sees, and what is left of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from checker import box
from checker.box import Box
from checker.sandbox import Ended, Limits, run

from .conftest import ROOT


@pytest.fixture(params=["bubblewrap", "user namespaces"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every kind of box that can be made here."""
    if request.param not in box.kinds():
        pytest.skip(f"no {request.param} here")
    monkeypatch.setattr(box, "kind", lambda: request.param)
    return str(request.param)


def shell(tmp_path: Path, script: str, *readable: Path, seconds: float = 20) -> Ended:
    here = tmp_path / "here"
    here.mkdir(exist_ok=True)
    words = ["sh", "-c", script]
    return run(words, here, Limits(seconds=seconds), box=Box(readable, (here,)))


def test_it_writes_in_its_folder_and_nowhere_else(kind: str, tmp_path: Path) -> None:
    (tmp_path / "shown").mkdir()
    script = f"echo in > in; echo out > {tmp_path}/out; echo out > {tmp_path}/shown/out"
    shell(tmp_path, script, tmp_path / "shown")
    assert (tmp_path / "here" / "in").read_text() == "in\n"
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / "shown").iterdir()) == []


def test_it_sees_no_reference_and_no_home(kind: str, tmp_path: Path) -> None:
    hidden = [ROOT / "labs", Path.home(), Path("/etc/passwd"), Path("/var")]
    ended = shell(tmp_path, "; ".join(f"ls -d '{path}'" for path in hidden))
    assert ended.stdout == ""


def test_it_reaches_no_network(kind: str, tmp_path: Path) -> None:
    ended = shell(tmp_path, "cat /proc/net/dev")
    assert [line.split(":")[0].strip() for line in ended.stdout.splitlines()[2:]] in ([], ["lo"])


def test_nothing_of_it_is_left(kind: str, tmp_path: Path) -> None:
    script = "(while sleep 0.1; do date > alive; done) > /dev/null 2>&1 &"
    assert shell(tmp_path, f"{script} sleep 0.5").why == ""
    alive = tmp_path / "here" / "alive"
    assert alive.exists()
    alive.unlink()
    time.sleep(0.5)
    assert not alive.exists()


def test_who_closes_its_output_is_not_waited_for(kind: str, tmp_path: Path) -> None:
    assert (
        "the machine is too busy, or it waits"
        in shell(tmp_path, "exec >&- 2>&-; sleep 60", seconds=1).why
    )


def test_it_can_trace_nobody_and_make_no_namespaces(tmp_path: Path) -> None:
    if "bubblewrap" not in box.kinds() or not box.system_call_filter():
        pytest.skip("system calls are not filtered here")
    ended = shell(tmp_path, "unshare --user true; unshare --net true")
    assert ended.stderr.count("Operation not permitted") == 2


def test_where_there_is_no_box_the_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from checker.build import Program
    from checker.grade import isolation

    monkeypatch.setattr(box, "kind", lambda: box.NONE)
    program = Program(Path("lab-01"), Path("solution.o"), is_guarded=True)
    assert isolation(program) == "in no sandbox, as this machine has none"


def test_a_program_that_is_also_named_as_readable_runs(kind: str, tmp_path: Path) -> None:
    """As a lab's program is: it is shown once, though it is asked for twice."""
    program, here = tmp_path / "lab-01", tmp_path / "here"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o755)
    here.mkdir()
    ended = run([str(program)], here, Limits(seconds=20), box=Box((program,), (here,)))
    assert (ended.stdout, ended.stderr) == ("ran\n", "")


ALIVE = """
import sys
from pathlib import Path
from checker.box import Box
from checker.sandbox import run
from checker import box
here = Path(sys.argv[1])
box.kind = lambda: sys.argv[2]
run(["sh", "-c", "while sleep 0.1; do date > alive; done"], here, box=Box((), (here,)))
"""


def test_nothing_is_left_of_it_when_its_checker_is_killed(kind: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", ALIVE, str(tmp_path), kind]
    alive = tmp_path / "alive"
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(ROOT / "labs")}) as checker:
        until = time.monotonic() + 60
        while not alive.exists() and time.monotonic() < until:
            time.sleep(0.05)
        was_alive = alive.exists()
        checker.kill()
    assert was_alive
    time.sleep(0.3)
    alive.unlink(missing_ok=True)
    time.sleep(0.5)
    assert not alive.exists()
