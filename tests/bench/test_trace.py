"""The file of --trace: what happened when in one run of each row."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from .conftest import run

DEVICE = "--device=model:h100-sxm"
ROWS = (
    "host_sync/read_each_step/by:pinned/us:20",
    "stream_overlap/pipeline/memory:pinned/chunks:8/streams:8",
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """The trace and the result file of one run."""
    folder = tmp_path_factory.mktemp("trace")
    flags = (f"--benchmark_out={folder}/run.json", f"--trace={folder}/run.trace.json")
    done = run(DEVICE, f"--benchmark_filter=^({'|'.join(ROWS)})$", *flags)
    assert done.returncode == 0, done.stderr
    return {
        "trace": json.loads((folder / "run.trace.json").read_text()),
        "result": json.loads((folder / "run.json").read_text()),
    }


def bars(trace: dict, row: str) -> dict[str, list[dict]]:
    """The complete events of a row by track, in order."""
    events = trace["traceEvents"]
    [process] = [
        e["pid"]
        for e in events
        if e["ph"] == "M" and e["name"] == "process_name" and e["args"]["name"] == row
    ]
    mine = [e for e in events if e["pid"] == process]
    tracks = {e["tid"]: e["args"]["name"] for e in mine if e["name"] == "thread_name"}
    found: dict[str, list[dict]] = defaultdict(list)
    for event in mine:
        if event["ph"] == "X":
            found[tracks[event["tid"]]].append(event)
    return found


def end(event: dict) -> float:
    return event["ts"] + event["dur"]


def test_its_context_is_the_results(written: dict[str, dict]) -> None:
    other = dict(written["trace"]["otherData"])
    assert other.pop("shown") == [ROWS[1]]
    assert other == written["result"]["context"]
    assert other["device_kind"] == "model"


def test_a_thread_does_one_thing_at_a_time(written: dict[str, dict]) -> None:
    for row in ROWS:
        for track, events in bars(written["trace"], row).items():
            for event, later in pairwise(events):
                assert end(event) <= later["ts"] + 1e-6, track


def test_the_gap_of_a_read_can_be_seen(written: dict[str, dict]) -> None:
    tracks = bars(written["trace"], ROWS[0])
    kernels = tracks["compute"]
    assert [k["name"] for k in kernels] == ["host_sync::layer"] * 24
    [row] = [r for r in written["result"]["benchmarks"] if r["name"] == ROWS[0]]
    gaps = [b["ts"] - end(a) for a, b in pairwise(kernels)]
    after_reads = gaps[2::3]
    assert after_reads == pytest.approx([row["idle_seconds_per_read"] * 1e6] * 7, rel=0.01)
    assert sum(gaps) == pytest.approx(sum(after_reads))
    assert len(tracks["copy to host"]) == 8
    assert {call["name"] for call in tracks["host"]} == {
        "cudaLaunchKernelEx",
        "cudaMemcpyAsync",
        "cudaStreamSynchronize",
    }


def test_copies_say_how_much_and_engines_say_for_whom(written: dict[str, dict]) -> None:
    tracks = bars(written["trace"], ROWS[1])
    for engine in ("copy to device", "copy to host"):
        assert [e["args"]["bytes"] for e in tracks[engine]] == [1 << 20] * 8
        assert len({e["args"]["stream"] for e in tracks[engine]}) == 8
    for event in tracks["compute"]:
        on_stream = tracks[event["args"]["stream"]]
        assert [(e["ts"], e["dur"]) for e in on_stream if "transform" in e["name"]] == [
            (event["ts"], event["dur"])
        ]


def test_bad_names_are_one_clear_line(tmp_path: Path) -> None:
    for flag, named in (("--trace", "--trace"), (f"--trace={tmp_path}", str(tmp_path))):
        done = run(DEVICE, f"--benchmark_filter=^{ROWS[0]}$", flag)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert named in done.stderr
