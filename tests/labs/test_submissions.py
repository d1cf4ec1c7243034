"""References get full marks, skeletons fail helpfully, and wrong answers fail for their reason."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest
from checker import policy, source
from checker.build import compile_solution
from checker.course import Lab, read_toml, rounded
from checker.expected import BEGIN, END, expected, page_with, table
from checker.grade import grade
from checker.report import Report, Submission
from checker.sandbox import Limits

from .conftest import BUILD, LABS
from .wrong import Wrong, edited, right_submissions, wrong_submissions

DEVICE = "model:h200-sxm"
RIGHT = [(lab, name, text) for lab in LABS for name, text in right_submissions(lab).items()]
WRONG = [wrong for lab in LABS for wrong in wrong_submissions(lab)]


def is_telling(wrong: Wrong) -> bool:
    """Whether none before it is refused by the same part."""
    return wrong == next(w for w in WRONG if w.where == wrong.where)


labs = pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.folder.name)
# Labs whose reference takes seconds: only scripts/test --all grades it.
LONG = ("02", "03", "06", "11", "12", "13")
graded_labs = pytest.mark.parametrize(
    "lab",
    [pytest.param(lab, marks=pytest.mark.release if lab.number in LONG else ()) for lab in LABS],
    ids=lambda lab: lab.folder.name,
)
first_lab = pytest.mark.parametrize(
    "lab",
    [pytest.param(lab, marks=() if lab is LABS[0] else pytest.mark.release) for lab in LABS],
    ids=lambda lab: lab.folder.name,
)


def graded(lab: Lab, solution: Path, answers: Path | None = None, seed: int = 7) -> Report:
    answers = answers or lab.folder / "reference" / "answers.toml"
    # Who is meant to be stopped is stopped soon; others may be slow on a busy machine.
    limits = Limits(seconds=2 if solution.stem == "for_ever" else 100)
    return grade(lab, Submission(solution, answers), BUILD, device=DEVICE, seed=seed, limits=limits)


@pytest.fixture(scope="session")
def reference(prepared: list[Lab]) -> Callable[[Path], Report]:
    """The report on the reference of the lab in a folder; made once for all tests."""
    by_folder = {lab.folder: lab for lab in prepared}
    return cache(lambda folder: graded(by_folder[folder], by_folder[folder].reference))


@graded_labs
def test_the_reference_gets_full_marks_without_a_warning(lab: Lab, reference) -> None:
    report = reference(lab.folder)
    assert report.points == pytest.approx(100), [p.lines for p in report.parts]
    assert len(report.part("correctness").lines) == 1


@first_lab
def test_the_skeleton_compiles_and_fails_helpfully(lab: Lab, prepared: list[Lab]) -> None:
    report = graded(lab, lab.folder / "solution.cuh")
    correctness = report.part("correctness")
    assert correctness.points == 0
    assert not any("compile" in line or "warning" in line for line in correctness.lines)
    if lab.starts_right:
        assert correctness.is_right, correctness.lines
        assert report.points == pytest.approx(report.part("predictions").of, abs=0.01)
        return
    assert any("wrote 0 of" in line or "expected" in line for line in correctness.lines)


def test_a_loop_that_fills_the_memory_is_told_as_a_loop(
    prepared: list[Lab], tmp_path: Path
) -> None:
    """It makes no access, and the model's records of its steps grow without an end."""
    lab = prepared[0]
    text = lab.reference.read_text().replace(
        ") {\n",
        ") {\n  unsigned long long state = n;\n"
        "  for (unsigned long long k = 0; k < 1ull << 62; ++k) state = state * 25214903917 + k;\n"
        "  if (state == 42) return;\n",
        1,
    )
    (tmp_path / "solution.cuh").write_text(text)
    submission = Submission(tmp_path / "solution.cuh", lab.folder / "reference" / "answers.toml")
    limits = Limits(seconds=100, memory_bytes=1 << 30)
    report = grade(lab, submission, BUILD, device=DEVICE, seed=7, limits=limits)
    said = report.part("correctness").lines[-1]
    assert said.startswith("the solution took more than 1 GiB of memory, in which the model keeps")
    assert said.endswith("is there a loop without an end?")


@labs
def test_nothing_runs_before_the_predictions(lab: Lab, prepared: list[Lab]) -> None:
    report = graded(lab, lab.reference, lab.folder / "answers.toml")
    assert report.points == 0
    assert "predict first" in report.part("correctness").lines[0]
    assert len(report.part("predictions").lines) == len(lab.predictions)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(
            wrong,
            id=f"{wrong.lab.number}-{wrong.name}",
            marks=() if is_telling(wrong) else pytest.mark.release,
        )
        for wrong in WRONG
    ],
)
def test_a_wrong_answer_fails_for_its_reason(
    wrong: Wrong, prepared: list[Lab], tmp_path: Path
) -> None:
    solution = tmp_path / f"{wrong.name}.cuh"
    solution.write_text(wrong.text)
    report = graded(wrong.lab, solution)
    part = report.part("correctness" if wrong.where in ("policy", "correct") else wrong.where)
    said = "\n".join(part.lines)
    assert not part.is_full, said
    assert wrong.words in said
    if wrong.where == "policy":
        assert "not compiled: " in said or "not run: " in said
    elif wrong.where != "correct":
        assert report.part("correctness").is_right, "it is refused before the part it is about"


@pytest.mark.parametrize(
    ("lab", "text"),
    [
        pytest.param(
            lab,
            text,
            id=f"{lab.number}-{name}",
            marks=pytest.mark.release if (lab, name, text) != RIGHT[0] else (),
        )
        for lab, name, text in RIGHT
    ],
)
def test_who_solves_it_otherwise_loses_nothing_by_it(
    lab: Lab, text: str, prepared: list[Lab], tmp_path: Path
) -> None:
    solution = tmp_path / "solution.cuh"
    solution.write_text(text)
    report = graded(lab, solution)
    for part in ("correctness", "counters"):
        assert report.part(part).is_full, report.part(part).lines


def test_style_is_warned_of_and_costs_nothing(prepared: list[Lab], tmp_path: Path) -> None:
    solution = tmp_path / "solution.cuh"
    unused = {"edits": [["  const unsigned first", "  float idle;\n  const unsigned first"]]}
    solution.write_text(edited(LABS[0].reference.read_text(), unused, "idle"))
    report = graded(LABS[0], solution)
    assert report.points == pytest.approx(100)
    said = report.part("correctness").lines
    assert any(line.startswith("solution.cuh:") and "unused variable" in line for line in said)


def test_a_kernel_of_another_type_is_an_error_that_is_shown(
    prepared: list[Lab], tmp_path: Path
) -> None:
    solution = tmp_path / "solution.cuh"
    other = {"edits": [["unsigned n)", "int n)"]]}
    solution.write_text(edited(LABS[0].reference.read_text(), other, "other"))
    said = graded(LABS[0], solution).part("correctness").lines
    assert said[0] == "does not compile:"
    assert "a kernel takes (" in said[1]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("void axpy(", "void axpi(", r"solution\.cuh: error: does not define axpy"),
        (
            "const unsigned first",
            "{ const unsigned first",
            r"\S+:\d+: error: no '}' closes this '{'",
        ),
    ],
)
def test_what_a_solution_lacks_is_not_told_of_the_checkers_files(
    old: str, new: str, said: str, prepared: list[Lab], tmp_path: Path
) -> None:
    solution = tmp_path / "solution.cuh"
    solution.write_text(edited(LABS[0].reference.read_text(), {"edits": [[old, new]]}, "lacks"))
    lines = graded(LABS[0], solution).part("correctness").lines
    assert re.fullmatch(said, lines[1]), lines


def test_hints_to_the_caches_cost_and_gain_nothing(
    prepared: list[Lab], reference, tmp_path: Path
) -> None:
    lab = LABS[0]
    stored = "out[i] = fmaf(a, x[i], y[i]);"
    hinted = "__stcs(out + i, fmaf(a, __ldcs(x + i), __ldcg(y + i)));"
    solution = tmp_path / "solution.cuh"
    solution.write_text(edited(lab.reference.read_text(), {"edits": [[stored, hinted]]}, "hinted"))
    report = graded(lab, solution)
    assert report.points == pytest.approx(100), [part.lines for part in report.parts]
    assert report.rows == reference(lab.folder).rows


@pytest.mark.parametrize(
    "headers",
    [
        sorted(source.INCLUDES),
        *(pytest.param([one], marks=pytest.mark.release) for one in sorted(source.INCLUDES)),
    ],
    ids=lambda headers: headers[0] if len(headers) == 1 else "all",
)
def test_every_header_that_is_allowed_compiles(
    headers: list[str], prepared: list[Lab], tmp_path: Path
) -> None:
    solution = tmp_path / "solution.cuh"
    included = "".join(f"#include <{header}>\n" for header in headers)
    solution.write_text(included + LABS[0].reference.read_text())
    (tmp_path / "into").mkdir()
    look = partial(policy.look_at, LABS[0])
    compile_solution(LABS[0], BUILD, solution, tmp_path / "into", look=look)


@pytest.mark.parametrize("edits", [[["a", "b"]], [["none", "b"]]])
def test_an_edit_applies_exactly_once_or_is_an_error(edits: list[list[str]]) -> None:
    with pytest.raises(AssertionError, match="times, not once"):
        edited("a, a", {"edits": edits}, "01/x")


@labs
def test_every_lab_has_wrong_lazy_and_cheating_submissions(lab: Lab) -> None:
    assert len([wrong for wrong in WRONG if wrong.lab is lab]) >= 4


@pytest.mark.parametrize(
    "lab",
    [
        pytest.param(lab, marks=pytest.mark.release if lab.number in LONG else ())
        for lab in LABS
        if any(p.row for p in lab.predictions)
    ],
    ids=lambda lab: lab.folder.name,
)
def test_answers_that_the_model_can_give_are_its_own(lab: Lab, reference) -> None:
    rows = reference(lab.folder).rows
    answers = read_toml(lab.folder / "reference" / "answers.toml")
    for prediction in (p for p in lab.predictions if p.row):
        told = rounded(rows[prediction.row][prediction.key], prediction.digits)
        assert told == rounded(answers[prediction.id], prediction.digits), prediction.id


@first_lab
def test_what_the_page_expects_is_what_the_reference_reaches(lab: Lab, prepared: list[Lab]) -> None:
    found = expected(lab, BUILD)
    page = (lab.folder / "README.md").read_text()
    assert page_with(lab, BUILD, page, found) == page, "scripts/lab expected writes the table"
    assert json.loads((lab.folder / "expected.json").read_text()) == found
    assert page.count(BEGIN) == page.count(END) == 1
    assert table(found).count("\n") >= 2
