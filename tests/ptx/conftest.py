"""Where the tests of the PTX engine find what nvcc built."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))
# The kernel tests whose PTX is built for every run (tests/kernels/CMakeLists.txt).
TELLING = "AsyncCopy*:Atomics*:BankConflicts*:GemmLadder*:Reduction*"
