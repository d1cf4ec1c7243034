"""What rows say of the SM clock that they were measured at."""

from collections.abc import Mapping
from typing import Any

_LOWERED = 0.97  # of the clock that is stated: a step of the driver's is less
_POWER_CAP = "software power cap in "  # how the driver's reason for a low clock begins in a note


def clock_changed(row: Mapping[str, Any]) -> bool:
    """Whether the timer had to wait for the clock while it took the row's samples."""
    return bool(row["paused_seconds"] > 0)


def clock_lowered(row: Mapping[str, Any], stated_hz: float) -> bool:
    """Whether waiting did not help: the row was measured below the clock that is stated."""
    return clock_changed(row) and bool(row["sm_clock_hz"] < _LOWERED * stated_hz)


def power_capped(row: Mapping[str, Any]) -> bool:
    """Whether the driver held the clock back to stay within the power limit. At full load this is
    normal, and no fault."""
    return any(note.startswith(_POWER_CAP) for note in row["notes"])
