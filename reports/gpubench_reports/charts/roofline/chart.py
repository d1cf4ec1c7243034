"""The roofline: rows with an arithmetic intensity and a rate under the device's roofs."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from gpubench_reports.charts import style
from gpubench_reports.charts.roofline.key import (
    KEY_LINE,
    Sign,
    draw_key,
    draw_styles,
    key_entry,
    wrapped,
)
from gpubench_reports.charts.roofline.labels import draw_labels
from gpubench_reports.charts.roofline.lines import RIDGE, Line, merged, ridge_points, roof_style
from gpubench_reports.charts.roofline.names import name_flats, name_slopes
from gpubench_reports.charts.roofline.sweeps import Sweep, find_sweeps
from gpubench_reports.results.context import Context

# Up to this many points carry their swept value; more carry numbers.
_SPELLED_OUT = 24
_WIDTH, _PLOT_HEIGHT = 11.0, 6.0  # inches
_LEFT, _RIGHT = 0.75, 2.15  # inches beside the plot; the names of the flat roofs stand right of it


def build(rows: pd.DataFrame, context: Context) -> Figure | None:
    """The roofline of all `rows`; None when no row has an intensity: roofs alone say nothing of the
    run."""
    found = find_sweeps(rows)
    if not found:
        return None
    bandwidths = merged([r for r in context.roofs if r.kind == "bandwidth"])
    peaks = merged([r for r in context.roofs if r.kind == "compute"])
    ridges = ridge_points(bandwidths, peaks)
    spelled = sum(len(sweep.numbers) for sweep in found) <= _SPELLED_OUT
    key = [key_entry(sweep, spelled) for sweep in found]
    if ridges:
        peaks_met = "; ".join(name for _, _, name in ridges)
        key.append((Sign(RIDGE, style.INK), wrapped(f"ridge points [FLOP per byte]  {peaks_met}")))
    key_lines = math.ceil(sum(len(lines) for _, lines in key) / 2) + 1
    top, bottom = 0.95, 0.55
    height = top + _PLOT_HEIGHT + bottom + key_lines * KEY_LINE + 0.15
    figure = style.new_figure(_WIDTH, height)
    axes = figure.add_axes(
        (
            _LEFT / _WIDTH,
            (height - top - _PLOT_HEIGHT) / height,
            (_WIDTH - _LEFT - _RIGHT) / _WIDTH,
            _PLOT_HEIGHT / height,
        )
    )
    style.heading(figure, "Roofline", context)
    segments, names = draw_frame(axes, found, bandwidths, peaks)
    for sweep in found:
        draw_sweep(axes, sweep, sweep.colour, sweep.marker, "row")
    draw_labels(axes, found, names, segments, ridges, spelled)
    draw_styles(figure, context, bandwidths + peaks)
    draw_key(figure, key, height - top - _PLOT_HEIGHT - bottom)
    if context.modelled:
        style.watermark(figure)
    return figure


def draw_frame(
    axes: Axes, found: list[Sweep], bandwidths: list[Line], peaks: list[Line]
) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[Text]]:
    """Scales for the sweeps, and the roofs with their names; returns what labels keep clear of: the
    roofs' (x, y), and the names of those that slope."""
    _set_limits(axes, found, bandwidths, peaks)
    segments = _draw_roofs(axes, bandwidths, peaks)
    names = name_slopes(axes, bandwidths)
    name_flats(axes, peaks)
    return segments, names


def draw_sweep(axes: Axes, sweep: Sweep, colour: str, marker: str, gid: str) -> Line2D:
    (line,) = axes.plot(
        sweep.intensity,
        sweep.rate,
        color=colour,
        lw=0.8,
        alpha=0.8,
        ls="-" if sweep.joined else "none",
        marker=marker,
        ms=5.5,
        mec="white",
        mew=0.5,
        zorder=6,
        gid=gid,
    )
    return line


def _set_limits(axes: Axes, found: list[Sweep], bandwidths: list[Line], peaks: list[Line]) -> None:
    intensities = [v for sweep in found for v in sweep.intensity]
    rates = [v for sweep in found for v in sweep.rate]
    ridges = [p.value / b.value for p in peaks for b in bandwidths]
    x = [*intensities, *ridges] or [1.0]
    y = [*rates, *(p.value for p in peaks)] or [1.0]
    left, right = min(x) / 4, max(x) * 4
    low, high = min(y) / 4, max(y) * 2.2
    if bandwidths and peaks:
        # Room for the slopes: without it only their last decade would be seen.
        low = min(low, min(p.value for p in peaks) / 30)
        left = min(left, min(ridges) / 10)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    style.log_si_axis(axes, "x", "arithmetic intensity", "FLOP per byte moved")
    style.log_si_axis(axes, "y", "arithmetic rate", "FLOP/s")


def _draw_roofs(
    axes: Axes, bandwidths: list[Line], peaks: list[Line]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Draws the roofs; returns their (x, y), which labels keep clear of."""
    segments: list[tuple[np.ndarray, np.ndarray]] = []
    left, right = axes.get_xlim()
    low, high = axes.get_ylim()
    ceiling = max((p.value for p in peaks), default=high)
    steepest = max((b.value for b in bandwidths), default=None)
    for line in bandwidths:
        x = np.array([max(left, low / line.value), min(right, ceiling / line.value)])
        segments.append((x, x * line.value))
        axes.plot(*segments[-1], **roof_style(line))
    for line in peaks:
        start = max(left, line.value / steepest) if steepest else left
        segments.append((np.array([start, right]), np.array([line.value] * 2)))
        axes.plot(*segments[-1], **roof_style(line))
    return segments
