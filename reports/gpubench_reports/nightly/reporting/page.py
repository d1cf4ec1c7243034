"""The trend page: one HTML file that needs nothing else, with a small chart for every series.

What needs eyes comes first. A chart shows each night's time relative to the segment's first level;
a segment (a new driver, CUDA or compiler) begins behind a dashed line, a change found by the rule
is a step of the thick line. The health strip below shows the machine over the same nights.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gpubench_reports.common.files import write_atomically
from gpubench_reports.common.units import si
from gpubench_reports.nightly.judging.history import (
    Key,
    MachineHistory,
    NightValue,
    Standing,
)
from gpubench_reports.nightly.judging.missing import missing_line
from gpubench_reports.nightly.judging.status import MachineStatus, status
from gpubench_reports.nightly.reporting.summary import REHEARSAL, percent, standing_line
from gpubench_reports.nightly.rule.regression import IMPROVEMENT, REGRESSION
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store, now

# Nights shown. A page of 500 series stays a few megabytes.
_SHOWN = 180
_LISTED = 20  # open changes, and changes of driver or commit, in words above the charts
_WIDTH, _HEIGHT, _MARGIN = 300.0, 84.0, 4.0
_STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 1.5rem; color: #222; background: #fff }
h1 { font-size: 1.4rem } h2 { font-size: 1.15rem; margin-top: 2rem } h3 { font-size: 1rem }
.grid { display: flex; flex-wrap: wrap; gap: 12px }
figure { margin: 0; width: 312px; border: 1px solid #d9d9d9; border-left-width: 5px; padding: 5px }
figure.regression { border-left-color: #d55e00 } figure.improvement { border-left-color: #009e73 }
figure.acknowledged { border-left-color: #e69f00 } figure.provisional { border-left-color: #56b4e9 }
figure.missing { border-left-color: #cc79a7 }
figcaption { font-size: 12px; overflow-wrap: anywhere } figcaption b { display: block }
.rehearsal { background: #e69f00; color: #000; padding: .6rem; font-weight: bold; font-size: 1.2rem;
  position: sticky; top: 0 }
svg { max-width: 100%; height: auto } svg text { font: 9px system-ui, sans-serif; fill: #6b6b6b }
h2 b { padding: 0 .4rem; color: #000 } h2 b.regression { background: #ffb98c }
h2 b.unjudged { background: #f3c6dd } h2 b.nothing { background: #bfe6d6 }
ul { font-size: 13px; overflow-wrap: anywhere }
table { border-collapse: collapse } td, th { padding: 2px 8px; text-align: left }
pre { background: #f5f5f5; padding: .6rem; white-space: pre-wrap }
"""


@dataclass
class _Card:
    """One series on the page."""

    key: Key
    kind: str  # css class and the reason for its place
    order: tuple[Any, ...]
    caption: str
    points: list[NightValue]
    events: list[dict[str, Any]]


def write_page(store: Store, index: Index, settings: Settings, path: Path) -> Path:
    """Writes the page of the whole store; returns `path`. Raises ReportError."""
    parts = [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        "<title>gpubench nights</title>",
        f"<style>{_STYLE}</style></head><body>",
    ]
    if store.rehearsal:
        parts.append(f'<div class="rehearsal">{escape(REHEARSAL)}</div>')
    parts.append(
        f"<h1>Nights</h1><p>Written {escape(now())}. A point is a night, the thick line the level, "
        "a dashed line a new driver, CUDA or compiler. Worst first.</p>"
    )
    for one in status(store, index, settings):
        parts += _machine(store, index, settings, one)
    aside = store.quarantined()
    if aside:
        parts.append("<h2>Quarantined files</h2><table>")
        parts += [f"<tr><td>{escape(str(p))}<td>{escape(why)}</tr>" for p, why in aside]
        parts.append("</table>")
    parts.append("</body></html>\n")
    write_atomically(path, "\n".join(parts).encode("utf-8", "replace"))
    return path


def _machine(store: Store, index: Index, settings: Settings, one: MachineStatus) -> list[str]:
    history = MachineHistory(index, one.machine)
    nights = index.rows(
        "select number, date, state, note, git_commit from night where machine = ?"
        " order by number desc limit ?",
        (one.machine, _SHOWN),
    )[::-1]
    first = nights[0][0]
    cards = _cards(store, settings, one, history, first)
    style, words = {
        0: ("nothing", "nothing open"),
        1: ("regression", "regression"),
        2: ("unjudged", "could not judge"),
    }[one.exit_code]
    when = escape(one.date[:16].replace("T", " "))
    parts = [
        f"<h2>{escape(one.machine)}: night {one.night} of {when} "
        f'<b class="{style}">{words}</b></h2>'
    ]
    lines = [f"look at the machine before the program: {why}" for why in one.machine_first]
    lines += [f"could not judge: {line}" for line in one.unjudged]
    lines += [standing_line(s).strip() for s in (*one.regressions, *one.improvements)]
    more = [f"and {len(lines) - _LISTED} more, below"] if len(lines) > _LISTED else []
    text = "\n".join([*lines[:_LISTED], *more]) or "nothing open"
    parts += [f"<pre>{escape(text)}</pre>", _strip(history, nights), *_changes(history, nights)]
    titles = {
        "regression": "Regressions",
        "missing": "Missing",
        "provisional": "Provisional tonight",
        "acknowledged": "Acknowledged",
        "improvement": "Improvements",
        "quiet": "Quiet",
    }
    for kind, title in titles.items():
        group = sorted((card for card in cards if card.kind == kind), key=lambda card: card.order)
        if group:
            parts.append(f'<h3>{title} ({len(group)})</h3><div class="grid">')
            parts += [_figure(card, history, nights) for card in group]
            parts.append("</div>")
    return parts


def _cards(
    store: Store, settings: Settings, one: MachineStatus, history: MachineHistory, first: int
) -> list[_Card]:
    decisions = store.decisions()
    provisional = {tuple(entry[:3]) for entry in one.verdict.get("provisional", [])}
    missing = {
        (entry["device"], entry["mode"], entry["benchmark"]): missing_line(entry)
        for entry in one.verdict.get("missing", [])
    }
    blind = {
        (entry["device"], entry["mode"], entry["benchmark"]): entry["why"] for entry in one.blind
    }
    cards = []
    for key, points in history.points.items():
        shown = [point for point in points if point.night >= first]
        if not shown:
            continue
        present = history.environments[points[-1].environment]
        standing = history.standing(key, present, decisions)
        kind = standing.kind(settings) or "quiet"
        if kind == REGRESSION and _is_muted(standing, one):
            kind = "acknowledged"
        if key in missing:
            kind = "missing"
        elif kind == "quiet" and key in provisional and _last_event(standing) < one.night:
            kind = "provisional"
        caption = missing.get(key, blind.get(key, ""))
        if kind in (REGRESSION, IMPROVEMENT, "acknowledged"):
            # The name stands above it.
            caption = " ".join(standing_line(standing).replace(key[2], "", 1).split())
        size = abs(math.log(standing.level / standing.reference)) if standing.event else 0.0
        # Among the quiet ones, those whose last nights differ most from what they were.
        cards.append(
            _Card(
                key,
                kind,
                (-size, -_unrest(shown), key),
                caption,
                shown,
                history.events.get(key, []),
            )
        )
    return cards


def _last_event(standing: Standing) -> int:
    return standing.event["night"] if standing.event is not None else 0


def _is_muted(standing: Standing, one: MachineStatus) -> bool:
    decision = standing.acknowledged
    return decision is not None and one.date[:10] <= decision["until"]


def _unrest(points: Sequence[NightValue]) -> float:
    seconds = np.array([point.seconds for point in points])
    return abs(math.log(float(np.median(seconds[-3:])) / float(np.median(seconds))))


def _x(night: int, nights: Sequence[tuple[Any, ...]]) -> float:
    first, last = nights[0][0], nights[-1][0]
    return float(_MARGIN + (_WIDTH - 2 * _MARGIN) * (night - first + 0.5) / (last - first + 1))


def _figure(card: _Card, history: MachineHistory, nights: Sequence[tuple[Any, ...]]) -> str:
    points = card.points
    seconds = [point.seconds for point in points]
    base = float(np.median(seconds[:10]))
    low, high = min(seconds) / base, max(seconds) / base
    # At least 4 % high: noise should look like noise.
    middle, half = (low + high) / 2, max(0.02, (high - low) / 2 * 1.1)
    low, high = middle - half, middle + half

    def y(value: float) -> float:
        return _MARGIN + (_HEIGHT - 2 * _MARGIN) * (high - value / base) / (high - low)

    svg = [f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" width="300" height="84" role="img">']
    dates = {night[0]: night for night in nights}
    for before, after in pairwise(points):
        if before.environment != after.environment:
            at = _x(after.night, nights) - 1.5
            what = _difference(history, before, after)
            svg.append(
                f'<line x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{_HEIGHT:.0f}" '
                f'stroke="#6b6b6b" stroke-dasharray="3 2"><title>{escape(what)}</title>'
                "</line>"
            )
    for start, end, level in _levels(card):
        svg.append(
            f'<line x1="{_x(start, nights):.1f}" x2="{_x(end, nights):.1f}" '
            f'y1="{y(level):.1f}" y2="{y(level):.1f}" stroke="#222" stroke-width="2" '
            'stroke-opacity=".45"/>'
        )
    # One path of dots: a circle a night would make a page of many series heavy.
    dots = "".join(f"M{_x(p.night, nights):.1f} {y(p.seconds):.1f}h0" for p in points)
    svg.append(f'<path d="{dots}" stroke="#0072b2" stroke-width="2.8" stroke-linecap="round"/>')
    changed = {event["first_night"]: event for event in card.events}
    for point in points:
        event = changed.get(point.night)
        if event is None:
            continue
        _, date, _, _, commit = dates.get(point.night, (0, "", "", "", ""))
        colour = "#d55e00" if event["slower"] else "#009e73"
        text = (
            f"night {point.night}, {date[:10]}, {si(point.seconds, 's', 4)}, commit {commit[:10]}: "
            f"{event['kind']}, {event['how']}, {event['class']}"
        )
        svg.append(
            f'<circle cx="{_x(point.night, nights):.1f}" cy="{y(point.seconds):.1f}" '
            f'r="3.2" fill="{colour}"><title>{escape(text)}</title></circle>'
        )
    svg.append(
        f'<text x="2" y="9">{percent(high)}</text>'
        f'<text x="2" y="{_HEIGHT - 2:.0f}">{percent(low)}</text></svg>'
    )
    device, mode, name = card.key
    return (
        f'<figure class="{card.kind}"><figcaption><b>{escape(name)}</b>{escape(device)}, '
        f"{escape(mode)}, {escape(si(seconds[-1], 's', 4))} in night {points[-1].night}"
        f"<br>{escape(card.caption)}</figcaption>{''.join(svg)}</figure>"
    )


def _difference(history: MachineHistory, before: NightValue, after: NightValue) -> str:
    old, new = (history.environments[point.environment] for point in (before, after))
    changed = (f"{key}: {old[key]} -> {new[key]}" for key in new if old[key] != new[key])
    return "; ".join(changed)


def _levels(card: _Card) -> Iterable[tuple[int, int, float]]:
    """First night, last night and median of each level: segments cut at the changes."""
    starts = {event["first_night"] for event in card.events}
    run: list[NightValue] = []
    for point in card.points:
        if run and (point.environment != run[-1].environment or point.night in starts):
            yield run[0].night, run[-1].night, float(np.median([p.seconds for p in run]))
            run = []
        run.append(point)
    yield run[0].night, run[-1].night, float(np.median([p.seconds for p in run]))


# By night: the height of a bar, and what it says.
_Bars = dict[int, tuple[float, str]]


def _strip(history: MachineHistory, nights: Sequence[tuple[Any, ...]]) -> str:
    """The machine over the same nights: clock, temperature, throttling, nights not valid, commits.

    A bar's height is its share of the largest one; the darker commits take turns with the lighter.
    """
    first = nights[0][0]
    rows = _strip_rows(history, nights)
    dates = {number: date[:10] for number, date, *_ in nights}
    height = 18.0
    total = height * len(rows) + 12
    svg = [
        f'<svg viewBox="0 0 {_WIDTH + 80:.0f} {total:.0f}" width="760" height="{2 * total:.0f}" '
        'role="img"><title>health of the machine</title>'
    ]
    width = max(0.6, (_WIDTH - 2 * _MARGIN) / (nights[-1][0] - first + 1) - 0.4)
    for line, ((title, colour), values) in enumerate(rows.items(), start=1):
        bottom = height * line
        svg.append(
            f'<text x="{_WIDTH + 4:.0f}" y="{bottom - 5:.0f}">{title}</text>'
            f'<line x1="{_MARGIN:.0f}" x2="{_WIDTH - _MARGIN:.0f}" y1="{bottom:.1f}" '
            f'y2="{bottom:.1f}" stroke="#d9d9d9" stroke-width=".5"/>'
        )
        for night, (share, text) in values.items():
            tall = max(1.0, share * (height - 4))
            words = escape(f"night {night} of {dates.get(night, '')}: {text}")
            svg.append(
                f'<rect x="{_x(night, nights) - width / 2:.1f}" y="{bottom - tall:.1f}" '
                f'width="{width:.1f}" height="{tall:.1f}" fill="{colour}">'
                f"<title>{words}</title></rect>"
            )
    ends = [f"night {number}, {dates[number]}" for number in (first, nights[-1][0])]
    svg.append(
        f'<text x="{_MARGIN:.0f}" y="{total - 2:.0f}">{escape(ends[0])}</text>'
        f'<text x="{_WIDTH - _MARGIN:.0f}" y="{total - 2:.0f}" text-anchor="end">'
        f"{escape(ends[1])}</text>"
    )
    return "".join(svg) + "</svg>"


def _strip_rows(
    history: MachineHistory, nights: Sequence[tuple[Any, ...]]
) -> dict[tuple[str, str], _Bars]:
    """By title and colour: a bar for each night, as its height and what it says."""
    first = nights[0][0]
    seen: dict[str, dict[int, list[float]]] = {"clock": {}, "temperature": {}, "throttled": {}}
    for points in history.points.values():
        for p in points:
            for name, value in (
                ("clock", p.clock_hz),
                ("temperature", p.temperature_c),
                ("throttled", p.throttled),
            ):
                if p.night >= first and not math.isnan(value):
                    seen[name].setdefault(p.night, []).append(value)
    clock = {n: float(np.median(v)) for n, v in seen["clock"].items()}
    heat = {n: float(np.max(v)) for n, v in seen["temperature"].items()}
    slowed = {n: m for n, v in seen["throttled"].items() if (m := float(np.mean(v))) > 0}
    commits, shade = {}, 0.35
    for (number, _, _, _, commit), before in zip(nights, (nights[0], *nights), strict=False):
        shade = 1.05 - shade if commit != before[4] else shade
        commits[number] = (shade, f"commit {commit[:10] or 'not known'}")
    return {
        ("SM clock", "#56b4e9"): _shares(clock, lambda v: si(v, "Hz")),
        ("temperature", "#e69f00"): _shares(heat, lambda v: f"{v:.0f} degrees C at most"),
        ("throttled", "#d55e00"): {n: (v, f"{v:.0%} of the processes") for n, v in slowed.items()},
        ("not valid", "#cc79a7"): {
            number: (1.0, f"{state}: {note}")
            for number, _, state, note, _ in nights
            if state != "ok"
        },
        ("commit", "#6b6b6b"): commits,
    }


def _changes(history: MachineHistory, nights: Sequence[tuple[Any, ...]]) -> list[str]:
    """New drivers, compilers and commits in words, the latest first: a phone shows no tooltips."""
    found: dict[tuple[int, str], int] = {}  # how many series, by night and what changed
    for points in history.points.values():
        for before, after in pairwise(points):
            if before.environment != after.environment and after.night >= nights[0][0]:
                what = (after.night, _difference(history, before, after))
                found[what] = found.get(what, 0) + 1
    known = [(number, commit[:10]) for number, _, _, _, commit in nights if commit]
    lines = [(night, f"{what} ({count} series)") for (night, what), count in found.items()]
    lines += [
        (night, f"commit {before} -> {after}")
        for (_, before), (night, after) in pairwise(known)
        if before != after
    ]
    dates = {number: date[:10] for number, date, *_ in nights}
    lines.sort(reverse=True)
    if not lines:
        return []
    more = [f"<li>and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    return [
        "<h3>What changed around it</h3><ul>",
        *(
            f"<li>night {night}, {dates.get(night, '')}: {escape(text)}"
            for night, text in lines[:_LISTED]
        ),
        *more,
        "</ul>",
    ]


def _shares(
    values: dict[int, float], words: Callable[[float], str]
) -> dict[int, tuple[float, str]]:
    """By night, the value over the largest, and what it says."""
    top = max(values.values(), default=1.0)
    return {night: (value / top, words(value)) for night, value in values.items()}
