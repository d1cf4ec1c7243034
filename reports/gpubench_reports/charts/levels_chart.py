"""The hierarchical roofline: each row once for every level of memory, under that level's roof.

After Ilic, Pratas and Sousa, "Cache-aware Roofline Model", 2014, and Yang, Kurth and Williams,
"Hierarchical Roofline Analysis for GPUs", 2020. The bytes of each level are the row's own.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import textalloc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gpubench_reports.charts import style
from gpubench_reports.charts.points import name_points
from gpubench_reports.charts.roofline.labels import knee
from gpubench_reports.charts.roofline.lines import merged
from gpubench_reports.charts.roofline.names import name_flats
from gpubench_reports.common.units import argument_text, si
from gpubench_reports.results.context import PROVENANCES_OF_RUN, Context, Roof

LEVELS = ("dram", "l2", "l1", "shared")
_WIDTH, _HEIGHT = 11.0, 7.0  # inches
_MOST_LABELS = 14
# Points [of print] across, by level: where levels coincide, their marks lie inside one another.
_SIZES = (10.5, 7.5, 4.8, 2.6)


@dataclass(frozen=True)
class RowAtLevels:
    """A row: its arithmetic rate [FLOP/s] and its intensity at each level [FLOP per byte]."""

    row: str  # its whole name
    name: str  # in short
    kernel: str
    label: str
    roof: str  # the peak that it could reach, where the row names one
    rate: float
    intensity: dict[str, float]


def points_of(rows: pd.DataFrame) -> list[RowAtLevels]:
    """The rows with FLOP/s and with bytes for two levels or more."""
    found = []
    for row in rows[(rows["status"] == "ok") & (rows["flops_per_second"] > 0)].to_dict("records"):
        flops = row["flops_per_second"] * row["seconds"]
        moved = row["bytes"]
        intensity = {level: flops / moved[level] for level in LEVELS if moved.get(level, 0) > 0}
        if len(intensity) < 2:
            continue
        found.append(
            RowAtLevels(
                row["name"],
                f"{row['kernel']} {_in_short(row['arguments'])}".strip(),
                f"{row['concept']}/{row['kernel']}",
                row["label"],
                row["roof"],
                row["flops_per_second"],
                intensity,
            )
        )
    return found


def _in_short(arguments: dict[str, Any]) -> str:
    return " ".join(argument_text(value) for value in arguments.values())


def build(rows: pd.DataFrame, context: Context) -> Figure | None:
    """The figure; None when fewer than two rows have bytes for two levels."""
    points = points_of(rows)
    if len(points) < 2:
        return None
    figure = style.new_figure(_WIDTH, _HEIGHT)
    axes = figure.add_axes((0.07, 0.08, 0.76, 0.77))
    style.heading(figure, "Roofline by level of memory", context)
    present = [level for level in LEVELS if any(level in p.intensity for p in points)]
    x = [value for point in points for value in point.intensity.values()]
    y = [point.rate for point in points]
    named = {name for point in points for name in (point.label, point.roof)}
    peaks = [roof for roof in _preferred(context, "compute") if roof.name in named]
    peaks = peaks or _preferred(context, "compute")[:1]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(min(x) / 3, max(x) * 3)
    axes.set_ylim(min(y) / 3, max([*y, *(r.value for r in peaks)]) * 3)
    style.log_si_axis(axes, "x", "arithmetic intensity at the level", "FLOP per byte")
    style.log_si_axis(axes, "y", "arithmetic rate", "FLOP/s")
    left, right = axes.get_xlim()
    top = max((roof.value for roof in peaks), default=math.inf)
    for roof in _preferred(context, "bandwidth"):
        if roof.name in present:
            end = min(right, top / roof.value)
            axes.plot(
                [left, end],
                [left * roof.value, end * roof.value],
                lw=1.4,
                ls=style.ROOF_LINES[roof.provenance],
                color=_mark(roof.name)["color"],
                gid=f"roof:{roof.name}",
            )
    lines = merged(peaks)
    for line in lines:
        axes.axhline(
            line.value, color=style.INK, lw=1.0, ls=style.ROOF_LINES[line.provenance], gid="peak"
        )
    name_flats(axes, lines)
    for point in points:
        across = sorted(point.intensity.values())
        axes.plot(
            [across[0], across[-1]], [point.rate] * 2, color=style.GREY, lw=0.5, zorder=2, gid="row"
        )
    for level in present:
        own = [point for point in points if level in point.intensity]
        marks = axes.plot(
            [p.intensity[level] for p in own],
            [p.rate for p in own],
            ls="none",
            **_mark(level),
            zorder=4,
            gid=f"level:{level}",
        )
        name_points(marks, [p.row for p in own])
    _label(axes, points)
    _key(figure, context, present)
    if context.modelled:
        style.watermark(figure)
    return figure


def _preferred(context: Context, kind: str) -> list[Roof]:
    """Each roof once, the run's own before the device file's."""
    found: dict[str, Roof] = {}
    for roof in sorted(context.roofs, key=lambda r: r.provenance not in PROVENANCES_OF_RUN):
        if roof.kind == kind:
            found.setdefault(roof.name, roof)
    return list(found.values())


def _label(axes: Axes, points: list[RowAtLevels]) -> None:
    """Names of the ends and the knee of each kernel's rows, as many as have room."""
    kernels: list[list[RowAtLevels]] = []
    for kernel in dict.fromkeys(point.kernel for point in points):
        own = [point for point in points if point.kernel == kernel]
        x = np.array([next(iter(point.intensity.values())) for point in own])
        y = np.array([point.rate for point in own])
        found = dict.fromkeys((0, len(own) - 1, knee(x, y)))
        kernels.append([own[index] for index in found if index is not None])
    # Every kernel has its first point named before any has its second.
    rounds = itertools.zip_longest(*kernels)
    chosen = [point for some in rounds for point in some if point is not None][:_MOST_LABELS]
    ends = [max(point.intensity.values()) for point in chosen]
    everything = [(v, p.rate) for p in points for v in p.intensity.values()]
    # A mark is taken for a point: the margin is the half of the largest one.
    lines = [line for line in axes.lines if str(line.get_gid()).startswith(("row", "roof:"))]
    textalloc.allocate(
        axes,
        ends,
        [point.rate for point in chosen],
        [point.name for point in chosen],
        x_scatter=[x for x, _ in everything],
        y_scatter=[y for _, y in everything],
        x_lines=[np.asarray(line.get_xdata()) for line in lines],
        y_lines=[np.asarray(line.get_ydata()) for line in lines],
        textsize=7,
        linecolor=style.GREY,
        linewidth=0.5,
        margin=0.012,
        min_distance=0.015,
        max_distance=0.12,
        nbr_candidates=200,
        draw_all=False,
        gid="row-label",
        zorder=8,
    )


def _mark(level: str) -> dict[str, Any]:
    """Hollow, so that the mark of another level may be seen inside."""
    place = LEVELS.index(level)
    return {
        "color": style.COLOURS[place],
        "marker": style.MARKERS[place],
        "ms": _SIZES[place],
        "mfc": "none",
        "mew": 1.2,
    }


def _key(figure: Figure, context: Context, present: list[str]) -> None:
    roofs = {roof.name: roof for roof in _preferred(context, "bandwidth")}
    handles = []
    for level in present:
        roof = roofs.get(level)
        said = f" {si(roof.value, 'B/s')} {style.ROOF_WORDS[roof.provenance]}" if roof else ""
        handles.append(
            Line2D(
                [],
                [],
                **_mark(level),
                lw=1.4,
                ls=style.ROOF_LINES[roof.provenance] if roof else "none",
                label=f"{level}{said}",
            )
        )
    handles.append(Line2D([], [], color=style.GREY, lw=0.5, label="one row"))
    figure.legend(
        handles=handles,
        loc="upper left",
        ncols=5,
        borderaxespad=0,
        borderpad=0,
        bbox_to_anchor=(0.012, 1 - 0.62 / figure.get_figheight()),
        handlelength=2.6,
        columnspacing=1.6,
    )
