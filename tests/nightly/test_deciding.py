"""Which machine a decision is about, in a store of several."""

import shutil

import pytest

from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.judging.judge import judge_new
from gpubench_reports.nightly.judging.status import MachineStatus, status
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store

from .conftest import judged, put_night, put_nights

NAME = "a/b/n:1"
COMMANDS = (["accept"], ["acknowledge", "--until=2999-01-01"])
AMBIGUOUS = (
    "nightly: a/*: matches on ma, mb: name one with --machine=NAME, or all with --machine='*'\n"
)


@pytest.fixture
def fleet(store: Store) -> Store:
    """Two machines with the same open regression."""
    for machine in ("ma", "mb"):
        put_nights(store, 12, NAME, machine=machine)
        for _ in range(2):
            put_night(store, {NAME: 1.2e-4}, rerun={NAME: 1.2e-4}, machine=machine)
    assert still_open(store) == ["ma", "mb"]
    return store


def statuses(store: Store) -> list[MachineStatus]:
    with Index(store) as index:
        judge_new(store, index, Settings())
        return status(store, index, Settings())


def still_open(store: Store) -> list[str]:
    return [one.machine for one in statuses(store) if one.regressions]


def ends(store: Store, capsys, command: list[str], *more: str) -> tuple[int, str, str]:
    code = main([*command, "a/*", f"--store={store.root}", "--reason=known", *more])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_decision_is_about_the_named_machine_alone(fleet: Store, capsys, command) -> None:
    done = ends(fleet, capsys, command, "--machine=mb")
    assert done == (0, f"{command[0]}: {NAME} on mb\n", "")
    assert still_open(fleet) == ["ma"]


@pytest.mark.parametrize("command", COMMANDS)
def test_several_machines_are_decided_on_only_if_that_is_said(fleet, capsys, command) -> None:
    assert ends(fleet, capsys, command) == (2, "", AMBIGUOUS)
    assert still_open(fleet) == ["ma", "mb"]
    code, said, _ = ends(fleet, capsys, command, "--machine=*")
    assert (code, said.splitlines()) == (0, [f"{command[0]}: {NAME} on {m}" for m in ("ma", "mb")])
    assert still_open(fleet) == []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["mc", "m*", ""])
def test_a_machine_that_is_not_there_is_one_line(fleet: Store, capsys, command, name) -> None:
    line = f"nightly: --machine: '{name}' has no nights in this store\n"
    assert ends(fleet, capsys, command, f"--machine={name}") == (2, "", line)
    assert still_open(fleet) == ["ma", "mb"]


@pytest.mark.parametrize("command", COMMANDS)
def test_decisions_follow_a_machine_whose_folder_is_renamed(fleet, capsys, command) -> None:
    assert ends(fleet, capsys, command, "--machine=mb")[0] == 0
    nights = fleet.root / "nights"
    nights.joinpath("mb").rename(nights / "mc")
    assert still_open(fleet) == ["ma"]
    assert main(["status", f"--store={fleet.root}"]) == 1
    assert "void" not in capsys.readouterr().err


def test_a_retired_row_stays_so_on_a_renamed_machine(store: Store, capsys) -> None:
    put_nights(store, 3, NAME, machine="old")
    put_night(store, {"a/c/n:1": 1e-4}, machine="old")
    assert judged(store).exit_code == 2
    assert ends(store, capsys, ["accept"])[0] == 0
    nights = store.root / "nights"
    nights.joinpath("old").rename(nights / "new")
    assert judged(store).exit_code == 0
    put_night(store, {"a/c/n:1": 1e-4}, machine="new")
    assert judged(store).exit_code == 0


def test_decisions_about_a_machine_that_is_gone_are_named(fleet: Store, capsys) -> None:
    assert ends(fleet, capsys, ["accept"], "--machine=mb")[0] == 0
    shutil.rmtree(fleet.root / "nights" / "mb")
    assert main(["status", f"--store={fleet.root}"]) == 1
    said = "nightly: decisions about mb are void: no machine of this store is called that\n"
    assert capsys.readouterr().err == said


def put_modes(store: Store, rows: dict[str, dict[str, float]]) -> None:
    """A night of the named rows per mode."""
    for mode, found in rows.items():
        put_night(store, found, rerun=found, mode=mode)


@pytest.fixture
def modes(store: Store) -> Store:
    """The same open regression in a cold and in a hot series of one row."""
    for seconds in [1e-4] * 12 + [1.2e-4] * 2:
        put_modes(store, {"cold": {NAME: seconds}, "hot": {NAME: seconds}})
    assert open_modes(store) == ["cold", "hot"]
    return store


def open_modes(store: Store) -> list[str]:
    (one,) = statuses(store)
    return sorted(standing.event["mode"] for standing in one.regressions)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("mode", "name", "other"), [("hot", f"{NAME} (hot)", "cold"), ("cold", NAME, "hot")]
)
def test_a_decision_is_about_the_named_mode_alone(modes, capsys, command, mode, name, other):
    done = ends(modes, capsys, command, f"--mode={mode}")
    assert done == (0, f"{command[0]}: {name} on lab\n", "")
    assert open_modes(modes) == [other]
    # No other is open by now: there is nothing to choose.
    assert ends(modes, capsys, command, *KNOWN_MODE[command[0]])[0] == 0
    assert open_modes(modes) == []


# A regression that was acknowledged can be acknowledged anew: it stays a choice.
KNOWN_MODE = {"accept": [], "acknowledge": ["--mode=*"]}


@pytest.mark.parametrize("command", COMMANDS)
def test_both_modes_are_decided_on_only_if_that_is_said(modes, capsys, command) -> None:
    line = (
        f"nightly: a/*: matches {NAME} (cold) and {NAME} (hot): "
        "name a mode with --mode=cold or --mode=hot, or both with --mode='*'\n"
    )
    assert ends(modes, capsys, command) == (2, "", line)
    assert open_modes(modes) == ["cold", "hot"]
    code, said, _ = ends(modes, capsys, command, "--mode=*")
    assert (code, sorted(said.splitlines())) == (
        0,
        [f"{command[0]}: {NAME} (hot) on lab", f"{command[0]}: {NAME} on lab"],
    )
    assert open_modes(modes) == []


def test_a_mode_in_which_nothing_is_open_is_one_line(fleet: Store, capsys) -> None:
    line = "nightly: a/*: matches nothing that is open to accept in mode hot\n"
    assert ends(fleet, capsys, ["accept"], "--mode=hot", "--machine=*") == (2, "", line)
    assert still_open(fleet) == ["ma", "mb"]


def test_a_row_is_retired_in_the_named_mode_alone(store: Store, capsys) -> None:
    gone, stays = {NAME: 1e-4, "a/c/n:1": 1e-4}, {"a/c/n:1": 1e-4}
    put_modes(store, {"cold": gone, "hot": gone})
    put_modes(store, {"cold": stays, "hot": stays})
    assert ends(store, capsys, ["accept"], "--mode=cold")[0] == 2
    done = ends(store, capsys, ["accept"], "--mode=hot")
    assert done == (0, f"accept: {NAME} (hot) on lab\n", "")
