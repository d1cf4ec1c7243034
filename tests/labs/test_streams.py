"""Names that are no text, a full disk, and Ctrl-C at any time: one line, or none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT


def checker(root: Path, *words: str, **more) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(root / "labs"), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "checker", *words]
    return subprocess.run(
        command, env=environment, stderr=subprocess.PIPE, text=True, timeout=60, check=False, **more
    )


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A checkout with a lab whose name is not UTF-8."""
    root = tmp_path / "checkout"
    subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(root)], check=True)
    shutil.copytree(ROOT / "labs/checker", root / "labs/checker", dirs_exist_ok=True)
    shutil.copytree(root / "labs/01-coalescing", root / os.fsdecode(b"labs/13-\xff"))
    return root


def test_a_name_that_is_no_text_is_no_traceback(strange: Path, tmp_path: Path) -> None:
    assert checker(strange, "list", stdout=subprocess.DEVNULL).returncode == 0
    done = checker(strange, "hint", "99", stdout=subprocess.DEVNULL)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    done = checker(strange, "export", "--students", str(tmp_path / "out"), stdout=subprocess.PIPE)
    assert (done.returncode, len(done.stderr.splitlines())) == (0, 1)
    # HEAD does not have it; then it does, and no zip can.
    bundle = ("export", "--autograder", "01", str(tmp_path / "a.zip"))
    done = checker(strange, *bundle, stdout=subprocess.DEVNULL)
    assert (done.returncode, len(done.stderr.splitlines())) == (0, 1)
    author = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", "-C", str(strange), "add", "-A"], check=True)
    subprocess.run(["git", "-C", str(strange), *author, "commit", "-qm", "x"], check=True)
    done = checker(strange, *bundle)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_a_full_disk_is_named() -> None:
    with Path("/dev/full").open("w") as full:
        done = checker(ROOT, "list", stdout=full)
    assert done.returncode == 2
    assert done.stderr == "scripts/lab: standard output: No space left on device\n"


def test_an_interrupt_while_it_starts_is_silent(tmp_path: Path) -> None:
    package = tmp_path / "labs/checker"
    package.mkdir(parents=True)
    shutil.copy(ROOT / "labs/checker/__main__.py", package)
    (package / "__init__.py").touch()
    (package / "cli.py").write_text("raise KeyboardInterrupt\n")
    done = checker(tmp_path)
    assert (done.returncode, done.stderr) == (130, "")
