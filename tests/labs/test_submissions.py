"""References get full marks, skeletons fail helpfully, and wrong answers fail for their reason."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from checker.course import Lab
from checker.expected import BEGIN, END, expected, page_with, table
from checker.grade import Report, Submission, grade
from checker.sandbox import Limits

from .conftest import BUILD, LABS

DEVICE = "model:h200-sxm"
WRONG = [(lab, path) for lab in LABS for path in sorted(lab.folder.glob("reference/wrong/*.cuh"))]
labs = pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.folder.name)


def graded(lab: Lab, solution: Path, answers: Path | None = None, seed: int = 7) -> Report:
    answers = answers or lab.folder / "reference" / "answers.toml"
    # Who is meant to be stopped is stopped soon; others may be slow on a busy machine.
    limits = Limits(seconds=5 if solution.stem == "for_ever" else 100)
    return grade(lab, Submission(solution, answers), BUILD, device=DEVICE, seed=seed, limits=limits)


@labs
def test_the_reference_gets_full_marks(lab: Lab, prepared: list[Lab]) -> None:
    report = graded(lab, lab.reference)
    assert report.points == pytest.approx(100), [p.lines for p in report.parts]


@labs
def test_the_skeleton_compiles_and_fails_helpfully(lab: Lab, prepared: list[Lab]) -> None:
    report = graded(lab, lab.folder / "solution.cuh")
    correctness = report.part("correctness")
    assert correctness.points == 0
    assert not any("compile" in line for line in correctness.lines), correctness.lines
    assert any("wrote 0 of" in line or "expected" in line for line in correctness.lines)


@labs
def test_nothing_runs_before_the_predictions(lab: Lab, prepared: list[Lab]) -> None:
    report = graded(lab, lab.reference, lab.folder / "answers.toml")
    assert report.points == 0
    assert "predict first" in report.part("correctness").lines[0]
    assert len(report.part("predictions").lines) == len(lab.predictions)


@pytest.mark.parametrize(
    ("lab", "path"), WRONG, ids=[f"{lab.number}-{path.stem}" for lab, path in WRONG]
)
def test_a_wrong_answer_fails_for_its_reason(lab: Lab, path: Path, prepared: list[Lab]) -> None:
    """The first line of the file says which part refuses it, and what that says."""
    first = path.read_text().splitlines()[0]
    found = re.fullmatch(r"// expect: (policy|correct|counters|time) (.+)", first)
    assert found, first
    where, words = found.groups()
    report = graded(lab, path)
    part = report.part("correctness" if where in ("policy", "correct") else where)
    said = "\n".join(part.lines)
    assert part.points < part.of, said
    assert words in said
    if where == "policy":
        assert "not compiled: " in said or "not run: " in said
    elif where != "correct":
        assert report.part("correctness").points > 0, "it is refused before the part it is about"


@labs
def test_every_lab_has_wrong_lazy_and_cheating_submissions(lab: Lab) -> None:
    assert len([path for other, path in WRONG if other is lab]) >= 4


@labs
def test_answers_that_the_model_can_give_are_its_own(
    lab: Lab, prepared: list[Lab], tmp_path
) -> None:
    from checker.build import compile_solution
    from checker.course import read_toml, rounded
    from checker.grade import run_rows

    rows = run_rows(compile_solution(lab, BUILD, lab.reference, tmp_path), tmp_path, DEVICE, 7).rows
    answers = read_toml(lab.folder / "reference" / "answers.toml")
    for prediction in (p for p in lab.predictions if p.row):
        told = rounded(rows[prediction.row][prediction.key], prediction.digits)
        assert told == rounded(answers[prediction.id], prediction.digits), prediction.id


@labs
def test_what_the_page_expects_is_what_the_reference_reaches(lab: Lab, prepared: list[Lab]) -> None:
    found = expected(lab, BUILD)
    page = (lab.folder / "README.md").read_text()
    assert page_with(page, found) == page, "scripts/lab expected writes the table"
    assert json.loads((lab.folder / "expected.json").read_text()) == found
    assert page.count(BEGIN) == page.count(END) == 1
    assert table(found).count("\n") >= 2
