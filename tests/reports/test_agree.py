"""A/A agreement of files that pretend to be repetitions."""

import json

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.common.errors import ReportError
from gpubench_reports.comparisons.agree import agree, by_concept
from gpubench_reports.results.reader import read

from .factory import make_document, make_row


def files(write, *times: dict[str, float], width: float = 0.004, **context):
    """A file for each of `times`, seconds by row; intervals are `width` to either side."""
    return [
        write(
            make_document(
                [
                    make_row(
                        name,
                        seconds,
                        ci_low_seconds=seconds * (1 - width),
                        ci_high_seconds=seconds * (1 + width),
                    )
                    for name, seconds in one.items()
                ],
                **context,
            ),
            f"{number}.json",
        )
        for number, one in enumerate(times)
    ]


def test_equal_runs_agree(write):
    found = agree([read(p) for p in files(write, *[{"a/k/n:1": 1e-3, "b/k/n:1": 2e-3}] * 5)])
    assert list(found.rows["spread"]) == [0, 0]
    assert list(found.rows["pairs"]) == [10, 10]
    assert found.rows["told_apart"].sum() == 0
    lines = by_concept(found.rows).set_index("concept")
    assert list(lines.index) == ["a", "b", "all"]
    assert lines.loc["all", "narrow"] == 1


def test_a_run_that_is_off_is_told_apart_from_each_of_the_others(write):
    paths = files(write, {"a/k": 1e-3}, {"a/k": 1e-3}, {"a/k": 1.05e-3})
    found = agree([read(p) for p in paths])
    assert found.rows["spread"].iloc[0] == pytest.approx(0.05)
    assert (found.rows["told_apart"].iloc[0], found.rows["pairs"].iloc[0]) == (2, 3)


def test_wide_intervals_are_not_narrow(write):
    found = agree([read(p) for p in files(write, {"a/k": 1e-3}, {"a/k": 1e-3}, width=0.02)])
    assert by_concept(found.rows)["narrow"].iloc[-1] == 0


def test_a_row_that_one_file_lacks_is_named(write):
    a, b = files(write, {"a/k": 1e-3, "a/l": 1e-3}, {"a/k": 1e-3})
    found = agree([read(a), read(b)])
    assert list(found.rows["name"]) == ["a/k"]
    assert found.lost == [("a/l", "measured in some files only")]


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"mode": "hot"}, "mode is hot here, cold there"),
        ({"driver_version": "590"}, "driver_version is 590 here, 580 there"),
        ({"cuda_version": "13.1"}, "cuda_version is 13.1 here, 13.0 there"),
        ({"compiler": "nvcc 13.1"}, "compiler is nvcc 13.1 here, nvcc 13.0 there"),
        ({"compiler_flags": "-O1"}, "compiler_flags is -O1 here, -O3 there"),
        ({"imported_from": "nvbench"}, "imported_from is nvbench here, not stated there"),
        ({"git_dirty": True}, "git_dirty is true here, false there"),
        ({"conditions": "delay"}, "conditions is delay here, not stated there"),
    ],
)
def test_files_of_unlike_runs_are_refused(write, capsys, context, said):
    known = {
        "driver_version": "580",
        "cuda_version": "13.0",
        "compiler": "nvcc 13.0",
        "compiler_flags": "-O3",
    }
    (a,) = files(write, {"a/k": 1e-3}, **known)
    b = write(make_document([make_row("a/k")], **{**known, **context}), "other.json")
    assert main(["agree", str(a), str(b)]) == 2
    assert said in capsys.readouterr().err
    with pytest.raises(ReportError, match="is alone"):
        agree([read(a)])


def test_the_table_names_the_rows_that_lie_farthest_apart(write, capsys):
    paths = files(write, {"a/k": 1e-3, "a/l": 1e-3}, {"a/k": 1e-3, "a/l": 1.2e-3})
    assert main(["agree", *map(str, paths)]) == 0
    lines = capsys.readouterr().out.splitlines()
    farthest = next(line for line in lines if line.strip().startswith("a/l"))
    assert "20.00 %" in farthest


def test_an_agreement_for_other_programs(write, capsys):
    paths = files(write, {"a/k": 1e-3, "a/l": 1e-3}, {"a/k": 1.1e-3})
    assert main(["agree", *map(str, paths), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["files"] == [str(path) for path in paths]
    assert [line["concept"] for line in found["concepts"]] == ["a", "all"]
    assert found["rows"][0]["spread"] == pytest.approx(0.1)
    assert found["lost"] == [{"name": "a/l", "why": "measured in some files only"}]


def test_a_file_named_twice_is_refused(write, tmp_path, capsys):
    (a,) = files(write, {"a/k": 1e-3})
    (tmp_path / "link.json").symlink_to(a)
    for again in (a, tmp_path / "link.json"):
        assert main(["agree", str(a), str(again)]) == 2
        assert f"{again}: is named twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("second", "context", "note"),
    [
        (1e-3, {"device_kind": "model"}, "modelled runs agree by construction"),
        (1e-3, {}, "these are copies"),
        (1.1e-3, {}, ""),
    ],
)
def test_an_agreement_that_says_nothing_is_noted(write, capsys, second, context, note):
    paths = files(write, {"a/k": 1e-3}, {"a/k": second}, **context)
    assert main(["agree", *map(str, paths)]) == 0
    printed = capsys.readouterr().out
    assert note in printed
    assert ("note: " in printed) == bool(note)
