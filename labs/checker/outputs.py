"""Files that an instructor names: whole or not at all, and never in the place of what is graded."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from .course import LabError


def require_output(path: Path, *graded: Path) -> None:
    """LabError where `path` lies in one of these folders, whose files are read."""
    real = Path(os.path.realpath(path))
    for folder in graded:
        if real.is_relative_to(os.path.realpath(folder)):
            raise LabError(f"{path}: is in {folder}, whose files are read: choose another place")


def _is_written_in_place(path: Path) -> bool:
    """Whether nothing may replace it: a device, a pipe, or what standard output is."""
    try:
        there = path.stat()
        if not stat.S_ISREG(there.st_mode):
            return True
        return os.path.samestat(there, os.fstat(1))
    except OSError:
        return False


def _mode_of(path: Path) -> int:
    """The permissions of what is there, else those of a new file."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


@contextmanager
def written(path: Path) -> Iterator[TextIO]:
    """A file that gets the name `path` when all is written.

    Until then it lies beside, as NAME.part-XXXX. It stays there if what writes is killed or fails:
    grades that a class took an hour for are not to be lost. LabError where it cannot be written.
    """
    kept = ""
    try:
        if _is_written_in_place(path):
            with path.open("a", newline="", encoding="utf-8") as file:
                yield file
            return
        real = Path(os.path.realpath(path))
        handle, name = tempfile.mkstemp(dir=real.parent, prefix=f"{real.name[:60]}.part-")
        kept = f"; what was written is in {name}"
        os.fchmod(handle, _mode_of(real))
        with os.fdopen(handle, "w", newline="", encoding="utf-8") as file:
            yield file
        Path(name).replace(real)
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}{kept}") from None
    except (KeyboardInterrupt, SystemExit):  # by Ctrl-C, or as cli.stop() does
        if kept:
            print(f"scripts/lab: stopped{kept}", file=sys.stderr)
        raise
