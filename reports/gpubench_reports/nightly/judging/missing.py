"""Series that a night should have had."""

import difflib
from collections.abc import Sequence
from typing import Any

from gpubench_reports.nightly.judging.history import Key, MachineHistory, covers, row_and_mode
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.process_file import is_failure
from gpubench_reports.nightly.store.store import Night


def missing_series(
    index: Index,
    history: MachineHistory,
    tonight: set[Key],
    night: Night,
    decisions: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Series of tonight's devices that had a value once, have none tonight, and nobody retired;
    and those that failed in some of tonight's processes: their times may be of wrong results."""
    problems = {
        (device, mode, name): problem
        for device, mode, name, problem in index.rows(
            "select device, mode, name, problem from problem where machine = ? and number = ?",
            (night.machine, night.number),
        )
    }
    kinds = {key[:2] for key in (*tonight, *problems)}
    new = [
        key[2]
        for key in tonight
        if not any(point.night < night.number for point in history.points[key])
    ]
    found = []
    for key, points in history.points.items():
        seen = [point.night for point in points if point.night < night.number]
        if key in tonight or key[:2] not in kinds or not seen:
            continue
        why = problems.get(key, "vanished")
        if is_retired(night.machine, key, seen[-1], why, decisions):
            continue
        entry = {
            "device": key[0],
            "mode": key[1],
            "benchmark": key[2],
            "last_night": seen[-1],
            "why": why,
        }
        alike = difflib.get_close_matches(key[2], new, 1, 0.7) if key not in problems else []
        found.append(entry | ({"perhaps_now": alike[0]} if alike else {}))
    # A row that fails from its first night on has no series yet, but could not be judged either.
    found += [
        {"device": key[0], "mode": key[1], "benchmark": key[2], "why": problem}
        for key, problem in problems.items()
        if (key in tonight or key not in history.points) and is_failure(problem)
    ]
    return found


def is_retired(
    machine: str, key: Key, last_night: int, why: str, decisions: Sequence[dict[str, Any]]
) -> bool:
    """Whether somebody knows that the series ends with that night. One that fails has not ended."""
    return not is_failure(why) and any(
        decision["action"] == "retire"
        and covers(decision, machine, key)
        and decision["night"] >= last_night
        for decision in decisions
    )


def missing_line(entry: dict[str, Any]) -> str:
    text = f"{row_and_mode(entry['benchmark'], entry['mode'])}: {entry['why']}"
    if "last_night" in entry:
        text += f" (last measured in night {entry['last_night']})"
    return text + (f"; is it now {entry['perhaps_now']}?" if "perhaps_now" in entry else "")
