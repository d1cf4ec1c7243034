"""Ticks drawn at once: the same picture as matplotlib's own, by far fewer objects."""

import io
import sys

import numpy as np
import pytest
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from PIL import Image

from gpubench_reports.charts import quick_ticks, style
from gpubench_reports.charts.concept import chart as concept_chart
from gpubench_reports.pages.html.inline_svg import to_inline_svg

from .factory import DRAM, bandwidth_row, coalescing_rows


def chart(load, rows=None):
    result = load(rows or coalescing_rows())
    return concept_chart.build("coalescing", result.rows, result.context)


def pixels(figure) -> np.ndarray:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=100)
    return np.asarray(Image.open(stream).convert("L"), dtype=float)


def test_the_picture_is_the_same(load):
    own, quick = chart(load), chart(load)
    quick_ticks.draw_in(quick)
    difference = np.abs(pixels(own) - pixels(quick))
    # A letter or a mark may move by a part of a dot.
    assert (difference > 60).mean() < 0.0015
    assert (pixels(own) < 200).mean() > 0.02  # there is something to compare


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
def test_the_picture_is_the_same_on_either_scale(scale: str):
    ours, theirs = picture(True, scale), picture(False, scale)
    # Lines may lie half a pixel aside; a label that is missing changes far more.
    assert np.mean(np.abs(ours - theirs) > 64) < 0.002


def test_what_stands_at_the_ticks_is_what_the_axis_says(load):
    figure = chart(load)
    axes = figure.axes[0]
    said = [axes.xaxis.get_major_formatter()(x) for x in axes.get_xticks()]
    quick_ticks.draw_in(figure)
    shown = [text.get_text() for text in axes.texts]
    assert said == ["1", "2", "4", "8", "16", "32"]
    assert [text for text in shown if text in said][: len(said)] == said
    assert len(axes.get_xticks()) == 0


def test_a_logarithmic_axis_keeps_its_minor_ticks_and_no_tick_outside(load):
    figure = style.new_figure(4, 3)
    axes = figure.add_axes((0.2, 0.2, 0.7, 0.7))
    axes.set_yscale("log")
    axes.set_ylim(2e9, 5e12)
    style.log_si_axis(axes, "y", "bandwidth", "B/s")
    quick_ticks.draw_in(figure)
    places = [y for line in axes.lines if line.get_marker() == 0 for y in line.get_ydata()]
    assert len(places) > 20
    assert min(places) >= 2e9
    assert max(places) <= 5e12


def test_drawing_twice_changes_nothing(load):
    figure = chart(load)
    first, second = style.to_files(figure), style.to_files(figure)
    assert first == second


def calls_of(load, rows: int) -> int:
    """How many functions run to draw `rows` rows of one concept: a machine's load changes nothing
    of that."""
    figure = chart(
        load,
        [
            bandwidth_row(f"coalescing/read/stride:{n}", DRAM / n, DRAM / n)
            for n in range(1, rows + 1)
        ],
    )
    count = 0

    def counted(_frame, event, _argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        to_inline_svg(figure, "a", "title", "description")
    finally:
        sys.setprofile(None)
    return count


def test_a_chart_costs_little_more_with_eight_times_the_rows(load):
    few, many = calls_of(load, 16), calls_of(load, 128)
    assert many < 2.5 * few


def test_ticks_at_once_save_a_fifth_of_the_work(load, monkeypatch):
    quick = calls_of(load, 32)
    monkeypatch.setattr(quick_ticks, "draw_in", lambda figure: None)
    assert quick < 0.8 * calls_of(load, 32)


@pytest.mark.parametrize("which", ["major", "minor"])
def test_no_tick_of_a_marked_axis_is_made(load, which):
    figure = chart(load)
    quick_ticks.draw_in(figure)
    figure.savefig(io.BytesIO(), format="svg")
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            assert len(getattr(axis, f"{which}Ticks")) <= 1


def test_an_older_matplotlib_draws_its_own_ticks(load, monkeypatch):
    """Matplotlib 3.6, which Debian 12 has, cannot say which ticks it shows."""
    figure = chart(load)
    both = figure.axes[0].xaxis, figure.axes[0].yaxis
    before = [axis.get_majorticklocs().tolist() for axis in both]
    monkeypatch.delattr(Axis, "get_tick_params")
    quick_ticks.draw_in(figure)
    assert [axis.get_majorticklocs().tolist() for axis in both] == before
    assert all(before)
