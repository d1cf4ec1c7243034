"""The predefined questions to a store and to exported Parquet."""

from pathlib import Path
from typing import Any

import pytest

from gpubench_reports.nightly.reporting.export import parquet
from gpubench_reports.nightly.reporting.queries import answer, names, over_index, over_parquet
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store

from .conftest import put_night

NAME = "a/b/n:1"


@pytest.fixture
def ask(store: Store, tmp_path: Path):
    """ask(question) -> the answer's rows by column, the same from the index and from Parquet."""

    def call(question: str) -> list[dict[str, Any]]:
        with Index(store) as index:
            index.update(Settings())
            columns, rows = over_index(index, question, "%")
            parquet(store, index, Settings(), tmp_path / "lake")
        of_lake = over_parquet(str(tmp_path / "lake"), question, "%")
        assert answer(of_lake) == answer((columns, rows))
        return [dict(zip(columns, row, strict=True)) for row in rows]

    return call


def test_hot_and_cold_nights_are_different_series(store: Store, ask) -> None:
    for mode, seconds in (("cold", 2e-4), ("cold", 2e-4), ("hot", 1e-4), ("hot", 1e-4)):
        put_night(store, {NAME: seconds}, mode=mode)
    for question in names():
        found = ask(question)
        assert [row["mode"] for row in found].count("cold") == len(found) / 2, question
        assert all(row.get("spread", 0) == 0 for row in found), question
    times = {row["mode"]: row["seconds"] for row in ask("latest")}
    assert times == {"cold": pytest.approx(2e-4), "hot": pytest.approx(1e-4)}


def test_machines_are_compared_by_their_newest_nights(store: Store, ask) -> None:
    for machine, before, now in (("ma", 4e-4, 1e-4), ("mb", 1e-4, 1.5e-4)):
        for seconds in (before, now):
            put_night(store, {NAME: seconds}, machine=machine)
    (row,) = ask("machines")
    assert (row["machines"], row["fastest"], row["slowest"], row["spread"]) == (
        2,
        *(pytest.approx(value) for value in (1e-4, 1.5e-4, 0.5)),
    )


def test_a_night_that_ran_throttled_is_part_of_the_health_alone(store: Store, ask) -> None:
    state = {"sm_clock_hz": 1.9e9, "temperature_c": 60.0, "throttled": 0}
    hot = {"sm_clock_hz": 1.2e9, "temperature_c": 90.0, "throttled": 1}
    for what in (state, hot):
        put_night(store, {NAME: {"seconds": 1e-4, **what}})
    sound = {f"a/b/n:{n}": {"seconds": 1e-4, **state} for n in range(1, 5)}
    put_night(store, {**sound, "a/c/n:1": {"seconds": 1e-4, **hot}})
    found = {row["night"]: (row["throttled"], row["temperature_c"]) for row in ask("health")}
    assert found == {1: (0.0, 60.0), 2: (1.0, 90.0), 3: (pytest.approx(0.2), 90.0)}
    assert [row["night"] for row in ask("history") if row["name"] == NAME] == [1, 3]
    assert {(row["name"], row["night"]) for row in ask("latest")} == {(name, 3) for name in sound}
