"""The chart of rate against error: a point per dtype, its law beside it."""

import numpy as np
import pytest

from gpubench_reports.charts import error_chart
from gpubench_reports.charts.points import named_points
from gpubench_reports.charts.render import render

from .factory import coalescing_rows, make_row


def row_of(dtype, rate, error, law, n=8192):
    return make_row(
        f"precision/gemm/dtype:{dtype}/contents:uniform/n:{n}",
        1e-3,
        flops_per_second=rate,
        relative_error=error,
        error_law=law,
        label="tensor",
    )


ROWS = [row_of("bf16", 7e14, 2.0e-3, 2.1e-3), row_of("fp8", 14e14, 3.4e-2, 3.6e-2)]


def build(result):
    return error_chart.build("precision", result.rows, result.context)


def lines(axes, gid):
    return [line for line in axes.get_lines() if line.get_gid() == gid]


def test_a_dtype_is_a_point_and_its_law(load):
    (axes,) = build(load(ROWS)).axes
    (points,) = lines(axes, "measured")
    np.testing.assert_allclose(points.get_xdata(), [7e14, 14e14])
    np.testing.assert_allclose(points.get_ydata(), [2.0e-3, 3.4e-2])
    assert [line.get_ydata()[0] for line in lines(axes, "law")] == [2.1e-3, 3.6e-2]
    names = [text.get_text() for text in axes.texts if text.get_gid() == "name"]
    assert names == ["bf16", "fp8"]


def test_of_a_sweep_the_fastest_is_drawn(load):
    (axes,) = build(load([*ROWS, row_of("bf16", 2e14, 2.2e-3, 2.1e-3, n=1024)])).axes
    (points,) = lines(axes, "measured")
    assert sorted(points.get_xdata()) == [7e14, 14e14]


def test_a_point_stands_for_its_row(load):
    figure = build(load(ROWS))
    figure.canvas.draw()
    assert {point.name for point in named_points(figure)} == {row["name"] for row in ROWS}


def test_one_point_is_no_chart(load):
    assert build(load(ROWS[:1])) is None


@pytest.mark.parametrize(("rows", "drawn"), [(ROWS, True), (coalescing_rows(), False)])
def test_it_is_rendered_where_rows_have_errors(load, tmp_path, rows, drawn):
    written = render(load(rows), tmp_path)
    assert any("-error." in path.name for path in written) == drawn
