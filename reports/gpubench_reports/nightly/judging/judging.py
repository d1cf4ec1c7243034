"""Applies the rule to the store: judges nights, remembers what was found, says what is open.

A verdict is a file of its night: what was found then, from the nights before it. What is open now
follows from all verdicts and from what people decided since.
"""

import contextlib
import difflib
import fnmatch
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.rule import regression
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.process_file import ProcessFile
from gpubench_reports.nightly.store.store import SCHEMA, Night, Store, as_json, now, publish

# Nights before the one that is judged that are read at all.
HORIZON = 400
# Cycles have to move by this much of what time moved (as logarithms) to say that they agree.
_AGREEMENT = 0.5

Key = tuple[str, str, str]  # device, mode, name: a series of one machine
REGRESSION, IMPROVEMENT, RETURN = "regression", "improvement", "return"


class Point(NamedTuple):
    """One night of one series; NaN is not known."""

    night: int
    environment: int
    first: float
    rerun: float
    seconds: float
    cycles: float
    clock_hz: float
    temperature_c: float
    throttled: float
    limits: str


@dataclass
class Standing:
    """Where a series stands, in one environment: what its events and the decisions come to."""

    level_start: int = 0  # first night of the level
    level: float = math.nan
    reference: float = math.nan  # the level that was accepted last
    event: dict[str, Any] | None = None  # the last one
    acknowledged: dict[str, Any] | None = None

    def kind(self, settings: Settings) -> str:
        """REGRESSION or IMPROVEMENT if it stands apart from its reference, else empty."""
        if self.event is None:
            return ""
        ratio = self.level / self.reference
        if ratio > 1 + settings.change_floor:
            return REGRESSION
        return IMPROVEMENT if ratio < 1 / (1 + settings.change_floor) else ""


class Machine:
    """A machine's history up to night `until` (all of it unless given), read from the index."""

    def __init__(self, index: Index, machine: str, until: int | None = None) -> None:
        self.machine = machine
        last = until if until is not None else _last_night(index, machine)
        self.environments = {
            number: dict(zip(_ENVIRONMENT, fields, strict=True))
            for number, *fields in index.rows(
                f"select id, {', '.join(_ENVIRONMENT)} from environment"
            )
        }
        self.nights: dict[int, tuple[str, str]] = {  # date and commit
            number: (date[:10], commit)
            for number, date, commit in index.rows(
                "select number, date, git_commit from night where machine = ? and number <= ?",
                (machine, last),
            )
        }
        self.points: dict[Key, list[Point]] = defaultdict(list)
        for device, mode, name, *columns in index.rows(
            "select s.device, s.mode, s.name, v.night, v.environment, v.first, v.rerun, v.seconds,"
            " v.cycles, v.clock_hz, v.temperature_c, v.throttled, v.limits"
            " from value v join series s"
            " on s.id = v.series where s.machine = ? and v.night > ? and v.night <= ?"
            " order by v.series, v.night",
            (machine, last - HORIZON, last),
        ):
            point = Point(*(math.nan if column is None else column for column in columns))
            self.points[device, mode, name].append(point)
        self.events: dict[Key, list[dict[str, Any]]] = defaultdict(list)
        for (text,) in index.rows(
            "select verdict from night where machine = ? and number <= ? and verdict is not null"
            " order by number",
            (machine, last),
        ):
            for event in json.loads(text).get("events", []):
                self.events[event["device"], event["mode"], event["benchmark"]].append(event)

    def standing(self, key: Key, environment: dict, decisions: Sequence[dict]) -> Standing:
        """Where the series stands in that environment."""
        standing = Standing()
        for event in self.events.get(key, ()):
            if event["environment"] != environment:
                continue
            if standing.event is None:
                standing.reference = event["before"]
            standing.event, standing.level = event, event["after"]
            standing.level_start, standing.acknowledged = event["first_night"], None
            for decision in decisions:
                if not covers(decision, self.machine, key) or decision["night"] < event["night"]:
                    continue
                if decision["action"] == "accept":
                    standing.reference = standing.level
                elif decision["action"] == "acknowledge":
                    standing.acknowledged = decision
        return standing

    def level(self, key: Key, environment: int, decisions: Sequence[dict]) -> list[Point]:
        """The nights of the series' present level, oldest first."""
        start = self.standing(key, self.environments[environment], decisions).level_start
        return [
            point
            for point in self.points.get(key, ())
            if point.environment == environment and point.night >= start
        ]


_ENVIRONMENT = ("device", "mode", "device_title", "driver", "cuda", "compiler", "flags")


def covers(decision: dict[str, Any], machine: str, key: Key) -> bool:
    """Whether the decision is about that series."""
    return decision["machine"] == machine and list(key) in decision["series"]


def _last_night(index: Index, machine: str) -> int:
    found = index.rows("select max(number) from night where machine = ?", (machine,))
    return found[0][0] or 0


def judge_new(store: Store, index: Index, settings: Settings) -> list[tuple[Night, dict[str, Any]]]:
    """Judges every complete night that has no verdict, in order; returns them with the verdicts.

    Doing it twice changes nothing: a verdict is written once. Raises ReportError.
    """
    index.update(settings)
    found = []
    decisions = store.decisions()
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
            history = history or Machine(index, machine)
            verdict = _judge_night(index, history, night, settings, decisions)
            with contextlib.suppress(FileExistsError):
                publish(night.path / "verdict.json", as_json(verdict))
            for event in verdict["events"]:
                history.events[event["device"], event["mode"], event["benchmark"]].append(event)
            found.append((night, verdict))
    if found:
        index.update(settings)
    return found


def _judge_night(
    index: Index, history: Machine, night: Night, settings: Settings, decisions: Sequence[dict]
) -> dict[str, Any]:
    events: list[dict[str, Any]] = []
    provisional, learning, segments = [], 0, []
    tonight: set[Key] = set()
    for key, points in history.points.items():
        point = next((p for p in reversed(points) if p.night == night.number), None)
        if point is None:
            continue
        tonight.add(key)
        level = [
            p for p in history.level(key, point.environment, decisions) if p.night <= night.number
        ]
        first = np.array([p.first for p in level])
        rerun = np.array([p.rerun for p in level])
        if len(level) < settings.min_nights:
            learning += 1
        segments += _new_segment(history, key, points, point)
        side = regression.provisional(
            regression.night_values(first, rerun)[:-1], point.first, settings
        )
        if side:
            provisional.append([*key, side])
        change = regression.judge(first, rerun, settings)
        if change is not None:
            standing = history.standing(key, history.environments[point.environment], decisions)
            events.append(_event(history, key, level, change, standing, night.number, settings))
    return {
        "schema": SCHEMA,
        "machine": night.machine,
        "night": night.number,
        "judged_at": now(),
        "judged": len(tonight),
        "learning": learning,
        "provisional": provisional,
        "events": events,
        "missing": _missing(index, history, tonight, night, decisions),
        "segments": segments,
    }


def _event(
    history: Machine,
    key: Key,
    level: list[Point],
    change: regression.Change,
    standing: Standing,
    night: int,
    settings: Settings,
) -> dict[str, Any]:
    device, mode, name = key
    reference = change.before if standing.event is None else standing.reference
    after = Standing(level=change.after, reference=reference, event={})
    before, since = level[: change.index][-settings.window :], level[change.index :]
    cycles = _ratio([p.cycles for p in before], [p.cycles for p in since])
    (_, good), (date, bad) = (history.nights[p.night] for p in (before[-1], since[0]))
    event = {
        "device": device,
        "mode": mode,
        "benchmark": name,
        "environment": history.environments[level[-1].environment],
        # A way back to the reference is neither of the two.
        "kind": after.kind(settings) or RETURN,
        "slower": change.slower,
        "class": _class(change, cycles, since),
        "how": change.how,
        "night": night,
        "first_night": since[0].night,
        "date": date,
        "commits": [good, bad],  # of the last night before it, and of its first
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


def _class(change: regression.Change, cycles: float, since: Sequence[Point]) -> str:
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
    history: Machine, key: Key, points: list[Point], point: Point
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


def _missing(
    index: Index, history: Machine, tonight: set[Key], night: Night, decisions: Sequence[dict]
) -> list[dict[str, Any]]:
    """Series of tonight's devices that had a value once, have none tonight, and nobody retired."""
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
        if _is_retired(night.machine, key, seen[-1], decisions):
            continue
        entry = {
            "device": key[0],
            "mode": key[1],
            "benchmark": key[2],
            "last_night": seen[-1],
            "why": problems.get(key, "vanished"),
        }
        alike = difflib.get_close_matches(key[2], new, 1, 0.7) if key not in problems else []
        found.append(entry | ({"perhaps_now": alike[0]} if alike else {}))
    # A row that fails from its first night on has no series yet, but could not be judged either.
    found += [
        {"device": key[0], "mode": key[1], "benchmark": key[2], "why": problem}
        for key, problem in problems.items()
        if key not in tonight and key not in history.points and problem.startswith("failed")
    ]
    return found


def _is_retired(machine: str, key: Key, last_night: int, decisions: Sequence[dict]) -> bool:
    """Whether somebody knows that the series ends with that night."""
    return any(
        decision["action"] == "retire"
        and covers(decision, machine, key)
        and decision["night"] >= last_night
        for decision in decisions
    )


def suspicious(
    index: Index,
    machine: str,
    number: int,
    files: Sequence[ProcessFile],
    settings: Settings,
    decisions: Sequence[dict],
) -> list[Key]:
    """The series that night `number`, of which `files` are known so far, makes provisional."""
    history = Machine(index, machine, until=number - 1)
    medians: dict[Key, list[float]] = defaultdict(list)
    environments: dict[Key, int] = {}
    for file in files:
        wanted = {k: getattr(file.environment, k) for k in _ENVIRONMENT}
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
        if regression.provisional(before, float(np.median(seconds)), settings):
            found.append(key)
    return found


@dataclass
class MachineStatus:
    """What is open on one machine after its latest night."""

    machine: str
    night: int
    date: str
    regressions: list[Standing] = field(default_factory=list)
    acknowledged: list[Standing] = field(default_factory=list)
    improvements: list[Standing] = field(default_factory=list)
    verdict: dict[str, Any] = field(default_factory=dict)
    unjudged: list[str] = field(default_factory=list)  # why the latest night could not be judged

    @property
    def exit_code(self) -> int:
        if self.regressions:
            return 1
        return 2 if self.unjudged else 0


def status(store: Store, index: Index, settings: Settings) -> list[MachineStatus]:
    """One a machine, from the index as it is."""
    decisions = store.decisions()
    found = []
    for machine in store.machines():
        nights = index.rows(
            "select number, date, state, note, verdict from night where machine = ?"
            " and state <> 'duplicate' order by number desc limit 1",
            (machine,),
        )
        if not nights:
            continue
        number, date, state, note, text = nights[0]
        verdict = json.loads(text) if text else {}
        if verdict:  # but for what was retired since
            verdict["missing"] = [
                entry
                for entry in verdict.get("missing", [])
                if not _is_retired(
                    machine,
                    (entry["device"], entry["mode"], entry["benchmark"]),
                    entry.get("last_night", number),
                    decisions,
                )
            ]
        one = MachineStatus(machine, number, date, verdict=verdict)
        if state != "ok":
            one.unjudged.append(f"night {number} is {state}: {note}")
        elif not verdict:
            one.unjudged.append(f"night {number} has not been judged")
        elif not verdict["judged"]:
            one.unjudged.append(f"night {number} gave no sound time")
        one.unjudged += [missing_line(entry) for entry in verdict.get("missing", [])]
        history = Machine(index, machine)
        for key, points in history.points.items():
            present = history.environments[points[-1].environment]
            standing = history.standing(key, present, decisions)
            kind = standing.kind(settings)
            if kind == IMPROVEMENT:
                one.improvements.append(standing)
            elif kind == REGRESSION:
                decision = standing.acknowledged
                if decision is not None and date[:10] <= decision["until"]:
                    one.acknowledged.append(standing)
                else:
                    one.regressions.append(standing)
        for group in (one.regressions, one.acknowledged, one.improvements):
            group.sort(key=lambda s: -abs(math.log(s.level / s.reference)))
        found.append(one)
    return found


def missing_line(entry: dict[str, Any]) -> str:
    text = f"{entry['benchmark']}: {entry['why']}"
    if "last_night" in entry:
        text += f" (last measured in night {entry['last_night']})"
    return text + (f"; is it now {entry['perhaps_now']}?" if "perhaps_now" in entry else "")


def decide(
    store: Store,
    index: Index,
    settings: Settings,
    action: str,
    pattern: str,
    reason: str,
    until: str = "",
) -> list[str]:
    """Accepts or acknowledges what is open and matches the shell pattern; returns the names.

    Missing series that match are retired by `accept`. Raises ReportError if nothing matches.
    """
    if not reason.strip():
        raise ReportError(action, "a decision needs a reason")
    made: list[dict[str, Any]] = []
    for one in status(store, index, settings):
        groups = [*one.regressions, *one.acknowledged]
        if action == "accept":
            groups += one.improvements
        keys = [[s.event["device"], s.event["mode"], s.event["benchmark"]] for s in groups]
        missing = [
            [entry["device"], entry["mode"], entry["benchmark"]]
            for entry in one.verdict.get("missing", [])
        ]
        for what, series in ((action, keys), ("retire", missing if action == "accept" else [])):
            matching = [key for key in series if fnmatch.fnmatchcase(key[2], pattern)]
            if not matching:
                continue
            if until and until < one.date[:10]:
                raise ReportError(until, f"is past: night {one.night} of {one.machine} came later")
            decision = {
                "action": what,
                "machine": one.machine,
                "night": one.night,
                "series": matching,
                "reason": reason,
            }
            made.append(decision | ({"until": until} if until else {}))
    if not made:
        raise ReportError(pattern, f"matches nothing that is open to {action}")
    for decision in made:
        store.decide(decision)
    return [key[2] for decision in made for key in decision["series"]]
