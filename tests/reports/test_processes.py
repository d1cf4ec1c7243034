"""Work that several processes share ends, whatever becomes of them."""

import os
import subprocess
import sys

from gpubench_reports.common.processes import process_pool, usable_cpus

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


def test_without_a_thread_a_pool_is_an_error_and_no_wait_for_ever():
    done = subprocess.run(
        [sys.executable, "-c", NO_THREAD],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    assert line.startswith("program: internal error at ")


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
