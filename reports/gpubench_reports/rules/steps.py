"""What holds up each training step of a file: four questions, the wall, and what to change."""

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.verdicts.rulebook import number_of

CONCEPT = "training_step"
_BASELINE = "nothing"
_WORTH_IT = 1.01  # times as fast


@dataclass(frozen=True)
class Answer:
    """One of the four questions about a step."""

    question: str
    yes: bool
    evidence: str


@dataclass(frozen=True)
class Diagnosis:
    row: str
    seconds: float
    mfu: float
    answers: tuple[Answer, ...]
    wall: str
    share: float  # of the step
    means: str
    change: str
    switch: str  # that gains most of those that move the wall; empty: none is in the file
    gain: float  # how many times as fast a step then is; NaN: not known


@cache
def rules() -> dict[str, Any]:
    path = files("gpubench_reports.rules").joinpath("steps.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def diagnose_steps(result: ResultFile) -> list[Diagnosis]:
    """Of every training step in the file, in its order."""
    steps = _steps(result)
    return [_diagnosis(name, row, steps) for name, row in steps.items()]


def gains(results: Sequence[ResultFile]) -> dict[tuple[str, int], list[float]]:
    """By switch and width of the model: how many times as fast as without it a step is, in each of
    the files; NaN where a file has not both rows."""
    found: dict[tuple[str, int], list[float]] = {}
    all_steps = [_steps(result) for result in results]
    for steps in all_steps:
        for row in steps.values():
            found.setdefault(_setting(row), [])
    found = {key: found[key] for key in found if key[0] != _BASELINE}
    for (switch, hidden), column in found.items():
        column += [
            _seconds(steps, _BASELINE, hidden) / _seconds(steps, switch, hidden)
            for steps in all_steps
        ]
    return found


def _steps(result: ResultFile) -> dict[str, dict[str, Any]]:
    ok = result.ok
    mine = ok[ok["concept"] == CONCEPT]
    return {
        row["name"]: row | {"arguments": row["arguments"], "raw": row["raw"]}
        for row in mine.to_dict("records")
        if "step_seconds" in row["raw"]
    }


def _setting(row: dict[str, Any]) -> tuple[str, int]:
    return str(row["arguments"].get("with", "")), int(row["arguments"].get("hidden", 0))


def _seconds(steps: dict[str, dict[str, Any]], switch: str, hidden: int) -> float:
    for row in steps.values():
        if _setting(row) == (switch, hidden):
            return number_of(row["raw"]["step_seconds"])
    return math.nan


def _part(row: dict[str, Any], key: str) -> float:
    """Of a step; a part of no seconds is absent."""
    return max(number_of(row["raw"].get(key)), 0.0) if key in row["raw"] else 0.0


def _diagnosis(name: str, row: dict[str, Any], steps: dict[str, dict[str, Any]]) -> Diagnosis:
    step = _part(row, "step_seconds")
    answers = _answers(row, step)
    wall = _wall(row, answers)
    switch, gain = _best_switch(wall, row, steps)
    return Diagnosis(
        row=name,
        seconds=step,
        mfu=number_of(row["raw"].get("mfu")),
        answers=answers,
        wall=wall["name"],
        share=_part(row, wall["seconds"]) / step,
        means=wall["means"],
        change=wall["change"],
        switch=switch,
        gain=gain,
    )


def _answers(row: dict[str, Any], step: float) -> tuple[Answer, ...]:
    limits = rules()["limits"]
    width = (row["ci_high_seconds"] - row["ci_low_seconds"]) / row["seconds"]
    idle = _part(row, "gpu_idle_fraction")
    compute, other = _part(row, "compute_seconds"), _part(row, "bandwidth_seconds")
    others = other / (compute + other)
    products = number_of(row["raw"].get("hfu")) * step / compute
    interval = "no interval: modelled" if math.isnan(width) else f"interval {width:.1%} of it"
    return (
        Answer("Is the step time stable?", not width > limits["interval"], interval),
        Answer("Is the GPU busy?", idle <= limits["idle"], f"idle for {idle:.1%} of the step"),
        Answer(
            "Is the busy time spent in products?",
            others <= limits["other_kernels"],
            f"other kernels take {others:.1%} of it",
        ),
        Answer(
            "Are products near their roof?",
            products >= limits["products"],
            f"they reach {products:.1%} of the peak",
        ),
    )


def _wall(row: dict[str, Any], answers: Sequence[Answer]) -> dict[str, Any]:
    """The first question that is answered by no names it; if none is, products take the time."""
    walls: dict[str, dict[str, Any]] = {wall["name"]: wall for wall in rules()["walls"]}
    _, busy, in_products, _ = answers
    if not busy.yes:
        waits = [walls[name] for name in ("starved", "communication", "overhead")]
        return max(waits, key=lambda wall: _part(row, wall["seconds"]))
    return walls["compute" if in_products.yes else "bandwidth"]


def _best_switch(
    wall: dict[str, Any], row: dict[str, Any], steps: dict[str, dict[str, Any]]
) -> tuple[str, float]:
    switch, hidden = _setting(row)
    own = _part(row, "step_seconds")
    if wall["name"] == "starved":
        return "", own / (own - _part(row, wall["seconds"]))
    known = {other: own / _seconds(steps, other, hidden) for other in wall["switches"]}
    better = {other: gain for other, gain in known.items() if gain > _WORTH_IT and other != switch}
    best = max(better, key=lambda other: better[other], default="")
    return best, better.get(best, math.nan)
