"""What a decision covers, and what it does not."""

from pathlib import Path

import pytest

from gpubench_reports.nightly.store.store import Store

from .conftest import MACHINE, judged, put_night
from .test_judging import NAME, decided
from .test_segments import nights

FAILS = {"error_occurred": True, "error_message": "wrong sum"}


def test_a_row_that_fails_is_never_retired(store: Store) -> None:
    other = "a/b/n:2"
    for _ in range(12):
        put_night(store, {NAME: 1e-4, other: 1e-4})
    slow = {NAME: 1.2e-4}
    put_night(store, slow | {other: 1e-4}, rerun=slow)
    put_night(store, slow | {other: FAILS}, rerun=slow)
    assert judged(store).exit_code == 1
    assert decided(store, "accept", "a/*", "checks its input now") == [NAME]
    for _ in range(2):
        put_night(store, slow | {other: FAILS})
        one = judged(store)
        assert (one.exit_code, len(one.unjudged)) == (2, 1)
        assert one.unjudged[0].startswith(f"{other}: failed: wrong sum")


def test_a_row_that_was_retired_is_told_when_it_fails(store: Store) -> None:
    other = "a/b/n:2"
    for _ in range(12):
        put_night(store, {NAME: 1e-4, other: 1e-4})
    put_night(store, {NAME: 1e-4})
    judged(store)
    assert decided(store, "accept", other, "removed") == [other]
    put_night(store, {NAME: 1e-4})
    assert judged(store).exit_code == 0
    put_night(store, {NAME: 1e-4, other: FAILS})
    assert judged(store).unjudged[0].startswith(f"{other}: failed: wrong sum")


@pytest.mark.parametrize("action", [("accept", "known"), ("acknowledge", "known", "2999-12-31")])
def test_a_decision_does_not_cover_what_a_night_under_way_finds(
    store: Store, tmp_path: Path, action: tuple[str, ...]
) -> None:
    nights(store, 14, 1.0e-4)
    nights(store, 12, 1.2e-4)
    nights(store, 2, 1.5e-4)
    last = store.nights(MACHINE)[-1].path
    for verdict in (last / "verdict.json", last / "done.json"):
        verdict.rename(tmp_path / verdict.name) if verdict.exists() else None
    assert judged(store).exit_code == 1
    what, reason, *until = action
    assert decided(store, what, NAME, reason, *until) == [NAME]
    (tmp_path / "done.json").rename(last / "done.json")
    one = judged(store)
    assert one.exit_code == 1
    assert one.regressions[0].level == pytest.approx(1.5e-4, rel=1e-3)


def test_a_part_of_the_way_back_leaves_it_acknowledged(store: Store) -> None:
    nights(store, 14, 1.0e-4)
    nights(store, 3, 1.2e-4)
    judged(store)
    decided(store, "acknowledge", NAME, "being mended", "2999-12-31")
    assert judged(store).exit_code == 0
    nights(store, 3, 1.1e-4)
    one = judged(store)
    assert (one.exit_code, len(one.acknowledged)) == (0, 1)
    nights(store, 3, 1.3e-4)
    assert judged(store).exit_code == 1
