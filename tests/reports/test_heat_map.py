"""The plane of two axes: cells are the rows' own, and the knee lies where the law says."""

import itertools

import numpy as np
import pytest

from gpubench_reports.charts import concept_chart, heat_map
from gpubench_reports.results.headlines import with_headline

from .factory import DRAM, bandwidth_row, make_row

WARPS, LOADS = (4, 8, 16, 32, 64), (1, 2, 4, 8)
KNEE = 44  # warps x loads at which the law levels off


def little(warps, loads):
    return DRAM * min(1, warps * loads / KNEE)


def plane_rows(warps=WARPS, loads=LOADS, law=little):
    return [
        bandwidth_row(f"c/copy/warps:{w}/unroll:{u}", 0.95 * little(w, u), law and law(w, u))
        for w in warps
        for u in loads
    ]


def planes(load, rows):
    return heat_map.planes(with_headline(load(rows).ok))


def build(result):
    return concept_chart.build("c", result.rows, result.context)


def drawn(figure, gid):
    return [
        child for axes in figure.axes for child in axes.get_children() if child.get_gid() == gid
    ]


def test_cells_are_the_rows_own(load):
    (plane,) = planes(load, plane_rows())
    assert (plane.x_name, plane.y_name) == ("warps", "unroll")
    assert (plane.x.tolist(), plane.y.tolist()) == (list(WARPS), list(LOADS))
    for row, loads in enumerate(LOADS):
        for column, warps in enumerate(WARPS):
            assert plane.value[row, column] == pytest.approx(0.95 * little(warps, loads))


def test_the_knee_is_where_the_law_levels_off(load):
    (plane,) = planes(load, plane_rows())
    c, a, b = heat_map.knee(plane)
    assert (1 / c, a, b) == pytest.approx((KNEE, 1, 1))
    (line,) = drawn(build(load(plane_rows())), "knee")
    np.testing.assert_allclose(line.get_xdata() * line.get_ydata(), KNEE)


def test_the_knee_goes_behind_the_numbers_that_it_meets(load):
    rows = plane_rows(warps=(4, 8, 11, 22, 44, 64))
    (plane,) = planes(load, rows)
    figure = build(load(rows))
    figure.draw_without_rendering()
    (line,) = drawn(figure, "knee")
    path = line.get_transform().transform(np.column_stack(line.get_data()))
    met = 0
    for text in drawn(figure, "cell"):
        box = text.get_window_extent()
        if any(box.contains(*point) for point in path):
            met += 1
            assert text.get_bbox_patch() is not None, text.get_text()
            assert text.get_zorder() > line.get_zorder()
    assert met > 0
    plain = [text for text in drawn(figure, "cell") if text.get_bbox_patch() is None]
    assert len(plain) > plane.value.size / 3


@pytest.mark.parametrize(
    "law",
    [
        None,  # no claim
        lambda w, u: DRAM,  # flat everywhere
        lambda w, u: 1e9 * w * u,  # never levels off
        lambda w, u: DRAM * min(1, w / 20),  # along one axis only
        lambda w, u: DRAM * min(1, (w + 3 * u) / KNEE),  # no power law
    ],
)
def test_without_a_knee_of_both_axes_there_is_no_plane(load, law):
    assert planes(load, plane_rows(law=law)) == []
    assert not drawn(build(load(plane_rows(law=law))), "cells")


def test_missing_cells_stay_empty(load):
    (plane,) = planes(load, plane_rows()[1:])
    assert np.isnan(plane.value[0, 0])
    assert np.isfinite(plane.value).sum() == len(WARPS) * len(LOADS) - 1
    figure = build(load(plane_rows()[1:]))
    assert len(drawn(figure, "cell")) == len(WARPS) * len(LOADS) - 1


def test_values_stay_within_their_cells(load):
    figure = build(load(plane_rows(warps=range(4, 65, 4))))
    figure.draw_without_rendering()
    assert drawn(figure, "cells")
    written = drawn(figure, "cell")
    assert 0 < len(written) < 16 * len(LOADS)
    boxes = sorted((t.get_window_extent() for t in written), key=lambda box: (box.y0, box.x0))
    for one, other in itertools.pairwise(boxes):
        assert one.y0 != other.y0 or one.x1 < other.x0


@pytest.mark.parametrize(
    "rows",
    [
        plane_rows(warps=(4, 8)),  # too few
        plane_rows(loads=(1,)) + plane_rows(warps=(4,), loads=(2, 4, 8)),  # its two edges alone
        [
            bandwidth_row(f"c/k/n:{n}/dtype:{d}", 1e9, min(n, 40) * 1e9)
            for n in WARPS
            for d in "abc"
        ],
        [
            bandwidth_row(f"c/k/n:{n}/m:{m}", 1e9, min(n * m + 1, 40) * 1e9)
            for n in (0, *WARPS)
            for m in LOADS
        ],
        [
            bandwidth_row(f"c/k/n:{n}/m:{m}/k:{k}", 1e9, min(n * m * k, 40) * 1e9)
            for n in WARPS
            for m in LOADS
            for k in (1, 2)
        ],
    ],
)
def test_what_is_no_plane_is_drawn_without_one(load, rows):
    assert planes(load, rows) == []
    assert not drawn(build(load(rows)), "cells")


def test_a_plane_comes_beside_the_lines(load):
    figure = build(load(plane_rows()))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["copy", "copy: useful bandwidth"]
    skipped = make_row("c/other/n:1", skipped=True, skip_reason="no registers")
    assert build(load([*plane_rows(), skipped])) is not None
