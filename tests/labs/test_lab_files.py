"""A slip in a lab.toml is named: it does not switch a requirement off."""

from __future__ import annotations

from pathlib import Path

import pytest
from checker import course, grade
from checker.course import LabError

from .conftest import LABS

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
