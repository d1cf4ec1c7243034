"""The matrix of pairs: every cell is a row, and what was skipped is hatched."""

import numpy as np
import pytest

from gpubench_reports.charts import matrix_chart
from gpubench_reports.charts.render import render

from .factory import bandwidth_row, coalescing_rows, make_row


def rate(start, end):
    return (2e12 if start == end else 4e11) + 1e9 * (4 * start + end)


def pair_rows(gpus=3, kernel="copy"):
    return [
        bandwidth_row(f"topology/{kernel}/from:{start}/to:{end}", rate(start, end))
        for start in range(gpus)
        for end in range(gpus)
    ]


def skipped(start, end):
    row = {
        "name": f"topology/copy/from:{start}/to:{end}",
        "skipped": True,
        "skip_reason": "needs 4 GPUs; there are 3",
        "concept": "topology",
        "kernel": "copy",
        "arguments": {"from": start, "to": end},
    }
    return {**row, "run_name": row["name"], "run_type": "iteration"}


def build(result):
    return matrix_chart.build("topology", result.rows, result.context)


def drawn(axes, gid):
    return [child for child in axes.get_children() if child.get_gid() == gid]


def test_cells_are_the_rows_own(load):
    (matrix,) = matrix_chart.matrices(load(pair_rows()).rows)
    assert matrix.members == [0, 1, 2]
    for start in range(3):
        for end in range(3):
            assert matrix.value[start, end] == pytest.approx(rate(start, end))
    (axes,) = build(load(pair_rows())).axes
    texts = {t.get_position(): t.get_text() for t in drawn(axes, "cell")}
    assert texts[2, 0] == "0.402", "from 0 to 2: a row from the top, a column from the left"
    assert axes.get_title(loc="left") == "copy: useful bandwidth [TB/s]"


def test_what_was_skipped_is_hatched_and_what_was_not_run_is_white(load):
    rows = [r for r in pair_rows() if r["name"] != "topology/copy/from:1/to:2"]
    figure = build(load([*rows, skipped(0, 3)]))
    (axes,) = figure.axes
    assert [patch.get_xy() for patch in drawn(axes, "lost")] == [(2.5, -0.5)]
    assert len(drawn(axes, "cell")) == 8
    (foot,) = [text.get_text() for text in figure.texts if text.get_gid() == "footnote"]
    assert foot == "Hatched: 1 needs 4 GPUs; there are 3."


def test_rows_of_a_word_are_judged_by_their_time(load):
    rows = [
        make_row(f"topology/latency/from:{a}/to:{b}", seconds, useful_bytes_per_second=4 / seconds)
        for a, b, seconds in ((0, 0, 2e-6), (0, 1, 3e-6), (1, 0, 3e-6), (1, 1, 2e-6))
    ]
    (matrix,) = matrix_chart.matrices(load(rows).rows)
    np.testing.assert_allclose(matrix.value, [[2e-6, 3e-6], [3e-6, 2e-6]])
    assert (matrix.title, matrix.unit) == ("time", "s")


def test_other_concepts_have_none(load):
    assert build(load(coalescing_rows())) is None


def test_render_draws_the_matrix_instead_of_lines(load, tmp_path):
    names = {path.name for path in render(load(pair_rows()), tmp_path / "charts")}
    assert "concept-topology-matrix.png" in names
    assert "concept-topology.png" not in names
