"""Speed-ups of many files as one forest plot: a line a concept, a mark a file."""

import math

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gpubench_reports.charts import style
from gpubench_reports.charts.compare_chart import ratio_axis
from gpubench_reports.comparisons.speedups import Table

_LINE, _LEFT, _PLOT, _RIGHT, _BOTTOM = 0.2, 2.6, 6.2, 0.5, 0.65  # inches
MOST_LINES = 60


def build(table: Table, modelled: bool) -> Figure:
    """The first MOST_LINES groups of `table`."""
    groups = list(dict.fromkeys(g for lines in table.lines.values() for g in lines[table.by]))
    left_out = max(len(groups) - MOST_LINES, 0)
    groups = groups[:MOST_LINES]
    files = len(table.lines)
    depth = len(groups) * max(1.0, 0.55 * files)
    top = 1.0 + 0.17 * (len(table.warnings) + math.ceil(files / 3))
    width, height = _LEFT + _PLOT + _RIGHT, top + depth * _LINE + _BOTTOM
    figure = style.new_figure(width, height)
    axes = figure.add_axes((_LEFT / width, _BOTTOM / height, _PLOT / width, depth * _LINE / height))
    axes.set_ylim(len(groups) - 0.5, -0.5)
    values = np.concatenate(
        [lines[["ratio", "low", "high"]].to_numpy(float).ravel() for lines in table.lines.values()]
    )
    reach = max(math.exp(np.nanmax(np.abs(np.log(values))) * 1.12), 1.02)
    unit = "fraction of its roof" if table.of_roof else "speed"
    what = (
        unit if table.by == "dtype" else f"{unit} / {unit} of {style.shorten(table.reference, 40)}"
    )
    ratio_axis(axes, (1 / reach, reach), f"{what}   (← less | more →)")
    axes.axvline(1, color=style.INK, lw=1.0, zorder=2)
    for place, (name, lines) in enumerate(table.lines.items()):
        colour = style.COLOURS[place % len(style.COLOURS)]
        marker = style.MARKERS[place % len(style.MARKERS)]
        shift = (place - (files - 1) / 2) * 0.75 / files
        for line in lines.to_dict("records"):
            if line[table.by] not in groups:
                continue
            at = groups.index(line[table.by]) + shift
            if math.isfinite(line["low"]):
                axes.plot(
                    [line["low"], line["high"]],
                    [at, at],
                    color=colour,
                    lw=1.5,
                    zorder=3,
                    gid="interval",
                )
            axes.plot(
                [line["ratio"]],
                [at],
                marker=marker,
                color=colour,
                ms=5.5,
                mec="white",
                mew=0.5,
                ls="none",
                zorder=4,
                gid=f"mean:{name}",
            )
    axes.set_yticks(range(len(groups)), [style.shorten(str(group), 36) for group in groups])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    _head(figure, table, left_out)
    if modelled:
        style.watermark(figure)
    return figure


def _head(figure: Figure, table: Table, left_out: int) -> None:
    height = figure.get_figheight()
    title = f"Geometric means by {table.by}" + (f", {left_out} more not drawn" if left_out else "")
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
    style.small_print(
        figure, 0.42, "mark: geometric mean of the rows; bar: its 95 % interval", "subtitle"
    )
    y = 0.62
    for warning in table.warnings:
        style.small_print(figure, y, f"! {warning}", "warning", weight="bold", color=style.INK)
        y += 0.17
    handles = [
        Line2D(
            [],
            [],
            color=style.COLOURS[place % len(style.COLOURS)],
            lw=1.5,
            ms=5.5,
            mew=0.5,
            marker=style.MARKERS[place % len(style.MARKERS)],
            mec="white",
            label=style.shorten(name, 44),
        )
        for place, name in enumerate(table.lines)
    ]
    figure.legend(
        handles=handles,
        loc="upper left",
        ncols=3,
        borderaxespad=0,
        borderpad=0,
        bbox_to_anchor=(0.012, 1 - (y + 0.02) / height),
        columnspacing=1.4,
    )
