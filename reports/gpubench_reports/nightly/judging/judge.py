"""Applies the rule to the store: judges nights that are new, and remembers what was found."""

import contextlib
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gpubench_reports.nightly.judging.decisions import present_decisions
from gpubench_reports.nightly.judging.history import (
    ENVIRONMENT,
    Key,
    MachineHistory,
    NightValue,
    Standing,
)
from gpubench_reports.nightly.judging.missing import missing_series
from gpubench_reports.nightly.judging.suite import suite_events
from gpubench_reports.nightly.rule import regression
from gpubench_reports.nightly.rule.baseline import Baseline
from gpubench_reports.nightly.rule.regression import RETURN
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.process_file import ProcessFile
from gpubench_reports.nightly.store.store import SCHEMA, Night, Store, as_json, now, publish

# Cycles have to move by this much of what time moved (as logarithms) to say that they agree.
_AGREEMENT = 0.5


def judge_new(store: Store, index: Index, settings: Settings) -> list[tuple[Night, dict[str, Any]]]:
    """Judges every complete night that has no verdict, in order; returns them with the verdicts.

    Doing it twice changes nothing: a verdict is written once. Raises ReportError.
    """
    index.update(settings)
    found = []
    decisions = present_decisions(store, index)
    for machine in store.machines():
        waiting = {
            number
            for (number,) in index.rows(
                "select number from night where machine = ? and verdict is null"
                " and state in ('ok', 'invalid')",
                (machine,),
            )
        }
        history = None
        for night in store.nights(machine):
            if night.number not in waiting:
                continue
            # Verdicts of this round reach the next night through the history, not the index.
            history = history or MachineHistory(index, machine)
            verdict = _judge_night(index, history, night, settings, decisions)
            if store.read_only:
                index.remember(night, verdict)
            else:
                with contextlib.suppress(FileExistsError):
                    publish(night.path / "verdict.json", as_json(verdict))
            for event in verdict["events"]:
                history.events[event["device"], event["mode"], event["benchmark"]].append(event)
            found.append((night, verdict))
    # The index of a read-only store has them already, and would forget those of a night whose
    # damaged file stays where it is.
    if found and not store.read_only:
        index.update(settings)
    return found


def _judge_night(
    index: Index,
    history: MachineHistory,
    night: Night,
    settings: Settings,
    decisions: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    events: list[dict[str, Any]] = []
    provisional, learning, segments, blind = [], 0, [], []
    tonight: set[Key] = set()
    for key, points in history.points.items():
        point = next((p for p in reversed(points) if p.night == night.number), None)
        if point is None:
            continue
        tonight.add(key)
        level = [
            p for p in history.level(key, point.environment, decisions) if p.night <= night.number
        ]
        if not level:  # the night came late: a later one began another level, and that is judged
            continue
        first = np.array([p.first for p in level])
        rerun = np.array([p.rerun for p in level])
        if len(level) < settings.min_nights:
            learning += 1
        segments += _new_segment(history, key, points, point)
        past = history.past(key, point.environment, decisions, settings)
        values = regression.night_values(first, rerun)
        side = regression.provisional(values[:-1], point.first, settings, past)
        if side:
            provisional.append([*key, side])
        change = regression.judge(first, rerun, settings, past)
        before = values if change is None else values[: change.index]  # a step is no noise
        blind += _blind(key, Baseline.of(before, settings, past.earlier))
        if change is not None:
            standing = history.standing(key, history.environments[point.environment], decisions)
            events.append(_event(history, key, level, change, standing, night.number, settings))
    events += suite_events(history, tonight, events, night.number, decisions, settings)
    return {
        "schema": SCHEMA,
        "machine": night.machine,
        "night": night.number,
        "judged_at": now(),
        "judged": len(tonight),
        "learning": learning,
        "provisional": provisional,
        "events": events,
        "missing": missing_series(index, history, tonight, night, decisions),
        "segments": segments,
        "blind": blind,
    }


def _blind(key: Key, baseline: Baseline) -> list[dict[str, Any]]:
    """Why small changes of the series cannot be seen, if that is so."""
    why = baseline.why_blind
    device, mode, name = key
    return [{"device": device, "mode": mode, "benchmark": name, "why": why}] if why else []


def _event(
    history: MachineHistory,
    key: Key,
    level: list[NightValue],
    change: regression.Change,
    standing: Standing,
    night: int,
    settings: Settings,
) -> dict[str, Any]:
    # A series at its reference is compared with what it was lately: nights drift.
    reference = standing.reference if standing.kind(settings) else change.before
    after = Standing(level=change.after, reference=reference, event={"benchmark": key[2]})
    before, since = level[change.compared(settings.window)], level[change.index :]
    cycles = _ratio([p.cycles for p in before], [p.cycles for p in since])
    event = {
        **history.event(key, level[-1].environment, before[-1].night, since[0].night, night),
        # A way back to the reference is neither of the two.
        "kind": after.kind(settings) or RETURN,
        "slower": change.slower,
        "class": _class(change, cycles, since),
        "how": change.how,
        "before": change.before,
        "after": change.after,
        "reference": reference,
    }
    return event if math.isnan(cycles) else event | {"cycles_ratio": cycles}


def _ratio(before: Iterable[float], since: Iterable[float]) -> float:
    """Ratio of medians; NaN unless at least half of the nights on either side are known."""
    medians = []
    for side in (list(before), list(since)):
        known = [value for value in side if not math.isnan(value)]
        if not known or 2 * len(known) < len(side):
            return math.nan
        medians.append(float(np.median(known)))
    return medians[1] / medians[0]


def _class(change: regression.Change, cycles: float, since: Sequence[NightValue]) -> str:
    """Whose doing the change is: the program's, if its cycles moved with its time."""
    if math.isnan(cycles):
        return "clock not known"
    if math.log(cycles) / math.log(change.ratio) >= _AGREEMENT:
        return "program"
    words = " ".join(point.limits for point in since)
    if "thermal" in words or any(point.throttled > 0 for point in since):
        return "thermal"
    return "power" if "power" in words else "clock"


def _new_segment(
    history: MachineHistory, key: Key, points: list[NightValue], point: NightValue
) -> list[dict[str, Any]]:
    """If tonight is the first night of a key: what changed, and how tonight compares."""
    earlier = [p for p in points if p.night < point.night]
    if not earlier or any(p.environment == point.environment for p in earlier):
        return []
    old, new = (history.environments[p.environment] for p in (earlier[-1], point))
    same = [p.seconds for p in earlier if p.environment == earlier[-1].environment]
    return [
        {
            "device": key[0],
            "mode": key[1],
            "benchmark": key[2],
            "changed": {k: [old[k], new[k]] for k in new if old[k] != new[k]},
            "ratio": point.seconds / float(np.median(same[-30:])),
        }
    ]


def suspicious(
    index: Index,
    machine: str,
    number: int,
    files: Sequence[ProcessFile],
    settings: Settings,
    decisions: Sequence[dict[str, Any]],
) -> list[Key]:
    """The series that night `number`, of which `files` are known so far, makes provisional."""
    history = MachineHistory(index, machine, until=number - 1)
    medians: dict[Key, list[float]] = defaultdict(list)
    environments: dict[Key, int] = {}
    for file in files:
        wanted = {k: getattr(file.environment, k) for k in ENVIRONMENT}
        known = [n for n, e in history.environments.items() if e == wanted]
        if not known:
            continue  # the first night of a key: there is nothing to compare with
        for name, timing in file.timings.items():
            key = (file.environment.device, file.environment.mode, name)
            environments[key] = known[0]
            if not timing.throttled:
                medians[key].append(timing.seconds)
    found = []
    for key, seconds in medians.items():
        if len(seconds) < settings.min_processes:
            continue
        level = history.level(key, environments[key], decisions)
        before = np.array([point.seconds for point in level])
        past = history.past(key, environments[key], decisions, settings)
        if regression.provisional(before, float(np.median(seconds)), settings, past):
            found.append(key)
    return found
