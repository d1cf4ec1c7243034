"""What a file in decisions/ holds."""

import math
from typing import Any

from gpubench_reports.common.dates import day_of


def is_decision(document: Any) -> bool:
    """Whether it holds what `Store.decide` writes."""
    types = {"action": str, "machine": str, "night": int, "series": list, "reason": str}
    return (
        isinstance(document, dict)
        and all(isinstance(document.get(key), wanted) for key, wanted in types.items())
        and (document["action"] != "acknowledge" or _is_day(document.get("until")))
        and isinstance(document.get("number", 0), int)
        and _are_levels(document.get("levels", []), len(document["series"]))
    )


def _is_day(text: Any) -> bool:
    return isinstance(text, str) and text != "" and day_of(text) == text


def _are_levels(levels: Any, count: int) -> bool:
    """Whether these are the times [s] of so many series, or none at all."""
    if not isinstance(levels, list):
        return False
    times = [level for level in levels if isinstance(level, float) and 0 < level < math.inf]
    return len(times) == len(levels) and len(levels) in (0, count)
