"""The model against measurement: pairing, errors, what counts as fitted, table and chart."""

import json
import re

import numpy as np
import pytest

from gpubench_reports.charts import validate_chart
from gpubench_reports.commands.command_line import main
from gpubench_reports.common.errors import ReportError
from gpubench_reports.comparisons.fitted import Fitted
from gpubench_reports.comparisons.validate import summary, validate, worst
from gpubench_reports.results.baselines import baseline
from gpubench_reports.results.reader import read

from .factory import bandwidth_row, make_document, make_roofs, make_row, roof


def row(name, seconds, predicted=None, **more):
    return make_row(name, seconds, **({"model_seconds": predicted} if predicted else {}), **more)


def test_errors_are_signed_and_of_time(load):
    found = validate([load([row("a/b", 2e-3, 3e-3), row("a/c", 2e-3, 1e-3)])])
    assert list(found.rows["error"]) == pytest.approx([0.5, -0.5])
    assert list(found.rows["fitted"]) == [False, False]
    assert found.unmatched == 0


def test_rows_without_a_prediction_are_counted_not_compared(load):
    found = validate([load([row("a/b", 2e-3, 3e-3), row("a/c", 2e-3)])])
    assert list(found.rows["name"]) == ["a/b"]
    assert found.unmatched == 1


def test_a_modelled_file_of_the_same_device_and_mode_predicts(write):
    def file(name, seconds, **context):
        return read(write(make_document([row("a/b", seconds)], **context), name))

    measured = file("measured.json", 2e-3)
    same = file("model.json", 1e-3, device_kind="model")
    found = validate([same, measured])
    assert list(found.rows["predicted"]) == [1e-3]
    for unlike in ({"device": "h100-sxm"}, {"mode": "hot"}):
        with pytest.raises(ReportError, match="has no row with a prediction"):
            validate([measured, file("other.json", 1e-3, device_kind="model", **unlike)])


def test_a_row_bound_by_a_calibrated_figure_is_fitted(load):
    roofs = [*make_roofs(), roof("l2", "bandwidth", 9e12, "calibrated")]
    rows = [row("a/b", 2e-3, 3e-3, label="l2"), row("a/c", 2e-3, 3e-3, label="dram")]
    assert list(validate([load(rows, roofs=roofs)]).rows["fitted"]) == [True, False]


@pytest.mark.parametrize(
    ("name", "label", "fitted"),
    [
        ("stream/copy/n:1", "dram", True),  # dram_mixed_efficiency
        ("memory_hierarchy/read/size:8388608", "l2", True),
        ("memory_hierarchy/chase/size:16384", "latency", True),
        ("transfer/d2h/memory:pinned/size:16777216", "link", True),
        ("transfer/h2d/memory:pinned/size:16777216", "link", False),
        ("transfer/d2h/memory:pageable/size:16777216", "link", False),
        ("tile_alignment/odd_k/dtype:bf16/k:4033", "tensor", True),  # gemm_unaligned_efficiency
        ("compute_peak/wgmma/dtype:bf16", "tensor", False),
        ("compute_peak/fma/dtype:fp32", "fp32", False),
        ("launch_overhead/empty_row/by:graph/launches:1", "launch", False),
    ],
)
def test_a_shipped_device_says_which_figures_were_calibrated(name, label, fitted):
    """17 of the H100's, by a run on one."""
    assert Fitted(baseline("h100-sxm").context).limits({"name": name, "label": label}) is fitted


def test_what_was_predicted_before_the_calibration_is_held_out(load):
    roofs = [roof("l2", "bandwidth", 9e12, "data_sheet")]
    rows = [row("a/b", 2e-3, 3e-3, label="l2"), row("a/c", 2e-3, 3e-3, label="dram")]
    found = validate([load(rows, device="h100-sxm", roofs=roofs)])
    assert list(found.rows["fitted"]) == [False, False]


def test_ones_own_calibrated_device_file_may_have_any_figure_fitted(write):
    def file(name, **context):
        rows = [row("a/b", 2e-3, label="latency")]
        return read(write(make_document(rows, **context), name))

    roofs = [roof("l2", "bandwidth", 9e12, "calibrated")]
    own = {"device_kind": "model", "own_device_file": True}
    measured = file("measured.json")
    assert list(validate([measured, file("own.json", roofs=roofs, **own)]).rows["fitted"]) == [True]
    assert list(validate([measured, file("new.json", **own)]).rows["fitted"]) == [False]


def test_throttled_rows_are_named(write, tmp_path, capsys):
    rows = [row("a/b", 2e-3, 3e-3, throttled=1.0), row("a/c", 2e-3, 3e-3, throttled=0.0)]
    paths = [str(write(make_document(rows, date=f"2026-11-2{n}"), f"{n}.json")) for n in (1, 2)]
    assert main(["validate", paths[0], f"--out={tmp_path / 'charts'}"]) == 0
    said = "row(s)? used, 1 was held back or did not converge: a/b"
    assert re.search(said, capsys.readouterr().out)
    assert main(["agree", *paths]) == 0
    assert re.search(rf"{said} \(throttled in 1.json; throttled in 2.json\)", one_line(capsys))
    assert main(["agree", *paths, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in found["doubts"]] == ["a/b"]


def one_line(capsys):
    return " ".join(capsys.readouterr().out.split())


def test_summary_keeps_the_sign_and_judges_by_the_target(load):
    rows = [row("a/b", 1.0, 1.2), row("a/c", 1.0, 0.7), row("d/e", 1.0, 1.01)]
    lines = summary(validate([load(rows)]).rows, "concept").set_index("concept")
    assert lines.loc["a", "rows"] == 2
    assert lines.loc["a", "mean"] == pytest.approx(-0.05)
    assert lines.loc["a", "mape"] == pytest.approx(0.25)
    assert lines.loc["a", "worst"] == pytest.approx(-0.3)
    assert lines.loc["a", "met"] == 1
    assert lines.loc["d", "met"] == 1


def test_a_fitted_row_has_the_stricter_target(load):
    roofs = [*make_roofs(), roof("l2", "bandwidth", 9e12, "calibrated")]
    rows = [row("a/b", 1.0, 1.2, label="l2"), row("a/c", 1.0, 1.2, label="dram")]
    found = validate([load(rows, roofs=roofs)]).rows
    assert list(summary(found, "fitted")["met"]) == [0, 1]


def test_the_worst_come_first_whatever_their_sign(load):
    rows = [row("a/b", 1.0, 1.1), row("a/c", 1.0, 0.5), row("a/d", 1.0, 1.3)]
    assert list(worst(validate([load(rows)]).rows, 2)["name"]) == ["a/c", "a/d"]


def test_the_chart_shows_every_row_twice_and_fitted_ones_hollow(load):
    roofs = [*make_roofs(), roof("l2", "bandwidth", 9e12, "calibrated")]
    rows = [
        bandwidth_row("a/b", 1e12),
        bandwidth_row("a/c", 2e12, label="l2"),
        bandwidth_row("d/e", 4e12),
    ]
    figure = validate_chart.build(validate([load(rows, roofs=roofs)]))
    for axes in figure.axes:
        points = {line.get_gid(): line for line in axes.lines if ":" in (line.get_gid() or "")}
        assert set(points) == {"held-out:a", "fitted:a", "held-out:d"}
        assert points["fitted:a"].get_markerfacecolor() == "none"
        assert points["held-out:a"].get_markerfacecolor() != "none"
    scatter, errors = figure.axes
    [line] = [line for line in scatter.lines if line.get_gid() == "held-out:d"]
    np.testing.assert_allclose(line.get_ydata() / line.get_xdata(), 1.05)
    [line] = [line for line in errors.lines if line.get_gid() == "held-out:d"]
    np.testing.assert_allclose(line.get_xdata(), 5.0)


def test_command(write, tmp_path, capsys):
    rows = [row("a/b", 2e-3, 3e-3), row("a/c", 2e-3, 1.9e-3), row("d/e", 1e-6, 1e-6)]
    path = write(make_document(rows))
    assert main(["validate", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "+50.0 %" in printed
    assert "-5.0 %" in printed
    assert "3 rows compared, 0 measured without a prediction" in printed
    drawn = sorted(file.name for file in (tmp_path / "run-validation").iterdir())
    assert drawn == ["validation.png", "validation.svg"]


def test_a_validation_for_other_programs(write, tmp_path, capsys):
    rows = [row("a/b", 2e-3, 3e-3), row("a/c", 2e-3)]
    path = write(make_document(rows), "run.json")
    assert main(["validate", str(path), "--json", f"--out={tmp_path / 'charts'}"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"][0]["name"], found["rows"][0]["error"]) == ("a/b", pytest.approx(0.5))
    assert [line["mape"] for line in found["held_out"]] == [pytest.approx(0.5)]
    assert (found["fitted"], found["unmatched"]) == ([], 1)


def test_a_modelled_file_alone_is_refused_in_one_line(write, capsys):
    path = write(json.dumps(make_document([row("a/b", 1.0)], device_kind="model")))
    assert main(["validate", str(path)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "a validation needs a measured file" in line
