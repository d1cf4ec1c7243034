"""Ticks of an axis drawn at once: lines of the grid as one line, marks as another.

Matplotlib makes three lines and two texts for every tick, which is a third of the time that a
chart takes. The picture is the same. Asked for while a chart is built, done when it is complete.
"""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import NullLocator

_ASKED_FOR, _DONE = "quick ticks", "quick ticks, drawn"
# By names that are put together here.
_settings = cast("Mapping[str, Any]", rcParams)


def ask_for(axis: Axis) -> None:
    """Marks `axis`, whose ticks and labels look as the settings say; its scale may still change."""
    axis.set_gid(_ASKED_FOR)


def draw_in(figure: Figure) -> None:
    """Replaces the ticks of every axis that was marked; nothing may change a scale after this."""
    if not hasattr(Axis, "get_tick_params"):  # Matplotlib 3.6, Debian 12's: its own ticks stay
        return
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_gid() == _ASKED_FOR:
                _draw(axes, axis)
                axis.set_gid(_DONE)


def _draw(axes: Axes, axis: Axis) -> None:
    is_x = axis is axes.xaxis
    name, side = ("xtick", "bottom") if is_x else ("ytick", "left")
    places = _within(axis, axis.get_majorticklocs())
    words = axis.get_major_formatter().format_ticks(list(places))
    minor = _within(axis, axis.get_minorticklocs())
    shown = axis.get_tick_params(which="major")
    axis.set_major_locator(NullLocator())
    axis.set_minor_locator(NullLocator())
    along = axes.get_xaxis_transform if is_x else axes.get_yaxis_transform

    def add(data: np.ndarray, across: np.ndarray, **looks: Any) -> None:
        x, y = (data, across) if is_x else (across, data)
        axes.add_artist(Line2D(x, y, **looks))

    if shown["gridOn"] and len(places):
        ends = np.tile([0.0, 1.0, np.nan], len(places))  # the gap lifts the pen
        add(
            np.repeat(places, 3),
            ends,
            color=_settings["grid.color"],
            zorder=0.5,
            lw=_settings["grid.linewidth"],
            transform=along(which="grid"),
        )
    for at, kind in ((places, "major"), (minor, "minor")):
        if len(at):
            add(
                at,
                np.zeros(len(at)),
                ls="none",
                marker=3 if is_x else 0,
                clip_on=False,
                color=_settings[f"{name}.color"],
                ms=_settings[f"{name}.{kind}.size"],
                zorder=2.01,
                mew=_settings[f"{name}.{kind}.width"],
                transform=along(which="tick1"),
            )
    if shown[f"label{side}"] and len(places):
        _write(axes, axis, places, words)


def _write(axes: Axes, axis: Axis, places: np.ndarray, words: list[str]) -> None:
    """The words at their places, and the axis's title clear of them."""
    is_x = axis is axes.xaxis
    name = "xtick" if is_x else "ytick"
    pad = _settings[f"{name}.major.size"] + _settings[f"{name}.major.pad"]
    label_place = axes.get_xaxis_text1_transform if is_x else axes.get_yaxis_text1_transform
    transform, va, ha = label_place(pad)
    texts = [
        Text(
            at if is_x else 0,
            0 if is_x else at,
            word,
            transform=transform,
            va=va,
            ha=ha,
            clip_on=False,
            size=_settings[f"{name}.labelsize"],
            color=_settings[f"{name}.color"],
        )
        for at, word in zip(places, words, strict=True)
    ]
    for text in texts:
        axes.add_artist(text)
    if axis.get_label_text():
        boxes = [text.get_window_extent() for text in texts]
        edge = axes.bbox.y0 if is_x else axes.bbox.x0
        depth = edge - min(box.y0 if is_x else box.x0 for box in boxes)
        axis.labelpad += depth * 72 / axes.figure.dpi


def _within(axis: Axis, places: np.ndarray) -> np.ndarray:
    """Those of `places` that the axis shows."""
    places = np.asarray(places, dtype=float)
    if not len(places):
        return places
    to_scale = axis.get_transform().transform
    low, high = np.sort(to_scale(np.asarray(axis.get_view_interval(), dtype=float)))
    at = to_scale(places)
    slack = 1e-9 * (high - low)
    return np.asarray(places[(at >= low - slack) & (at <= high + slack)])
