"""Work that several processes share."""

import contextlib
import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def usable_cpus() -> int:
    """The CPUs that this process may run on, which may be fewer than the machine's."""
    return len(os.sched_getaffinity(0))


@contextlib.contextmanager
def process_pool(workers: int, **options: Any) -> Iterator[ProcessPoolExecutor]:
    """A pool of which no process is left. Where no thread can be started to lead them, Python
    would wait for its processes for ever."""
    before = multiprocessing.active_children()
    try:
        with ProcessPoolExecutor(workers, **options) as pool:
            yield pool
    finally:
        for child in multiprocessing.active_children():
            if child not in before:
                child.kill()
