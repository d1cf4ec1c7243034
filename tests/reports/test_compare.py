"""Ratios of two files, with numbers that can be checked by eye."""

import json
import math
import re

import pytest

from gpubench_reports.charts import compare_chart
from gpubench_reports.commands import compare as command
from gpubench_reports.commands.command_line import main
from gpubench_reports.common.errors import ReportError
from gpubench_reports.comparisons.compare import compare, counted, signed
from gpubench_reports.pages.answers import concepts_moved
from gpubench_reports.results.reader import read

from .factory import make_document, make_row


@pytest.fixture
def pair(write):
    """pair(rows_a, rows_b, context changes of B) -> Comparison."""

    def make(rows_a, rows_b, **context):
        a = read(write(make_document(rows_a), "a.json"))
        return compare(a, read(write(make_document(rows_b, **context), "b.json")))

    return make


def timed(name, seconds, low=None, high=None, **counters):
    interval = {} if low is None else {"ci_low_seconds": low, "ci_high_seconds": high}
    return make_row(name, seconds, **interval, **counters)


def test_changed_rows_that_a_file_holds_back_are_named(pair, capsys):
    """The one before was throttled, or never became steady: nothing has become faster."""
    held = {"a/b": {"throttled": 1}, "a/c": {"converged": False}, "a/d": {"throttled": True}}
    before = [timed(name, 1.0 if name == "a/d" else 1.3) | row for name, row in held.items()]
    found = pair(before, [timed(name, 1.0) for name in held])
    said = "A: of the 2 rows that changed, 2 were held back or did not converge: "
    assert found.doubts == [f"{said}a/b (throttled), a/c (not converged)"]
    paths = [str(found.a.path), str(found.b.path)]
    assert main(["compare", *paths]) == 0
    assert f"!  {said}" in capsys.readouterr().out
    assert main(["compare", "--json", *paths]) == 0
    assert json.loads(capsys.readouterr().out)["doubts"] == found.doubts
    assert main(["markdown", *reversed(paths)]) == 0
    assert f"> {said}" in capsys.readouterr().out


def test_half_the_time_is_twice_as_fast(pair):
    row = pair([timed("a/b", 2.0)], [timed("a/b", 1.0)]).rows.iloc[0]
    assert (row["a"], row["b"], row["ratio"]) == pytest.approx((2.0, 1.0, 2.0))
    assert math.isnan(row["low"])
    assert row["verdict"] == "unknown"


def test_rates_are_compared_as_rates(pair):
    row = pair(
        [make_row("a/b", 2.0, useful_bytes_per_second=1e9)],
        [make_row("a/b", 1.0, useful_bytes_per_second=3e9)],
    ).rows.iloc[0]
    assert row["headline"] == "useful_bytes_per_second"
    assert row["ratio"] == pytest.approx(3.0)


def test_different_figures_fall_back_to_time(pair):
    row = pair(
        [make_row("a/b", 2.0, useful_bytes_per_second=1e9)],
        [make_row("a/b", 1.0, flops_per_second=1e9)],
    ).rows.iloc[0]
    assert (row["headline"], row["ratio"]) == ("seconds", pytest.approx(2.0))


def test_interval_is_pythagoras_on_the_logarithm(pair):
    # A is known to a factor e^0.03 either way, B to e^0.04: the ratio to e^0.05.
    a = timed("a/b", 1.0, math.exp(-0.03), math.exp(0.03))
    b = timed("a/b", 1.0, math.exp(-0.04), math.exp(0.04))
    row = pair([a], [b]).rows.iloc[0]
    assert row["ratio"] == pytest.approx(1.0)
    assert (row["low"], row["high"]) == pytest.approx((math.exp(-0.05), math.exp(0.05)))


def test_the_ends_of_lopsided_intervals_go_to_the_right_sides(pair):
    # Only A may have been faster than its median, so only B / A may be lower.
    row = pair([timed("a/b", 1.0, 0.8, 1.0)], [timed("a/b", 1.0, 1.0, 1.0)]).rows.iloc[0]
    assert (row["low"], row["high"]) == pytest.approx((0.8, 1.0))
    # Only B may have been slower.
    row = pair([timed("a/b", 1.0, 1.0, 1.0)], [timed("a/b", 1.0, 1.0, 1.25)]).rows.iloc[0]
    assert (row["low"], row["high"]) == pytest.approx((0.8, 1.0))


@pytest.mark.parametrize(
    ("seconds", "verdict"), [(0.5, "faster"), (2.0, "slower"), (1.001, "same")]
)
def test_verdicts(pair, seconds, verdict):
    a = timed("a/b", 1.0, 0.99, 1.01)
    b = timed("a/b", seconds, seconds * 0.99, seconds * 1.01)
    assert list(pair([a], [b]).rows["verdict"]) == [verdict]


def test_rows_of_one_file_only_are_listed_with_the_reason(pair):
    skipped = {"name": "a/c", "skipped": True, "skip_reason": "no such unit"}
    found = pair(
        [timed("a/b", 1.0), timed("a/c", 1.0)], [timed("a/b", 1.0), timed("a/d", 1.0), skipped]
    )
    assert list(found.rows["name"]) == ["a/b"]
    assert found.only_a == [("a/c", "skipped there: no such unit")]
    assert found.only_b == [("a/d", "absent there")]


def test_files_that_are_alike_have_no_warnings(pair):
    assert pair(None, None).warnings == []


@pytest.mark.parametrize(
    ("context", "warning"),
    [
        (
            {"device_kind": "model"},
            "A is measured and B is modelled: the ratios are errors of the model, not speed-ups",
        ),
        (
            {"device": "a100", "device_title": "NVIDIA A100"},
            "the devices differ: A is NVIDIA H200 SXM 141 GB, B is NVIDIA A100",
        ),
        ({"mode": "hot"}, "the modes differ: A is cold, B is hot"),
    ],
)
def test_unlike_files_are_compared_loudly(pair, capsys, context, warning):
    found = pair(None, None, **context)
    assert found.warnings == [warning]
    (figure,) = compare_chart.build(found)
    assert [t.get_text() for t in figure.texts if t.get_gid() == "warning"] == [f"! {warning}"]
    marks = [t.get_text() for t in figure.texts if t.get_gid() == "watermark"]
    assert marks == (["MODEL against MEASUREMENT"] if "device_kind" in context else [])
    assert main(["compare", str(found.a.path), str(found.b.path)]) == 0
    assert f"!  {warning}\n" in capsys.readouterr().out


def test_two_modelled_files_say_so(write):
    path = write(make_document(device_kind="model"))
    found = compare(read(path), read(path))
    assert found.warnings == [
        "both files are modelled: the ratios are predictions, nothing was measured"
    ]
    (figure,) = compare_chart.build(found)
    assert "MODELLED, not measured" in [text.get_text() for text in figure.texts]


def test_nothing_in_common_is_an_error(pair):
    with pytest.raises(ReportError, match="has no row in common with"):
        pair([timed("a/b", 1.0)], [timed("c/d", 1.0)])


def test_chart_shows_each_ratio_and_its_interval(pair):
    rows = [timed("a/x", 2.0, 1.9, 2.1), timed("a/y", 3.0), timed("b/x", 1.0, 0.9, 1.1)]
    halved = [timed("a/x", 1.0, 0.9, 1.1), timed("a/y", 1.0), timed("b/x", 1.0, 0.9, 1.1)]
    found = pair(rows, halved)
    (figure,) = compare_chart.build(found)
    (axes,) = figure.axes
    points = [line.get_xdata()[0] for line in axes.get_lines() if line.get_gid() == "ratio"]
    assert points == pytest.approx([2.0, 3.0, 1.0])
    spans = [line.get_xdata() for line in axes.get_lines() if line.get_gid() == "interval"]
    timed_rows = found.rows[found.rows["low"].notna()]
    assert [tuple(span) for span in spans] == [
        pytest.approx((low, high))
        for low, high in zip(timed_rows["low"], timed_rows["high"], strict=True)
    ]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["x", "y", "x"]


def test_long_comparisons_take_several_pages(pair):
    rows = [timed(f"a/b/n:{n}", 1.0) for n in range(compare_chart.ROWS_A_PAGE + 1)]
    pages = compare_chart.build(pair(rows, rows))
    shown = [len(page.axes[0].get_yticklabels()) for page in pages]
    assert shown == [compare_chart.ROWS_A_PAGE, 1]


def test_the_table_has_the_ratio(pair, capsys, tmp_path):
    # The two uncertainties are sides 3 and 4 of a triangle whose side 5 is a factor of 1.05.
    down, up = math.log(1.05) * 0.6, math.log(1.05) * 0.8
    a = timed("a/b", 2.0, 2.0 * math.exp(-down), 2.0 * math.exp(down))
    found = pair([a], [timed("a/b", 1.0, math.exp(-up), math.exp(up))])
    main(["compare", str(found.a.path), str(found.b.path), "--out", str(tmp_path / "out")])
    output = capsys.readouterr().out
    (line,) = [line for line in output.splitlines() if line.startswith(" a/b")]
    assert line.split() == [
        "a/b",
        "2.00",
        "s",
        "1.00",
        "s",
        "2.000",
        "1.905",
        "…",
        "2.100",
        "faster",
    ]
    assert output.splitlines()[-2:] == [
        str(tmp_path / "out" / "compare.png"),
        str(tmp_path / "out" / "compare.svg"),
    ]


def test_what_changed_comes_first_and_the_rest_is_counted(pair, capsys, tmp_path):
    def rows(*seconds):
        return [timed(f"a/b/n:{n}", s, s * 0.99, s * 1.01) for n, s in enumerate(seconds)]

    found = pair(rows(1, 1, 1, 1), rows(1, 0.5, 1.001, 4))
    paths = [str(found.a.path), str(found.b.path)]
    assert main(["compare", *paths]) == 0
    output = capsys.readouterr().out
    assert re.findall(r"^ (a/b/n:\d)", output, re.MULTILINE) == ["a/b/n:3", "a/b/n:1"]
    assert "\n1 slower, 1 faster, worst -75 %: a/b/n:3\n" in output
    assert "4 rows in both: B is faster in 1, B is slower in 1, 2 show no difference" in output
    assert "2 rows not printed: --all prints them" in output
    assert list(tmp_path.glob("*-charts")) == [], "nobody asked for charts"
    assert main(["compare", "--all", *paths]) == 0
    output = capsys.readouterr().out
    changed, others = ["a/b/n:3", "a/b/n:1"], ["a/b/n:0", "a/b/n:2"]
    assert re.findall(r"^ (a/b/n:\d)", output, re.MULTILINE) == [*changed, *others]
    assert "--all" not in output


def test_what_one_file_lacks_is_cut_unless_all_is_asked_for(pair, capsys):
    found = pair([timed(f"a/b/n:{n}", 1.0) for n in range(13)], [timed("a/b/n:0", 1.0)])
    paths = [str(found.a.path), str(found.b.path)]
    assert main(["compare", *paths]) == 0
    assert "  and 2 more: --all prints them" in capsys.readouterr().out
    assert main(["compare", "--all", *paths]) == 0
    assert "a/b/n:12: absent there" in capsys.readouterr().out


def test_charts_are_drawn_where_asked(pair, capsys):
    found = pair([timed("a/b", 1.0)], [timed("a/b", 2.0)])
    assert main(["compare", "--charts", str(found.a.path), str(found.b.path)]) == 0
    folder = found.b.path.parent / "a-vs-b-charts"
    assert sorted(path.name for path in folder.iterdir()) == ["compare.png", "compare.svg"]


def slower_by(percent, low=None, high=None):
    seconds = 1 + percent / 100
    return [timed("a/b", seconds, low and seconds * low, high and seconds * high), timed("a/c", 1)]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (slower_by(4), 0),
        (slower_by(6), 1),
        (slower_by(6, 0.97, 1.03), 0),  # its interval reaches what is allowed
        (slower_by(9, 0.99, 1.01), 1),
        (slower_by(-20), 0),
        (slower_by(0)[1:], 1),  # A's other row is not in B
    ],
)
def test_slower_rows_fail_where_that_is_asked_for(write, capsys, row, code):
    a = timed("a/b", 1, 0.999, 1.001)
    files = [
        str(write(make_document(rows), name))
        for rows, name in (([a, timed("a/c", 1)], "a.json"), (row, "b.json"))
    ]
    assert main(["compare", *files]) == 0
    capsys.readouterr()
    assert main(["compare", *files, "--fail-on=5%"]) == code
    said = capsys.readouterr().err
    assert said.startswith("1 row of B beyond --fail-on=5%:\n  a/") == bool(code)


def test_a_comparison_for_other_programs(write, capsys):
    files = [
        str(write(make_document([timed("a/b", seconds)]), name))
        for seconds, name in ((2, "a.json"), (1, "b.json"))
    ]
    assert main(["compare", *files, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = found["rows"]
    assert (row["name"], row["ratio"], row["low"]) == ("a/b", 2, None)


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--fail-on=x", "'x' is no percentage from 0 to 100, such as 5%"),
        ("--fail-on=-1", "no percentage"),
        ("--fail-on=nan", "no percentage"),
    ],
)
def test_what_is_no_percentage_is_refused(write, capsys, flag, said):
    with pytest.raises(SystemExit) as ended:
        main(["compare", "a.json", "b.json", flag])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_file_is_no_proof_against_itself(write, capsys):
    path = write(make_document([timed("a/b", 1)]), "a.json")
    (link := path.with_name("link.json")).symlink_to(path)
    for other in (path, link):
        assert main(["compare", str(path), str(other), "--fail-on=5%"]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err == (
            f"gpubench-report: {other}: is both A and B: with --fail-on, it would always pass\n"
        )
        assert main(["compare", str(path), str(other)]) == 0  # which decides nothing
        capsys.readouterr()


def test_only_concepts_that_moved_are_listed_the_worst_first(pair, capsys):
    def rows(factor):
        slow = [timed(f"a/b/n:{n}", 1.0, 0.99, 1.01) for n in range(3)]
        slow += [timed(f"{c}/b/n:{n}", f, f * 0.99, f * 1.01) for c, f, n in factor]
        return slow

    before = rows([("b", 1.0, 0), ("c", 1.0, 0), ("c", 1.0, 1)])
    after = rows([("b", 2.0, 0), ("c", 1.25, 0), ("c", 0.5, 1)])
    found = pair(before, after)
    moved = concepts_moved(found)
    assert [(m.concept, m.slower, m.faster, m.rows) for m in moved] == [
        ("b", 1, 0, 1),
        ("c", 1, 1, 2),
    ]
    assert main(["compare", str(found.a.path), str(found.b.path)]) == 0
    output = capsys.readouterr().out
    assert re.search(r"^ b +1 +0 +1 +-50 % +-50 %", output, re.MULTILINE), output
    assert not re.search(r"^ a +\d", output, re.MULTILINE)


def test_the_best_is_told_where_nothing_is_slower(pair):
    def rows(seconds):
        return [timed(f"a/b/n:{n}", s, s * 0.99, s * 1.01) for n, s in enumerate(seconds)]

    assert counted(pair(rows([1, 1]), rows([1, 0.5]))) == (
        "0 slower, 1 faster, best +100 %",
        "a/b/n:1",
    )
    assert counted(pair(rows([1, 1]), rows([1, 1]))) == ("0 slower, 0 faster of 2 rows", "")


def test_intervals_without_a_width_are_not_printed(pair, capsys):
    def rows(seconds):
        return [timed("a/b/n:1", seconds, seconds, seconds)]

    found = pair(rows(1.0), rows(2.0))
    assert main(["compare", str(found.a.path), str(found.b.path)]) == 0
    output = capsys.readouterr().out
    assert "0.500" in output
    assert "…" not in output
    assert "95 % interval" not in output


def modelled(file, name, rows):
    """The file of a model's run with these rows."""
    return read(file(make_document(rows, device_kind="model"), name))


def test_a_model_has_no_noise_so_two_modelled_times_differ_or_do_not(write, capsys):
    times = (1.0, 1.0), (1.0, 1.0004), (1.0, 1.01)
    a, b = (
        modelled(write, f"{side}.json", [timed(f"a/b/n:{n}", t[side]) for n, t in enumerate(times)])
        for side in (0, 1)
    )
    assert list(compare(a, b).rows["verdict"]) == ["same", "same", "slower"]
    assert main(["compare", str(a.path), str(b.path), "--all"]) == 0
    assert "interval" not in capsys.readouterr().out


def test_a_measured_row_differs_from_a_prediction_by_more_than_the_models_error(write):
    bounds = {"model_low_seconds": 0.8, "model_high_seconds": 1.25}
    a = modelled(write, "a.json", [timed(f"a/b/n:{n}", 1.0, **bounds) for n in range(2)])
    seconds = (1.1, 1.5)
    measured = [timed(f"a/b/n:{n}", t, t * 0.99, t * 1.01) for n, t in enumerate(seconds)]
    b = read(write(make_document(measured), "b.json"))
    assert list(compare(a, b).rows["verdict"]) == ["same", "slower"]


@pytest.mark.parametrize(
    ("ratio", "words"), [(0.91, "-9 %"), (0.9157, "-8.4 %"), (1.00016, "+0 %"), (1.407, "+41 %")]
)
def test_a_ratio_is_told_as_what_is_more_or_less(ratio, words):
    assert signed(ratio) == words


def test_an_error_of_the_program_is_no_slower_row(tmp_path, monkeypatch, capsys):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(make_document()))
    monkeypatch.setattr(command, "_compare_two", lambda *_: 1 // 0)
    assert main(["compare", str(path), str(path), "--fail-on=5%"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("gpubench-report: internal error at test_compare.py:")
