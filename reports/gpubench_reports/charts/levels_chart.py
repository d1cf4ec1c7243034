"""The hierarchical roofline: each row once for every level of memory, under that level's roof.

After Ilic, Pratas and Sousa, "Cache-aware Roofline Model", 2014, and Yang, Kurth and Williams,
"Hierarchical Roofline Analysis for GPUs", 2020. Bytes of DRAM are the row's own; those of the
levels before it are the prediction's: a term is bytes over the level's bandwidth, so bytes are its
product with the roof of the device file.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import textalloc
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gpubench_reports.charts import style
from gpubench_reports.charts.roofline import knee, merged, name_flats
from gpubench_reports.common.units import argument_text, si
from gpubench_reports.results.reader import PROVENANCES_OF_RUN, Context, Roof

LEVELS = ("dram", "l2", "l1", "shared")
_WIDTH, _HEIGHT = 11.0, 7.0  # inches
_MOST_LABELS = 14
# Points [of print] across, by level: where levels coincide, their marks lie inside one another.
_SIZES = (10.5, 7.5, 4.8, 2.6)
# Terms are those of a row's longest kernel: of a row of several they say nothing of the whole.
_ONE_KERNEL = 0.1


@dataclass(frozen=True)
class Point:
    """A row: its arithmetic rate [FLOP/s] and its intensity at each level [FLOP per byte]."""

    name: str
    kernel: str
    label: str
    roof: str  # the peak that it could reach, where the row names one
    rate: float
    intensity: dict[str, float]


def points_of(rows: pd.DataFrame, context: Context) -> list[Point]:
    """The rows with FLOP/s and with bytes for two levels or more."""
    roofs = {
        roof.name: roof.value
        for roof in context.roofs
        if roof.kind == "bandwidth" and roof.provenance not in PROVENANCES_OF_RUN
    }
    found = []
    for row in rows[(rows["status"] == "ok") & (rows["flops_per_second"] > 0)].to_dict("records"):
        terms, seconds = row["terms"], row["model_seconds"]
        if not terms or not seconds > 0:
            continue
        longest = max(value for name, value in terms.items() if name != "launch")
        if abs(longest + terms.get("launch", 0) - seconds) > _ONE_KERNEL * seconds:
            continue
        flops = row["flops_per_second"] * row["seconds"]
        intensity = {
            level: flops / (terms[level] * roofs[level])
            for level in LEVELS[1:]
            if terms.get(level, 0) > 0 and level in roofs
        }
        if row["arithmetic_intensity"] > 0:
            intensity["dram"] = row["arithmetic_intensity"]
        if len(intensity) > 1:
            name = f"{row['kernel']} {_in_short(row['arguments'])}".strip()
            found.append(
                Point(
                    name,
                    f"{row['concept']}/{row['kernel']}",
                    row["label"],
                    row["roof"],
                    row["flops_per_second"],
                    intensity,
                )
            )
    return found


def _in_short(arguments: dict) -> str:
    return " ".join(argument_text(value) for value in arguments.values())


def build(rows: pd.DataFrame, context: Context) -> Figure | None:
    """The figure; None when fewer than two rows have bytes for two levels."""
    points = points_of(rows, context)
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
        axes.plot(
            [p.intensity[level] for p in own],
            [p.rate for p in own],
            ls="none",
            **_mark(level),
            zorder=4,
            gid=f"level:{level}",
        )
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


def _label(axes, points: list[Point]) -> None:
    """Names of the ends and the knee of each kernel's rows, as many as have room."""
    kernels: list[list[Point]] = []
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
        x_lines=[line.get_xdata() for line in lines],
        y_lines=[line.get_ydata() for line in lines],
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
