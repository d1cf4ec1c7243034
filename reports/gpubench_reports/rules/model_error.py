"""How far off the model's time is for rows of a concept, by what it was compared with."""

import tomllib
from functools import cache
from importlib.resources import files


@cache
def _sigmas() -> dict[str, float]:
    path = files("gpubench_reports.rules").joinpath("model_error.toml")
    found: dict[str, float] = tomllib.loads(path.read_text(encoding="utf-8"))["sigma"]
    return found


def is_known(concept: str) -> bool:
    """Whether the table has a figure for this concept, and not only for "other"."""
    return concept in _sigmas()


def sigma_of(concept: str) -> float:
    """Standard deviation of the logarithm of the measured over the modelled time."""
    return _sigmas().get(concept, _sigmas()["other"])
