"""The compiler's tools, on what was made of a solution."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

from .course import LabError

_SECONDS = 60
# One line of a solution asks for data of any size. A lab's program takes 8 MiB at most.
MOST_FILE_BYTES = 64 << 20
_MOST_MEMORY_BYTES = 4 << 30


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE_BYTES, MOST_FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY_BYTES, _MOST_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def tool(
    words: list[str], *, text: str | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs one of them with `text` as its input, and bounds what it writes. LabError: it took
    longer than any solution explains."""
    try:
        return subprocess.run(
            words,
            cwd=folder,
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_SECONDS,
            preexec_fn=_limit,
        )
    except subprocess.TimeoutExpired:
        raise LabError(f"{words[0]} did not end within {_SECONDS} s") from None


def wrote_too_much(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the bound ended it: the compiler says so of the assembler and the linker."""
    return "File size limit exceeded" in done.stderr or "File too large" in done.stderr


def output_of(words: list[str], text: str | None = None) -> str:
    """What one that has no reason to fail prints. LabError."""
    done = tool(words, text=text)
    if done.returncode != 0:
        raise LabError(f"{words[0]}: {done.stderr.strip()}")
    return done.stdout
