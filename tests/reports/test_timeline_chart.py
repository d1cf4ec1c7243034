"""The Gantt chart shows what stands in the trace file, and refuses what is none."""

import json

import pytest

from gpubench_reports.charts import style, timeline_chart
from gpubench_reports.charts.render import render
from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.reader import read
from gpubench_reports.results.traces import Operation, path_beside, read_trace

from .factory import bandwidth_row, make_context, make_document

ROW = "loops/read/every:1"


def events(steps=3):
    """A kernel of 20 us, its copy of 2 us and a gap, `steps` times; and the host that waits."""
    names = {0: "host", 1: "stream 1", 2: "compute", 3: "copy to host"}
    found = [{"ph": "M", "pid": 7, "name": "process_name", "args": {"name": ROW}}]
    found += [
        {"ph": "M", "pid": 7, "tid": tid, "name": "thread_name", "args": {"name": name}}
        for tid, name in names.items()
    ]
    for step in range(steps):
        at = 30.0 * step
        found.append(bar(0, "cudaStreamSynchronize", at, 25.0))
        for tid, name, begin, length in ((2, "layer", at + 5, 20.0), (3, "copy", at + 25, 2.0)):
            found.append(bar(tid, name, begin, length) | {"args": {"stream": "stream 1"}})
            found.append(bar(1, name, begin, length))
        found.append({"ph": "i", "pid": 7, "tid": 1, "name": "event", "ts": at + 27, "s": "t"})
    return found


def bar(tid, name, begin, length):
    return {"ph": "X", "pid": 7, "tid": tid, "name": name, "ts": begin, "dur": length}


def document(changes=None, shown=(ROW,), **context):
    return {
        "otherData": make_context(device_kind="model", **context) | {"shown": list(shown)},
        "traceEvents": events() if changes is None else changes,
    }


def build(write, content):
    trace = read_trace(write(content, "run.trace.json"))
    return timeline_chart.build("loops", trace.shown, trace.context)


def drawn(axes, lane):
    return [p for p in axes.patches if p.get_gid() == f"bar {lane}"]


def test_bars_are_where_the_file_has_them(write):
    figure = build(write, document())
    (axes,) = figure.axes
    assert [bar.get_x() for bar in drawn(axes, "compute")] == pytest.approx([5e-6, 35e-6, 65e-6])
    assert [bar.get_width() for bar in drawn(axes, "copy to host")] == pytest.approx([2e-6] * 3)
    assert len(drawn(axes, "host")) == 3
    assert drawn(axes, "stream 1") == [], "a lane is an engine; a stream is a colour"
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert labels == ["host", "compute  69 %", "copy to host  7 %"]  # 60 and 6 of 87 us
    assert axes.get_title(loc="left") == "read/every:1"
    assert axes.get_title(loc="right") == "87.0 µs"
    marks = [text.get_text() for text in figure.texts if text.get_gid() == "watermark"]
    assert marks == [style.WATERMARK]


def test_threads_of_the_host_are_lanes_of_their_own_between_it_and_the_engines(write):
    thread = {"ph": "M", "pid": 7, "tid": 4, "name": "thread_name", "args": {"name": "thread 1"}}
    (axes,) = build(write, document([*events(), thread, bar(4, "job", 6, 40)])).axes
    labels = [tick.get_text().partition("  ")[0] for tick in axes.get_yticklabels()]
    assert labels == ["host", "thread 1", "compute", "copy to host"]
    (job,) = drawn(axes, "thread 1")
    assert (job.get_x(), job.get_width()) == pytest.approx((6e-6, 40e-6))
    assert job.get_facecolor() == drawn(axes, "host")[0].get_facecolor()
    assert job.get_facecolor() != drawn(axes, "compute")[0].get_facecolor()


def test_a_long_run_is_cut_where_its_pattern_is_clear(write):
    (axes,) = build(write, document(events(steps=100))).axes
    assert len(drawn(axes, "compute")) == 10
    assert axes.get_title(loc="right") == "the first 305 µs of 3.00 ms"


def test_time_is_busy_once():
    bars = [Operation("a", 0, 4), Operation("b", 1, 2), Operation("c", 3, 6)]
    assert timeline_chart.busy_share(bars, 12) == pytest.approx(0.5)
    assert timeline_chart.busy_share(bars, 5) == 1
    assert timeline_chart.busy_share([], 5) == 0


def test_rows_that_are_not_shown_are_not_drawn(write):
    assert build(write, document(shown=())) is None


@pytest.mark.parametrize(("date", "charts"), [("", 2), ("2020-01-01T00:00:00+00:00", 0)])
def test_render_draws_the_trace_of_the_same_run_only(write, tmp_path, date, charts):
    result = write(make_document([bandwidth_row("loops/read/every:1", 1e9)], device_kind="model"))
    beside = path_beside(result)
    beside.write_text(json.dumps(document(**({"date": date} if date else {}))))
    paths = render(read(result), tmp_path / "charts")
    assert len([p for p in paths if p.name.startswith("timeline-loops.")]) == charts


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"traceEvents": []}, "otherData"),
        ([], "otherData"),
        (document() | {"otherData": {}}, "schema_version"),
        (document([3]), "event 1"),
        (document([bar(2, "layer", 0, 1)]), "no name yet"),
        (document([*events(), bar(2, "layer", 0, -1)]), "must not be negative"),
        (document([*events(), bar(2, "layer", "soon", 1)]), "'ts' must be a number"),
        (document([{"ph": "X", "pid": 7, "name": "x"}]), "'tid' must be a number"),
    ],
)
def test_what_is_no_trace_is_one_clear_error(write, content, problem):
    with pytest.raises(ReportError, match=problem):
        read_trace(write(content))
