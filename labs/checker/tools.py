"""The compiler's tools, on what was made of a solution."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .course import LabError, MachineError
from .sandbox import Ended, Limits, run

# One line of a solution asks for data of any size. A lab's program takes 8 MiB at most.
MOST_FILE_BYTES = 64 << 20
LIMITS = Limits(seconds=60, memory_bytes=2 << 30, file_bytes=MOST_FILE_BYTES)


class TooMuchError(Exception):
    """A solution asks too much of a tool: the argument says of which, and what became of it."""


def tool(words: list[str], folder: Path, text: str = "") -> Ended:
    """Runs one of them in `folder`, with `text` as its input. MachineError, TooMuchError."""
    name = Path(words[0]).name
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        done = run(words, folder, LIMITS, keep=("PATH", "TMPDIR"), stdin=file.fileno())
    if done.is_starved:
        raise MachineError(f"{name} {done.why}")
    if done.why:
        raise TooMuchError(f"{name} {done.why}")
    return done


def wrote_too_much(done: Ended) -> bool:
    """Whether the bound ended it: the compiler says so of the assembler and the linker."""
    words = ("File size limit exceeded", "File too large")
    return done.returncode != 0 and any(said in done.stderr for said in words)


def output_of(words: list[str], folder: Path, text: str = "") -> str:
    """What one that has no reason to fail prints. LabError, TooMuchError."""
    done = tool(words, folder, text)
    if done.returncode != 0:
        raise LabError(f"{words[0]}: {done.stderr.strip()}")
    return done.stdout
