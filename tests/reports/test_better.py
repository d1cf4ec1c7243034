"""Whether higher or lower is better of a figure is answered in one place, and holds everywhere."""

import json

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.comparisons import speedups
from gpubench_reports.comparisons.compare import compare
from gpubench_reports.comparisons.points import read_points
from gpubench_reports.comparisons.published import compare_points
from gpubench_reports.comparisons.ranges import Range
from gpubench_reports.results.quantities import better_of
from gpubench_reports.results.reader import read
from gpubench_reports.results.rows import COUNTERS
from gpubench_reports.rules.verdicts.verdict import EXPECTED, HIGH, LOW

from .factory import make_document, make_row
from .judging import one

# Figures that rows are judged by, with one that only its row knows.
FIGURES = {
    "latency_seconds": ("s", "lower"),
    "load_cycles": ("clocks", "lower"),
    "waste": ("", "lower"),
    "useful_bytes_per_second": ("B/s", "higher"),
    "flops_per_second": ("OP/s", "higher"),
    "tokens_per_second": ("/s", "higher"),
}


def judged_by(figure, slowdown=1.0, name="a/b/n:1", **more):
    unit, better = FIGURES[figure]
    value = 100 * (slowdown if better == "lower" else 1 / slowdown)
    headline = {"name": figure, "unit": unit, "better": better}
    interval = {"ci_low_seconds": slowdown * 0.999, "ci_high_seconds": slowdown * 1.001}
    return make_row(name, slowdown, headline=headline, **{figure: value}, **interval, **more)


@pytest.fixture
def files(write):
    """files(rows, rows, ...) -> the path of a result file for each."""

    def make(*documents):
        context = {"schema_version": 2, "roofs": []}
        return [
            write(make_document(rows, git_commit=f"{at}" * 8, **context), f"{at}.json")
            for at, rows in enumerate(documents)
        ]

    return make


@pytest.mark.parametrize("figure", FIGURES)
def test_a_row_that_takes_twice_as_long_is_half_as_fast_by_any_figure(files, figure, capsys):
    fast, slow = files([judged_by(figure)], [judged_by(figure, 2)])
    row = compare(read(fast), read(slow)).rows.iloc[0]
    assert (row["headline"], row["ratio"], row["verdict"]) == (figure, 0.5, "slower")
    assert row["low"] < row["ratio"] < row["high"]
    assert row["better"] == FIGURES[figure][1]
    assert main(["compare", str(fast), str(slow), "--fail-on=5%"]) == 1
    assert "50.0% slower" in capsys.readouterr().err
    assert main(["compare", str(slow), str(fast), "--fail-on=5%"]) == 0
    assert "0 slower, 1 faster, best +100 %" in capsys.readouterr().out


def test_a_figure_of_which_the_files_disagree_what_is_better_is_left_for_time(files):
    other = judged_by("waste", 2)
    other["headline"] = {"name": "waste", "unit": "", "better": "higher"}
    a, b = (read(path) for path in files([judged_by("waste")], [other]))
    row = compare(a, b).rows.iloc[0]
    assert (row["headline"], row["better"], row["ratio"]) == ("seconds", "lower", 0.5)


@pytest.mark.parametrize("figure", FIGURES)
def test_types_are_compared_by_what_is_better(files, figure):
    rows = [
        judged_by(figure, slowdown, f"a/b/dtype:{dtype}", roof_fraction=0.8 / slowdown)
        for dtype, slowdown in (("fp32", 1), ("fp64", 2))
    ]
    (path,) = files(rows)
    for of_roof in (False, True):
        (lines,) = speedups.table([read(path)], "dtype", of_roof).lines.values()
        assert list(lines["ratio"]) == [pytest.approx(0.5)]


def test_types_judged_by_time_are_compared_by_the_roof_they_reach(files):
    rows = [
        make_row(
            f"a/b/dtype:{dtype}",
            roof_fraction=share,
            headline={"name": "seconds", "unit": "s", "better": "lower"},
        )
        for dtype, share in (("fp32", 0.8), ("fp64", 0.4))
    ]
    (path,) = files(rows)
    (lines,) = speedups.table([read(path)], "dtype", of_roof=True).lines.values()
    assert list(lines["ratio"]) == [pytest.approx(0.5)]


@pytest.mark.parametrize("figure", ["latency_seconds", "latency_cycles", "load_cycles", "joules"])
def test_more_of_a_recorded_cost_is_low(load, figure):
    recorded = [Range("a/b", figure, 95.0, 105.0, "two runs")]
    for value, grade in ((100, EXPECTED), (200, LOW), (50, HIGH)):
        assert one(load, make_row("a/b", **{figure: value}), recorded).grade == grade


@pytest.mark.parametrize("figure", ["latency_seconds", "latency_cycles", "joules_per_flop"])
def test_a_model_of_twice_the_published_latency_is_too_slow(load, tmp_path, figure):
    point = {"what": "x", "value": 50, "row": "a/b", "quantity": figure, "fitted": False}
    head = dict.fromkeys(("source", "url", "measured_on", "unlike"), "x")
    (folder := tmp_path / "points").mkdir()
    (folder / "one.json").write_text(
        json.dumps({"schema": 1, "device": "h200-sxm", **head, "points": [point]})
    )
    result = load([make_row("a/b", **{figure: 100})], device_kind="model")
    assert list(compare_points(read_points(folder), [result])["error"]) == [1.0]


def test_a_rate_is_better_higher_and_a_cost_lower():
    lower = {name for name in COUNTERS if better_of(name) == "lower"}
    assert not [name for name in lower if name.endswith("_per_second")]
    for name in ("latency_cycles", "fit_latency_seconds", "joules_per_token", "relative_error"):
        assert name in lower
    assert better_of("tokens_per_second") == "higher"
    assert better_of("seconds") == "lower"
