"""Bisection of a history with merges, and one that is told to stop."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.gate.bisecting import commits_between


@pytest.fixture
def git(tmp_path: Path):
    """git(words...) runs git in a new repository, and returns what it prints."""

    def call(*words: str) -> str:
        settings = ("user.name=n", "user.email=e@example.org", "commit.gpgsign=false")
        flags = [flag for setting in settings for flag in ("-c", setting)]
        done = subprocess.run(
            ["git", "-C", str(tmp_path), *flags, *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    call("init", "--quiet", "--initial-branch=main")
    return call


def commit(git, subject: str) -> None:
    git("commit", "--quiet", "--allow-empty", "-m", subject)


def subjects(git, folder: Path, good: str, bad: str) -> list[str]:
    return [
        git("show", "--no-patch", "--format=%s", one) for one in commits_between(folder, good, bad)
    ]


def test_a_commit_without_the_good_one_is_left_out(git, tmp_path: Path) -> None:
    """The one beside may be slow for what the good one mended."""
    commit(git, "begin")
    git("switch", "--quiet", "--create", "branch")
    commit(git, "mended")
    git("tag", "mended")
    commit(git, "tidied")
    git("switch", "--quiet", "main")
    commit(git, "beside")
    git("merge", "--quiet", "--no-ff", "-m", "merged", "branch")
    commit(git, "later")
    assert subjects(git, tmp_path, "mended", "main") == ["mended", "merged", "later"]
    assert subjects(git, tmp_path, "main~3", "main") == ["begin", "beside", "merged", "later"]
    assert subjects(git, tmp_path, "mended", "branch") == ["mended", "tidied"]
    with pytest.raises(ReportError, match="is no ancestor of"):
        commits_between(tmp_path, "main~1^1", "branch")


def test_an_interrupt_ends_the_build_and_what_it_has_started(git, tmp_path: Path) -> None:
    for subject in ("good", "bad"):
        commit(git, subject)
    pipe = tmp_path / "pipe"  # which whoever belongs to the build holds open
    os.mkfifo(pipe)
    words = ["bisect", "--good=HEAD~1", "--bad=HEAD", f"--repository={tmp_path}"]
    words += ["--rehearsal", "--device=model:h100-sxm", f"--build=sleep 60 >{pipe}; true"]
    command = [sys.executable, "-m", "gpubench_reports.nightly", *words]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process, pipe.open("rb") as held:
        os.set_blocking(held.fileno(), False)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 130
        end = time.monotonic() + 10
        while (left := held.read()) is None and time.monotonic() < end:
            time.sleep(0.01)
    assert left == b""  # nobody can write any more
    assert len(git("worktree", "list").splitlines()) == 1
