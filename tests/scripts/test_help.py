"""Every script says what it does before it does anything."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Those that hand their arguments to a program, whose --help they show.
HAND_ON = ("lab", "nightly")
SCRIPTS = sorted(
    path.name
    for path in (ROOT / "scripts").iterdir()
    if path.is_file() and path.suffix == "" and path.name not in HAND_ON
)
PYTHON = ("demo.py", "docs.py")


def test_there_are_scripts_to_ask() -> None:
    assert {"test", "calibrate", "validate-gpu"} <= set(SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("--unknown", "--help")])
def test_help_is_the_head_of_the_script(script: str, arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [ROOT / "scripts" / script, *arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"./scripts/{script}" in done.stdout
    assert "set -euo" not in done.stdout
    assert "shellcheck" not in done.stdout


@pytest.mark.parametrize("script", PYTHON)
@pytest.mark.parametrize("argument", ["--help", "-h"])
def test_help_of_a_python_script_is_what_its_head_says(script: str, argument: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / script, argument],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"./scripts/{script}  " in done.stdout


def test_benchs_help_needs_no_build_and_shows_gpubenchs_flags(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")

    def asked(*arguments: str) -> str:
        done = subprocess.run(
            [tmp_path / "scripts/bench", *arguments], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    before = asked("--suite=quick", "--help")
    assert "./scripts/bench [any gpubench flag]" in before
    assert before.endswith("./gpubench --help lists them once it is built.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["scripts"]
    program = tmp_path / "build/gpubench"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "my flags: $*"\n')
    program.chmod(0o755)
    assert asked("-h").endswith("The flags of gpubench:\n\nmy flags: --help\n")
