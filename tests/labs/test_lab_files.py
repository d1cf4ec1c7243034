"""A slip in a lab.toml is named: it does not switch a requirement off."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import pytest
from checker import cli, counters, course, expected, grade, timing
from checker.course import LabError

from .conftest import BUILD, LABS

TEXT = (LABS[0].folder / "lab.toml").read_text()


def loaded(folder: Path, old: str, new: str) -> course.Lab:
    assert old in TEXT
    folder = folder / "01-coalescing"
    folder.mkdir()
    (folder / "lab.toml").write_text(TEXT.replace(old, new, 1))
    return course.load(folder)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[[require]]", "[[requires]]", "unknown: requires; known are concept, "),
        ("[limits]", "[limit]", "unknown: limit; known are "),
        ("global_excess", "globl_excess", "[limits] unknown: globl_excess; known are "),
        ("global_excess = 1.1", "global_excess = true", "[limits] global_excess must be a number"),
        ("global_excess = 1.1", "global_excess = nan", "[limits] global_excess must be above 0"),
        ("max = 0", "maximum = 0", "[[require]] unknown: maximum; known are key, max, min, "),
        ("max = 0", "", "[[require]] has neither min nor max"),
        ("max = 0", 'max = "0"', "[[require]] max must be a number"),
        ('row = "lab/timed"\n', "", "[[require]] has no row"),
        ('row = "lab/timed"', 'row = "lab/timed("', "[[require]] row = 'lab/timed('"),
        ("timed = true", 'timed = "no"', "[[require]] timed must be true or false"),
        ("atomic_bytes", "atomics", "[[require]] has no why"),
        ("minutes = 45", "minutes = 45\nonlyfma = true", "unknown: onlyfma"),
        ("minutes = 45", 'minutes = 45\nonly_fma = "false"', "only_fma must be true or false"),
        ("minutes = 45", "minutes = 45.5", "minutes must be a whole number"),
        ("predictions = 20\ncorrectness = 40", "predictions = -20\ncorrectness = 80", "at least 0"),
        ("predictions = 20", "predictions = 20.9", "predictions must be a whole number"),
        ("time = 20", "time = 20\nstyle = 0", "unknown: style"),
        ("bytes_an_element", "chunked_sectors", "two questions of the id chunked_sectors"),
        ("[limits]", "[shared_bytes]\ncopy = 1\n[limits]", "[shared_bytes] unknown: copy; known "),
    ],
)
def test_a_slip_is_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(LabError) as error:
        loaded(tmp_path, old, new)
    assert said in str(error.value)
    assert "lab.toml: " in str(error.value)
    assert "\n" not in str(error.value)


def test_a_requirement_of_no_row_is_named(tmp_path: Path) -> None:
    lab = loaded(tmp_path, 'row = "lab/timed"', 'row = "lab/tmied"')
    with pytest.raises(LabError, match="row = 'lab/tmied': there is no such row"):
        grade.require_rows(lab, {"lab/timed": {}})


def test_a_requirement_is_met_or_says_why() -> None:
    (atomics,) = LABS[0].requires
    assert atomics.unmet({"lab/timed": {"atomic_bytes": 0.0}, "lab/fresh": {}}) == []
    (fault,) = atomics.unmet({"lab/timed": {"atomic_bytes": 64.0}})
    assert fault.startswith("lab/timed: atomic_bytes is 64: ")
    (fault,) = atomics.unmet({"lab/timed": {}})
    assert fault.startswith("lab/timed: atomic_bytes is unknown: ")


GOOD = '{"h200-sxm": {"lab/timed": {"seconds": 1e-5}}}'
WRITE = "; scripts/lab expected 01 writes it anew"


def with_times(folder: Path, text: str, has_reference: bool = True) -> course.Lab:
    lab = loaded(folder, "", "")
    (lab.folder / "expected.json").write_text(text)
    if has_reference:
        (lab.folder / "reference").mkdir()
        lab.reference.touch()
    return lab


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Expecting value: line 1 column 1 (char 0)"),
        ("[]", "not a table of devices"),
        ('{"h200-sxm": {}}', "h200-sxm: no times of any row"),
        ('{"h200-sxm": {"lab/timed": {}}}', "h200-sxm: [lab/timed] has no seconds"),
        ('{"h200-sxm": {"lab/timed": 1}}', "lab/timed must be a dict"),
        (GOOD.replace("1e-5", "0"), "[lab/timed] seconds must be above 0"),
        (GOOD.replace("1e-5", "true"), "[lab/timed] seconds must be a number"),
        (GOOD.replace("timed", "timed2"), "h200-sxm: lacks a row that is timed, lab/timed"),
        (GOOD, ""),
    ],
)
def test_a_broken_file_of_times_is_named(text: str, said: str, tmp_path: Path) -> None:
    lab = with_times(tmp_path, text)
    rows = {"lab/timed": {}, "lab/correct/n:1": {}}
    ask = partial(timing.modelled_reference, lab, tmp_path, tmp_path, "model:h200-sxm", 1, rows)
    if not said:
        assert ask() == ({"lab/timed": 1e-5}, "the reference, modelled")
        return
    with pytest.raises(LabError) as caught:
        ask()
    assert str(caught.value).startswith(f"{lab.folder / 'expected.json'}: ")
    assert str(caught.value).endswith(said + WRITE)


def test_a_timed_row_that_no_longer_is_there_is_named(tmp_path: Path) -> None:
    lab = with_times(tmp_path, GOOD)
    with pytest.raises(LabError, match="has a row that was not timed, lab/timed"):
        timing.modelled_reference(lab, tmp_path, tmp_path, "model:h200-sxm", 1, {})


def test_a_handout_is_not_told_to_write_times_anew(tmp_path: Path) -> None:
    lab = with_times(tmp_path, "", has_reference=False)
    with pytest.raises(LabError, match=r"\(char 0\)$"):
        timing.known_times(lab)


def test_no_class_is_graded_with_a_broken_file_of_times(tmp_path: Path) -> None:
    lab = with_times(tmp_path, "")
    options = argparse.Namespace(build=BUILD, device="auto", seed=None)
    with pytest.raises(LabError, match=r"expected\.json: Expecting value"):
        cli.device_of(lab, options)


def test_times_are_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = with_times(tmp_path, GOOD)
    (lab.folder / "README.md").write_text(f"{expected.BEGIN}\n{expected.END}\n")
    monkeypatch.setattr(expected, "expected", lambda *_: {"h200-sxm": {"a": {"seconds": 2}}})

    def stopped(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(expected.json, "dumps", stopped)
        with pytest.raises(KeyboardInterrupt):
            expected.write(lab, BUILD)
    assert (lab.folder / "expected.json").read_text() == GOOD
    expected.write(lab, BUILD)
    assert '"seconds": 2' in (lab.folder / "expected.json").read_text()
    assert "2e+06 µs" in (lab.folder / "README.md").read_text()


@pytest.mark.parametrize("key", sorted(counters.OF_THE_WORK))
def test_what_all_warps_cost_more_than_full_ones_is_said_in_a_line(key: str) -> None:
    (lab,) = [lab for lab in LABS if lab.number == "05"]
    assert counters.excessive(lab, "lab/timed", {key: lab.limits[key]}) == []
    (fault,) = counters.excessive(lab, "lab/timed", {key: 8 * lab.limits[key]})
    assert fault.startswith(f"lab/timed: {8 * lab.limits[key]:g} {counters.OF_THE_WORK[key]}, ")
    assert fault.endswith(" is the limit: lanes take turns, or are idle, or ask again")
