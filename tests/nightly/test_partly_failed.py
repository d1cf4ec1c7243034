"""What went wrong in some of a night's processes only is told all the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.gate.gate import Gate
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.process_file import ProcessFile, read_process
from gpubench_reports.nightly.store.store import Store, publish

from .conftest import MACHINE, judged, process_file, put_nights
from .nights import ROWS, opened

WRONG = {"error_occurred": True, "error_message": "verification failed: wrong"}


def put_partly_failed(store: Store, failing: int) -> None:
    night = store.begin(MACHINE, {"began": "2026-01-12T02:00:00+00:00", "units": []}, {})
    for process in range(1, 6):
        row: Any = WRONG if process <= failing else 1e-4
        content = process_file({"a/b/n:1": row, "a/c/n:1": 1e-4})
        publish(night.path / f"first-{process}-all.json", content)
    night.close({})


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_row_that_fails_in_some_processes_cannot_be_judged(store: Store, failing: int) -> None:
    put_nights(store, 11)
    put_partly_failed(store, failing)
    one = judged(store)
    said = f"a/b/n:1: failed in {failing} of 5 processes: verification failed: wrong"
    assert [line.partition(" (last")[0] for line in one.unjudged] == [said]
    assert one.exit_code == 2
    put_partly_failed(store, 0)
    assert judged(store).exit_code == 0


def read(path: Path, rows: dict[str, Any]) -> ProcessFile:
    path.write_bytes(process_file(rows))
    return read_process(path)


@pytest.mark.parametrize(
    ("bad", "count", "why"),
    [
        (WRONG, 1, "in 1 of 10 processes it failed: verification failed: wrong"),
        ({"seconds": 1e-4, "throttled": 1}, 8, "in 8 of 10 processes it ran throttled"),
    ],
)
def test_the_gate_names_a_row_that_the_old_program_had_no_sound_time_of(
    tmp_path: Path, bad: dict[str, Any], count: int, why: str
) -> None:
    path = tmp_path / "one.json"
    times = [1e-4 + n * 1e-8 for n in range(10)]
    a = [
        read(path, {"a/b/n:1": bad if n < count else time, "a/c/n:1": time})
        for n, time in enumerate(times)
    ]
    b = [read(path, {"a/b/n:1": 10 * time, "a/c/n:1": time, "a/new/n:1": time}) for time in times]
    gate = Gate(Settings(), "cuda", (), False, 1, print)
    result = gate.judge(a, b)
    assert result.problems == [f"a/b/n:1: A has no sound time: {why}"]
    assert result.exit_code == 2
    assert gate.judge(b, b).exit_code == 0


@pytest.mark.parametrize(
    ("failing_a", "failing_b", "exit_code", "problem"),
    [
        (0, 10, 1, "failed: verification failed: wrong"),
        (0, 1, 1, "failed in 1 of 10 processes: verification failed: wrong"),
        (10, 0, 2, "A has no sound time: in 10 of 10 processes it failed: verification"),
        (10, 10, 2, "A has no sound time: in 10 of 10 processes it failed: verification"),
        (1, 10, 2, "A has no sound time: in 1 of 10 processes it failed: verification"),
    ],
)
def test_the_gate_passes_over_no_row_that_fails(
    tmp_path: Path, failing_a: int, failing_b: int, exit_code: int, problem: str
) -> None:
    def side(failing: int) -> list[ProcessFile]:
        return [
            read(
                tmp_path / "one.json", {"a/b/n:1": WRONG if n < failing else time, "a/c/n:1": time}
            )
            for n, time in enumerate(1e-4 + n * 1e-8 for n in range(10))
        ]

    result = Gate(Settings(), "cuda", (), False, 1, print).judge(side(failing_a), side(failing_b))
    assert result.exit_code == exit_code
    (line,) = result.problems
    assert line.startswith(f"a/b/n:1: {problem}")
    assert f"- {line}" in result.markdown()


def test_the_gate_refuses_a_new_row_that_fails_and_passes_one_that_is_skipped(
    tmp_path: Path,
) -> None:
    times = [1e-4 + n * 1e-8 for n in range(10)]
    skipped = {"skipped": True, "skip_reason": "no such unit"}
    a, skips, fails = (
        [read(tmp_path / "one.json", {"a/c/n:1": time, **more}) for time in times]
        for more in ({}, {"a/new/n:1": skipped}, {"a/new/n:1": WRONG})
    )
    gate = Gate(Settings(), "cuda", (), False, 1, print)
    assert gate.judge(a, skips).exit_code == gate.judge(skips, skips).exit_code == 0
    for before in (a, skips):
        result = gate.judge(before, fails)
        assert result.exit_code == 1
        assert result.problems == ["a/new/n:1: failed: verification failed: wrong"]
    # One failure among processes that skip the row is a failure, whatever came last.
    result = gate.judge(a, [*fails[:1], *skips[1:]])
    assert result.problems == ["a/new/n:1: failed in 1 of 10 processes: verification failed: wrong"]


def test_a_new_row_that_fails_once_and_is_skipped_then_is_told(store: Store) -> None:
    put_nights(store, 11)
    night = store.begin(MACHINE, {"began": "2026-01-12T02:00:00+00:00", "units": []}, {})
    for process in range(1, 6):
        new: Any = WRONG if process == 1 else {"skipped": True, "skip_reason": "no such unit"}
        content = process_file({"a/b/n:1": 1e-4, "a/new/n:1": new})
        publish(night.path / f"first-{process}-all.json", content)
    night.close({})
    one = judged(store)
    assert one.unjudged == ["a/new/n:1: failed: verification failed: wrong"]
    assert one.exit_code == 2


def test_an_interrupted_process_is_none(run, fake, tmp_path: Path, capsys) -> None:
    program = fake(rows={"gather/n:4": 3e-4}, context={"interrupted": True})
    code, _, err = run(program)
    assert (code, "3 processes in a row failed: it was interrupted" in err) == (2, True)
    assert opened(tmp_path).nights("lab")[0].results() == []
    assert main(["compare", str(program), str(program), "--rounds=4"]) == 2
    assert "was interrupted" in capsys.readouterr().err
    path = tmp_path / "run.json"
    path.write_bytes(process_file(ROWS, interrupted=True))
    assert main(["add", f"--store={tmp_path / 's'}", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"nightly: {path}: was interrupted: finish it with --resume\n"
    )


def test_a_process_without_a_result_is_told_though_the_others_suffice(
    run, fake, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    program = fake(rows={"gather/n:4": 3e-4}, log=str(log))
    failing = program.with_name("failing")
    failing.write_text(
        f'#!/bin/sh\n"{program}" "$@" || exit\n'
        f'if [ -e "{log}" ] && [ "$(wc -c < "{log}")" = 2 ]; then\n'
        '  for flag in "$@"; do rm -f "${flag#--benchmark_out=}"; done\n'
        '  echo "out of memory" >&2; exit 1\n'
        "fi\n"
    )
    failing.chmod(0o755)
    code, out, _ = run(failing)
    assert code == 2
    assert "-gather: out of memory" in out
    assert run(program)[0] == 0


def test_files_of_several_gpus_are_a_night_only_of_a_pool(tmp_path: Path, capsys) -> None:
    files = []
    for gpu in range(5):
        path = tmp_path / f"p{gpu}.json"
        path.write_bytes(process_file(ROWS, device_state={"uuid": f"GPU-{gpu}"}))
        files.append(str(path))
    add = ["add", f"--store={tmp_path / 's'}", *files]
    assert main(add) == 2
    said = f"nightly: {files[0]}: and the others are from 5 GPUs; name their pool with --machine\n"
    assert capsys.readouterr().err == said
    assert main([*add, "--machine=pool"]) == 0


def test_decisions_count_in_the_order_in_which_they_were_made(store: Store, monkeypatch) -> None:
    decision = {"action": "accept", "machine": MACHINE, "night": 1, "series": []}
    module = "gpubench_reports.nightly.store.store.now"
    for reason, clock in (("one", "2027"), ("two", "2026"), ("three", "2026"), ("four", "2025")):
        monkeypatch.setattr(module, lambda year=clock: f"{year}-01-01T00:00:00+00:00")
        store.decide(decision | {"reason": reason})
    made = [found["reason"] for found in store.decisions()]
    assert made == ["one", "two", "three", "four"]
    old = store.root / "decisions/20280101T000000Z-0000.json"  # of before they were numbered
    old.write_text(json.dumps(decision | {"reason": "zero"}))
    assert [found["reason"] for found in store.decisions()] == ["zero", *made]


def test_one_process_is_too_few_and_the_night_says_so(tmp_path: Path, capsys) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(process_file(ROWS))
    assert main(["add", f"--store={tmp_path / 's'}", str(path)]) == 2
    said = capsys.readouterr().out
    assert (
        "night 1 has no row to judge: 1 of 1 processes gave a sound time, at least 3 must" in said
    )
