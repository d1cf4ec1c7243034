"""A regression that is open when a new segment begins, and what happens in that segment."""

import pytest

from gpubench_reports.nightly.store.store import Store

from .conftest import judged, put_night
from .test_judging import NAME, decided
from .test_machine_first import put

NEW = {"driver_version": "590.10"}
NEWER = {"driver_version": "600.10"}


def nights(store: Store, count: int, seconds: float, **context: str) -> None:
    for _ in range(count):
        put_night(store, {NAME: seconds}, rerun={NAME: seconds}, **context)


@pytest.fixture
def slower(store: Store) -> Store:
    """20 % slower since night 15, and on a new driver since night 18."""
    nights(store, 14, 1.0e-4)
    nights(store, 3, 1.2e-4)
    nights(store, 14, 1.2e-4, **NEW)
    (standing,) = judged(store).regressions
    assert (standing.level, standing.reference) == pytest.approx((1.2e-4, 1.0e-4), rel=1e-3)
    return store


def test_a_spike_in_the_new_segment_does_not_hide_it(slower: Store) -> None:
    nights(slower, 2, 1.32e-4, **NEW)
    (standing,) = judged(slower).regressions  # the new step, from the level that was accepted
    assert standing.event["first_night"] == 32
    assert (standing.level, standing.reference) == pytest.approx((1.32e-4, 1.0e-4), rel=1e-3)
    nights(slower, 3, 1.2e-4, **NEW)
    one = judged(slower)
    assert one.exit_code == 1
    assert one.regressions[0].event["first_night"] == 15
    assert one.regressions[0].level == pytest.approx(1.2e-4, rel=1e-3)


def test_a_part_of_the_way_back_does_not_close_it(slower: Store) -> None:
    nights(slower, 4, 1.14e-4, **NEW)
    one = judged(slower)
    assert (one.exit_code, one.improvements) == (1, [])
    (standing,) = one.regressions
    assert (standing.level, standing.reference) == pytest.approx((1.14e-4, 1.0e-4), rel=1e-3)
    nights(slower, 12, 1.14e-4, **NEWER)
    assert judged(slower).exit_code == 1  # nor does one more segment
    nights(slower, 4, 1.0e-4, **NEWER)
    assert judged(slower).exit_code == 0


def test_a_decision_in_the_new_segment_closes_it(slower: Store) -> None:
    nights(slower, 4, 1.14e-4, **NEW)
    assert decided(slower, "accept", NAME, "the price of a fix") == [NAME]
    assert judged(slower).exit_code == 0
    nights(slower, 2, 1.3e-4, **NEW)
    (standing,) = judged(slower).regressions
    assert standing.reference == pytest.approx(1.14e-4, rel=1e-3)


def test_a_way_back_to_the_earlier_driver_does_not_hide_it(store: Store) -> None:
    nights(store, 14, 1.0e-4)
    nights(store, 14, 1.0e-4, **NEW)
    nights(store, 4, 1.2e-4, **NEW)
    assert judged(store).exit_code == 1
    for _ in range(3):
        nights(store, 1, 1.2e-4)
        (standing,) = judged(store).regressions
        assert standing.level == pytest.approx(1.2e-4, rel=1e-3)


@pytest.fixture
def slower_together(store: Store) -> Store:
    put(store, 14)
    put(store, 4, slower=10)
    put(store, 14, slower=10, **NEW)
    (standing,) = judged(store).regressions
    assert standing.level == pytest.approx(1.01, abs=2e-3)
    return store


def test_many_rows_together_stay_open_through_what_they_show_later(slower_together: Store) -> None:
    put(slower_together, 4, slower=10, factor=1.02, **NEW)
    (standing,) = judged(slower_together).regressions
    assert standing.level == pytest.approx(1.02, abs=4e-3)
    put(slower_together, 4, slower=10, **NEW)
    (standing,) = judged(slower_together).regressions
    assert standing.level == pytest.approx(1.01, abs=4e-3)
    assert decided(slower_together, "accept", "suite-wide", "known") == ["suite-wide"]
    assert judged(slower_together).exit_code == 0


def test_many_rows_together_that_are_back_in_the_new_segment_are_closed(
    slower_together: Store,
) -> None:
    put(slower_together, 12, **NEW)
    assert judged(slower_together).exit_code == 0


def test_many_rows_together_may_come_back_with_the_new_segment(store: Store) -> None:
    put(store, 14)
    put(store, 4, slower=10)
    put(store, 12, **NEW)
    assert judged(store).exit_code == 0


def test_many_rows_together_stay_open_on_the_way_back_to_the_earlier_driver(
    store: Store,
) -> None:
    put(store, 14)
    put(store, 14, **NEW)
    put(store, 4, slower=10, **NEW)
    assert judged(store).exit_code == 1
    put(store, 1, slower=10)
    assert judged(store).exit_code == 1
