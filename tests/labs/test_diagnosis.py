"""Lab 13: a diagnosis before any code, in words and numbers; and no points for code that is as slow
as before."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from checker import course, show
from checker.course import read_toml
from checker.grade import grade_predictions
from checker.report import Part, Report, Submission
from checker.timing import grade_time, no_marks_ratios, share_of_points

from .conftest import LABS, ROOT

LAB = course.find(ROOT, "13")
RIGHT = read_toml(LAB.folder / "reference" / "answers.toml")
# Whose time the difference between a row of the page's table and the next one is.
WALLS = ("starved", "overhead", "bandwidth", "compute")


def predictions(tmp_path: Path, answers: dict[str, object]) -> tuple[list[str], Part]:
    """The questions that are open, and what these answers are worth."""
    file = tmp_path / "answers.toml"
    file.write_text("".join(f"{name} = {value!r}\n" for name, value in answers.items()))
    part = Part("predictions", 40)
    return grade_predictions(LAB, Submission(tmp_path, file), part), part


def test_a_wall_is_one_of_a_few_words(tmp_path: Path) -> None:
    is_open, part = predictions(tmp_path, RIGHT | {"wall_a": " Overhead"})
    assert (is_open, part.points) == ([], 40)
    for nonsense in ("?", "launches", 1, ["overhead"]):
        is_open, part = predictions(tmp_path, RIGHT | {"wall_a": nonsense})
        assert is_open == ["wall_a"], nonsense
        assert part.lines[0].startswith("open   wall_a: Which wall ")
        assert ("not one of compute, bandwidth" in part.lines[0]) == (nonsense != "?")
    assert predictions(tmp_path, RIGHT | {"share_a": "overhead"})[0] == ["share_a"]


def test_a_wrong_diagnosis_costs_its_points_and_lets_the_code_be_graded(tmp_path: Path) -> None:
    is_open, part = predictions(tmp_path, RIGHT | {"wall_b": "compute", "share_b": 12})
    assert is_open == []
    assert part.points == pytest.approx(40 * 4 / 6)
    assert "wrong  wall_b = compute. Think of this: " in "\n".join(part.lines)
    assert "bandwidth" not in "\n".join(part.lines)


def test_the_answers_follow_from_the_pages_figures() -> None:
    page = (LAB.folder / "README.md").read_text()
    table = page.split("<!-- figures: begin -->")[1].split("<!-- figures: end -->")[0]
    rows = [re.findall(r" ([\d.]+) µs \|", line) for line in table.strip().splitlines()[2:]]
    assert len(rows) == len(LAB.figures) == len(WALLS)
    for step, column in zip("abc", zip(*rows, strict=True), strict=True):
        left = [*map(float, column), 0.0]
        taken = [above - below for above, below in pairwise(left)]
        assert RIGHT[f"wall_{step}"] == WALLS[taken.index(max(taken))]
        assert RIGHT[f"share_{step}"] == round(100 * max(taken) / left[0])


def test_each_step_has_another_wall() -> None:
    assert len({RIGHT[f"wall_{step}"] for step in "abc"}) == 3


def test_what_is_as_slow_as_before_gets_no_points() -> None:
    slow = no_marks_ratios(LAB, "model:h200-sxm")
    assert no_marks_ratios(LAB, "model:l40s") == slow  # which the lab does not list
    assert no_marks_ratios(LABS[0], "model:h200-sxm") == {}
    # Where a fix gains little, a part of it could not be told from none.
    assert min(slow.values()) > 1.5
    for row, ratio in slow.items():
        times = {row: {"real_time": ratio, "time_unit": "us"}}
        part = Part("time", 60)
        grade_time(times, {row: 1e-6}, "the reference", part, slow)
        assert part.points == pytest.approx(0)
    assert share_of_points(2, 2) == 0
    assert share_of_points(1.5, 2) == pytest.approx(0.5, abs=0.1)


def test_a_part_without_points_says_whether_it_is_right() -> None:
    part = Part("correctness", 0, lines=["element 0 is 1"])
    assert not part.is_full
    report = Report(LAB, "model:h200-sxm", 1, [part, Part("counters", 0)])
    assert "correctness  no points for the code yet" in show.as_text(report)
    assert "counters" not in show.as_text(report)
    assert show.as_gradescope(report)["tests"][0]["status"] == "failed"
    assert show.as_summary("anna", report)["remark"] == "element 0 is 1"
    part.is_right = True
    assert "correctness  right" in show.as_text(report)
    assert show.as_gradescope(report)["tests"][0]["status"] == "passed"


@pytest.mark.parametrize("of", [{}, {"digits": 2, "choices": ["a", "b"]}])
def test_a_question_asks_for_digits_or_for_a_word(of: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="x: needs digits or choices"):
        course.read_prediction({"id": "x", "question": "?", "hint": "", **of})
