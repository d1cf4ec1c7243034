"""What is missing is installed by the distribution's own names, after a line that says so."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT

TOOLS = ("bash", "cat", "cksum", "dirname", "env", "mktemp", "rm", "tr")
# A machine on which `python3-venv` and the others are there once they are installed, and which
# writes down what its package managers were asked.
SCRIPT = f"""
program=scripts/x
source "{ROOT}/scripts/lib.sh"
is_present() {{ [[ -e "$HOME/installed" ]]; }}
ensure_packages "${{arguments[@]}}"
"""
MANAGER = '#!/bin/sh\necho "${0##*/} $*" >>"$HOME/asked"\n: >"$HOME/installed"\n'
NAMES = ("g++", "ninja-build", "libbenchmark-dev", "nlohmann-json3-dev", "libgtest-dev", "git")


def ensure(
    home: Path, managers: tuple[str, ...], *arguments: str, script: str = SCRIPT
) -> subprocess.CompletedProcess[str]:
    tools = home / "bin"
    tools.mkdir()
    for name in TOOLS:
        (tools / name).symlink_to(Path("/usr/bin") / name)
    for name in (*managers, "sudo"):
        (tools / name).write_text('#!/bin/sh\nexec "$@"\n' if name == "sudo" else MANAGER)
        (tools / name).chmod(0o755)
    return subprocess.run(
        ["/usr/bin/bash", "-c", script, "x", *arguments],
        env={"PATH": str(tools), "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("manager", "names"),
    [
        ("apt-get", " ".join(NAMES)),
        ("dnf", "gcc-c++ ninja-build google-benchmark-devel json-devel gtest-devel git"),
        ("zypper", "gcc-c++ ninja benchmark-devel nlohmann_json-devel gtest git"),
    ],
)
def test_each_distribution_is_asked_by_its_own_names(
    tmp_path: Path, manager: str, names: str
) -> None:
    done = ensure(tmp_path, (manager,), *NAMES)
    assert done.returncode == 0, done.stderr
    asked = (tmp_path / "asked").read_text().splitlines()[-1]
    assert asked.startswith(manager)
    assert asked.endswith(names)
    [said] = done.stderr.splitlines()
    assert asked in said
    assert said.startswith("scripts/x: this machine lacks g++ ninja-build")


@pytest.mark.parametrize("manager", ["apt-get", "dnf", "zypper"])
def test_with_no_install_no_package_manager_is_called(tmp_path: Path, manager: str) -> None:
    done = ensure(tmp_path, (manager,), "--no-install", *NAMES)
    assert done.returncode == 1
    assert not (tmp_path / "asked").exists()
    [said] = done.stderr.splitlines()
    assert "missing: g++" in said
    assert f"to install: {manager} " in said


def test_a_machine_of_another_kind_is_told_what_is_missing(tmp_path: Path) -> None:
    done = ensure(tmp_path, (), *NAMES)
    assert done.returncode == 1
    [said] = done.stderr.splitlines()
    assert said.startswith("scripts/x: missing: g++ ")
    assert "none of apt-get, dnf and zypper" in said


def test_with_no_install_pip_is_not_called_either(tmp_path: Path) -> None:
    script = f"""
    program=scripts/x
    source "{ROOT}/scripts/lib.sh"
    venv="$HOME/venv" offline="$HOME/offline"
    find_python() {{ echo "$HOME/bin/python3"; }}
    ensure_python "$root/reports/requirements.txt"
    """
    done = ensure(tmp_path, ("python3",), "--no-install", script=script)
    assert done.returncode == 1
    assert "missing: the Python packages of reports/requirements.txt" in done.stderr
    assert " -m " not in (tmp_path / "asked").read_text()  # neither venv nor pip
