"""What a submission may take: time, memory, output."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from checker.sandbox import Limits, run


def python(tmp_path: Path, code: str, **limits: float) -> str:
    return run([sys.executable, "-c", code], tmp_path, Limits(**limits)).why


def test_who_loops_for_ever_loses_only_itself(tmp_path: Path) -> None:
    began = time.monotonic()
    assert "did not end within 1 s" in python(tmp_path, "while True: pass", seconds=1)
    assert time.monotonic() - began < 10


def test_who_sleeps_is_not_waited_for_either(tmp_path: Path) -> None:
    said = python(tmp_path, "import time; time.sleep(60)", seconds=0.5)
    assert "of a processor's time in 2" in said
    assert "the machine is too busy, or it waits" in said


def test_who_has_had_no_processor_is_told_from_who_loops(tmp_path: Path) -> None:
    # A child's time counts, also of one that is gone.
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    for code, is_starved, patience in (
        ("import time; time.sleep(60)", True, 2),
        (child, False, 40),
    ):
        limits = Limits(seconds=0.5, patience=patience)
        ended = run([sys.executable, "-c", code], tmp_path, limits)
        assert ended.is_starved == is_starved, ended.why


def test_who_has_half_a_processor_has_twice_as_long(tmp_path: Path) -> None:
    code = """
import time
while time.process_time() < 0.8:
    until = time.process_time() + 0.01
    while time.process_time() < until: pass
    time.sleep(0.01)
"""
    assert python(tmp_path, code, seconds=1) == ""


def test_a_child_is_ended_though_the_checker_is_asked_to_stop_as_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, started = subprocess.Popen, []

    def asked(*arguments, **named):
        child = start(*arguments, **named)
        started.append(child)
        signal.raise_signal(signal.SIGINT)
        return child

    monkeypatch.setattr(subprocess, "Popen", asked)
    with pytest.raises(KeyboardInterrupt):
        run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path)
    assert started[0].returncode == -signal.SIGKILL


def test_memory_is_limited(tmp_path: Path) -> None:
    code = "import time; x = bytearray(300 << 20); time.sleep(30)"
    assert "of memory" in python(tmp_path, code, memory_bytes=100 << 20)


def test_output_is_limited(tmp_path: Path) -> None:
    assert "of output" in python(tmp_path, "while True: print('x' * 10000)", output_bytes=1 << 20)


def test_a_crash_is_named(tmp_path: Path) -> None:
    assert "SIGSEGV" in python(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")


def test_nobody_sees_the_instructors_environment(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SECRET", "42")
    ended = run([sys.executable, "-c", "import os; print('SECRET' in os.environ)"], tmp_path)
    assert (ended.returncode, ended.stdout.strip(), ended.why) == (0, "False", "")
