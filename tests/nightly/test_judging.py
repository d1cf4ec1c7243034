"""What the judge makes of stored nights, and what people may decide about it."""

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.judging.judge import judge_new
from gpubench_reports.nightly.judging.status import decide
from gpubench_reports.nightly.reporting.export import junit, openmetrics, parquet
from gpubench_reports.nightly.reporting.page import write_page
from gpubench_reports.nightly.reporting.queries import answer, over_index, over_parquet
from gpubench_reports.nightly.reporting.queries import names as query_names
from gpubench_reports.nightly.reporting.summary import lines
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store

from .conftest import MACHINE, judged, put_night, put_nights

NAME = "a/b/n:1"
S = Settings()


def said(store: Store) -> str:
    return "\n".join(lines(judged(store), S, rehearsal=False))


def slow_night(store: Store, factor: float = 1.05, **more) -> None:
    rows = {NAME: 1e-4 * factor}
    put_night(store, rows, rerun=rows, **more)


def names(standings) -> list[str]:
    return [standing.event["benchmark"] for standing in standings]


def decided(store: Store, *decision: str) -> list[str]:
    with Index(store) as index:
        judge_new(store, index, S)
        return [name for _, name in decide(store, index, S, *decision)]


def test_a_step_is_a_regression_until_it_is_accepted(store: Store) -> None:
    put_nights(store, 12)
    assert judged(store).exit_code == 0
    slow_night(store)
    assert judged(store).exit_code == 0  # provisional
    assert f"1 provisional: {NAME} (slower)" in said(store)
    slow_night(store)
    one = judged(store)
    assert one.exit_code == 1
    assert names(one.regressions) == [NAME]
    event = one.regressions[0].event
    assert (event["first_night"], event["night"], event["how"]) == (13, 14, "2 nights running")
    slow_night(store)
    assert judged(store).exit_code == 1  # it stays open
    assert decided(store, "accept", "a/*", "the new kernel checks its input") == [NAME]
    slow_night(store)
    assert judged(store).exit_code == 0
    put_nights(store, 12, level=1.05e-4)
    assert judged(store).exit_code == 0
    slow_night(store, 1.12)
    slow_night(store, 1.12)
    one = judged(store)
    assert one.exit_code == 1
    assert one.regressions[0].reference == pytest.approx(1.05e-4, rel=1e-2)  # the accepted level


def test_judging_again_changes_nothing(store: Store) -> None:
    put_nights(store, 12)
    slow_night(store)
    slow_night(store)
    judged(store)
    verdicts = [n.document("verdict.json") for n in store.nights(MACHINE)]
    store.index_path.unlink()
    assert judged(store).exit_code == 1
    assert [n.document("verdict.json") for n in store.nights(MACHINE)] == verdicts
    # Nor does the order in which the files came here: all at once is night after night.
    for night in store.nights(MACHINE):
        (night.path / "verdict.json").unlink()
    assert judged(store).exit_code == 1
    again = [n.document("verdict.json") for n in store.nights(MACHINE)]
    for verdict in (*again, *verdicts):
        del verdict["judged_at"]
    assert again == verdicts


def test_a_regression_that_goes_away_is_closed(store: Store) -> None:
    put_nights(store, 12)
    for _ in range(12):
        slow_night(store)
    assert judged(store).exit_code == 1
    put_night(store, {NAME: 1e-4}, rerun={NAME: 1e-4})
    one = judged(store)  # measured twice: one night is enough
    assert one.exit_code == 0
    assert one.verdict["events"][0]["kind"] == "return"


@pytest.fixture
def today(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """today("2026-03-01"): what this machine's clock says of the day from here on."""
    module = "gpubench_reports.nightly.judging.status.now"

    def set_day(day: str) -> None:
        monkeypatch.setattr(module, lambda: f"{day}T12:00:00+00:00")

    return set_day


def test_an_acknowledged_regression_is_quiet_until_its_day(store: Store, today) -> None:
    put_nights(store, 12)
    today("2026-03-02")
    slow_night(store, date="2026-03-01T02:00:00+00:00")
    slow_night(store, date="2026-03-02T02:00:00+00:00")
    assert decided(store, "acknowledge", "*", "known, being worked on", "2026-03-05") == [NAME]
    one = judged(store)
    assert (one.exit_code, names(one.acknowledged)) == (0, [NAME])
    for day, muted in (("2026-03-05", True), ("2026-03-06", False)):  # though no night followed
        today(day)
        one = judged(store)
        assert (one.exit_code, names(one.acknowledged)) == ((0, [NAME]) if muted else (1, []))
        with Index(store) as index:
            page = write_page(store, index, S, store.root / "p.html").read_text()
        assert ("Acknowledged (1)" in page) == muted
    today("2026-03-02")  # the clock was set back, and a later night is there
    slow_night(store, date="2026-03-06T02:00:00+00:00")
    assert judged(store).exit_code == 1


@pytest.mark.parametrize("day", ["2026-03-01", "2026-03-09"])
def test_nothing_is_acknowledged_until_a_day_that_is_past(store: Store, today, day: str) -> None:
    put_nights(store, 12)
    today("2026-03-10" if day > "2026-03-02" else "2026-02-20")
    for _ in range(2):
        slow_night(store, date="2026-03-02T02:00:00+00:00")
    with pytest.raises(ReportError, match=f"{day}: is past: today is 2026-03-"):
        decided(store, "acknowledge", "*", "known", day)
    assert store.decisions() == []


def test_an_acknowledgement_until_no_day_is_no_decision(store: Store) -> None:
    decision = {"action": "acknowledge", "machine": MACHINE, "night": 1, "series": []}
    store.decide(decision | {"reason": "known", "until": "next year"})  # sorts after any day
    assert store.decisions() == []


def test_an_alert_names_the_commits_that_it_lies_between(store: Store) -> None:
    put_nights(store, 12, git_commit="a" * 40)
    for _ in range(2):
        slow_night(store, git_commit="b" * 40)
    assert "(2 nights running, clock not known), 2026-01-13, commits " in said(store)
    assert f"commits {'a' * 10}..{'b' * 10}" in said(store)
    assert "0 provisional" in said(store)  # it is a regression now
    with Index(store) as index:
        page = write_page(store, index, S, store.root / "p.html").read_text()
    assert f"<li>night 13, 2026-01-13: commit {'a' * 10} -&gt; {'b' * 10}" in page


def test_a_change_without_a_new_commit_says_so(store: Store) -> None:
    put_nights(store, 12)
    slow_night(store)
    slow_night(store)
    assert "both sides commit 0123456789" in said(store)


def test_a_decision_is_on_the_page_at_once(store: Store) -> None:
    put_nights(store, 12)
    slow_night(store)
    slow_night(store)
    judged(store)
    flags = [f"--store={store.root}", "--reason=known"]
    assert main(["acknowledge", "a/*", "--until=2099-01-01", *flags]) == 0
    assert "Acknowledged (1)" in (store.root / "report.html").read_text()
    assert main(["accept", "a/*", *flags]) == 0
    assert "Quiet (1)" in (store.root / "report.html").read_text()


def test_what_a_decision_says_controls_no_terminal(store: Store, capsys) -> None:
    put_nights(store, 12)
    slow_night(store)
    slow_night(store)
    judged(store)
    reason = "--reason=\x1b[2Jknown\n=cmd"
    flags = [f"--store={store.root}", "--until=2999-01-01", reason]
    assert main(["acknowledge", "a/*", *flags]) == 0
    capsys.readouterr()
    assert main(["status", f"--store={store.root}"]) == 0
    told = capsys.readouterr().out
    assert "\ufffd[2Jknown\ufffd=cmd" in told
    assert "\x1b" not in told


def test_an_acknowledgement_is_not_about_what_comes_after(store: Store) -> None:
    put_nights(store, 12)
    for _ in range(13):
        slow_night(store, date="2026-03-01T02:00:00+00:00")
    decided(store, "acknowledge", "*", "known", "2999-12-31")
    assert judged(store).exit_code == 0
    slow_night(store, 1.20, date="2026-03-02T02:00:00+00:00")
    slow_night(store, 1.20, date="2026-03-03T02:00:00+00:00")
    assert judged(store).exit_code == 1


def test_an_improvement_is_reported_and_can_be_accepted(store: Store) -> None:
    put_nights(store, 12)
    for _ in range(14):
        slow_night(store, 0.9)
    one = judged(store)
    assert (one.exit_code, names(one.improvements)) == (0, [NAME])
    decided(store, "accept", NAME, "wider loads")
    assert judged(store).improvements == []
    slow_night(store, 1.0)  # what was normal once is a regression now
    slow_night(store, 1.0)
    assert judged(store).exit_code == 1


def test_decisions_need_a_reason_and_something_open(store: Store) -> None:
    put_nights(store, 12)
    with pytest.raises(ReportError, match="matches nothing that is open"):
        decided(store, "accept", "*", "why not")
    with pytest.raises(ReportError, match="needs a reason"):
        decided(store, "accept", "*", "  ")


@pytest.mark.parametrize(
    ("counters", "expected"),
    [
        ({"sm_clock_hz": 1.98e9}, "program"),  # the same clock: more cycles
        ({"sm_clock_hz": 1.8e9}, "clock"),  # 10 % slower clock, 10 % more time
        ({"sm_clock_hz": 1.8e9, "note": "software power cap in 9 of 9 samples"}, "power"),
        ({"sm_clock_hz": 1.8e9, "note": "software thermal slow-down in 1 of 9 samples"}, "thermal"),
        ({}, "clock not known"),
    ],
)
def test_whose_doing_it_is(store: Store, counters: dict, expected: str) -> None:
    for _ in range(12):
        put_night(store, {NAME: {"seconds": 1e-4, "sm_clock_hz": 1.98e9}})
    row = {NAME: {"seconds": 1.1e-4, **counters}}
    for _ in range(2):
        put_night(store, row, rerun=row)
    one = judged(store)
    assert one.exit_code == 1
    assert one.regressions[0].event["class"] == expected


def test_a_new_driver_starts_a_new_segment(store: Store) -> None:
    put_nights(store, 12)
    for _ in range(3):
        slow_night(store, 1.2, driver_version="590.10")
    one = judged(store)
    assert one.exit_code == 0
    assert one.verdict["learning"] == 1
    first = store.nights(MACHINE)[12].document("verdict.json")
    assert first["segments"][0]["changed"] == {"driver": ["580.65", "590.10"]}
    assert first["segments"][0]["ratio"] == pytest.approx(1.2, rel=1e-2)
    # Back on the old driver its own history counts again.
    slow_night(store, 1.2)
    slow_night(store, 1.2)
    assert judged(store).exit_code == 1


def test_a_benchmark_that_vanished_cannot_be_judged_until_it_is_retired(store: Store) -> None:
    put_nights(store, 3)
    put_night(store, {NAME: 1e-4, "a/old/n:64": 1e-4})
    put_night(store, {NAME: 1e-4, "a/old_/n:64": 1e-4})
    one = judged(store)
    assert one.exit_code == 2
    assert one.unjudged == [
        "a/old/n:64: vanished (last measured in night 4); is it now a/old_/n:64?"
    ]
    put_night(store, {NAME: 1e-4, "a/old_/n:64": 1e-4})
    assert judged(store).exit_code == 2  # it is not forgotten
    assert decided(store, "accept", "a/old/*", "renamed") == ["a/old/n:64"]
    assert judged(store).exit_code == 0  # at once
    put_night(store, {NAME: 1e-4, "a/old_/n:64": 1e-4})
    assert judged(store).exit_code == 0


def test_rows_without_a_sound_time_are_named(store: Store) -> None:
    put_nights(store, 2)
    put_night(
        store, {"a/c/n:1": 1e-4, NAME: {"error_occurred": True, "error_message": "wrong sum"}}
    )
    assert judged(store).unjudged == [f"{NAME}: failed: wrong sum (last measured in night 2)"]
    put_night(
        store, {"a/c/n:1": 1e-4, NAME: {"seconds": 1e-4, "throttled": 1}}, rerun={"a/c/n:1": 1e-4}
    )
    assert judged(store, Settings(max_throttled=0.9)).unjudged == [
        f"{NAME}: 0 of 5 processes gave a sound time, at least 3 must (last measured in night 2)"
    ]


def test_a_night_that_ran_throttled_is_not_judged(store: Store) -> None:
    put_nights(store, 12)
    rows = {NAME: {"seconds": 2e-4, "throttled": 1}}
    put_night(store, rows)
    one = judged(store)
    assert one.exit_code == 2
    assert "100% of the rows ran throttled" in one.unjudged[0]


def test_a_clock_that_was_set_back_changes_no_order(store: Store) -> None:
    put_nights(store, 12)
    for day in ("2025-01-01", "2020-01-01"):  # before every night that is there
        slow_night(store, date=f"{day}T02:00:00+00:00")
    one = judged(store)
    assert (one.exit_code, one.night) == (1, 14)
    assert one.regressions[0].event["first_night"] == 13


def test_many_that_change_together_point_at_the_machine(store: Store) -> None:
    rows = {f"a/b/n:{n}": 1e-4 for n in range(12)}
    for _ in range(12):
        put_night(store, rows)
    slower = dict.fromkeys(rows, 0.00011)
    for _ in range(2):
        put_night(store, slower, rerun=slower)
    text = "\n".join(lines(judged(store), S, rehearsal=False))
    assert text.splitlines()[1].endswith(
        "look at the machine before the program: 12 of 12 series changed in nights 8 to 14"
    )


def test_exports(regressed: Store, tmp_path: Path) -> None:
    with Index(regressed) as index:
        suite = ElementTree.parse(junit(regressed, index, S, tmp_path / "j.xml")).getroot()[0]
        text = openmetrics(regressed, index, S, tmp_path / "m.txt").read_text()
        said = parquet(regressed, index, S, tmp_path / "lake")
        parquet(regressed, index, S, tmp_path / "lake")  # the same files again
        here = {n: over_index(index, n, "a/%") for n in query_names()}
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed == [NAME]
    assert text.endswith("# EOF\n")
    (shown,) = re.findall(r'gpubench_time_seconds{.*benchmark="a/b/n:1"} (\S+)', text)
    assert float(shown) == pytest.approx(1.2e-4)
    assert 'gpubench_open_regressions{machine="lab"} 1' in text
    assert r'benchmark="<b>&\"' in text
    assert said.startswith("28 rows in 14 files")
    assert (tmp_path / "lake/device=h200-sxm/date=2026-01-01/lab.parquet").exists()
    for question, table in here.items():
        assert table[1]
        there = over_parquet(str(tmp_path / "lake"), question, "a/%")
        assert answer(there) == answer(table)  # to six digits: sums in another order


def test_a_regression_whose_row_fails_tonight_is_a_failure_still(
    regressed: Store, tmp_path: Path
) -> None:
    put_night(regressed, {NAME: {"error_occurred": True, "error_message": "wrong sum"}})
    judged(regressed)
    with Index(regressed) as index:
        suite = ElementTree.parse(junit(regressed, index, S, tmp_path / "j.xml")).getroot()[0]
    failures, errors = suite.findall(".//failure"), suite.findall(".//error")
    assert (suite.get("failures"), suite.get("errors")) == (str(len(failures)), str(len(errors)))
    assert len(failures) == 1
    assert "failed: wrong sum" in failures[0].get("message", "")


def test_a_new_driver_is_in_words_on_the_page(store: Store) -> None:
    put_nights(store, 3)
    put_night(store, {NAME: 1e-4}, driver_version="590.10")
    judged(store)
    with Index(store) as index:
        page = write_page(store, index, S, store.root / "p.html").read_text()
    assert "<li>night 4, 2026-01-04: driver: 580.65 -&gt; 590.10 (1 series)" in page


def test_measured_and_rehearsed_never_share_parquet(regressed: Store, tmp_path: Path) -> None:
    rehearsal = Store.open(tmp_path / "rehearsal", rehearsal=True, create=True)
    put_nights(rehearsal, 2, device_kind="model")
    with Index(regressed) as index:
        parquet(regressed, index, S, tmp_path / "lake")
    with Index(rehearsal) as index:
        index.update(S)
        with pytest.raises(ReportError, match="never mix"):
            parquet(rehearsal, index, S, tmp_path / "lake")


def test_parquet_is_not_written_to_an_address(
    regressed: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "parquet", "s3://bucket/lake", f"--store={regressed.root}"]) == 2
    assert "s3://bucket/lake: is an address: write into a folder" in capsys.readouterr().err
    assert not (tmp_path / "s3:").exists()
