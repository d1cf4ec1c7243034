"""How far published trainings lay from their simulations, by kind: device and way of sharding.

ranges.toml is written by `gpubench-report job --published`.
"""

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

_LEAST_TRAININGS = 3  # fewer are no range
_HEAD = """\
# Published tokens per second, as multiples of the simulated: the least and the most of all
# trainings of one kind. Written by `gpubench-report job --published --ranges`: docs/jobs.md.
"""


@dataclass(frozen=True)
class Range:
    device: str
    sharding: str
    trainings: int
    least: float
    most: float


@cache
def known_ranges() -> dict[tuple[str, str], Range]:
    """By device and sharding."""
    path = files("gpubench_reports.jobs").joinpath("ranges.toml")
    entries: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["ranges"]
    return {(one["device"], one["sharding"]): Range(**one) for one in entries}


def ranges_of(compared: pd.DataFrame) -> list[Range]:
    """From a comparison; rounded outwards, to two digits."""
    return [
        Range(
            device,
            sharding,
            len(group),
            math.floor(ratios.min() * 100) / 100,
            math.ceil(ratios.max() * 100) / 100,
        )
        for (device, sharding), group in compared.groupby(["device", "sharding"])
        for ratios in [1 / (1 + group["error"])]
        if len(group) >= _LEAST_TRAININGS
    ]


def ranges_text(ranges: list[Range]) -> str:
    """The contents of ranges.toml."""
    return _HEAD + "".join(
        f"""
[[ranges]]
device = "{one.device}"
sharding = "{one.sharding}"
trainings = {one.trainings}
least = {one.least}
most = {one.most}
"""
        for one in ranges
    )
