"""Is the committed reference of the C++ statistics still what SciPy answers?"""

import json
from typing import Any

import pytest

pytest.importorskip("scipy", reason="the reference comes from SciPy")
import statistics_reference


@pytest.fixture(scope="module")
def committed() -> dict[str, Any]:
    return json.loads(statistics_reference.REFERENCE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def regenerated() -> dict[str, Any]:
    return statistics_reference.reference()


def test_same_questions(committed: dict[str, Any], regenerated: dict[str, Any]) -> None:
    assert committed["probabilities"] == regenerated["probabilities"]
    assert [case["distribution"] for case in committed["cases"]] == [
        case["distribution"] for case in regenerated["cases"]
    ]
    for ours, theirs in zip(committed["cases"], regenerated["cases"], strict=True):
        assert ours["samples"] == pytest.approx(theirs["samples"], rel=1e-5, abs=1e-9)


def test_same_ranks(committed: dict[str, Any], regenerated: dict[str, Any]) -> None:
    assert committed["median_interval_ranks"] == regenerated["median_interval_ranks"]


def test_same_answers(committed: dict[str, Any]) -> None:
    """Asked about the committed samples: another C library may round a new one differently."""
    for case in committed["cases"]:
        for name, theirs in statistics_reference.answers(case["samples"]).items():
            where = f"{name} of {case['distribution']}, {len(case['samples'])} samples"
            if theirs is None:
                assert case[name] is None, where
            else:
                assert case[name] == pytest.approx(theirs, rel=1e-12, abs=0), where


def test_the_quantile_test_agrees_with_the_binomial_ranks(committed: dict[str, Any]) -> None:
    """Two routes through SciPy to one interval."""
    ranks_of = {e["samples"]: e["ranks"] for e in committed["median_interval_ranks"]}
    for case in committed["cases"]:
        values = sorted(case["samples"])
        ranks = ranks_of[len(values)]
        expected = None if ranks is None else [values[rank - 1] for rank in ranks]
        assert case["median_interval"] == expected
