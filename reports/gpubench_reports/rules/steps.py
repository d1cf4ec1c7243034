"""What holds up each training step of a file: four questions, the wall, and what to change."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from gpubench_reports.results.doubts import Doubts, doubtful
from gpubench_reports.results.intervals import width_of
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.verdicts.rulebook import number_of, ratio

CONCEPT = "training_step"
# Each has its seconds in a row.
PARTS = ("compute", "bandwidth", "overhead", "communication", "starved")
_BASELINE = "nothing"
_WORTH_IT = 1.01  # times as fast
_CLOSE = 0.05  # to a limit, relative to it

Setting = tuple[str, float | str]  # the switch, and the width of the model


@dataclass(frozen=True)
class Answer:
    """One of the four questions about a step."""

    question: str
    yes: bool | None  # None: not observed
    evidence: str


@dataclass(frozen=True)
class Diagnosis:
    row: str
    seconds: float
    mfu: float
    peak: float  # FLOP/s that `mfu` is a part of
    model: str  # what is trained, on how many GPUs, and how many steps a row takes the time of
    parts: dict[str, float]  # seconds by kind of wall
    answers: tuple[Answer, ...]
    wall: str
    then: str  # the wall that is next once this one is gone; empty: the step is near its best
    share: float  # of the step
    means: str
    change: str
    switch: str  # that gains most of those that move the wall; empty: none is in the file
    gain: float  # how many times as fast a step then is; NaN: not known
    at_most: float  # how many times as fast it is without this wall; NaN: nobody can say
    doubts: Doubts  # of the step's row and of those that `gain` comes from


@cache
def rules() -> dict[str, Any]:
    path = files("gpubench_reports.rules").joinpath("steps.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def diagnose_steps(result: ResultFile) -> list[Diagnosis]:
    """Diagnoses every training step of the file, in its order."""
    steps = steps_of(result)
    return [_diagnosis(result, row, steps) for row in steps]


def wall_of(raw: Mapping[str, Any]) -> str:
    """The name of the wall that holds up the step of a row; empty if the row is not a step, or does
    not say how near to their peak its products are."""
    wall = _wall(raw) if is_step(raw) else {"name": ""}
    return "" if wall.get("unsure") else str(wall["name"])


def is_step(raw: Mapping[str, Any]) -> bool:
    """Whether a row says how long a step takes, and its products."""
    return _part(raw, "step_seconds") > 0 and _part(raw, "compute_seconds") > 0


def gains(results: Sequence[ResultFile]) -> dict[Setting, list[float]]:
    """By switch and width of the model: how many times as fast as without it a step is, in each of
    the files; NaN where a file has not both rows."""
    of_files = [_seconds_of(steps_of(result)) for result in results]
    settings = {setting: None for seconds in of_files for setting in seconds}
    return {
        (switch, hidden): [
            ratio(seconds.get((_BASELINE, hidden), math.nan), seconds.get((switch, hidden), 0))
            for seconds in of_files
        ]
        for switch, hidden in settings
        if switch != _BASELINE
    }


def steps_of(result: ResultFile) -> list[dict[str, Any]]:
    """The rows of training steps."""
    return [row for row in result.timed if row["concept"] == CONCEPT and is_step(row["raw"])]


def _setting(row: dict[str, Any]) -> Setting:
    return str(row["arguments"].get("with", "")), row["arguments"].get("hidden", "")


def _by_setting(steps: Sequence[dict[str, Any]]) -> dict[Setting, dict[str, Any]]:
    """The first of the rows with equal settings counts."""
    found: dict[Setting, dict[str, Any]] = {}
    for row in steps:
        found.setdefault(_setting(row), row)
    return found


def _seconds_of(steps: Sequence[dict[str, Any]]) -> dict[Setting, float]:
    return {
        setting: number_of(row["raw"]["step_seconds"])
        for setting, row in _by_setting(steps).items()
    }


def _part(raw: Mapping[str, Any], key: str) -> float:
    """Seconds of a part of the step; 0 if it is absent."""
    return max(number_of(raw.get(key)), 0.0) if key in raw else 0.0


def _diagnosis(
    result: ResultFile, row: dict[str, Any], steps: Sequence[dict[str, Any]]
) -> Diagnosis:
    raw = row["raw"]
    step = _part(raw, "step_seconds")
    wall = _wall(raw)
    held = _part(raw, wall["seconds"])
    at_most = ratio(step, step - held) if wall["can_go"] else math.nan
    switch, gain = _best_switch(wall, row, _seconds_of(steps))
    used = [row]
    if switch:
        used.append(_by_setting(steps)[switch, _setting(row)[1]])
    return Diagnosis(
        row=row["name"],
        seconds=step,
        mfu=number_of(raw.get("mfu")),
        peak=ratio(number_of(raw.get("flops_per_second")), number_of(raw.get("mfu"))),
        model=_model(raw | {"steps": round(row["seconds"] / step)}),
        parts={key: _part(raw, f"{key}_seconds") for key in PARTS},
        answers=(_is_stable(row, result.context.modelled), *_answers(raw)),
        wall=wall["name"],
        then=_next_wall(raw, wall["name"]),
        share=held / step,
        means=wall["means"],
        change=wall["change"],
        switch=switch,
        gain=gain if wall["switches"] else at_most,
        at_most=at_most,
        doubts=doubtful(result, used),
    )


def _model(raw: dict[str, Any]) -> str:
    """What a file of an earlier version does not say is left out."""
    words = {
        "layers": ("{:.0f} layer", "{:.0f} layers"),
        "vocabulary": ("a vocabulary of {:.0f}",) * 2,
        "tokens_per_step": ("{:.0f} token a step", "{:.0f} tokens a step"),
        "gpus": ("one GPU", "{:.0f} GPUs"),
        "steps": ("one step a row", "{:.0f} steps a row"),
    }
    numbers = {key: number_of(raw.get(key)) for key in words}
    known = {key: number for key, number in numbers.items() if not math.isnan(number)}
    return ", ".join(words[key][number != 1].format(number) for key, number in known.items())


def _is_stable(row: dict[str, Any], modelled: bool) -> Answer:
    question, limit = "Is the step time stable?", rules()["limits"]["interval"]
    if modelled:
        return Answer(question, None, "modelled: not observed")
    width = width_of(row)
    if math.isnan(width):
        return Answer(question, None, "not observed: too few samples")
    evidence = f"its interval is {width:.1%} of it wide (at most {limit:.0%})"
    return Answer(question, width <= limit, evidence)


def _answers(raw: Mapping[str, Any]) -> tuple[Answer, Answer, Answer]:
    limits = rules()["limits"]
    compute, other = _part(raw, "compute_seconds"), _part(raw, "bandwidth_seconds")
    idle = number_of(raw.get("gpu_idle_fraction"))
    others = other / (compute + other)
    products = number_of(raw.get("hfu")) * _part(raw, "step_seconds") / compute
    return (
        _at_most("Is the GPU busy?", idle, limits["idle"], f"idle for {idle:.1%} of the step"),
        _at_most(
            "Is the busy time spent in products?",
            others,
            limits["other_kernels"],
            f"other kernels take {others:.1%} of the busy time",
        ),
        _near_roof(products, limits["products"]),
    )


def _near_roof(products: float, limit: float) -> Answer:
    question = "Are products near their roof?"
    if math.isnan(products):  # of a device or a type whose peak no device file states
        return Answer(question, None, "not known: the row has no hfu")
    evidence = f"they reach {products:.1%} of the peak (at least {limit:.0%}"
    return Answer(question, products >= limit, f"{evidence}{_close(products, limit)})")


def _at_most(question: str, value: float, limit: float, words: str) -> Answer:
    if math.isnan(value):
        return Answer(question, None, "not known: the row does not say")
    return Answer(question, value <= limit, f"{words} (at most {limit:.0%}{_close(value, limit)})")


def _close(value: float, limit: float) -> str:
    """A remark for a figure that could as well be on the other side of its limit."""
    return "; close" if abs(value / limit - 1) < _CLOSE else ""


def _wall(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The first question that is answered by no names it; if none is, products take the time.
    `unsure`: whether these are near their peak is not known."""
    walls: dict[str, dict[str, Any]] = {wall["name"]: wall for wall in rules()["walls"]}
    busy, in_products, near_roof = _answers(raw)
    if busy.yes is False:
        waits = [walls[name] for name in ("starved", "communication", "overhead")]
        return max(waits, key=lambda wall: _part(raw, wall["seconds"]))
    if busy.yes and not in_products.yes:
        return walls["bandwidth"]
    if busy.yes is None or near_roof.yes is None:
        unsure: dict[str, Any] = rules()["unsure"] | {"unsure": True}
        return walls["compute"] | unsure
    return walls["compute" if near_roof.yes else "slow products"]


def _next_wall(raw: dict[str, Any], wall: str) -> str:
    """The next of the questions that is answered by no."""
    _, in_products, near_roof = _answers(raw)
    others = {"bandwidth": in_products.yes, "slow products": near_roof.yes}
    return next((name for name, yes in others.items() if yes is False and name != wall), "")


def _best_switch(
    wall: dict[str, Any], row: dict[str, Any], seconds: dict[Setting, float]
) -> tuple[str, float]:
    switch, hidden = _setting(row)
    own = _part(row["raw"], "step_seconds")
    known = {
        other: ratio(own, seconds.get((other, hidden), math.nan)) for other in wall["switches"]
    }
    better = {other: gain for other, gain in known.items() if gain > _WORTH_IT and other != switch}
    best = max(better, key=lambda other: better[other], default="")
    return best, better.get(best, math.nan)
