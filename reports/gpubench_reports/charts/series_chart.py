"""A program watched for a while: pace, clock, power and temperature over time, and the verdict.

A column a row. Grey stretches are those in which the driver gave a reason for holding back.
"""

import textwrap
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpubench_reports.charts import style
from gpubench_reports.common.units import si_exponent, si_prefix
from gpubench_reports.results.reader import Context
from gpubench_reports.results.watched import Series

_COLUMN, _LEFT = 4.8, 0.78  # inches
_PANEL, _GAP = 1.15, 0.16
_EVIDENCE = {
    "sm_clock_hz": ("SM clock", "Hz"),
    "power_w": ("power", "W"),
    "temperature_c": ("temperature", "°C"),
}
_VERDICT_LINES = 3


def build(concept: str, watched: list[Series], context: Context) -> Figure | None:
    """The figure for `watched`, all of one concept; None when there is none."""
    if not watched:
        return None
    told = [name for name in _EVIDENCE if any(np.isfinite(s.evidence[name]).any() for s in watched)]
    panels = 1 + len(told)
    top = 1.0 + 0.16 * _VERDICT_LINES
    height = top + panels * (_PANEL + _GAP) + 0.45
    width = max(len(watched) * _COLUMN + 0.1, 7.5)
    figure = style.new_figure(width, height)
    style.heading(figure, f"{concept}: over time", context)
    each = (width - 0.1) / len(watched)
    for column, series in enumerate(watched):
        left = column * each + _LEFT
        figure.text(
            (column * each + 0.12) / width,
            1 - 0.72 / height,
            series.name.partition("/")[2],
            size=9.5,
            weight="bold",
            va="top",
        )
        wrapped = textwrap.wrap(series.verdict, int((each - 0.2) * 15))[:_VERDICT_LINES]
        figure.text(
            (column * each + 0.12) / width,
            1 - 0.9 / height,
            "\n".join(wrapped),
            size=8,
            va="top",
            color=style.darker(style.COLOURS[1]),
            gid="verdict",
        )
        for place, name in enumerate(["rate", *told]):
            base = height - top - (place + 1) * _PANEL - place * _GAP
            axes = figure.add_axes(
                (left / width, base / height, (each - _LEFT - 0.15) / width, _PANEL / height)
            )
            title, unit = _EVIDENCE.get(name, (series.figure.title, series.figure.unit))
            values = series.rate if name == "rate" else series.evidence[name]
            _draw(axes, series, values, title, unit, style.COLOURS[place])
            axes.tick_params(labelbottom=place + 1 == panels)
            if place + 1 == panels:
                axes.set_xlabel("time [s]")
    if context.modelled:
        style.watermark(figure)
    return figure


def _draw(
    axes: Axes, series: Series, values: np.ndarray, title: str, unit: str, colour: str
) -> None:
    axes.plot(series.seconds, values, color=colour, lw=1.3, gid=title)
    axes.set_xlim(0, series.seconds[-1])
    for begin, end in held_back(series):
        axes.axvspan(begin, end, color=style.LIGHT, alpha=0.6, lw=0, gid="held back")
    known = values[np.isfinite(values)]
    if known.size == 0:
        axes.set_ylabel(title)
        return
    exponent = si_exponent(float(known.max())) if unit != "°C" else 0
    scale = 10.0**exponent
    # A fall is to be seen as large as it is: the axis begins at zero.
    axes.set_ylim(0, known.max() * 1.15)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / scale:.4g}")
    axes.set_ylabel(f"{title}\n[{si_prefix(exponent)}{unit}]", size=8)


def held_back(series: Series) -> list[tuple[float, float]]:
    """The stretches [s] in which the driver gave a reason."""
    found = []
    places = range(len(series.seconds))
    for reason, group in groupby(places, key=lambda place: bool(series.reasons[place])):
        stretch = list(group)
        if reason:
            before = series.seconds[stretch[0] - 1] if stretch[0] > 0 else 0.0
            found.append((float(before), float(series.seconds[stretch[-1]])))
    return found
