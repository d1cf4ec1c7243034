"""One page about a judged fleet: what is wrong, and a heat map of GPUs by concepts."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex

from gpubench_reports import __version__
from gpubench_reports.charts.heat_map import COLOURS
from gpubench_reports.common.units import plural
from gpubench_reports.fleet.findings import GPU, Finding, Peers, Verdict
from gpubench_reports.fleet.judging import FLOOR, median_of
from gpubench_reports.fleet.summary import counts, headline, place, size_of, why
from gpubench_reports.pages.html.frame import framed, modelled_banner
from gpubench_reports.pages.html.markup import Markup, joined, tag

_MOST_LINES = 150  # of a heat map; more GPUs share a line with others of their node or rack
_MOST_NAMED = 300  # slow GPUs with a line of their own
_DARKEST = 0.20  # a slowdown of this much, and more
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 80rem;
  padding: 0 1rem; color: #222 }
h1 { margin-bottom: .2rem } .small { color: #666; font-size: .85rem }
.banner { background: #fff3cd; border: 1px solid #e6c200; padding: .5rem .8rem }
.scroll { overflow-x: auto; margin: .8rem 0 }
table { border-collapse: collapse; font-size: .82rem } caption { text-align: left }
th, td { padding: 2px 6px; text-align: left; white-space: nowrap }
.heat td { text-align: right; border: 1px solid #fff; min-width: 2.4rem }
.heat thead th { writing-mode: vertical-rl; transform: rotate(180deg); font-weight: 500 }
.found { border-left: 4px solid #d55e00; padding: .1rem .8rem; margin: .8rem 0 }
.found p { margin: .2rem 0 } li { margin: .1rem 0 }
@media print { .scroll { overflow: visible } }
"""


@dataclass(frozen=True)
class _Line:
    """A line of a heat map: its head cells, and a slowdown per concept (NaN: nothing measured)."""

    heads: tuple[str, ...]
    values: np.ndarray


def build(verdict: Verdict) -> bytes:
    """The page, as its file has it. It needs no network and no script."""
    fleet = verdict.fleet
    body = tag(
        "body",
        tag("h1", "Fleet"),
        tag("p", f"{size_of(fleet)}: ", tag("b", counts(verdict))),
        modelled_banner("Nothing was measured.") if fleet.modelled else None,
        tag("h2", "Found") if verdict.findings else None,
        [_found(verdict, finding) for finding in verdict.findings],
        tag("ul", [tag("li", note) for note in verdict.notes]) if verdict.notes else None,
        [_maps(verdict, peers) for peers in verdict.peers],
        tag("p", f"gpubench-report {__version__}", class_="small"),
    )
    return framed("Fleet", _STYLE, body).encode("utf-8", "replace")


def _found(verdict: Verdict, finding: Finding) -> Markup:
    rows = [tag("li", f"{row.slower:+.1%}  {row.name}") for row in finding.rows]
    return tag(
        "div",
        tag("p", tag("b", headline(verdict, finding))),
        [tag("p", line) for line in why(finding)],
        tag("ul", rows) if rows else None,
        class_="found",
    )


def _maps(verdict: Verdict, peers: Peers) -> Markup:
    concepts = [group for group in peers.groups if " " not in group.title]
    values = np.column_stack([_middle(peers.excess[:, group.rows]) for group in concepts])
    titles = [group.title for group in concepts]
    gpus = verdict.fleet.gpus.iloc[peers.members].reset_index(drop=True)
    heads, lines = _overview(gpus, values)
    named = list(_named(verdict, peers, values))
    return joined(
        tag("h2", f"{peers.title}: {plural(len(gpus), 'GPU')}"),
        _map(
            "How much longer each takes than its peers. A line that stands for several GPUs shows "
            "the slowest of them in each concept.",
            (*heads, *titles),
            lines,
        ),
        _map("The slow GPUs by name.", ("GPU", "place", *titles), named) if named else None,
        tag(
            "p",
            f"A cell is the median over the concept's rows, against GPUs of the same firmware. "
            f"From {FLOOR:.0%} on it has a number; the darkest is {_DARKEST:.0%} and more.",
            class_="small",
        ),
    )


def _middle(excess: np.ndarray) -> np.ndarray:
    """Each GPU's median slowdown over some rows."""
    middle: np.ndarray = np.expm1(median_of(excess.T))
    return middle


def _overview(gpus: pd.DataFrame, values: np.ndarray) -> tuple[tuple[str, ...], list[_Line]]:
    """The finest lines of which there are not too many: GPUs, nodes, or racks."""
    for columns in (["rack", "slot", "node", "gpu"], ["rack", "slot", "node"], ["rack"]):
        places = gpus.groupby(columns, sort=True).indices
        if len(places) <= _MOST_LINES or columns == ["rack"]:
            break
    if columns == ["rack"] and len(places) == 1:  # nobody said where the nodes are
        columns = ["node"]
        places = gpus.groupby(columns, sort=True).indices
    shown = [c for c in columns if (gpus[c] != "").any()]
    lines = []
    for _, at in sorted(places.items(), key=_by_number):
        first = gpus.iloc[at[0]]
        heads = (*(str(first[column]) for column in shown), str(len(at)))
        lines.append(_Line(heads, np.fmax.reduce(values[at])))
    return (*shown, "GPUs"), lines


def _by_number(place: tuple[Any, np.ndarray]) -> list[list[str | int]]:
    """A key that sorts rack2 before rack10."""
    words = place[0] if isinstance(place[0], tuple) else (place[0],)
    parts = (re.split(r"(\d+)", str(word)) for word in words)
    return [[int(p) if at % 2 else p for at, p in enumerate(of_word)] for of_word in parts]


def _named(verdict: Verdict, peers: Peers, values: np.ndarray) -> Iterator[_Line]:
    at = {int(gpu): number for number, gpu in enumerate(peers.members)}
    slow = [f for f in verdict.findings if f.kind == GPU and f.gpus[0] in at]
    for finding in slow[:_MOST_NAMED]:
        heads = (finding.name, place(verdict, finding))
        yield _Line(heads, values[at[finding.gpus[0]]])


def _map(caption: str, titles: tuple[str, ...], lines: list[_Line]) -> Markup:
    head = tag("thead", tag("tr", [tag("th", title, scope="col") for title in titles]))
    body = [
        tag(
            "tr",
            [tag("th", head, scope="row") for head in line.heads],
            [_cell(float(value)) for value in line.values],
        )
        for line in lines
    ]
    table = tag("table", tag("caption", caption), head, tag("tbody", body), class_="heat")
    return tag("div", table, class_="scroll", tabindex="0", role="group", aria_label=caption)


def _cell(value: float) -> Markup:
    if not math.isfinite(value):
        return tag("td", "–")
    share = min(max(value / _DARKEST, 0.0), 1.0)
    ink = "#fff" if share > 0.5 else "#222"
    look = f"background:{to_hex(COLOURS(share))};color:{ink}"
    return tag("td", f"{value:+.0%}" if value >= FLOOR else "", style=look)
