"""Nights that are being copied into the store: waited for, and taken in once they are whole."""

import os
import warnings
from pathlib import Path

import pytest

from gpubench_reports.nightly.store.store import Store

from .conftest import judged, put_night, put_nights

OLD = (0, 0)  # a file's times: long settled


def write_half(path: Path) -> bytes:
    """Leaves `path` as a tool does that sets a file's size first; returns what it shall hold."""
    whole = path.read_bytes()
    half = len(whole) // 2
    path.write_bytes(whole[:half] + bytes(len(whole) - half))
    return whole


@pytest.fixture
def copied(store: Store) -> Store:
    """Twelve nights, of which the last is being copied."""
    put_nights(store, 11)
    put_night(store, {"a/b/n:1": 1.5e-4})
    judged(store)
    last = store.nights("lab")[-1].path
    (last / "verdict.json").unlink()
    store.index_path.unlink()
    return store


@pytest.mark.parametrize("name", ["first-2-all.json", "done.json", "plan.json"])
def test_a_night_that_becomes_whole_at_the_same_size_is_taken_in(copied: Store, name: str) -> None:
    path = copied.nights("lab")[-1].path / name
    whole = write_half(path)
    for _ in range(2):  # whoever asks again does no harm
        one = judged(copied)
        assert one.unjudged == ["night 12 is incomplete: 1 file is not here yet"]
        assert one.exit_code == 2
    assert copied.quarantined() == []
    path.write_bytes(whole)
    one = judged(copied)
    assert (one.exit_code, one.night, one.verdict["judged"]) == (0, 12, 1)
    assert one.date.startswith("2026-01-12")


@pytest.mark.parametrize("name", ["first-2-all.json", "done.json", "plan.json"])
def test_a_file_that_stays_damaged_is_put_aside_once_nobody_copies_it(
    copied: Store, name: str
) -> None:
    path = copied.nights("lab")[-1].path / name
    write_half(path)
    assert judged(copied).exit_code == 2
    os.utime(path, OLD)
    judged(copied)
    assert [str(place) for place, _ in copied.quarantined()] == [f"lab/000012/{name}"]
    assert not path.exists()


def test_a_damaged_verdict_is_waited_for_and_made_again_if_it_stays_so(copied: Store) -> None:
    assert judged(copied).exit_code == 0
    path = copied.nights("lab")[-1].path / "verdict.json"
    write_half(path)
    copied.index_path.unlink()
    assert judged(copied).unjudged == ["night 12 is incomplete: 1 file is not here yet"]
    os.utime(path, OLD)
    one = judged(copied)
    assert (one.exit_code, one.verdict["judged"]) == (0, 1)
    assert [str(place) for place, _ in copied.quarantined()] == ["lab/000012/verdict.json"]


def test_nights_older_than_the_level_may_come_late(store: Store, tmp_path: Path) -> None:
    put_nights(store, 14)
    for _ in range(4):
        put_night(store, {"a/b/n:1": 1.1e-4})
    late = [store.nights("lab")[number - 1].path for number in (13, 15)]
    for path in late:
        path.rename(tmp_path / path.name)
    assert judged(store).exit_code == 1
    for path in late:
        (tmp_path / path.name).rename(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of numpy, about nothing's median
        one = judged(store)
    assert (one.exit_code, len(one.regressions)) == (1, 1)
    assert all(path.joinpath("verdict.json").exists() for path in late)
