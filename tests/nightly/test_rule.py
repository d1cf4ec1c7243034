"""The rule on numbers that can be checked by eye."""

import numpy as np
import pytest

from gpubench_reports.nightly.rule.baseline import Baseline
from gpubench_reports.nightly.rule.change_points import change_points
from gpubench_reports.nightly.rule.regression import (
    judge,
    night_values,
    provisional,
    spread_of,
    without_spikes,
)
from gpubench_reports.nightly.rule.settings import Settings

from .conftest import WOBBLE

S = Settings()
NONE = float("nan")
QUIET = [1 + w for w in WOBBLE * 4]  # 40 nights within 0.3 %


def found(nights: list[float], reruns: dict[int, float] | None = None, settings: Settings = S):
    """Judges after the last of `nights`; `reruns` by position from the end: {1: last night's}."""
    first = np.array(nights)
    rerun = np.full(len(first), NONE)
    for back, value in (reruns or {}).items():
        rerun[-back] = value
    return judge(first, rerun, settings)


def test_limits_are_the_floor_or_four_robust_sigmas() -> None:
    quiet = Baseline.of(np.array(QUIET), S)
    assert quiet.limits == pytest.approx((0.98 * 1.0, 1.02 * 1.0), abs=1e-3)
    wide = np.array([0.99, 1.0, 1.01] * 10)  # MAD 0.01: four sigmas are 5.93 %
    reach = 0.0593 * (1 + 1 / 30) ** 0.5  # the centre is not sure either
    assert Baseline.of(wide, S).limits == pytest.approx((1 - reach, 1 + reach), abs=1e-4)


def test_a_night_is_provisional_beyond_the_limits_once_it_is_known_what_is_normal() -> None:
    before = np.array(QUIET)
    assert [provisional(before, t, S) for t in (1.015, 1.03, 0.97)] == [0, 1, -1]
    assert provisional(before[:9], 1.5, S) == 0  # still learning
    assert provisional(before[:10], 1.5, S) == 1


def test_only_the_last_thirty_nights_count() -> None:
    before = np.array([2.0] * 100 + QUIET[:30])
    assert provisional(before, 1.03, S) == 1


def test_the_rerun_is_the_nights_value() -> None:
    assert list(night_values(np.array([1.0, 1.1]), np.array([NONE, 1.02]))) == [1.0, 1.02]


def test_two_confirmed_nights_running_are_a_change() -> None:
    wide = [0.99, 1.0, 1.01] * 10  # too noisy for a change point after two nights at this size
    strict = Settings(change_p=1e-300)
    change = found([*wide, 1.08, 1.07], {1: 1.07, 2: 1.08}, strict)
    assert change is not None
    assert (change.index, change.how) == (30, "2 nights running")
    assert change.ratio == pytest.approx(1.075, abs=1e-3)
    assert found([*wide, 1.08, 1.07], {1: 1.07, 2: 1.0}, strict) is None  # one was refuted
    assert found([*wide, 1.08, 0.93], {1: 0.93, 2: 1.08}, strict) is None  # not the same way
    assert found([*wide, 1.08, 1.0], {2: 1.08}, strict) is None  # only one night
    assert found([*wide, 1.08, 1.07], {1: 1.07}, strict) is None  # one was not measured again
    assert found([*wide, 1.08, 1.16], {1: 1.16, 2: 1.08}, strict) is None  # not one level


@pytest.mark.parametrize("count", [2, 3, 5])
def test_the_spread_of_a_few_nights_is_right_on_average(count: int) -> None:
    nights = 1 + 0.01 * np.random.default_rng(count).standard_normal((20_000, count))
    assert np.mean([spread_of(few) for few in nights]) == pytest.approx(0.01, rel=0.02)


def test_improvements_are_changes_too() -> None:
    change = found([*QUIET, 0.93, 0.94], {1: 0.94, 2: 0.93})
    assert change is not None
    assert not change.slower


def test_one_spike_is_no_change_even_if_its_rerun_met_it_again() -> None:
    assert found([*QUIET, 1.3], {1: 1.3}) is None
    assert found([*QUIET, 1.3, 1.001, 0.999], {3: 1.3}) is None


def test_a_change_point_needs_no_reruns() -> None:
    change = found([*QUIET, 1.0155, 1.018, 1.019])
    assert change is not None
    assert (change.index, change.how) == (40, "change point")
    assert found([*QUIET, 1.018]) is None  # one night behind it
    assert found([*QUIET, 1.009, 1.010, 1.011, 1.009]) is None  # below the floor of 1.5 %


def test_near_the_end_spikes_are_not_taken_for_a_step() -> None:
    assert found([*QUIET, 1.025, 1.021]) is not None
    assert found([*QUIET, 1.030, 1.016]) is None  # two nights have to agree
    assert found([*QUIET, 1.018, 1.018, 1.014]) is not None
    assert found([*QUIET, 1.018, 1.018, 1.006]) is None  # each of three has to stand apart


def test_a_slow_drift_is_found() -> None:
    drift = [1 + 0.05 * n / 60 for n in range(1, 61)]
    nights = QUIET + [level * (1 + WOBBLE[n % 10]) for n, level in enumerate(drift)]
    when = next(n for n in range(42, len(nights) + 1) if found(nights[:n]) is not None)
    assert when < 40 + 45


def test_spikes_are_taken_out_and_steps_are_left() -> None:
    spiky = np.array([*QUIET[:20], 1.2, *QUIET[:10]])
    assert without_spikes(spiky, 3).max() < 1.004
    at_the_start = np.array([1.2, *QUIET[:10]])
    assert without_spikes(at_the_start, 3)[0] < 1.004
    step = np.array([*QUIET[:20], *(1.2 * np.array(QUIET[:10]))])
    assert without_spikes(step, 3) == pytest.approx(step)
    ends_high = np.array([*QUIET[:20], 1.2])  # a spike, or the first night of a step
    assert without_spikes(ends_high, 3)[-1] == 1.2


def test_e_divisive_finds_the_known_answers() -> None:
    """What the library's analysis is held to, whatever NumPy and SciPy it is installed beside."""
    steps = np.array(QUIET[:15] + [1.05 * q for q in QUIET[:15]] + [0.97 * q for q in QUIET[:15]])
    assert change_points(steps, S) == [15, 30]
    assert change_points(np.array(QUIET), S) == []


def test_many_changes_are_followed_one_after_the_other() -> None:
    levels = [1.0] * 25 + [1.06] * 25 + [1.0] * 25
    nights = [level * (1 + WOBBLE[n % 10]) for n, level in enumerate(levels)]
    start, changes = 0, []
    for end in range(1, len(nights) + 1):
        change = found(nights[start:end])
        if change is not None:
            start += change.index
            changes.append((start, round(change.ratio, 2)))
    assert changes == [(25, 1.06), (50, 0.94)]
