"""How far off the model's time is for a class of rows, by what it was compared with.

A class is a kernel of a concept ("attention/tiled"), or all others of the concept. The model
writes `model_low_seconds` and `model_high_seconds` by the same table.
"""

import tomllib
from functools import cache
from importlib.resources import files


@cache
def _sigmas() -> dict[str, float]:
    path = files("gpubench_reports.rules").joinpath("model_error.toml")
    found: dict[str, float] = tomllib.loads(path.read_text(encoding="utf-8"))["sigma"]
    return found


def class_of(concept: str, kernel: str) -> str:
    """The class of a kernel's rows: itself where the table has it, and else its concept."""
    name = f"{concept}/{kernel}"
    return name if name in _sigmas() else concept


def is_known(concept: str) -> bool:
    """Whether the table has a figure for this concept, and not only for "other"."""
    return concept in _sigmas()


def sigma_of(concept: str, kernel: str = "") -> float:
    """Standard deviation of the logarithm of the measured over the modelled time."""
    return _sigmas().get(class_of(concept, kernel), _sigmas()["other"])
