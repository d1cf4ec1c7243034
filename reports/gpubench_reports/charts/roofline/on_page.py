"""The roofline of a page: a colour per concept and about ten names. Who points at the others is
told theirs."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gpubench_reports.charts import style
from gpubench_reports.charts.points import name_points
from gpubench_reports.charts.roofline.chart import draw_frame, draw_sweep
from gpubench_reports.charts.roofline.labels import bars_of, place
from gpubench_reports.charts.roofline.lines import merged
from gpubench_reports.charts.roofline.sweeps import Sweep, find_sweeps
from gpubench_reports.results.context import Context

MOST_NAMES = 10
_WIDTH, _PLOT_HEIGHT = 8.4, 4.9  # inches: letters are legible where a phone scrolls it sideways
_LEFT, _RIGHT, _TOP, _BELOW = 0.7, 1.75, 0.7, 0.5
_COLUMNS, _LINE = 4, 0.2  # of the key


def build(rows: pd.DataFrame, context: Context) -> Figure | None:
    """None when no row has an intensity: roofs alone say nothing of the run."""
    found = find_sweeps(rows)
    if not found:
        return None
    looks = _looks(found)
    bandwidths = merged([r for r in context.roofs if r.kind == "bandwidth"])
    peaks = merged([r for r in context.roofs if r.kind == "compute"])
    key = -(-len(looks) // _COLUMNS) * _LINE + 0.1
    height = _TOP + _PLOT_HEIGHT + _BELOW + key
    figure = style.new_figure(_WIDTH, height)
    wide = (_WIDTH - _LEFT - _RIGHT) / _WIDTH
    axes = figure.add_axes((_LEFT / _WIDTH, (key + _BELOW) / height, wide, _PLOT_HEIGHT / height))
    style.heading(figure, "Roofline", context)
    segments, slopes = draw_frame(axes, found, bandwidths, peaks)
    for sweep in found:
        concept = _concept(sweep)
        line = draw_sweep(axes, sweep, *looks[concept], f"concept {concept}")
        name_points([line], sweep.series.rows["name"])
    _name(axes, found, looks, segments + [bar for text in slopes for bar in bars_of(axes, text)])
    _draw_key(figure, looks)
    if context.modelled:
        style.watermark(figure)
    return figure


def _concept(sweep: Sweep) -> str:
    return sweep.kernel.partition("/")[0]


def _looks(found: Sequence[Sweep]) -> dict[str, tuple[str, str]]:
    """Colour and marker by concept."""
    concepts = list(dict.fromkeys(map(_concept, found)))
    return {
        concept: (style.COLOURS[n % len(style.COLOURS)], style.MARKERS[n % len(style.MARKERS)])
        for n, concept in enumerate(concepts)
    }


def chosen(found: Sequence[Sweep]) -> list[tuple[float, float, str, str]]:
    """(intensity, rate, name, concept) of the points to name: the fastest row of each concept, then
    the slowest of those with the widest range; at most MOST_NAMES."""
    points = [
        (float(x), float(y), sweep.kernel.partition("/")[2], _concept(sweep))
        for sweep in found
        for x, y in zip(sweep.intensity, sweep.rate, strict=True)
    ]
    best: dict[str, tuple[float, float, str, str]] = {}
    worst: dict[str, tuple[float, float, str, str]] = {}
    for point in points:
        concept = point[3]
        if concept not in best or point[1] > best[concept][1]:
            best[concept] = point
        if concept not in worst or point[1] < worst[concept][1]:
            worst[concept] = point
    named = sorted(best.values(), key=lambda point: -point[1])[:MOST_NAMES]
    wide = sorted(best, key=lambda concept: worst[concept][1] / best[concept][1])
    slow = [worst[concept] for concept in wide if worst[concept] != best[concept]]
    return [*named, *slow[: MOST_NAMES - len(named)]]


def _name(
    axes: Axes,
    found: Sequence[Sweep],
    looks: dict[str, tuple[str, str]],
    lines: list[tuple[np.ndarray, np.ndarray]],
) -> None:
    rows = chosen(found)
    labels = [
        (x, y, f"{concept}/{kernel}", style.darker(looks[concept][0]))
        for x, y, kernel, concept in rows
    ]
    points = [(x, y) for s in found for x, y in zip(s.intensity, s.rate, strict=True)]
    texts = place(axes, labels, np.array(points), lines, "row-label", size=8.5)
    for text, (*_, concept) in zip(texts, rows, strict=True):
        if text is not None:
            text.set_gid(f"concept {concept}")  # switched off with its points


def _draw_key(figure: Figure, looks: dict[str, tuple[str, str]]) -> None:
    handles = [
        Line2D([], [], color=colour, marker=marker, ms=6, lw=0.7, mec="white", mew=0.5, label=name)
        for name, (colour, marker) in looks.items()
    ]
    figure.legend(
        handles=handles,
        loc="lower left",
        ncols=_COLUMNS,
        bbox_to_anchor=(0.01, 0.0),
        fontsize=9,
        borderaxespad=0.2,
        handlelength=1.6,
    )
