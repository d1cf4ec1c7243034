"""Runs damaged inputs through a reader, and counts what came of them."""

from __future__ import annotations

import hashlib
import random
import resource
import signal
import tempfile
import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from .mutate import Mutator
from .readers import Reader, check_line, use_folder

HANG_SECONDS = 1.0  # of the processor: other programs on the machine take none of it
MOST_MEMORY = 1 << 30  # bytes, beyond what the packages take


class HangError(BaseException):
    """Raised into a reader that takes too long; nothing may catch it."""


@dataclass
class Outcome:
    """`crashes` and `hangs`: an input of each place in the code, by that place."""

    reader: str
    inputs: int = 0
    refused: int = 0
    crashes: dict[str, bytes] = field(default_factory=dict)
    hangs: dict[str, bytes] = field(default_factory=dict)
    slowest_seconds: float = 0.0
    peak_bytes: int = 0
    seconds: float = 0.0

    @property
    def is_clean(self) -> bool:
        return not self.crashes and not self.hangs and self.peak_bytes < MOST_MEMORY


def limit_memory() -> None:
    """Makes what takes more than MOST_MEMORY a MemoryError, which is a crash."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def damaged(reader: Reader, count: int, seed: int) -> Iterable[bytes]:
    mutator = Mutator(reader.seeds(), random.Random(seed))
    return (mutator.next() for _ in range(count))


def try_inputs(name: str, reader: Reader, inputs: Iterable[bytes]) -> Outcome:
    """What comes of each of the inputs; none is written beyond a temporary folder."""
    found = Outcome(name)
    begun = time.process_time()
    memory = Path("/dev/shm")
    where = memory if memory.is_dir() else None
    previous = signal.signal(signal.SIGPROF, _end_hang)
    try:
        with tempfile.TemporaryDirectory(prefix="gpubench-fuzz-", dir=where) as folder:
            use_folder(Path(folder))
            reader_path = Path(folder) / reader.file
            reader_path.write_bytes(reader.seeds()[0])
            reader.read(reader_path)  # imports what it needs, and keeps its files
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
            before = _peak()
            for data in inputs:
                reader_path.write_bytes(data)
                _try_one(found, reader, reader_path, data)
            found.peak_bytes = _peak() - before
    finally:
        signal.signal(signal.SIGPROF, previous)
    found.seconds = time.process_time() - begun
    return found


def _try_one(found: Outcome, reader: Reader, path: Path, data: bytes) -> None:
    from gpubench_reports.common.errors import ReportError

    found.inputs += 1
    begun = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS)
    try:
        reader.read(path)
    except ReportError as error:
        found.refused += 1
        try:
            check_line(error)
        except AssertionError as why:
            found.crashes.setdefault(_place(why), data)
    except HangError as hang:
        found.hangs.setdefault(_place(hang), data)
    except Exception as error:
        found.crashes.setdefault(_place(error), data)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    took = time.process_time() - begun
    found.slowest_seconds = max(found.slowest_seconds, took)


def _end_hang(number: int, frame: FrameType | None) -> None:
    raise HangError


def _place(error: BaseException) -> str:
    """The kind of error and the line of this project that it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "gpubench_reports" in f.filename] or frames
    words = str(error).splitlines()[:1]
    where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
    return f"{type(error).__name__} at {where}: {(words or [''])[0][:100]}"


def _peak() -> int:
    """The most memory that this process has had [bytes]."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def name_of(data: bytes) -> str:
    """A name for a kept input."""
    return hashlib.sha256(data).hexdigest()[:12]
