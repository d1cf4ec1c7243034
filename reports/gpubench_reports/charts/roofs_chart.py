"""Draws the roofs of a run: each as it was found, beside what the device's file says."""

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gpubench_reports.charts import style
from gpubench_reports.common.units import si
from gpubench_reports.results.context import Context
from gpubench_reports.results.roof_pairs import FOUND, KINDS, Pair, pairs

_LINE = 0.27  # inches
_PERCENT = (
    "%: this run's over the device file's figure, which is the data sheet's where it states one."
)


def build(context: Context) -> Figure | None:
    """The chart; None if this run found no roof by itself."""
    paired = pairs(context.roofs)
    if not any(pair.found for pair in paired):
        return None
    groups = [[pair for pair in paired if pair.kind == kind] for kind in KINDS]
    groups = [group for group in groups if group]
    top, between, bottom = 1.3, 0.75, 0.8
    lines = sum(len(group) for group in groups)
    height = top + lines * _LINE + between * (len(groups) - 1) + bottom
    width, left, right = 8.2, 1.35, 1.75
    figure = style.new_figure(width, height)
    at = height - top
    for group in groups:
        depth = len(group) * _LINE
        axes = figure.add_axes(
            (left / width, (at - depth) / height, (width - left - right) / width, depth / height)
        )
        _panel(axes, group)
        at -= depth + between
    style.heading(figure, "Roofs", context)
    _legend(figure, context)
    style.footnote(figure, _PERCENT)
    if context.modelled:
        style.watermark(figure)
    return figure


def _panel(axes: Axes, group: list[Pair]) -> None:
    kind = group[0].kind
    values = [roof.value for pair in group for roof in pair.roofs]
    lowest, highest = min(values) / 1.8, max(values) * 1.4
    axes.set_xscale("log")
    axes.set_xlim(lowest, highest)
    axes.set_ylim(len(group) - 0.5, -0.5)
    for line, pair in enumerate(group):
        axes.axhline(line, color=style.LIGHT, lw=0.8, zorder=1)  # leads the eye to the name
        if pair.found:
            axes.plot([pair.found.value], [line], **_found_mark(), gid="found")
        for roof in pair.all_filed:
            axes.plot([roof.value], [line], **_filed_mark(roof.provenance), gid="filed")
        said = pair.found or pair.filed
        assert said is not None
        text = si(said.value, pair.unit)
        if math.isfinite(pair.fraction):
            text += f"   {pair.fraction * 100:.0f} %"
        axes.annotate(
            text,
            (1, line),
            xycoords=("axes fraction", "data"),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            size=8,
            color=style.INK if pair.found else style.GREY,
        )
    axes.set_yticks(range(len(group)), [pair.title for pair in group])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    title, unit = ("bandwidth", "B/s") if kind == "bandwidth" else ("arithmetic rate", "FLOP/s")
    style.log_si_axis(axes, "x", title, unit)


def _found_mark() -> dict[str, Any]:
    return {
        "ls": "none",
        "marker": "o",
        "ms": 9,
        "color": style.COLOURS[0],
        "mec": "white",
        "mew": 0.6,
        "zorder": 3,
    }


def _filed_mark(provenance: str) -> dict[str, Any]:
    """Hollow and above the point of the run, which it often meets."""
    mark = style.ROOF_MARKS[provenance]
    return {
        "ls": "none",
        "marker": mark,
        "ms": 15 if mark == "|" else 6.5,
        "color": style.INK,
        "mew": 1.8 if mark == "|" else 1.2,
        "mfc": "none",
        "zorder": 4,
    }


def _legend(figure: Figure, context: Context) -> None:
    verb = "modelled" if context.modelled else "measured"
    provenances = [
        word
        for word in style.ROOF_LINES
        if word not in FOUND and any(roof.provenance == word for roof in context.roofs)
    ]
    handles = [
        Line2D([], [], **_found_mark(), label=f"{verb} in this run; the device file:"),
        *(
            Line2D([], [], **_filed_mark(word), label=style.ROOF_WORDS[word])
            for word in provenances
        ),
    ]
    figure.legend(
        handles=handles,
        loc="upper left",
        ncol=len(handles),
        frameon=False,
        bbox_to_anchor=(0.005, 1 - 0.58 / figure.get_figheight()),
    )
