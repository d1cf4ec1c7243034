"""Standard output that is closed, full, or read in part: the exit code is still the answer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .factory import make_document, make_row

REPORT = "gpubench_reports"


def ends(words: list[str], **streams) -> subprocess.CompletedProcess[str]:
    streams = {"env": {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}} | streams
    command = [sys.executable, "-m", REPORT, *words]
    return subprocess.run(command, text=True, timeout=120, check=False, **streams)


def unread() -> int:
    """The end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.fixture
def slower(write) -> list[str]:
    """A comparison that fails."""
    one = write(make_document([make_row("a/b/n:1", 1e-4)]), "one.json")
    two = write(make_document([make_row("a/b/n:1", 2e-4)]), "two.json")
    return ["compare", str(one), str(two), "--fail-on=1%"]


def test_a_reader_who_leaves_changes_no_verdict(slower):
    for more in ([], ["--json"], ["--all"]):
        done = ends([*slower, *more], stdout=unread(), stderr=subprocess.PIPE)
        assert done.returncode == 1
        assert done.stderr == "1 row of B beyond --fail-on=1%:\n  a/b/n:1: 50.0% slower\n"


def test_nobody_who_reads_an_error_leaves_its_exit_code(tmp_path):
    words = ["table", str(tmp_path / "none.json")]
    assert ends(words, stdout=unread(), stderr=unread()).returncode == 2


def test_a_closed_standard_output_is_one_line(slower):
    done = ends(slower, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1))
    assert done.returncode == 2
    assert done.stderr == "gpubench-report: standard output: is closed\n"


def test_a_closed_standard_error_is_no_error(slower):
    done = ends(slower, stdout=subprocess.PIPE, preexec_fn=lambda: os.close(2))
    assert done.returncode == 1
    assert "a/b/n:1" in done.stdout


def test_a_full_disk_is_one_line(slower):
    with Path("/dev/full").open("w") as full:
        done = ends(slower, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == "gpubench-report: standard output: No space left on device\n"


def test_a_reader_of_unbuffered_output_leaves_the_verdict_too(slower):
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    assert ends(slower, stdout=unread(), env=environment).returncode == 1
