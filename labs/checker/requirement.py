"""What a lab asks of the counters of its rows, and how it says so: [[require]] in lab.toml."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# What is said of a counter that several labs require for the same reason.
WHY = {
    "fma_share": "this share of the multiply-adds is counted: the model counts fmaf(a, b, c), and "
    "no operators. Write a * b + c as fmaf(a, b, c)",
    "atomic_bytes": "a thread changes so many bytes by atomics, and this lab needs none. On one "
    "word they queue, which the model does not see",
}


@dataclass(frozen=True)
class Requirement:
    row: re.Pattern[str]
    key: str
    why: str
    min: float = -math.inf
    max: float = math.inf
    timed: bool = False  # unless it is met, the time is not that of the work

    def rows_in(self, rows: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {name: row for name, row in rows.items() if self.row.search(name)}

    def unmet(self, rows: Mapping[str, dict[str, Any]]) -> list[str]:
        """The rows in which the counter is not at least or at most so much."""
        faults = []
        for name, row in self.rows_in(rows).items():
            value = row.get(self.key)
            if value is None or not self.min <= value <= self.max:
                shown = "unknown" if value is None else f"{value:.3g}"
                faults.append(f"{name}: {self.key} is {shown}: {self.why}")
        return faults


def value_of(raw: Mapping[str, Any], key: str, kind: type, default: Any = None) -> Any:
    """ValueError unless it is there, or has a default, and is of that kind: "false" is no bool."""
    value = raw.get(key, default)
    if value is None:
        raise ValueError(f"has no {key}")
    is_number = kind is float and type(value) is int
    if type(value) is not kind and not is_number:
        names = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
        raise ValueError(f"{key} must be {names.get(kind, f'a {kind.__name__}')}")
    return value


def known(raw: Mapping[str, Any], keys: set[str]) -> None:
    """ValueError if there are others."""
    if unknown := sorted(raw.keys() - keys):
        raise ValueError(f"unknown: {', '.join(unknown)}; known are {', '.join(sorted(keys))}")


def read_requirement(raw: dict[str, Any]) -> Requirement:
    """ValueError."""
    try:
        known(raw, {"row", "key", "min", "max", "timed", "why"})
        if not raw.keys() & {"min", "max"}:
            raise ValueError("has neither min nor max")
        key, row = value_of(raw, "key", str), value_of(raw, "row", str)
        return Requirement(
            row=re.compile(row),
            key=key,
            why=value_of(raw, "why", str, WHY.get(key)),
            min=value_of(raw, "min", float, -math.inf),
            max=value_of(raw, "max", float, math.inf),
            timed=value_of(raw, "timed", bool, False),
        )
    except re.error as error:
        raise ValueError(f"[[require]] row = {raw['row']!r}: {error}") from None
    except ValueError as error:
        raise ValueError(f"[[require]] {error}") from None
