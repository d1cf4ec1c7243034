"""One panel: its series, their laws and predictions, and the roof that binds them."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from gpubench_reports.charts import style
from gpubench_reports.charts.concept.axes import mark_alignments, scale_x, scale_y
from gpubench_reports.charts.concept.names import (
    LEGEND_LINE,
    legend_columns,
    legend_lines,
    series_names,
)
from gpubench_reports.charts.concept.scales import Scale, claimed_columns
from gpubench_reports.charts.points import name_points
from gpubench_reports.common.units import si
from gpubench_reports.results.context import PROVENANCES_OF_RUN, Context, Roof
from gpubench_reports.results.quantities import REQUEST_QUANTITIES
from gpubench_reports.results.sweeps import Argument, Panel, Series

_FEW = 2  # points, of which a panel has room to write the values
MARK, RING = 5.2, 2.8  # points of print: a mark, and what it grows by for each one on it
_ON_TOP = 0.02  # of an axis: nearer points lie on each other


def draw_panel(axes: Axes, panel: Panel, context: Context, prediction: bool, scale: Scale) -> None:
    position = scale_x(axes, panel)
    several = len(panel.series) > 1
    covered = covered_by(panel, scale)
    for index, series in enumerate(panel.series):
        colour = style.COLOURS[index % len(style.COLOURS)]
        marker = style.MARKERS[index % len(style.MARKERS)]
        at = position(series.x)
        if several and not panel.numeric:
            at = at + 0.12 * (index - (len(panel.series) - 1) / 2)  # side by side, not on top
        _draw_series(axes, series, at, colour, marker, prediction, panel.numeric, covered[index])
        for column in claimed_columns(panel):
            _draw_claimed(axes, at, series.rows[column].to_numpy(float), colour, marker)
    scale_y(axes, panel, scale)
    if not panel.numeric and not scale.logarithmic and panel.quantity not in REQUEST_QUANTITIES:
        _spell_out(axes, panel, position)
    _roof_line(axes, panel, context)
    mark_alignments(axes, panel)
    rows_above = legend_lines(panel)
    axes.set_title(style.shorten(panel.title, 62), pad=6 + rows_above * LEGEND_LINE * 72)
    if several:
        handles = [
            Line2D(
                [],
                [],
                color=style.COLOURS[i % len(style.COLOURS)],
                lw=1.2,
                ms=5,
                marker=style.MARKERS[i % len(style.MARKERS)],
                label=name,
            )
            for i, name in enumerate(series_names(panel))
        ]
        axes.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(-0.02, 0.99),
            ncols=legend_columns(panel),
            borderaxespad=0.2,
            handlelength=1.6,
            columnspacing=1.0,
            handletextpad=0.4,
            labelspacing=0.25,
        )


def _draw_series(
    axes: Axes,
    series: Series,
    x: np.ndarray,
    colour: str,
    marker: str,
    prediction: bool,
    joined: bool,
    covered: np.ndarray,
) -> None:
    """Law, prediction and points; lines join them only where there is something between them.

    A point is the larger, the more others lie on it (`covered`), so that it shows behind them.
    """
    rows = series.rows
    value = rows["value"].to_numpy(float)
    _draw_expected(axes, rows, x, colour, prediction, joined)
    errors = np.vstack([value - rows["low"], rows["high"] - value])
    if (errors > 0).any():  # the model's intervals have no width
        axes.errorbar(
            x,
            value,
            yerr=np.clip(np.nan_to_num(errors), 0, None),
            fmt="none",
            ecolor=colour,
            elinewidth=1.1,
            capsize=2.5,
            zorder=4,
        )
    if joined:
        axes.plot(x, value, lw=1.2, color=colour, zorder=5, gid="path")
    doubtful = doubtful_rows(rows)
    for mask, face in ((~doubtful, colour), (doubtful, "white")):
        for others in np.unique(covered[mask]):
            same = mask & (covered == others)
            points = axes.plot(
                x[same],
                value[same],
                ls="none",
                marker=marker,
                ms=MARK + RING * others,
                mew=1.2,
                color=colour,
                mfc=face,
                zorder=6,
                gid="measured",
            )
            name_points(points, rows["name"][same])


def _draw_expected(
    axes: Axes, rows: pd.DataFrame, x: np.ndarray, colour: str, prediction: bool, joined: bool
) -> None:
    """What the law says, and what the model predicts."""
    law = rows["law_value"].to_numpy(float)
    if np.isfinite(law).any():
        dash = joined and len(x) > 1 and np.isfinite(law).all()  # a gap would hide its neighbours
        axes.plot(
            x,
            law,
            ls=(0, (5, 2)) if dash else "none",
            lw=2.4,
            color=colour,
            alpha=0.45,
            zorder=2,
            gid="law",
            marker=None if dash else "_",
            ms=18,
            mew=2.4,
        )
    if prediction and rows["predicted"].notna().any():
        axes.plot(
            x,
            rows["predicted"].to_numpy(float),
            ls=":" if joined else "none",
            lw=1.3,
            color=colour,
            marker="x",
            ms=4.5,
            mew=1.1,
            zorder=3,
            gid="prediction",
        )


def covered_by(panel: Panel, scale: Scale) -> list[np.ndarray]:
    """For each series, how many of those drawn after it lie on each of its points."""
    known = [dict(zip(s.x, s.rows["value"].to_numpy(float), strict=True)) for s in panel.series]
    if not panel.numeric:  # side by side
        return [np.zeros(len(own)) for own in known]
    logarithmic = scale.logarithmic or panel.quantity in REQUEST_QUANTITIES
    high, low = scale.high, min(scale.low, 1) if panel.quantity in REQUEST_QUANTITIES else scale.low

    def meet(one: float, other: float) -> bool:
        if logarithmic:
            return abs(math.log(one / other)) < _ON_TOP * max(math.log(high / low), 1)
        return abs(one - other) < _ON_TOP * high

    return [
        np.array(
            [
                sum(x in later and meet(value, later[x]) for later in known[index + 1 :])
                for x, value in own.items()
            ],
            dtype=float,
        )
        for index, own in enumerate(known)
    ]


def _spell_out(axes: Axes, panel: Panel, position: Callable[[list[Argument]], np.ndarray]) -> None:
    """One point or two in an empty field: each gets a stem from zero, and its value beside it."""
    if sum(len(series.x) for series in panel.series) > _FEW or len(panel.series) > 1:
        return
    (series,) = panel.series
    for x, value in zip(position(series.x), series.rows["value"], strict=True):
        axes.vlines(x, 0, value, color=style.COLOURS[0], lw=9, alpha=0.25, zorder=1, gid="stem")
        low = value < 0.1 * axes.get_ylim()[1]  # below the point the text would meet the axis
        axes.annotate(
            si(value, panel.quantity.unit),
            (x, value),
            xytext=(9, 2 if low else -5),
            textcoords="offset points",
            va="bottom" if low else "top",
            size=8,
            color=style.INK,
            gid="value",
        )


def _draw_claimed(axes: Axes, x: np.ndarray, value: np.ndarray, colour: str, marker: str) -> None:
    """Hollow and crossed out: the wrong number beside the right one."""
    axes.plot(
        x,
        value,
        lw=0.8,
        ls=(0, (1, 2)),
        color=colour,
        marker=marker,
        ms=7,
        mew=1.0,
        mfc="white",
        zorder=5,
        gid="claimed",
    )
    axes.plot(x, value, ls="none", color=colour, marker="x", ms=5, mew=1.0, zorder=6, gid="crossed")


def doubtful_rows(rows: pd.DataFrame) -> np.ndarray:
    """Rows that did not converge or were throttled."""
    return np.asarray((rows["converged"] == 0) | (rows["throttled"] > 0))


def _roof_line(axes: Axes, panel: Panel, context: Context) -> None:
    """The roof that binds more than half of the panel's rows, where it lies within sight."""
    roofs = pd.concat([series.rows["roof"] for series in panel.series]).value_counts()
    if roofs.iloc[0] * 2 <= roofs.sum():
        return
    kind = {"B/s": "bandwidth", "FLOP/s": "compute", "OP/s": "compute"}.get(panel.quantity.unit)
    named = [r for r in context.roofs if r.kind == kind and r.name == roofs.index[0]]
    if not named:
        return
    roof: Roof = min(named, key=lambda r: r.provenance not in PROVENANCES_OF_RUN)
    low, high = axes.get_ylim()
    if not high / 6 < roof.value < high * 1.6:
        return
    axes.set_ylim(low, max(high, roof.value * (1.7 if axes.get_yscale() == "log" else 1.12)))
    axes.axhline(
        roof.value,
        color=style.GREY,
        lw=0.9,
        ls=style.ROOF_LINES[roof.provenance],
        zorder=1,
        gid="roof",
    )
    axes.annotate(
        f"{roof.name} roof {si(roof.value, panel.quantity.unit)}, "
        f"{style.ROOF_WORDS[roof.provenance]}",
        (1.0, roof.value),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="right",
        va="bottom",
        size=7,
        color=style.GREY,
    )
