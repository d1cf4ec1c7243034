"""The machine over the nights shown: clock, temperature, throttling, nights not valid, commits."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpubench_reports.common.units import si
from gpubench_reports.nightly.reporting.axis import MARGIN, WIDTH, NightAxis
from gpubench_reports.nightly.reporting.queries import NIGHTS
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.pages.html.markup import Markup, tag

# By night: the height of a bar, as its share of the largest, and what it says.
_Bars = dict[int, tuple[float, str]]
_LINE = 18.0  # height
_LABELS = 80.0  # width

Nights = Sequence[tuple[Any, ...]]  # number, date, state, note, commit


def strip(index: Index, machine: str, nights: Nights, axis: NightAxis) -> Markup:
    """A line of bars for each; the darker commits take turns with the lighter."""
    rows = _rows(index, machine, nights)
    dates = {number: date[:10] for number, date, *_ in nights}
    total = _LINE * len(rows) + 12
    width = max(0.6, axis.slot - 0.4)
    bars, words = [], []
    for line, ((title, colour), values) in enumerate(rows.items(), start=1):
        bottom = _LINE * line
        words.append(tag("text", title, x=f"{WIDTH + 4:.0f}", y=f"{bottom - 5:.0f}"))
        words.append(
            tag("path", d=f"M{MARGIN} {bottom}H{WIDTH - MARGIN}", class_="rule", stroke_width=".5")
        )
        for night, (share, text) in values.items():
            tall = max(1.0, share * (_LINE - 4))
            bars.append(
                tag(
                    "rect",
                    tag("title", f"night {night} of {dates.get(night, '')}: {text}"),
                    x=f"{axis.x(night) - width / 2:.1f}",
                    y=f"{bottom - tall:.1f}",
                    width=f"{width:.1f}",
                    height=f"{tall:.1f}",
                    fill=colour,
                )
            )
    ends = [tag("tspan", f"night {night}, {dates[night]}") for night in (axis.first, axis.last)]
    words.append(tag("text", ends[0], x=f"{MARGIN:.0f}", y=f"{total - 2:.0f}", class_="first"))
    words.append(
        tag(
            "text",
            ends[1],
            x=f"{WIDTH - MARGIN:.0f}",
            y=f"{total - 2:.0f}",
            text_anchor="end",
            class_="last",
        )
    )
    return tag(
        "svg",
        tag("title", "health of the machine"),
        words,
        # What the script zooms; an svg of its own, so that nothing shows beside it.
        tag("svg", tag("g", bars, class_="plot"), width=f"{WIDTH:.0f}", height=f"{total:.0f}"),
        viewBox=f"0 0 {WIDTH + _LABELS:.0f} {total:.0f}",
        width="760",
        height=f"{2 * total:.0f}",
        role="img",
        class_="strip",
    )


def _rows(index: Index, machine: str, nights: Nights) -> dict[tuple[str, str], _Bars]:
    """The bars by title and colour."""
    seen: dict[str, dict[int, list[float]]] = {"clock": {}, "temperature": {}, "throttled": {}}
    for night, *values in index.rows(
        f"select night, clock_hz, temperature_c, throttled from ({NIGHTS})"
        " where machine = ? and night >= ?",
        (machine, nights[0][0]),
    ):
        for name, value in zip(seen, values, strict=True):
            if value is not None:
                seen[name].setdefault(night, []).append(value)
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


def _shares(values: dict[int, float], words: Callable[[float], str]) -> _Bars:
    top = max(values.values(), default=1.0)
    return {night: (value / top, words(value)) for night, value in values.items()}
