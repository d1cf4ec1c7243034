"""scripts/validate-gpu with stand-ins for program and tools: what it runs, resumes and skips."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from reports.factory import make_document, make_row
from reports.profiles import metrics_of, ncu_csv

from .conftest import ROOT, run_script, stand_ins

FIGURES = {"blocks": 8, "traced_blocks": 8, "threads_per_block": 256, "registers": 20,
           "shared_bytes": 0, "resident_blocks": 8, "occupancy": 1.0,
           "global_load_requests": 64, "global_load_sectors": 256}  # fmt: skip
LAUNCHES = [{"kernel": "stream::copy<float>", "times": 1, "figures": FIGURES}]
FLOOR = make_row("launch_overhead/empty_row/by:stream/launches:1", 2.5e-6,
                 empty_kernel_seconds=2.5e-6, model_seconds=2.4e-6)  # fmt: skip
COPY = make_row("stream/copy/n:1", 1e-3, launches=LAUNCHES, model_seconds=1.1e-3,
                ci_low_seconds=0.99e-3, ci_high_seconds=1.01e-3)  # fmt: skip
# Notes how it was called; lists two concepts; copies the result file, whatever was asked for.
PROGRAM = """#!/bin/bash
here="$(dirname "$0")"
echo "$(basename "$0") $*" >>"$here/calls"
for argument in "$@"; do
  case "$argument" in
    --benchmark_list_tests) printf 'launch_overhead/empty_row/n:1\\nstream/copy/n:1\\n'; exit 0 ;;
    --list_devices | --version) exit 0 ;;
    --benchmark_out=*) out="${argument#*=}" ;;
  esac
done
kind=document
[[ "$*" != *--device=model:* ]] || kind=modelled
[[ -z "${out:-}" ]] || cp "$here/$kind.json" "$out"
exit "$(cat "$here/status" 2>/dev/null || echo 0)"
"""
NCU = """#!/bin/bash
echo "ncu $*" >>"{tree}/build/calls"
while [[ "$1" != --log-file ]]; do shift; done
cp "{tree}/profile.csv" "$2"
"""
SANITIZER = """#!/bin/bash
echo "compute-sanitizer $*" >>"{tree}/build/calls"
[[ "$*" != *racecheck*StreamKernels* ]] || {{ echo "{said}"; exit {racecheck}; }}
"""
# Its tests, in two suites; notes how it was called otherwise.
KERNEL_TESTS = """#!/bin/bash
if [[ "$*" == *--gtest_list_tests* ]]; then
  printf 'StreamKernels.\\n  Copy\\nBankKernels.\\n  Tile\\n'
  exit 0
fi
echo "unit tests $*" >>"{tree}/build/calls"
echo last line
exit {status}
"""


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tree = tmp_path / "gpu bench"
    tree.mkdir()
    rows = [FLOOR, COPY]
    stand_ins(tree, "validate-gpu", PROGRAM, rows)
    shutil.copytree(ROOT / "scripts/validate", tree / "scripts/validate")
    modelled = make_document(rows, device_kind="model")
    (tree / "build/modelled.json").write_text(json.dumps(modelled))
    executable(tree / "build/gpubench-cuda", PROGRAM)
    # Validations are drawn, which takes longer than all else here, and are tested elsewhere.
    report = (tree / ".venv/bin/gpubench-report").read_text()
    noted = '#!/bin/sh\n[ "$1" != validate ] || { echo "$@"; exit 0; }'
    executable(tree / ".venv/bin/gpubench-report", report.replace("#!/bin/sh", noted))
    executable(tree / ".venv/bin/python", '#!/bin/sh\nexec python3 "$@"\n')
    shutil.copytree(ROOT / "harness/devices", tree / "harness/devices")
    executable(tree / "bin/nvidia-smi", "#!/bin/sh\necho 9.0\n")
    executable(tree / "bin/no-python", "#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("PATH", f"{tree / 'bin'}:{os.environ['PATH']}")
    return tree


def on_a_gpu(
    tree: Path, racecheck: int = 0, said: str = "1 hazard", registers: int = 20, status: int = 0
) -> None:
    (tree / "gpu").touch()
    executable(tree / "bin/ncu", NCU.format(tree=tree))
    sanitizer = SANITIZER.format(tree=tree, racecheck=racecheck, said=said)
    executable(tree / "bin/compute-sanitizer", sanitizer)
    tests = KERNEL_TESTS.format(tree=tree, status=status)
    executable(tree / "build/gpubench-kernel-tests", tests)
    metrics = metrics_of(FIGURES | {"registers": registers}) | {"gpu__time_duration.sum": 1e6}
    profile = ncu_csv([("stream/copy/n:1", "void stream::copy<float>(float *)", metrics)])
    (tree / "profile.csv").write_text(profile)


def validate(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_script(tree, "validate-gpu", "--out=out", *arguments)


def verdicts(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Of the summary at the end, what came of each step."""
    lines = done.stdout.partition("== summary")[2].splitlines()[1:]
    return {line[9:33].strip(): (line[:8].strip(), line[34:]) for line in lines if line}


def calls(tree: Path) -> str:
    return (tree / "build/calls").read_text()


SANITIZERS = [f"sanitize-{tool}" for tool in ("memcheck", "racecheck", "synccheck", "initcheck")]


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
    assert "1 launches compared" in (tree / "out/counters.txt").read_text()
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
    assert re.search(r"\| prediction of rows that DRAM or L2 binds, calibrated \|", goals)
    assert "suite-2.json" in goals


def test_what_measures_comes_before_what_sanitizes_and_python_last(tree: Path) -> None:
    on_a_gpu(tree)
    done = validate(tree, f"--python={tree / 'bin/no-python'}")
    steps = list(verdicts(done))
    order = ["build", "suite-1", "suite-2", "counted", "profile", "unit-tests", *SANITIZERS]
    order += ["python", "agreement", "goals"]
    assert [step for step in steps if step in order] == order


def test_measuring_needs_no_python_package(tree: Path) -> None:
    """The stages that need the GPU make do with the machine's own Python."""
    on_a_gpu(tree)
    shutil.rmtree(tree / ".venv")
    (tree / "reports").symlink_to(ROOT / "reports")
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


MODEL = "--device=model:h200-sxm"


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
        (("--device=model:",), "one of a100-80-sxm, b200, "),
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


def test_help_is_the_head_of_the_script(tree: Path) -> None:
    for flag in ("-h", "--help"):
        done = validate(tree, flag)
        assert (done.returncode, done.stderr) == (0, "")
        assert "--stage=3" in done.stdout
        assert "set -euo" not in done.stdout
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
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
                       cwd=tree, check=True, capture_output=True)  # fmt: skip

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
