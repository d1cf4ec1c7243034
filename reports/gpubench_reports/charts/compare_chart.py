"""Draws a comparison: one line per row, its ratio and the interval of the ratio."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from gpubench_reports.charts import style
from gpubench_reports.charts.points import name_points
from gpubench_reports.common.plain_text import clean
from gpubench_reports.comparisons.compare import Comparison

ROWS_A_PAGE = 80
_LINE = 0.185  # inches
# Marker, colour and words of each verdict: shape and side say the same as the colour.
_VERDICTS = {
    "faster": (">", style.COLOURS[0], "B faster"),
    "slower": ("<", style.COLOURS[1], "B slower"),
    "same": ("o", style.GREY, "no difference shown"),
    "unknown": ("D", style.INK, "no interval"),
}
_TICKS_ABOVE = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 1e3, 1e4, 1e6)
_TICKS_BELOW = (
    0.99,
    0.98,
    0.95,
    0.9,
    0.8,
    0.7,
    0.5,
    0.3,
    0.2,
    0.1,
    0.05,
    0.02,
    0.01,
    1e-3,
    1e-4,
    1e-6,
)


def build(comparison: Comparison) -> list[Figure]:
    """The forest plot, on as many figures as it takes at ROWS_A_PAGE rows each."""
    rows = comparison.rows
    pages = math.ceil(len(rows) / ROWS_A_PAGE)
    limits = _limits(rows)
    return [
        _page(
            comparison,
            rows.iloc[page * ROWS_A_PAGE : (page + 1) * ROWS_A_PAGE],
            limits,
            f"page {page + 1} of {pages}" if pages > 1 else "",
        )
        for page in range(pages)
    ]


def _limits(rows: pd.DataFrame) -> tuple[float, float]:
    """Symmetric about 1 in the logarithm, so that the sides can be compared by eye."""
    values = rows[["ratio", "low", "high"]].to_numpy(float)
    widest = np.nanmax(np.abs(np.log(values)))
    reach = max(math.exp(widest * 1.12), 1.02)
    return 1 / reach, reach


def _page(
    comparison: Comparison, rows: pd.DataFrame, limits: tuple[float, float], note: str
) -> Figure:
    concepts = rows["concept"].to_list()
    places, headings = _places(concepts)
    warnings = comparison.warnings
    top = 1.05 + 0.17 * len(warnings)
    bottom = 0.62
    depth = places[-1] + 1
    height = top + depth * _LINE + bottom
    names = [_short(name, concept) for name, concept in zip(rows["name"], concepts, strict=True)]
    left = 0.35 + 0.066 * max(len(name) for name in names)
    right = 1.0
    width = left + 5.5 + right
    figure = style.new_figure(width, height)
    axes = figure.add_axes((left / width, bottom / height, 5.5 / width, depth * _LINE / height))
    axes.set_ylim(depth - 0.5, -0.5)
    ratio_axis(axes, limits, "speed of B / speed of A   (← B slower | B faster →)")
    axes.axvline(1, color=style.INK, lw=1.0, zorder=2)
    for place, (_, row) in zip(places, rows.iterrows(), strict=True):
        _draw_row(axes, place, row)
    axes.set_yticks(places, names)
    axes.tick_params(axis="y", length=0, labelsize=7.5)
    axes.grid(axis="y", visible=False)
    for place, concept in headings:
        axes.annotate(
            concept,
            (0, place),
            xycoords=("figure fraction", "data"),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            size=8.5,
            weight="bold",
            color=style.INK,
        )
    _head(figure, comparison, rows, note, warnings)
    return figure


def _draw_row(axes: Axes, place: int, row: pd.Series) -> None:
    """The ratio of one row, its interval, and the number at the right."""
    marker, colour, _ = _VERDICTS[row["verdict"]]
    if np.isfinite(row["low"]):
        axes.plot(
            [row["low"], row["high"]],
            [place] * 2,
            color=colour,
            lw=1.6,
            zorder=3,
            gid="interval",
        )
    point = axes.plot(
        [row["ratio"]],
        [place],
        marker=marker,
        color=colour,
        ms=5.5,
        mec="white",
        mew=0.6,
        zorder=4,
        gid="ratio",
    )
    name_points(point, [row["name"]])
    axes.annotate(
        f"{row['ratio']:.3f}",
        (1.0, place),
        xycoords=("axes fraction", "data"),
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        size=7.5,
        color=style.INK,
    )


def _places(concepts: list[str]) -> tuple[list[int], list[tuple[int, str]]]:
    """Line of every row, and (line, concept) of a heading before the first row of each concept."""
    places, headings, line = [], [], 0
    for index, concept in enumerate(concepts):
        if index == 0 or concept != concepts[index - 1]:
            headings.append((line, style.shorten(concept, 60)))
            line += 1
        places.append(line)
        line += 1
    return places, headings


def _short(name: str, concept: str) -> str:
    return style.shorten(name.removeprefix(concept + "/") or name, 60)


def ratio_axis(axes: Axes, limits: tuple[float, float], title: str) -> None:
    """A logarithmic x axis of ratios, with ticks at round ones on both sides of 1."""
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    reach = math.log(limits[1])
    kept = [1.0]
    for side in (_TICKS_ABOVE, _TICKS_BELOW):
        last = math.inf
        for tick in reversed(side):  # from the outside in, with room for the numbers
            distance = abs(math.log(tick))
            if distance <= reach and last - distance > 0.2 * reach and distance > 0.15 * reach:
                kept.append(tick)
                last = distance
    axes.xaxis.set_major_locator(FixedLocator(sorted(kept)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axes.set_xlabel(title)


def _head(
    figure: Figure, comparison: Comparison, rows: pd.DataFrame, note: str, warnings: list[str]
) -> None:
    height = figure.get_figheight()
    title = "B against A" + (f", {note}" if note else "")
    figure.text(
        0.012,
        1 - 0.12 / height,
        title,
        size=13,
        weight="bold",
        va="top",
        color=style.INK,
        gid="title",
    )
    y = 0.42
    for letter, result in (("A", comparison.a), ("B", comparison.b)):
        line = f"{letter}  {clean(result.path.name)} · {style.run_line(result.context)}"
        style.small_print(figure, y, line, "subtitle")
        y += 0.17
    for warning in warnings:
        style.small_print(figure, y, f"! {warning}", "warning", weight="bold", color=style.INK)
        y += 0.17
    handles = [
        Line2D(
            [],
            [],
            marker=marker,
            color=colour,
            ms=5.5,
            lw=1.6 if verdict != "unknown" else 0,
            mec="white",
            mew=0.6,
            label=words,
        )
        for verdict, (marker, colour, words) in _VERDICTS.items()
        if (rows["verdict"] == verdict).any()
    ]
    if (rows["verdict"] != "unknown").any():
        handles.append(Line2D([], [], color=style.GREY, lw=1.6, label="95 % interval"))
    figure.legend(
        handles=handles,
        loc="upper left",
        ncols=5,
        borderaxespad=0,
        borderpad=0,
        bbox_to_anchor=(0.012, 1 - (y + 0.03) / height),
        columnspacing=1.6,
    )
    if comparison.mixed:
        style.watermark(figure, "MODEL against MEASUREMENT")
    elif comparison.a.context.modelled:
        style.watermark(figure)
