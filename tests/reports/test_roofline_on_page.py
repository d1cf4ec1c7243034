"""The roofline of a page: few names, a look per concept."""

from gpubench_reports.charts.points import named_points
from gpubench_reports.charts.roofline.on_page import MOST_NAMES, build, chosen
from gpubench_reports.charts.roofline.sweeps import find_sweeps

from .factory import compute_row, make_row


def many(concepts=8, rows=6):
    return [
        compute_row(f"concept{c}/kernel{k}/n:{n}", 2.0**n, 1e12 * (c + 1) * (k + 1) * n)
        for c in range(concepts)
        for k in range(2)
        for n in range(1, rows + 1)
    ]


def texts(figure):
    return [t.get_text() for axes in figure.axes for t in axes.texts if "/" in t.get_text()]


def test_about_ten_of_many_points_are_named(load):
    result = load(many())
    figure = build(result.rows, result.context)
    named = [text for text in texts(figure) if text.startswith("concept")]
    assert 7 <= len(named) <= MOST_NAMES == 10


def test_the_fastest_of_each_concept_is_named_and_then_the_slowest(load):
    result = load(many(concepts=2, rows=2))
    found = chosen(find_sweeps(result.rows))
    assert [(concept, kernel) for *_, kernel, concept in found] == [
        ("concept1", "kernel1"),
        ("concept0", "kernel1"),
        ("concept0", "kernel0"),
        ("concept1", "kernel0"),
    ]
    fastest = max(row["flops_per_second"] for row in many(concepts=2, rows=2))
    assert found[0][1] == fastest


def test_every_row_is_a_point_and_a_concept_has_one_colour(load):
    rows = many(concepts=3)
    result = load(rows)
    figure = build(result.rows, result.context)
    points = named_points(figure)
    assert {point.name for point in points} == {row["name"] for row in rows}
    assert all(0 < point.x < 1 and 0 < point.y < 1 for point in points)
    looks = {}
    for line in figure.axes[0].lines:
        if str(line.get_gid()).startswith("concept "):
            looks.setdefault(line.get_gid(), set()).add((line.get_color(), line.get_marker()))
    assert sorted(looks) == ["concept concept0", "concept concept1", "concept concept2"]
    assert all(len(found) == 1 for found in looks.values())
    assert len(set.union(*looks.values())) == 3


def test_without_intensities_there_is_no_roofline(load):
    result = load([make_row("a/b/n:1")])
    assert build(result.rows, result.context) is None
