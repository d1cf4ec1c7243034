"""What a student has seen and tried, so that nothing is told twice: a file in the build folder.

It is a courtesy, and no grade depends on it: a file that is lost or broken begins anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from .course import Lab, all_labs, read_toml
from .policy import UnreadableError, text_of
from .report import Report
from .show import points

FILE = "lab-progress.json"
PATIENCE = 3  # failures, after which hints are offered
_DONE = 100 - 1e-9  # points


@dataclass
class Progress:
    """Progress on one lab."""

    failures: int = 0  # different solutions that did not get all points
    solution: str = ""  # fingerprint of the last one
    predictions: str = ""  # fingerprint of what was said of the predictions
    first_answers: float | None = None  # points of the first answers to all predictions


def _read(build: Path) -> dict[str, Progress]:
    try:
        known = json.loads((build / FILE).read_text(encoding="utf-8"))
        return {str(name): Progress(**fields) for name, fields in known.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _text_or_why_not(solution: Path) -> str:
    """What the check read, or why it read nothing: what it refused is not opened any other way."""
    try:
        return text_of(solution)
    except UnreadableError as why:
        return str(why)


def noted(report: Report, solution: Path, build: Path) -> tuple[Progress, bool]:
    """The lab's progress with this check in it, and whether its predictions are as they were."""
    every = _read(build)
    mine = every.setdefault(report.lab.folder.name, Progress())
    said = _fingerprint("\n".join(report.part("predictions").lines))
    is_known = said == mine.predictions
    mine.predictions = said
    if mine.first_answers is None and report.has_all_answers:
        mine.first_answers = report.part("predictions").points
    if report.points > _DONE:
        mine.failures, mine.solution = 0, ""
    elif report.has_run:
        text = _fingerprint(_text_or_why_not(solution))
        mine.failures += text != mine.solution
        mine.solution = text
    with contextlib.suppress(OSError):
        every_as_json = {name: asdict(progress) for name, progress in every.items()}
        (build / FILE).write_text(json.dumps(every_as_json), encoding="utf-8")
    return mine, is_known


def first_answers(report: Report, progress: Progress) -> str:
    """What the first answers were worth, where they have been corrected since; else empty."""
    part, first = report.part("predictions"), progress.first_answers
    if first is None or first >= part.points:
        return ""
    return f"Your first answers were worth {points(first)} of {part.of:g} points."


def next_step(root: Path, report: Report, progress: Progress) -> str:
    """What to do now, in a line; empty if the report says it all."""
    lab = report.lab
    if report.waits_for_predictions:
        return "--no-predictions runs the code without them, and without their points"
    if report.points > _DONE:
        after = [one for one in all_labs(root) if one.number > lab.number]
        coming = f"next is lab {after[0].number}" if after else "this was the last lab"
        return f"Done: {coming}; {written_questions(lab)}"
    hints = len(read_toml(lab.folder / "hints.toml").get("hints", []))
    if progress.failures >= PATIENCE and hints:
        return f"Stuck? There are {hints} hints: ./scripts/lab hint {lab.number} 1"
    return ""


def written_questions(lab: Lab) -> str:
    """Where the page asks for words, and for how many points."""
    page = (lab.folder / "README.md").read_text(encoding="utf-8")
    worth = [int(number) for number in re.findall(r"\*\((\d+)\s+points?\)\*", page)]
    place = f"labs/{lab.folder.name}/README.md"
    return f"{len(worth)} written questions ({sum(worth)} points) are at the end of {place}"
