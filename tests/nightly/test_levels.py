"""Levels that come and go: closed when it is over, found again when there is more."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gpubench_reports.nightly.judging.judge import judge_new
from gpubench_reports.nightly.judging.status import decide
from gpubench_reports.nightly.rule.baseline import Baseline
from gpubench_reports.nightly.rule.regression import judge
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store
from gpubench_reports.nightly.trials.noise import Noise
from gpubench_reports.nightly.trials.simulation import KINDS, Task, judge_series, simulate, times

from .conftest import WOBBLE, judged, put_night, put_nights

NAME = "a/b/n:1"
S = Settings()
QUIET = [1 + w for w in WOBBLE * 4]


def kinds(levels: list[float], measured_again: bool = True) -> list[tuple[int, str]]:
    """What is found when, in nights that differ as WOBBLE does."""
    nights = np.array([level * QUIET[n % 40] for n, level in enumerate(levels)])
    again = nights if measured_again else np.full(len(nights), np.nan)
    return [(alert.night, alert.kind) for alert in judge_series(nights, again, S)]


@pytest.mark.parametrize("lasts", [2, 3, 4])
def test_a_short_level_is_closed_by_the_first_night_back(lasts: int) -> None:
    found = kinds([1.0] * 30 + [1.05] * lasts + [1.0] * 60)
    assert found == [(31, "regression"), (30 + lasts, "return")]


def test_without_reruns_two_nights_close_it() -> None:
    found = kinds([1.0] * 30 + [1.05] * 4 + [1.0] * 60, measured_again=False)
    assert found == [(31, "regression"), (35, "return")]


@pytest.mark.parametrize("lasts", [2, 3])
@pytest.mark.parametrize("measured_again", [True, False])
def test_a_second_step_is_found_on_a_young_level(lasts: int, measured_again: bool) -> None:
    found = kinds([1.0] * 30 + [1.05] * lasts + [1.10] * 5, measured_again)
    assert {kind for _, kind in found} == {"regression"}
    assert found[1][0] <= 30 + lasts + 2


@pytest.mark.parametrize("measured_again", [True, False])
@pytest.mark.parametrize("levels", [(0.95, 1.05), (1.05, 0.95), (1.04, 0.988)])
def test_a_level_beyond_the_reference_is_no_way_back_to_it(
    levels: tuple[float, float], measured_again: bool
) -> None:
    """Halfway between its two sides lies the reference, where no night is."""
    first, second = levels
    nights = [1.0] * 30 + [first] * 15 + [second] * 15 + [1.0] * 15
    found = kinds(nights, measured_again)
    sides = {True: "regression", False: "improvement"}
    open_kinds = [sides[first > 1], *([sides[second > 1]] if abs(second - 1) > 0.02 else [])]
    assert [kind for _, kind in found if kind != "return"] == open_kinds
    assert found[-1][1] == "return"


def test_a_lasting_step_stays_open() -> None:
    assert kinds([1.0] * 30 + [1.05] * 80) == [(31, "regression")]


@pytest.mark.parametrize(
    ("slope", "how"), [(3e-4, "drift"), (1e-4, None), (-3e-4, None), (0.0, None)]
)
def test_a_drift_too_slow_for_any_night_is_found_by_how_the_level_began(
    slope: float, how: str | None
) -> None:
    nights = np.random.default_rng(1).normal(1, 0.003, 160) * (1 + slope * np.arange(160))
    found = judge(nights, np.full(160, np.nan), S)
    assert (found.how if found else None) == how
    if found:
        assert (found.index, found.ratio) == (130, pytest.approx(1.04, abs=3e-3))


@pytest.mark.parametrize("spike", [10, 150])
def test_a_spike_hides_no_drift(spike: int) -> None:
    nights = np.random.default_rng(1).normal(1, 0.003, 160) * (1 + 3e-4 * np.arange(160))
    nights[spike] *= 1.5
    found = judge(nights, np.full(160, np.nan), S)
    assert found
    assert (found.how, found.ratio) == ("drift", pytest.approx(1.04, abs=3e-3))


def test_a_drift_is_told_from_its_first_nights_to_its_last(store: Store) -> None:
    few = replace(S, window=10, change_window=10)  # in which the drift is below the floor
    for night in range(45):
        level = 1e-4 * (1 + 1e-3 * night) * QUIET[night % 40]
        put_night(store, {NAME: {"seconds": level, "sm_clock_hz": 1.9e9}}, git_commit=f"c{night}")
    (standing,) = judged(store, few).regressions
    event = standing.event
    assert (event["how"], event["class"], event["kind"]) == ("drift", "program", "regression")
    assert event["commits"] == ["c9", f"c{event['first_night'] - 1}"]
    assert event["cycles_ratio"] == pytest.approx(event["after"] / event["before"], abs=1e-3)


def test_a_partial_fix_does_not_close_it() -> None:
    found = kinds([1.0] * 30 + [1.08] * 4 + [1.04] * 30)
    assert [kind for _, kind in found] == ["regression", "regression"]


def test_what_is_accepted_is_the_level_of_now(store: Store) -> None:
    """It moved by 1.4 % since the alert, which no change point shows."""
    put_nights(store, 12)
    for level in [1.05e-4] * 2 + [1.064e-4] * 12:
        put_night(store, {NAME: level}, rerun={NAME: level})
    with Index(store) as index:
        judge_new(store, index, S)
        assert decide(store, index, S, "accept", "*", "checks its input") == [("lab", NAME)]
    (decision,) = store.decisions()
    assert decision["levels"] == [pytest.approx(1.064e-4)]
    assert judged(store).exit_code == 0
    put_nights(store, 12, level=1.064e-4)
    for _ in range(2):
        put_night(store, {NAME: 1.117e-4}, rerun={NAME: 1.117e-4})
    one = judged(store)  # slower by 5 %: a regression, not the way back to anything
    assert one.exit_code == 1
    assert one.regressions[0].reference == pytest.approx(1.064e-4, rel=1e-2)


def test_a_decision_of_before_levels_were_stored_still_holds(store: Store) -> None:
    put_nights(store, 12)
    for _ in range(2):
        put_night(store, {NAME: 1.05e-4}, rerun={NAME: 1.05e-4})
    assert judged(store).exit_code == 1
    key = ["h200-sxm", "cold", NAME]
    accept = {"action": "accept", "machine": "lab", "night": 14, "series": [key], "reason": "r"}
    store.decide(accept)
    assert judged(store).exit_code == 0
    for levels in ([], [0.0], [1.0, 2.0], ["x"], "x"):  # an empty list is none
        path = store.decide(accept | {"levels": levels})
        known = len(store.decisions())
        assert (known == 2) == (levels == [])
        path.unlink()


def test_a_level_that_was_visited_before_takes_more_nights() -> None:
    baseline = Baseline.of(np.array([*QUIET[:27], 1.05, 1.051, 1.049]), S)
    assert not baseline.is_rare(np.array([1.05, 1.05]))
    assert baseline.is_rare(np.array([1.08, 1.08]))
    assert baseline.is_rare(np.array([0.95, 0.95]))  # never on that side


def test_ticks_are_known_from_steps_and_spikes() -> None:
    def tick(nights: list[float]) -> float:
        return Baseline.of(np.array(nights), S).tick

    assert tick([5.0, 5.1] * 15) == pytest.approx(0.1 / 5.05)
    assert tick([5.0] * 15 + [5.5] * 15) == 0  # a step
    assert tick([5.0] * 15 + [5.5] + [5.0] * 14) == 0  # a spike
    assert tick([5.0, 5.5, 5.0, 6.2] * 7) == 0  # multiples of nothing
    assert tick(list(np.random.default_rng(1).normal(1, 0.01, 30))) == 0


@pytest.mark.parametrize(
    ("nights", "why"),
    [
        (QUIET[:30], ""),
        ([1.0, 1.03] * 15, "its nights spread by 2.2%: changes below 5.8% may stay unseen"),
        ([5.0, 5.5, 5.0] * 10, "its times are multiples of 10.0%"),
        ([5.0] * 30, "its nights are equal to the last digit"),
        ([5.0] * 9, ""),  # still learning
    ],
)
def test_a_series_that_cannot_be_judged_says_why(nights: list[float], why: str) -> None:
    said = Baseline.of(np.array(nights), S).why_blind
    assert said.startswith(why)
    assert bool(said) == bool(why)


def test_a_series_that_cannot_be_judged_is_named_and_does_not_fail(store: Store) -> None:
    for number in range(12):
        put_night(store, {NAME: 1e-4 * (1.0, 1.04)[number % 2] * (1 + WOBBLE[number % 10])})
    one = judged(store)
    assert one.exit_code == 0
    assert [entry["benchmark"] for entry in one.blind] == [NAME]
    assert "spread" in json.dumps(one.verdict["blind"])


def test_a_step_is_not_the_noise_that_hides_steps(store: Store) -> None:
    for number in range(14):
        seconds = (1.2e-4 if number > 11 else 1e-4) * (1 + WOBBLE[number % 10])
        put_night(store, {NAME: seconds}, rerun={NAME: seconds})
    one = judged(store)
    assert (one.exit_code, one.blind) == (1, [])


@pytest.mark.parametrize("kind", KINDS[5:], ids=lambda kind: kind.title)
def test_wide_spreads_and_ticks_are_quiet(kind) -> None:
    tasks = [Task(seed, (1.0,) * 90, 0, Noise(), S, kind) for seed in range(6)]
    found = [alert for task in tasks for alert in simulate(task) if alert.kind == "regression"]
    assert len(found) <= 1


def test_the_kinds_of_noise_are_what_they_are_called() -> None:
    def nights(number: int) -> np.ndarray:
        noise = Noise(within=0.0, process=0.0, outliers=0.0)
        task = Task(1, (1.0,) * 400, 0, noise, S, KINDS[number])
        return times(task, np.random.default_rng(2))[0]

    logs = np.log(nights(1))
    assert np.corrcoef(logs[1:], logs[:-1])[0, 1] == pytest.approx(0.6, abs=0.1)
    assert np.std(nights(6)[60:]) / np.std(nights(6)[:60]) == pytest.approx(3, rel=0.25)
    assert np.mean(nights(5) > 1.015) == pytest.approx(0.5, abs=0.1)
    assert len(set(np.round(nights(7) / 0.02, 6) % 1)) == 1


def accept(store: Store) -> None:
    with Index(store) as index:
        decide(store, index, S, "accept", "*", "known")


def test_a_new_driver_closes_no_open_regression(store: Store) -> None:
    put_nights(store, 14, NAME)
    for _ in range(4):
        put_night(store, {NAME: 1.1e-4})
    assert judged(store).exit_code == 1
    put_night(store, {NAME: 1.12e-4}, driver_version="590.10")
    one = judged(store)
    assert one.exit_code == 1
    (standing,) = one.regressions
    assert standing.level / standing.reference == pytest.approx(1.12, abs=0.005)
    accept(store)
    assert judged(store).exit_code == 0
    put_night(store, {NAME: 1.12e-4}, driver_version="590.10")
    assert judged(store).exit_code == 0


def test_a_new_driver_that_brings_the_level_back_does(store: Store) -> None:
    put_nights(store, 14, NAME)
    for _ in range(4):
        put_night(store, {NAME: 1.1e-4})
    assert judged(store).exit_code == 1
    put_night(store, {NAME: 1.0e-4}, driver_version="590.10")
    assert judged(store).exit_code == 0
