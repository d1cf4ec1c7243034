"""What the checker tells only when it is time: hints, predictions, the next lab; and the plans."""

from __future__ import annotations

import argparse
import json
import os
import re
from pathlib import Path

import pytest
from checker import cli, course, grade, progress, show
from checker.build import compile_solution, prepare
from checker.course import LabError
from checker.report import Part, Report, Submission

from .command import cli as run
from .conftest import BUILD, LABS, ROOT

REDUCTION = course.find(ROOT, "05")


def report_of(points: float, waits: bool = False, predicted: float = 20) -> Report:
    said = ["right  a = 1"]
    parts = [Part("predictions", 20, predicted, said), Part("correctness", 80, points - predicted)]
    report = Report(REDUCTION, "model:h200-sxm", 1, parts, waits_for_predictions=waits)
    report.has_all_answers = not waits
    return report


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    """check(points, solution, ...) -> what is told of a solution that is worth so much."""
    solution = tmp_path / "solution.cuh"
    monkeypatch.setattr(cli, "device_of", lambda *_: "model:h200-sxm")

    def told(
        points: float, text: str, waits: bool = False, again: bool = False, predicted: float = 20
    ) -> str:
        solution.write_text(text)
        monkeypatch.setattr(cli, "grade", lambda *_, **__: report_of(points, waits, predicted))
        options = argparse.Namespace(
            solution=solution,
            answers=None,
            build=tmp_path,
            device="auto",
            seed=1,
            no_predictions=False,
            predictions=again,
        )
        cli.check(REDUCTION, options)
        return capsys.readouterr().out

    return told


def test_hints_are_offered_at_the_third_failure(check) -> None:
    offer = "Stuck? There are 3 hints: ./scripts/lab hint 05 1"
    assert offer not in check(20, "first")
    assert offer not in check(20, "first")  # the same again is no other try
    assert offer not in check(20, "second")
    assert offer not in check(20, "third", waits=True)  # it did not run
    assert offer in check(20, "third")
    assert offer in check(20, "fourth")
    assert offer not in check(100, "right")
    assert offer not in check(20, "and broken again")


def test_only_who_can_pass_flags_hears_of_them(check, tmp_path: Path) -> None:
    flag = "--no-predictions"
    assert flag in check(0, "first", waits=True)
    assert flag not in check(20, "first")
    lab = REDUCTION
    submission = Submission(lab.reference, lab.folder / "answers.toml")
    report = grade.grade(lab, submission, tmp_path, device="model:h200-sxm", seed=7)
    assert report.waits_for_predictions
    assert flag not in json.dumps(show.as_gradescope(report))


@pytest.mark.parametrize("kind", ["pipe", "endless", "folder"])
def test_what_is_no_file_is_noted_without_opening_it(tmp_path: Path, kind: str) -> None:
    solution = tmp_path / "solution.cuh"
    if kind == "pipe":
        os.mkfifo(solution)
    elif kind == "endless":
        solution.symlink_to("/dev/zero")
    else:
        solution.mkdir()
    told, _ = progress.noted(report_of(20), solution, tmp_path)
    assert told.failures == 1


def test_predictions_are_shown_once(check, tmp_path: Path) -> None:
    before = "as before: --predictions shows them again"
    first = check(20, "first")
    assert "right  a = 1" in first
    assert before not in first
    second = check(20, "second")
    assert before in second
    assert "right  a = 1" not in second
    assert "right  a = 1" in check(20, "second", again=True)
    # Questions that are open are what to do next.
    assert "right  a = 1" in check(20, "second", waits=True)
    (tmp_path / progress.FILE).write_text('{"05-reduction": [1]}')
    assert "right  a = 1" in check(20, "second")


def test_what_the_first_answers_were_worth_stays_known(check) -> None:
    said = "Your first answers were worth 5 of 20 points."
    assert "first answers" not in check(0, "first", waits=True, predicted=2)  # some are open
    assert "first answers" not in check(20, "first", predicted=5)  # they are what is shown
    assert said in check(30, "first", predicted=10)
    assert said in check(100, "right")


def test_a_full_score_says_what_is_next(check, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(100, "right").endswith(
        "Done: next is lab 06; 3 written questions (10 points) are at the end of"
        " labs/05-reduction/README.md\n"
    )
    last = Report(LABS[-1], "model:h200-sxm", 1, [Part("predictions", 100, 100)])
    step = progress.next_step(ROOT, last, progress.Progress())
    assert step.startswith("Done: this was the last lab; ")


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.folder.name)
def test_a_lab_is_found_by_its_name(lab: course.Lab) -> None:
    name = lab.folder.name[3:]
    for which in (name, lab.folder.name, name.replace("-", "_"), lab.number.lstrip("0")):
        assert course.find(ROOT, which) == lab


def test_a_part_of_a_name_is_enough_where_only_one_lab_has_it() -> None:
    assert course.find(ROOT, "Bank").number == "02"
    assert course.find(ROOT, "gemm").number == "06"
    for which in ("reduc", "e", "-", "", "013"):  # two labs reduce; many have an e
        with pytest.raises(LabError, match="no lab"):
            course.find(ROOT, which)
    assert run("hint", "reduction").stdout.startswith("Hint 1 of 3: ")


def test_a_skeletons_own_signature_gives_no_warnings(tmp_path: Path) -> None:
    """A right solution may have no use for a parameter; another mistake of its own is told."""
    prepare(REDUCTION, BUILD)
    skeleton = (REDUCTION.folder / "solution.cuh").read_text()
    text = re.sub(r"\n\s*\(void\).*;", "\n  int forgotten = 1;", skeleton)
    assert "(void)" not in text
    solution = tmp_path / "solution.cuh"
    solution.write_text(text)
    into = tmp_path / "into"
    into.mkdir()
    (warning,) = compile_solution(REDUCTION, BUILD, solution, into).warnings
    assert "unused variable 'forgotten'" in warning.replace("‘", "'").replace("’", "'")


def test_the_page_has_each_labs_time_and_difficulty() -> None:
    rows = re.findall(
        r"^\| \[(\d\d): .*? \| (\d+) min \| (\w+) \| ", (ROOT / "docs/labs.md").read_text(), re.M
    )
    assert rows == [(lab.number, str(lab.minutes), lab.difficulty) for lab in LABS]
    for line, lab in zip(run().stdout.splitlines(), LABS, strict=False):
        assert f"{lab.difficulty:<6}  {lab.minutes:3d} min  {lab.question}" in line


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ('difficulty = "easy"', "difficulty: easy, medium, hard"),
        ("minutes = 45", "needs minutes above 0"),
    ],
)
def test_a_lab_without_time_or_difficulty_is_refused(
    change: str, named: str, tmp_path: Path
) -> None:
    folder = tmp_path / "labs" / "01-x"
    folder.mkdir(parents=True)
    text = (LABS[0].folder / "lab.toml").read_text()
    assert change in text
    bad = change.replace("easy", "trivial").replace("45", "0")
    (folder / "lab.toml").write_text(text.replace(change, bad))
    with pytest.raises(LabError, match=named):
        course.load(folder)


@pytest.mark.parametrize("weeks", [4, 8, 12])
def test_a_plan_has_a_line_per_week_and_the_labs_own_hours(weeks: int) -> None:
    number = {4: "Four", 8: "Eight", 12: "Twelve"}[weeks]
    plan = (
        (ROOT / "docs/course-plan.md").read_text().split(f"## {number} weeks")[1].split("\n## ")[0]
    )
    rows = re.findall(r"^\| (\d+) \| .* \| ([\d, ]+) \| ([\d.]+) \|$", plan, re.M)
    assert [int(week) for week, _, _ in rows] == list(range(1, weeks + 1))
    taken = [lab for _, labs, _ in rows for lab in labs.split(", ")]
    assert taken == sorted(set(taken))
    assert set(taken) <= {lab.number for lab in LABS}
    assert weeks < 12 or len(taken) == len(LABS)
    for _, labs, hours in rows:
        minutes = sum(course.find(ROOT, lab).minutes for lab in labs.split(", "))
        assert float(hours) == minutes / 60
