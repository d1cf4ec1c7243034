"""What series and categories are called in a panel."""

import math

from gpubench_reports.charts import style
from gpubench_reports.common.units import argument_text, axis_title
from gpubench_reports.results.sweeps import Panel, distinct

PANEL_WIDTH, PANEL_HEIGHT = 4.5, 2.55  # inches of the plotting area and its left labels
MARGINS = 0.87  # inches left and right of a plotting area
LEGEND_LINE = 0.17  # inches
_LETTER = 0.066  # inches, of tick labels
_LONGEST_NAME = 22  # letters, of a series in a legend


def legend_lines(panel: Panel) -> int:
    if len(panel.series) < 2:
        return 0
    return math.ceil(len(panel.series) / legend_columns(panel))


def legend_columns(panel: Panel) -> int:
    """As many as fit side by side: the legend is filled column by column."""
    names = series_names(panel)
    for columns in (6, 4, 3):
        lines = math.ceil(len(names) / columns)
        longest = [max(map(len, names[at : at + lines])) for at in range(0, len(names), lines)]
        inches = sum(0.34 + 0.83 * _LETTER * letters for letters in longest) - 0.11
        if inches < PANEL_WIDTH - MARGINS:
            return columns
    return 2


def series_names(panel: Panel) -> list[str]:
    """What the legend calls the series: one other axis, or long ones, stand before the first."""
    axes = list(panel.series[0].others)
    if len(axes) != 1 and all(len(series.label) <= _LONGEST_NAME for series in panel.series):
        return [series.label for series in panel.series]
    names = [style.shorten(series.values, _LONGEST_NAME) for series in panel.series]
    title = axis_title(axes[0], panel.units) if len(axes) == 1 else ", ".join(axes)
    return [f"{title}: {names[0]}" if title else names[0], *names[1:]]


def category_names(panel: Panel) -> list[str]:
    """The swept names as they stand under the axis; those judged in another unit say so."""
    units = {
        x: unit
        for series in panel.series
        for x, unit in zip(series.x, series.rows["unit"], strict=True)
    }
    names = distinct(x for series in panel.series for x in series.x)
    return [
        argument_text(name)
        if units[name] == panel.quantity.unit
        else f"{argument_text(name)} [{units[name]}]"
        for name in names
    ]


def are_slanted(panel: Panel, width: float) -> bool:
    """Whether category names would touch side by side under an axis `width` inches long."""
    names = category_names(panel)
    return len(names) * (max(len(name) for name in names) + 2) * _LETTER > width
