"""What many rows show together, and what points at the machine before the program."""

from dataclasses import replace

import numpy as np
import pytest

from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.judging.suite import Rows, lean
from gpubench_reports.nightly.nights import health
from gpubench_reports.nightly.reporting.summary import lines
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.store import Store

from .conftest import WOBBLE, judged, put_night

S = Settings()
ROWS = 20


def put(store: Store, nights: int, slower: int = 0, factor: float = 1.01, **context) -> None:
    """Nights of twenty rows, each with a wobble of its own."""
    start = len(store.nights("lab"))
    for night in range(start, start + nights):
        rows = {
            f"a/b/n:{row}": 1e-4
            * (1 + WOBBLE[(3 * row + night) % 10])
            * (factor if row < slower else 1.0)
            for row in range(ROWS)
        }
        put_night(store, rows, **context)


def said(store: Store) -> list[str]:
    return lines(judged(store), S, rehearsal=False)


def test_many_rows_that_are_slower_by_a_little_are_an_alert_of_their_own(store: Store) -> None:
    put(store, 14)
    assert judged(store).exit_code == 0
    put(store, 4, slower=10)
    one = judged(store)
    assert one.exit_code == 1
    (standing,) = one.regressions
    event = standing.event
    assert event["benchmark"] == "suite-wide"
    assert standing.level == pytest.approx(1.01, abs=2e-3)
    assert set(event["rows"]) == {f"a/b/n:{row}" for row in range(10)}
    assert event["first_night"] in (14, 15, 16)
    text = "\n".join(said(store))
    assert "+1.0 %  suite-wide  since night 15 (10 of 20 series together, many rows)" in text
    put(store, 3, slower=10)
    assert judged(store).exit_code == 1  # it stays open
    put(store, 2)
    one = judged(store)
    assert one.exit_code == 0
    assert one.verdict["events"][-1]["kind"] == "return"


def test_what_rows_show_together_does_not_depend_on_when_it_is_judged(store: Store) -> None:
    put(store, 14)
    put(store, 4, slower=10)
    put(store, 6)
    assert judged(store).exit_code == 0
    found = [night.document("verdict.json")["events"] for night in store.nights("lab")]
    assert [[event["kind"] for event in events] for events in found if events] == [
        ["regression"],
        ["return"],
    ]
    one_by_one = Store.open(store.root.with_name("other"), rehearsal=False, create=True)
    for _ in range(14):
        put(one_by_one, 1)
        judged(one_by_one)
    for slower in [10] * 4 + [0] * 6:
        put(one_by_one, 1, slower=slower)
        judged(one_by_one)
    assert [n.document("verdict.json")["events"] for n in one_by_one.nights("lab")] == found


def test_rows_without_a_time_lean_to_no_side() -> None:
    rng = np.random.default_rng(3)
    ratios = np.exp(0.003 * rng.standard_normal((100, 33)))
    ratios[:60, 5:12] = np.nan
    ratios[:30, -3:] *= 1.01
    found = lean(Rows([("d", "m", str(row)) for row in range(100)], list(range(33)), ratios))
    assert len({int(row) for row in found["rows"]} & set(range(30))) >= 25


def test_a_shift_of_many_rows_can_be_accepted(store: Store) -> None:
    put(store, 14)
    put(store, 4, slower=10)
    assert judged(store).exit_code == 1
    assert main(["accept", "suite*", f"--store={store.root}", "--reason=a new library"]) == 0
    put(store, 3, slower=10)
    assert judged(store).exit_code == 0


def test_an_accepted_shift_is_not_counted_again(store: Store) -> None:
    put(store, 14)
    put(store, 4, slower=ROWS, factor=1.012)
    assert judged(store).exit_code == 1
    assert main(["accept", "suite*", f"--store={store.root}", "--reason=a new library"]) == 0
    put(store, 12, slower=ROWS, factor=1.012)
    assert judged(store).exit_code == 0
    put(store, 6, slower=ROWS, factor=1.012**2)
    one = judged(store)
    assert [standing.event["benchmark"] for standing in one.regressions] == ["suite-wide"]
    assert one.regressions[0].level == pytest.approx(1.012, abs=2e-3)


def test_a_few_rows_and_a_mood_of_the_machine_are_none(store: Store) -> None:
    put(store, 14)
    put(store, 4, slower=5)
    assert judged(store).exit_code == 0


def test_a_mood_that_all_rows_share_is_no_change() -> None:
    rng = np.random.default_rng(3)
    moods = 0.004 * rng.standard_normal(33)
    ratios = np.exp(moods + 0.003 * rng.standard_normal((100, 33)))
    keys = [("d", "m", str(row)) for row in range(100)]
    assert lean(Rows(keys, list(range(33)), ratios)) == {}
    ratios[:, -3:] *= 1.03
    found = lean(Rows(keys, list(range(33)), ratios))
    assert found["first_night"] == 30
    assert len(found["rows"]) > 90


def random_rows(rows: int, nights: int, seed: int, slower: int = 0, factor: float = 1.01) -> Rows:
    """Nights that differ by 0.3 %, with the last three of `slower` rows 1 % above the others."""
    times = np.exp(0.003 * np.random.default_rng(seed).standard_normal((rows, nights)))
    times[:slower, -3:] *= factor
    keys = [("d", "m", str(row)) for row in range(rows)]
    return Rows(keys, list(range(nights)), times / np.median(times[:, :-3], axis=1, keepdims=True))


@pytest.mark.parametrize("rows", [100, 365])
@pytest.mark.parametrize("nights", [13, 16, 33])  # of a store, or since a new driver
def test_noise_is_no_shift_at_any_age(rows: int, nights: int) -> None:
    assert [seed for seed in range(25) if lean(random_rows(rows, nights, seed))] == []


@pytest.mark.parametrize(("rows", "slower"), [(20, 8), (200, 10)])
def test_more_than_eight_rows_and_a_twentieth_of_them_have_to_lean(rows: int, slower: int) -> None:
    def found(lean_so: int) -> dict:
        times = np.ones((rows, 33)) * (1 + 1e-5 * (np.arange(33) % 2))
        times[:lean_so, -3:] *= 1.01
        return lean(Rows([("d", "m", str(row)) for row in range(rows)], list(range(33)), times))

    assert found(slower) == {}
    assert len(found(slower + 1)["rows"]) == slower + 1


@pytest.mark.parametrize("nights", [16, 33])
def test_a_shift_is_found_at_any_age(nights: int) -> None:
    found = [lean(random_rows(365, nights, seed, slower=73)) for seed in range(10)]
    assert sum(bool(event) for event in found) >= 9
    assert all(event["kind"] == "regression" for event in found if event)


@pytest.mark.parametrize("moved", [80, 100, 110, 120, 140, 200])  # of 200
@pytest.mark.parametrize(("factor", "kind"), [(1.01, "regression"), (0.99, "improvement")])
def test_rows_that_stay_are_not_said_to_move(moved: int, factor: float, kind: str) -> None:
    """What most rows do looks like a mood of the machine, from which the others lean away."""
    found = [lean(random_rows(200, 33, seed, moved, factor)) for seed in range(5)]
    assert {event.get("kind") for event in found} == {kind}
    assert all(abs(event["after"] / factor - 1) < 0.003 for event in found)
    names = [int(name) for event in found for name in event["rows"]]
    assert sum(name < moved for name in names) > 0.9 * len(names)


@pytest.mark.parametrize("mood", [0.994, 0.996, 1.0, 1.004])
def test_a_mood_of_the_machine_hides_no_regression(mood: float) -> None:
    kinds = []
    for seed in range(5):
        rows = random_rows(200, 33, seed, slower=40)
        rows.ratios[:, -3:] *= mood
        kinds.append(lean(rows).get("kind"))
    assert kinds == ["regression"] * 5


def test_rows_that_may_be_judged_early_wait_until_they_can_be_compared_together(
    store: Store,
) -> None:
    few = replace(S, min_nights=2, window=5)
    for _ in range(12):
        put(store, 1)
        assert judged(store, few).exit_code == 0
    put(store, 4, slower=10)
    (standing,) = judged(store, few).regressions
    assert standing.event["benchmark"] == "suite-wide"


def test_another_gpu_is_named_first_and_for_a_week(store: Store) -> None:
    state = {"uuid": "GPU-aa", "vbios": "96.00", "ecc": True}
    put(store, 2)  # nothing is known of it yet: that is no change
    put(store, 2, device_state=state)
    assert not judged(store).machine_first
    put(store, 1)
    put(store, 1, device_state=state | {"uuid": "GPU-bb", "ecc": False})
    assert said(store)[1:3] == [
        "  look at the machine before the program: its GPU has another UUID since night 6: "
        "GPU-aa -> GPU-bb",
        "  look at the machine before the program: its GPU has another ECC since night 6: "
        "True -> False",
    ]
    put(store, 6, device_state=state | {"uuid": "GPU-bb", "ecc": False})
    assert len(judged(store).machine_first) == 2
    put(store, 1, device_state=state | {"uuid": "GPU-bb", "ecc": False})
    assert not judged(store).machine_first


def test_alerts_of_a_week_add_up(store: Store) -> None:
    """Three rows a night: no night by itself is remarkable."""
    rows = {f"a/b/n:{row}": 1e-4 * (1 + WOBBLE[row % 10]) for row in range(30)}
    for _ in range(12):
        put_night(store, rows)
    for slower in (3, 6, 9):
        changed = {name: seconds * 1.06 for name, seconds in list(rows.items())[:slower]}
        put_night(store, rows | changed, rerun=rows | changed)
    assert judged(store).machine_first == []  # three nights, six alerts
    put_night(store, rows | changed, rerun=rows | changed)
    one = judged(store)
    assert len(one.verdict["events"]) == 3
    assert one.machine_first == ["9 of 30 series changed in nights 10 to 16"]
    assert said(store)[1] == f"  look at the machine before the program: {one.machine_first[0]}"


def test_nvidia_smi_is_asked_who_the_gpu_is(tmp_path, monkeypatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        "#!/bin/sh\ncase $2 in\n"
        "*uuid*) echo 'GPU-aa, [N/A], 96.00.61, Enabled' ;;\n"
        "*) echo '580, 40, 345, 90, 0, [N/A], 0x1' ;;\nesac\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    seen = health.look("cuda")
    assert {key: seen.get(key) for key in ("uuid", "serial", "vbios", "ecc", "driver")} == {
        "uuid": "GPU-aa",
        "serial": None,
        "vbios": "96.00.61",
        "ecc": True,
        "driver": "580",
    }
