"""The chart of one concept: a panel a kernel, the swept axis, law and prediction beside it."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from gpubench_reports import style
from gpubench_reports.figures import with_headline
from gpubench_reports.reader import PROVENANCES_OF_RUN, Context, Roof
from gpubench_reports.sweeps import Panel, Series, distinct, panels
from gpubench_reports.units import argument_text, axis_title, si

_PANEL_WIDTH, _PANEL_HEIGHT = 4.5, 2.55  # inches of the plotting area and its left labels
_MARGINS = 0.87  # inches left and right of a plotting area
_LINE = 0.17  # inches
_LETTER = 0.066  # inches, of tick labels
# Rates that differ by more than this are drawn on a logarithmic axis.
_LOG_FROM = 30


def build(concept: str, rows: pd.DataFrame, context: Context) -> Figure | None:
    """The figure for `rows`, all rows of one concept; None when none of them has a time."""
    ok = rows[rows["status"] == "ok"]
    if ok.empty:
        return None
    ok = with_headline(ok)
    prediction = _prediction_says_more(ok, context)
    drawn = panels(ok)
    figure, grid = _lay_out(drawn, rows)
    style.heading(figure, concept, context)
    for panel, axes, scale in zip(drawn, grid, _scales(drawn), strict=True):
        _draw(axes, panel, context, prediction, scale)
    _key(figure, ok, drawn, context, prediction)
    _losses(figure, rows)
    if context.modelled:
        style.watermark(figure)
    return figure


def _prediction_says_more(ok: pd.DataFrame, context: Context) -> bool:
    """On the model the prediction is the result itself: a second line on top would say nothing."""
    if ok["predicted"].isna().all():
        return False
    differs = (ok["predicted"] / ok["value"] - 1).abs().max() > 1e-3
    return bool(differs) or not context.modelled


@dataclass(frozen=True)
class _Scale:
    """The y axis of a panel, in SI units; `low` is the least value of a logarithmic one."""

    logarithmic: bool
    low: float
    high: float


def _scales(drawn: list[Panel]) -> list[_Scale]:
    """A y axis for each panel, as alike as they can be.

    All panels of one kernel share theirs; linear ones of one figure end at the same value unless
    that would flatten one of them.
    """
    ranges: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for panel in drawn:
        values = _drawn_values(panel)
        key = (panel.figure.column, panel.kernel)
        ranges.setdefault(key, []).append((values.min(), values.max()))
    scales = {
        key: _Scale(
            any(high > _LOG_FROM * low for low, high in found),
            min(low for low, _ in found),
            max(high for _, high in found),
        )
        for key, found in ranges.items()
    }
    for column in {column for column, _ in scales}:
        linear = {k: s for k, s in scales.items() if k[0] == column and not s.logarithmic}
        highs = [scale.high for scale in linear.values()]
        if linear and max(highs) < 4 * min(highs):
            scales |= {key: replace(scale, high=max(highs)) for key, scale in linear.items()}
    return [scales[panel.figure.column, panel.kernel] for panel in drawn]


def _drawn_values(panel: Panel) -> np.ndarray:
    columns = ["value", "law_value", "predicted", "low", "high"]
    values = np.concatenate([s.rows[columns].to_numpy(float).ravel() for s in panel.series])
    return values[np.isfinite(values) & (values > 0)]


def _lay_out(drawn: list[Panel], rows: pd.DataFrame) -> tuple[Figure, list[Axes]]:
    """A figure with one set of axes a panel. Sizes are arithmetic: no layout pass is needed."""
    columns = min(len(drawn), 2 if len(drawn) in (2, 4) else 3)
    if len(drawn) == 1:
        columns, width_of_panel = 1, 7.5
    else:
        width_of_panel = _PANEL_WIDTH
    lines = math.ceil(len(drawn) / columns)
    legend = max(_legend_lines(panel) for panel in drawn) * _LINE
    below = 0.62 + max(_tick_depth(panel, width_of_panel - _MARGINS) for panel in drawn)
    cell = 0.34 + legend + _PANEL_HEIGHT + below
    top = 0.85
    bottom = 0.12 + (0.55 if (rows["status"] != "ok").any() else 0)
    width = max(columns * width_of_panel + 0.15, 7.5)
    height = top + lines * cell + bottom
    figure = style.new_figure(width, height)
    grid = []
    for index in range(len(drawn)):
        line, column = divmod(index, columns)
        left = column * width_of_panel + 0.72
        base = height - top - line * cell - cell + below
        grid.append(
            figure.add_axes(
                (left / width, base / height,
                 (width_of_panel - _MARGINS) / width, _PANEL_HEIGHT / height)
            )
        )  # fmt: skip
    return figure, grid


def _legend_lines(panel: Panel) -> int:
    if len(panel.series) < 2:
        return 0
    return math.ceil(len(panel.series) / _legend_columns(panel))


def _legend_columns(panel: Panel) -> int:
    one_axis = len(panel.series[0].others) == 1
    longest = max(len(series.values if one_axis else series.label) for series in panel.series)
    return 6 if longest <= 4 else 4 if longest <= 10 else 2


def _tick_depth(panel: Panel, width: float) -> float:
    """Inches that slanted category names need below the axis."""
    if panel.numeric:
        return 0.0
    longest = max(len(str(x)) for series in panel.series for x in series.x)
    return min(longest, 24) * 0.045 if _slanted(panel, width) else 0.0


def _slanted(panel: Panel, width: float) -> bool:
    """Whether category names would touch side by side under an axis `width` inches long."""
    names = distinct(str(x) for series in panel.series for x in series.x)
    return len(names) * (max(len(name) for name in names) + 2) * _LETTER > width


def _draw(axes: Axes, panel: Panel, context: Context, prediction: bool, scale: _Scale) -> None:
    position = _x_axis(axes, panel)
    several = len(panel.series) > 1
    for index, series in enumerate(panel.series):
        colour = style.COLOURS[index % len(style.COLOURS)]
        marker = style.MARKERS[index % len(style.MARKERS)]
        at = position(series.x)
        if several and not panel.numeric:
            at = at + 0.12 * (index - (len(panel.series) - 1) / 2)  # side by side, not on top
        _draw_series(axes, series, at, colour, marker, prediction, panel.numeric)
    _y_axis(axes, panel, scale)
    _roof_line(axes, panel, context)
    rows_above = _legend_lines(panel)
    axes.set_title(style.shorten(panel.title, 62), pad=6 + rows_above * _LINE * 72)
    if several:
        one_axis = len(panel.series[0].others) == 1
        handles = [
            Line2D([], [], color=style.COLOURS[i % len(style.COLOURS)], lw=1.2, ms=5,
                   marker=style.MARKERS[i % len(style.MARKERS)],
                   label=style.shorten(series.values if one_axis else series.label, 22))
            for i, series in enumerate(panel.series)
        ]  # fmt: skip
        if one_axis:
            name = next(iter(panel.series[0].others))
            handles[0].set_label(f"{axis_title(name)}: {handles[0].get_label()}")
        axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.02, 0.99),
                    ncols=_legend_columns(panel), borderaxespad=0.2, handlelength=1.6,
                    columnspacing=1.0, handletextpad=0.4, labelspacing=0.25)  # fmt: skip


def _draw_series(
    axes: Axes,
    series: Series,
    x: np.ndarray,
    colour: str,
    marker: str,
    prediction: bool,
    joined: bool,
) -> None:
    """Law, prediction and points; lines join them only where there is something between them."""
    rows = series.rows
    value = rows["value"].to_numpy(float)
    law = rows["law_value"].to_numpy(float)
    if np.isfinite(law).any():
        dash = joined and len(x) > 1
        axes.plot(x, law, ls=(0, (5, 2)) if dash else "none", lw=2.4, color=colour, alpha=0.45,
                  zorder=2, gid="law", marker=None if dash else "_", ms=18, mew=2.4)  # fmt: skip
    if prediction and rows["predicted"].notna().any():
        axes.plot(x, rows["predicted"].to_numpy(float),
                  ls=":" if joined else "none", lw=1.3, color=colour, marker="x", ms=4.5,
                  mew=1.1, zorder=3, gid="prediction")  # fmt: skip
    errors = np.vstack([value - rows["low"], rows["high"] - value])
    if np.isfinite(errors).any():
        axes.errorbar(x, value, yerr=np.clip(np.nan_to_num(errors), 0, None), fmt="none",
                      ecolor=colour, elinewidth=1.1, capsize=2.5, zorder=4)  # fmt: skip
    if joined:
        axes.plot(x, value, lw=1.2, color=colour, zorder=5, gid="path")
    doubtful = _doubtful(rows)
    for mask, face in ((~doubtful, colour), (doubtful, "white")):
        if mask.any():
            axes.plot(x[mask], value[mask], ls="none", marker=marker, ms=5.2, mew=1.2, color=colour,
                      mfc=face, zorder=6, gid="measured")  # fmt: skip


def _doubtful(rows: pd.DataFrame) -> np.ndarray:
    """Rows that did not converge or were throttled."""
    return ((rows["converged"] == 0) | (rows["throttled"] > 0)).to_numpy()


def _x_axis(axes: Axes, panel: Panel):
    """Scales the x axis; returns the function from swept values to positions."""
    values = distinct(x for series in panel.series for x in series.x)
    if not panel.numeric:
        place = {value: index for index, value in enumerate(values)}
        slanted = _slanted(panel, axes.bbox.width / axes.figure.dpi)
        axes.set_xlim(-0.5, max(len(values) - 0.5, 0.5))
        axes.xaxis.set_major_locator(FixedLocator(range(len(values))))
        axes.set_xticklabels(
            [style.shorten(argument_text(value), 24) for value in values],
            rotation=30 if slanted else 0,
            ha="right" if slanted else "center",
            rotation_mode="anchor",
        )
        axes.set_xlabel(axis_title(panel.x_name))
        return lambda xs: np.array([place[x] for x in xs], dtype=float)
    numbers = np.array(values, dtype=float)
    axes.set_xlabel(axis_title(panel.x_name))
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
    axes.xaxis.set_major_locator(FixedLocator(shown))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: argument_text(float(value))))
    axes.xaxis.set_minor_formatter(NullFormatter())
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


def _y_axis(axes: Axes, panel: Panel, scale: _Scale) -> None:
    figure = panel.figure
    if scale.logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(scale.low / 1.6, scale.high * 1.8)
        style.log_si_axis(axes, "y", figure.title, figure.unit)
    else:
        style.linear_si_axis(axes, figure.title, figure.unit, scale.high)


def _roof_line(axes: Axes, panel: Panel, context: Context) -> None:
    """The roof that binds most of the panel's rows, where it lies within sight."""
    labels = pd.concat([series.rows["label"] for series in panel.series])
    kind = {"B/s": "bandwidth", "FLOP/s": "compute"}.get(panel.figure.unit)
    named = [r for r in context.roofs if r.kind == kind and r.name == labels.mode().iloc[0]]
    if not named:
        return
    roof: Roof = min(named, key=lambda r: r.provenance not in PROVENANCES_OF_RUN)
    low, high = axes.get_ylim()
    if not high / 6 < roof.value < high * 1.6:
        return
    axes.set_ylim(low, max(high, roof.value * (1.7 if axes.get_yscale() == "log" else 1.12)))
    axes.axhline(roof.value, color=style.GREY, lw=0.9, ls=style.ROOF_LINES[roof.provenance],
                 zorder=1, gid="roof")  # fmt: skip
    axes.annotate(
        f"{roof.name} roof {si(roof.value, panel.figure.unit)}, "
        f"{style.ROOF_WORDS[roof.provenance]}",
        (1.0, roof.value), xycoords=("axes fraction", "data"), xytext=(0, 2),
        textcoords="offset points", ha="right", va="bottom", size=7, color=style.GREY,
    )  # fmt: skip


def _key(
    figure: Figure, ok: pd.DataFrame, drawn: list[Panel], context: Context, prediction: bool
) -> None:
    """One legend for the figure: what points and lines are."""
    has_interval = ok["low"].notna().any()
    ink = {"color": style.INK}
    handles = [
        Line2D(
            [],
            [],
            **ink,
            marker="o",
            ms=5.2,
            lw=1.2,
            label=context.verb + (" (bar: 95 % interval)" if has_interval else ""),
        )
    ]
    if ok["law_value"].notna().any():
        handles.append(Line2D([], [], **ink, alpha=0.45, ls=(0, (5, 2)), lw=2.4, label="law"))
    if prediction:
        handles.append(
            Line2D(
                [], [], **ink, ls=":", lw=1.3, marker="x", ms=4.5, label="predicted by the model"
            )
        )
    if any(_doubtful(series.rows).any() for panel in drawn for series in panel.series):
        handles.append(Line2D([], [], **ink, ls="none", marker="o", ms=5.2, mfc="white",
                              label="not converged or throttled"))  # fmt: skip
    figure.legend(handles=handles, loc="upper left", ncols=4, borderaxespad=0, borderpad=0,
                  bbox_to_anchor=(0.012, 1 - 0.62 / figure.get_figheight()),
                  handlelength=2.6, columnspacing=1.6)  # fmt: skip


def _losses(figure: Figure, rows: pd.DataFrame) -> None:
    """Says which rows are not in the chart, and why."""
    parts = []
    for status, word in (("skipped", "skipped"), ("failed", "FAILED")):
        lost = rows[rows["status"] == status]
        for why, group in lost.groupby("reason", sort=False):
            names = ", ".join(name.partition("/")[2] or name for name in group["name"][:3])
            more = f" and {len(group) - 3} more" if len(group) > 3 else ""
            parts.append(f"{word}: {names}{more} ({why})")
    if parts:
        style.footnote(figure, "Not drawn. " + "; ".join(parts),
                       int(figure.get_figwidth() * 16))  # fmt: skip
