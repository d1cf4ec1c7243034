"""Whatever a file holds: a report or one line, never a traceback."""

import json
import math
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench_reports.commands.command_line import main
from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.store.process_file import read_process
from gpubench_reports.pages.csv_report import to_csv
from gpubench_reports.pages.html.build import build as build_page
from gpubench_reports.pages.markdown_report import to_markdown
from gpubench_reports.pages.terminal.result import MOST_ROWS
from gpubench_reports.results.reader import read
from gpubench_reports.results.rows import COUNTERS, WORDS
from gpubench_reports.results.timed import timed
from gpubench_reports.rules.verdicts.judge import judge

from .factory import bandwidth_row, make_document, make_roofs, make_row
from .sweep import write_sweep

COMMANDS = ("table", "csv", "markdown", "html", "render")
NAMES = st.text(max_size=12) | st.sampled_from(["a/b/n:1", "a/b/n:2", "a/c/dtype:fp32", "λ/π/x:½"])
NUMBERS = st.floats(allow_nan=False) | st.integers() | st.sampled_from([0, -1, 1e-30, 1e30])
VALUES = NUMBERS | st.text(max_size=8) | st.booleans() | st.none() | st.just({}) | st.just([])


@st.composite
def rows(draw):
    """A row of which some keys are as they should be, and some as nobody would write them."""
    row = make_row("a/b/n:1", draw(st.floats(1e-9, 1e3)))
    row["name"] = row["run_name"] = draw(NAMES)
    for counter in draw(st.lists(st.sampled_from(COUNTERS), max_size=8)):
        row[counter] = draw(st.floats(1e-12, 1e15))
    for word in draw(st.lists(st.sampled_from(WORDS), max_size=4)):
        row[word] = draw(st.text(max_size=20))
    for key in draw(st.lists(st.sampled_from(sorted(row)), max_size=draw(st.integers(0, 1)))):
        row[key] = draw(VALUES)
    row["arguments"] = draw(
        st.dictionaries(st.text(max_size=6), NUMBERS | st.text(max_size=6), max_size=3)
    )
    if draw(st.booleans()):
        row["terms"] = draw(
            st.dictionaries(
                st.sampled_from(["dram", "l2", "launch", "x"]), st.floats(0, 1), max_size=4
            )
        )
    return row


@settings(max_examples=60)
@given(
    st.lists(rows(), min_size=1, max_size=8),
    st.sampled_from(["cuda", "model"]),
    st.sampled_from([[], make_roofs(), make_roofs("modelled")[:1]]),
)
def test_any_rows_give_every_report_or_one_line(tmp_path_factory, found, kind, roofs):
    path = tmp_path_factory.mktemp("any") / "run.json"
    path.write_text(json.dumps(make_document(found, device_kind=kind, roofs=roofs)))
    try:
        result = read(path)
    except ReportError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - either outcome is right
        return
    verdicts = judge(result)
    assert set(verdicts) == set(result.ok["name"])
    for verdict in verdicts.values():
        assert verdict.sentence
        assert verdict.why
        assert math.isnan(verdict.severity) == math.isnan(verdict.share)
    assert to_csv(result, verdicts).count("\n") >= len(result.rows)
    assert to_markdown(result, verdicts).startswith("## ")


@settings(max_examples=4)
@given(st.lists(rows(), min_size=1, max_size=3))
def test_any_rows_give_a_page(tmp_path_factory, found):
    path = tmp_path_factory.mktemp("any") / "run.json"
    path.write_text(json.dumps(make_document(found)))
    try:
        result = read(path)
    except ReportError:
        return
    page = build_page(result).decode()
    assert page.startswith("<!DOCTYPE html>")
    assert "Worst rows" in page


@pytest.mark.parametrize("reader", [read, read_process, timed])
@pytest.mark.parametrize(
    ("place", "more", "key"),
    [
        ('"time_unit"', '"real_time": 1.0, ', "real_time"),
        ('"context"', '"benchmarks": [], ', "benchmarks"),
    ],
)
def test_a_key_that_stands_twice_is_refused(write, reader, place, more, key):
    path = write(json.dumps(make_document()).replace(place, more + place, 1))
    with pytest.raises(ReportError) as error:
        reader(path)
    said = f'{path}: holds the key "{key}" twice in one object: only one can count'
    assert str(error.value) == said


def test_a_name_of_any_length_does_not_hide_what_is_wrong(write, capsys):
    row = make_row("a/b/" + "x" * 5000)
    path = write(make_document([row | {"real_time": 0}]))
    assert main(["table", str(path)]) == 2
    line = capsys.readouterr().err
    assert line.endswith("x...: 'real_time' must be positive, not 0\n")


WRONG = {
    "empty": "",
    "truncated": json.dumps(make_document())[:5000],
    "foreign": json.dumps({"benchmarks": [{"name": "x"}], "context": {"date": "today"}}),
    "not JSON": "once upon a time",
    "no rows": json.dumps(make_document([])),
    "NaN": json.dumps(make_document([make_row("a/b", law=math.nan)])),
    "an array": "[1, 2, 3]",
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_result_file_is_one_line(write, capsys, command, kind):
    path = write(WRONG[kind])
    assert main([command, str(path)]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert error.startswith(f"gpubench-report: {path}: ")


@pytest.mark.parametrize("command", ["html", "markdown", "compare"])
def test_unlike_files_are_compared_and_say_so(write, capsys, command):
    one = write(make_document([bandwidth_row("a/b/n:1", 1e12)]), "one.json")
    other = write(
        make_document(
            [bandwidth_row("a/b/n:1", 2e12)],
            device="b200",
            device_title="NVIDIA B200",
            device_kind="model",
        ),
        "other.json",
    )
    assert main([command, str(one), str(other)]) == 0
    said = capsys.readouterr().out
    if command == "html":
        said = one.with_suffix(".html").read_text()
    assert "modelled" in said
    assert "NVIDIA B200" in said
    assert "the devices differ" in said


def test_a_row_of_a_hundred_thousand_is_found(write, capsys, monkeypatch):
    monkeypatch.setattr("gpubench_reports.pages.terminal.result.MOST_ROWS", 50)
    assert MOST_ROWS > 50
    path = write(make_document([bandwidth_row(f"a/b/n:{n}", 1e12) for n in range(120)]))
    assert main(["table", str(path)]) == 0
    said = capsys.readouterr().out
    assert "and 70 rows more: gpubench-report csv lists them all" in said
    assert "a/b/n:50 " not in said
    assert main(["csv", str(path)]) == 0
    assert "a/b/n:119," in capsys.readouterr().out


def test_types_cannot_be_compared_where_every_row_was_skipped(write, capsys):
    skipped = make_row("a/b/dtype:fp32") | {"skipped": True, "skip_reason": "no memory"}
    paths = [str(write(make_document([skipped]), f"{name}.json")) for name in "ab"]
    assert main(["compare", *paths, "--by", "dtype"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no rows that differ in their dtype alone" in line


@pytest.fixture
def pipe(tmp_path):
    """A named pipe that nobody writes into: whoever opens it waits for ever."""
    path = tmp_path / "pipe.json"
    os.mkfifo(path)
    return path


def test_no_pipe_and_no_device_is_read(write, pipe, capsys):
    good = str(write(make_document()))
    for path in (str(pipe), "/dev/zero", "/dev/null"):
        for words in (
            ["table", path],
            ["html", path],
            ["compare", good, path],
            ["import", "--from=nccl-tests", path, "-o", f"{good}.out"],
            ["counters", good, path],
            ["html", good, f"--against={path}"],
        ):
            assert main(words) == 2, words
            (line,) = capsys.readouterr().err.splitlines()
            assert (
                line == f"gpubench-report: {path}: cannot read: it is a device or a pipe, no file"
            )


@pytest.mark.parametrize("path", ["", ".", "..", "/"])
def test_a_place_without_a_name_is_a_folder(write, capsys, path):
    """As "$run" is where the shell has no such variable."""
    good = str(write(make_document()))
    for words in (
        ["table", path],
        ["csv", path],
        ["html", path],
        ["compare", good, path],
        ["agree", good, path],
        ["validate", good, path],
        ["claims", path],
        ["diagnose", path],
        ["job", path],
    ):
        assert main(words) == 2, words
        (line,) = capsys.readouterr().err.splitlines()
        assert line == f"gpubench-report: {path or '.'}: cannot read: Is a directory"


def test_what_cannot_be_read_in_a_fleet_costs_its_gpu_only(pipe, capsys):
    pytest.importorskip("scipy", reason="fleets are judged with SciPy")
    sweep = write_sweep(pipe.parent / "sweep")
    pipe.rename(sweep / "n2-gpu0.json")
    os.mkfifo(sweep / "n3-gpu0.log")
    (sweep / "n4-gpu0.json").write_text("[" * 100_000)
    assert main(["fleet", str(sweep)]) == 1
    said = capsys.readouterr().out
    assert "no result: n2/gpu0: its result file cannot be read: " in said
    assert "no result: n3/gpu0: it began and left no result" in said
    assert "no result: n4/gpu0: its result file cannot be read: " in said
    os.mkfifo(racks := sweep / "racks.csv")
    assert main(["fleet", str(sweep), f"--inventory={racks}"]) == 2
    assert "racks.csv: cannot read: it is a device or a pipe" in capsys.readouterr().err


def test_what_the_shell_puts_into_a_pipe_is_read(write):
    path = write(make_document())
    program = f"'{sys.executable}' -m gpubench_reports table"
    for command in (f"{program} <(cat '{path}')", f"cat '{path}' | {program} /dev/stdin"):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        assert "NVIDIA H200" in done.stdout
