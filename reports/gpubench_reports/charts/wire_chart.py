"""The chart of collectives: algorithm and bus bandwidth by size, with the alpha-beta fit.

Drawn for any concept whose rows carry both bandwidths along an axis `size`.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from gpubench_reports.charts import quick_ticks, style
from gpubench_reports.charts.points import name_points
from gpubench_reports.common.units import argument_text, axis_title, si
from gpubench_reports.results.context import Context
from gpubench_reports.results.sweeps import Argument, Series, axis_units

_ALGORITHM, _BUS = "algorithm_bytes_per_second", "bus_bytes_per_second"
_FEWEST_SIZES = 3  # below that a line through them says nothing
_MOST_SERIES = len(style.COLOURS)


@dataclass(frozen=True)
class Fit:
    """time = alpha + beta * size."""

    alpha: float  # s
    beta: float  # s a byte

    @property
    def half_size(self) -> float:
        """Bytes at which latency and transfer take equally long: half of the bandwidth."""
        return self.alpha / self.beta

    def rate(self, size: np.ndarray) -> np.ndarray:
        """Bytes a second."""
        return size / (self.alpha + self.beta * size)


def fit(size: np.ndarray, seconds: np.ndarray) -> Fit | None:
    """The least squares of relative errors, so that 10 us count as much as 10 ms.

    None when fewer than three sizes, or when no positive alpha and beta fit.
    """
    if len(set(size)) < _FEWEST_SIZES:
        return None
    sides = np.column_stack([1 / seconds, size / seconds])
    (alpha, beta), *_ = np.linalg.lstsq(sides, np.ones(len(size)), rcond=None)
    return Fit(float(alpha), float(beta)) if alpha > 0 and beta > 0 else None


def build(concept: str, rows: pd.DataFrame, context: Context) -> Figure | None:
    """The figure for `rows`, all rows of one concept; None when there is no sweep over sizes."""
    ok = rows[(rows["status"] == "ok") & rows[_BUS].notna()]
    drawn, left_out = _chosen(ok)
    if not drawn:
        return None
    height = 4.3 + 0.17 * len(drawn)
    figure = style.new_figure(9.6, height)
    note = f"{left_out} shorter sweeps are not drawn" if left_out else ""
    style.heading(figure, f"{concept}: on the wire", context, note)
    below = (0.65 + 0.17 * len(drawn)) / height
    axes = [
        figure.add_axes((left, below, 0.405, 1 - below - 1.0 / height)) for left in (0.08, 0.58)
    ]
    words = []
    for index, (name, series) in enumerate(drawn):
        colour, marker = style.COLOURS[index], style.MARKERS[index]
        size = np.array(series.x, dtype=float)
        found = fit(size, series.rows["seconds"].to_numpy(float))
        for one, column in zip(axes, (_ALGORITHM, _BUS), strict=True):
            joined = 0 if found and one is axes[0] else 1.2
            marks = one.plot(
                size,
                series.rows[column].to_numpy(float),
                color=colour,
                marker=marker,
                ms=4.5,
                lw=joined,
                label=name,
                gid="measured",
            )
            name_points(marks, series.rows["name"])
        words.append(_draw_fit(axes[0], found, name, size, colour))
    for one, title in zip(axes, ("algorithm bandwidth", "bus bandwidth"), strict=True):
        _finish(one, title, [series for _, series in drawn], axis_units(rows))
    axes[0].set_title("size / time; dashed: alpha-beta fit, bar: half of it")
    axes[1].set_title("what the narrowest link carries")
    for index, text in enumerate(words):
        figure.text(
            0.02,
            (0.08 + 0.17 * (len(words) - 1 - index)) / height,
            text,
            size=8,
            color=style.darker(style.COLOURS[index]),
            gid="fit",
        )
    if context.modelled:
        style.watermark(figure)
    return figure


def _chosen(rows: pd.DataFrame) -> tuple[list[tuple[str, Series]], int]:
    """Each kernel's longest sweep, then the others while there are colours; how many are left."""
    first, more = [], []
    for kernel in dict.fromkeys(rows["kernel"]):
        found = _series(rows[rows["kernel"] == kernel], kernel)
        found.sort(key=lambda named: -len(named[1].x))
        first += found[:1]
        more += found[1:]
    every = first + more
    return every[:_MOST_SERIES], max(0, len(every) - _MOST_SERIES)


def _series(rows: pd.DataFrame, kernel: str) -> list[tuple[str, Series]]:
    """The kernel's sweeps over sizes, long enough to be drawn, under names to tell them apart."""
    places: dict[tuple[tuple[str, Argument], ...], list[int]] = {}
    for place, arguments in enumerate(rows["arguments"]):
        if "size" in arguments:
            others = tuple((k, v) for k, v in arguments.items() if k != "size")
            places.setdefault(others, []).append(place)
    named = []
    for others, found in places.items():
        if len(found) < _FEWEST_SIZES:
            continue
        found.sort(key=lambda place: rows["arguments"].iloc[place]["size"])
        own = rows.iloc[found]
        words = [
            f"{argument_text(value)} ranks" if name == "ranks" else argument_text(value)
            for name, value in others
            if name == "ranks" or any(value != dict(other).get(name) for other in places)
        ]
        sizes = [arguments["size"] for arguments in own["arguments"]]
        named.append((" ".join([kernel, *words]), Series(dict(others), sizes, own)))
    return named


def _draw_fit(axes: Axes, found: Fit | None, name: str, size: np.ndarray, colour: str) -> str:
    """The fitted line and its half-bandwidth size; returns the fit in words."""
    if found is None:
        return f"{name}: no alpha-beta fit"
    along = np.geomspace(size.min(), size.max(), 200)
    axes.plot(along, found.rate(along), color=colour, lw=1.2, ls=(0, (5, 2)), gid="alpha-beta")
    half = found.half_size
    if size.min() <= half <= size.max():
        axes.plot(
            [half],
            [found.rate(np.array([half]))[0]],
            marker="|",
            ms=13,
            mew=2,
            color=colour,
            ls="none",
            gid="half",
        )
    return (
        f"{name}: alpha {si(found.alpha, 's')}, 1/beta {si(1 / found.beta, 'B/s')}, "
        f"half of it at {si(half, 'B')}"
    )


def _finish(axes: Axes, title: str, drawn: list[Series], units: dict[str, str]) -> None:
    sizes = np.unique([float(x) for series in drawn for x in series.x])
    axes.set_xscale("log", base=2)
    axes.set_xlim(sizes.min() / 2, sizes.max() * 2)
    powers = np.arange(np.floor(np.log2(sizes.min())), np.log2(sizes.max()) + 1)
    axes.xaxis.set_major_locator(FixedLocator(list(2.0 ** powers[:: max(1, len(powers) // 6)])))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: argument_text(float(value))))
    quick_ticks.ask_for(axes.xaxis)
    axes.set_xlabel(axis_title("size", units))
    style.log_si_axis(axes, "y", title, "B/s")
    axes.legend(loc="lower right", handlelength=1.4)
