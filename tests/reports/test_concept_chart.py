"""What stands in a concept chart is what stands in the file."""

import itertools

import numpy as np
import pytest

from gpubench_reports.charts import style
from gpubench_reports.charts.concept import chart as concept_chart
from gpubench_reports.common.units import argument_text

from .factory import bandwidth_row, coalescing_rows, compute_row, make_row


def build(result, concept):
    return concept_chart.build(
        concept, result.rows[result.rows["concept"] == concept], result.context
    )


def lines(axes, gid):
    return [line for line in axes.get_lines() if line.get_gid() == gid]


def texts(figure, gid):
    return [text for text in figure.texts if text.get_gid() == gid]


def test_law_points_and_prediction_are_the_rows_own(load):
    result = load(coalescing_rows())
    figure = build(result, "coalescing")
    for axes, kernel in zip(figure.axes, ("strided_read", "strided_write"), strict=True):
        rows = result.rows[result.rows["kernel"] == kernel]
        assert axes.get_title(loc="left") == kernel
        (law,) = lines(axes, "law")
        np.testing.assert_allclose(law.get_xdata(), [1, 2, 4, 8, 16, 32])
        np.testing.assert_allclose(law.get_ydata(), rows["law"])
        (measured,) = lines(axes, "measured")
        np.testing.assert_allclose(measured.get_ydata(), rows["useful_bytes_per_second"])
        (prediction,) = lines(axes, "prediction")
        work = rows["useful_bytes_per_second"] * rows["seconds"]
        np.testing.assert_allclose(prediction.get_ydata(), work / rows["model_seconds"])
        assert law.get_linestyle() != prediction.get_linestyle()


def test_powers_of_two_are_evenly_spaced_and_labelled_with_unit(load):
    axes = build(load(coalescing_rows()), "coalescing").axes[0]
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == "stride [elements]"
    assert axes.get_ylabel() == "useful bandwidth [TB/s]"
    assert [axes.xaxis.get_major_formatter()(x) for x in axes.get_xticks()] == [
        "1",
        "2",
        "4",
        "8",
        "16",
        "32",
    ]


def test_a_concept_that_nobody_has_heard_of_is_charted(load):
    rows = [
        bandwidth_row(f"zwiebel/{kernel}/layers:{n}", 1e9 * n, law=1e9 * n)
        for kernel in ("peel", "cut")
        for n in (1, 3, 5)
    ]
    figure = build(load(rows), "zwiebel")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["peel", "cut"]
    assert figure.axes[0].get_xlabel() == "layers"
    assert texts(figure, "title")[0].get_text() == "zwiebel"


def test_text_axes_have_a_tick_a_value_and_no_joining_line(load):
    rows = [compute_row(f"p/peak/dtype:{dtype}", 10, 1e12) for dtype in ("fp64", "bf16")]
    (axes,) = build(load(rows), "p").axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["fp64", "bf16"]
    assert lines(axes, "path") == []
    assert axes.get_ylabel() == "arithmetic rate [TFLOP/s]"


def test_every_series_is_in_the_legend(load):
    rows = [
        bandwidth_row(f"b/s/bytes:{size}/stride:{stride}", 1e12 / stride)
        for size in (4, 8, 16)
        for stride in (1, 2, 4, 8)
    ]
    (axes,) = build(load(rows), "b").axes
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown == ["bytes [bytes per lane]: 4", "8", "16"]
    looks = [(line.get_color(), line.get_marker()) for line in lines(axes, "measured")]
    assert len(set(looks)) == len({marker for _, marker in looks}) == 3


def test_a_series_under_another_shows_behind_it(load):
    rows = [
        bandwidth_row(f"b/s/layout:{layout}/stride:{stride}", rate)
        for layout, rates in (("soa", (4e12, 4e12)), ("aosoa", (4e12, 1e12)))
        for stride, rate in zip((1, 2), rates, strict=True)
    ]
    figure = build(load(rows), "b")
    sizes = {
        (line.get_marker(), x): line.get_markersize()
        for line in lines(figure.axes[0], "measured")
        for x in line.get_xdata()
    }
    plain = sizes["s", 1]
    assert sizes == {
        ("o", 1): pytest.approx(plain + 2.8),
        ("o", 2): plain,
        ("s", 1): plain,
        ("s", 2): plain,
    }
    assert "larger: others lie on it" in [t.get_text() for t in figure.legends[0].get_texts()]


def test_error_bars_span_the_interval(load):
    rows = [
        make_row(
            f"c/k/n:{n}", 4.0, useful_bytes_per_second=2e9, ci_low_seconds=3.2, ci_high_seconds=5.0
        )
        for n in (1, 2)
    ]
    (axes,) = build(load(rows), "c").axes
    (bars,) = axes.collections
    for segment in bars.get_segments():
        assert segment[:, 1] == pytest.approx([1.6e9, 2.5e9])


def test_unconverged_points_are_hollow(load):
    rows = [bandwidth_row("c/k/n:1", 1e9), bandwidth_row("c/k/n:2", 1e9, converged=0)]
    (axes,) = build(load(rows), "c").axes
    full, hollow = lines(axes, "measured")
    assert (list(full.get_xdata()), list(hollow.get_xdata())) == ([1], [2])
    assert hollow.get_markerfacecolor() == "white"
    assert full.get_markerfacecolor() != "white"


@pytest.mark.parametrize(("kind", "marks"), [("model", [style.WATERMARK]), ("cuda", [])])
def test_watermark_stands_on_modelled_charts_and_on_no_others(load, kind, marks):
    figure = build(load(coalescing_rows(), device_kind=kind), "coalescing")
    assert [text.get_text() for text in texts(figure, "watermark")] == marks
    verb = {"model": "modelled", "cuda": "measured"}[kind]
    subtitle = texts(figure, "subtitle")[0].get_text()
    assert verb in subtitle
    assert "NVIDIA H200" in subtitle
    assert "2026-11-21" in subtitle
    key = [text.get_text() for text in figure.legends[0].get_texts()]
    assert key[0].startswith(verb)


def test_a_prediction_that_is_the_result_is_not_drawn_twice(load):
    rows = [make_row(f"c/k/n:{n}", 1.0 * n, model_seconds=1.0 * n) for n in (1, 2)]
    (axes,) = build(load(rows, device_kind="model"), "c").axes
    assert lines(axes, "prediction") == []
    (axes,) = build(load(rows, device_kind="cuda"), "c").axes
    assert len(lines(axes, "prediction")) == 1


def test_the_roof_that_binds_is_drawn_in_the_style_of_its_provenance(load):
    (axes, _) = build(load(coalescing_rows()), "coalescing").axes
    (roof,) = lines(axes, "roof")
    assert set(roof.get_ydata()) == {4.4e12}
    assert roof.get_linestyle() == "-"
    sheet = {"name": "dram", "kind": "bandwidth", "value": 4.8e12, "provenance": "data_sheet"}
    (axes, _) = build(load(coalescing_rows(), roofs=[sheet]), "coalescing").axes
    assert lines(axes, "roof")[0].get_linestyle() == "--"


def test_rows_that_are_not_drawn_are_named_with_their_reason(load):
    skipped = {
        "name": "coalescing/strided_read/stride:64",
        "skipped": True,
        "skip_reason": "needs 64 GiB",
    }
    figure = build(load([*coalescing_rows(), skipped]), "coalescing")
    note = texts(figure, "footnote")[0].get_text()
    assert note == "Not drawn. skipped: strided_read/stride:64 (needs 64 GiB)"


def test_a_concept_without_a_single_time_has_no_chart(load):
    result = load([make_row("a/b"), {"name": "c/d", "skipped": True, "skip_reason": "no"}])
    assert build(result, "c") is None


@pytest.mark.parametrize(
    "values",
    [
        range(0, 34),
        [0, 32, 1024, 2**20],
        [2**p for p in range(10, 34)],
        [50257, 50304],
        [7],
        [1, 10, 100, 5000],
    ],
)
def test_tick_labels_of_any_axis_do_not_touch(load, values):
    rows = [bandwidth_row(f"c/k/n:{value}", 1e9) for value in values]
    rows += [bandwidth_row("c/k/n:3", 1e9)] if len(rows) == 1 else []
    figure = build(load(rows), "c")
    figure.draw_without_rendering()
    axis = figure.axes[0].xaxis
    low, high = sorted(figure.axes[0].get_xlim())
    renderer = figure.canvas.get_renderer()
    boxes = [
        tick.label1.get_window_extent(renderer)
        for tick in axis.get_major_ticks()
        if low <= tick.get_loc() <= high and tick.label1.get_text()
    ]
    assert len(boxes) >= 2
    for one, other in itertools.pairwise(boxes):
        assert one.x1 < other.x0


def test_every_kernel_of_a_text_panel_is_named(load):
    kernels = ["a_rather_long_kernel_name", "another_long_kernel_name", "third_long_kernel_name"]
    (axes,) = build(load([bandwidth_row(f"c/{kernel}", 1e9) for kernel in kernels]), "c").axes
    shown = [tick.get_text() for tick in axes.get_xticklabels()]
    assert shown == kernels  # there is room for them side by side
    many = [f"{kernel}_{n}" for kernel in kernels for n in range(3)]
    (axes,) = build(load([bandwidth_row(f"c/{kernel}", 1e9) for kernel in many]), "c").axes
    shown = [tick.get_text() for tick in axes.get_xticklabels()]
    assert shown == [style.shorten(argument_text(kernel), 24) for kernel in many]


@pytest.mark.parametrize("points", [1, 2, 3])
def test_one_or_two_points_are_spelled_out(load, points):
    rows = [bandwidth_row(f"c/k/dtype:fp{8 * n}", 1e12 * n) for n in range(1, points + 1)]
    (axes,) = build(load(rows), "c").axes
    values = [text.get_text() for text in axes.texts if text.get_gid() == "value"]
    assert values == ["1.00 TB/s", "2.00 TB/s"][: points if points < 3 else 0]
    stems = [c for c in axes.collections if c.get_gid() == "stem"]
    assert len(stems) == len(values)


def test_panels_of_one_kernel_share_their_y_axis(load):
    rows = [
        bandwidth_row(f"c/k/n:{n}/ilp:{ilp}/block:{block}", 1e9 * n * ilp)
        for n in (1, 2, 4, 16)
        for ilp in (1, 8)
        for block in (32, 64, 128, 256, 512)
    ]
    first, second = build(load(rows), "c").axes
    assert first.get_ylim() == second.get_ylim()


def test_panels_of_different_kernels_share_it_unless_that_would_flatten_one(load):
    def tops(rate):
        rows = [
            bandwidth_row(f"c/{k}/n:{n}", r) for k, r in (("a", 1e12), ("b", rate)) for n in (1, 2)
        ]
        return [axes.get_ylim()[1] for axes in build(load(rows), "c").axes]

    near = tops(5e11)
    assert near[0] == near[1]
    far = tops(1e10)
    assert far[0] > 50 * far[1]


def request_rows(**more):
    """Shared memory by stride: what a request costs, counted and by law."""
    return [
        bandwidth_row(
            f"c/strided/bytes:{size}/stride:{stride}",
            3e13 / stride,
            3e13 / stride,
            wavefronts_per_request=size // 4 * stride,
            law_per_request=size // 4 * stride,
            **more,
        )
        for size in (4, 8)
        for stride in (1, 2, 4, 8)
    ]


def test_what_a_request_costs_stands_beside_the_speed(load):
    speed, cost = build(load(request_rows()), "c").axes
    assert speed.get_ylabel() == "useful bandwidth [TB/s]"
    assert cost.get_ylabel() == "wavefronts per request"
    for line, law, size in zip(lines(cost, "measured"), lines(cost, "law"), (4, 8), strict=True):
        np.testing.assert_allclose(line.get_ydata(), [size // 4 * s for s in (1, 2, 4, 8)])
        np.testing.assert_allclose(law.get_ydata(), line.get_ydata())
    assert not lines(cost, "prediction")


def test_costs_without_a_law_get_no_panel(load):
    rows = [bandwidth_row(f"c/k/n:{n}", 1e9, sectors_per_request=4) for n in (1, 2)]
    assert len(build(load(rows), "c").axes) == 1


def test_rows_on_an_unconfirmed_rule_are_named(load):
    rows = request_rows()
    for row in rows:
        if "bytes:8" in row["name"]:
            row["rule"] = "unconfirmed"
    (note,) = texts(build(load(rows), "c"), "footnote")
    assert note.get_text() == ("Counted by a rule that no profiler has confirmed: strided bytes 8.")
    assert not texts(build(load(request_rows()), "c"), "footnote")


def test_legends_stay_within_the_figure(load):
    rows = [
        bandwidth_row(f"c/{kernel}/block:{block}/n:{n}", 1e9 * n)
        for kernel in "abc"
        for block in (32, 64, 128, 256, 512, 1024)
        for n in (1, 2, 3, 4, 5, 6, 7)
    ]
    figure = build(load(rows), "c")
    figure.draw_without_rendering()
    legends = [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    assert len(legends) == 3
    assert all(legend.get_window_extent().x1 <= figure.bbox.x1 for legend in legends)


def test_a_law_of_some_rows_is_seen_at_each_of_them(load):
    stated = {"law": 6e14, "law_ratio": 5 / 6}
    rows = [compute_row(f"g/k/n:{n}", 1e3, 5e14, **(stated if n % 2 else {})) for n in (1, 2, 3)]
    (axes,) = build(load(rows), "g").axes
    (law,) = lines(axes, "law")
    assert (law.get_linestyle(), law.get_marker()) == ("None", "_")


def test_long_names_of_series_name_their_axes_once(load):
    rows = [
        compute_row(f"g/k/dtype:{dtype}/pass:{way}/n:{n}", 1e3, 5e14)
        for dtype in ("bf16", "fp16")
        for way in ("forward", "input_gradient")
        for n in (1, 2)
    ]
    (axes,) = build(load(rows), "g").axes
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown == [
        "dtype, pass: bf16, forward",
        "bf16, input_gradient",
        "fp16, forward",
        "fp16, input_gradient",
    ]


def test_what_a_stopwatch_claims_stands_beside_what_it_took(load):
    rows = [
        make_row(
            f"c/never/us:{us}", 1.0 * us, items_per_second=8 / us, claimed_items_per_second=1e3
        )
        for us in (5, 20, 100)
    ]
    rows += [make_row(f"c/each/us:{us}", 2.0 * us, items_per_second=4 / us) for us in (5, 20)]
    figure = build(load(rows), "c")
    never, each = figure.axes
    (claimed,) = lines(never, "claimed")
    np.testing.assert_allclose(claimed.get_ydata(), [1e3] * 3)
    assert claimed.get_markerfacecolor() == "white"
    assert never.get_ylim()[1] > 1e3, "within sight"
    assert not lines(each, "claimed")
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "claimed, not synchronised" in words


def test_dimensions_are_marked_where_rows_align(load):
    rows = [compute_row(f"g/odd_n/n:{n}", 1e3, 5e14) for n in (4032, 4033, 4040, 4048, 4096)]
    rows += [compute_row(f"g/wide/m:{m}", 1e3, 5e14) for m in (256, 512, 4096)]
    tokens = {"axes": {"m": "tokens"}}  # no dimension to align
    rows += [compute_row(f"g/batch/m:{m}", 1e3, 5e14, **tokens) for m in (1, 8, 64)]
    figure = build(load(rows), "g")
    marks = {
        line.get_xdata()[0]: line.get_linewidth() for line in lines(figure.axes[0], "alignment")
    }
    assert sorted(marks) == list(range(4032, 4097, 8))
    assert marks[4032] == marks[4096] > marks[4048] > marks[4040]
    assert not any(lines(axes, "alignment") for axes in figure.axes[1:])


def test_the_roof_may_have_another_name_than_the_bound(load):
    rows = [
        compute_row(f"g/k/n:{n}", 1e3, 5e14, label="tensor", roof="tensor_bf16") for n in (1, 2)
    ]
    (axes,) = build(load(rows), "g").axes
    (roof,) = lines(axes, "roof")
    assert set(roof.get_ydata()) == {8.0e14}


def test_no_roof_is_drawn_over_rows_that_have_different_ones(load):
    units = ("fp32", "fp64", "fp16x2")
    rows = [compute_row(f"p/k/dtype:{u}", 1e3, 5e13, label=u) for u in units]
    (axes,) = build(load(rows), "p").axes
    assert not lines(axes, "roof")


def test_an_interval_without_width_is_no_bar(load):
    def bars(**interval):
        rows = [bandwidth_row(f"a/b/n:{n}", 1e12, **interval) for n in (1, 2, 4)]
        figure = build(load(rows), "a")
        said = figure.legends[0].get_texts()[0].get_text()
        return len(figure.axes[0].collections), "bar" in said

    seconds = 1e9 / 1e12
    assert bars() == (1, True)
    assert bars(ci_low_seconds=seconds, ci_high_seconds=seconds) == (0, False)
