"""Rows of the model device are run beside one another, by helpers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import BUILD, run
from .faulty import DEVICE, PROGRAM, outcome, rows_in, run_faulty
from .test_survival import MODEL, content


def children_of(process: int) -> list[int]:
    text = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(word) for word in text.split()]


def test_a_helper_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    """Who loses a helper does the rest alone."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        pytest.skip("one core: there are no helpers")
    rows = "--benchmark_filter=^(bank_conflicts/strided|coalescing/records)/"
    alone, helped = tmp_path / "alone.json", tmp_path / "helped.json"
    assert run(MODEL, rows, "--isolate=none", f"--benchmark_out={alone}").returncode == 0
    command = ["taskset", "-c", ",".join(map(str, cores)), str(BUILD / "gpubench")]
    command += [MODEL, rows, f"--benchmark_out={helped}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while "bank_conflicts" not in process.stdout.readline():
            pass
        [child] = children_of(process.pid)
        helpers = children_of(child)
        assert len(helpers) == 2
        os.kill(helpers[0], signal.SIGKILL)
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert content(helped) == content(alone)


def test_a_row_keeps_its_indices_where_one_before_it_is_missing(tmp_path: Path) -> None:
    """A signal comes while a helper has two rows, and the other one has done all that follow."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        pytest.skip("one core: there are no helpers")
    out = tmp_path / "run.json"
    count = 33
    command = ["taskset", "-c", ",".join(map(str, cores)), str(BUILD / "gpubench"), MODEL]
    command += [f"--axis=coalescing/misaligned_read/offset=0:{count - 1}"]
    command.append(f"--benchmark_out={out}")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while "coalescing" not in process.stdout.readline():
            pass
        [child] = children_of(process.pid)
        slow = children_of(child)[0]
        os.kill(slow, signal.SIGSTOP)
        journal = tmp_path / "run.json.journal"
        while journal.read_text().count('"row":') < count - 2:
            assert process.poll() is None
            time.sleep(0.02)
        process.terminate()
        time.sleep(0.3)  # until it has come to who waits for the row
        os.kill(slow, signal.SIGKILL)
        process.communicate(timeout=60)
    rows = json.loads(out.read_text())["benchmarks"]
    offsets = [row["arguments"]["offset"] for row in rows]
    assert len(offsets) == count - 1
    assert offsets != list(range(count - 1)), "a gap"
    assert [row["per_family_instance_index"] for row in rows] == offsets


def test_what_is_done_beside_a_slow_row_is_kept(tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core: there are no helpers")
    out = tmp_path / "run.json"
    rows = "host_endless|sound_last"
    command = [str(PROGRAM), DEVICE, f"--benchmark_filter=^faulty/({rows})(/|$)", "--row_limit=60"]
    command.append(f"--benchmark_out={out}")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        # The slow helper has the second of these rows too, but has not begun it.
        journal = tmp_path / "run.json.journal"
        while not journal.exists() or journal.read_text().count('"row"') < 2:
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
    done = run_faulty(rows, None, "--row_limit=0.5", f"--resume={out}")
    assert done.returncode == 1
    printed = re.findall(r"^faulty/(\S+)", done.stdout, re.MULTILINE)
    assert printed == ["host_endless", "sound_last/n:1", "sound_last/n:2", "sound_last/n:3"]
    assert [outcome(row)[:6] for row in rows_in(out).values()] == ["failed", *3 * ["measur"]]
