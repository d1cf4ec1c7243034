"""The rules of verdicts.toml, and which of them fit a row."""

import fnmatch
import math
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.units import si
from gpubench_reports.results.rows import COUNTERS

# Parts of a training step, as shares of it, and the counters that they come from.
SHARES_OF_STEP = {
    "bandwidth_share": "bandwidth_seconds",
    "communication_share": "communication_seconds",
    "launching_share": "overhead_seconds",
    "starved_share": "starved_seconds",
}
# One for each wall of steps.toml.
HELD_BY = {
    f"held_by_{wall.replace(' ', '_')}": wall
    for wall in ("starved", "communication", "overhead", "bandwidth", "slow products", "compute")
}
_DERIVED = (
    *SHARES_OF_STEP,
    *HELD_BY,
    "processes",
    "clock_share",
    "power_capped",
    "interval_share",
    "dram_share",
    "requests_over_law",
    "overhead_share",
    "moved_over_useful",
    "claimed_over_true",
    "half_over_size",
    "tile_elements",
    "wave_share",
    "slowdown",
    "zeros",
)
_TESTS: dict[str, Callable[[float, float], bool]] = {
    "above": lambda value, limit: value > limit,
    "below": lambda value, limit: value < limit,
    "equals": lambda value, limit: value == limit,
}


@cache
def rules() -> dict[str, Any]:
    """The rules of verdicts.toml, checked: a condition on a figure that no row has is an error."""
    path = files("gpubench_reports.rules").joinpath("verdicts.toml")
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    if found.get("schema") != 1:
        raise ReportError(path, "must have schema 1")
    known = {*COUNTERS, *_DERIVED, *found["own"]}
    walls = {wall["name"] for wall in found["walls"]}
    for group in ("patterns", "causes", "advice"):
        for rule in found[group]:
            for condition in (*conditions_of(rule, "when"), *conditions_of(rule, "unless")):
                _check_condition(path, condition, known)
            if group == "patterns" and rule["wall"] not in walls:
                raise ReportError(path, f"no wall is called {rule['wall']!r}")
    return found


def conditions_of(rule: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """A rule's conditions under `key`: one, several, or none."""
    found = rule.get(key, [])
    return found if isinstance(found, list) else [found]


def _check_condition(path: object, condition: dict[str, Any], known: set[str]) -> None:
    if condition.get("key") not in known:
        raise ReportError(path, f"no row has a figure {condition.get('key')!r}")
    if len(condition) != 2 or not any(test in condition for test in _TESTS):
        raise ReportError(path, f"a condition needs a key and one of {', '.join(_TESTS)}")


def wall_means(name: str) -> str:
    return next((wall["means"] for wall in rules()["walls"] if wall["name"] == name), "")


def first_fitting(row: dict[str, Any], group: str) -> dict[str, Any]:
    """The first rule of the group that fits the row; empty if none does."""
    fitting = (rule for rule in rules()[group] if is_about(row, rule) and is_met(row, rule) is True)
    return next(fitting, {})


def is_about(row: dict[str, Any], rule: dict[str, Any]) -> bool:
    """Whether the rule is about rows with this label and name; one without either about all."""
    return all(
        key not in rule or any(fnmatch.fnmatchcase(row[own], p) for p in rule[key])
        for key, own in (("labels", "label"), ("rows", "name"))
    )


def is_met(row: dict[str, Any], rule: dict[str, Any]) -> bool | None:
    """Whether all of `when` holds and none of `unless`; None where the row has not the figures."""
    if any(_holds(row, condition) is True for condition in conditions_of(rule, "unless")):
        return False
    found = [_holds(row, condition) for condition in conditions_of(rule, "when")]
    return False if False in found else None if None in found else True


def _holds(row: dict[str, Any], condition: dict[str, Any]) -> bool | None:
    value = value_of(row, condition["key"])
    if math.isnan(value):
        return None
    return all(test(value, condition[name]) for name, test in _TESTS.items() if name in condition)


def value_of(row: dict[str, Any], key: str) -> float:
    """A figure of the row; NaN where it has none."""
    return number_of(row[key] if key in row else row["raw"].get(key))


def number_of(value: object) -> float:
    """A number of physical size, of what a file may hold under any key; NaN for anything else."""
    if not isinstance(value, int | float):
        return math.nan
    return float(value) if value == 0 or 1e-30 < abs(value) < 1e30 else math.nan


def ratio(a: float, b: float) -> float:
    """a / b; NaN unless b is positive."""
    return a / b if b > 0 else math.nan


def evidence_of(row: dict[str, Any], rule: dict[str, Any]) -> str:
    """The figures that a rule asks for (or names as `evidence`), as far as the row has them."""
    keys = rule.get("evidence") or [condition["key"] for condition in conditions_of(rule, "when")]
    return ", ".join(said for key in keys if (said := _quoted(row, key)))


def _quoted(row: dict[str, Any], key: str) -> str:
    plain = key.removesuffix("_share").replace("_", " ")
    value, text = value_of(row, key), row["raw"].get(key)
    if math.isnan(value):
        return f"{plain} {text}" if isinstance(text, str) else ""
    words = rules()["quoted"].get(key)
    if words:
        return str(words).format(value, si=si(value, "s")).replace("%", " %")
    return f"{plain} {value * 100:.3g} %" if key.endswith("_share") else f"{plain} {value:.4g}"
