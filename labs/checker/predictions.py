"""Grades the answers to a lab's predictions."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection
from typing import Any

from .answers import Answers, submitted_answers
from .course import Lab, Prediction, is_right, seals
from .report import Part, Submission, excerpt


def finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None


def answer_to(prediction: Prediction, value: object) -> tuple[float | str | None, str]:
    """What was answered; where that is no answer, None and what it is not."""
    if not prediction.choices:
        return finite(value), "not a number"
    word = value.strip().lower() if isinstance(value, str) else None
    return word if word in prediction.choices else None, f"not one of {prediction.words}"


def is_slip(prediction: Prediction, value: object) -> bool:
    """Whether it is meant as a number, and is none."""
    return not prediction.choices and re.search(r"\d", shortened(value)) is not None


def shortened(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return "what it holds"
    return text if len(text) <= 40 else text[:37] + "..."


def grade_predictions(lab: Lab, submission: Submission, part: Part) -> tuple[list[str], list[str]]:
    """The questions that have no answer yet, and those whose answer is a slip: it has no points,
    but does not keep the code from being graded."""
    given = submitted_answers(lab, submission)
    sealed = seals(lab)
    unanswered, slips = [], []
    right = 0
    part.lines += excerpt(given.faults)
    part.lines += excerpt(_answers_to_nothing(given.values, [p.id for p in lab.predictions]))
    for prediction in lab.predictions:
        name, value = prediction.id, given.values.get(prediction.id)
        answer, not_this = answer_to(prediction, value)
        if answer is None and is_slip(prediction, value):
            slips.append(name)
            part.lines.append(f"wrong  {name} = {_advice(given, name, not_this)}")
        elif answer is None:
            unanswered.append(name)
            part.lines.append(f"open   {name}: {prediction.question}")
            if value not in (None, "", "?"):
                part.lines[-1] += f" ({shortened(value)} is {not_this})"
        elif is_right(lab, prediction, answer, sealed[name]):
            right += 1
            part.lines.append(f"right  {name} = {value}")
        else:
            part.lines.append(f"wrong  {name} = {value}. Think of this: {prediction.hint}")
    part.points = part.of * right / len(lab.predictions)
    return unanswered, slips


def _advice(given: Answers, name: str, not_this: str) -> str:
    """What was answered, where that stands, and how to write it."""
    text = shortened(given.values[name]).strip("'")
    where = f" ({given.lines[name]})" if name in given.lines else ""
    comma = re.search(r"\d,\d", text)
    return f"{text}{where}: {'a decimal point, not a comma' if comma else not_this}"


def _answers_to_nothing(given: dict[str, Any], questions: Collection[str]) -> list[str]:
    strange = []
    for key in sorted(given.keys() - questions):
        meant = difflib.get_close_matches(key, questions, 1)
        instead = f"did you mean {meant[0]}?" if meant else f"there are {', '.join(questions)}"
        strange.append(f"no question is called {key}: {instead}")
    return strange
