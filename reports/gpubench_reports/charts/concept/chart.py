"""The chart of one concept: one panel per kernel, the swept axis, law and prediction beside it."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpubench_reports.charts import heat_map, style
from gpubench_reports.charts.concept.key import draw_key, footnotes
from gpubench_reports.charts.concept.names import (
    LEGEND_LINE,
    MARGINS,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    are_slanted,
    category_names,
    legend_lines,
)
from gpubench_reports.charts.concept.panel import covered_by, draw_panel
from gpubench_reports.charts.concept.scales import scales_of
from gpubench_reports.charts.heat_map import Plane
from gpubench_reports.results.context import Context
from gpubench_reports.results.headlines import with_request_cost
from gpubench_reports.results.quantities import REQUEST_QUANTITIES
from gpubench_reports.results.sweeps import Panel, panels

_COLOUR_BAR = 0.42  # inches of a plane's width


def build(concept: str, rows: pd.DataFrame, context: Context) -> Figure | None:
    """The figure for `rows`, all rows of one concept; None when none of them has a time."""
    ok = rows[rows["status"] == "ok"]
    if ok.empty:
        return None
    prediction = _prediction_says_more(ok, context)
    drawn = _beside_their_kernels(panels(ok), panels(with_request_cost(ok)))
    planes = heat_map.planes(ok)
    figure, grid = _lay_out(drawn, planes, rows)
    style.heading(figure, concept, context)
    scales = scales_of(drawn)
    for panel, axes, scale in zip(drawn, grid, scales, strict=False):
        draw_panel(axes, panel, context, prediction, scale)
    for plane, axes in zip(planes, grid[len(drawn) :], strict=True):
        heat_map.draw(axes, plane)
    covered = any(
        over.any() for panel, s in zip(drawn, scales, strict=True) for over in covered_by(panel, s)
    )
    draw_key(figure, ok, drawn, planes, context, prediction, covered)
    footnotes(figure, rows)
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


def _lay_out(
    drawn: list[Panel], planes: list[Plane], rows: pd.DataFrame
) -> tuple[Figure, list[Axes]]:
    """A figure with one set of axes a panel, then one a plane.

    Sizes are arithmetic: no layout pass is needed.
    """
    number = len(drawn) + len(planes)
    in_pairs = number == 2 or any(panel.quantity in REQUEST_QUANTITIES for panel in drawn)
    columns = min(number, 2 if in_pairs or number == 4 else 3)
    if number == 1:
        columns, width_of_panel = 1, 7.5
    else:
        width_of_panel = PANEL_WIDTH
    lines = math.ceil(number / columns)
    legend = max(legend_lines(panel) for panel in drawn) * LEGEND_LINE
    below = 0.62 + max(_tick_depth(panel, width_of_panel - MARGINS) for panel in drawn)
    cell = 0.34 + legend + PANEL_HEIGHT + below
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
        wide = width_of_panel - MARGINS - (_COLOUR_BAR if index >= len(drawn) else 0)
        grid.append(
            figure.add_axes((left / width, base / height, wide / width, PANEL_HEIGHT / height))
        )
    return figure, grid


def _tick_depth(panel: Panel, width: float) -> float:
    """Inches that slanted category names need below the axis."""
    if panel.numeric:
        return 0.0
    longest = max(len(name) for name in category_names(panel))
    return min(longest, 24) * 0.045 if are_slanted(panel, width) else 0.0
