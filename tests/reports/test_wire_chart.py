"""The chart of collectives: the fit finds what the times were made of, and draws what it found."""

import numpy as np
import pytest

from gpubench_reports.charts import wire_chart
from gpubench_reports.charts.points import named_points
from gpubench_reports.charts.render import render

from .factory import coalescing_rows, make_row

ALPHA, BETA = 15e-6, 4e-12  # s, s a byte
SIZES = [8, 2048, 1 << 19, 1 << 23, 1 << 28, 1 << 33]


def collective_rows(kernel="all_reduce", factor=1.75, sizes=SIZES, ranks=8):
    rows = []
    for size in sizes:
        seconds = ALPHA + BETA * size
        rate = size / seconds
        rows.append(
            make_row(
                f"all_reduce/{kernel}/ranks:{ranks}/size:{size}",
                seconds,
                useful_bytes_per_second=rate,
                algorithm_bytes_per_second=rate,
                bus_bytes_per_second=factor * rate,
                label="link",
            )
        )
    return rows


def build(result):
    return wire_chart.build("all_reduce", result.rows, result.context)


def lines(axes, gid):
    return [line for line in axes.get_lines() if line.get_gid() == gid]


def test_points_of_both_panels_are_their_rows(load):
    names = [point.name for point in named_points(build(load(collective_rows())))]
    assert names == 2 * [f"all_reduce/all_reduce/ranks:8/size:{size}" for size in SIZES]


def test_the_fit_is_what_the_times_were_made_of():
    size = np.array(SIZES, dtype=float)
    found = wire_chart.fit(size, ALPHA + BETA * size)
    assert found.alpha == pytest.approx(ALPHA)
    assert found.beta == pytest.approx(BETA)
    assert found.half_size == pytest.approx(ALPHA / BETA)
    assert found.rate(np.array([found.half_size]))[0] == pytest.approx(0.5 / BETA)


def test_noise_on_a_long_time_does_not_move_the_latency():
    size = np.array(SIZES, dtype=float)
    seconds = ALPHA + BETA * size
    seconds[-1] *= 1.05
    assert wire_chart.fit(size, seconds).alpha == pytest.approx(ALPHA, rel=0.02)


@pytest.mark.parametrize(
    "seconds", [[1.0, 1.0], [3.0, 2.0, 1.0], [1.0, 10.0, 100.0]], ids=["two", "falls", "no latency"]
)
def test_no_fit_where_there_is_none(seconds):
    size = np.array([1.0, 10.0, 100.0][: len(seconds)])
    found = wire_chart.fit(size, np.array(seconds))
    assert found is None or found.alpha < 1e-9


def test_both_bandwidths_the_fit_and_its_half_are_drawn(load):
    result = load(collective_rows())
    figure = build(result)
    algorithm, bus = figure.axes
    for axes, column in ((algorithm, "algorithm"), (bus, "bus")):
        (measured,) = lines(axes, "measured")
        np.testing.assert_allclose(measured.get_xdata(), SIZES)
        np.testing.assert_allclose(measured.get_ydata(), result.rows[f"{column}_bytes_per_second"])
        assert axes.get_xscale() == axes.get_yscale() == "log"
    (half,) = lines(algorithm, "half")
    assert half.get_xdata()[0] == pytest.approx(ALPHA / BETA)
    (words,) = [text.get_text() for text in figure.texts if text.get_gid() == "fit"]
    assert words == "all_reduce 8 ranks: alpha 15.0 µs, 1/beta 250 GB/s, half of it at 3.75 MB"


def test_kernels_too_short_to_be_a_line_are_left_out(load):
    rows = collective_rows() + collective_rows("broadcast", 1, SIZES[:2])
    figure = build(load(rows))
    assert len(lines(figure.axes[0], "measured")) == 1
    assert build(load(collective_rows(sizes=SIZES[:2]))) is None


def test_every_kernel_is_drawn_before_more_of_one(load):
    rows = [row for n in (2, 4, 8, 16, 64) for row in collective_rows(ranks=n, sizes=SIZES[:3])]
    rows += collective_rows(ranks=32) + collective_rows("broadcast", 1)
    figure = build(load(rows))
    names = [line.get_label() for line in lines(figure.axes[0], "measured")]
    assert names[:2] == ["all_reduce 32 ranks", "broadcast 8 ranks"]
    assert len(names) == 6
    (subtitle,) = [text.get_text() for text in figure.texts if text.get_gid() == "subtitle"]
    assert subtitle.endswith("1 shorter sweeps are not drawn")


def test_modelled_rows_carry_the_watermark(load):
    figure = build(load(collective_rows(), device_kind="model"))
    assert [text for text in figure.texts if text.get_gid() == "watermark"]


def test_render_draws_it_for_collectives_alone(load, tmp_path):
    paths = render(
        load(collective_rows(sizes=SIZES[:3]) + coalescing_rows()[:2]), tmp_path / "charts"
    )
    wires = [path.name for path in paths if "wire" in path.name]
    assert wires == ["concept-all_reduce-wire.png", "concept-all_reduce-wire.svg"]
