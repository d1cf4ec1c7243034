"""What killed checkers leave in the temporary folder, and what the next one makes of it."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from checker.sandbox import run
from checker.temporary import PREFIXES, remove_stale, temporary_folder

from .conftest import ROOT

HOLDS = """
import sys, time
from checker.temporary import temporary_folder
with temporary_folder(sys.argv[1]) as folder:
    (folder / "inside").mkdir()
    print(folder, flush=True)
    time.sleep(600)
"""
BOXED = """
import sys, time
from pathlib import Path
from checker import box
box.kind = lambda: "user namespaces"
with box.boxed(["true"], Path.cwd(), box.Box()) as (words, _):
    print(next(word for word in " ".join(words).split() if "gpubench-box-" in word), flush=True)
    time.sleep(600)
"""


def environment(where: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "labs"), "TMPDIR": str(where)}


@contextmanager
def checker(where: Path, script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has made its folder in `where`."""
    words = [sys.executable, "-c", script, *arguments]
    with subprocess.Popen(
        words, env=environment(where), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert "gpubench-" in process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def names(where: Path) -> list[str]:
    return sorted(path.name for path in where.iterdir())


@pytest.mark.parametrize(
    ("script", "prefix"), [(BOXED, PREFIXES[0]), *((HOLDS, one) for one in PREFIXES)]
)
def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path, script, prefix) -> None:
    with checker(tmp_path, script, prefix) as killed:
        killed.kill()
    (left,) = names(tmp_path)
    assert left.startswith(prefix)
    with checker(tmp_path, HOLDS, PREFIXES[0]):
        (own,) = names(tmp_path)
        assert own != left


def test_the_folder_of_one_that_runs_stays(tmp_path: Path) -> None:
    with checker(tmp_path, HOLDS, PREFIXES[0]):
        before = names(tmp_path)
        remove_stale(tmp_path)
        assert names(tmp_path) == before
        assert list(tmp_path.glob("*/inside"))


def test_a_folder_is_gone_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with temporary_folder(PREFIXES[1]) as folder:
        (folder / "file").write_text("")
        assert folder.parent == tmp_path
    assert names(tmp_path) == []


ASKED = """
import signal, sys, shutil, tempfile
from checker import temporary
where = sys.argv[1]
def asked(function):
    def then(*arguments, **named):
        done = function(*arguments, **named) if where == "mkdtemp" else None
        setattr(module, where, function)
        signal.raise_signal(signal.SIGINT)
        return done or function(*arguments, **named)
    return then
module = tempfile if where == "mkdtemp" else shutil
setattr(module, where, asked(getattr(module, where)))
try:
    with temporary.temporary_folder("gpubench-box-") as folder:
        (folder / "inside").mkdir()
    print("not asked")
except KeyboardInterrupt:
    print("asked")
"""


@pytest.mark.parametrize("where", ["mkdtemp", "rmtree"])
def test_one_that_is_asked_to_stop_while_it_makes_or_removes_a_folder_leaves_none(
    tmp_path: Path, where: str
) -> None:
    words = [sys.executable, "-c", ASKED, where]
    done = subprocess.run(
        words, env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("asked\n", "")
    assert names(tmp_path) == []


def test_what_a_killed_process_still_writes_is_removed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, turns = shutil.rmtree, []

    def with_a_writer(folder: Path, **named: bool) -> None:
        remove(folder, **named)
        turns.append(folder)
        if len(turns) < 3:
            folder.mkdir()

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(shutil, "rmtree", with_a_writer)
    with temporary_folder(PREFIXES[1]):
        pass
    assert names(tmp_path) == []
    assert len(turns) == 3


def test_a_child_begins_as_if_nothing_were_held_back() -> None:
    blocked = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
    ended = run([sys.executable, "-c", blocked], Path.cwd())
    assert ended.stdout == "set()\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_links_are_not_followed(tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "deep").mkdir(parents=True)
    (own / "deep" / "file").write_text("mine")
    (own / "deep").chmod(0o750)
    where = tmp_path / "temporary"
    stale = where / "gpubench-box-held-aaaaaaa1"
    stale.mkdir(parents=True)
    (stale / "out").symlink_to(own / "deep")
    (where / "gpubench-box-held-aaaaaaa2").symlink_to(own)
    (where / "gpubench-box-held-aaaaaaa3").write_text("no folder")
    remove_stale(where)
    assert names(where) == ["gpubench-box-held-aaaaaaa2", "gpubench-box-held-aaaaaaa3"]
    assert (own / "deep" / "file").read_text() == "mine"
    assert (own / "deep").stat().st_mode & 0o777 == 0o750


def test_a_folder_that_its_program_closed_goes_too(tmp_path: Path) -> None:
    closed = tmp_path / "gpubench-lab-held-aaaaaaa1" / "a" / "b"
    closed.mkdir(parents=True)
    (closed / "file").write_text("")
    for path in (closed, closed.parent):
        path.chmod(0)
    remove_stale(tmp_path)
    assert names(tmp_path) == []


def test_another_users_folder_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gpubench-box-held-aaaaaaa1").mkdir()
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    remove_stale(tmp_path)
    assert names(tmp_path) == ["gpubench-box-held-aaaaaaa1"]
    monkeypatch.undo()
    remove_stale(tmp_path)
    assert names(tmp_path) == []


def test_what_an_earlier_version_left_goes_once_it_is_old(tmp_path: Path) -> None:
    """It locked nothing, so it may still run."""
    old, young = tmp_path / "gpubench-box-abcdefg1", tmp_path / "gpubench-lab-defghij1"
    for path in (old, young, tmp_path / "gpubench-lab-solutions", tmp_path / "other"):
        path.mkdir()
    for path in (old, tmp_path / "gpubench-lab-solutions", tmp_path / "other"):
        os.utime(path, (0, time.time() - 90000))
    remove_stale(tmp_path)
    assert names(tmp_path) == ["gpubench-lab-defghij1", "gpubench-lab-solutions", "other"]


def test_a_file_system_without_locks_has_folders_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(fcntl, "flock", refuse)
    with temporary_folder(PREFIXES[0]) as folder:
        assert "held" not in folder.name
    assert names(tmp_path) == []
