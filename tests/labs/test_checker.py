"""The checker itself: grades, outputs, and its command line."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from checker import build, counters, course, device, grade, show, timing
from checker.course import LabError, neighbours, rounded
from checker.grade import alike, fresh_seed
from checker.predictions import grade_predictions
from checker.report import Part, Report, Submission
from checker.running import Ran
from checker.timing import grade_time, share_of_points

from .command import cli, started
from .conftest import BUILD, LABS, ROOT


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
    grade_time(rows, {"lab/timed/a": 2e-6, "lab/timed/b": 0.3e-6}, "the other", part, {})
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
    assert neighbours(1.79e308, 2) == ["1.8e+308"]  # which no double is


def test_answers_that_no_question_asked_for_are_named(tmp_path: Path) -> None:
    answers = tmp_path / "answers.toml"
    answers.write_text('chunked_sector = 32\nnonsense = 1\nbytes_an_element = "twelve"\n')
    part = Part("predictions", 20)
    unanswered, _ = grade_predictions(LABS[0], Submission(tmp_path, answers), part)
    assert unanswered == [prediction.id for prediction in LABS[0].predictions]
    assert "no question is called chunked_sector: did you mean chunked_sectors?" in part.lines
    assert any(line.startswith("no question is called nonsense: there are ") for line in part.lines)
    assert any(line.endswith("('twelve' is not a number)") for line in part.lines)


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


def test_a_file_that_is_away_for_a_moment_does_not_end_the_watch(tmp_path: Path) -> None:
    solution, away = tmp_path / "solution.cuh", tmp_path / "away"
    shutil.copy(LABS[0].folder / "solution.cuh", solution)
    answers = LABS[0].folder / "answers.toml"
    words = ("check", "01", "--watch", "--solution", str(solution), "--answers", str(answers))
    with started(*words) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        try:
            next(line for line in child.stdout if line.startswith("total"))
            solution.rename(away)
            assert "No such file" in child.stderr.readline()
            away.rename(solution)
            assert any(line.startswith("total") for line in child.stdout)
        finally:
            child.kill()


def test_nobody_knows_a_seed_before() -> None:
    seeds = {fresh_seed() for _ in range(100)}
    assert len(seeds) == 100
    assert max(len(str(seed)) for seed in seeds) <= 15  # digits, which a spreadsheet keeps


def test_99_point_96_is_not_shown_as_100() -> None:
    assert show.points(99.96) == "99.9"
    assert show.points(100) == "100"


def test_no_line_is_as_long_as_a_solution_likes() -> None:
    long = "_Z" + "x" * 240_000
    report = Report(LABS[0], "model:h200-sxm", 1, [Part("correctness", 20, 0, [long, long])])
    assert len(show.as_text(report)) < 2000
    assert len(show.as_gradescope(report)["tests"][0]["output"]) < 1000
    assert len(show.as_summary("anna", report)["remark"]) < 500
    assert len(show.as_ungraded("anna", "01", long)["remark"]) < 500


@pytest.mark.parametrize(
    ("lines", "remark"),
    [
        (
            ["does not compile:", "solution.cuh:1:2: error: a"],
            "does not compile: solution",
        ),
        (["right  a = 1", "wrong  b = 2. Think of this: c"], "wrong  b = 2. Think of this: c"),
        (["right at all 7 shapes"], "right at all 7 shapes"),
        (["heading:"], "heading:"),
        (["solution.cuh:3:5: warning: unused", "lab/timed: race: a"], "lab/timed: race: a"),
        (["solution.cuh:3:5: warning: unused"], "solution.cuh:3:5: warning: unused"),
    ],
)
def test_a_remark_says_what_cost_the_points(lines: list[str], remark: str) -> None:
    report = Report(LABS[0], "model:h200-sxm", 1, [Part("correctness", 20, 0, lines)])
    assert show.as_summary("anna", report)["remark"].startswith(remark)


def test_gradescope_adds_up() -> None:
    report = Report(
        LABS[0], "model:h200-sxm", 1, [Part("predictions", 20, 20), Part("time", 80, 3)]
    )
    told = show.as_gradescope(report)
    assert told["score"] == sum(test["score"] for test in told["tests"]) == 23
    assert [test["status"] for test in told["tests"]] == ["passed", "failed"]


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
        for user in (grade, timing):
            monkeypatch.setattr(user, "compile_solution", self.compile)
            monkeypatch.setattr(user, "run_rows", self.run)
        monkeypatch.setattr(counters, "explained", lambda *_: ({"explanations": []}, ""))

    def compile(self, lab, build_folder, solution, into, kind="", look=None) -> build.Program:
        self.compiled.append((solution.name, kind, look is not None))
        return build.Program(solution, into / "solution.o")

    def run(self, program, here, on, seed, *flags, limits=None) -> Ran:
        row = {
            "real_time": self.seconds[on, program.path.parent.name == "reference"],
            "time_unit": "s",
            "atomic_bytes": 0.0,
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


@pytest.mark.parametrize(
    "line",
    [
        "unit.cu:6:40: error: '::axpy' has not been declared; did you mean 'lab::axpy'?",
        "unit.cu:6:40: error: ‘::axpy’ has not been declared; did you mean ‘lab::axpy’?",
        "unit.cu:6:40: error: no member named 'axpy' in the global namespace",
        'unit.cu(6): error: the global scope has no "axpy"',
    ],
)
def test_a_kernel_that_is_not_there_is_missed_in_the_solution(line: str) -> None:
    said = build.plain_messages(f"{line}\n", Path("/x/solution.cuh"))
    assert said == ["solution.cuh: error: does not define axpy"]


def test_a_kernel_of_another_type_is_told_by_its_parameters() -> None:
    line = "/x/unit.cu:6:34: error: invalid conversion from 'void (*)(float, int)' to "
    for to in (
        "'void (*)(unsigned int)' [-fpermissive]",
        "'lab::Kernel* {aka 'void (*)(unsigned int)'}'",
    ):
        (said,) = build.plain_messages(f"{line}{to}\n", Path("/x/solution.cuh"))
        assert said == (
            "solution.cuh: error: a kernel takes (float, int), and the lab launches it with "
            "(unsigned int)"
        )


def test_two_checkers_do_not_build_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "build.ninja").touch()
    building: list[str] = []
    seen = []

    def ninja(_: Path, target: str) -> str:
        building.append(target)
        time.sleep(0.05)
        seen.append(len(building))
        building.remove(target)
        return ""

    monkeypatch.setattr(build, "_ninja", ninja)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda lab: build.prepare(lab, tmp_path), LABS[:3]))
    assert seen == [1, 1, 1]


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
    with pytest.raises(LabError, match=r"lab\.toml: has no kernels"):
        course.load(folder)


def test_what_the_emulator_says_again_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"error_occurred": True, "error_message": "cudaErrorIllegalAddress"}
    ran = Ran({"lab/correct/n:1": row}, diagnoses=("a race", "a race", "a store", "a load", "more"))
    monkeypatch.setattr(grade, "run_rows", lambda *_, **__: ran)
    part = Part("correctness", 40)
    program = build.Program(Path("lab"), Path("unit"))
    grade.grade_correctness(program, Path(), "model:h200-sxm", 7, part, None)
    assert part.lines == ["lab/correct/n:1: a race", "a store", "a load"]
