"""What a run that is broken off leaves behind, and how another one goes on with it."""

from __future__ import annotations

import json
import random
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from .conftest import BUILD, ROOT, SHORT_ROWS, SHORT_ROWS_COUNT, run

MODEL = "--device=model:h200-sxm"
CONDITIONS = ROOT / "tests" / "data" / "conditions"
SCHEMA = json.loads((ROOT / "docs/result-file.schema.json").read_text())

ENDING = (
    signal.SIGKILL,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGXCPU,
    signal.SIGINT,
    signal.SIGPIPE,
)
# What no two runs' contexts have in common.
OF_THIS_RUN = ("date", "load_avg", "run_seconds", "resumed", "mhz_per_cpu")


def valid(path: Path) -> dict[str, Any]:
    """The result file, which is one."""
    document = json.loads(path.read_text())
    errors = [e.message for e in Draft202012Validator(SCHEMA).iter_errors(document)]
    assert errors == []
    return document


def content(path: Path) -> tuple[dict, list, str]:
    """What is equal in two runs of the model: context, rows and samples."""
    document = valid(path)
    context = {k: v for k, v in document["context"].items() if k not in OF_THIS_RUN}
    return context, document["benchmarks"], path.with_suffix(".samples.jsonl").read_text()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbs."""
    out = tmp_path_factory.mktemp("whole") / "run.json"
    done = run(MODEL, SHORT_ROWS, f"--benchmark_out={out}")
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in out.parent.iterdir()) == ["run.json", "run.samples.jsonl"]
    return out


def ended_by(
    sent: int, *flags: str, rows: int, delay: float = 0
) -> subprocess.CompletedProcess[str]:
    """A run that gets a signal so many seconds after it has printed so many rows.

    It prints to a socket that holds a few rows, so that it waits for its reader and cannot
    be over before the signal, however busy the machine is.
    """
    command = [str(BUILD / "gpubench"), *flags]
    heading = 3  # lines above the rows
    ours, its = socket.socketpair()
    its.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # the smallest there is
    with (
        ours,
        ours.makefile("rb", buffering=0) as reader,
        subprocess.Popen(command, stdout=its, stderr=subprocess.PIPE, text=True) as process,
    ):
        its.close()
        begun = [reader.readline() for _ in range(heading + rows if rows else 0)]
        time.sleep(delay)
        process.send_signal(sent)
        printed = reader.read()
        assert process.stderr is not None
        errors = process.stderr.read()
        process.wait(timeout=60)
    return subprocess.CompletedProcess(
        command, process.returncode, (b"".join(begun) + printed).decode(), errors
    )


def kept(out: Path) -> list[dict]:
    """The rows of a journal; the last line may be cut off."""
    journal = out.with_name(out.name + ".journal")
    if not journal.exists():
        return []
    lines = [json.loads(line) for line in journal.read_text().split("\n")[:-1]]
    return [line["row"] for line in lines if "row" in line]


def one_trial(folder: Path, chance: random.Random, sent: int, whole: Path) -> str:
    """Breaks a run off at a random moment and finishes it. What had happened by then."""
    out = folder / "run.json"
    done = ended_by(
        sent,
        *(MODEL, SHORT_ROWS, f"--benchmark_out={out}"),
        rows=chance.randrange(SHORT_ROWS_COUNT),
        delay=chance.uniform(0, 0.1),
    )
    printed = re.findall(r"^((?:coalescing|bank_conflicts)/\S+)", done.stdout, re.MULTILINE)
    journal = out.with_name("run.json.journal")
    if not journal.exists():
        if out.exists():
            assert content(out) == content(whole)
            return "whole"
        assert printed == []  # it had not yet begun, or was interrupted in its first row
        return "nothing"
    names = [row["name"] for row in kept(out)]
    assert len(set(names)) == len(names)
    assert set(printed) <= set(names)  # and what was done beside a row that was not
    if sent != signal.SIGKILL and done.returncode > 0:
        assert done.returncode == 128 + sent
        written = [row["name"] for row in valid(out)["benchmarks"]]
        assert written[: len(printed)] == printed
        assert set(written) <= set(names)
        assert valid(out)["context"]["interrupted"] is True
    again = run(MODEL, SHORT_ROWS, f"--resume={out}")
    if "has no run to resume" in again.stderr or "nothing to resume" in again.stderr:
        assert names == []
        return "nothing"
    assert again.returncode == 0, again.stderr
    assert content(out) == content(whole)
    assert len(valid(out)["context"]["resumed"]) == 1
    assert not journal.exists()
    return "finished"


def trials(count: int, tmp_path: Path, whole: Path, seed: int) -> list[str]:
    chance = random.Random(seed)
    outcomes = []
    for i in range(count):
        folder = tmp_path / str(i)
        folder.mkdir()
        outcomes.append(one_trial(folder, chance, ENDING[i % len(ENDING)], whole))
    return outcomes


def test_a_run_ended_at_any_moment_is_finished_as_if_nothing_had_been(
    tmp_path: Path, whole: Path
) -> None:
    outcomes = trials(len(ENDING), tmp_path, whole, seed=1)
    assert outcomes.count("finished") >= 2


@pytest.mark.release
def test_a_thousand_runs_ended_lose_nothing_and_double_nothing(tmp_path: Path, whole: Path) -> None:
    outcomes = trials(1000, tmp_path, whole, seed=2)
    assert outcomes.count("finished") >= 500


def test_a_line_that_a_kill_has_cut_off_is_done_again(tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "run.json"
    ended_by(signal.SIGTERM, MODEL, SHORT_ROWS, f"--benchmark_out={out}", rows=12)
    journal = tmp_path / "run.json.journal"
    lines = journal.read_bytes().splitlines(keepends=True)[:-1]  # without the last: "closed"
    journal.write_bytes(b"".join(lines)[:-7])
    done = run(MODEL, SHORT_ROWS, f"--resume={out}")
    assert done.returncode == 0, done.stderr
    assert content(out) == content(whole)


def test_repetitions_and_their_statistics_are_finished_too(tmp_path: Path) -> None:
    flags = (
        MODEL,
        "--benchmark_filter=^bank_conflicts/strided/",
        "--benchmark_repetitions=3",
    )
    undisturbed, out = tmp_path / "whole.json", tmp_path / "run.json"
    assert run(*flags, f"--benchmark_out={undisturbed}").returncode == 0
    ended_by(signal.SIGKILL, *flags, f"--benchmark_out={out}", rows=7)
    every = len(json.loads(undisturbed.read_text())["benchmarks"])
    assert 7 <= len(kept(out)) < every
    assert run(*flags, f"--resume={out}").returncode == 0
    assert content(out) == content(undisturbed)


def broken_off(folder: Path) -> Path:
    """A result file whose run has lost its device, with a journal of what was done."""
    out = folder / "run.json"
    faulty = f"--conditions={CONDITIONS / 'faulty.json'}"
    assert (
        run(MODEL, SHORT_ROWS, faulty, "--isolate=none", f"--benchmark_out={out}").returncode == 1
    )
    return out


def test_only_the_same_run_goes_on(tmp_path: Path) -> None:
    out = broken_off(tmp_path)
    faulty = f"--conditions={CONDITIONS / 'faulty.json'}"
    before = (tmp_path / "run.json.journal").read_bytes()
    for flags, named in [
        ((MODEL, SHORT_ROWS), 'conditions differs: "faulty" in the interrupted run, absent here'),
        (("--device=model:h100-sxm", SHORT_ROWS, faulty), "device differs"),
        ((MODEL, faulty, "--benchmark_filter=^coalescing/"), "filter differs"),
        ((MODEL, SHORT_ROWS, faulty, "--seed=7"), "seed differs: 42 in the interrupted run, 7"),
        ((MODEL, SHORT_ROWS, faulty, "--mode=hot"), "mode differs"),
        (
            (MODEL, SHORT_ROWS, faulty, "--whole_grids=counted"),
            'whole_grids differs: "off" in the interrupted run, "counted" here',
        ),
        ((MODEL, SHORT_ROWS, faulty, "--benchmark_repetitions=2"), "benchmark_repetitions differs"),
    ]:
        done = run(*flags, f"--resume={out}")
        assert done.returncode == 2
        [complaint] = done.stderr.splitlines()
        assert named in complaint
    assert (tmp_path / "run.json.journal").read_bytes() == before
    for flag, named in [
        (f"--resume={tmp_path / 'other.json'}", "nothing to resume"),
        ("--resume", "needs the name of a result file"),
        ("--resume=/dev/null", "not a regular file"),
    ]:
        done = run(MODEL, SHORT_ROWS, flag)
        assert done.returncode == 2
        [complaint] = done.stderr.splitlines()
        assert named in complaint


@contextmanager
def begun(out: Path) -> Iterator[subprocess.Popen[str]]:
    """A run that writes its rows to `out`, and has shown the first of them."""
    command = [str(BUILD / "gpubench"), MODEL, SHORT_ROWS, f"--benchmark_out={out}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdout is not None
        for _ in range(4):
            process.stdout.readline()
        yield process


def refused_beside_another_run(out: Path) -> None:
    for flag in (f"--benchmark_out={out}", f"--resume={out}"):
        second = run(MODEL, SHORT_ROWS, flag)
        assert second.returncode == 2
        [complaint] = second.stderr.splitlines()
        assert "another run is writing to this file" in complaint


def test_of_two_runs_with_one_file_the_second_refuses(tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "run.json"
    with begun(out) as first:
        refused_beside_another_run(out)
        first.communicate(timeout=60)
    assert first.returncode == 0
    assert content(out) == content(whole)


def test_a_link_to_a_file_that_a_run_writes_is_refused(tmp_path: Path, whole: Path) -> None:
    (tmp_path / "links").mkdir()
    out, link = tmp_path / "run.json", tmp_path / "links" / "latest.json"
    link.symlink_to("../run.json")
    with begun(out) as first:
        refused_beside_another_run(link)
        first.communicate(timeout=60)
    assert first.returncode == 0
    assert content(out) == content(whole)
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["links", "run.json", "run.samples.jsonl"]


@pytest.mark.parametrize(
    "ending",
    [".samples.jsonl", "-samples.jsonl", ".series.jsonl", ".explain.json", ".json.journal"],
)
def test_a_name_of_what_lies_beside_a_result_file_is_refused(tmp_path: Path, ending: str) -> None:
    done = run(MODEL, SHORT_ROWS, f"--benchmark_out={tmp_path / ('run' + ending)}")
    assert done.returncode == 2
    [complaint] = done.stderr.splitlines()
    assert "is for what lies beside another result file" in complaint
    assert list(tmp_path.iterdir()) == []


def test_rows_of_a_killed_run_are_set_aside_not_overwritten(tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "run.json"
    ended_by(signal.SIGKILL, MODEL, SHORT_ROWS, f"--benchmark_out={out}", rows=12)
    left = (tmp_path / "run.json.journal").read_bytes()
    done = run(MODEL, SHORT_ROWS, f"--benchmark_out={out}")
    assert done.returncode == 0
    assert "run.json.journal.old" in done.stderr
    assert (tmp_path / "run.json.journal.old").read_bytes() == left
    assert content(out) == content(whole)


def lost(folder: Path, profile: str, *flags: str) -> tuple[list[dict], Sequence[str]]:
    """The rows of a run in one process that loses its device, and what it says of that."""
    out = folder / "run.json"
    conditions = f"--conditions={CONDITIONS / profile}.json"
    done = run(MODEL, SHORT_ROWS, "--isolate=none", conditions, *flags, f"--benchmark_out={out}")
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if line.startswith("gpubench: ")]
    rows = valid(out)["benchmarks"]
    # On the console, too, only one line stands for all that is left.
    assert sum("FAILED" in line for line in done.stdout.splitlines()) == 1
    assert "skipped: not run" not in done.stdout
    [resume] = [line for line in done.stdout.splitlines() if line.startswith("to finish the run: ")]
    assert f"--resume={out}" in shlex.split(resume)
    return rows, said


@pytest.mark.parametrize(
    ("profile", "flags", "why", "said"),
    [
        ("endless", ("--row_limit=1",), "did not finish in 1 s", "hung"),
        ("endless", (), "launch timed out", "left the device in an error state"),
        ("faulty", (), "illegal memory access", "left the device in an error state"),
    ],
)
def test_a_kernel_without_end_or_with_a_fault_costs_its_row(
    tmp_path: Path, profile: str, flags: tuple[str, ...], why: str, said: str
) -> None:
    rows, lines = lost(tmp_path, profile, *flags)
    [failed] = [row for row in rows if row.get("error_occurred")]
    assert failed["name"].startswith("coalescing/strided_read/")
    assert why in failed["error_message"]
    at = rows.index(failed)
    assert all(row["real_time"] > 0 for row in rows[:at])
    assert len(rows) == SHORT_ROWS_COUNT
    after = rows[at + 1 :]
    assert after
    assert all(row["skip_reason"] == f"not run: {failed['name']} {said}" for row in after)
    assert lines == [f"gpubench: {failed['name']} {said}: the remaining rows are not run"]


def test_after_a_fault_the_rest_is_run_by_another_process(tmp_path: Path) -> None:
    out = broken_off(tmp_path)
    journal = tmp_path / "run.json.journal"
    # The fault is the conditions', which fault once in every process: the other has none.
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    del lines[0]["same"]["conditions"], lines[0]["same"]["the file of --conditions"]
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run(MODEL, SHORT_ROWS, f"--resume={out}")
    assert done.returncode == 1  # one row has failed
    rows = valid(out)["benchmarks"]
    assert [row.get("error_occurred") for row in rows].count(True) == 1
    assert not any("skipped" in row for row in rows)
    assert not journal.exists()


def test_a_limit_that_is_no_number_is_refused() -> None:
    for value in ("soon", "-1", ""):
        done = run(MODEL, SHORT_ROWS, f"--row_limit={value}")
        assert done.returncode == 2
        assert f"--row_limit='{value}': must be a number >= 0" in done.stderr
