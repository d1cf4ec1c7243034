"""The chart of a link's paths draws the line that the rows carry, and their points."""

import numpy as np
import pytest

from gpubench_reports.charts import link_chart
from gpubench_reports.charts.points import named_points
from gpubench_reports.charts.render import render

from .factory import coalescing_rows, make_row

LATENCY, RATE = 2e-6, 50e9
SIZES = (4, 65536, 1 << 24)


def path_rows(direction="h2d", memory="pinned", latency=LATENCY, rate=RATE, sizes=SIZES):
    rows = []
    for size in sizes:
        seconds = latency + size / rate
        line = {"fit_latency_seconds": latency, "fit_bytes_per_second": rate}
        rows.append(
            make_row(
                f"transfer/{direction}/memory:{memory}/size:{size}",
                seconds,
                useful_bytes_per_second=size / seconds,
                label="link",
                **(line if size == sizes[-1] else {}),
            )
        )
    return rows


def build(result):
    return link_chart.build("transfer", result.rows, result.context)


def lines(axes, gid):
    return [line for line in axes.get_lines() if line.get_gid() == gid]


def test_a_path_is_its_line_its_points_and_its_half(load):
    (axes,) = build(load(path_rows())).axes
    (line,) = lines(axes, "line")
    size, rate = line.get_xdata(), line.get_ydata()
    np.testing.assert_allclose(rate, size / (LATENCY + size / RATE))
    (points,) = lines(axes, "measured")
    assert list(points.get_xdata()) == list(SIZES)
    (half,) = lines(axes, "half")
    assert half.get_xdata()[0] == pytest.approx(LATENCY * RATE)
    assert half.get_ydata()[0] == pytest.approx(RATE / 2)


def test_directions_are_panels_and_words_say_the_line(load):
    rows = path_rows() + path_rows("d2h", rate=40e9) + path_rows(memory="pageable", rate=10e9)
    peer = make_row(
        "transfer/peer/size:16777216",
        1e-4,
        useful_bytes_per_second=1.6e11,
        fit_latency_seconds=2e-6,
        fit_bytes_per_second=4e11,
    )
    figure = build(load([*rows, peer]))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["h2d", "d2h", "other paths"]
    assert [len(lines(axes, "line")) for axes in figure.axes] == [2, 1, 1]
    words = [text.get_text() for text in figure.texts if text.get_gid() == "fit"]
    assert words[0] == "pinned: 2.00 µs + size / 50.0 GB/s, half at 100 kB"
    assert words[-1] == "peer: 2.00 µs + size / 400 GB/s, half at 800 kB"


def test_points_are_their_rows(load):
    names = [point.name for point in named_points(build(load(path_rows(sizes=SIZES[::-1]))))]
    assert names == [f"transfer/h2d/memory:pinned/size:{size}" for size in SIZES]


def test_a_row_without_a_line_has_no_chart(load):
    assert build(load(coalescing_rows())) is None


def test_render_writes_it_beside_the_others(load, tmp_path):
    names = {path.name for path in render(load(path_rows()), tmp_path / "charts")}
    assert "concept-transfer-link.png" in names
    assert "concept-transfer.png" in names
