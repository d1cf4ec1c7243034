"""What is exported for Prometheus."""

import re
from pathlib import Path

from gpubench_reports.nightly.reporting.export import openmetrics
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store

from .conftest import judged, put_night

NAME = "a/b/n:1"
S = Settings()


def test_metrics_are_of_the_latest_night_alone(store: Store, tmp_path: Path) -> None:
    put_night(store, {NAME: 1e-4, "a/gone/n:1": 1e-4})
    put_night(store, {NAME: 1e-4, "a/fails/n:1": {"error_occurred": True, "error_message": "x"}})
    judged(store)
    with Index(store) as index:
        text = openmetrics(store, index, S, tmp_path / "m.txt").read_text()
    assert re.findall(r'gpubench_time_seconds{.*benchmark="(.*)"}', text) == [NAME]
    put_night(store, {NAME: {"seconds": 1e-4, "throttled": 1}})  # which tells no times at all
    judged(store)
    with Index(store) as index:
        text = openmetrics(store, index, S, tmp_path / "m.txt").read_text()
    assert re.findall(r'(gpubench_\w+){.*benchmark="a/b/n:1"} (\S+)', text) == [
        ("gpubench_throttled_ratio", "1.0")
    ]
    assert 'gpubench_not_judged{machine="lab"} 1' in text


def test_throttling_that_nothing_observed_is_no_metric(store: Store, tmp_path: Path) -> None:
    rows = {NAME: 1e-4} | {
        f"a/c/n:{share}": {"seconds": 1e-4, "throttled": share} for share in (0, 1)
    }
    put_night(store, rows, rerun={"a/c/n:1": 1e-4})
    judged(store, Settings(max_throttled=0.9))
    with Index(store) as index:
        text = openmetrics(store, index, S, tmp_path / "m.txt").read_text()
    seen = re.findall(r'gpubench_throttled_ratio{.*benchmark="(.*)"} (\S+)', text)
    assert seen == [("a/c/n:0", "0.0"), ("a/c/n:1", "1.0")]
