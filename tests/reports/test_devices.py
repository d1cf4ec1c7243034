"""Rooflines of several devices, and of the levels of memory of one."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from gpubench_reports.charts import devices_chart, levels_chart
from gpubench_reports.charts.points import named_points
from gpubench_reports.commands.command_line import main
from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.device_roofs import read_device_roofs

from .factory import DRAM, FP32, compute_row, make_document, roofline_rows

DEVICES = Path(__file__).parents[2] / "harness" / "devices"


def drawn(figure, start):
    lines = figure.axes[0].get_lines()
    return [line for line in lines if str(line.get_gid()).startswith(start)]


def test_every_device_file_has_a_roofline():
    files = [path for path in sorted(DEVICES.glob("*.json")) if path.name != "schema.json"]
    machines = [read_device_roofs(path) for path in files]
    figure = devices_chart.build(machines, ["tensor_bf16"])
    assert len(drawn(figure, "roof:")) == len(files) >= 10
    names = [text.get_text() for text in figure.axes[0].texts if text.get_gid() == "device"]
    # Claimed in the reading behind the suite: A100 about 150, H100 about 295 FLOP a byte.
    ridge = {name.split("\n")[0]: float(name.rsplit(" ", 1)[1]) for name in names}
    assert ridge["NVIDIA A100 SXM4 80 GB"] == pytest.approx(153, rel=0.01)
    assert ridge["NVIDIA H100 SXM5 80 GB"] == pytest.approx(295, rel=0.01)


def test_names_of_devices_do_not_overlap():
    files = [path for path in sorted(DEVICES.glob("*.json")) if path.name != "schema.json"]
    figure = devices_chart.build([read_device_roofs(p) for p in files], ["fp32", "tensor_fp16"])
    renderer = figure.canvas.get_renderer()
    boxes = [
        text.get_window_extent(renderer)
        for text in figure.axes[0].texts
        if text.get_gid() == "device"
    ]
    boxes.sort(key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 for low, high in pairwise(boxes))


def test_a_run_brings_its_rows_and_its_own_roofs(write):
    machine = read_device_roofs(write(make_document(roofline_rows())))
    figure = devices_chart.build([machine, read_device_roofs(DEVICES / "mi300x.json")], ["fp32"])
    (points,) = drawn(figure, "row")
    assert len(points.get_xdata()) == len(roofline_rows())
    assert drawn(figure, "roof:0")[0].get_ydata()[-1] == FP32  # not the data sheet's


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({}, "states no peak"),
        ({"fp32_flops_per_second": 3}, "must be an object"),
        (
            {"fp32_flops_per_second": {"value": 67, "from": "data_sheet"}},
            "1e.19 FLOP/s, it is 67",
        ),
        ({"dram_bytes_per_second": {"value": 3350}}, "1e.17 B/s, it is 3350"),
        ({"my_flops_per_second": {"value": 1e12}}, "no figure is called so"),
        ({"fp32_flops_per_second": {"value": 1e12, "from": "gossip"}}, "'from' must be one of"),
    ],
)
def test_a_wrong_device_file_is_one_line(tmp_path, figures, said):
    path = tmp_path / "d.json"
    path.write_text(json.dumps({"name": "d", "figures": figures}))
    with pytest.raises(ReportError, match=said):
        read_device_roofs(path)


def test_roofline_command(write, tmp_path, capsys):
    path = write(make_document(roofline_rows()))
    arguments = ["roofline", str(path), str(DEVICES / "cs-2.json"), "--out", str(tmp_path)]
    assert main(arguments) == 0
    assert (tmp_path / "rooflines.svg").exists()
    assert main([*arguments, "--dtype=nonsense"]) == 2
    assert "known are" in capsys.readouterr().err


def level_rows():
    """Rows of one kernel that reuse what they load twice from L2 and eight times from L1."""
    rows = []
    for n in (1, 2, 4):
        dram = 1e9  # bytes
        seconds = 1e-3
        terms = {
            "dram": dram / DRAM,
            "l2": 2 * dram / 1.0e13,
            "l1": 8 * dram / 3.1e13,
            "launch": 2e-6,
        }
        terms["fp32"] = seconds - 2e-6
        flops = n * 1e9
        rows.append(
            compute_row(
                f"a/b/n:{n}",
                flops / dram,
                flops / seconds,
                terms=terms,
                real_time=1e3,
                model_seconds=seconds,
            )
        )
    return rows


def roofs():
    found = [("dram", DRAM), ("l2", 1.0e13), ("l1", 3.1e13)]
    return [
        {"name": n, "kind": "bandwidth", "value": v, "provenance": "published", "source": ""}
        for n, v in found
    ]


def test_levels_have_the_intensity_of_their_own_bytes(load):
    result = load(level_rows(), roofs=roofs())
    points = levels_chart.points_of(result.rows)
    assert [p.intensity for p in points] == [
        pytest.approx({"dram": n, "l2": n / 2, "l1": n / 8}) for n in (1, 2, 4)
    ]
    figure = levels_chart.build(result.rows, result.context)
    assert len(drawn(figure, "level:")) == 3
    assert {point.name for point in named_points(figure)} == {row["name"] for row in level_rows()}


def test_levels_that_coincide_are_all_seen(load):
    rows = level_rows()
    for row in rows:
        row["terms"] |= {"l2": 1e9 / 1.0e13, "l1": 1e9 / 3.1e13}  # as many bytes at every level
    result = load(rows, roofs=roofs())
    marks = drawn(levels_chart.build(result.rows, result.context), "level:")
    sizes = [mark.get_markersize() for mark in marks]  # one over another, in this order
    assert sizes == sorted(set(sizes), reverse=True)
    assert {mark.get_markerfacecolor() for mark in marks} == {"none"}


def test_no_label_lies_on_a_mark_of_a_crowd(load):
    rows = []
    for kernel in range(40):
        for row in level_rows():
            factor, n = 1.11**kernel, row["arguments"]["n"]
            flops = row["flops_per_second"] * factor
            intensity = row["arithmetic_intensity"] * factor
            rows.append(
                row
                | {
                    "name": f"a/kernel{kernel}/n:{n}",
                    "kernel": f"kernel{kernel}",
                    "run_name": f"a/kernel{kernel}/n:{n}",
                    "flops_per_second": flops,
                    "arithmetic_intensity": intensity,
                }
            )
    result = load(rows, roofs=roofs())
    figure = levels_chart.build(result.rows, result.context)
    axes = figure.axes[0]
    figure.canvas.draw()
    labels = [text for text in axes.texts if text.get_gid() == "row-label"]
    assert len(labels) > 6
    marks = [
        axes.transData.transform(point)
        for line in drawn(figure, "level:")
        for point in line.get_xydata()
    ]
    assert len(marks) == 3 * len(rows)
    half = 0.4 * 10.5 / 72 * figure.dpi  # of the largest mark, nearly
    for label in labels:
        box = label.get_window_extent().padded(half)
        assert not [mark for mark in marks if box.contains(*mark)], label.get_text()


def test_a_row_of_several_kernels_has_no_levels(load):
    rows = level_rows()
    for row in rows:
        row["model_seconds"] *= 2  # its terms are those of one of two kernels
    result = load(rows, roofs=roofs())
    assert levels_chart.build(result.rows, result.context) is None


def test_levels_have_the_peak_that_a_row_names_beside_its_label(load):
    rows = [row | {"label": "tensor", "roof": "tensor_bf16"} for row in level_rows()]
    peak = {
        "name": "tensor_bf16",
        "kind": "compute",
        "value": 9.9e14,
        "provenance": "derived",
        "source": "",
    }
    other = peak | {"name": "fp64", "value": 3e13}
    result = load(rows, roofs=[*roofs(), other, peak])
    figure = levels_chart.build(result.rows, result.context)
    (line,) = drawn(figure, "peak")
    assert line.get_ydata()[0] == 9.9e14
    assert "tensor bf16\n990 TFLOP/s derived" in [t.get_text() for t in figure.axes[0].texts]
