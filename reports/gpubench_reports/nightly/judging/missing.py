"""Series that a night should have had."""

import difflib
from collections.abc import Sequence
from typing import Any

from gpubench_reports.nightly.judging.history import Key, MachineHistory, covers, row_and_mode
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.process_file import is_failure, is_left_out
from gpubench_reports.nightly.store.store import Night

NEVER = 0  # the last night of a row that was never measured: nights count from 1


def missing_series(
    index: Index,
    history: MachineHistory,
    tonight: set[Key],
    night: Night,
    decisions: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Series of tonight's devices that had a value once, rows that ran and never had one, where
    tonight has none and nobody retired them; and rows that failed in some of tonight's processes:
    their times may be of wrong results. A night that is not valid says only what failed."""
    problems = {
        (device, mode, name): problem
        for device, mode, name, problem in index.rows(
            "select device, mode, name, problem from problem where machine = ? and number = ?",
            (night.machine, night.number),
        )
    }
    query = "select 1 from night where machine = ? and number = ? and state = 'ok'"
    is_valid = bool(index.rows(query, (night.machine, night.number)))
    if not is_valid:
        problems = {key: problem for key, problem in problems.items() if is_failure(problem)}
    kinds = {key[:2] for key in (*tonight, *problems)}
    last_nights = {
        key: max(before)
        for key, points in history.points.items()
        if (before := [point.night for point in points if point.night < night.number])
    }
    new = [key[2] for key in tonight if key not in last_nights]
    found = []
    for key, last_night in last_nights.items():
        if key in tonight or key[:2] not in kinds or not (is_valid or key in problems):
            continue
        why = problems.get(key, "vanished")
        if is_retired(night.machine, key, last_night, why, decisions):
            continue
        entry = {
            "device": key[0],
            "mode": key[1],
            "benchmark": key[2],
            "last_night": last_night,
            "why": why,
        }
        alike = difflib.get_close_matches(key[2], new, 1, 0.7) if key not in problems else []
        found.append(entry | ({"perhaps_now": alike[0]} if alike else {}))
    # A row that has no sound time from its first night on has no series yet, but is not judged
    # either. Where no row has one, the night says so itself.
    found += [
        {"device": key[0], "mode": key[1], "benchmark": key[2], "why": problem}
        for key, problem in problems.items()
        if (key in tonight and is_failure(problem))
        or (key not in last_nights and _is_news(night.machine, key, problem, tonight, decisions))
    ]
    return found


def _is_news(
    machine: str, key: Key, problem: str, tonight: set[Key], decisions: Sequence[dict[str, Any]]
) -> bool:
    """Whether the problem of a row that never had a sound time is to be told."""
    if is_failure(problem):
        return True
    is_known = is_left_out(problem) or is_retired(machine, key, NEVER, problem, decisions)
    return key not in tonight and bool(tonight) and not is_known


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
