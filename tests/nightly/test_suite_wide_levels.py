"""Where each row stands after steps that many rows took together and somebody accepted."""

import pytest

from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.judging.decisions import present_decisions
from gpubench_reports.nightly.judging.history import MachineHistory
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store

from .conftest import WOBBLE, judged, put_night
from .test_machine_first import ROWS, put

S = Settings()
STEP = 1.012
FIRST = ("h200-sxm", "cold", "a/b/n:0")


def accept_together(store: Store) -> None:
    assert main(["accept", "suite-wide", f"--store={store.root}", "--reason=a new library"]) == 0


@pytest.fixture
def twice(store: Store) -> Store:
    """All rows are slower twice by 1.2 %, and both steps are accepted."""
    put(store, 14)
    for steps in (1, 2):
        put(store, 18 if steps == 1 else 6, slower=ROWS, factor=STEP**steps)
        (standing,) = judged(store).regressions
        assert standing.event["benchmark"] == "suite-wide"
        accept_together(store)
    assert judged(store).exit_code == 0
    return store


def levels(store: Store) -> tuple[list[float], float]:
    """The levels that the first row had, and the one that it has."""
    with Index(store) as index:
        decisions = present_decisions(store, index)
        history = MachineHistory(index, "lab")
        (environment,) = {point.environment for point in history.points[FIRST]}
        past = history.past(FIRST, environment, decisions, S)
        return [float(n.mean()) for n in past.earlier], history.level_now(FIRST, decisions, S)


def test_each_accepted_step_begins_a_level_of_each_row(twice: Store) -> None:
    earlier, now = levels(twice)
    assert earlier == pytest.approx([1e-4, STEP * 1e-4], rel=1.5e-3)
    assert now == pytest.approx(STEP**2 * 1e-4, rel=1.5e-3)


def test_the_second_step_is_measured_from_the_level_that_was_accepted(store: Store) -> None:
    """Its rows are back once they are at the first step again."""
    put(store, 14)
    put(store, 4, slower=ROWS, factor=STEP)
    assert judged(store).exit_code == 1
    accept_together(store)
    put(store, 6, slower=ROWS, factor=STEP)
    put(store, 4, slower=ROWS, factor=STEP**2)
    assert judged(store).exit_code == 1
    put(store, 2, slower=ROWS, factor=STEP)
    assert judged(store).exit_code == 0


def put_with_one_apart(store: Store, nights: int, factor: float, apart: float) -> None:
    for night in range(nights):
        rows = {
            f"a/b/n:{row}": 1e-4 * factor * (1 + WOBBLE[(3 * row + night) % 10])
            for row in range(ROWS)
        }
        rows["a/b/n:0"] *= apart
        put_night(store, rows, rerun=rows)


def test_a_row_that_was_open_all_the_while_comes_back_to_the_accepted_level(store: Store) -> None:
    put_with_one_apart(store, 14, 1.0, 1.0)
    put_with_one_apart(store, 14, 1.0, 1.1)
    assert [s.event["benchmark"] for s in judged(store).regressions] == ["a/b/n:0"]
    for steps, nights in ((1, 18), (2, 18)):
        put_with_one_apart(store, nights, STEP**steps, 1.1)
        assert len(judged(store).regressions) == 2
        accept_together(store)
        (standing,) = judged(store).regressions
        assert standing.reference == pytest.approx(1e-4 * STEP**steps, rel=3e-3)
        assert standing.level / standing.reference == pytest.approx(1.1, abs=4e-3)
    put_with_one_apart(store, 2, STEP**2, 1.0)
    assert judged(store).exit_code == 0


def test_a_row_that_raised_an_alert_about_the_same_step_keeps_its_reference(store: Store) -> None:
    put(store, 20)
    with Index(store) as index:
        index.update(S)
        history = MachineHistory(index, "lab")
        (environment,) = history.environments.values()
        known = {"environment": environment, "kind": "regression", "slower": True}
        of_row = {"night": 18, "first_night": 14, "after": 1.03e-4, "reference": 1e-4}
        of_all = {"night": 17, "first_night": 15, "after": 1.012, "reference": 1.0}
        suite_wide = (*FIRST[:2], "suite-wide")
        history.events[FIRST] = [known | of_row]
        history.events[suite_wide] = [known | of_all | {"rows": [FIRST[2]]}]
        accept = {"action": "accept", "machine": "lab", "night": 19, "series": [list(suite_wide)]}
        standing = history.standing(FIRST, environment, [accept])
    assert (standing.level, standing.reference, standing.level_start) == (1.03e-4, 1e-4, 15)
