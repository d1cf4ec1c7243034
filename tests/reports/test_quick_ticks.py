"""Ticks that are drawn at once look as Matplotlib's own."""

import numpy as np
import pytest
from gpubench_reports import quick_ticks
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator


def picture(quick: bool, scale: str) -> np.ndarray:
    figure = Figure(figsize=(4, 3), dpi=100)
    axes = figure.subplots()
    axes.set_position((0.25, 0.25, 0.7, 0.7))
    axes.set_xscale(scale)
    axes.plot([1, 32], [3, 4])
    axes.xaxis.set_major_locator(FixedLocator([1, 8, 32, 64]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("stride")
    axes.set_ylabel("bandwidth")
    if quick:
        for axis in (axes.xaxis, axes.yaxis):
            quick_ticks.ask_for(axis)
        quick_ticks.draw_in(figure)
        assert len(axes.xaxis.get_majorticklocs()) == 0  # there was something to do
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].mean(axis=2)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_the_picture_is_the_same(scale: str):
    ours, theirs = picture(True, scale), picture(False, scale)
    # Lines may lie half a pixel aside; a label that is missing changes far more.
    assert np.mean(np.abs(ours - theirs) > 64) < 0.002
