"""What is said of rows that have no sound time, and what may be retired for it."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.judging.judge import judge_new
from gpubench_reports.nightly.judging.status import decide
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store, publish

from .conftest import MACHINE, judged, process_file, put_night, put_nights

NAME, HOT = "a/b/n:1", "a/hot/n:1"
SKIPPED = {"skipped": True, "skip_reason": "no such unit"}
THROTTLED = {"seconds": 1e-4, "throttled": 1}
OTHERS = {f"a/c/n:{n}": 1e-4 for n in range(9)}
NO_TIME = f"{HOT}: 0 of 5 processes gave a sound time, at least 3 must"


def accepted(store: Store, pattern: str) -> list[str]:
    with Index(store) as index:
        judge_new(store, index, Settings())
        return [name for _, name in decide(store, index, Settings(), "accept", pattern, "known")]


def put_processes(store: Store, rows: list[dict], done: dict | None = None) -> None:
    """A night of one process for each of `rows`."""
    night = store.begin(MACHINE, {"began": "2026-03-01T02:00:00+00:00", "units": []}, {})
    for process, found in enumerate(rows, start=1):
        publish(night.path / f"first-{process}-all.json", process_file(found))
    night.close(done or {})


def test_a_row_that_throttles_from_its_first_night_on_is_told(store: Store, tmp_path: Path) -> None:
    rows = {**OTHERS, HOT: THROTTLED}
    for _ in range(2):
        put_night(store, rows)
        one = judged(store)
        assert (one.unjudged, one.exit_code) == ([NO_TIME], 2)
    out = tmp_path / "j.xml"
    assert main(["export", "junit", str(out), f"--store={store.root}"]) == 0
    assert [e.get("message") for e in ElementTree.parse(out).iter("error")] == [NO_TIME]
    assert accepted(store, HOT) == [HOT]
    put_night(store, rows)
    assert judged(store).exit_code == 0
    put_night(store, {**OTHERS, HOT: 1e-4})
    assert judged(store).exit_code == 0
    put_night(store, rows)  # what was known was of a row that had never been measured
    assert judged(store).unjudged == [f"{NO_TIME} (last measured in night 4)"]


def test_what_is_told_of_a_first_night_does_not_depend_on_when_it_is_judged(store: Store) -> None:
    put_night(store, {**OTHERS, HOT: THROTTLED})
    put_night(store, {**OTHERS, HOT: 1e-4})
    assert judged(store).exit_code == 0
    first = store.nights(MACHINE)[0].document("verdict.json")
    assert [entry["benchmark"] for entry in first["missing"]] == [HOT]


@pytest.mark.parametrize(("skipping", "told"), [(5, []), (3, [HOT])])
def test_a_new_row_that_every_process_skips_is_none_of_the_device(
    store: Store, skipping: int, told: list[str]
) -> None:
    put_processes(store, [{NAME: 1e-4, HOT: SKIPPED if n < skipping else 1e-4} for n in range(5)])
    assert [entry["benchmark"] for entry in judged(store).verdict["missing"]] == told


def test_no_row_vanishes_with_a_night_that_is_not_valid(store: Store) -> None:
    rows = {NAME: 1e-4, "a/never/n:1": SKIPPED}
    for _ in range(3):
        put_night(store, rows)
    put_night(store, rows | {NAME: THROTTLED})
    one = judged(store)
    assert one.unjudged == ["night 4 is invalid: 100% of the rows ran throttled"]
    with pytest.raises(ReportError, match="matches nothing that is open"):
        accepted(store, "*")
    assert store.decisions() == []
    put_night(store, {"other/row": 1e-4})
    assert judged(store).unjudged == [f"{NAME}: vanished (last measured in night 3)"]


def test_a_failure_in_a_night_that_is_not_valid_is_told(store: Store) -> None:
    put_night(store, {NAME: 1e-4, HOT: 1e-4})
    wrong = {"error_occurred": True, "error_message": "wrong sum"}
    put_night(store, {NAME: wrong, HOT: THROTTLED})
    assert judged(store).unjudged[1:] == [f"{NAME}: failed: wrong sum (last measured in night 1)"]


def test_no_row_is_retired_for_a_night_that_lacks_a_process(store: Store) -> None:
    put_nights(store, 3)
    failures = {"failures": {"1-b": "out of memory"}}
    put_processes(store, [{"a/c/n:1": 1e-4}] * 5, failures)
    with pytest.raises(ReportError, match=r"night 4, which does not show .*: out of memory"):
        accepted(store, NAME)
    put_processes(store, [{"a/c/n:1": 1e-4}] * 5)
    assert accepted(store, NAME) == [NAME]


def test_no_row_is_retired_for_a_night_of_too_few_processes(store: Store) -> None:
    put_nights(store, 3)
    put_processes(store, [{NAME: 1e-4}] * 2)
    with pytest.raises(ReportError, match="night 4 has no row to judge: 2 of 2 processes"):
        accepted(store, "*")


def test_all_processes_of_the_concept_are_counted(store: Store) -> None:
    rows = {NAME: 1e-4, HOT: 1e-4}
    put_processes(store, [rows if n < 2 else {NAME: 1e-4} for n in range(5)])
    put_processes(store, [{"c/d": 1e-4}] * 5)
    first = store.nights(MACHINE)[0]
    judged(store)
    (entry,) = first.document("verdict.json")["missing"]
    assert entry["why"] == "2 of 5 processes gave a sound time, at least 3 must"
