"""Files that appear whole or not at all."""

import contextlib
import errno
import io
import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.plain_text import clean

_MOST_OF_A_PIPE = 1 << 30  # bytes
_OF_THE_SHELL = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")  # <(command) and - too


def file_bytes(path: Path) -> bytes:
    """What the file at `path` holds.

    Raises OSError where it cannot be read; also for devices and pipes, which might never end or
    never begin, but not for a pipe that the shell has opened. ValueError: `path` is no name.
    """
    with open_file(path) as file:
        return file.read()


def open_file(path: Path) -> io.BufferedReader | io.BytesIO:
    """The file at `path`, opened to be read; raises what `file_bytes` does."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would wait here
    try:
        mode = os.fstat(handle).st_mode
        is_pipe = stat.S_ISFIFO(mode) and str(path).startswith(_OF_THE_SHELL)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode) and not is_pipe:
            raise OSError(errno.EINVAL, "it is a device or a pipe, no file", str(path))
        os.set_blocking(handle, True)
        if is_pipe:
            return _of_pipe(path, handle)
        return os.fdopen(handle, "rb")
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(handle)
        raise


def _of_pipe(path: Path, handle: int) -> io.BytesIO:
    """All that comes out of a pipe, unless it is more than any file that is read here."""
    with os.fdopen(handle, "rb") as pipe:
        content = pipe.read(_MOST_OF_A_PIPE + 1)
    if len(content) > _MOST_OF_A_PIPE:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return io.BytesIO(content)


def ensure_directory(path: Path) -> None:
    """Creates `path` and its parents, and proves that a file can be made in it.

    Raises ReportError when it cannot.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise ReportError(path, f"cannot write here: {reason(error)}") from None


def require_directory(path: Path) -> None:
    """Proves that a file that was named can be made in `path`; a folder that is not there is more
    likely misspelt than wanted.

    Raises ReportError when it cannot.
    """
    if not path.exists():
        require_folder(path)
    ensure_directory(path)


def require_folder(path: Path, of: str = "") -> None:
    """Proves that `path` is a folder to read from; `of` says what it is to hold.

    Raises ReportError when it is none.
    """
    if not path.is_dir():
        why = "not a folder" if path.exists() else "no such folder"
        raise ReportError(path, f"{why}: expected a folder of {of}" if of else why)


def require_output(path: Path, inputs: Iterable[Path]) -> None:
    """Proves that a file that was named can be made, and is none of those that are read.

    Raises ReportError when it cannot, or is.
    """
    require_directory(path.parent)
    for read in inputs:
        with contextlib.suppress(OSError, ValueError):
            if path.samefile(read) and not _is_special(path):
                raise ReportError(path, "is read here: a report must not replace its input")


def _is_special(path: Path) -> bool:
    """Whether what is there is a device or a pipe, which nothing replaces."""
    mode = path.stat().st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def write_atomically(path: Path, content: bytes) -> None:
    """Writes `content` under a temporary name beside `path`, then renames.

    A reader sees the old file or the new one, never a part. A link stays, and what it leads to is
    replaced; a device, a pipe and what standard output is are written to, never replaced. Raises
    ReportError.
    """
    temporary: Path | None = None
    try:
        if in_place := _opened_in_place(path):
            with in_place:
                in_place.write(content)
            return
        path = Path(os.path.realpath(path))
        if path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:60]}.")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        temporary.chmod(0o666 & ~_umask())  # mkstemp's 0600 would hide charts from others
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        raise ReportError(path, f"cannot write: {reason(error)}") from None


def _opened_in_place(path: Path) -> IO[bytes] | None:
    """What is at `path`, where it must not be replaced; None where it may be, or is not there."""
    try:
        there = path.stat()
    except OSError:
        return None
    number = _stream_into(there)
    if number is not None:  # to open it anew would begin at another place
        sys.stdout.flush()
        return os.fdopen(os.dup(number), "wb")
    if stat.S_ISFIFO(there.st_mode):
        return _opened_pipe(path)
    return path.open("wb") if _is_special(path) else None


def is_own_output(path: Path) -> bool:
    """Whether this process prints into the file at `path`: the shell made it, empty or not yet."""
    try:
        return _stream_into(path.stat()) is not None
    except OSError:
        return False


def _stream_into(there: os.stat_result) -> int | None:
    """The standard stream that goes into this file, if one does."""
    for number in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(there, os.fstat(number)):
                return number
    return None


def _opened_pipe(path: Path) -> IO[bytes]:
    """A named pipe opens only once somebody reads it, which may never happen: says what it waits
    for."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        said = f"gpubench: waiting until somebody reads the pipe '{clean(str(path))}'"
        print(said, file=sys.stderr, flush=True)
        return path.open("wb")
    os.set_blocking(handle, True)
    return os.fdopen(handle, "wb")


def reason(error: OSError) -> str:
    """The system's own words for `error`, without numbers and paths."""
    return error.strerror or type(error).__name__


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
