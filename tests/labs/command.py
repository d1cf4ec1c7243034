"""The checker, as a command."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from .conftest import BUILD, ROOT

ENVIRONMENT = {"PYTHONPATH": str(ROOT / "labs"), "PATH": "/usr/bin:/bin"}


def command_of(*words: str) -> list[str]:
    return [sys.executable, "-m", "checker", "--build", str(BUILD), *words]


def cli(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command_of(*words),
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def started(*words: str, out: int = subprocess.PIPE, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command_of(*words),
        cwd=ROOT,
        env=ENVIRONMENT | environment,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background ignores interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
