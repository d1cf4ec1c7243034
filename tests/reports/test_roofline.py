"""Roofs, ridges, points and labels of the roofline."""

import itertools
import json

import numpy as np
import pytest

from gpubench_reports.charts import roofline, style
from gpubench_reports.results.reader import Roof, read

from .factory import (
    compute_row,
    make_large_document,
    make_row,
    roof,
    roofline_rows,
)


def build(result):
    return roofline.build(result.rows, result.context)


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """(rows, figure) of a file of 150 rows."""
    path = tmp_path_factory.mktemp("full") / "run.json"
    path.write_text(json.dumps(make_large_document()))
    result = read(path)
    return result.rows, build(result)


def drawn(figure, gid):
    return [line for line in figure.axes[0].get_lines() if line.get_gid() == gid]


def labels(figure, gid):
    return [text for text in figure.axes[0].texts if text.get_gid() == gid]


@pytest.mark.parametrize(
    ("provenance", "linestyle"),
    [
        ("measured", "-"),
        ("modelled", "-."),
        ("data_sheet", "--"),  # of dashes and gaps of its own, as the next ones
        ("published", "--"),
        ("calibrated", "--"),
        ("derived", ":"),
        ("assumed", "--"),
    ],
)
def test_roofs_show_where_they_come_from(load, provenance, linestyle):
    roofs = [roof("dram", "bandwidth", 2e12, provenance), roof("fp32", "compute", 1e13, provenance)]
    figure = build(load(roofline_rows(), roofs=roofs))
    slope, flat = drawn(figure, f"roof:{provenance}")
    assert {slope.get_linestyle(), flat.get_linestyle()} == {linestyle}
    np.testing.assert_allclose(slope.get_ydata() / slope.get_xdata(), 2e12)
    assert slope.get_ydata()[-1] == pytest.approx(1e13)
    assert set(flat.get_ydata()) == {1e13}
    assert flat.get_xdata()[0] == pytest.approx(5.0)  # where the two meet


def test_ridges_are_of_the_run_where_it_states_both_roofs(load):
    roofs = [
        roof("dram", "bandwidth", 2e12, "measured"),
        roof("dram", "bandwidth", 1e12, "assumed"),
        roof("fp32", "compute", 1e13, "measured"),
        roof("fp32", "compute", 2e13, "derived"),
    ]
    bandwidths = roofline.merged(
        [r for r in load(roofline_rows(), roofs=roofs).context.roofs if r.kind == "bandwidth"]
    )
    peaks = roofline.merged(
        [r for r in load(roofline_rows(), roofs=roofs).context.roofs if r.kind == "compute"]
    )
    assert [ridge for ridge, _, _ in roofline.ridge_points(bandwidths, peaks)] == [5.0]


def test_both_roofs_of_one_name_stand_side_by_side(load):
    figure = build(load(roofline_rows()))
    assert drawn(figure, "roof:measured")
    assert drawn(figure, "roof:data_sheet")
    shown = [text.get_text() for text in labels(figure, "roof-label")]
    assert "dram  4.40 TB/s measured, 4.80 TB/s data sheet" in shown
    assert "fp32\n60.0 TFLOP/s measured\n67.0 TFLOP/s data sheet" in shown


def test_ridges_are_peak_over_bandwidth():
    def line(name, kind, value):
        return Roof(name, kind, value, "measured", "")

    bandwidths = roofline.merged([line("dram", "bandwidth", 2e12), line("l2", "bandwidth", 8e12)])
    peaks = roofline.merged([line("fp64", "compute", 3e13), line("fp32", "compute", 6e13)])
    assert roofline.ridge_points(bandwidths, peaks) == [
        (15.0, 3e13, "dram × fp64: 15"),
        (30.0, 6e13, "dram × fp32: 30"),
    ]


def test_roofs_that_lie_on_each_other_share_a_line():
    roofs = [
        Roof("tensor_fp16", "compute", 1e15, "data_sheet", ""),
        Roof("tensor_bf16", "compute", 1e15, "data_sheet", ""),
        Roof("tensor_fp16", "compute", 1e15, "measured", ""),
    ]
    sheet, ours = roofline.merged(roofs)
    assert sheet.name == "tensor bf16, fp16"
    assert (ours.name, ours.provenance) == ("tensor fp16", "measured")


def test_every_row_with_intensity_and_rate_is_a_point_and_a_sweep_is_a_path(load):
    result = load([*roofline_rows(), make_row("a/b", useful_bytes_per_second=1e9)])
    figure = build(result)
    (path,) = drawn(figure, "row")
    rows = result.rows[result.rows["concept"] == "roofline"]
    np.testing.assert_allclose(path.get_xdata(), rows["arithmetic_intensity"])
    np.testing.assert_allclose(path.get_ydata(), rows["flops_per_second"])
    assert path.get_linestyle() == "-"


def test_few_rows_carry_their_swept_values(load):
    figure = build(load(roofline_rows()))
    shown = {text.get_text() for text in labels(figure, "row-label")}
    assert "fma fmas 1" in shown
    assert "512" in shown


def test_sweeps_of_one_kernel_look_different_and_the_key_has_numbers_only_if_points_do(load):
    rows = [
        compute_row(f"a/k/dtype:{dtype}/n:{n}", n / size, 1e12 * n)
        for dtype, size in (("fp32", 4), ("fp64", 8))
        for n in (1, 2, 3)
    ]
    result = load(rows)
    one, other = roofline.find_sweeps(result.rows)
    assert one.colour != other.colour
    assert one.marker != other.marker
    key = [text.get_text() for text in build(result).texts if text.get_gid() == "key"]
    assert key[0] == "a/k (dtype fp32), n 1, 2, 3"


def numbers_in(text):
    """The numbers that a label stands for: "1–3, 5"."""
    found = []
    for part in text.split(", "):
        first, _, last = part.partition("–")
        found += range(int(first), int(last or first) + 1)
    return found


def test_every_row_of_a_full_chart_can_be_identified(full):
    rows, figure = full
    found = roofline.find_sweeps(rows)
    total = sum(len(sweep.numbers) for sweep in found)
    assert total == (rows["arithmetic_intensity"] > 0).sum() > 50
    assert [n for sweep in found for n in sweep.numbers] == list(range(1, total + 1))
    key = "\n".join(text.get_text() for text in figure.texts if text.get_gid() == "key")
    for sweep in found:
        first, last = sweep.numbers[0], sweep.numbers[-1]
        assert f"{first}–{last}  {sweep.kernel}" in key
    looks = {sweep.kernel: (sweep.marker, sweep.colour) for sweep in found}
    assert len(set(looks.values())) == len(looks)
    shown = {n for text in labels(figure, "row-label") for n in numbers_in(text.get_text())}
    ends = {n for sweep in found for n in (sweep.numbers[0], sweep.numbers[-1])}
    assert len(ends & shown) >= 0.9 * len(ends)


def test_points_on_each_other_share_a_label(load):
    rows = [compute_row(f"a/k{n}/n:1", 100.0 * (1 + n % 3 * 1e-3), 1e12) for n in range(6)]
    rows += [compute_row(f"b/k/n:{n}", 10.0 / n, 1e10 * n) for n in range(1, 25)]
    shown = {text.get_text() for text in labels(build(load(rows)), "row-label")}
    assert "1–6" in shown
    assert "7" in shown


def test_spans():
    assert roofline.spans([1, 2, 3, 5]) == "1–3, 5"
    assert roofline.spans([7]) == "7"
    assert numbers_in("1–3, 5") == [1, 2, 3, 5]


def boxes(figure):
    renderer = figure.canvas.get_renderer()
    found = []
    for gid in ("row-label", "ridge-label"):
        found += [(t.get_text(), t.get_window_extent(renderer)) for t in labels(figure, gid)]
    found += [
        (t.get_text(), t.get_window_extent(renderer))
        for t in labels(figure, "roof-label")
        if t.get_rotation() == 0
    ]
    return found


@pytest.mark.parametrize("size", ["small", "full"])
def test_labels_do_not_overlap(load, full, size):
    figure = full[1] if size == "full" else build(load())
    figure.draw_without_rendering()
    found = boxes(figure)
    assert len(found) > 15
    for (name, one), (other_name, other) in itertools.combinations(found, 2):
        apart = one.x1 <= other.x0 or other.x1 <= one.x0 or one.y1 <= other.y0 or other.y1 <= one.y0
        assert apart, (name, other_name)


def test_slanted_labels_do_not_overlap(load):
    roofs = [
        roof(name, "bandwidth", value)
        for name, value in (("dram", 4e12), ("l2", 4.3e12), ("l1", 4.6e12))
    ]
    figure = build(load(roofline_rows(), roofs=[*roofs, roof("fp32", "compute", 6e13)]))
    renderer = figure.canvas.get_renderer()
    slanted = [t for t in labels(figure, "roof-label") if t.get_rotation()]
    assert len(slanted) == 3
    assert not any(roofline._cross(a, b, renderer) for a, b in itertools.combinations(slanted, 2))
    # The check itself must be able to fail.
    slanted[0].set_position(slanted[1].get_position())
    assert roofline._cross(slanted[0], slanted[1], renderer)


def test_spread_moves_boxes_apart_and_keeps_them_inside():
    assert roofline.spread([1.0, 5.0], [1.0, 1.0], 10.0) == [1.0, 5.0]
    assert roofline.spread([1.0, 1.0], [1.0, 1.0], 10.0) == [1.0, 2.0]
    assert roofline.spread([9.9, 9.9], [1.0, 1.0], 10.0) == [8.5, 9.5]


def test_knee():
    x = np.array([1.0, 10.0, 100.0, 1000.0])
    assert roofline.knee(x, np.array([1.0, 10.0, 100.0, 100.0])) == 2
    assert roofline.knee(x, x) is None
    assert roofline.knee(x[:2], x[:2]) is None


@pytest.mark.parametrize(("kind", "marks"), [("model", [style.WATERMARK]), ("cuda", [])])
def test_watermark(load, kind, marks):
    figure = build(load(device_kind=kind))
    shown = [text.get_text() for text in figure.texts if text.get_gid() == "watermark"]
    assert shown == marks


def test_a_file_without_roofs_still_shows_its_points(load):
    figure = build(load(roofline_rows(), roofs=[]))
    assert len(drawn(figure, "row")) == 1


def test_roofs_alone_are_not_drawn(load):
    rows = [make_row("a/b", useful_bytes_per_second=1e9)]
    assert build(load(rows)) is None
    assert build(load(rows, roofs=[])) is None


def test_one_point_is_enough(load):
    figure = build(load([compute_row("a/b", 1.0, 1e12)], roofs=[]))
    assert [text.get_text() for text in labels(figure, "row-label")] == ["b"]


def test_roofs_of_whole_numbers_have_lines_and_a_unit_of_their_own(load):
    roofs = [
        roof("dram", "bandwidth", 4e12),
        roof("tensor_int8", "compute", 2e15),
        roof("tensor_fp8", "compute", 2e15),
        roof("tensor_bf16", "compute", 1e15),
        roof("tensor_fp16", "compute", 1e15),
    ]
    found = labels(build(load(roofline_rows(), roofs=roofs)), "roof-label")
    names = [text.get_text().split("\n")[:2] for text in found]
    assert ["tensor fp8", "2.00 PFLOP/s measured"] in names
    assert ["tensor int8", "2.00 POP/s measured"] in names
    assert ["tensor bf16, fp16", "1.00 PFLOP/s measured"] in names


def test_ridges_are_dram_s_also_where_only_the_file_knows_it():
    def ridges(*drams):
        roofs = [Roof("dram", "bandwidth", value, known, "") for known, value in drams]
        roofs.append(Roof("l2", "bandwidth", 1e13, "measured", ""))
        peaks = [Roof("fp32", "compute", 6e13, "measured", "")]
        return [
            x for x, _, _ in roofline.ridge_points(roofline.merged(roofs), roofline.merged(peaks))
        ]

    sheet, assumed = ("data_sheet", 4.8e12), ("assumed", 4e12)
    assert ridges(sheet) == [12.5]
    assert ridges(sheet, assumed) == [15]
    assert ridges(sheet, assumed, ("measured", 5e12)) == [12]
    assert ridges() == [6]
