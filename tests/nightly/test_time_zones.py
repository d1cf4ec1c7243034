"""What is stored and said of a night does not depend on the zone of the machine, nor on its clock
going forward in March and back in October."""

import json
import time
from pathlib import Path

import pytest

from gpubench_reports.nightly.nights.adding import add
from gpubench_reports.nightly.reporting.metrics import metrics
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store

from .conftest import MACHINE, judged, process_file, put_night

# In Berlin, the two nights of October both begin at half past two; in March, there is no such time.
SPRING, BEFORE, AFTER = ("2026-03-29T01:30:00", "2026-10-25T00:30:00", "2026-10-25T01:30:00")


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/New_York"])
def zone(request, monkeypatch):
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def began(store: Store, date: str) -> int | None:
    """When the newest night began by what is exported, if `date` is what it says."""
    put_night(store, {"a/b/n:1": 1e-4}, date=date)
    judged(store)
    with Index(store) as index:
        lines = metrics(store, index, Settings()).splitlines()
    found = [line.split()[-1] for line in lines if line.startswith("gpubench_night_began{")]
    return int(found[0]) if found else None


def test_nights_on_either_side_of_a_change_of_the_clock_are_an_hour_apart(store, zone) -> None:
    moments = [began(store, f"{date}+00:00") for date in (SPRING, BEFORE, AFTER)]
    assert moments == [1774747800, 1792888200, 1792891800]


def test_a_date_of_no_zone_is_utc(store, zone) -> None:
    assert began(store, BEFORE) == 1792888200


@pytest.mark.parametrize(
    "date", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-12:00", "yesterday"]
)
def test_of_a_date_that_is_none_nothing_is_exported(store, date) -> None:
    assert began(store, date) is None


def test_added_files_begin_at_the_earliest_in_utc(store, zone, tmp_path: Path) -> None:
    """The second file says the smaller time of day and is later."""
    files = []
    for number, date in enumerate(["2026-10-25T02:30:00+02:00", "2026-10-25T02:10:00+01:00"]):
        files.append(tmp_path / f"{number}.json")
        files[-1].write_bytes(process_file({"a/b/n:1": 1e-4}, date=date))
    with Index(store) as index:
        night = add(store, index, files, MACHINE)
    assert json.loads((night.path / "plan.json").read_bytes())["began"] == f"{BEFORE}+00:00"
