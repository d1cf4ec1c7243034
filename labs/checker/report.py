"""What a submission is worth, part by part, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .course import Lab

_MOST_LINES, _MOST_CHARACTERS = 12, 400  # a message may hold a word of any size


def plain(text: str) -> str:
    """Without what a terminal, or whoever shows the text, would obey."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape", "replace").decode()
        for c in text
    )


def one_line(text: str) -> str:
    """The same without its ends of lines and tabs: a name that a student chose may hold any
    character."""
    return plain(text).replace("\n", "\\n").replace("\t", "\\t")


def short(line: str) -> str:
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}..."


def excerpt(lines: list[str], most: int = _MOST_LINES) -> list[str]:
    """What is worth reading of messages about a text that may be full of the same."""
    shown = [short(line) for line in lines]
    more = len(shown) - most
    return [*shown[:most], f"... and {more} more"] if more > 0 else shown


@dataclass
class Part:
    """One part of the grade: points, and what a student should read about it."""

    name: str
    of: float
    points: float = 0.0
    lines: list[str] = field(default_factory=list)
    is_right: bool = False  # all results were, which alone may be worth no points

    @property
    def told(self) -> list[str]:
        """The lines as they are shown, each one line of a size to read: a student chooses names."""
        return [short(one_line(line)) for line in self.lines]

    @property
    def is_full(self) -> bool:
        """Whether nothing is missing here, in a part without points as well."""
        return self.points == self.of if self.of else self.is_right or not self.lines


@dataclass
class Report:
    lab: Lab
    device: str
    seed: int
    parts: list[Part] = field(default_factory=list)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)  # that were run, by name
    waits_for_predictions: bool = False
    has_all_answers: bool = False  # right or wrong
    isolation: str = ""  # what kept it from the rest of the machine; nothing of it has run: ""

    @property
    def points(self) -> float:
        return sum(part.points for part in self.parts)

    @property
    def has_run(self) -> bool:
        """Whether the solution was looked at: predictions come first."""
        return not self.waits_for_predictions

    def part(self, name: str) -> Part:
        return next(part for part in self.parts if part.name == name)


@dataclass(frozen=True)
class Submission:
    solution: Path
    answers: Path
