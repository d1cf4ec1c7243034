"""The chart of one concept: a panel a kernel, the swept axis, law and prediction beside it."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from gpubench_reports.charts import heat_map, quick_ticks, style
from gpubench_reports.charts.heat_map import Plane
from gpubench_reports.common.units import argument_text, arithmetic_unit, axis_title, si
from gpubench_reports.results.headlines import REQUEST_FIGURES, with_headline, with_request_cost
from gpubench_reports.results.reader import PROVENANCES_OF_RUN, Context, Roof
from gpubench_reports.results.sweeps import Panel, Series, distinct, panels
from gpubench_reports.results.sweeps import axes as axes_of

_PANEL_WIDTH, _PANEL_HEIGHT = 4.5, 2.55  # inches of the plotting area and its left labels
_MARGINS = 0.87  # inches left and right of a plotting area
_COLOUR_BAR = 0.42  # inches of a plane's width
_LINE = 0.17  # inches
_LETTER = 0.066  # inches, of tick labels
_FEW = 2  # points, of which a panel has room to write the values
_MARK, _RING = 5.2, 2.8  # points of print: a mark, and what it grows by for each one on it
_ON_TOP = 0.02  # of an axis: nearer points lie on each other
_LONGEST_NAME = 22  # letters, of a series in a legend
# Rates that differ by more than this are drawn on a logarithmic axis.
_LOG_FROM = 30


def build(concept: str, rows: pd.DataFrame, context: Context) -> Figure | None:
    """The figure for `rows`, all rows of one concept; None when none of them has a time."""
    ok = rows[rows["status"] == "ok"]
    if ok.empty:
        return None
    ok = with_headline(ok)
    prediction = _prediction_says_more(ok, context)
    drawn = _beside_their_kernels(panels(ok), panels(with_request_cost(ok)))
    planes = heat_map.planes(ok)
    figure, grid = _lay_out(drawn, planes, rows)
    style.heading(figure, concept, context)
    scales = _scales(drawn)
    for panel, axes, scale in zip(drawn, grid, scales, strict=False):
        _draw(axes, panel, context, prediction, scale)
    for plane, axes in zip(planes, grid[len(drawn) :], strict=True):
        heat_map.draw(axes, plane)
    covered = any(
        over.any() for panel, s in zip(drawn, scales, strict=True) for over in _covered(panel, s)
    )
    _key(figure, ok, drawn, planes, context, prediction, covered)
    _footnotes(figure, rows)
    if context.modelled:
        style.watermark(figure)
    return figure


def _beside_their_kernels(judged: list[Panel], counted: list[Panel]) -> list[Panel]:
    """Panels of request costs after those of the same kernel's speed."""
    found: list[Panel] = []
    for index, panel in enumerate(judged):
        found.append(panel)
        if panel.kernel not in [later.kernel for later in judged[index + 1 :]]:
            found += [p for p in counted if p.kernel == panel.kernel]
    return found


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
    columns = ["value", "law_value", "predicted", "low", "high", *_claimed(panel)]
    values = np.concatenate([s.rows[columns].to_numpy(float).ravel() for s in panel.series])
    return values[np.isfinite(values) & (values > 0)]


def _claimed(panel: Panel) -> list[str]:
    """The column of what a stopwatch says that does not wait for the device, where rows have it."""
    column = f"claimed_{panel.figure.column}"
    rows = [series.rows for series in panel.series]
    return [column] if column in rows[0] and any(r[column].notna().any() for r in rows) else []


def _lay_out(
    drawn: list[Panel], planes: list[Plane], rows: pd.DataFrame
) -> tuple[Figure, list[Axes]]:
    """A figure with one set of axes a panel, then one a plane.

    Sizes are arithmetic: no layout pass is needed.
    """
    number = len(drawn) + len(planes)
    in_pairs = number == 2 or any(panel.figure in REQUEST_FIGURES for panel in drawn)
    columns = min(number, 2 if in_pairs or number == 4 else 3)
    if number == 1:
        columns, width_of_panel = 1, 7.5
    else:
        width_of_panel = _PANEL_WIDTH
    lines = math.ceil(number / columns)
    legend = max(_legend_lines(panel) for panel in drawn) * _LINE
    below = 0.62 + max(_tick_depth(panel, width_of_panel - _MARGINS) for panel in drawn)
    cell = 0.34 + legend + _PANEL_HEIGHT + below
    top = 0.85
    bottom = 0.12 + (
        0.55 if (rows["status"] != "ok").any() or (rows["rule"] == "unconfirmed").any() else 0
    )
    width = max(columns * width_of_panel + 0.15, 7.5)
    height = top + lines * cell + bottom
    figure = style.new_figure(width, height)
    grid = []
    for index in range(number):
        line, column = divmod(index, columns)
        left = column * width_of_panel + 0.72
        base = height - top - line * cell - cell + below
        wide = width_of_panel - _MARGINS - (_COLOUR_BAR if index >= len(drawn) else 0)
        grid.append(
            figure.add_axes((left / width, base / height, wide / width, _PANEL_HEIGHT / height))
        )
    return figure, grid


def _legend_lines(panel: Panel) -> int:
    if len(panel.series) < 2:
        return 0
    return math.ceil(len(panel.series) / _legend_columns(panel))


def _legend_columns(panel: Panel) -> int:
    """As many as fit side by side: the legend is filled column by column."""
    names = _series_names(panel)
    for columns in (6, 4, 3):
        lines = math.ceil(len(names) / columns)
        longest = [max(map(len, names[at : at + lines])) for at in range(0, len(names), lines)]
        inches = sum(0.34 + 0.83 * _LETTER * letters for letters in longest) - 0.11
        if inches < _PANEL_WIDTH - _MARGINS:
            return columns
    return 2


def _series_names(panel: Panel) -> list[str]:
    """What the legend calls the series: one other axis, or long ones, stand before the first."""
    axes = list(panel.series[0].others)
    if len(axes) != 1 and all(len(series.label) <= _LONGEST_NAME for series in panel.series):
        return [series.label for series in panel.series]
    names = [style.shorten(series.values, _LONGEST_NAME) for series in panel.series]
    title = axis_title(axes[0]) if len(axes) == 1 else ", ".join(axes)
    return [f"{title}: {names[0]}" if title else names[0], *names[1:]]


def _tick_depth(panel: Panel, width: float) -> float:
    """Inches that slanted category names need below the axis."""
    if panel.numeric:
        return 0.0
    longest = max(len(name) for name in _category_names(panel))
    return min(longest, 24) * 0.045 if _slanted(panel, width) else 0.0


def _category_names(panel: Panel) -> list[str]:
    """The swept names as they stand under the axis; whole numbers have a unit of their own."""
    names = distinct(x for series in panel.series for x in series.x)
    return [
        f"{name} [OP/s]"
        if panel.figure.unit == "FLOP/s" and arithmetic_unit(name) == "OP/s"
        else argument_text(name)
        for name in names
    ]


def _slanted(panel: Panel, width: float) -> bool:
    """Whether category names would touch side by side under an axis `width` inches long."""
    names = _category_names(panel)
    return len(names) * (max(len(name) for name in names) + 2) * _LETTER > width


def _draw(axes: Axes, panel: Panel, context: Context, prediction: bool, scale: _Scale) -> None:
    position = _x_axis(axes, panel)
    several = len(panel.series) > 1
    covered = _covered(panel, scale)
    for index, series in enumerate(panel.series):
        colour = style.COLOURS[index % len(style.COLOURS)]
        marker = style.MARKERS[index % len(style.MARKERS)]
        at = position(series.x)
        if several and not panel.numeric:
            at = at + 0.12 * (index - (len(panel.series) - 1) / 2)  # side by side, not on top
        _draw_series(axes, series, at, colour, marker, prediction, panel.numeric, covered[index])
        for column in _claimed(panel):
            _draw_claimed(axes, at, series.rows[column].to_numpy(float), colour, marker)
    _y_axis(axes, panel, scale)
    if not panel.numeric and not scale.logarithmic and panel.figure not in REQUEST_FIGURES:
        _spell_out(axes, panel, position)
    _roof_line(axes, panel, context)
    _mark_alignments(axes, panel)
    rows_above = _legend_lines(panel)
    axes.set_title(style.shorten(panel.title, 62), pad=6 + rows_above * _LINE * 72)
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
            for i, name in enumerate(_series_names(panel))
        ]
        axes.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(-0.02, 0.99),
            ncols=_legend_columns(panel),
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
    doubtful = _doubtful(rows)
    for mask, face in ((~doubtful, colour), (doubtful, "white")):
        for others in np.unique(covered[mask]):
            same = mask & (covered == others)
            axes.plot(
                x[same],
                value[same],
                ls="none",
                marker=marker,
                ms=_MARK + _RING * others,
                mew=1.2,
                color=colour,
                mfc=face,
                zorder=6,
                gid="measured",
            )


def _covered(panel: Panel, scale: _Scale) -> list[np.ndarray]:
    """Of each series, how many of those drawn after it lie on each of its points."""
    known = [dict(zip(s.x, s.rows["value"].to_numpy(float), strict=True)) for s in panel.series]
    if not panel.numeric:  # side by side
        return [np.zeros(len(own)) for own in known]
    logarithmic = scale.logarithmic or panel.figure in REQUEST_FIGURES
    high, low = scale.high, min(scale.low, 1) if panel.figure in REQUEST_FIGURES else scale.low

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


def _spell_out(axes: Axes, panel: Panel, position) -> None:
    """One point or two in an empty field: each gets a stem from zero, and its value beside it."""
    if sum(len(series.x) for series in panel.series) > _FEW or len(panel.series) > 1:
        return
    (series,) = panel.series
    for x, value in zip(position(series.x), series.rows["value"], strict=True):
        axes.vlines(x, 0, value, color=style.COLOURS[0], lw=9, alpha=0.25, zorder=1, gid="stem")
        low = value < 0.1 * axes.get_ylim()[1]  # below the point the text would meet the axis
        axes.annotate(
            si(value, panel.figure.unit),
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
            [style.shorten(text, 24) if slanted else text for text in _category_names(panel)],
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


def _y_axis(axes: Axes, panel: Panel, scale: _Scale) -> None:
    figure = panel.figure
    if figure in REQUEST_FIGURES:
        top = 2.0 ** math.ceil(math.log2(max(scale.high, 2)))
        axes.set_yscale("log", base=2)
        axes.set_ylim(min(scale.low, 1) / 1.3, top * 1.3)
        axes.yaxis.set_major_locator(FixedLocator(2.0 ** np.arange(math.log2(top) + 1)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_ylabel(figure.title)
        quick_ticks.ask_for(axes.yaxis)
    elif scale.logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(scale.low / 1.6, scale.high * 1.8)
        style.log_si_axis(axes, "y", figure.title, figure.unit)
    else:
        style.linear_si_axis(axes, figure.title, figure.unit, scale.high)


# Dimensions of matrices; further apart than this, multiples of 8 are no steps but a slope.
_DIMENSIONS, _WIDEST = ("m", "n", "k"), 256


def _alignments(panel: Panel) -> list[tuple[float, float]]:
    """Where, along a matrix's dimension, 8, 16 and 64 divide it; with how strong a line."""
    if panel.x_name not in _DIMENSIONS or not panel.numeric:
        return []
    values = [float(x) for series in panel.series for x in series.x]
    low, high = int(min(values)), int(max(values))
    if not 0 < high - low <= _WIDEST:
        return []
    return [
        (float(at), 1.8 if at % 64 == 0 else 1.0 if at % 16 == 0 else 0.5)
        for at in range(-(-low // 8) * 8, high + 1, 8)
    ]


def _mark_alignments(axes: Axes, panel: Panel) -> None:
    for at, width in _alignments(panel):
        axes.axvline(at, color=style.GREY, lw=width, alpha=0.55, zorder=1, gid="alignment")


def _roof_line(axes: Axes, panel: Panel, context: Context) -> None:
    """The roof that binds more than half of the panel's rows, where it lies within sight."""
    roofs = pd.concat([series.rows["roof"] for series in panel.series]).value_counts()
    if roofs.iloc[0] * 2 <= roofs.sum():
        return
    kind = {"B/s": "bandwidth", "FLOP/s": "compute"}.get(panel.figure.unit)
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
        f"{roof.name} roof {si(roof.value, panel.figure.unit)}, "
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


def _key(
    figure: Figure,
    ok: pd.DataFrame,
    drawn: list[Panel],
    planes: list[Plane],
    context: Context,
    prediction: bool,
    covered: bool,
) -> None:
    """One legend for the figure: what points and lines are."""
    has_interval = (ok["high"] > ok["low"]).any()
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
        handles.append(
            Line2D(
                [],
                [],
                **ink,
                ls="none",
                marker="o",
                ms=5.2,
                mfc="white",
                label="not converged or throttled",
            )
        )
    if any(_claimed(panel) for panel in drawn):
        handles.append(
            (
                Line2D(
                    [],
                    [],
                    **ink,
                    ls=(0, (1, 2)),
                    lw=0.8,
                    marker="o",
                    ms=7,
                    mfc="white",
                    label="claimed, not synchronised",
                ),
                Line2D([], [], **ink, ls="none", marker="x", ms=5),
            )
        )
    if covered:
        handles.append(
            (
                Line2D(
                    [],
                    [],
                    **ink,
                    ls="none",
                    marker="o",
                    ms=_MARK + _RING,
                    mfc="white",
                    label="larger: others lie on it",
                ),
                Line2D([], [], color=style.GREY, ls="none", marker="s", ms=_MARK),
            )
        )
    if any(_alignments(panel) for panel in drawn):
        handles.append(
            Line2D(
                [],
                [],
                color=style.GREY,
                ls="-",
                lw=0.9,
                marker="|",
                label="multiples of 8, 16 (broader), 64 (broadest)",
            )
        )
    if planes:
        handles.append(
            Line2D(
                [],
                [],
                color=style.COLOURS[1],
                ls=(0, (5, 2)),
                lw=2.2,
                label="from here on the law is flat",
            )
        )
    labels = [(h[0] if isinstance(h, tuple) else h).get_label() for h in handles]
    figure.legend(
        handles=handles,
        labels=labels,
        loc="upper left",
        ncols=4,
        borderaxespad=0,
        borderpad=0,
        bbox_to_anchor=(0.012, 1 - 0.62 / figure.get_figheight()),
        handlelength=2.6,
        columnspacing=1.6,
    )


def _footnotes(figure: Figure, rows: pd.DataFrame) -> None:
    """Says which rows are not in the chart and why, and which rest on a rule nobody confirmed."""
    parts = []
    for status, word in (("skipped", "skipped"), ("failed", "FAILED")):
        lost = rows[rows["status"] == status]
        for why, group in lost.groupby("reason", sort=False):
            names = ", ".join(name.partition("/")[2] or name for name in group["name"][:3])
            more = f" and {len(group) - 3} more" if len(group) > 3 else ""
            parts.append(f"{word}: {names}{more} ({why})")
    notes = ["Not drawn. " + "; ".join(parts)] if parts else []
    doubtful = rows[rows["rule"] == "unconfirmed"]
    if not doubtful.empty:
        notes.append(f"Counted by a rule that no profiler has confirmed: {_in_short(doubtful)}.")
    if notes:
        style.footnote(figure, "  ".join(notes), int(figure.get_figwidth() * 16))


def _in_short(rows: pd.DataFrame) -> str:
    """Kernels, each with the arguments that tell its rows from its others: "strided bytes 8"."""
    found = []
    for kernel, group in rows.groupby("kernel", sort=False):
        few = {name: values for name, values in axes_of(group).items() if 1 <= len(values) <= 2}
        words = [
            f"{name} {' and '.join(map(argument_text, values))}" for name, values in few.items()
        ]
        found.append(" ".join([str(kernel), *words]))
    return "; ".join(found)
