"""How a program of this package ends: its exit code, and one line about what went wrong."""

import io
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import reason

INTERRUPTED = 130
_INTERNAL_ERROR = 3


def run_guarded(program: str, call: Callable[[], int], line_buffering: bool = False) -> int:
    """The exit code of `call`; after one line, 2 where a file, a folder or an option was wrong, and
    3 where the program is: Python would end with 1, which is an answer of some commands."""
    # The arrays are small: a pool of threads would cost more to start than it could save.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not what a test puts there
            # A terminal that cannot show a name shows "?".
            stream.reconfigure(errors="replace", line_buffering=line_buffering)
    try:
        code = call()
        sys.stdout.flush()
        return code
    except ReportError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full or broken disk, wherever it shows first
        print(f"{program}: {error.filename or 'standard output'}: {reason(error)}", file=sys.stderr)
        return 2
    except Exception as error:
        return _internal_error(program, error)


def _internal_error(program: str, error: Exception) -> int:
    """Says in one line that the program is at fault, and where; returns the exit code for that."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(at.filename).name}:{at.lineno}"
    kind = type(error).__name__
    print(f"{program}: internal error at {where}: {kind}: {error}"[:400], file=sys.stderr)
    return _INTERNAL_ERROR
