"""The labs that there are, as their folders describe them."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .requirement import Requirement, known, read_requirement, value_of
from .timeline import Kinds

DIFFICULTIES = ("easy", "medium", "hard")
LIMITS = {
    *("global_excess", "shared_excess", "loads_a_lane", "frame_bytes"),
    *("global_requests", "global_sectors", "shared_wavefronts", "idle_wavefronts"),
}
KEYS = {
    *("title", "question", "concept", "kernels", "minutes", "difficulty", "points", "limits"),
    *("shared_bytes", "require", "timeline", "predict", "only_fma", "host_code", "devices", "gpus"),
}
PARTS = ("predictions", "correctness", "counters", "time")


class LabError(Exception):
    """One line for the user: what is wrong with a file, a flag or the machine."""


class MachineError(LabError):
    """This machine has not what a solution needs: nobody can say what that is worth."""


@dataclass(frozen=True)
class Prediction:
    """A question that is asked before any code is run; the answer is a number or one of a few
    words."""

    id: str
    question: str
    hint: str
    digits: int = 0  # significant digits that are asked for
    choices: tuple[str, ...] = ()  # the words; none where a number is asked for
    rounded: bool = False  # one more or less in the last digit will do
    row: str = ""  # of the reference's run, where the answer stands as `key`: tested
    key: str = ""

    @property
    def words(self) -> str:
        return ", ".join(self.choices)


@dataclass(frozen=True)
class Lab:
    """A folder labs/NN-name."""

    folder: Path
    title: str
    question: str
    concept: str
    kernels: tuple[str, ...]
    minutes: int  # an estimate, for who writes CUDA for the first time
    difficulty: str
    points: dict[str, int]
    limits: dict[str, float]
    shared_bytes: dict[str, int]  # the most per block, by kernel, where a lab is about that
    requires: tuple[Requirement, ...]
    timeline: Kinds | None  # for the profile of a skeleton that is right, and only slow
    predictions: tuple[Prediction, ...]
    only_fma: bool  # a solution may compute with no operators on floating-point numbers
    host_code: tuple[str, ...]  # functions of the host that this lab's solution may call
    devices: tuple[str, ...]
    gpus: int  # that its rows need

    @property
    def number(self) -> str:
        return self.folder.name[:2]

    @property
    def starts_right(self) -> bool:
        """Whether the skeleton is right, and only slow: then its time is worth nothing."""
        return self.timeline is not None

    @property
    def reference(self) -> Path:
        """The instructor's solution; a handout does not have it."""
        return self.folder / "reference" / "solution.cuh"


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LabError(f"{path}: {error}") from None


def read_prediction(raw: dict[str, Any]) -> Prediction:
    """ValueError unless it asks for a number of some digits or for one of some words."""
    asked = Prediction(**raw | {"choices": tuple(raw.get("choices", ()))})
    if bool(asked.choices) == (asked.digits > 0):
        raise ValueError(f"{asked.id}: needs digits or choices")
    return asked


def read_kinds(raw: dict[str, list[str]]) -> Kinds:
    return Kinds(**{wall: tuple(names) for wall, names in raw.items()})


def read_numbers(raw: dict[str, Any], name: str, known_keys: Collection[str]) -> dict[str, float]:
    """A table of positive numbers. ValueError."""
    table = value_of(raw, name, dict, {})
    try:
        known(table, set(known_keys))
        numbers: dict[str, float] = {key: value_of(table, key, float) for key in table}
        if low := [key for key, value in numbers.items() if not value > 0]:
            raise ValueError(f"{low[0]} must be above 0")
    except ValueError as error:
        raise ValueError(f"[{name}] {error}") from None
    return numbers


def read_points(raw: dict[str, Any]) -> dict[str, int]:
    """ValueError."""
    table = value_of(raw, "points", dict)
    known(table, set(PARTS))
    points: dict[str, int] = {part: value_of(table, part, int) for part in PARTS}
    if sum(points.values()) != 100 or min(points.values()) < 0:
        raise ValueError(f"the points of {', '.join(PARTS)} must add up to 100, each at least 0")
    return points


def read_lab(folder: Path, raw: dict[str, Any]) -> Lab:
    """ValueError, TypeError."""
    known(raw, KEYS)
    kernels = tuple(value_of(raw, "kernels", list))
    lab = Lab(
        folder=folder,
        title=value_of(raw, "title", str),
        question=value_of(raw, "question", str),
        concept=value_of(raw, "concept", str),
        kernels=kernels,
        minutes=value_of(raw, "minutes", int),
        difficulty=value_of(raw, "difficulty", str),
        points=read_points(raw),
        limits=read_numbers(raw, "limits", LIMITS),
        shared_bytes={
            kernel: int(most) for kernel, most in read_numbers(raw, "shared_bytes", kernels).items()
        },
        requires=tuple(read_requirement(one) for one in value_of(raw, "require", list, [])),
        timeline=read_kinds(raw["timeline"]) if "timeline" in raw else None,
        predictions=tuple(read_prediction(one) for one in value_of(raw, "predict", list)),
        only_fma=value_of(raw, "only_fma", bool, False),
        host_code=tuple(value_of(raw, "host_code", list, [])),
        devices=tuple(value_of(raw, "devices", list, ["h200-sxm", "h100-sxm", "a100-80-sxm"])),
        gpus=value_of(raw, "gpus", int, 1),
    )
    if lab.difficulty not in DIFFICULTIES or lab.minutes < 1:
        raise ValueError(f"needs minutes above 0 and a difficulty: {', '.join(DIFFICULTIES)}")
    ids = [prediction.id for prediction in lab.predictions]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise ValueError(f"[[predict]] has two questions of the id {twice[0]}")
    return lab


def load(folder: Path) -> Lab:
    path = folder / "lab.toml"
    raw = read_toml(path)
    try:
        return read_lab(folder, raw)
    except (TypeError, ValueError) as error:
        raise LabError(f"{path}: {error}") from None


def all_labs(root: Path) -> list[Lab]:
    return [load(path.parent) for path in sorted(root.glob("labs/[0-9][0-9]-*/lab.toml"))]


def find(root: Path, which: str) -> Lab:
    """By its number, its name, or a part of that name that no other lab has. LabError."""
    labs = all_labs(root)
    for lab in labs:
        if which in (lab.number, lab.folder.name, lab.folder.name[3:], str(int(lab.number))):
            return lab
    part = which.lower().replace("_", "-").replace(" ", "-")
    named = [lab for lab in labs if part.strip("-0123456789") and part in lab.folder.name[3:]]
    if len(named) == 1:
        return named[0]
    known = ", ".join(lab.folder.name for lab in labs)
    raise LabError(f"no lab {which!r}; there are: {known}")


# --- answers --------------------------------------------------------------------------------------


def rounded(value: float, digits: int) -> str:
    """`value` with so many significant digits, as one spelling."""
    return f"{value:.{digits - 1}e}"


def neighbours(value: float, digits: int) -> list[str]:
    """The same, and one more or less in its last digit: who rounds on the way is not wrong."""
    exact = float(rounded(value, digits))
    if exact == 0:
        return [rounded(0, digits)]
    if math.isinf(exact):
        return [rounded(value, digits)]
    step = 10.0 ** (math.floor(math.log10(abs(exact))) - digits + 1) if digits > 1 else 0.0
    return [rounded(exact + k * step, digits) for k in (0, -1, 1)]


def seal(lab: Lab, prediction: Prediction, text: str) -> str:
    """What a handout holds instead of an answer: it confirms, and does not tell."""
    return hashlib.sha256(f"{lab.folder.name}/{prediction.id}/{text}".encode()).hexdigest()


def seals(lab: Lab) -> dict[str, str]:
    """The sealed answers: from the reference where it is, else as the handout brought them."""
    answers = lab.folder / "reference" / "answers.toml"
    if not answers.exists():
        return {k: str(v) for k, v in read_toml(lab.folder / "sealed.toml").items()}
    known = read_toml(answers)
    missing = [p.id for p in lab.predictions if p.id not in known]
    if missing:
        raise LabError(f"{answers}: no answer to {', '.join(missing)}")
    return {p.id: seal(lab, p, spellings(p, known[p.id])[0]) for p in lab.predictions}


def spellings(prediction: Prediction, value: float | str) -> list[str]:
    """What may be sealed if `value` is right; its own spelling first."""
    if isinstance(value, str):
        return [value]
    if prediction.rounded:
        return neighbours(value, prediction.digits)
    return [rounded(value, prediction.digits)]


def is_right(lab: Lab, prediction: Prediction, value: float | str, sealed: str) -> bool:
    texts = spellings(prediction, value)
    return any(seal(lab, prediction, text) == sealed for text in texts)
