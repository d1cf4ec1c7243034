"""The plane of two numeric axes: a kernel's rate as colour, and where its law levels off."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from gpubench_reports.charts import style
from gpubench_reports.common.units import argument_text, axis_title, si_exponent, si_prefix
from gpubench_reports.results.headlines import quantity_of
from gpubench_reports.results.quantities import Quantity
from gpubench_reports.results.sweeps import alike, axes, axis_units

_FEWEST = 3  # values of each axis
_LETTER = 0.055  # inches, of a value in its cell
# From paper to the first of the line colours: light is little, in print and for every eye.
COLOURS = LinearSegmentedColormap.from_list("rate", ["#F4F6F8", "#9CC3DF", "#0072B2", "#00304D"])


@dataclass
class Plane:
    """A kernel's rows over two positive numeric axes; NaN where no row is. [y, x] as drawn."""

    kernel: str
    quantity: Quantity
    units: dict[str, str]  # of its axes
    x_name: str
    y_name: str
    x: np.ndarray
    y: np.ndarray
    value: np.ndarray
    law: np.ndarray


def planes(rows: pd.DataFrame) -> list[Plane]:
    """A plane for every kernel of one concept's `rows` that have a time, where it sweeps
    just two axes, both positive numbers with three values or more, has most of the cells, and
    whose law levels off across both: elsewhere lines say as much."""
    found = []
    for group in alike(rows):
        swept = {name: values for name, values in axes(group).items() if len(values) > 1}
        numeric = all(
            isinstance(v, int | float) and v > 0 for values in swept.values() for v in values
        )
        if len(swept) != 2 or not numeric or min(map(len, swept.values())) < _FEWEST:
            continue
        x_name, y_name = sorted(swept, key=lambda name: -len(swept[name]))
        x, y = (np.array(swept[name], dtype=float) for name in (x_name, y_name))
        if len(group) < 0.75 * len(x) * len(y):
            continue
        value = np.full((len(y), len(x)), np.nan)
        law = value.copy()
        for _, row in group.iterrows():
            cell = (
                int(np.searchsorted(y, row["arguments"][y_name])),
                int(np.searchsorted(x, row["arguments"][x_name])),
            )
            value[cell], law[cell] = row["value"], row["law_value"]
        plane = Plane(
            group["kernel"].iloc[0],
            quantity_of(group),
            axis_units(group),
            x_name,
            y_name,
            x,
            y,
            value,
            law,
        )
        if knee(plane) is not None:
            found.append(plane)
    return found


def knee(plane: Plane) -> tuple[float, float, float] | None:
    """(c, a, b): the law levels off where c * x**a * y**b = 1.

    Found by fitting a power law to the cells in which the law has not reached its largest value;
    None where that is no power law of both axes, or the law does not level off.
    """
    stated = np.isfinite(plane.law) & (plane.law > 0)
    if not stated.any():
        return None
    top = plane.law[stated].max()
    below = stated & (plane.law < 0.98 * top)
    if below.sum() < 4 or (stated & ~below).sum() < 2:
        return None
    x, y = np.meshgrid(np.log(plane.x), np.log(plane.y))
    terms = np.column_stack([np.ones(below.sum()), x[below], y[below]])
    if np.linalg.matrix_rank(terms) < 3:
        return None
    wanted = np.log(plane.law[below] / top)
    fitted, *_ = np.linalg.lstsq(terms, wanted, rcond=None)
    if np.abs(terms @ fitted - wanted).max() > 0.02:
        return None
    c, a, b = float(np.exp(fitted[0])), float(fitted[1]), float(fitted[2])
    return (c, a, b) if min(abs(a), abs(b)) > 0.05 else None


def draw(plot: Axes, plane: Plane) -> None:
    """Draws the plane, its colour bar (within the area of `plot`) and the law's knee."""
    known = plane.value[np.isfinite(plane.value)]
    exponent = si_exponent(float(known.max()))
    unit = f"{si_prefix(exponent)}{plane.quantity.unit}"
    wide = known.max() > 30 * known.min()
    norm = (LogNorm if wide else Normalize)(known.min() if wide else 0, known.max())
    x_edges, y_edges = _edges(plane.x), _edges(plane.y)
    plot.set_xscale("log", base=2)
    plot.set_yscale("log", base=2)
    cells = plot.pcolormesh(
        x_edges,
        y_edges,
        plane.value,
        norm=norm,
        cmap=COLOURS,
        edgecolors="white",
        linewidth=0.8,
        gid="cells",
    )
    plot.grid(False)
    for axis, values, name in (
        (plot.xaxis, plane.x, plane.x_name),
        (plot.yaxis, plane.y, plane.y_name),
    ):
        axis.set_major_locator(FixedLocator(_shown(values)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: argument_text(float(value))))
        axis.set_label_text(axis_title(name, plane.units))
    _write_values(plot, plane, x_edges, norm, exponent)
    _draw_knee(plot, plane, x_edges, y_edges)
    bar = plot.inset_axes((1.025, 0, 0.03, 1))
    plot.figure.colorbar(cells, cax=bar)
    bar.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v / 10.0**exponent:.3g}"))
    bar.yaxis.set_minor_locator(NullLocator())
    bar.tick_params(labelsize=7)
    bar.set_title(unit, size=7, weight="normal", loc="left", pad=3)
    plot.set_title(f"{plane.kernel}: {plane.quantity.title}")


def _write_values(
    plot: Axes, plane: Plane, x_edges: np.ndarray, norm: Normalize, exponent: int
) -> None:
    """The value in every cell that is wide enough for it."""
    inches = plot.bbox.width / plot.figure.dpi
    edges = _edges(plane.y)
    widths = np.diff(np.log(x_edges)) / np.log(x_edges[-1] / x_edges[0]) * inches
    middles = np.sqrt(x_edges[:-1] * x_edges[1:])
    for (row, column), value in np.ndenumerate(plane.value):
        text = f"{value / 10.0**exponent:.3g}"
        if np.isfinite(value) and widths[column] > 0.1 + _LETTER * len(text):
            shown = plot.text(
                middles[column],
                float(plane.y[row]),
                text,
                size=7,
                ha="center",
                va="center",
                zorder=4,
                gid="cell",
                color="white" if norm(value) > 0.5 else style.INK,
            )
            if _crosses(plane, x_edges[column : column + 2], edges[row : row + 2]):
                # The line of the knee goes behind the number.
                shown.set_bbox(
                    {
                        "boxstyle": "square,pad=0.15",
                        "linewidth": 0,
                        "gid": "cell",
                        "facecolor": COLOURS(norm(value)),
                    }
                )


def _knee_line(plane: Plane, x: np.ndarray) -> np.ndarray:
    """The y at which the law levels off, for each x."""
    found = knee(plane)
    assert found is not None  # or planes() would not have it
    c, a, b = found
    return (c * x**a) ** (-1 / b)


def _crosses(plane: Plane, x_edges: np.ndarray, y_edges: np.ndarray) -> bool:
    """Whether the line of the knee enters the cell between these edges."""
    low, high = np.sort(_knee_line(plane, x_edges))
    return bool(low <= y_edges[1] and high >= y_edges[0])


def _draw_knee(plot: Axes, plane: Plane, x_edges: np.ndarray, y_edges: np.ndarray) -> None:
    x = np.geomspace(x_edges[0], x_edges[-1], 200)
    y = _knee_line(plane, x)
    inside = (y >= y_edges[0]) & (y <= y_edges[-1])
    if inside.sum() < 2:
        return
    plot.plot(
        x[inside],
        y[inside],
        color=style.COLOURS[1],
        lw=2.2,
        ls=(0, (5, 2)),
        gid="knee",
        path_effects=[withStroke(linewidth=4.5, foreground="white")],
    )


def _edges(values: np.ndarray) -> np.ndarray:
    """Cell borders half-way between values, on a logarithmic axis."""
    logs = np.log(values)
    between = (logs[:-1] + logs[1:]) / 2
    ends = [2 * logs[0] - between[0]], [2 * logs[-1] - between[-1]]
    return np.asarray(np.exp(np.concatenate([ends[0], between, ends[1]])))


def _shown(values: np.ndarray) -> list[float]:
    """The values whose labels do not touch: each a twelfth of the axis from the last one shown."""
    step = (np.log(values[-1]) - np.log(values[0])) / 12
    kept = [float(values[0])]
    for value in values[1:]:
        if np.log(value) - np.log(kept[-1]) >= step:
            kept.append(float(value))
    return kept
