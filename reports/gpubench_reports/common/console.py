"""How a program of this package ends: its exit code, and one line about what went wrong."""

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import reason
from gpubench_reports.common.plain_text import clean

INTERRUPTED = 130
_INTERNAL_ERROR = 3


class _Until(io.FileIO):
    """A standard stream that falls silent when its reader, `head` perhaps, has seen enough: what a
    command finds does not depend on who listens. Says once that a disk is full, and never again."""

    _is_over = False

    def write(self, data: Any, /) -> int:
        size = memoryview(data).nbytes
        if self._is_over:
            return size
        try:
            return super().write(data)
        except BrokenPipeError:
            self._is_over = True
            return size
        except OSError as error:
            self._is_over = True
            error.filename = "standard output" if self.fileno() == 1 else "standard error"
            raise


@contextlib.contextmanager
def _streams(line_buffering: bool) -> Iterator[None]:
    """Standard output and error as a program of this package needs them."""
    before = sys.stdout, sys.stderr
    errors = sys.stderr
    if errors is None:  # closed: another file must not get its number
        errors = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.stdout, sys.stderr = _stream(sys.stdout, line_buffering), _stream(errors, True)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _stream(stream: Any, line_buffering: bool) -> Any:
    if not isinstance(stream, io.TextIOWrapper):  # closed, or what a test puts there
        return stream
    # A terminal that cannot show a name shows "?".
    stream.reconfigure(errors="replace", line_buffering=line_buffering)
    if type(getattr(stream.buffer, "raw", stream.buffer)) is not io.FileIO:  # python -u has no raw
        return stream
    buffer = io.BufferedWriter(_Until(stream.fileno(), "wb", closefd=False))
    return io.TextIOWrapper(
        buffer,
        stream.encoding,
        "replace",
        line_buffering=line_buffering,
        write_through=stream.write_through,
    )


def run_guarded(program: str, call: Callable[[], int], line_buffering: bool = False) -> int:
    """The exit code of `call`; after one line, 2 where a file, a folder or an option was wrong, and
    3 where the program is: Python would end with 1, which is an answer of some commands."""
    # The arrays are small: a pool of threads would cost more to start than it could save.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with _streams(line_buffering):
        return _guarded(program, call)


def _guarded(program: str, call: Callable[[], int]) -> int:
    if sys.stdout is None:
        print(f"{program}: standard output: is closed", file=sys.stderr)
        return 2
    try:
        try:
            return call()
        finally:
            sys.stdout.flush()
    except ReportError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:  # a full or broken disk, wherever it shows first
        where = clean(str(error.filename or "a file or folder"))
        print(f"{program}: {where}: {reason(error)}", file=sys.stderr)
        return 2
    except Exception as error:
        return _internal_error(program, error)


def _internal_error(program: str, error: Exception) -> int:
    """Says in one line that the program is at fault, and where; returns the exit code for that."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(at.filename).name}:{at.lineno}"
    kind = type(error).__name__
    line = clean(f"{program}: internal error at {where}: {kind}: {error}")
    print(line[:400], file=sys.stderr)
    return _INTERNAL_ERROR
