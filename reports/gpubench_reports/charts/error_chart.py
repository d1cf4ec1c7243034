"""What accuracy costs: the arithmetic rate of each dtype against its error.

Drawn for any concept with rows that have `relative_error` and FLOP/s.
"""

import pandas as pd
import textalloc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from gpubench_reports.charts import style
from gpubench_reports.charts.points import name_points
from gpubench_reports.common.units import argument_text
from gpubench_reports.results.context import Context

_ERROR, _LAW, _RATE = "relative_error", "error_law", "flops_per_second"
_WIDTH, _HEIGHT = 9.0, 5.4  # inches
_HALF_OF_MARK = 1.12  # how far a law's mark reaches to either side, as a factor


def build(concept: str, rows: pd.DataFrame, context: Context) -> Figure | None:
    """The figure for `rows`, all rows of one concept; None with fewer than two points."""
    drawn = _chosen(rows)
    if len(drawn) < 2:
        return None
    figure = style.new_figure(_WIDTH, _HEIGHT)
    axes = figure.add_axes((0.1, 0.11, 0.86, 0.72))
    style.heading(figure, f"{concept}: rate and error", context)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for index, kernel in enumerate(dict.fromkeys(drawn["kernel"])):
        _draw(axes, drawn[drawn["kernel"] == kernel], kernel, index)
    axes.set_xlim(drawn[_RATE].min() / 2, drawn[_RATE].max() * 2.5)
    axes.set_ylim(drawn[_ERROR].min() / 5, drawn[_ERROR].max() * 5)
    style.log_si_axis(axes, "x", "arithmetic rate", "FLOP/s")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0e}"))
    axes.set_ylabel("error against fp64, relative to the result")
    _label(axes, drawn)
    axes.set_title("lower right is better; dashes: the law")
    axes.legend(loc="upper left", frameon=False)
    if context.modelled:
        style.watermark(figure)
    return figure


def _chosen(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with both, one for each name that a point gets: the fastest of a sweep."""
    found = rows[(rows["status"] == "ok") & (rows[_ERROR] > 0) & (rows[_RATE] > 0)].copy()
    for kernel in dict.fromkeys(found["kernel"]):
        own = found["kernel"] == kernel
        found.loc[own, "words"] = _named(found[own])
    if found.empty:
        return found
    found = found.sort_values(_RATE, kind="stable").drop_duplicates(
        ["kernel", "words"], keep="last"
    )
    return found.sort_index()


def _named(rows: pd.DataFrame) -> list[str]:
    """What tells the rows of a kernel apart: their words, without those that all of them have."""
    words = [
        [argument_text(value) for value in arguments.values() if isinstance(value, str)]
        for arguments in rows["arguments"]
    ]
    alike = set(words[0]).intersection(*words) if len(words) > 1 else set()
    return [" ".join(word for word in of_row if word not in alike) for of_row in words]


def _draw(axes: Axes, rows: pd.DataFrame, kernel: str, index: int) -> None:
    marks = axes.plot(
        rows[_RATE],
        rows[_ERROR],
        ls="",
        marker=style.MARKERS[index % len(style.MARKERS)],
        ms=6,
        color=style.COLOURS[index % len(style.COLOURS)],
        label=kernel,
        gid="measured",
    )
    name_points(marks, rows["name"])
    for rate, law in zip(rows[_RATE], rows[_LAW], strict=True):
        if law > 0:
            across = [rate / _HALF_OF_MARK, rate * _HALF_OF_MARK]
            axes.plot(across, [law] * 2, color=style.INK, lw=1, gid="law")


def _label(axes: Axes, rows: pd.DataFrame) -> None:
    textalloc.allocate(
        axes,
        list(rows[_RATE]),
        list(rows[_ERROR]),
        list(rows["words"]),
        x_scatter=list(rows[_RATE]),
        y_scatter=list(rows[_ERROR]),
        textsize=8,
        linecolor=style.GREY,
        linewidth=0.5,
        margin=0.012,
        min_distance=0.02,
        max_distance=0.15,
        gid="name",
    )
