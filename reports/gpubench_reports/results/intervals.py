"""How well the time of a row is known."""

from collections.abc import Mapping
from typing import Any

_NARROW = 0.05  # of the time: an interval that leaves a row usable, though it did not converge


def width_of(row: Mapping[str, Any]) -> float:
    """The 95 % interval, as a share of the time; NaN where the row has none."""
    return float((row["ci_high_seconds"] - row["ci_low_seconds"]) / row["seconds"])


def is_unsure(row: Mapping[str, Any]) -> bool:
    """Whether a row did not converge, and its interval is not narrow either."""
    return row["converged"] == 0 and not width_of(row) <= _NARROW
