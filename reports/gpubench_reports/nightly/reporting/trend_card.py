"""The cards of the trend page: where a series stands, in words, and a chart of its nights.

A chart shows each night's time relative to the first nights shown. A segment (a new driver, CUDA or
compiler) begins behind a dashed line, a change found by the rule is a step of the thick line.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gpubench_reports.common.units import si
from gpubench_reports.nightly.judging.history import (
    Key,
    MachineHistory,
    NightValue,
    Standing,
    covers,
)
from gpubench_reports.nightly.judging.missing import missing_line
from gpubench_reports.nightly.judging.status import MachineStatus
from gpubench_reports.nightly.reporting.axis import WIDTH, NightAxis
from gpubench_reports.nightly.reporting.health_strip import Nights
from gpubench_reports.nightly.reporting.summary import percent, standing_line
from gpubench_reports.nightly.rule.regression import IMPROVEMENT, REGRESSION
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.pages.html.markup import Markup, tag

_HEIGHT, _MARGIN = 84.0, 4.0
_LEAST_RANGE = 0.04  # a chart's height is at least this: noise should look like noise


@dataclass
class Card:
    """One series on the page."""

    key: Key
    kind: str  # css class and the reason for its place
    order: tuple[Any, ...]
    caption: str
    points: list[NightValue]
    events: list[dict[str, Any]]
    accepted: dict[int, str]  # of events, by their first night: when, and the reason

    @property
    def base(self) -> float:
        """The time [s] that the chart's is relative to."""
        return float(np.median([point.seconds for point in self.points[:10]]))


def cards(
    decisions: Sequence[dict[str, Any]],
    settings: Settings,
    one: MachineStatus,
    history: MachineHistory,
    first: int,
) -> Iterator[Card]:
    """One per series that has a value since night `first`."""
    provisional = {tuple(entry[:3]) for entry in one.verdict.get("provisional", [])}
    missing = {
        (entry["device"], entry["mode"], entry["benchmark"]): missing_line(entry)
        for entry in one.verdict.get("missing", [])
    }
    blind = {
        (entry["device"], entry["mode"], entry["benchmark"]): entry["why"] for entry in one.blind
    }
    for key, points in history.points.items():
        shown = [point for point in points if point.night >= first]
        if not shown:
            continue
        standing = history.standing_now(key, decisions, settings)
        kind = standing.kind(settings) or "quiet"
        if kind == REGRESSION and one.is_muted(standing):
            kind = "acknowledged"
        if key in missing:
            kind = "missing"
        elif kind == "quiet" and key in provisional and _last_event(standing) < one.night:
            kind = "provisional"
        events = history.events.get(key, [])
        accepted = _accepted(decisions, history.machine, key, events)
        if kind in (REGRESSION, IMPROVEMENT, "acknowledged"):
            # The name stands above it.
            caption = " ".join(standing_line(standing).replace(key[2], "", 1).split())
        else:
            caption = "; ".join(
                filter(None, (missing.get(key), _last_accepted(standing, accepted), blind.get(key)))
            )
        size = abs(math.log(standing.level / standing.reference)) if standing.event else 0.0
        # Among the quiet ones, those whose last nights differ most from what they were.
        order = (-size, -_unrest(shown), key)
        yield Card(key, kind, order, caption, shown, events, accepted)


def _accepted(
    decisions: Sequence[dict[str, Any]],
    machine: str,
    key: Key,
    events: Sequence[dict[str, Any]],
) -> dict[int, str]:
    """What was said of each event that somebody accepted: a decision is about the last one."""
    found = {}
    for decision in decisions:
        if decision["action"] == "accept" and covers(decision, machine, key):
            before = [event for event in events if event["night"] <= decision["night"]]
            if before:
                said = f"accepted in night {decision['night']}: {decision['reason']}"
                found[before[-1]["first_night"]] = said
    return found


def _last_accepted(standing: Standing, accepted: dict[int, str]) -> str:
    """How the series came to its level, if somebody accepted that."""
    event = standing.event
    if event is None or event["first_night"] not in accepted:
        return ""
    change = percent(event["after"] / event["before"])
    return f"{change} since night {event['first_night']}, {accepted[event['first_night']]}"


def _last_event(standing: Standing) -> int:
    return standing.event["night"] if standing.event is not None else 0


def _unrest(points: Sequence[NightValue]) -> float:
    seconds = np.array([point.seconds for point in points])
    return abs(math.log(float(np.median(seconds[-3:])) / float(np.median(seconds))))


def figure(card: Card, history: MachineHistory, nights: Nights, axis: NightAxis) -> Markup:
    """The card as it stands on the page."""
    base = card.base
    low, high = (of(p.seconds for p in card.points) / base for of in (min, max))
    middle, half = (low + high) / 2, max(_LEAST_RANGE / 2, (high - low) / 2 * 1.1)
    low, high = middle - half, middle + half

    def y(value: float) -> float:
        return _MARGIN + (_HEIGHT - 2 * _MARGIN) * (high - value / base) / (high - low)

    # One path of dots: a circle a night would make a page of many series heavy.
    dots = "".join(f"M{axis.x(p.night):.1f} {y(p.seconds):.1f}h0" for p in card.points)
    plot = [
        *_segments(card, history, axis),
        *(
            tag(
                "path",
                d=f"M{axis.x(start):.1f} {y(level):.1f}H{axis.x(end):.1f}",
                class_="level",
            )
            for start, end, level in _levels(card)
        ),
        tag("path", d=dots, class_="nights"),
        *_changes(card, nights, axis, y),
    ]
    svg = tag(
        "svg",
        tag("g", plot, class_="plot"),
        tag("text", percent(high), x="2", y="9", class_="high"),
        tag("text", percent(low), x="2", y=f"{_HEIGHT - 2:.0f}", class_="low"),
        viewBox=f"0 0 {WIDTH:.0f} {_HEIGHT:.0f}",
        width=f"{WIDTH:.0f}",
        height=f"{_HEIGHT:.0f}",
        role="img",
        aria_label=f"times of {card.key[2]} by night",
        tabindex="0",
        class_="trend",
    )
    device, mode, name = card.key
    last = card.points[-1]
    said = f"{device}, {mode}, {si(last.seconds, 's', 4)} in night {last.night}"
    caption = tag("figcaption", tag("b", name), said, tag("br"), card.caption)
    return tag("figure", caption, svg, class_=card.kind)


def data(card: Card) -> dict[str, Any]:
    """What the script tells of the chart's points: nights, times, and what the rule found."""
    notes = {event["first_night"]: _found(card, event) for event in card.events}
    return {
        "base": float(f"{card.base:.6g}"),
        "nights": [point.night for point in card.points],
        "times": [float(f"{point.seconds / card.base:.5g}") for point in card.points],
        "notes": notes,
    }


def _segments(card: Card, history: MachineHistory, axis: NightAxis) -> Iterable[Markup]:
    for before, after in pairwise(card.points):
        if before.environment != after.environment:
            at = axis.x(after.night) - axis.slot / 2
            what = difference(history, before, after)
            yield tag("path", tag("title", what), d=f"M{at:.1f} 0V{_HEIGHT:.0f}", class_="segment")


def _changes(card: Card, nights: Nights, axis: NightAxis, y: Any) -> Iterable[Markup]:
    """A larger dot on the first night of each change, which says what was found."""
    known = {number: (date[:10], commit[:10]) for number, date, _, _, commit in nights}
    changed = {event["first_night"]: event for event in card.events}
    for point in card.points:
        event = changed.get(point.night)
        if event is None:
            continue
        date, commit = known.get(point.night, ("", ""))
        text = (
            f"night {point.night}, {date}, {si(point.seconds, 's', 4)}, commit {commit}: "
            f"{_found(card, event)}"
        )
        yield tag(
            "path",
            tag("title", text),
            d=f"M{axis.x(point.night):.1f} {y(point.seconds):.1f}h0",
            class_="slower" if event["slower"] else "faster",
        )


def _found(card: Card, event: dict[str, Any]) -> str:
    said = f"{event['kind']}, {event['how']}, {event['class']}"
    accepted = card.accepted.get(event["first_night"])
    return f"{said}; {accepted}" if accepted else said


def difference(history: MachineHistory, before: NightValue, after: NightValue) -> str:
    """What is new in the environment of `after`."""
    old, new = (history.environments[point.environment] for point in (before, after))
    changed = (f"{key}: {old[key]} -> {new[key]}" for key in new if old[key] != new[key])
    return "; ".join(changed)


def _levels(card: Card) -> Iterable[tuple[int, int, float]]:
    """First night, last night and median of each level: segments cut at the changes."""
    starts = {event["first_night"] for event in card.events}
    run: list[NightValue] = []
    for point in card.points:
        if run and (point.environment != run[-1].environment or point.night in starts):
            yield run[0].night, run[-1].night, float(np.median([p.seconds for p in run]))
            run = []
        run.append(point)
    yield run[0].night, run[-1].night, float(np.median([p.seconds for p in run]))
