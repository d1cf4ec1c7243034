"""What a trace says of a step: its profile, and which wall has how much of its time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from checker import timeline
from checker.timeline import Kinds, Operation

KINDS = Kinds(compute=("product",), bandwidth=("map",), starved=("wait for a thread",))


def kernel(name: str, begin: float, end: float) -> Operation:
    return Operation("compute", name, begin, end)


def test_a_moment_belongs_to_the_first_wall_that_fits() -> None:
    operations = [
        kernel("product", 1, 3),
        kernel("map", 3, 4),
        kernel("update", 4, 6),
        Operation("host", "wait for a thread", 2, 5),
        kernel("product", 7, 8),
    ]
    found = timeline.seconds_by_wall(operations, KINDS)
    # Two steps: what stands here is half of the whole.
    assert found == {"compute": 1.5, "bandwidth": 0.5, "starved": 0.5, "overhead": 1.5}


def test_a_name_counts_on_its_own_track_only() -> None:
    operations = [kernel("product", 0, 1), Operation("host", "map", 1, 2)]
    assert timeline.seconds_by_wall(operations, KINDS)["overhead"] == 1


def test_a_long_trace_takes_no_longer_than_its_length() -> None:
    """A submission decides how often it waits."""
    waits = [Operation("host", "cudaStreamSynchronize", i, i + 1) for i in range(100_000)]
    assert timeline.seconds_by_wall(waits, KINDS)["overhead"] == 100_000


def test_a_profile_is_one_step_without_launches() -> None:
    operations = [
        kernel("product", 1e-6, 3e-6),
        Operation("host", "cudaLaunchKernel", 2e-6, 4e-6),
        Operation("host", "cudaStreamSynchronize", 4e-6, 6e-6),
        Operation("stream 2", "product", 1e-6, 3e-6),
        kernel("product", 7e-6, 8e-6),
    ]
    lines = [line.split() for line in timeline.profile(operations, KINDS).splitlines()]
    assert lines[1:] == [
        ["0.00", "2.00", "kernel:", "product"],
        ["3.00", "2.00", "host:", "cudaStreamSynchronize"],
        ["6.00", "the", "next", "step", "begins"],
    ]


def test_a_trace_is_read_by_row(tmp_path: Path) -> None:
    names = [("process_name", "lab/timed"), ("thread_name", "compute")]
    events = [
        {"ph": "M", "pid": 1, "tid": 0, "name": what, "args": {"name": name}}
        for what, name in names
    ]
    span = {"ph": "X", "pid": 1, "tid": 0, "name": "lab::map", "ts": 2.0, "dur": 1.0}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [*events, span, {"ph": "i", "pid": 1}]}))
    ((row, (operation,)),) = timeline.read(path).items()
    assert (row, operation.track, operation.name) == ("lab/timed", "compute", "map")
    assert (operation.begin, operation.end) == pytest.approx((2e-6, 3e-6))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"traceEvents": [1]}', "[" * 100_000])
def test_a_damaged_trace_is_an_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"."):
        timeline.read(path)
