"""Work that several processes share."""

import contextlib
import math
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

_GROUPS = Path("/sys/fs/cgroup")


def usable_cpus() -> int:
    """The CPUs that this process may run on, which may be fewer than the machine's, and no more
    than the processor time that its container or service is granted."""
    granted = granted_cpus(_GROUPS, _text(Path("/proc/self/cgroup")))
    return int(min(len(os.sched_getaffinity(0)), granted))


def granted_cpus(root: Path, own_groups: str) -> float:
    """The tightest quota of processor time, in whole CPUs, in the control groups around a process,
    which `own_groups` names as /proc/self/cgroup does; infinite where there is none.
    harness/system/control_groups.cpp reads the same files for the program."""
    granted = math.inf
    for line in own_groups.splitlines():
        controllers, _, group = line.partition(":")[2].partition(":")
        # The second version has one tree, without a name; the first has one per controller.
        if controllers and "cpu" not in controllers.split(","):
            continue
        tree = root / "cpu" if controllers else root
        own = Path(group.lstrip("/"))
        for folder in (own, *own.parents):
            granted = min(granted, _quota(tree / folder))
    return granted


def _quota(folder: Path) -> float:
    text = _text(folder / "cpu.max") or " ".join(
        _text(folder / name) for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    )
    try:
        quota, period = (float(word) for word in text.split())
    except ValueError:  # no file, or "max"
        return math.inf
    if not (0 < quota < math.inf and period > 0):
        return math.inf
    return math.ceil(min(quota / period, 1e6))  # more than any machine has


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


@contextlib.contextmanager
def process_pool(
    workers: int,
    initializer: Callable[..., None] | None = None,
    initargs: tuple[Any, ...] = (),
    **options: Any,
) -> Iterator[ProcessPoolExecutor]:
    """A pool of which no process is left, also if it is interrupted: an interrupt is for who leads
    them. Where no thread can be started to do so, Python would wait for its processes for ever."""
    before = multiprocessing.active_children()
    try:
        with ProcessPoolExecutor(
            workers, initializer=_be_led, initargs=(initializer, initargs), **options
        ) as pool:
            try:
                yield pool
            except BaseException:
                _kill_children_but(before)  # nobody waits for what they have begun
                raise
    finally:
        _kill_children_but(before)


def _be_led(initializer: Callable[..., None] | None, initargs: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if initializer is not None:
        initializer(*initargs)


def _kill_children_but(before: list[multiprocessing.process.BaseProcess]) -> None:
    for child in multiprocessing.active_children():
        if child not in before:
            child.kill()
