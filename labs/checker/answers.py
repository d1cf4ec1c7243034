"""Reads answers.toml, as far as it can be read: a slip in one line loses no other."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

from .course import Lab
from .policy import MOST_ANSWERS_BYTES, UnreadableError, text_of
from .report import Submission

ANSWER = re.compile(r"\s*([\w-]+)\s*=\s*(.*)")


@dataclass
class Answers:
    """What was handed in, by question."""

    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)  # file:line of what is no TOML
    faults: list[str] = field(default_factory=list)


def submitted_answers(lab: Lab, submission: Submission) -> Answers:
    """None, but a fault, where the file is not there, or is no text."""
    name = submission.answers.name
    known = lab.folder / "reference" / "answers.toml"
    try:
        text = text_of(submission.answers, known, MOST_ANSWERS_BYTES)
    except UnreadableError as error:
        return Answers(faults=[f"{name}: {error}"])
    return read_answers(text, name)


def read_answers(text: str, name: str) -> Answers:
    try:
        return Answers(tomllib.loads(text))
    except (ValueError, RecursionError):  # TOMLDecodeError is a ValueError
        pass
    answers = Answers()
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}:{number}"
        try:
            read = tomllib.loads(line)
        except (ValueError, RecursionError):
            read = _as_text(line)
            answers.lines |= dict.fromkeys(read, where)
            if not read:
                answers.faults.append(f"{where}: no line of the form question = answer")
        for key, value in read.items():
            if key in answers.values:
                answers.faults.append(f"{where}: {key} has an answer already, and that counts")
            answers.values.setdefault(key, value)
    return answers


def _as_text(line: str) -> dict[str, str]:
    """The question and what stands behind it, where that is no TOML."""
    found = ANSWER.match(line)
    return {found[1]: found[2].partition("#")[0].strip()} if found else {}
