"""Work that several processes share ends, whatever becomes of them."""

import math
import os
import subprocess
import sys

import pytest

from gpubench_reports.common import processes
from gpubench_reports.common.processes import granted_cpus, process_pool, usable_cpus

# As in a container that may have no further thread.
NO_THREAD = """
import os, sys
from concurrent.futures import process
from gpubench_reports.common.console import run_guarded
from gpubench_reports.common.processes import process_pool

def start(self):
    raise RuntimeError("can't start new thread")

def call():
    with process_pool(2) as pool:
        return len(list(pool.map(abs, [1, 2])))

process._ExecutorManagerThread.start = start
sys.exit(run_guarded("program", call))
"""


def ended(program: str) -> subprocess.CompletedProcess[str]:
    """What a Python of its own makes of it, in less time than what it would wait for."""
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_without_a_thread_a_pool_is_an_error_and_no_wait_for_ever():
    done = ended(NO_THREAD)
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    assert line.startswith("program: internal error at ")


# Three workers, of which one has nothing to do, interrupted as a terminal does it: all at once.
INTERRUPTED = """
import os, signal, sys, time
from gpubench_reports.common.console import run_guarded
from gpubench_reports.common.processes import process_pool

def wait(seconds):
    time.sleep(seconds)

def call():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
    os.setpgid(0, 0)
    with process_pool(3) as pool:
        works = [pool.submit(wait, seconds) for seconds in (0, 0, 0, 60, 60)]
        for work in works[:3]:
            work.result()
        os.killpg(0, signal.SIGINT)
        return [work.result() for work in works]

sys.exit(run_guarded("program", call))
"""


def test_an_interrupted_pool_ends_at_once_without_a_trace():
    done = ended(INTERRUPTED)
    assert done.returncode == 130
    assert done.stderr in ("", "program: interrupted\n")


def test_a_pool_answers_in_order():
    with process_pool(2) as pool:
        assert list(pool.map(abs, [-1, 2, -3])) == [1, 2, 3]


def test_cpus_are_those_of_this_process():
    all_cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(all_cpus)})
    try:
        assert usable_cpus() == 1
    finally:
        os.sched_setaffinity(0, all_cpus)


@pytest.mark.parametrize(
    ("files", "groups", "granted"),
    [
        ({}, "0::/\n", math.inf),
        ({"cpu.max": "max 100000"}, "0::/\n", math.inf),
        ({"cpu.max": "150000 100000"}, "0::/\n", 2),
        ({"a/cpu.max": "250000 100000", "a/b/cpu.max": "400000 100000"}, "0::/a/b\n", 3),
        ({"a/cpu.max": "100000 100000"}, "0::/c\n", math.inf),
        (
            {"cpu/a/cpu.cfs_quota_us": "5000", "cpu/a/cpu.cfs_period_us": "100000"},
            "4:memory:/a\n3:cpuacct,cpu:/a:b\n3:cpuacct,cpu:/a\n",
            1,
        ),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "3:cpu:/\n", math.inf),
        ({"cpu.max": "0 0"}, "0::/\n", math.inf),
        ({"cpu.max": "nonsense"}, "a line\n0::/\n", math.inf),
    ],
)
def test_a_container_grants_the_tightest_quota_around_it(tmp_path, files, groups, granted):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    assert granted_cpus(tmp_path, groups) == granted


def test_workers_are_no_more_than_the_quota(tmp_path, monkeypatch):
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    monkeypatch.setattr(processes, "_GROUPS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert usable_cpus() == 1
