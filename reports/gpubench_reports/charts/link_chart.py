"""What crosses a link: bandwidth by size of every path whose row carries a fitted line.

Drawn for any concept with rows that have `fit_latency_seconds` and `fit_bytes_per_second`.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from gpubench_reports.charts import quick_ticks, style
from gpubench_reports.charts.points import name_points
from gpubench_reports.charts.wire_chart import Fit
from gpubench_reports.common.units import argument_text, axis_title, si
from gpubench_reports.results.context import Context
from gpubench_reports.results.sweeps import axis_units

_LATENCY, _RATE = "fit_latency_seconds", "fit_bytes_per_second"
_SMALLEST, _LARGEST = 4.0, float(1 << 30)  # bytes drawn
_MOST = len(style.COLOURS)
_PANEL, _LEFT, _LINE = 3.9, 0.72, 0.17  # inches


@dataclass(frozen=True)
class Path:
    """One way for bytes to take: its name, its line, and the rows that went it."""

    name: str
    panel: str  # its kernel, where that has several paths; else empty
    line: Fit
    size: np.ndarray
    rate: np.ndarray
    rows: list[str]  # by name


def paths(rows: pd.DataFrame) -> list[Path]:
    """Every path of one concept's `rows` that has a line, in the order of the file."""
    ok = rows[(rows["status"] == "ok") & rows["useful_bytes_per_second"].notna()]
    found = []
    for _, row in ok[ok[_LATENCY].notna() & ok[_RATE].notna()].iterrows():
        others = {key: value for key, value in row["arguments"].items() if key != "size"}
        alike = [
            kernel == row["kernel"]
            and "size" in arguments
            and {key: value for key, value in arguments.items() if key != "size"} == others
            for kernel, arguments in zip(ok["kernel"], ok["arguments"], strict=True)
        ]
        same = ok[alike]
        words = " ".join(argument_text(value) for value in others.values())
        found.append(
            Path(
                words or row["kernel"].replace("_", " "),
                row["kernel"] if others else "",
                Fit(row[_LATENCY], 1 / row[_RATE]),
                np.array([arguments["size"] for arguments in same["arguments"]], dtype=float),
                same["useful_bytes_per_second"].to_numpy(float),
                list(same["name"]),
            )
        )
    return found


def build(concept: str, rows: pd.DataFrame, context: Context) -> Figure | None:
    """The figure for `rows`, all rows of one concept; None when no row carries a line."""
    found = paths(rows)
    if not found:
        return None
    panels = sorted(dict.fromkeys(path.panel for path in found), key=lambda name: name == "")
    most = max(sum(path.panel == panel for path in found) for panel in panels)
    width = max(len(panels) * _PANEL + 0.2, 7.5)
    below = 0.62 + _LINE * min(most, _MOST)
    height = 1.05 + 2.7 + below
    figure = style.new_figure(width, height)
    style.heading(figure, f"{concept}: size and bandwidth", context)
    each = (width - 0.2) / len(panels)
    top = 10 ** np.ceil(np.log10(max(1 / path.line.beta for path in found)))
    low = 10 ** np.floor(np.log10(min(path.line.rate(np.array([_SMALLEST]))[0] for path in found)))
    for index, panel in enumerate(panels):
        axes = figure.add_axes(
            (
                (index * each + _LEFT) / width,
                below / height,
                (each - _LEFT - 0.1) / width,
                2.7 / height,
            )
        )
        drawn = [path for path in found if path.panel == panel][:_MOST]
        for place, path in enumerate(drawn):
            _draw(axes, path, style.COLOURS[place], style.MARKERS[place])
            figure.text(
                (index * each + 0.12) / width,
                (0.06 + _LINE * (len(drawn) - 1 - place)) / height,
                _words(path),
                size=7.5,
                color=style.darker(style.COLOURS[place]),
                gid="fit",
            )
        title = panel or "other paths" if len(panels) > 1 else ""
        _finish(axes, title, low, top, axis_units(rows))
    if context.modelled:
        style.watermark(figure)
    return figure


def _words(path: Path) -> str:
    line = path.line
    return (
        f"{path.name}: {si(line.alpha, 's')} + size / {si(1 / line.beta, 'B/s')}, "
        f"half at {si(line.half_size, 'B')}"
    )


def _draw(axes: Axes, path: Path, colour: str, marker: str) -> None:
    along = np.geomspace(_SMALLEST, _LARGEST, 300)
    axes.plot(along, path.line.rate(along), color=colour, lw=1.3, ls=(0, (5, 2)), gid="line")
    order = np.argsort(path.size)
    marks = axes.plot(
        path.size[order],
        path.rate[order],
        color=colour,
        marker=marker,
        ms=4.5,
        ls="none",
        label=path.name,
        gid="measured",
    )
    name_points(marks, [path.rows[index] for index in order])
    half = path.line.half_size
    if _SMALLEST <= half <= _LARGEST:
        axes.plot(
            [half],
            [0.5 / path.line.beta],
            marker="|",
            ms=13,
            mew=2,
            color=colour,
            ls="none",
            gid="half",
        )


def _finish(axes: Axes, title: str, low: float, top: float, units: dict[str, str]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xlim(_SMALLEST / 2, _LARGEST * 2)
    axes.xaxis.set_major_locator(FixedLocator([2.0**power for power in (2, 10, 20, 30)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: argument_text(float(value))))
    quick_ticks.ask_for(axes.xaxis)
    axes.set_xlabel(axis_title("size", units))
    axes.set_ylim(low, top)
    style.log_si_axis(axes, "y", "bandwidth", "B/s")
    axes.set_title(title)
    axes.legend(loc="lower right", handlelength=1.2)
