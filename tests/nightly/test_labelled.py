"""Series with labelled changes, of others and in their likeness: what is found, what is right."""

import numpy as np
import pytest
from otava_test_data.generators import advanced, basic

from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.trials.labelled import NOTHING, Score, labelled, score, score_of

S = Settings()


def test_alerts_are_matched_to_labels_one_to_one() -> None:
    assert score([50, 100], [49, 58, 108, 200]) == Score(found=2, labels=2, right=2, alerts=4)
    assert score([50], []) == Score(0, 1, 0, 0)
    assert score([], [50]) == Score(0, 0, 0, 1)
    assert score([50], [46, 61]) == Score(0, 1, 0, 2)  # too early, too late


def test_the_levels_of_labelled_series_change_where_the_labels_say() -> None:
    for seed in range(4):
        series, labels = labelled(seed)
        assert len(series) < 300  # nights are missing
        for label in labels:
            before, after = np.median(series[label - 8 : label]), np.median(series[label:][:8])
            assert abs(after / before - 1) > 0.01


def test_what_others_generate_and_label_is_found() -> None:
    """Steps, fixes, many changes, outliers and two bands, by otava-test-data."""
    seeds = iter(range(100))  # the same noise is never met twice
    total = NOTHING
    for _ in range(2):
        steps = (
            basic.step_function(
                100, change_index=50, value_before=100, value_after=106, sigma=1, seed=next(seeds)
            ),
            basic.regression_fix(120, regression_duration=20, sigma=1, seed=next(seeds)),
            advanced.multiple_changes(120, [100, 108, 100, 112], sigma=1, seed=next(seeds)),
        )
        quiet = (
            basic.noise_normal(100, mean=100, sigma=1, seed=next(seeds)),
            advanced.banding(100, value1=100, value2=103, sigma=0.5, seed=next(seeds)),
            advanced.multiple_outliers(100, sigma=0.5, seed=next(seeds), outlier_value=110),
        )
        for series in steps:
            total += score_of(series.data, [p.index for p in series.change_points], S)
        for series in quiet:  # outliers have labels too, and are no change of level
            total += score_of(series.data, [], S)
    assert total.labels == 2 * (1 + 2 + 3)
    assert total.recall >= 0.85
    assert total.precision >= 0.5


@pytest.mark.release
def test_labelled_series_are_found_and_most_alerts_are_right() -> None:
    total = sum((score_of(*labelled(seed), S) for seed in range(100)), NOTHING)
    assert total.recall >= 0.85
    assert total.precision >= 0.5
