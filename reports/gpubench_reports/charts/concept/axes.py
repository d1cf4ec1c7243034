"""The axes of a panel, and their ticks."""

import math
from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from gpubench_reports.charts import quick_ticks, style
from gpubench_reports.charts.concept.names import are_slanted, category_names
from gpubench_reports.charts.concept.scales import Scale
from gpubench_reports.common.units import argument_text, axis_title
from gpubench_reports.results.quantities import REQUEST_QUANTITIES
from gpubench_reports.results.sweeps import Argument, Panel, distinct


def scale_x(axes: Axes, panel: Panel) -> Callable[[list[Argument]], np.ndarray]:
    """Scales the x axis; returns the function from swept values to positions."""
    values = distinct(x for series in panel.series for x in series.x)
    if not panel.numeric:
        place = {value: index for index, value in enumerate(values)}
        slanted = are_slanted(panel, axes.bbox.width / axes.figure.dpi)
        axes.set_xlim(-0.5, max(len(values) - 0.5, 0.5))
        axes.xaxis.set_major_locator(FixedLocator(range(len(values))))
        axes.set_xticklabels(
            [style.shorten(text, 24) if slanted else text for text in category_names(panel)],
            rotation=30 if slanted else 0,
            ha="right" if slanted else "center",
            rotation_mode="anchor",
        )
        axes.set_xlabel(axis_title(panel.x_name, panel.units))
        return lambda xs: np.array([place[x] for x in xs], dtype=float)
    numbers = np.array(values, dtype=float)
    axes.set_xlabel(axis_title(panel.x_name, panel.units))
    spread = numbers.max() / numbers.min() if numbers.min() > 0 else math.inf
    if numbers.min() > 0 and len(numbers) > 2 and (_powers_of_two(numbers) or spread > 64):
        axes.set_xscale("log", base=2)
        axes.set_xlim(numbers.min() / spread**0.05, numbers.max() * spread**0.05)
        shown = _thin(numbers, np.log2(numbers))
    elif numbers.min() == 0 and numbers.max() > 64 and len(numbers) > 2:
        # Zero has no place on a logarithmic axis; one linear step below the first value gives it.
        axes.set_xscale("symlog", base=2, linthresh=numbers[1], linscale=1)
        axes.set_xlim(-0.3 * numbers[1], numbers.max() * 1.3)
        shown = _thin(numbers, np.log2(np.maximum(numbers, numbers[1] / 2)))
    else:
        margin = 0.04 * (numbers.max() - numbers.min()) or 1.0
        axes.set_xlim(numbers.min() - margin, numbers.max() + margin)
        shown = _linear_ticks(numbers)
    axes.xaxis.set_major_locator(FixedLocator(list(shown)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: argument_text(float(value))))
    axes.xaxis.set_minor_formatter(NullFormatter())
    quick_ticks.ask_for(axes.xaxis)
    return lambda xs: np.array(xs, dtype=float)


def _powers_of_two(numbers: np.ndarray) -> bool:
    return bool(np.all(np.frexp(numbers)[0] == 0.5))


def _thin(numbers: np.ndarray, places: np.ndarray) -> np.ndarray:
    """As many of the swept values as fit under the axis, from the first on."""
    width = places[-1] - places[0]
    need = 0.035 + 0.018 * max(len(argument_text(float(n))) for n in numbers)
    kept = [0]
    for index in range(1, len(numbers)):
        if (places[index] - places[kept[-1]]) / width >= need:
            kept.append(index)
    return numbers[kept]


def _linear_ticks(numbers: np.ndarray) -> np.ndarray:
    """The swept values where they fit; else round steps of 1, 2, 4, 8, ... within the range."""
    if len(numbers) == 1:
        return numbers
    thinned = _thin(numbers, numbers)
    if len(thinned) == len(numbers):
        return numbers
    span = numbers.max() - numbers.min()
    if np.all(numbers == np.round(numbers)) and span >= 8:
        step = 2.0 ** math.ceil(math.log2(span / 9))
        first = math.ceil(numbers.min() / step) * step
        return np.arange(first, numbers.max() + step / 2, step)
    return thinned


def scale_y(axes: Axes, panel: Panel, scale: Scale) -> None:
    quantity = panel.quantity
    if quantity in REQUEST_QUANTITIES:
        top = 2.0 ** math.ceil(math.log2(max(scale.high, 2)))
        axes.set_yscale("log", base=2)
        axes.set_ylim(min(scale.low, 1) / 1.3, top * 1.3)
        axes.yaxis.set_major_locator(FixedLocator(list(2.0 ** np.arange(math.log2(top) + 1))))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_ylabel(quantity.title)
        quick_ticks.ask_for(axes.yaxis)
    elif scale.logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(scale.low / 1.6, scale.high * 1.8)
        style.log_si_axis(axes, "y", quantity.title, quantity.unit)
    else:
        style.linear_si_axis(axes, quantity.title, quantity.unit, scale.high)


# Dimensions of matrices; further apart than this, multiples of 8 are no steps but a slope.
_DIMENSIONS, _WIDEST = ("m", "n", "k"), 256


def alignments(panel: Panel) -> list[tuple[float, float]]:
    """Where, along a matrix's dimension, 8, 16 and 64 divide it; with how strong a line."""
    counts_tokens = panel.units.get(panel.x_name) == "tokens"  # a batch, no side of a matrix
    if panel.x_name not in _DIMENSIONS or not panel.numeric or counts_tokens:
        return []
    values = [float(x) for series in panel.series for x in series.x]
    low, high = int(min(values)), int(max(values))
    if not 0 < high - low <= _WIDEST:
        return []
    return [
        (float(at), 1.8 if at % 64 == 0 else 1.0 if at % 16 == 0 else 0.5)
        for at in range(-(-low // 8) * 8, high + 1, 8)
    ]


def mark_alignments(axes: Axes, panel: Panel) -> None:
    for at, width in alignments(panel):
        axes.axvline(at, color=style.GREY, lw=width, alpha=0.55, zorder=1, gid="alignment")
