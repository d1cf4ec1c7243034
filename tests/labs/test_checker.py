"""The checker itself: limits, grades, outputs, and what instructors hand out."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import json
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from checker import build, course, device, grade, handout, show
from checker.course import Lab, LabError, neighbours, rounded
from checker.grade import (
    Part,
    Ran,
    Report,
    Submission,
    alike,
    fresh_seed,
    grade_predictions,
    grade_time,
    share_of_points,
)
from checker.sandbox import Limits, run

from .conftest import BUILD, LABS, ROOT


def cli(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "checker", "--build", str(BUILD), *words],
        cwd=cwd,
        env={"PYTHONPATH": str(ROOT / "labs"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


# --- limits ---------------------------------------------------------------------------------------


def python(tmp_path: Path, code: str, **limits: float) -> str:
    return run([sys.executable, "-c", code], tmp_path, Limits(**limits)).why


def test_who_loops_for_ever_loses_only_itself(tmp_path: Path) -> None:
    began = time.monotonic()
    assert "did not end within 1 s" in python(tmp_path, "while True: pass", seconds=1)
    assert time.monotonic() - began < 10


def test_who_sleeps_is_not_waited_for_either(tmp_path: Path) -> None:
    assert "did not end" in python(tmp_path, "import time; time.sleep(60)", seconds=0.5)


def test_memory_is_limited(tmp_path: Path) -> None:
    code = "import time; x = bytearray(300 << 20); time.sleep(30)"
    assert "of memory" in python(tmp_path, code, memory_bytes=100 << 20)


def test_output_is_limited(tmp_path: Path) -> None:
    assert "of output" in python(tmp_path, "while True: print('x' * 10000)", output_bytes=1 << 20)


def test_a_crash_is_named(tmp_path: Path) -> None:
    assert "SIGSEGV" in python(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")


def test_nobody_sees_the_instructors_environment(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SECRET", "42")
    ended = run([sys.executable, "-c", "import os; print('SECRET' in os.environ)"], tmp_path)
    assert (ended.returncode, ended.stdout.strip(), ended.why) == (0, "False", "")


# --- grades ---------------------------------------------------------------------------------------


def test_time_is_graded_between_its_two_ratios() -> None:
    assert share_of_points(0.5) == share_of_points(1.2) == 1
    assert share_of_points(10) == share_of_points(1000) == 0
    assert share_of_points((1.2 * 10) ** 0.5) == pytest.approx(0.5)


def test_every_timed_row_has_its_share_of_the_points_by_its_ratio() -> None:
    rows = {
        "lab/timed/a": {"real_time": 2.4, "time_unit": "us"},
        "lab/timed/b": {"real_time": 3.0, "time_unit": "us", "label": "dram"},
    }
    part = Part("time", 20)
    grade_time(rows, {"lab/timed/a": 2e-6, "lab/timed/b": 0.3e-6}, "the other", part)
    assert part.points == pytest.approx(10)
    assert part.lines == [
        "lab/timed/a: 2.4 us, 1.20 x the other",
        "lab/timed/b: 3 us, 10.00 x the other; bound by dram",
    ]


def test_answers_may_be_off_by_one_in_their_last_digit() -> None:
    assert "1.7e-01" in neighbours(0.1667, 2)
    assert "1.8e-01" in neighbours(0.1667, 2)
    assert "1.9e-01" not in neighbours(0.1667, 2)
    assert neighbours(4, 1) == [rounded(4, 1)] * 3
    assert neighbours(0, 2) == ["0.0e+00"]


def test_answers_that_no_question_asked_for_are_named(tmp_path: Path) -> None:
    answers = tmp_path / "answers.toml"
    answers.write_text('chunked_sector = 32\nnonsense = 1\nbytes_an_element = "12"\n')
    part = Part("predictions", 20)
    unanswered = grade_predictions(LABS[0], Submission(tmp_path, answers), part)
    assert unanswered == [prediction.id for prediction in LABS[0].predictions]
    assert "no question is called chunked_sector: did you mean chunked_sectors?" in part.lines
    assert any(line.startswith("no question is called nonsense: there are ") for line in part.lines)
    assert any(line.endswith("('12' is no number)") for line in part.lines)


def test_a_fault_is_told_once_for_all_shapes_that_have_it() -> None:
    wrong = {
        "lab/correct/n:1": "wrote 0 of 1 elements",
        "lab/correct/n:31": "wrote 0 of 31 elements",
        "lab/fresh": "element 3 is -1.5e-7, expected 2",
        "lab/other": "element 44 is 0.25, expected -2",
    }
    assert alike(wrong) == [
        "lab/correct/n:1: wrote 0 of 1 elements (alike: correct/n:31)",
        "lab/fresh: element 3 is -1.5e-7, expected 2 (alike: other)",
    ]
    many = alike({f"lab/correct/n:{n}": f"wrote 0 of {n} elements" for n in range(9)})
    assert len(many) == 1
    assert many[0].endswith("correct/n:5, 3 more)")


def test_a_student_has_a_seed_and_nobody_has_a_new_one() -> None:
    assert fresh_seed("ada") == fresh_seed("ada") != fresh_seed("alan")
    assert fresh_seed() != fresh_seed()


def test_99_point_96_is_not_shown_as_100() -> None:
    assert show.points(99.96) == "99.9"
    assert show.points(100) == "100"


def test_gradescope_adds_up() -> None:
    report = Report(
        LABS[0], "model:h200-sxm", 1, [Part("predictions", 20, 20), Part("time", 80, 3)]
    )
    told = show.as_gradescope(report)
    assert told["score"] == sum(test["score"] for test in told["tests"]) == 23
    assert [test["status"] for test in told["tests"]] == ["passed", "failed"]


# --- where there is a GPU -------------------------------------------------------------------------


def test_a_gpu_is_taken_where_the_lab_can_run_on_it(monkeypatch) -> None:
    one, eight = LABS[0], max(LABS, key=lambda lab: lab.gpus)
    assert (one.gpus, eight.gpus) == (1, 8)
    monkeypatch.setattr(device, "has", lambda lab, build, kind: kind == "-cuda")
    monkeypatch.setattr(device, "gpu_count", lambda: 2)
    assert device.device_for(one, BUILD, "auto") == device.device_for(one, BUILD, "cuda") == "cuda"
    assert device.device_for(one, BUILD, "model:l40s") == "model:l40s"
    assert device.device_for(eight, BUILD, "auto") == device.MODEL
    with pytest.raises(LabError, match="needs 8 GPUs, and there are 2"):
        device.device_for(eight, BUILD, "cuda")
    monkeypatch.setattr(device, "has", lambda lab, build, kind: False)
    assert device.device_for(one, BUILD, "auto") == device.MODEL
    with pytest.raises(LabError, match="without nvcc"):
        device.device_for(one, BUILD, "cuda")
    monkeypatch.setattr(device, "gpu_count", lambda: 0)
    assert device.device_for(one, BUILD, "auto") == device.MODEL


class Gpu:
    """Stands in for compilers and devices: solutions are right, and take as long as it is told."""

    def __init__(self, monkeypatch, seconds: dict[tuple[str, bool], float]) -> None:
        self.seconds = seconds  # by device and whether it is the reference
        self.wrong_on = ""
        self.compiled: list[tuple[str, str, bool]] = []  # file, kind, and whether it was looked at
        monkeypatch.setattr(grade, "prepare", lambda *_: None)
        monkeypatch.setattr(grade, "compile_solution", self.compile)
        monkeypatch.setattr(grade, "run_rows", self.run)
        monkeypatch.setattr(grade, "explained", lambda *_: ({"explanations": []}, ""))

    def compile(self, lab, build_folder, solution, into, kind="", look=None) -> build.Program:
        self.compiled.append((solution.name, kind, look is not None))
        return build.Program(solution, into / "solution.o")

    def run(self, program, here, on, seed, *flags, limits=None) -> Ran:
        row = {
            "real_time": self.seconds[on, program.path.parent.name == "reference"],
            "time_unit": "s",
        }
        if on == self.wrong_on:
            row |= {"error_occurred": True, "error_message": "element 0 is 1, expected 2"}
        return Ran({"lab/timed": row})

    def grade(self, lab: course.Lab, solution: Path) -> Report:
        answers = lab.folder / "reference" / "answers.toml"
        return grade.grade(lab, Submission(solution, answers), BUILD, device="cuda", seed=1)


@pytest.fixture
def quick_on_the_model(monkeypatch) -> Gpu:
    return Gpu(monkeypatch, {(device.MODEL, False): 1e-9, ("cuda", False): 6, ("cuda", True): 2})


def test_on_a_gpu_time_is_a_ratio_to_the_reference_there(
    quick_on_the_model: Gpu, tmp_path: Path
) -> None:
    solution = tmp_path / "solution.cuh"
    solution.write_text("// right\n")
    report = quick_on_the_model.grade(LABS[0], solution)
    part = report.part("time")
    assert part.points == pytest.approx(part.of * share_of_points(3))
    assert part.lines == ["lab/timed: 6e+06 us, 3.00 x the reference, measured here"]
    # The model's unit is the one that is searched for forbidden calls.
    assert quick_on_the_model.compiled == [
        ("solution.cuh", "", True),
        ("solution.cuh", "-cuda", False),
        ("solution.cuh", "-cuda", False),  # the reference's
    ]
    assert [line for line in report.part("correctness").lines if "right at all" in line] == [
        f"right at all 1 shapes, with the seed 1, on {on}" for on in (device.MODEL, "cuda")
    ]


def test_who_is_wrong_on_the_gpu_alone_is_wrong(quick_on_the_model: Gpu, tmp_path: Path) -> None:
    solution = tmp_path / "solution.cuh"
    solution.write_text("// wrong\n")
    quick_on_the_model.wrong_on = "cuda"
    report = quick_on_the_model.grade(LABS[0], solution)
    assert [part.points for part in report.parts[1:]] == [0, 0, 0]
    assert "element 0 is 1" in report.part("correctness").lines[-1]


def test_a_handout_has_no_reference_to_measure_and_models_time(
    quick_on_the_model: Gpu, tmp_path: Path
) -> None:
    folder = tmp_path / LABS[0].folder.name
    shutil.copytree(LABS[0].folder, folder)
    (folder / "reference" / "solution.cuh").unlink()
    solution = folder / "solution.cuh"
    part = quick_on_the_model.grade(course.load(folder), solution).part("time")
    assert part.points == part.of
    assert "the reference, modelled" in part.lines[0]


def test_nvcc_compiles_the_students_file_and_links_it(tmp_path: Path) -> None:
    lab = LABS[0]
    if not build.has(lab, BUILD, device.CUDA):
        pytest.skip(f"{BUILD} is configured without nvcc")
    unit, link = build._commands(lab, BUILD, device.CUDA)
    assert "nvcc" in " ".join(unit[:2])
    assert unit[unit.index("-o") + 1] in link
    assert link[link.index("-o") + 1] == f"lab-{lab.number}-cuda"


# --- the command line -----------------------------------------------------------------------------


def test_it_lists_the_labs() -> None:
    done = cli()
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert {line.index(lab.question) for line, lab in zip(lines, LABS, strict=False)} == {
        lines[0].index(LABS[0].question)
    }
    for line, lab in zip(lines, LABS, strict=False):
        assert line.startswith(f"{lab.number}  {lab.title}")


@pytest.mark.parametrize("words", [[], ["list"], ["hint", "01", "2"], ["--help"], ["01", "--help"]])
def test_what_needs_no_build_does_not_wait_for_one(words: list[str]) -> None:
    with (ROOT / "scripts" / "lib.sh").open() as lock:
        # Held by whoever builds here; where somebody does already, it is held as well.
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        done = subprocess.run(
            [ROOT / "scripts" / "lab", *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "waiting" not in done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["77"], "no lab '77'"),
        (["01", "--device=cude"], "--device=cude: there are auto, cuda and model:NAME"),
        (["01", "--solution=/nonexistent.cuh", "--no-predictions"], "/nonexistent.cuh"),
        (["hint", "01", "9"], "hints 1 to 3"),
        (["export", "--students", str(ROOT / "labs")], "not empty"),
    ],
)
def test_bad_input_is_one_clear_line(words: list[str], named: str) -> None:
    done = cli(*words)
    assert done.returncode == 2
    assert named in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_hints_come_in_three_steps() -> None:
    for lab in LABS:
        assert len(set(course.read_toml(lab.folder / "hints.toml")["hints"])) == 3
    told = [cli("hint", LABS[0].number, str(step)).stdout for step in (1, 2, 3)]
    assert [text.split(":")[0] for text in told] == [f"Hint {step} of 3" for step in (1, 2, 3)]
    assert len(set(told)) == 3


def test_a_broken_lab_file_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "labs" / "13-unlucky"
    folder.mkdir(parents=True)
    (folder / "lab.toml").write_text('title = "x"\n')
    with pytest.raises(LabError, match=r"lab\.toml: 'question'"):
        course.load(folder)


def test_grading_a_class_and_gradescope(prepared, tmp_path: Path) -> None:
    lab = LABS[0]
    for name, solution in (("ada", lab.reference), ("bob", lab.folder / "solution.cuh")):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "solution.cuh").write_text(solution.read_text())
        answers = lab.folder / "reference" / "answers.toml"
        (tmp_path / "class" / name / "answers.toml").write_text(answers.read_text())
    done = cli("class", lab.number, str(tmp_path / "class"), "--csv", str(tmp_path / "class.csv"))
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((tmp_path / "class.csv").open()))
    assert [(row["student"], row["total"]) for row in rows] == [("ada", "100.0"), ("bob", "20.0")]
    results = tmp_path / "out" / "results.json"
    done = cli(
        "gradescope",
        lab.number,
        "--submission",
        str(tmp_path / "class" / "ada"),
        "--results",
        str(results),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(results.read_text())["score"] == 100


# --- handouts -------------------------------------------------------------------------------------


def test_the_handout_has_no_answers_and_knows_right_from_wrong(tmp_path: Path) -> None:
    to = tmp_path / "handout"
    handout.export_students(ROOT, to)
    assert not list(to.glob("labs/*/reference"))
    lab = course.find(to, "01")
    assert not lab.reference.exists()
    sealed = course.seals(lab)
    prediction = lab.predictions[0]
    assert course.is_right(lab, prediction, 32, sealed[prediction.id])
    assert not course.is_right(lab, prediction, 16, sealed[prediction.id])
    text = "".join(path.read_text() for path in to.glob("labs/01-*/*") if path.is_file())
    assert "threadIdx.x;\n  for" not in text


def entries(text: str) -> list[str]:
    """Of a numbered list, each entry as one line, without its number."""
    parts = re.split(r"(?m)^\d+\. ", text)[1:]
    return [" ".join(part.split()) for part in parts]


def points_of(entry: str) -> list[str]:
    return re.findall(r"\*\((\d+ points?)\)\*", entry)


def words_of(text: str) -> list[str]:
    return re.findall(r"[A-Za-z']{2,}", text)


def phrases(rubric: str) -> list[str]:
    """What would give a rubric away: each six words in a row, or all of a shorter one."""
    words = words_of(re.sub(r"\*\(\d+ points?\)\*", "", rubric))
    return [f" {' '.join(words[i : i + 6])} " for i in range(max(1, len(words) - 5))]


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.folder.name)
def test_a_rubric_has_every_written_question_and_its_points(lab: Lab) -> None:
    page = (lab.folder / "README.md").read_text()
    questions = entries(page.split("## Explain\n")[1])
    rubrics = entries((lab.folder / "reference" / "rubric.md").read_text())
    assert len(questions) >= 3
    assert all(points_of(question) for question in questions)
    assert [points_of(one) for one in questions] == [points_of(one) for one in rubrics]


def test_the_handout_has_no_rubrics(tmp_path: Path) -> None:
    handout.export_students(ROOT, tmp_path / "handout")
    files = [path for path in (tmp_path / "handout" / "labs").rglob("*") if path.is_file()]
    # A page as it must not be: points, and behind them what they are for.
    assert [path for path in files if re.search(r"\(\d+\s+points?[:;,]", path.read_text())] == []
    texts = {path: f" {' '.join(words_of(path.read_text()))} " for path in files}
    for lab in LABS:
        for rubric in entries((lab.folder / "reference" / "rubric.md").read_text()):
            for phrase in phrases(rubric):
                assert [path for path, text in texts.items() if phrase in text] == [], phrase


def test_the_autograder_has_what_gradescope_calls(tmp_path: Path) -> None:
    bundle = tmp_path / "grader.zip"
    handout.export_autograder(ROOT, LABS[0], bundle)
    with zipfile.ZipFile(bundle) as files:
        names = set(files.namelist())
        for script in ("setup.sh", "run_autograder"):
            assert files.getinfo(script).external_attr >> 16 & 0o111
            assert f" {LABS[0].number}" in files.read(script).decode()
    assert {f"labs/{LABS[0].folder.name}/reference/solution.cuh", "scripts/lab"} <= names
    assert not [n for n in names if n.startswith("labs/02") and "reference" in n]
