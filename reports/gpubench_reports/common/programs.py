"""Running gpubench itself, for the commands that need the model's figures."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import reason


def run(program: Path, arguments: Sequence[str], purpose: str) -> None:
    """Runs `program`. Raises ReportError, which names `purpose`, when it cannot or fails."""
    # A path without a slash would be looked up in PATH: ./gpubench is one to Path.
    command = [str(program.absolute()), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ReportError(program, f"cannot be run: {reason(error)}") from None
    if done.returncode != 0:
        complaint = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ReportError(program, f"failed for {purpose}: {complaint}")
