"""What rows say of the SM clock that they were measured at."""

from collections.abc import Mapping
from typing import Any

from gpubench_reports.results.device_files import device_figure
from gpubench_reports.results.reader import ResultFile

_LOWERED = 0.97  # of the clock that is stated: a step of the driver's is less
_POWER_CAP = "software power cap in "  # how the driver's reason for a low clock begins in a note


def reference_clock(result: ResultFile) -> float:
    """The SM clock that the device's file states [Hz]; else the highest of the run; 0: unknown."""
    stated = device_figure(result.context.device, "sm_clock_hz")
    if stated > 0:
        return stated
    return max((row["sm_clock_hz"] for row in result.timed if row["sm_clock_hz"] > 0), default=0.0)


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
