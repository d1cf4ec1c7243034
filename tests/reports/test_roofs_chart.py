"""The chart of a run's roofs beside the device file's."""

import math

import pytest

from gpubench_reports.charts import roofs_chart, style
from gpubench_reports.results.context import PROVENANCES_OF_RUN
from gpubench_reports.results.roof_pairs import pairs

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
    found = {pair.name: pair for pair in pairs(context.roofs)}
    assert found["dram"].fraction == pytest.approx(4.4 / 4.8)
    assert math.isnan(found["l2"].fraction)  # no figure of the sheet's
    kinds = [pair.kind for pair in pairs(context.roofs)]
    assert kinds == sorted(kinds)  # bandwidths first


def test_whole_numbers_are_no_flops(load):
    context = context_with(load, [roof("int32", "compute", 1e13), roof("fp32", "compute", 6e13)])
    assert [pair.unit for pair in pairs(context.roofs)] == ["OP/s", "FLOP/s"]


def test_every_roof_is_drawn_once(load):
    roofs = make_roofs()
    figure = roofs_chart.build(context_with(load, roofs))
    assert len(drawn(figure, "found")) == sum(r["provenance"] == "measured" for r in roofs)
    assert len(drawn(figure, "filed")) == sum(r["provenance"] == "data_sheet" for r in roofs)


def test_names_are_the_table_s_and_the_percentage_is_explained(load):
    roofs = [roof("tensor_fp64", "compute", 6e13), roof("dram", "bandwidth", 4.4e12)]
    context = context_with(load, roofs)
    figure = roofs_chart.build(context)
    shown = [tick.get_text() for axes in figure.axes for tick in axes.get_yticklabels()]
    assert shown == [pair.title for pair in pairs(context.roofs)]
    assert shown == ["dram", "tensor fp64"]
    assert len({line.get_color() for line in drawn(figure, "found")}) == 1
    (note,) = [text.get_text() for text in figure.texts if text.get_gid() == "footnote"]
    assert note.startswith("%: this run's over the device file's figure")


def test_a_point_lies_at_its_roof(load):
    figure = roofs_chart.build(context_with(load, [roof("dram", "bandwidth", 4.4e12)]))
    (point,) = drawn(figure, "found")
    assert list(point.get_xdata()) == [4.4e12]


def test_what_the_file_says_twice_is_drawn_twice_and_the_data_sheet_counts(load):
    roofs = [
        roof("dram", "bandwidth", 4.3e12, "assumed"),
        roof("dram", "bandwidth", 4.8e12, "data_sheet"),
        roof("fp32", "compute", 6e13),
        roof("fp32", "compute", 6.7e13, "data_sheet"),
    ]
    context = context_with(load, roofs)
    (dram, _) = pairs(context.roofs)
    assert [one.provenance for one in dram.all_filed] == ["data_sheet", "assumed"]
    assert dram.filed.value == 4.8e12
    marks = {
        tuple(line.get_xdata()): line.get_marker()
        for line in drawn(roofs_chart.build(context), "filed")
    }
    assert set(marks) == {(4.3e12,), (4.8e12,), (6.7e13,)}
    assert marks[4.3e12,] != marks[4.8e12,] == marks[6.7e13,]


def test_no_two_ways_to_know_a_roof_look_alike():
    assert len(set(map(str, style.ROOF_LINES.values()))) == len(style.ROOF_LINES)
    of_files = [mark for word, mark in style.ROOF_MARKS.items() if word not in PROVENANCES_OF_RUN]
    assert len(set(of_files)) == len(of_files)


def test_modelled_roofs_are_marked(load):
    context = context_with(load, make_roofs("modelled"), device_kind="model")
    figure = roofs_chart.build(context)
    assert any(text.get_gid() == "watermark" for text in figure.texts)


def test_a_run_that_found_no_roof_has_no_chart(load):
    assert roofs_chart.build(context_with(load, [roof("dram", "bandwidth", 1, "assumed")])) is None
