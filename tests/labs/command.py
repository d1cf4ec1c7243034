"""The checker, as a command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .conftest import BUILD, ROOT


def cli(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "checker", "--build", str(BUILD), *words],
        cwd=cwd,
        env={"PYTHONPATH": str(ROOT / "labs"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
