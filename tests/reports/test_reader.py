"""The reader takes every valid file and answers every other one with a single line."""

import copy
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench_reports.commands.command_line import main
from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.store.process_file import read_process
from gpubench_reports.results.reader import read
from gpubench_reports.results.rows import COUNTERS
from gpubench_reports.results.timed import timed

from .factory import make_document, make_row

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


def problem(path: Path) -> str:
    with pytest.raises(ReportError) as caught:
        read(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")


def test_reads_rows_context_and_absent_counters(load):
    result = load([make_row("a/b/stride:8/dtype:bf16", 2e-3, useful_bytes_per_second=5e11)])
    row = result.rows.iloc[0]
    assert (row["concept"], row["kernel"]) == ("a", "b")
    assert row["arguments"] == {"stride": 8, "dtype": "bf16"}
    assert row["seconds"] == pytest.approx(2e-3)
    assert row["useful_bytes_per_second"] == 5e11
    assert math.isnan(row["flops_per_second"])
    assert result.context.device == "h200-sxm"
    assert not result.context.modelled
    assert [r.provenance for r in result.context.roofs if r.name == "dram"] == [
        "measured",
        "data_sheet",
    ]


@pytest.mark.parametrize(
    "names",
    [
        {"name": "a/c/n:1", "run_name": "a/b/n:1"},
        {"name": "a/b/n:1_median", "run_name": "a/b/n:1"},
        {
            "name": "a/b/n:1_mean",
            "run_name": "a/b/n:1",
            "run_type": "aggregate",
            "aggregate_name": "median",
        },
    ],
)
def test_a_row_with_two_names_is_refused(write, names):
    row = make_row("a/b/n:1") | names
    stated = """'run_name' is "a/b/n:1", the name of another row"""
    assert problem(write(make_document([row]))) == f"row 1 ({names['name']}): {stated}"


@pytest.mark.parametrize(
    ("unit", "seconds"), [("s", 7.0), ("ms", 7e-3), ("us", 7e-6), ("ns", 7e-9)]
)
def test_times_are_seconds_whatever_the_unit(load, unit, seconds):
    row = make_row("a/b") | {"real_time": 7, "time_unit": unit}
    assert load([row]).rows["seconds"].iloc[0] == pytest.approx(seconds)


def test_repetitions_are_one_row_the_median_one_with_the_widest_interval(load):
    rows = [
        make_row("a/b", seconds, ci_low_seconds=low, ci_high_seconds=high, repetition_index=index)
        for index, (seconds, low, high) in enumerate(
            [(3.0, 2.9, 3.1), (1.0, 0.9, 1.1), (2.0, 1.9, 2.1)]
        )
    ]
    mean = make_row("a/b", 99.0) | {
        "name": "a/b_mean",
        "run_type": "aggregate",
        "aggregate_name": "mean",
    }
    spread = mean | {"name": "a/b_cv", "aggregate_name": "cv", "real_time": 0.0}
    result = load([*rows, mean, spread])
    assert list(result.rows["name"]) == ["a/b"]
    row = result.rows.iloc[0]
    assert (row["seconds"], row["ci_low_seconds"], row["ci_high_seconds"]) == (2.0, 0.9, 3.1)


def test_the_interval_of_repetitions_holds_a_median_that_has_none(load):
    rows = [make_row("a/b", float(run), repetition_index=run) for run in (1, 2, 3)]
    rows[0] |= {"ci_low_seconds": 0.99, "ci_high_seconds": 1.01}
    row = load(rows).rows.iloc[0]
    assert (row["seconds"], row["ci_low_seconds"], row["ci_high_seconds"]) == (2.0, 0.99, 2.0)


@pytest.mark.parametrize("index", [{}, {"repetition_index": 0}])
def test_two_rows_of_one_name_that_are_no_repetitions_are_refused(write, index):
    rows = [make_row("a/b", seconds) for seconds in (1.0, 1.0, 3.0)]
    rows[1]["name"] = rows[1]["run_name"] = "a/c"
    del rows[2]["repetition_index"]
    path = write(make_document([*rows[:2], rows[2] | index]))
    for reader in (read, read_process, timed):
        with pytest.raises(ReportError) as error:
            reader(path)
        said = f"{path}: row 3 (a/b): has the name of row 1 and is no repetition of it"
        assert str(error.value) == said


def test_aggregates_alone_give_their_median(load):
    rows = [
        make_row("a/b", seconds)
        | {
            "name": f"a/b_{kind}",
            "run_type": "aggregate",
            "aggregate_name": kind,
        }
        for kind, seconds in (("mean", 4.0), ("median", 3.0), ("stddev", 1.0))
    ]
    assert load(rows).rows["seconds"].to_list() == [3.0]


def test_skipped_and_failed_rows_need_no_times_and_take_their_axes_from_the_name(load):
    result = load(
        [
            make_row("a/b/n:1"),
            {"name": "a/b/n:2", "skipped": True, "skip_reason": "needs 64 GiB"},
            {"name": "a/c/n:3", "error_occurred": True, "error_message": "element 17 is 3"},
        ]
    )
    assert list(result.rows["status"]) == ["ok", "skipped", "failed"]
    assert list(result.rows["reason"]) == ["", "needs 64 GiB", "element 17 is 3"]
    assert list(result.rows["kernel"]) == ["b", "b", "c"]
    assert list(result.rows["arguments"]) == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert len(result.ok) == 1


def test_one_failed_repetition_fails_the_name(load):
    failed = {"name": "a/b", "error_occurred": True, "error_message": "no", "repetition_index": 1}
    assert list(load([make_row("a/b"), failed]).rows["status"]) == ["failed"]


def test_names_in_any_script_are_kept_and_controls_are_not(load):
    result = load([make_row("speicher/größe/dtype:κ"), make_row("a/b\x1b[31m\n\ud800/n:1")])
    assert result.rows["name"].to_list() == [
        "speicher/größe/dtype:κ",
        "a/b\ufffd[31m\ufffd\ufffd/n:1",
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ("null", "not a gpubench result file: the top level is no JSON object"),
        ("[1, 2]", "not a gpubench result file: the top level is no JSON object"),
        ('{"name": "left-pad"}', "not a gpubench result file: it has no 'context'"),
        ('{"context": {}}', "not a gpubench result file: it has no 'benchmarks'"),
        ('{"context": {"date": "x"}, "benchmarks": []}', "no 'schema_version'"),
        ('{"a": NaN}', "holds NaN, which JSON does not allow"),
        ('{"a": -Infinity}', "holds -Infinity, which JSON does not allow"),
        ('{"a": 1,}', "not valid JSON at line 1, column"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        ("[" * 100_000, "nested too deeply"),
        ("1" * 10_000, "too long to read"),
    ],
)
def test_foreign_files_are_named_for_what_they_are(write, content, expected):
    assert expected in problem(write(content))


def test_a_run_that_was_broken_off_says_how_to_finish_it(tmp_path):
    journal = tmp_path / "run.json.journal"
    command = ["./gpubench", "--benchmark_filter=^(a|b)", "--benchmark_out=run.json"]
    lines = [
        json.dumps({"journal": 1, "command": command}),
        *[json.dumps({"row": {"name": name}}) for name in "ab"],
        '{"row": {"na',
    ]
    journal.write_text("\n".join(lines))
    out = tmp_path / "run.json"
    expected = (
        "interrupted after 2 rows; to finish it: ./gpubench '--benchmark_filter=^(a|b)'"
        f" --benchmark_out=run.json --resume={out}"
    )
    assert problem(out) == expected
    assert problem(journal) == expected
    out.write_text("")  # a disk that was full
    assert problem(out) == expected
    for text in ("", "half", "[1]\n", '{"command": 1}\n', "\xff\n", "[" * 100_000 + "\n"):
        journal.write_text(text)
        assert problem(out) == "is empty"


def test_missing_file_and_folder(tmp_path):
    assert problem(tmp_path / "none.json") == "cannot read: No such file or directory"
    assert problem(tmp_path) == "cannot read: Is a directory"


def test_no_rows(write):
    assert problem(write(make_document([]))) == "holds no rows: 'benchmarks' is empty"


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ({"schema_version": 3}, "schema_version is 3, this program reads 1 and 2"),
        ({"device_kind": "tpu"}, "device_kind is \"tpu\", must be 'model' or 'cuda'"),
        ({"device": 7}, "'device' must be text, not 7"),
        ({"roofs": {}}, "'roofs' must be a list, not {}"),
        ({"interrupted": 1}, "'interrupted' must be true or false, not 1"),
        ({"git_dirty": "no"}, "'git_dirty' must be true or false, not \"no\""),
        (
            {"roofs": [{"name": "dram", "kind": "bandwidth", "provenance": "measured"}]},
            "roof 'dram': 'value' is missing",
        ),
        (
            {
                "roofs": [
                    {"name": "dram", "kind": "bandwidth", "value": -1, "provenance": "measured"}
                ]
            },
            "roof 'dram': 'value' must be positive, not -1",
        ),
        (
            {"roofs": [{"name": "dram", "kind": "bandwidth", "value": 1, "provenance": "guess"}]},
            "roof 'dram': provenance is \"guess\", must be",
        ),
    ],
)
def test_wrong_contexts(write, context, expected):
    assert expected in problem(write(make_document(**context)))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"real_time": None}, "'real_time' must be a number, not null"),
        ({"real_time": 0}, "'real_time' must be positive, not 0"),
        ({"real_time": "7"}, "'real_time' must be a number, not \"7\""),
        ({"real_time": 10**400}, "out of any range"),
        ({"time_unit": "min"}, 'time_unit is "min", must be one of s, ms, us, ns'),
        ({"law": "x"}, "'law' must be a number, not \"x\""),
        ({"law": None}, "'law' must be a number, not null"),
        ({"flops_per_second": -1.0}, "'flops_per_second' must not be negative, it is -1.0"),
        ({"model_seconds": 0}, "'model_seconds' must be positive, not 0"),
        ({"ci_low_seconds": 2.0, "ci_high_seconds": 1.0}, "is above 'ci_high_seconds'"),
        ({"ci_low_seconds": 9e3, "ci_high_seconds": 9e4}, "outside 'ci_low_seconds' to"),
        ({"skipped": "true"}, "'skipped' must be true or false, not \"true\""),
        ({"error_occurred": 1}, "'error_occurred' must be true or false, not 1"),
        ({"throttled": "yes"}, "'throttled' must be a number, not \"yes\""),
        ({"converged": 2}, "'converged' must be true, false or from 0 to 1, not 2"),
        ({"arguments": []}, "'arguments' must be an object, not []"),
        ({"arguments": {"n": [1]}}, "'arguments.n' must be a number, not [1]"),
    ],
)
def test_wrong_rows_are_named(write, change, expected):
    document = make_document([make_row("a/ok"), make_row("a/b/n:1") | change])
    text = problem(write(document))
    assert text.startswith("row 2 (a/b/n:1): ")
    assert expected in text


def test_every_counter_may_be_missing(load):
    assert load([make_row("a/b")]).rows[list(COUNTERS)].isna().all(axis=None)


def test_truncation_anywhere_is_noticed(write):
    text = json.dumps(make_document([make_row("a/b/n:1", law=1.0)]), indent=1)
    for length in range(1, len(text), 37):
        assert re.search(
            r"is truncated|not valid JSON|no JSON object|has no '", problem(write(text[:length]))
        )


def assert_one_line_or_success(arguments: list[str], capsys) -> None:
    code = main(arguments)
    output = capsys.readouterr()
    if code == 0:
        assert re.fullmatch(r"(gpubench-report: no roofline: [^\n]+\n)?", output.err)
    else:
        assert code == 2
        assert re.fullmatch(r"gpubench-report: [^\n]+: [^\n]+\n", output.err)


@settings(max_examples=100)
@given(document=json_values)
def test_any_json_is_answered(write, capsys, document):
    assert_one_line_or_success(["table", str(write(document))], capsys)


@settings(max_examples=100)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_answered(write, capsys, content):
    assert_one_line_or_success(["table", str(write(content))], capsys)


def paths_in(value: Any, at: tuple = ()) -> list[tuple]:
    found = [at] if at else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += paths_in(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += paths_in(inner, (*at, index))
    return found


ORIGINAL = make_document(
    [
        make_row(
            "a/b/n:1",
            1e-3,
            useful_bytes_per_second=1e9,
            law=1e9,
            law_ratio=1.0,
            model_seconds=2e-3,
            ci_low_seconds=9e-4,
            ci_high_seconds=2e-3,
            converged=1,
        ),
        make_row("a/b/n:2", 2e-3, flops_per_second=1e12, arithmetic_intensity=4.0),
        {"name": "a/b/n:3", "skipped": True, "skip_reason": "small"},
    ],
    roofs=make_document()["context"]["roofs"][:5],
)
PLACES = paths_in(ORIGINAL)


@st.composite
def mutated_documents(draw) -> Any:
    document = copy.deepcopy(ORIGINAL)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(PLACES))
        target = document
        try:
            for step in place[:-1]:
                target = target[step]
            if draw(st.booleans()):
                target[place[-1]] = draw(json_values | st.sampled_from([0, -1, 1e29, 1e-29, 2**70]))
            else:
                del target[place[-1]]
        except (KeyError, IndexError, TypeError):
            continue  # an earlier mutation removed this place
    return document


@settings(max_examples=250)
@given(document=mutated_documents())
def test_any_mutation_of_a_valid_file_is_read_or_answered(write, document):
    try:
        read(write(document))
    except ReportError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - either outcome is right


@settings(max_examples=50)
@given(document=mutated_documents())
def test_any_mutation_of_a_valid_file_is_answered(write, capsys, document):
    assert_one_line_or_success(["table", str(write(document))], capsys)


@settings(max_examples=8)
@given(document=mutated_documents())
def test_any_mutation_can_be_drawn_or_is_answered(write, capsys, tmp_path, document):
    path = str(write(document))
    assert_one_line_or_success(["render", path, "--out", str(tmp_path / "charts")], capsys)


def test_no_traceback_from_the_program_itself(write):
    path = write('{"context": ')
    done = subprocess.run(
        [sys.executable, "-m", "gpubench_reports", "render", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    where = "line 1, column 13"
    assert done.stderr == f"gpubench-report: {path}: is truncated: the JSON stops at {where}\n"
