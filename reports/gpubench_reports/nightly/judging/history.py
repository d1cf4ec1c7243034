"""What a store's nights say of every series of a machine, up to now."""

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gpubench_reports.nightly.rule.regression import REGRESSION, RETURN, Past, kind_of
from gpubench_reports.nightly.rule.settings import HORIZON, Settings
from gpubench_reports.nightly.store.index import Index

Key = tuple[str, str, str]  # device, mode, name: a series of one machine
# In place of a row's name: many rows that moved together, each by less than is judged alone.
SUITE_WIDE = "suite-wide"
LEAN_NIGHTS = 3  # that lean the same way; one odd night among them is outvoted


def row_and_mode(name: str, mode: str) -> str:
    """What a person calls a series: its row, and its mode where that is not the usual one."""
    return f"{name} (hot)" if shown_mode(mode) == "hot" else name


def shown_mode(mode: str) -> str:
    """What a person calls the mode: files of other programs may say nothing of theirs."""
    return "hot" if mode == "hot" else "cold"


class NightValue(NamedTuple):
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
        # What many rows show together is below the floor of each.
        floor = 0.0 if self.event["benchmark"] == SUITE_WIDE else settings.change_floor
        kind = kind_of(self.level, self.reference, floor)
        return "" if kind == RETURN else kind


class _AcceptedStep(NamedTuple):
    """A step that many rows took together, and that somebody accepted."""

    first_night: int
    found: int  # the night that it was found in
    decided: int  # the last night that was judged when it was accepted
    ratio: float


class MachineHistory:
    """A machine's history up to night `until` (all of it unless given), read from the index."""

    def __init__(self, index: Index, machine: str, until: int | None = None) -> None:
        self.machine = machine
        last = until if until is not None else _last_night(index, machine)
        self.environments = {
            number: dict(zip(ENVIRONMENT, fields, strict=True))
            for number, *fields in index.rows(
                f"select id, {', '.join(ENVIRONMENT)} from environment"
            )
        }
        self.nights: dict[int, tuple[str, str]] = {  # date and commit
            number: (date[:10], commit)
            for number, date, commit in index.rows(
                "select number, date, git_commit from night where machine = ? and number <= ?",
                (machine, last),
            )
        }
        self.gpus: dict[int, dict[str, Any]] = {  # what identifies the GPU, as far as it is known
            number: json.loads(gpu)
            for number, gpu in index.rows(
                "select number, gpu from night where machine = ? and number <= ? order by number",
                (machine, last),
            )
        }
        self.points: dict[Key, list[NightValue]] = defaultdict(list)
        for device, mode, name, *columns in index.rows(
            "select s.device, s.mode, s.name, v.night, v.environment, v.first, v.rerun, v.seconds,"
            " v.cycles, v.clock_hz, v.temperature_c, v.throttled, v.limits"
            " from value v join series s"
            " on s.id = v.series where s.machine = ? and v.night > ? and v.night <= ?"
            " order by v.series, v.night",
            (machine, last - HORIZON, last),
        ):
            known = [math.nan if column is None else column for column in columns]
            self.points[device, mode, name].append(NightValue._make(known))
        self.events: dict[Key, list[dict[str, Any]]] = defaultdict(list)
        for (text,) in index.rows(
            "select verdict from night where machine = ? and number <= ? and verdict is not null"
            " order by number",
            (machine, last),
        ):
            for event in json.loads(text).get("events", []):
                self.events[event["device"], event["mode"], event["benchmark"]].append(event)

    def series(self) -> list[Key]:
        """The rows, and what they may have shown together."""
        measured = {row[:2] for row in self.points}
        suite_wide = (key for key in self.events if key[2] == SUITE_WIDE)
        return [*self.points, *(key for key in suite_wide if key[:2] in measured)]

    def event(
        self, key: Key, environment: int, before: int, first: int, night: int
    ) -> dict[str, Any]:
        """What any event says that `night` finds: of which series, and that night `first` was the
        first of its level and night `before` the last of the one before."""
        device, mode, name = key
        (_, good), (date, bad) = self.nights[before], self.nights[first]
        return {
            "device": device,
            "mode": mode,
            "benchmark": name,
            "environment": self.environments[environment],
            "night": night,
            "first_night": first,
            "date": date,
            "commits": [good, bad],
        }

    def present(self, key: Key) -> dict[str, Any]:
        """The environment of the series' latest night."""
        alike = (
            points[-1]
            for row, points in self.points.items()
            if row == key or (key[2] == SUITE_WIDE and row[:2] == key[:2])
        )
        latest = max(alike, key=lambda point: point.night)
        return self.environments[latest.environment]

    def level_now(self, key: Key, decisions: Sequence[dict[str, Any]], settings: Settings) -> float:
        """Where the series' level is by now [s]: an event knows only where it began."""
        if key[2] == SUITE_WIDE:
            return self.standing_now(key, decisions, settings).level
        lately = _lately(self.points[key])
        level = self.level(key, lately[-1].environment, decisions)
        nights = [p for p in level if p.night >= lately[0].night][-settings.min_nights :]
        return median_of(nights)

    def standing(
        self, key: Key, environment: dict[str, Any], decisions: Sequence[dict[str, Any]]
    ) -> Standing:
        """Where the series stands in that environment."""
        standing, since = Standing(), 0
        steps = self._accepted_together(key, environment, decisions)
        for event in self.events.get(key, ()):
            if event["environment"] != environment:
                continue
            known = standing.event
            if known is None or known["kind"] == RETURN or standing.level == standing.reference:
                since = event["night"]  # compared with what was before it, and no earlier reference
            standing.event, standing.level = event, event["after"]
            standing.reference = event["reference"]
            standing.level_start = event["first_night"]
            if event["slower"] or event["kind"] == RETURN:  # part of the way back is no news
                standing.acknowledged = None
            for decision in decisions:
                if not covers(decision, self.machine, key) or decision["night"] < event["night"]:
                    continue
                if decision["action"] == "accept":
                    standing.level = _accepted(decision, key, standing.level)
                    standing.reference = standing.level
                    since = decision["night"]
                elif decision["action"] == "acknowledge":
                    standing.acknowledged = decision
        self._move_with_others(standing, since, steps)
        return standing

    def _move_with_others(
        self, standing: Standing, since: int, steps: Sequence["_AcceptedStep"]
    ) -> None:
        """Applies what the series did together with others and was accepted. `since`: the night
        that made the reference what it is."""
        for step in steps:
            standing.level_start = max(standing.level_start, step.first_night)
            judged = standing.event["night"] if standing.event else 0
            # An event that came after the decision has the step in its reference already; one that
            # came between is of the same step, or compared with nights on either side of it.
            if since < step.found and judged <= step.decided:
                standing.level *= step.ratio
                standing.reference *= step.ratio

    def _accepted_together(
        self, key: Key, environment: dict[str, Any], decisions: Sequence[dict[str, Any]]
    ) -> list["_AcceptedStep"]:
        """The steps that the series took together with others, and that were accepted. What was
        before such a step is not its level any more."""
        suite_wide = (*key[:2], SUITE_WIDE)
        events = [
            event
            for event in self.events.get(suite_wide, ())
            if event["environment"] == environment
        ]
        steps = {}
        for decision in decisions if events else ():
            if decision["action"] == "accept" and covers(decision, self.machine, suite_wide):
                known = [event for event in events if event["night"] <= decision["night"]]
                if known and key[2] in known[-1].get("rows", ()):
                    first, found = known[-1]["first_night"], known[-1]["night"]
                    ratio = _accepted(decision, suite_wide, known[-1]["after"])
                    steps[first] = _AcceptedStep(first, found, decision["night"], ratio)
        return list(steps.values())

    def _starts(
        self, key: Key, environment: dict[str, Any], decisions: Sequence[dict[str, Any]]
    ) -> list[int]:
        """The first nights of the series' levels but the first one."""
        alone = [
            e["first_night"] for e in self.events.get(key, ()) if e["environment"] == environment
        ]
        together = self._accepted_together(key, environment, decisions)
        return [*alone, *(step.first_night for step in together)]

    def level_before(
        self, key: Key, environment: dict[str, Any], night: int, decisions: Sequence[dict[str, Any]]
    ) -> list[NightValue]:
        """The nights of the level that the series had before that night, oldest first."""
        starts = self._starts(key, environment, decisions)
        start = max((first for first in starts if first < night), default=0)
        return [
            point
            for point in self.points.get(key, ())
            if self.environments[point.environment] == environment and start <= point.night < night
        ]

    def standing_now(
        self, key: Key, decisions: Sequence[dict[str, Any]], settings: Settings
    ) -> Standing:
        """Where the series stands by its latest night.

        A regression that was open when a new segment began stays open until the level is back,
        whatever else happens in that segment.
        """
        present = self.present(key)
        standing = Standing()
        for environment in self._segments(key, present):
            own = self.standing(key, environment, decisions)
            if standing.kind(settings) != REGRESSION:
                standing = own
                continue
            if key[2] == SUITE_WIDE:
                together = self._together_now(standing, decisions, settings)
                carried = replace(standing, level=together)
            elif environment == present:
                carried = replace(standing, level=self.level_now(key, decisions, settings))
            else:
                carried = replace(standing, level=own.level)
            if own.kind(settings) == REGRESSION:
                since = min(standing.reference, own.reference)
                standing = replace(own, level=carried.level, reference=since)
            elif carried.kind(settings) == REGRESSION:
                standing = carried
            else:
                standing = own
        return standing

    def _together_now(
        self, standing: Standing, decisions: Sequence[dict[str, Any]], settings: Settings
    ) -> float:
        """Where the rows of a suite-wide event are by now, to where they were before it."""
        event = standing.event or {}
        ratios = []
        for name in event["rows"]:
            key = (event["device"], event["mode"], name)
            before = self.level_before(key, event["environment"], event["first_night"], decisions)
            if before:
                lately = _lately(self.points[key])[-LEAN_NIGHTS:]
                now = np.median([point.seconds for point in lately])
                ratios.append(now / median_of(before[-settings.window :]))
        if not ratios:  # too long ago
            return standing.level
        ratio = float(np.median(ratios))
        is_back = ratio - standing.reference <= (standing.level - standing.reference) / 2
        return standing.reference if is_back else ratio

    def _segments(self, key: Key, present: dict[str, Any]) -> list[dict[str, Any]]:
        """The environments with events, by their last ones, and the present one at the end."""
        earlier: list[dict[str, Any]] = []
        for event in reversed(self.events.get(key, [])):
            if event["environment"] not in (present, *earlier):
                earlier.append(event["environment"])
        return [*reversed(earlier), present]

    def level(
        self, key: Key, environment: int, decisions: Sequence[dict[str, Any]]
    ) -> list[NightValue]:
        """The nights of the series' present level, oldest first."""
        start = self.standing(key, self.environments[environment], decisions).level_start
        return [
            point
            for point in self.points.get(key, ())
            if point.environment == environment and point.night >= start
        ]

    def past(
        self,
        key: Key,
        environment: int,
        decisions: Sequence[dict[str, Any]],
        settings: Settings,
    ) -> Past:
        """What was before the series' present level."""
        present = self.environments[environment]
        standing = self.standing(key, present, decisions)
        starts = self._starts(key, present, decisions)
        levels: dict[int, list[float]] = defaultdict(list)
        for point in self.points.get(key, ()):
            if point.environment == environment and point.night < standing.level_start:
                levels[sum(start <= point.night for start in starts)].append(point.seconds)
        return Past(
            tuple(np.array(nights) for nights in levels.values()),
            standing.reference if standing.kind(settings) else math.nan,
        )


ENVIRONMENT = ("device", "mode", "device_title", "driver", "cuda", "compiler", "flags")


def _lately(points: Sequence[NightValue]) -> list[NightValue]:
    """The nights since the series last changed its environment: earlier ones in the same one say
    nothing of now."""
    environment = points[-1].environment
    back = max((point.night for point in points if point.environment != environment), default=-1)
    return [point for point in points if point.night > back]


def median_of(nights: Sequence[NightValue]) -> float:
    """The time of a typical night [s]."""
    return float(np.median([point.seconds for point in nights]))


def covers(decision: dict[str, Any], machine: str, key: Key) -> bool:
    """Whether the decision is about that series."""
    return decision["machine"] == machine and list(key) in decision["series"]


def _accepted(decision: dict[str, Any], key: Key, level: float) -> float:
    """The level [s] that the series had when it was accepted; `level` if the file is too old."""
    levels = decision.get("levels")
    return float(levels[decision["series"].index(list(key))]) if levels else level


def _last_night(index: Index, machine: str) -> int:
    found = index.rows("select max(number) from night where machine = ?", (machine,))
    return found[0][0] or 0
