"""scripts/release, around stand-ins for what takes long: the build, cpack and pip."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .conftest import LIBRARY, ROOT

MORE = """
offline="$root/.offline"
quietly() { "$@" >/dev/null; }
find_python() { command -v python-of-a-test; }
"""
# Makes environments that hold itself, and wheels.
PYTHON = """#!/bin/bash
if [[ "$2" == venv ]]; then
  mkdir -p "$3/bin" && cp "$0" "$3/bin/python"
else
  [[ -e "${*: -1}/pyproject.toml" ]] && : >"$6/gpubench_reports-1.2.3-py3-none-any.whl"
fi
"""
CPACK = """#!/bin/bash
[[ ! -e "$(dirname -- "$0")/broken" ]] || exit 1
mkdir -p "$4"
: >"$4/gpubench-1.2.3-linux-x86_64.tar.gz" >"$4/gpubench_1.2.3_amd64.deb"
: >"$4/gpubench-1.2.3-1.x86_64.rpm"
"""
MADE = {
    "gpubench-1.2.3.tar.gz",
    "gpubench-1.2.3-offline.tar.gz",
    "gpubench-1.2.3-linux-x86_64.tar.gz",
    "gpubench_1.2.3_amd64.deb",
    "gpubench-1.2.3-1.x86_64.rpm",
    "gpubench_reports-1.2.3-py3-none-any.whl",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout of version 1.2.3 with nothing changed, in a folder with a space."""
    files = {
        "scripts/release": (ROOT / "scripts/release").read_text(),
        "scripts/lib.sh": LIBRARY + MORE,
        "CMakeLists.txt": "project(gpubench VERSION 1.2.3 LANGUAGES CXX)\n",
        "CHANGELOG.md": "# Changelog\n\n## [1.2.3] - 2026-01-01\n",
        "reports/pyproject.toml": "",
        ".gitignore": "/.offline/\n/dist/\n",
        ".offline/python": "",
    }
    root = tmp_path / "check out"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "scripts/release").chmod(0o755)
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "All"]):
        subprocess.run([*git, *words], check=True)
    for name, text in (("python-of-a-test", PYTHON), ("cpack", CPACK)):
        tool = tmp_path / "bin" / name
        tool.parent.mkdir(exist_ok=True)
        tool.write_text(text)
        tool.chmod(0o755)
    return root


def release(tree: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [tree / "scripts/release", *words],
        cwd=tree.parent,
        env={**os.environ, "PATH": f"{tree.parent / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(("words", "where"), [([], "check out/dist"), (["our dist"], "our dist")])
def test_a_release_is_every_artefact_and_their_checksums(
    tree: Path, words: list[str], where: str
) -> None:
    code, said = release(tree, *words)
    assert code == 0, said
    folder = tree.parent / where
    assert {path.name for path in folder.iterdir()} == {*MADE, "SHA256SUMS"}
    check = ["sha256sum", "-c", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=folder, check=False).returncode == 0
    listed = (folder / "SHA256SUMS").read_text().splitlines()
    assert {line.split("  ")[1] for line in listed} == MADE
    source = subprocess.run(
        ["tar", "-tzf", folder / "gpubench-1.2.3.tar.gz"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "gpubench-1.2.3/CHANGELOG.md" in source
    assert ".offline" not in source


def test_a_release_is_of_a_commit_that_the_changelog_knows(tree: Path) -> None:
    (tree / "mine").touch()
    assert release(tree) == (
        1,
        "scripts/release: git status is not clean: a release is of a commit\n",
    )
    (tree / "mine").unlink()
    (tree / "CHANGELOG.md").write_text("# Changelog\n")
    subprocess.run(["git", "-C", tree, "update-index", "--assume-unchanged", "CHANGELOG.md"])
    assert release(tree) == (1, "scripts/release: CHANGELOG.md has no section [1.2.3]\n")
    assert not (tree / "dist").exists()


def test_a_release_that_cannot_be_made_leaves_nothing(tree: Path) -> None:
    (tree.parent / "bin/broken").touch()
    code, said = release(tree, "new")
    assert code == 1
    assert said.endswith("scripts/release: cpack failed\n")
    assert not (tree.parent / "new").exists()
    (tree.parent / "old").mkdir()
    code, said = release(tree, "old")
    assert code == 1
    assert said.endswith("old exists; name another folder, or remove it\n")
    (tree.parent / "file").touch()
    code, said = release(tree, "file/new")
    assert code == 1
    assert said == f"scripts/release: {tree.parent}/file/new: cannot write here\n"
