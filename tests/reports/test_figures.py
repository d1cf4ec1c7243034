"""Headline figures, intervals, laws and predictions; axes and panels."""

import math

import pytest

from gpubench_reports.common.units import argument_text, axis_title, si
from gpubench_reports.results.headlines import with_headline
from gpubench_reports.results.sweeps import MAX_SERIES, panels, sweeps

from .factory import bandwidth_row, compute_row, make_row


def headline(load, row):
    return with_headline(load([row]).ok).iloc[0]


def test_a_program_is_judged_by_its_items(load):
    row = make_row("a/b", 1.0, useful_bytes_per_second=1e9, items_per_second=4e3, model_seconds=2.0)
    row = headline(load, row)
    assert (row["headline"], row["value"], row["predicted"]) == ("items_per_second", 4e3, 2e3)


def test_bytes_come_before_flops_and_time_is_what_is_left(load):
    both = make_row("a/b", useful_bytes_per_second=1e9, flops_per_second=2e9)
    assert headline(load, both)["headline"] == "useful_bytes_per_second"
    assert headline(load, compute_row("a/b", 1, 2e9))["headline"] == "flops_per_second"
    row = headline(load, make_row("a/b", 3.0))
    assert (row["headline"], row["value"]) == ("seconds", 3.0)


def test_the_law_says_which_figure_it_is_about(load):
    row = make_row(
        "a/b", useful_bytes_per_second=1e9, flops_per_second=8e9, law=1e10, law_ratio=0.8
    )
    row = headline(load, row)
    assert (row["headline"], row["value"], row["law_value"]) == ("flops_per_second", 8e9, 1e10)


def test_one_flop_a_byte_does_not_part_a_row_from_its_sweep(load):
    rows = [
        make_row(
            f"a/b/fmas:{n}",
            useful_bytes_per_second=1e9,
            flops_per_second=n * 1e9,
            law=n * 1e9,
            law_ratio=1.0,
        )
        for n in (1, 2, 4)
    ]
    assert set(with_headline(load(rows).ok)["headline"]) == {"flops_per_second"}
    alone = with_headline(load(rows[:1]).ok)
    assert set(alone["headline"]) == {"useful_bytes_per_second"}


def test_a_law_in_no_known_figure_is_not_drawn_in_another_unit(load):
    row = headline(load, make_row("a/b", useful_bytes_per_second=1e9, law=4.0, law_ratio=2.0))
    assert row["headline"] == "useful_bytes_per_second"
    assert math.isnan(row["law_value"])


def test_interval_and_prediction_of_a_rate(load):
    # 8 GB in 4 s; 3.2 s would be 2.5 GB/s, 5 s 1.6 GB/s, and the model says 2 s.
    row = headline(
        load,
        make_row(
            "a/b",
            4.0,
            useful_bytes_per_second=2e9,
            ci_low_seconds=3.2,
            ci_high_seconds=5.0,
            model_seconds=2.0,
        ),
    )
    assert (row["low"], row["high"]) == pytest.approx((1.6e9, 2.5e9))
    assert row["predicted"] == pytest.approx(4e9)


def test_interval_and_prediction_of_a_time(load):
    row = headline(
        load, make_row("a/b", 4.0, ci_low_seconds=3.0, ci_high_seconds=5.0, model_seconds=2.0)
    )
    assert (row["low"], row["high"], row["predicted"]) == pytest.approx((3.0, 5.0, 2.0))


def test_the_longest_numeric_axis_is_x_and_others_are_series(load):
    rows = [
        bandwidth_row(f"c/k/dtype:{dtype}/stride:{stride}", 1e9)
        for dtype in ("fp64", "fp32")
        for stride in (8, 1, 64, 2)
    ]
    (panel,) = panels(with_headline(load(rows).ok))
    assert (panel.x_name, panel.numeric) == ("stride", True)
    assert [series.label for series in panel.series] == ["dtype fp64", "dtype fp32"]
    assert [series.x for series in panel.series] == [[1, 2, 8, 64]] * 2


def test_text_axes_keep_their_order(load):
    rows = [bandwidth_row(f"c/k/dtype:{dtype}/n:1", 1e9) for dtype in ("fp64", "bf16", "fp32")]
    (panel,) = panels(with_headline(load(rows).ok))
    assert (panel.x_name, panel.numeric, panel.title) == ("dtype", False, "k  (n 1)")
    assert panel.series[0].x == ["fp64", "bf16", "fp32"]


def test_a_panel_a_kernel_and_one_for_all_kernels_without_a_sweep(load):
    rows = [bandwidth_row(f"c/swept/n:{n}", 1e9) for n in (1, 2)]
    rows += [bandwidth_row(f"c/{kernel}", 1e9) for kernel in ("read", "write")]
    swept, alone = panels(with_headline(load(rows).ok))
    assert (swept.kernel, swept.x_name) == ("swept", "n")
    assert alone.series[0].x == ["read", "write"]


def test_too_many_series_are_spread_over_panels(load):
    rows = [
        bandwidth_row(f"c/k/n:{n}/ilp:{ilp}/block:{block}", 1e9)
        for n in (1, 2, 4, 8, 16)
        for ilp in (1, 2)
        for block in (32, 64, 128, 256)
    ]
    found = panels(with_headline(load(rows).ok))
    assert [panel.title for panel in found] == ["k  (ilp 1)", "k  (ilp 2)"]
    assert all(len(panel.series) <= MAX_SERIES for panel in found)
    assert sum(len(series.rows) for panel in found for series in panel.series) == len(rows)


def test_no_row_is_lost_between_panels(load):
    rows = [bandwidth_row(f"c/k/n:{n}", 1e9) for n in (1, 2)]
    rows += [compute_row(f"c/k/n:{n}", 1, 1e9) for n in (4, 8)]  # judged by another figure
    rows += [bandwidth_row(f"c/k/m:{m}", 1e9) for m in (1, 2)]  # another axis
    rows += [make_row("c/alone")]
    ok = with_headline(load(rows).ok)
    names = [name for p in panels(ok) for s in p.series for name in s.rows["name"]]
    assert sorted(names) == sorted(ok["name"])
    names = [name for _, series in sweeps(ok) for name in series.rows["name"]]
    assert sorted(names) == sorted(ok["name"])


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (4.4e12, "B/s", "4.40 TB/s"),
        (999.9e9, "B/s", "1.00 TB/s"),
        (999.4e9, "B/s", "999 GB/s"),
        (1000, "", "1.00 k"),
        (251.3e-6, "s", "251 µs"),
        (0, "s", "0.00 s"),
        (1.5, "", "1.50"),
        (-2e6, "B", "-2.00 MB"),
        (3e25, "B/s", "3.00e+25 B/s"),
    ],
)
def test_si(value, unit, expected):
    assert si(value, unit) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (8, "8"),
        (1024, "1 Ki"),
        (3 * 2**20, "3 Mi"),
        (50257, "50257"),
        (2**33, "8 Gi"),
        (0.125, "0.125"),
        ("bf16", "bf16"),
        (1000, "1000"),
    ],
)
def test_argument_text(value, expected):
    assert argument_text(value) == expected


def test_axes_without_a_known_unit_are_just_named():
    assert axis_title("stride") == "stride [elements]"
    assert axis_title("wibble") == "wibble"
