"""scripts/validate-gpu with stand-ins for program and tools: what it runs, resumes and skips."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from reports.factory import make_document

from .conftest import ROOT, run_script
from .validating import (
    COPY,
    MODEL,
    SANITIZERS,
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


def test_a_rehearsal_runs_what_needs_no_gpu_and_names_the_rest(tree: Path) -> None:
    done = validate(tree, "--device=model:h200-sxm")
    assert done.returncode == 0, done.stdout + done.stderr
    found = verdicts(done)
    passed = {name for name, (verdict, _) in found.items() if verdict == "passed"}
    measured = {"build", "roofs", "suite-1", "gate-1", "suite-2", "gate-2", "hot", "calibration"}
    assert passed == measured | {"counted", "python", "agreement", "calibrated", "claims"}
    skipped = {name: why for name, (verdict, why) in found.items() if verdict == "skipped"}
    assert set(skipped) == {"device", "profile", "unit-tests", "counters", "validation", "peers"}
    assert all(why.strip() for why in skipped.values())
    assert "--suite=quick" in calls(tree)
    assert json.loads((tree / "out/calibrated/h200-sxm.json").read_text())["name"] == "h200-sxm"
    assert "summary" in (tree / "out/summary.txt").read_text()


def test_a_rehearsal_may_be_on_an_unkind_device(tree: Path) -> None:
    (tree / "late.json").write_text("{}")
    done = validate(tree, MODEL, "--stage=1", "--conditions=late.json")
    assert done.returncode == 0, done.stdout + done.stderr
    runs = [call for call in calls(tree).splitlines() if "--benchmark_out" in call]
    assert len(runs) == 2
    assert all("--conditions=late.json" in call for call in runs)
    (tree / "late.json").write_text("{ }")
    other = validate(tree, MODEL, "--stage=1", "--conditions=late.json")
    assert (other.returncode, other.stdout) == (2, "")
    assert "conditions" in other.stderr


def test_all_stages_on_a_gpu(tree: Path) -> None:
    on_a_gpu(tree)
    (tree / "nvcc").touch()
    done = validate(tree, f"--python={tree / 'bin/no-python'}")
    assert done.returncode == 0, done.stdout + done.stderr
    found = verdicts(done)
    assert {verdict for verdict, _ in found.values()} == {"passed", "skipped"}
    skipped = {name for name, (verdict, _) in found.items() if verdict == "skipped"}
    peers = ("pytorch", "BabelStream", "gpu-benches", "mixbench", "nvbandwidth", "nvbench")
    assert skipped == {f"peers: {name}" for name in (*peers, "nccl-tests")}
    made = calls(tree)
    assert made.count("--tool ") == 4 * 2
    assert "ncu --profile-from-start off --nvtx --clock-control none --cache-control none" in made
    # A kernel is the question: what measures launches is not profiled.
    assert made.count("\nncu ") == 1
    assert "launches compared: 1" in (tree / "out/counters.txt").read_text()
    # What was predicted on the way from the shipped file, and afresh from the calibrated one.
    assert "out/suite-1.json --out=" in (tree / "out/validation.txt").read_text()
    afresh = (tree / "out/validation-calibrated.txt").read_text()
    assert "out/suite-2.json" in afresh
    assert "out/predicted.json" in afresh
    assert re.search(r"--predict --benchmark_out=\S*suite-1\.json", made)
    assert not re.search(r"--predict --benchmark_out=\S*suite-2\.json", made)
    assert "--device=model:" in made
    # The claims are put to the measured rows.
    assert "not tested" in (tree / "out/claims.txt").read_text()
    assert "suite-1.json" in (tree / "out/claims.txt").read_text()
    assert (tree / "out/claims.md").read_text().startswith("## Claims: NVIDIA H200")
    assert "absent" in (tree / "out/goals.txt").read_text()
    goals = (tree / "out/goals.md").read_text()
    assert re.search(r"\| prediction error of rows that DRAM or L2 binds, calibrated \|", goals)
    assert "suite-2.json" in goals
    # What measures comes before what sanitizes, and Python last.
    order = ["build", "suite-1", "suite-2", "counted", "profile", "unit-tests", *SANITIZERS]
    order += ["python", "agreement", "goals"]
    assert [step for step in found if step in order] == order


def test_measuring_needs_no_python_package(tree: Path) -> None:
    """The stages that need the GPU make do with the machine's own Python."""
    on_a_gpu(tree)
    shutil.rmtree(tree / ".venv")
    (tree / "reports").symlink_to(ROOT / "reports")
    bare = f'#!/bin/sh\nexec "{sys.base_prefix}/bin/python3" -S "$@"\n'
    executable(tree / "bin/python3", bare)
    library = tree / "scripts/lib.sh"
    no_packages = 'ensure_python() { die "pip install failed"; }'
    library.write_text(f"{library.read_text()}\n{no_packages}\n")
    done = validate(tree, f"--python={tree / 'bin/no-python'}")
    found = verdicts(done)
    assert {found[name][0] for name in ("suite-2", "calibration", "profile", "unit-tests")} == {
        "passed"
    }
    assert done.returncode == 1
    assert "pip install failed" in found["python"][1]


def test_a_gate_that_timed_out_fails(tree: Path) -> None:
    on_a_gpu(tree)
    document = tree / "build/document.json"
    text = json.dumps(make_document([COPY | {"gate_timeouts": 1}]), indent=2)
    document.write_text(text)
    done = validate(tree, "--stage=1")
    assert done.returncode == 1
    verdict, words = verdicts(done)["gate-1"]
    assert verdict == "FAILED"
    assert '"gate_timeouts": 1' in words


@pytest.mark.parametrize("status", [0, 1])
def test_unit_tests_are_built_and_run_where_there_is_nvcc(tree: Path, status: int) -> None:
    on_a_gpu(tree, status=status)
    (tree / "nvcc").touch()
    library = tree / "scripts/lib.sh"
    noted = 'ensure_built() { echo "built $*" >>"$root/build/calls"; }'
    library.write_text(f"{library.read_text()}\n{noted}\n")
    done = validate(tree, "--stage=1,4", "--device=cuda:0")
    assert done.returncode == status, done.stdout + done.stderr
    verdict, words = verdicts(done)["unit-tests"]
    assert verdict == ("FAILED" if status else "passed")
    assert ("exit code 1: last line" in words) == bool(status)
    made = calls(tree)
    assert re.search(r"built release \S.* gpubench\n", made)
    assert re.search(
        r"built release \S.* gpubench-kernel-tests\nunit tests --device=cuda:0\n", made
    )
    # What has passed is done, unless the tests are others.
    (tree / "tests").mkdir()
    (tree / "tests/a_test.cpp").touch()
    again = validate(tree, "--stage=4", "--device=cuda:0")
    assert verdicts(again)["unit-tests"][0] == ("FAILED" if status else "passed")
    same = validate(tree, "--stage=4", "--device=cuda:0")
    assert verdicts(same)["unit-tests"][0] == ("FAILED" if status else "done")


def test_unit_tests_that_do_not_build_have_failed(tree: Path) -> None:
    on_a_gpu(tree)
    (tree / "nvcc").touch()
    library = tree / "scripts/lib.sh"
    fails = 'ensure_built() { [[ "$3" != gpubench-kernel-tests ]] || die "the build failed"; }'
    library.write_text(f"{library.read_text()}\n{fails}\n")
    done = validate(tree, "--stage=1,4")
    assert done.returncode == 1
    assert "the build failed" in verdicts(done)["build-tests"][1]
    assert "unit-tests" not in verdicts(done)


@pytest.mark.release  # runs the suite once more
def test_a_row_that_fails_fails_its_step_only(tree: Path) -> None:
    on_a_gpu(tree)
    (tree / "build/status").write_text("1")
    done = validate(tree, "--stage=1,5")
    assert done.returncode == 1
    assert verdicts(done)["roofs"][0] == "FAILED"
    assert verdicts(done)["agreement"][0] == "skipped"


def test_counters_that_are_not_permitted_are_skipped_with_the_reason(tree: Path) -> None:
    on_a_gpu(tree)
    (tree / "profile.csv").write_text("==ERROR== ERR_NVGPUCTRPERM - no permission\n")
    done = validate(tree, "--stage=3")
    assert done.returncode == 0, done.stdout
    verdict, why = verdicts(done)["profile"]
    assert (verdict, "ERR_NVGPUCTRPERM" in why) == ("skipped", True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no GPU here"),
        (("--stage=9",), "--stage=9: takes numbers from 1 to 5"),
        (("--stage=",), "--stage=: takes numbers from 1 to 5"),
        ((MODEL, "--stage=1,9"), "takes numbers from 1 to 5"),
        (("--stage", "3"), "--stage: takes a value, as in --stage=VALUE"),
        (("--seconds=1x",), "--seconds=1x: takes a whole number"),
        (("--seconds=08",), "--seconds=08: takes a whole number"),
        (("--processes=2 3",), "--processes=2 3: takes a whole number"),
        (("--processes=99999",), "from 1 to 999"),
        (("--suite=x",), "--suite=x: takes quick, default or full"),
        (("--sizes=small",), "unknown argument --sizes=small"),
        ((MODEL, "--sources=nowhere"), "--sources=nowhere: there is no such folder"),
        ((MODEL, "--conditions=none"), "--conditions=none: cannot read this file"),
        (("--device=bogus",), "--device=bogus: takes auto, cuda, cuda:N or model:NAME"),
        (("--device=model:",), "one of a100-40-sxm, a100-80-sxm, b200, "),
        (("--device=model:bogus",), "--device=model:bogus: no model of a GPU"),
        (("--device=model:tpu-v4",), "no model of a GPU"),
        (("--device=model:nowhere.json",), "no model of a GPU"),
    ],
)
def test_mistakes_are_one_line_and_2(tree: Path, arguments: tuple[str, ...], words: str) -> None:
    done = validate(tree, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("scripts/validate-gpu: ")
    assert words in line
    assert not (tree / "out").exists()


def test_a_folder_that_cannot_be_made_is_one_line(tree: Path) -> None:
    (tree / "file").touch()
    done = run_script(tree, "validate-gpu", MODEL, "--out=file/x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "scripts/validate-gpu: --out=file/x: cannot make this folder or write in it\n"
    )


def test_a_stage_that_nothing_was_built_for_does_not_pass(tree: Path) -> None:
    (tree / "build/gpubench").unlink()
    done = validate(tree, MODEL, "--stage=4")
    assert (done.returncode, done.stdout) == (2, "")
    assert "gpubench is not built; --stage=1 builds it" in done.stderr
    assert not (tree / "out").exists()
