"""One measures on a GPU at a time, whichever history, store or user it is for."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import reason
from gpubench_reports.nightly.nights import health
from gpubench_reports.nightly.store.names import folder_name
from gpubench_reports.nightly.store.store import lock

# All users may write to these, and none outlasts the machine's start. Not $TMPDIR: it differs.
_FOLDERS = ("/run/lock", "/tmp")


@contextlib.contextmanager
def alone_on(device: str, seen: dict[str, Any]) -> Iterator[None]:
    """Held while the GPU `device` of which `health.look` says `seen` is measured.

    Raises ReportError if another process holds it. Modelled devices are nobody's.
    """
    if not device.startswith("cuda"):
        yield
        return
    name = folder_name(f"gpubench-{seen.get('uuid') or health.id_of(device)}")
    path = _folder() / f"{name}.lock"
    try:
        handle = _opened(path)
    except OSError as error:
        raise ReportError(path, f"cannot open: {reason(error)}") from None
    with os.fdopen(handle, "rb") as stream:
        lock(stream, device, f"another night or comparison is measuring on this GPU ({path})")
        yield


def _folder() -> Path:
    named = os.environ.get("GPUBENCH_LOCKS")
    if named:
        return Path(named)
    usable = (path for path in map(Path, _FOLDERS) if os.access(path, os.W_OK | os.X_OK))
    return next(usable, Path(_FOLDERS[-1]))


def _opened(path: Path) -> int:
    """The file, made for all users if it is not there. It is never written: nobody is harmed who
    finds a link there."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    while True:
        # The system may forbid to open another user's file with O_CREAT.
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, flags)
        try:
            handle = os.open(path, flags | os.O_CREAT | os.O_EXCL)
        except OSError as error:
            if error.errno != errno.EEXIST:  # somebody was quicker
                raise
        else:
            os.fchmod(handle, 0o644)  # enough to lock it
            return handle
