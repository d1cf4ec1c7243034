"""The chart of a run's roofs beside the device file's."""

import math

import pytest

from gpubench_reports import roofs_chart

from .factory import make_roofs, make_row, roof


def context_with(load, roofs, **changes):
    return load([make_row("a/b")], roofs=roofs, **changes).context


def drawn(figure, gid):
    return [
        artist
        for axes in figure.axes
        for artist in (*axes.patches, *axes.lines)
        if artist.get_gid() == gid
    ]


def test_pairs_are_what_was_found_over_what_the_file_says(load):
    context = context_with(load, make_roofs())
    found = {pair.name: pair for pair in roofs_chart.pairs(context.roofs)}
    assert found["dram"].fraction == pytest.approx(4.4 / 4.8)
    assert math.isnan(found["l2"].fraction)  # no figure of the sheet's
    kinds = [pair.kind for pair in roofs_chart.pairs(context.roofs)]
    assert kinds == sorted(kinds)  # bandwidths first


def test_whole_numbers_are_no_flops(load):
    context = context_with(load, [roof("int32", "compute", 1e13), roof("fp32", "compute", 6e13)])
    assert [pair.unit for pair in roofs_chart.pairs(context.roofs)] == ["OP/s", "FLOP/s"]


def test_every_roof_is_drawn_once(load):
    roofs = make_roofs()
    figure = roofs_chart.build(context_with(load, roofs))
    assert len(drawn(figure, "found")) == sum(r["provenance"] == "measured" for r in roofs)
    assert len(drawn(figure, "filed")) == sum(r["provenance"] == "data_sheet" for r in roofs)


def test_a_bar_ends_at_its_roof(load):
    figure = roofs_chart.build(context_with(load, [roof("dram", "bandwidth", 4.4e12)]))
    (bar,) = drawn(figure, "found")
    assert bar.get_x() + bar.get_width() == pytest.approx(4.4e12)


def test_modelled_roofs_are_hatched_and_marked(load):
    context = context_with(load, make_roofs("modelled"), device_kind="model")
    figure = roofs_chart.build(context)
    assert all(bar.get_hatch() for bar in drawn(figure, "found"))
    assert any(text.get_gid() == "watermark" for text in figure.texts)


def test_a_run_that_found_no_roof_has_no_chart(load):
    assert roofs_chart.build(context_with(load, [roof("dram", "bandwidth", 1, "assumed")])) is None
