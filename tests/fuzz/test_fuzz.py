"""No file crashes a reader, holds it up or eats the memory. `python -m fuzz` tries more."""

import json
import random
from pathlib import Path

import pytest

from gpubench_reports.common.errors import ReportError

from .json_damage import JsonDamage
from .mutate import Mutator
from .readers import READERS, Reader
from .seeds import DATA
from .trial import MOST_MEMORY, Outcome, damaged, try_inputs

KEPT = DATA / "fuzz"  # inputs that once were too much for a reader
# Inputs of the dearest readers take milliseconds each.
FEW = {"reports": 12, "rules": 25, "job": 25, "seconds": 25}


def check(found: Outcome) -> None:
    assert found.crashes == {}
    assert found.hangs == {}
    assert found.peak_bytes < MOST_MEMORY


def kept_of(name: str) -> list[bytes]:
    folder = KEPT / name.replace(" ", "-")
    return [path.read_bytes() for path in sorted(folder.glob("*"))]


@pytest.mark.parametrize("name", READERS)
def test_what_was_too_much_once_is_one_line(name: str) -> None:
    kept = kept_of(name)
    found = try_inputs(name, READERS[name], kept)
    check(found)
    assert found.inputs == len(kept)


@pytest.mark.parametrize("name", READERS)
def test_no_damaged_input_is_too_much(name: str) -> None:
    reader, count = READERS[name], FEW.get(name, 120)
    found = try_inputs(name, reader, damaged(reader, count, seed=20))
    check(found)
    assert found.inputs == count


@pytest.mark.release
@pytest.mark.parametrize("name", READERS)
def test_no_damaged_input_of_many_is_too_much(name: str) -> None:
    reader, count = READERS[name], 80 * FEW.get(name, 120)
    check(try_inputs(name, reader, damaged(reader, count, seed=21)))


def test_every_kept_input_belongs_to_a_reader() -> None:
    known = {name.replace(" ", "-") for name in READERS}
    assert {folder.name for folder in KEPT.iterdir()} <= known


def test_damage_is_the_same_every_time_and_never_the_file_alone() -> None:
    seeds = [b'{"a": [1, 2], "b": "text"}', b"1 2 3\n4 5 6\n"]
    once, again = (Mutator(seeds, random.Random(5)) for _ in range(2))
    found = [once.next() for _ in range(200)]
    assert found == [again.next() for _ in range(200)]
    assert len(set(found)) > 150


def test_damage_to_json_mostly_leaves_json_of_another_value() -> None:
    document = {"a": [1, 2, {"b": None, "c": "x"}], "d": {}, "e": [[], "y"]}
    damage, draw = JsonDamage(document), random.Random(6)
    found = [damage.next(draw) for _ in range(1000)]
    values = [parsed for text in found if (parsed := parsed_or_none(text)) is not None]
    assert len(values) > 900
    assert sum(value != document for value in values) > 850
    assert any("b" not in str(value) for value in values)
    assert any(len(value["a"]) == 2 for value in values if isinstance(value, dict) and "a" in value)


def parsed_or_none(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# --- that the trial would see it ------------------------------------------------------------------


def spoiled(read) -> Outcome:
    calls = iter(range(1000))

    def read_or_pass(path: Path) -> None:
        if next(calls):  # the first is of the whole file
            read(path)

    return try_inputs("spoiled", Reader(lambda: [b"{}"], read_or_pass), [b"[]"])


def test_a_crash_is_seen_with_its_place() -> None:
    (place,) = spoiled(lambda path: {}["key"]).crashes
    assert place.startswith("KeyError at test_fuzz.py:")


def test_a_hang_is_ended_and_seen() -> None:
    def turn_for_ever(path: Path) -> None:
        while True:
            pass

    assert len(spoiled(turn_for_ever).hangs) == 1


def test_memory_is_seen() -> None:
    assert spoiled(lambda path: b"x" * (300 << 20)).peak_bytes > 200 << 20


def test_an_error_is_one_line_that_no_terminal_obeys() -> None:
    def refuse(path: Path) -> None:
        raise ReportError("\x1b]0;name\x07\u202e", "two\nlines, \u2028and more" + "x" * 10000)

    found = spoiled(refuse)
    assert (found.refused, found.crashes) == (1, {})
