"""The trend page: one HTML file that needs nothing else, with a small chart for every series.

What needs eyes comes first; the health strip above the charts shows the machine over the same
nights. The page reads without its script, which tells of the night under the pointer, and zooms.
"""

from collections.abc import Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from gpubench_reports.nightly.judging.decisions import present_decisions
from gpubench_reports.nightly.judging.history import MachineHistory
from gpubench_reports.nightly.judging.status import MachineStatus, status
from gpubench_reports.nightly.reporting.axis import MARGIN, WIDTH, NightAxis
from gpubench_reports.nightly.reporting.health_strip import Nights, strip
from gpubench_reports.nightly.reporting.summary import REHEARSAL, standing_line
from gpubench_reports.nightly.reporting.trend_card import cards, data, difference, figure
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.outputs import write_output
from gpubench_reports.nightly.store.store import Store, now
from gpubench_reports.pages.html.frame import framed, script_and_policy
from gpubench_reports.pages.html.markup import Markup, data_block, tag

# Nights shown. A page of 500 series stays a few megabytes.
_SHOWN = 180
_LISTED = 20  # open changes, and changes of driver or commit, in words above the charts
_TITLES = {
    "regression": "Regressions",
    "missing": "Missing",
    "provisional": "Provisional tonight",
    "acknowledged": "Acknowledged",
    "improvement": "Improvements",
    "quiet": "Quiet",
}


def write_page(store: Store, index: Index, settings: Settings, path: Path) -> Path:
    """Writes the page of the whole store; returns `path`. Raises ReportError."""
    script, policy = script_and_policy(_asset("nights.js"))
    aside = [tag("tr", tag("td", str(file)), tag("td", why)) for file, why in store.quarantined()]
    body = tag(
        "body",
        tag("div", REHEARSAL, class_="rehearsal") if store.rehearsal else None,
        tag("h1", "Nights"),
        tag(
            "p",
            f"Written {now()}. A point is a night, the thick line the level, a dashed line a new "
            "driver, CUDA or compiler. Worst first.",
        ),
        tag(
            "p",
            "Point at a night to read its time. Drag across a chart to zoom into its nights; a "
            "double click shows all. With the keyboard: arrows, + and -, Escape.",
            class_="script",
            hidden=True,
        ),
        [
            _machine(store, index, settings, one, number)
            for number, one in enumerate(status(store, index, settings))
        ],
        [tag("h2", "Quarantined files"), tag("table", aside)] if aside else None,
        tag("div", id="tip", role="status", hidden=True),
        script,
    )
    page = framed("Nights", _asset("nights.css"), body, allowed=policy)
    write_output(store, path, page.encode("utf-8", "replace"))
    return path


def _asset(name: str) -> str:
    folder = files("gpubench_reports.nightly.reporting").joinpath("assets")
    return folder.joinpath(name).read_text(encoding="utf-8")


def _machine(
    store: Store, index: Index, settings: Settings, one: MachineStatus, number: int
) -> Markup:
    history = MachineHistory(index, one.machine)
    nights = index.rows(
        "select number, date, state, note, git_commit from night where machine = ?"
        " order by number desc limit ?",
        (one.machine, _SHOWN),
    )[::-1]
    axis = NightAxis(nights[0][0], nights[-1][0])
    decisions = present_decisions(store, index)
    made = list(cards(decisions, settings, one, history, axis.first))
    ordered = [
        (title, sorted((card for card in made if card.kind == kind), key=lambda card: card.order))
        for kind, title in _TITLES.items()
    ]
    told = {
        "first": axis.first,
        "last": axis.last,
        "width": WIDTH,
        "margin": MARGIN,
        "nights": {n: f"{date[:10]}, commit {commit[:10]}" for n, date, _, _, commit in nights},
        "charts": [data(card) for _, group in ordered for card in group],
    }
    return tag(
        "section",
        _heading(one),
        tag("pre", _lines(one)),
        strip(index, one.machine, nights, axis),
        _changes(history, nights, decisions),
        [
            [
                tag("h3", f"{title} ({len(group)})"),
                tag("div", [figure(card, history, nights, axis) for card in group], class_="grid"),
            ]
            for title, group in ordered
            if group
        ],
        data_block(f"machine-{number}", told),
        class_="machine",
    )


def _heading(one: MachineStatus) -> Markup:
    style, words = {
        0: ("nothing", "nothing open"),
        1: ("regression", "regression"),
        2: ("unjudged", "could not judge"),
    }[one.exit_code]
    when = one.date[:16].replace("T", " ")
    said = f"{one.machine}: night {one.night} of {when} "
    return tag("h2", said, tag("b", words, class_=style))


def _lines(one: MachineStatus) -> str:
    lines = [f"look at the machine before the program: {why}" for why in one.machine_first]
    lines += [f"could not judge: {line}" for line in one.unjudged]
    lines += [standing_line(s).strip() for s in (*one.regressions, *one.improvements)]
    more = [f"and {len(lines) - _LISTED} more, below"] if len(lines) > _LISTED else []
    return "\n".join([*lines[:_LISTED], *more]) or "nothing open"


def _changes(
    history: MachineHistory, nights: Nights, decisions: Sequence[dict[str, Any]]
) -> list[Markup]:
    """New drivers, compilers, commits and decisions in words, the latest first: a phone shows no
    tooltips."""
    found: dict[tuple[int, str], int] = {}  # how many series, by night and what changed
    for points in history.points.values():
        for before, after in pairwise(points):
            if before.environment != after.environment and after.night >= nights[0][0]:
                what = (after.night, difference(history, before, after))
                found[what] = found.get(what, 0) + 1
    known = [(number, commit[:10]) for number, _, _, _, commit in nights if commit]
    lines = [(night, f"{what} ({count} series)") for (night, what), count in found.items()]
    lines += [
        (night, f"commit {before} -> {after}")
        for (_, before), (night, after) in pairwise(known)
        if before != after
    ]
    lines += [
        (made["night"], _decided(made))
        for made in decisions
        if made["machine"] == history.machine and made["night"] >= nights[0][0]
    ]
    dates = {number: date[:10] for number, date, *_ in nights}
    lines.sort(reverse=True)
    if not lines:
        return []
    more = [tag("li", f"and {len(lines) - _LISTED} more")] if len(lines) > _LISTED else []
    listed = [
        tag("li", f"night {night}, {dates.get(night, '')}: {text}")
        for night, text in lines[:_LISTED]
    ]
    return [tag("h3", "What changed around it"), tag("ul", listed, more)]


def _decided(decision: dict[str, Any]) -> str:
    action = decision["action"]
    done = {"accept": "accepted", "acknowledge": "acknowledged", "retire": "retired"}
    return f"{done.get(action, action)}, {len(decision['series'])} series: {decision['reason']}"
