"""Which points are labelled, with what, and where."""

import math
from typing import Any

import numpy as np
import textalloc
from matplotlib.axes import Axes
from matplotlib.text import Text

from gpubench_reports.charts import style
from gpubench_reports.charts.roofline.lines import RIDGE
from gpubench_reports.charts.roofline.sweeps import Sweep
from gpubench_reports.common.units import argument_text

# Beyond this many, only the ends and knees of sweeps are labelled: others have no room.
_MOST_LABELLED = 200
# Points closer than this [points of print] share one label with all their numbers.
_ON_TOP = 4.5
# x, y, text and colour of a label.
_Label = tuple[float, float, str, str]


def knee(x: np.ndarray, y: np.ndarray) -> int | None:
    """Index of the point farthest (in log-log) from the line between the ends; None if straight."""
    if len(x) < 3:
        return None
    px, py = np.log10(x), np.log10(y)
    dx, dy = px[-1] - px[0], py[-1] - py[0]
    length = math.hypot(dx, dy)
    if length == 0:
        return None
    distance = np.abs(dx * (py - py[0]) - dy * (px - px[0])) / length
    index = int(distance.argmax())
    return index if distance[index] > 0.05 else None


def draw_labels(
    axes: Axes,
    found: list[Sweep],
    names: list[Text],
    segments: list[tuple[np.ndarray, np.ndarray]],
    ridges: list[tuple[float, float, str]],
    spelled: bool,
) -> None:
    """Names ridges and points, clear of the slopes' `names` and, where possible, of all lines.

    Ends and knees of sweeps come first; what has no room is left out and found by counting along
    the path, since the key lists every number.
    """
    for x, y, _ in ridges:
        axes.plot(
            [x],
            [y],
            marker=RIDGE,
            ms=5,
            mfc="white",
            mec=style.INK,
            ls="none",
            zorder=5,
            gid="ridge",
        )
    ridge_labels = [(x, y, name, style.INK) for x, y, name in ridges]
    points = [(x, y) for sweep in found for x, y in zip(sweep.intensity, sweep.rate, strict=True)]
    points += [(x, y) for x, y, _ in ridges]
    lines = [bar for text in names for bar in bars_of(axes, text)]
    lines += segments
    lines += [(s.intensity, s.rate) for s in found if s.joined and len(s.series.x) > 1]
    rows = _row_labels(axes, found, spelled)
    for batch, gid in ((ridge_labels, "ridge-label"), (rows, "row-label")):
        if batch:
            texts = place(axes, batch, np.array(points), lines, gid)
            lines += [bar for text in texts if text is not None for bar in bars_of(axes, text)]


def _row_labels(axes: Axes, found: list[Sweep], spelled: bool) -> list[_Label]:
    """The labels of rows, those of ends and knees first."""
    first: list[_Label] = []
    later: list[_Label] = []
    for sweep in found:
        x, y = sweep.intensity, sweep.rate
        important = {0, len(x) - 1, knee(x, y)}
        for index, number in enumerate(sweep.numbers):
            text = _point_label(sweep, index) if spelled else str(number)
            label = (x[index], y[index], text, style.darker(sweep.colour))
            (first if index in important else later).append(label)
    if not spelled:
        first, later = _together(axes, first), _together(axes, later)
    if len(first) + len(later) > _MOST_LABELLED:
        return first[:_MOST_LABELLED]
    return [*first, *later]


def place(
    axes: Axes,
    labels: list[_Label],
    points: np.ndarray,
    lines: list[tuple[np.ndarray, np.ndarray]],
    gid: str,
    size: float = 7.5,
) -> list[Text | None]:
    """Writes the labels where there is room, clear of `points` and `lines`."""
    avoided: dict[str, Any] = {"x_lines": [x for x, _ in lines], "y_lines": [y for _, y in lines]}
    placed: Any = textalloc.allocate(
        axes,
        [label[0] for label in labels],
        [label[1] for label in labels],
        [label[2] for label in labels],
        x_scatter=points[:, 0],
        y_scatter=points[:, 1],
        **(avoided if lines else {}),
        textsize=size,
        textcolor=[label[3] for label in labels],
        linecolor=[label[3] for label in labels],
        linewidth=0.5,
        margin=0.004,
        min_distance=0.008,
        max_distance=0.09,
        nbr_candidates=120,
        draw_all=False,
        avoid_label_lines_overlap=True,
        gid=gid,
        zorder=8,
    )
    return list(placed[2])


def _together(axes: Axes, labels: list[_Label]) -> list[_Label]:
    """Labels of numbers, those of points that lie on each other as one: "60–62, 65"."""
    if not labels:
        return []
    reach = _ON_TOP * axes.figure.dpi / 72
    places = axes.transData.transform([(x, y) for x, y, _, _ in labels])
    groups: list[list[int]] = []
    for index, place in enumerate(places):
        for group in groups:
            if np.hypot(*(place - places[group[0]])) < reach:
                group.append(index)
                break
        else:
            groups.append([index])
    found = []
    for group in groups:
        x, y, _, colour = labels[group[0]]
        numbers = sorted({int(labels[index][2]) for index in group})
        same = all(labels[index][3] == colour for index in group)
        found.append((x, y, spans(numbers), colour if same else style.INK))
    return found


def spans(numbers: list[int]) -> str:
    """Rising numbers in short: [1, 2, 3, 5] is "1–3, 5"."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in found)


def _point_label(sweep: Sweep, index: int) -> str:
    short = f"{sweep.kernel.partition('/')[2]} {sweep.series.values}".rstrip()
    if not sweep.x_name:
        return short
    value = argument_text(sweep.series.x[index])
    return f"{short} {sweep.x_name} {value}" if index == 0 else value


def bars_of(axes: Axes, text: Text) -> list[tuple[np.ndarray, np.ndarray]]:
    """A label as lines [data coordinates] along its foot, middle and head: no other fits between.

    The placing library keeps labels clear of points and lines; it takes no slanted boxes.
    """
    renderer = style.renderer_of(axes)
    angle = math.radians(text.get_rotation())
    along = np.array([math.cos(angle), math.sin(angle)])
    across = np.array([-along[1], along[0]])
    if angle:
        width, height, _ = renderer.get_text_width_height_descent(
            text.get_text(), text.get_fontproperties(), False
        )
        corner = text.get_transform().transform(text.get_position())
    else:
        box = text.get_window_extent(renderer)
        width, height, corner = box.width, box.height, np.array([box.x0, box.y0])
    bars = []
    for part in (0, 0.5, 1):
        start = corner + across * height * part
        ends = axes.transData.inverted().transform([start, start + along * width])
        bars.append((ends[:, 0], ends[:, 1]))
    return bars
