"""What a watched row was like over time is drawn as the file has it, or refused."""

import json

import numpy as np
import pytest

from gpubench_reports.charts import series_chart
from gpubench_reports.charts.render import render
from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.reader import read
from gpubench_reports.results.watched import series_beside

from .factory import bandwidth_row, make_context, make_document

NAME = "throttle/gemm"


def entry(**changes):
    moments = 20
    hot = ["" if i < 12 else "software thermal slow-down" for i in range(moments)]
    return {
        "name": NAME,
        "date": make_context()["date"],
        "figure": "flops_per_second",
        "verdict": "the silicon: throughput fell",
        "seconds": [0.1 * (i + 1) for i in range(moments)],
        "rate": [1e15 if not reason else 9e14 for reason in hot],
        "sm_clock_hz": [1.98e9 if not reason else 1.78e9 for reason in hot],
        "power_w": [None] * moments,
        "temperature_c": [60 + i for i in range(moments)],
        "reasons": hot,
        **changes,
    }


@pytest.fixture
def watched(write):
    """watched(*entries) -> the result file, with those lines beside it."""

    def write_both(*entries):
        path = write(make_document([bandwidth_row(NAME, 4e12)]), "run.json")
        write("".join(json.dumps(e) + "\n" for e in entries), "run.series.jsonl")
        return read(path)

    return write_both


def build(result):
    return series_chart.build("throttle", series_beside(result), result.context)


def test_lines_are_the_files_own(watched):
    figure = build(watched(entry()))
    rate, clock, temperature = figure.axes  # nobody told the power
    (line,) = [found for found in rate.get_lines() if found.get_gid() == "arithmetic rate"]
    np.testing.assert_allclose(line.get_xdata(), entry()["seconds"])
    np.testing.assert_allclose(line.get_ydata(), entry()["rate"])
    assert "GHz" in clock.get_ylabel()
    assert temperature.get_ylabel() == "temperature\n[°C]"
    assert all(axes.get_ylim()[0] == 0 for axes in figure.axes), "a fall is as large as it looks"
    (verdict,) = [text.get_text() for text in figure.texts if text.get_gid() == "verdict"]
    assert verdict == entry()["verdict"]


def test_stretches_that_the_driver_held_back_are_shaded(watched):
    (series,) = series_beside(watched(entry()))
    assert series_chart.held_back(series) == [(pytest.approx(1.2), pytest.approx(2.0))]
    always = entry(reasons=["software power cap"] * 20)
    (series,) = series_beside(watched(always))
    assert series_chart.held_back(series) == [(0.0, pytest.approx(2.0))]
    (series,) = series_beside(watched(entry(reasons=[None] * 20)))
    assert series_chart.held_back(series) == []


def test_two_rows_are_two_columns(watched):
    other = entry(name="throttle/stream", figure="useful_bytes_per_second", power_w=[500.0] * 20)
    figure = build(watched(entry(), other))
    assert len(figure.axes) == 8, "rate, clock, power and temperature of each"


def test_an_older_runs_series_are_not_drawn(watched):
    assert series_beside(watched(entry(date="2025-01-01T00:00:00+00:00"))) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"rate": [1.0]}, "'rate' must be as long as 'seconds'"),
        ({"figure": "beauty"}, "'figure' is none that a row is judged by"),
        ({"seconds": []}, "'seconds' must hold one number at least"),
        ({"reasons": [3] * 20}, "'reasons' must be a list of words"),
        ({"power_w": 7}, "'power_w' must be a list"),
    ],
)
def test_damage_is_one_line(watched, changes, problem):
    with pytest.raises(ReportError, match=f"line 1: {problem}"):
        series_beside(watched(entry(**changes)))


@pytest.mark.parametrize("line", ["{not json", "[" * 100_000])
def test_a_line_that_is_no_json_is_named(watched, write, line):
    result = watched(entry())
    write(f"{line}\n", "run.series.jsonl")
    with pytest.raises(ReportError, match="line 1: not valid JSON"):
        series_beside(result)


def test_render_writes_it(watched, tmp_path):
    names = {path.name for path in render(watched(entry()), tmp_path / "charts")}
    assert {"concept-throttle-series.png", "concept-throttle-series.svg"} <= names
