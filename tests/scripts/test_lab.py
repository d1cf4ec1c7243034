"""scripts/lab: what is wrong with a command line is said before anything is built."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT, run_script

# What builds only says that it did.
LIBRARY = f"""
root="$(cd -- "$(dirname -- "${{BASH_SOURCE[0]}}")/.." && pwd -P)"
ensure_packages() {{ :; }}
for name in lock_checkout unlock_checkout ensure_build_packages ensure_configured; do
  eval "$name() {{ echo $name >>\\"\\$root/built\\"; }}"
done
find_python() {{ echo "{sys.executable}"; }}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "gpu bench"
    (tree / "scripts").mkdir(parents=True)
    (tree / "scripts/lib.sh").write_text(LIBRARY)
    shutil.copy(ROOT / "scripts/lab", tree / "scripts")
    shutil.copytree(ROOT / "labs", tree / "labs")
    return tree


def lab(tree: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], bool]:
    """What came of it, and whether it began to build."""
    return run_script(tree, "lab", *words), (tree / "built").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("77",), "no lab '77'; there are: 01-coalescing, "),
        (("check", "77", "--watch"), "no lab '77'"),
        (("expected", "77"), "no lab '77'"),
        (("02", "--wtach"), "unrecognized arguments: --wtach"),
        (("02", "--seed=x"), "--seed: invalid int value: 'x'"),
    ],
)
def test_mistakes_are_told_before_a_build(tree: Path, words: tuple[str, ...], why: str) -> None:
    done, built = lab(tree, *words)
    assert (done.returncode, done.stdout, built) == (2, "", False)
    assert why in done.stderr


def test_a_lab_that_there_is_gets_its_build(tree: Path) -> None:
    done, built = lab(tree, "01")
    assert (done.returncode, built) == (1, True)
    assert "predict first" in done.stdout


def test_a_list_and_a_hint_need_none(tree: Path) -> None:
    for words in ((), ("list",), ("hint", "02", "1"), ("02", "--help")):
        done, built = lab(tree, *words)
        assert (done.returncode, done.stderr, built) == (0, "", False), words
        assert done.stdout
    assert lab(tree, "hint", "77")[0].returncode == 2
