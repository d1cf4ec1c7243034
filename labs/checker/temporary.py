"""Temporary folders that do not stay when their owner is killed: the next one removes them.

A folder's owner holds a lock on it, which the system lets go when that process is gone, however it
ended. So a folder that anybody can lock is nobody's. A process that is asked to stop removes its
own, wherever it was: its exit removes what was being made or removed just then.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import re
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

PREFIXES = ("gpubench-box-", "gpubench-lab-")
# In the names of folders that are locked. Earlier versions locked none: what has no such name may
# be of one that still runs, unless it is old.
_HELD = "held-"
_OLD_SECONDS = 86400.0
# Only what has been made here, and no folder that somebody has called like this.
_MADE = re.compile(rf"({'|'.join(PREFIXES)})(?P<held>{_HELD})?[a-z0-9_]{{8}}")
_ATTEMPTS = 10
# As long as killed processes take to be gone, which until then may write to what is removed.
_REMOVAL_SECONDS = 2.0
# Raised as exceptions, wherever this process is: Ctrl-C, and cli.stop().
_ASKS = (signal.SIGINT, signal.SIGTERM)
_own: set[Path] = set()  # made by this process, and not removed


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A new folder, named by one of PREFIXES, that is gone afterwards. Removes what killed
    processes of this user have left."""
    _remove_stale_once(tempfile.gettempdir())
    folder, handle = _held_folder(prefix)
    try:
        yield folder
    finally:
        try:
            _remove_own(folder)
        finally:
            if handle is not None:
                os.close(handle)


@contextmanager
def asked_later() -> Iterator[set[int]]:
    """Holds back what asks this process to stop, until the end of the block. Gives the signals that
    were held back before, which is how a child has to begin."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _ASKS)
        yield {int(one) for one in before}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _held_folder(prefix: str) -> tuple[Path, int | None]:
    """And its lock; None where this file system has none: such a folder is not called held."""
    for _ in range(_ATTEMPTS):
        folder = _new_folder(prefix + _HELD)
        handle = _hold(folder)
        if handle is not None:
            return folder, handle
        _remove_own(folder)  # another process may have taken it for stale, before it was locked
    return _new_folder(prefix), None


def _new_folder(prefix: str) -> Path:
    with asked_later():
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        _own.add(folder)
    return folder


def _remove_own(folder: Path) -> None:
    until = time.monotonic() + _REMOVAL_SECONDS
    _remove(folder)
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.01)
        _remove(folder)
    _own.discard(folder)


@atexit.register
def _remove_all_own() -> None:
    for folder in tuple(_own):
        _remove_own(folder)


@cache
def _remove_stale_once(where: str) -> None:
    remove_stale(Path(where))


def remove_stale(where: Path) -> None:
    """Removes this user's folders in `where` whose owners are gone."""
    with contextlib.suppress(OSError):
        for path in where.iterdir():
            made = _MADE.fullmatch(path.name)
            if made is None or (handle := _hold(path)) is None:
                continue
            try:
                if made["held"] or _is_old(handle):
                    _remove(path)
            finally:
                os.close(handle)


def _hold(path: Path) -> int | None:
    """Locks a folder of this user; None if it is none, a link, or another process's."""
    handle = None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        if os.fstat(handle).st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever had locked it may have removed it before letting go.
            if os.path.samestat(os.fstat(handle), path.lstat()):
                return handle
    except OSError:
        pass
    if handle is not None:
        os.close(handle)
    return None


def _is_old(handle: int) -> bool:
    return time.time() - os.fstat(handle).st_mtime > _OLD_SECONDS


def _remove(folder: Path) -> None:
    """Whatever a program that nobody trusts has left in it: links are removed, not followed, and
    folders that it closed are opened."""
    for within, names, _ in os.walk(folder):
        for name in names:
            path = Path(within, name)
            with contextlib.suppress(OSError):
                if stat.S_ISDIR(path.lstat().st_mode):
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
