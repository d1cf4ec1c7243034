"""Rows with values of the user's own: --axis."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from gpubench_reports.results.reader import read
from gpubench_reports.rules.verdicts.judge import judge

from .conftest import BUILD, rows_of, run

MODEL = "--device=model:h200-sxm"


def lines(*flags: str) -> list[str]:
    done = run(MODEL, *flags)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_rows_of_ones_own(tmp_path: Path) -> None:
    """Names, listing, filter, result file and resuming are those of all rows."""
    axis = "--axis=coalescing/strided_read/stride=3,5,7"
    names = [f"coalescing/strided_read/stride:{stride}" for stride in (3, 5, 7)]
    assert lines(axis, "--benchmark_list_tests") == names
    assert lines(axis, "--benchmark_filter=:5$", "--benchmark_list_tests") == names[1:2]
    out = tmp_path / "run.json"
    lines(axis, f"--benchmark_out={out}")
    rows = json.loads(out.read_text())["benchmarks"]
    assert [row["name"] for row in rows] == names
    assert [row["arguments"]["stride"] for row in rows] == [3, 5, 7]
    # A warp's request spans 32 x stride words, 8 to a sector.
    requests = {row["arguments"]["stride"]: row["sectors_per_request"] for row in rows}
    assert requests == {3: 12, 5: 20, 7: 28}
    assert {verdict.grade for verdict in judge(read(out)).values()} == {"as expected"}


def test_a_row_of_ones_own_can_be_explained() -> None:
    row = "coalescing/strided_read/stride:3"
    printed = lines("--axis=coalescing/strided_read/stride=3", f"--explain={row}")
    assert any("12 sectors per request" in line for line in printed)


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        ("coalescing/vector_read/bytes=32", "the kernel cannot take 32: it has 4, 8, 16"),
        ("coalescing/strided_read/stride=0", "the kernel cannot take 0: it takes from 1 to 64"),
        ("coalescing/strided_read/strid=3", "no axis of the kernel is called 'strid'"),
        ("coalescing/strided_raed/stride=3", "did you mean coalescing/strided_read?"),
        ("coalescing/strided_read/stride=9:3", "'9:3' must be LOW:HIGH"),
        ("coalescing/strided_read/stride=3,,5", "there is no value before one of its commas"),
        ("coalescing/strided_read/stride=,3", "there is no value before one of its commas"),
    ],
)
def test_a_value_that_a_kernel_cannot_take_is_one_clear_line(axis: str, said: str) -> None:
    done = run(MODEL, f"--axis={axis}")
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith(f"gpubench: --axis='{axis}': ")
    assert said in line


# Between the values of the suites, and at the ends of what a kernel says that it takes.
@pytest.mark.parametrize(
    "axis",
    [
        "all_reduce/all_reduce/ranks=3,5",
        "all_reduce/two_step/size=6K",
        "attention/tiled/seq=384",
        "coalescing/misaligned_read/offset=5,32",
        "coalescing/records/fields=1,3,32",
        "coalescing/strided_write/stride=3",
        "divergence/branches/ways=5,31",
        "embedding/uniform/row=160",
        "embedding/zipf/table=5M",
        "fusion/chain/size=192K",
        "gemm_ladder/naive/n=1096",
        "host_sync/never_reading/us=7",
        "launch_overhead/empty_row/launches=3",
        "memory_hierarchy/chase/size=3K",
        "memory_hierarchy/l1_strided/stride=40",
        "memory_hierarchy/read/size=257K",
        "roofline/chains/eighths=3",
        pytest.param("stream_overlap/pipeline/streams=3", marks=pytest.mark.release),
        "tile_alignment/edges/k=65",
        "tile_alignment/odd_m/m=1025",
        "transfer/h2d/size=12",
    ],
)
def test_what_a_kernel_says_that_it_takes_gives_right_results(axis: str) -> None:
    rows = rows_of(MODEL, f"--axis={axis}")
    assert rows
    assert all(row["real_time"] > 0 for row in rows.values())


def test_a_run_that_is_broken_off_goes_on_with_them(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    flags = (MODEL, "--axis=coalescing/misaligned_read/offset=0:32", f"--benchmark_out={out}")
    command = [str(BUILD / "gpubench"), *flags]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert started.stdout is not None
    for _ in range(5):  # of which two are rows
        started.stdout.readline()
    started.terminate()
    started.communicate(timeout=60)
    assert started.returncode == 128 + signal.SIGTERM
    kept = json.loads(out.read_text())["benchmarks"]
    assert 2 <= len(kept) < 33
    lines(*flags[1:], f"--resume={out}")
    rows = json.loads(out.read_text())["benchmarks"]
    assert [row["arguments"]["offset"] for row in rows] == list(range(33))
    # Those done beside a slower row are kept too: there may be a gap before the last of them.
    finished = {row["name"]: row for row in rows}
    differing = {
        (row["name"], key): (row.get(key), finished[row["name"]].get(key))
        for row in kept
        for key in row.keys() | finished[row["name"]].keys()
        if row.get(key) != finished[row["name"]].get(key)
    }
    assert differing == {}
