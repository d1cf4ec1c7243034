"""scripts/validate-gpu where it goes on: what is done stays, what has changed is done again."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import run_script
from .validating import (
    MODEL,
    calls,
    executable,
    make_tree,
    on_a_gpu,
    validate,
    verdicts,
)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_tree(tmp_path, monkeypatch)


def test_a_second_run_repeats_nothing_that_has_passed(tree: Path) -> None:
    on_a_gpu(tree, racecheck=99)
    first = validate(tree, "--stage=4")
    assert first.returncode == 1
    verdict, words = verdicts(first)["sanitize-racecheck"]
    assert (verdict, "exit code 99" in words) == ("FAILED", True)
    assert "1 hazard" in (tree / "out/sanitize-racecheck-StreamKernels.txt").read_text()
    # It did not stop what comes after it.
    assert verdicts(first)["sanitize-synccheck"][0] == "passed"
    on_a_gpu(tree)
    (tree / "build/calls").unlink()
    second = validate(tree, "--stage=4")
    assert second.returncode == 0, second.stdout
    assert calls(tree).count("--tool ") == 1
    assert verdicts(second)["unit-tests"][0] == "done"


def test_a_sanitizers_warning_is_kept_and_its_refusal_skips_it(tree: Path) -> None:
    on_a_gpu(tree, said="RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)")
    done = validate(tree, "--stage=4")
    assert done.returncode == 0, done.stdout
    assert "StreamKernels: " in (tree / "out/sanitize-warnings.txt").read_text()
    shutil.rmtree(tree / "out")
    on_a_gpu(tree, racecheck=1, said="Error: Device not supported by racecheck")
    done = validate(tree, "--stage=4")
    assert done.returncode == 0, done.stdout
    verdict, why = verdicts(done)["sanitize-racecheck"]
    assert (verdict, "Device not supported" in why) == ("skipped", True)


def test_the_folder_may_go_on_on_another_machine(tree: Path, tmp_path: Path) -> None:
    on_a_gpu(tree)
    assert validate(tree, "--stage=1").returncode == 0
    other = tmp_path / "elsewhere"
    shutil.copytree(tree, other, symlinks=True)
    (other / "build/calls").unlink()
    done = validate(other, "--stage=1,3")
    assert done.returncode == 0, done.stdout + done.stderr
    found = verdicts(done)
    assert [found[name][0] for name in ("build", "suite-1", "counted")] == [
        "done",
        "done",
        "passed",
    ]


def test_time_that_is_up_is_no_failure(tree: Path) -> None:
    on_a_gpu(tree)
    program = (tree / "build/gpubench").read_text()
    sleeps = '[[ "$*" == *--roofs* ]] && exec sleep 60\nkind=document'
    executable(tree / "build/gpubench", program.replace("kind=document", sleeps))
    done = validate(tree, "--stage=1", "--seconds=2")
    assert done.returncode == 3, done.stdout
    assert verdicts(done)["roofs"][0] == "not yet"
    assert verdicts(done)["suite-1"][0] == "not yet"
    assert not (tree / "out/.done/roofs").exists()


def test_another_suite_is_not_done(tree: Path) -> None:
    for suite in ("quick", "full", "full"):
        done = run_script(tree, "validate-gpu", MODEL, "--stage=3", f"--suite={suite}")
        assert done.returncode == 0, done.stderr
    assert verdicts(done)["counted"][0] == "done"
    made = calls(tree)
    assert [made.count(f"--suite={suite} --profile") for suite in ("quick", "full")] == [1, 1]
    # A folder that is named holds one of the two only.
    assert validate(tree, MODEL, "--stage=3", "--suite=quick").returncode == 0
    other = validate(tree, MODEL, "--stage=3", "--suite=full")
    assert (other.returncode, other.stdout) == (2, "")
    [line] = other.stderr.splitlines()
    assert re.search(r"out holds a run of .*--suite=quick.*; this is .*--suite=full", line)


@pytest.mark.release  # the slowest of this folder
def test_more_processes_and_other_sources_are_compared_anew(tree: Path) -> None:
    on_a_gpu(tree)
    for name in ("one", "two"):
        (tree / name).mkdir()
    python = f"--python={tree / 'bin/no-python'}"
    report = tree / ".venv/bin/gpubench-report"  # what it makes of a folder is not the question
    executable(report, report.read_text().replace("\n", '\n[ "$1" != goals ] || exit 0\n', 1))
    first = validate(tree, "--stage=1,2,5", "--processes=2", "--sources=one", python)
    assert first.returncode == 0, first.stdout + first.stderr
    again = verdicts(validate(tree, "--stage=2,5", "--processes=3", "--sources=two", python))
    assert [again[name][0] for name in ("suite-2", "suite-3", "agreement", "peers")] == [
        "done",
        "passed",
        "passed",
        "passed",
    ]
    same = verdicts(validate(tree, "--stage=5", "--processes=3", "--sources=two", python))
    assert same["peers"][0] == "done"


def test_an_edit_is_not_done(tree: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
            cwd=tree,
            check=True,
            capture_output=True,
        )

    def folder() -> str:
        before = set((tree / "results/local").glob("*"))
        done = run_script(tree, "validate-gpu", MODEL, "--stage=4")
        assert done.returncode == 0, done.stderr
        [*made] = set((tree / "results/local").glob("*")) - before
        return made[0].name if made else ""

    git("init", "-q")
    git("add", "harness", "scripts")
    git("commit", "-q", "-m", "a")
    assert re.fullmatch(r"validate-model-h200-sxm-[0-9a-f]{12}-quick", folder())
    assert folder() == ""
    kernel = tree / "harness/kernel.cuh"
    kernel.write_text("1")
    assert re.fullmatch(r"validate-model-h200-sxm-[0-9a-f]{12}-edited-\d+-quick", folder())
    assert folder() == ""
    kernel.write_text("2")
    assert "-edited-" in folder()
    kernel.unlink()
    assert folder() == ""
