"""Checkouts in odd places: what scripts/lib.sh says of each, in one line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT

LIBRARY = ROOT / "scripts/lib.sh"
# What would be built and how is not the question here.
CALL = """
program=test
source "{library}"
ensure_configured() {{ echo configured; }}
build_targets() {{ echo built; }}
ensure_built release "{build}" gpubench
"""


def ensure_built(build: Path, *before: str, **environment: str) -> subprocess.CompletedProcess[str]:
    text = CALL.format(library=LIBRARY, build=build)
    return subprocess.run(
        [*before, "bash", "-euc", text],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", **environment},
    )


def read_only(folder: Path) -> tuple[str, ...]:
    """A command before another, for which the folder is mounted read-only."""
    mounts = f"mount --bind '{folder}' '{folder}' && mount -o remount,ro,bind '{folder}'"
    command = ("unshare", "--map-root-user", "--mount", "sh", "-c", f'{mounts} && exec "$@"', "sh")
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("nothing can be mounted here")
    return command


def test_a_build_folder_that_can_be_written_to_is_built_in(tmp_path: Path) -> None:
    done = ensure_built(tmp_path)
    assert (done.returncode, done.stdout) == (0, "configured\nbuilt\n")
    assert done.stderr == ""


def test_a_checkout_that_is_built_and_read_only_serves_as_it_is(tmp_path: Path) -> None:
    program = tmp_path / "gpubench"
    program.write_text("")
    program.chmod(0o755)
    done = ensure_built(tmp_path, *read_only(tmp_path))
    assert (done.returncode, done.stdout) == (0, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"test: cannot write to {tmp_path}: taking what was built there")


@pytest.mark.parametrize("folder", [".", "build"])
def test_a_read_only_checkout_that_is_not_built_is_one_line(tmp_path: Path, folder: str) -> None:
    done = ensure_built(tmp_path / folder, *read_only(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "and there is no gpubench in it" in line


@pytest.mark.parametrize("name", ["it's", "a&b", "a;b", "a*b"])
def test_a_path_that_ninja_cannot_read_is_named(tmp_path: Path, name: str) -> None:
    build = tmp_path / name
    build.mkdir()
    done = ensure_built(build)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert str(build) in line
    assert "build everything anew each time" in line


def test_a_path_with_blanks_is_nothing_to_speak_of(tmp_path: Path) -> None:
    build = tmp_path / "a b (c) é"
    build.mkdir()
    assert ensure_built(build).stderr == ""


def test_a_missing_folder_for_temporary_files_is_named(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    done = ensure_built(tmp_path, TMPDIR=str(nowhere))
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"test: TMPDIR={nowhere}: no folder that can be written to")


def test_a_configuration_that_is_broken_off_is_begun_anew(tmp_path: Path) -> None:
    """CMake takes away its cache before it has another; build.ninja stays."""
    build, programs = tmp_path / "build", tmp_path / "programs"
    build.mkdir()
    programs.mkdir()
    cmake = programs / "cmake"
    cmake.write_text(
        f"""#!/bin/sh
if [ -n "$BREAKS" ]; then kill -INT $PPID; exit 130; fi
echo configured >&2
touch '{build}/build.ninja' '{build}/CMakeCache.txt'
echo x >>'{tmp_path}/times'
"""
    )
    cmake.chmod(0o755)
    call = f'program=test; source "{LIBRARY}"; configure release "{build}"'

    def times(folders: str, breaks: str = "") -> int:
        subprocess.run(
            ["bash", "-euc", call],
            capture_output=True,
            check=False,
            timeout=60,
            env={
                "PATH": f"{programs}:/usr/bin:/bin",
                "GPUBENCH_CONCEPT_FOLDERS": folders,
                "BREAKS": breaks,
            },
        )
        return len((tmp_path / "times").read_text().splitlines())

    assert times("") == 1
    assert times("") == 1  # nothing has changed
    assert times("other", breaks="yes") == 1
    assert times("") == 2
