"""A run whose disk is full."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from .conftest import BUILD
from .test_output_targets import MODEL, ROWS


def on_a_small_disk(folder: Path, script: str) -> list[str]:
    """The lines that the script prints, with a disk of 16 KiB at `folder`."""
    mounts = 'mount -t tmpfs -o size=16k none "$0" && cd "$0"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if subprocess.run([*command, mounts, folder], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    done = subprocess.run(
        [*command, f"{mounts}; {script}", folder],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_disk_that_is_full_in_mid_run_ends_no_process_and_doubles_no_row(tmp_path: Path) -> None:
    program = f"'{BUILD}/gpubench' {MODEL} '{ROWS}' --isolate=row --benchmark_format=csv"
    lines = on_a_small_disk(
        tmp_path,
        f"{program} --benchmark_out=run.json 2>&1; echo code $?; mount -o remount,size=1m .;"
        f"{program} --resume=run.json >/dev/null 2>&1; echo code $?; cat run.json",
    )
    codes = [number for number, line in enumerate(lines) if line.startswith("code ")]
    assert [lines[number] for number in codes] == ["code 1", "code 0"]
    first = [line for line in lines[: codes[0]] if not line.startswith("gpubench: ")]
    assert len(first) == len(set(first)) == 13
    behind, last = (line for line in lines[: codes[0]] if line.startswith("gpubench: cannot"))
    assert "No space left on device: until it can, rows are kept in memory only" in behind
    assert "some of the finished rows are kept" in last
    rows = json.loads("\n".join(lines[codes[1] + 1 :]))["benchmarks"]
    assert len({row["name"] for row in rows}) == len(rows) == 12


def test_a_disk_that_is_full_from_the_start_is_told_at_once(tmp_path: Path) -> None:
    program = f"'{BUILD}/gpubench' {MODEL} '{ROWS}' --benchmark_out=run.json"
    lines = on_a_small_disk(
        tmp_path, f"head -c 16384 /dev/zero >fill; {program} 2>&1; echo code $?; ls"
    )
    assert lines == [
        "gpubench: cannot write 'run.json.journal': No space left on device",
        "code 2",
        "fill",
    ]


def test_a_folder_that_vanishes_takes_the_rows_with_it_and_no_promise_is_made(
    tmp_path: Path,
) -> None:
    (folder := tmp_path / "run").mkdir()
    command = [str(BUILD / "gpubench"), MODEL, ROWS, "--isolate=none"]
    with subprocess.Popen(
        [*command, f"--benchmark_out={folder}/run.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        while not process.stdout.readline().startswith("bank_conflicts/"):
            pass
        process.send_signal(signal.SIGSTOP)
        shutil.rmtree(folder)
        process.send_signal(signal.SIGCONT)
        _, complaint = process.communicate(timeout=100)
    assert process.returncode == 1
    assert complaint.endswith("; the finished rows are lost: their journal was removed\n")
