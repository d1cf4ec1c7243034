"""Temporary folders that do not stay when their owner is killed: the next one removes them.

A folder's owner holds a lock on it, which the system lets go when that process is gone, however it
ended. So a folder that anybody can lock is nobody's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
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


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A new folder, named by one of PREFIXES, that is gone afterwards. Removes what killed
    processes of this user have left."""
    _remove_stale_once(tempfile.gettempdir())
    folder, handle = _held_folder(prefix)
    try:
        with folder:
            yield Path(folder.name)
    finally:
        if handle is not None:
            os.close(handle)


def _held_folder(prefix: str) -> tuple[tempfile.TemporaryDirectory[str], int | None]:
    """And its lock; None where this file system has none: such a folder is not called held."""
    for _ in range(_ATTEMPTS):
        folder = tempfile.TemporaryDirectory(prefix=prefix + _HELD)
        handle = _hold(Path(folder.name))
        if handle is not None:
            return folder, handle
        folder.cleanup()  # another process may have taken it for stale, before it was locked
    return tempfile.TemporaryDirectory(prefix=prefix), None


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
