"""Names along the roofs, clear of each other."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.transforms import offset_copy

from gpubench_reports.charts import style
from gpubench_reports.charts.roofline.lines import Line, by_name, flat_text, roof_text

_GAP = 6  # pixels before and after a name along a slope


def name_slopes(axes: Axes, bandwidths: list[Line]) -> list[Text]:
    """Names along the slopes, each above its line and pushed along it clear of the others."""
    left, low = axes.get_xlim()[0], axes.get_ylim()[0]
    to_display = axes.transData.transform
    slope = to_display((10, 10)) - to_display((1, 1))
    angle = math.degrees(math.atan2(slope[1], slope[0]))
    above = offset_copy(axes.transData, axes.figure.figure, -1.5, 2.0, units="points")
    placed: list[Text] = []
    renderer = style.renderer_of(axes)
    for group in sorted(by_name(bandwidths), key=lambda lines: -lines[0].value):
        upper = max(group, key=lambda line: line.value)
        start = max(left, low / upper.value) * 1.15
        text = axes.text(
            start,
            start * upper.value,
            roof_text(group, "B/s", ", "),
            size=7.5,
            rotation=angle,
            rotation_mode="anchor",
            va="bottom",
            ha="left",
            color=style.INK,
            zorder=7,
            gid="roof-label",
            transform=above,
        )
        for _ in range(40):
            if not any(_cross(text, other, renderer) for other in placed):
                break
            start *= 1.2
            text.set_position((start, start * upper.value))
        placed.append(text)
    return placed


def _cross(one: Text, other: Text, renderer: Any) -> bool:
    """Whether two labels of the same rotation overlap, as the slanted boxes that they are."""
    angle = math.radians(one.get_rotation())

    def band(text: Text) -> tuple[float, float, float, float]:
        x, y = text.get_transform().transform(text.get_position())
        along = x * math.cos(angle) + y * math.sin(angle)
        across = -x * math.sin(angle) + y * math.cos(angle)
        width, height, _ = renderer.get_text_width_height_descent(
            text.get_text(), text.get_fontproperties(), False
        )
        return along - _GAP, along + width + _GAP, across, across + height

    a, b = band(one), band(other)
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def name_flats(axes: Axes, peaks: list[Line]) -> None:
    """Names of the flat roofs in the margin at the right, spread where they would touch."""
    groups = by_name(peaks)
    if not groups:
        return
    height = axes.bbox.height / axes.figure.dpi  # inches
    low, high = np.log(axes.get_ylim())
    lines = [len(group) for group in groups]
    wanted = [
        (np.mean([math.log(line.value) for line in group]) - low) / (high - low) * height
        for group in groups
    ]
    heights = [0.135 * (1 + count) + 0.05 for count in lines]
    for group, at, want in zip(groups, spread(wanted, heights, height), wanted, strict=True):
        axes.text(
            1.045,
            at / height,
            flat_text(group),
            transform=axes.transAxes,
            size=7.5,
            va="center",
            color=style.INK,
            linespacing=1.15,
            gid="roof-label",
        )
        axes.plot(
            [1.0, 1.015, 1.038],
            [want / height, want / height, at / height],
            lw=0.6,
            color=style.GREY,
            transform=axes.transAxes,
            clip_on=False,
        )


def spread(wanted: list[float], heights: list[float], room: float) -> list[float]:
    """Centres near `wanted` (rising) for boxes of these heights, one over another without touching.

    The highest box stays below `room`; a box is only pushed as far as its neighbours force it.
    """
    centres = list(wanted)
    for index in range(1, len(centres)):
        gap = (heights[index] + heights[index - 1]) / 2
        centres[index] = max(centres[index], centres[index - 1] + gap)
    limit = room
    for index in reversed(range(len(centres))):
        centres[index] = min(centres[index], limit - heights[index] / 2)
        limit = centres[index] - heights[index] / 2
    return centres
