"""The compiler's tools, on what was made of a solution."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .course import LabError

_SECONDS = 60


def tool(
    words: list[str], *, text: str | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs one of them with `text` as its input. LabError: it took longer than any solution
    explains."""
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
        )
    except subprocess.TimeoutExpired:
        raise LabError(f"{words[0]} did not end within {_SECONDS} s") from None


def output_of(words: list[str], text: str | None = None) -> str:
    """What one that has no reason to fail prints. LabError."""
    done = tool(words, text=text)
    if done.returncode != 0:
        raise LabError(f"{words[0]}: {done.stderr.strip()}")
    return done.stdout
