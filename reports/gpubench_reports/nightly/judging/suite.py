"""Many rows that move together, each by less than is judged alone.

One row that is 1 % slower is noise; forty of 200 are not. The median of each row's last nights is
compared with the row's own baseline. A machine has moods, which all rows share: they are taken out
first, and only a mood beyond all earlier ones counts itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpubench_reports.nightly.judging.history import (
    LEAN_NIGHTS,
    SUITE_WIDE,
    Key,
    MachineHistory,
    median_of,
)
from gpubench_reports.nightly.rule.baseline import sigmas_of
from gpubench_reports.nightly.rule.regression import IMPROVEMENT, REGRESSION, RETURN
from gpubench_reports.nightly.rule.settings import Settings

_OF_MEDIAN = 0.67  # how uncertain the median of three nights is, to that of one
_LEAN = 2.0  # sigmas of such a median that a row leans by
_LEAST = 1e-6  # so does a row that never varied
_FEWEST = 8  # more rows than these have to lean
_SHARE = 0.05  # and more than this share of the rows
_MORE = 2.0  # and more than so many times as many, or as far all together, as ever in the baseline
# Where rows part, those moved that are further from their baselines: what the others did is a mood.
# To be called faster, they have to be so many times as far.
_SURELY = 2.0
_FLOOR = 0.0075  # of a lean of all rows together
_BASELINE = 10  # nights of it, at least, whatever the settings ask of a single row


@dataclass(frozen=True)
class Rows:
    """The rows of one device and mode that have enough nights on their present levels."""

    keys: list[Key]
    nights: list[int]  # the last of them is tonight
    ratios: np.ndarray  # rows x nights, to the median of each row's baseline; NaN: no time


def suite_events(
    history: MachineHistory,
    tonight: set[Key],
    alone: Sequence[dict[str, Any]],
    night: int,
    decisions: Sequence[dict[str, Any]],
    settings: Settings,
) -> list[dict[str, Any]]:
    """What the rows of each device and mode show together. `alone`: what single rows showed."""
    alerted = {(event["device"], event["mode"], event["benchmark"]) for event in alone}
    events = []
    for device, mode in sorted({key[:2] for key in tonight}):
        keys = sorted(key for key in tonight - alerted if key[:2] == (device, mode))
        if not keys:
            continue
        environment = next(p.environment for p in history.points[keys[0]] if p.night == night)
        key = (device, mode, SUITE_WIDE)
        standing = history.standing(key, history.environments[environment], decisions)
        if standing.kind(settings):
            found = _back_again(history, standing.event or {}, night, decisions, settings)
        else:
            start = standing.level_start
            rows = _rows(history, keys, environment, start, night, decisions, settings)
            found = lean(rows) if rows is not None else {}
        if found:
            events.append(_event(history, key, environment, found, night))
    return events


def _rows(
    history: MachineHistory,
    keys: Sequence[Key],
    environment: int,
    start: int,
    night: int,
    decisions: Sequence[dict[str, Any]],
    settings: Settings,
) -> Rows | None:
    """The rows that can be compared tonight; None if there are too few of them, or of nights."""
    least = least_nights(settings)
    reach = max(settings.window, least) + LEAN_NIGHTS
    known: dict[Key, dict[int, float]] = {}
    for key in keys:
        level = history.level(key, environment, decisions)
        past = [(point.night, point.seconds) for point in level if start <= point.night <= night]
        known[key] = dict(past[-reach:])
    nights = sorted({n for times in known.values() for n in times})[-reach:]
    if len(nights) < least + LEAN_NIGHTS:
        return None
    wanted = [
        key
        for key, times in known.items()
        if sum(n in times for n in nights[:-LEAN_NIGHTS]) >= least
        and all(n in times for n in nights[-LEAN_NIGHTS:])
    ]
    if len(wanted) <= _FEWEST:
        return None
    times = np.array([[known[key].get(n, np.nan) for n in nights] for key in wanted])
    return Rows(
        wanted, nights, times / np.nanmedian(times[:, :-LEAN_NIGHTS], axis=1, keepdims=True)
    )


def least_nights(settings: Settings) -> int:
    """How many nights a baseline has at least."""
    return max(settings.min_nights, _BASELINE)


def lean(rows: Rows) -> dict[str, Any]:
    """The rows that lean to one side tonight, if no mood explains it; else nothing."""
    medians, limits = _against_others(rows.ratios)
    moods = np.median(medians, axis=0)
    everything = abs(moods[-1]) > max(_FLOOR, _MORE * np.abs(moods[:-1]).max())
    for slower in (True, False):
        sign = 1 if slower else -1
        leaning = sign * (medians - (0 if everything else moods)) > limits
        if not _is_news(leaning, 0 if everything else _MORE):
            continue
        members = np.flatnonzero(leaning[:, -1])
        own = abs(np.median(medians[members, -1]))
        # A regression is missed only where the others have surely moved.
        mood = abs(moods[-1])
        if everything or (own * _SURELY > mood if slower else own >= _SURELY * mood):
            return _leaning(rows, members, slower)
        # These are where they were, and the others moved: so many that they look like a mood.
        moved = -sign * medians > limits
        if mood >= own and _is_news(moved, 1):
            return _leaning(rows, np.flatnonzero(moved[:, -1]), not slower)
    return {}


def _is_news(leaning: np.ndarray, more: float) -> bool:
    """Whether enough rows lean tonight, and more than `more` times as many as ever before."""
    counts = leaning.sum(axis=0)
    return bool(counts[-1] > max(_FEWEST, _SHARE * len(leaning), more * counts[:-1].max()))


def _against_others(ratios: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far each row's median of some nights running lies from the baseline, and how far it may:
    rows x windows, the last of them tonight's.

    No window is part of the baseline it is compared with. Else earlier ones would lie closer to it
    than tonight's ever could, in a short baseline by far.
    """
    before = ratios[:, :-LEAN_NIGHTS]
    # The last nights of the baseline may belong to what is found tonight: they set no example.
    starts = range(before.shape[1] - 2 * LEAN_NIGHTS + 2)
    windows = [slice(start, start + LEAN_NIGHTS) for start in starts]
    compared = [(before[:, window], np.delete(before, window, axis=1)) for window in windows]
    medians, limits = [], []
    for window, others in [*compared, (ratios[:, -LEAN_NIGHTS:], before)]:
        centres = np.nanmedian(others, axis=1, keepdims=True)
        known = np.where(np.isnan(window), centres, window)  # a night without a time: no lean
        medians.append(np.median(known / centres, axis=1) - 1)
        limits.append(np.maximum(_LEAN * _OF_MEDIAN * sigmas_of(others / centres), _LEAST))
    return np.transpose(medians), np.transpose(limits)


def _leaning(rows: Rows, members: np.ndarray, slower: bool) -> dict[str, Any]:
    """What an event says of the rows that lean."""
    lately = np.median(rows.ratios[members][:, -LEAN_NIGHTS:], axis=0)
    ratio = float(np.median(lately))
    first = int(np.argmax(np.abs(lately - 1) > abs(ratio - 1) / 2))
    return {
        "kind": REGRESSION if slower else IMPROVEMENT,
        "after": ratio,
        "first_night": rows.nights[-LEAN_NIGHTS:][first],
        "how": f"{len(members)} of {len(rows.keys)} series together",
        "rows": [rows.keys[member][2] for member in members],
    }


def _back_again(
    history: MachineHistory,
    event: dict[str, Any],
    night: int,
    decisions: Sequence[dict[str, Any]],
    settings: Settings,
) -> dict[str, Any]:
    """Whether the rows of an open event are back where they were, on two nights."""
    ratios: dict[int, list[float]] = {}
    for name in event["rows"]:
        key = (event["device"], event["mode"], name)
        before = history.level_before(key, event["environment"], event["first_night"], decisions)
        since = [
            point
            for point in history.points.get(key, ())
            if history.environments[point.environment] == event["environment"]
            and event["first_night"] <= point.night <= night
        ]
        for point in since[-2:] if before else ():
            ratio = point.seconds / median_of(before[-settings.window :])
            ratios.setdefault(point.night, []).append(ratio)
    nights = sorted(ratios)[-2:]
    half = abs(event["after"] - 1) / 2
    if len(nights) < 2 or any(abs(np.median(ratios[n]) - 1) > half for n in nights):
        return {}
    return {
        "kind": RETURN,
        "after": 1.0,
        "first_night": nights[0],
        "how": "back again",
        "rows": event["rows"],
    }


def _event(
    history: MachineHistory, key: Key, environment: int, found: dict[str, Any], night: int
) -> dict[str, Any]:
    """As that of a single row, with ratios in place of times."""
    first = found["first_night"]
    before = max((number for number in history.nights if number < first), default=first)
    return {
        **history.event(key, environment, before, first, night),
        "slower": found["after"] > 1,
        "class": "many rows",
        "before": 1.0,
        "reference": 1.0,
        **found,
    }
