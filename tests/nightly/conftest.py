"""Stores with nights that the tests make up, and programs that pretend to have a GPU."""

import itertools
import json
import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from reports.factory import make_context, make_row  # the reports' own tests make files of these

from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.judging.judge import judge_new
from gpubench_reports.nightly.judging.status import MachineStatus, status
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Night, Store, as_json, publish

FAKE = Path(__file__).with_name("fake_gpubench.py")
MACHINE = "lab"
# Nights that differ as real ones do, in an order that repeats; 0.3 % at most.
WOBBLE = (0.0, 0.002, -0.001, 0.001, -0.002, 0.0005, 0.003, -0.003, 0.0015, -0.0005)

Rows = Mapping[str, float | dict[str, Any]]


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power is cut here: what a process has written stays when it is killed."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(autouse=True)
def locks(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where GPUs are locked: each test pretends to have its own."""
    folder = tmp_path_factory.mktemp("locks")
    monkeypatch.setenv("GPUBENCH_LOCKS", str(folder))
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store", rehearsal=False, create=True)


_unique = itertools.count()


def process_file(rows: Rows, **context: Any) -> bytes:
    """One process's result file: seconds, or all keys of a row, by name."""
    made = [
        make_row(name, **(what if isinstance(what, dict) else {"seconds": what}))
        for name, what in rows.items()
    ]
    # Two processes are never equal to the byte: a real one has its own samples.
    context = make_context(**{"nightly": str(next(_unique)), "roofs": [], **context})
    return as_json({"context": context, "benchmarks": made})


def put_night(
    store: Store,
    rows: Rows,
    rerun: Rows | None = None,
    date: str = "",
    machine: str = MACHINE,
    **context: Any,
) -> Night:
    """Stores a night of five equal processes, with a rerun of five if `rerun` is given."""
    count = len(store.nights(machine))
    began = (datetime(2026, 1, 1, 2, tzinfo=UTC) + timedelta(days=count)).isoformat()
    night = store.begin(machine, {"began": date or began, "units": []}, {})
    for stage, what in (("first", rows), ("rerun", rerun or {})):
        for process in range(1, 6) if what else ():
            content = process_file(what, **context)
            publish(night.path / f"{stage}-{process}-all.json", content)
    night.close({})
    return night


def put_nights(store: Store, count: int, name: str = "a/b/n:1", level: float = 1e-4, **more: Any):
    """`count` quiet nights of one row, around `level` seconds."""
    for number in range(count):
        put_night(store, {name: level * (1 + WOBBLE[number % len(WOBBLE)])}, **more)


def judged(store: Store, settings: Settings | None = None) -> MachineStatus:
    """Where the store's one machine stands, once everything is judged."""
    settings = settings or Settings()
    with Index(store) as index:
        judge_new(store, index, settings)
        (one,) = status(store, index, settings)
    return one


def values(store: Store) -> list[tuple]:
    """All that the index says of nights, in an order that does not depend on how it was built."""
    with Index(store) as index:
        index.update(Settings())
        return index.rows(
            "select s.machine, s.name, v.night, v.seconds, v.first, v.rerun, v.processes, v.medians"
            " from value v join series s on s.id = v.series order by 1, 2, 3"
        )


@pytest.fixture
def regressed(store: Store) -> Store:
    for _ in range(12):
        put_night(store, {"a/b/n:1": 1e-4, "<b>&\"'/x": {"seconds": 1e-4, "sm_clock_hz": 1.9e9}})
    rows = {"a/b/n:1": 1.2e-4, "<b>&\"'/x": {"seconds": 1e-4, "sm_clock_hz": 1.9e9}}
    for _ in range(2):
        put_night(store, rows, rerun=rows)
    judged(store)
    return store


@pytest.fixture
def fake(tmp_path: Path) -> Callable[..., Path]:
    """fake(name="a", rows={...}, ...) -> a program that has measured just this."""

    def make(name: str = "gpubench", **world: Any) -> Path:
        program = tmp_path / name
        if not program.exists():
            # Without site-packages it starts in a fraction of the time.
            program.write_text(f"#!{sys.executable} -IS\n{FAKE.read_text()}")
            program.chmod(0o755)
        program.with_name(f"{name}.json").write_text(json.dumps(world))
        return program

    return make


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """run(program, flags...) -> exit code, standard output and error of one night."""

    def night(program: Path, *flags: str) -> tuple[int, str, str]:
        code = main(
            [
                "run",
                f"--store={tmp_path / 'nights'}",
                f"--program={program}",
                "--machine=lab",
                *flags,
            ]
        )
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return night
