"""The figures of the rule, and what a night runs. A store may change them in its settings.toml."""

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.checking import parse_toml

FILE = "settings.toml"


_LARGEST = 10**9
HORIZON = 400  # nights that are read at all
LONGEST_RUN = 7  # nights running that are looked at; what lasts longer is a change point

# More is no share or chance, or no change could ever stand out from it.
_MOST: dict[str, float] = {
    "min_nights": HORIZON - LONGEST_RUN,
    "window": HORIZON,
    "change_window": HORIZON,
    "confirm_nights": LONGEST_RUN,
    "sigmas": 100,
    "change_sigmas": 100,
    "floor": 100,
    "change_floor": 100,
    "gate_floor": 100,
    "max_throttled": 1,
    "max_utilisation": 1,
    "together": 1,
    "change_p": 0.5,
    "false_discovery_rate": 0.5,
}
# Neither must the first, or their sum, be above the second: there would never be so many.
_WITHIN = (
    (("min_processes",), "processes"),
    (("min_nights",), "window"),
    (("min_nights",), "change_window"),
    (("points_before", "points_after"), "change_window"),
)


@dataclass(frozen=True)
class Settings:
    """All times are seconds unless they say otherwise; floors are fractions (0.02 is 2 %)."""

    # What a night is.
    processes: int = 5  # fresh processes per night, and again for a rerun
    min_processes: int = 3  # fewer with a valid time: the night is not valid for this series
    suite: str = "default"
    mode: str = "cold"
    filter: str = ""  # of row names; empty: the whole suite
    timeout_seconds: float = 1800.0  # of one process
    resume_hours: float = 12.0  # how long a killed night may be taken up again
    machine: str = ""  # names the machine's series; empty: host and device

    # The two-nights rule. A store that sets `floor` alone sets `change_floor` with it.
    window: int = 30  # valid nights that a night is compared with
    min_nights: int = 10  # fewer in a key or a level: it is learning
    floor: float = 0.02
    sigmas: float = 4.0  # robust ones: 1.4826 times the median absolute deviation
    confirm_nights: int = 2
    agreement: float = 0.5  # how far apart the first nights of a change may lie, in such limits

    # A series that would not show this change in a week says so; and so far a level may drift.
    visible: float = 0.03

    # The change points (E-divisive).
    change_window: int = 50
    change_p: float = 1e-4
    change_floor: float = 0.015
    change_sigmas: float = 5.0  # of the difference of two means
    points_before: int = 5
    points_after: int = 2
    spike_sigmas: float = 3.0

    # The machine.
    max_throttled: float = 0.2  # share of a night's rows that may be throttled
    max_utilisation: float = 0.05  # of the GPU, by others, before a night begins
    max_temperature_c: float = 85.0  # before a night begins
    together: float = 0.1  # share of the series that change in a week: look at the machine

    # The gate for pull requests.
    rounds: int = 10
    gate_floor: float = 0.02
    false_discovery_rate: float = 0.05

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            most = _MOST.get(field.name, _LARGEST)
            if field.type is not str and not 0 < value <= most:
                problem = f"must be above 0 and at most {most}, not {_shown(value)}"
                raise ReportError("settings", f"'{field.name}' {problem}")
        for names, limit in _WITHIN:
            if sum(getattr(self, name) for name in names) > getattr(self, limit):
                these = " + ".join(f"'{name}'" for name in names)
                raise ReportError("settings", f"{these} is above '{limit}'")


def _shown(value: object) -> str:
    """A value in an error line: short, whatever the file holds."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "a number of many digits"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _name(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


def load(store: Path, **changes: Any) -> Settings:
    """The settings of the store in folder `store`; `changes` that are not None come on top.

    No file is no change. Raises ReportError for a file that is not TOML, and for unknown keys or
    wrong types.
    """
    path = store / FILE
    found = parse_toml(path) if os.path.lexists(path) else {}
    types = {field.name: field.type for field in dataclasses.fields(Settings)}
    for key, value in found.items():
        if key not in types:
            raise ReportError(path, f"'{key}' is no setting; known are {', '.join(types)}")
        wanted = types[key]
        if wanted is float and type(value) is int:
            found[key] = float(min(value, 2 * _LARGEST))  # refused all the same
        elif type(value) is not wanted:
            raise ReportError(path, f"'{key}' must be {_name(wanted)}, not {_shown(value)}")
    found |= {key: value for key, value in changes.items() if value is not None}
    if "floor" in found:  # smaller changes are to be ignored, however they are found
        found.setdefault("change_floor", found["floor"])
    if "change_floor" in found:  # nor is it news that they cannot be seen
        found.setdefault("visible", max(Settings.visible, found["change_floor"]))
    return Settings(**found)
