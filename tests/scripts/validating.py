"""A checkout for scripts/validate-gpu in which program and tools stand in for the real ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from reports.factory import make_document, make_row
from reports.profiles import metrics_of, ncu_csv

from .conftest import ROOT, run_script, stand_ins

MODEL = "--device=model:h200-sxm"
FIGURES = {
    "blocks": 8,
    "traced_blocks": 8,
    "threads_per_block": 256,
    "registers": 20,
    "shared_bytes": 0,
    "resident_blocks": 8,
    "occupancy": 1.0,
    "global_load_requests": 64,
    "global_load_sectors": 256,
}


LAUNCHES = [{"kernel": "stream::copy<float>", "times": 1, "figures": FIGURES}]


FLOOR = make_row(
    "launch_overhead/empty_row/by:stream/launches:1",
    2.5e-6,
    empty_kernel_seconds=2.5e-6,
    model_seconds=2.4e-6,
)


COPY = make_row(
    "stream/copy/n:1",
    1e-3,
    launches=LAUNCHES,
    model_seconds=1.1e-3,
    ci_low_seconds=0.99e-3,
    ci_high_seconds=1.01e-3,
)


# Notes how it was called; lists two concepts; copies the result file, whatever was asked for.
PROGRAM = """#!/bin/bash
here="$(dirname "$0")"
echo "$(basename "$0") $*" >>"$here/calls"
for argument in "$@"; do
  case "$argument" in
    --benchmark_list_tests) printf 'launch_overhead/empty_row/n:1\\nstream/copy/n:1\\n'; exit 0 ;;
    --list_devices | --version) exit 0 ;;
    --benchmark_out=*) out="${argument#*=}" ;;
  esac
done
kind=document
[[ "$*" != *--device=model:* ]] || kind=modelled
[[ -z "${out:-}" ]] || cp "$here/$kind.json" "$out"
exit "$(cat "$here/status" 2>/dev/null || echo 0)"
"""


NCU = """#!/bin/bash
echo "ncu $*" >>"{tree}/build/calls"
while [[ "$1" != --log-file ]]; do shift; done
cp "{tree}/profile.csv" "$2"
"""


SANITIZER = """#!/bin/bash
echo "compute-sanitizer $*" >>"{tree}/build/calls"
[[ "$*" != *racecheck*StreamKernels* ]] || {{ echo "{said}"; exit {racecheck}; }}
"""


# Its tests, in two suites; notes how it was called otherwise.
KERNEL_TESTS = """#!/bin/bash
if [[ "$*" == *--gtest_list_tests* ]]; then
  printf 'StreamKernels.\\n  Copy\\nBankKernels.\\n  Tile\\n'
  exit 0
fi
echo "unit tests $*" >>"{tree}/build/calls"
echo last line
exit {status}
"""


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def make_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout in which everything but the script stands in for the real thing."""
    tree = tmp_path / "gpu bench"
    tree.mkdir()
    rows = [FLOOR, COPY]
    stand_ins(tree, "validate-gpu", PROGRAM, rows)
    shutil.copytree(ROOT / "scripts/validate", tree / "scripts/validate")
    modelled = make_document(rows, device_kind="model")
    (tree / "build/modelled.json").write_text(json.dumps(modelled))
    executable(tree / "build/gpubench-cuda", PROGRAM)
    # Validations are drawn, which takes longer than all else here, and are tested elsewhere.
    report = (tree / ".venv/bin/gpubench-report").read_text()
    noted = '#!/bin/sh\n[ "$1" != validate ] || { echo "$@"; exit 0; }'
    executable(tree / ".venv/bin/gpubench-report", report.replace("#!/bin/sh", noted))
    executable(tree / ".venv/bin/python", '#!/bin/sh\nexec python3 "$@"\n')
    shutil.copytree(ROOT / "harness/devices", tree / "harness/devices")
    executable(tree / "bin/nvidia-smi", "#!/bin/sh\necho 9.0\n")
    executable(tree / "bin/no-python", "#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("PATH", f"{tree / 'bin'}:{os.environ['PATH']}")
    return tree


def on_a_gpu(
    tree: Path, racecheck: int = 0, said: str = "1 hazard", registers: int = 20, status: int = 0
) -> None:
    (tree / "gpu").touch()
    executable(tree / "bin/ncu", NCU.format(tree=tree))
    sanitizer = SANITIZER.format(tree=tree, racecheck=racecheck, said=said)
    executable(tree / "bin/compute-sanitizer", sanitizer)
    tests = KERNEL_TESTS.format(tree=tree, status=status)
    executable(tree / "build/gpubench-kernel-tests", tests)
    metrics = metrics_of(FIGURES | {"registers": registers}) | {"gpu__time_duration.sum": 1e6}
    profile = ncu_csv([("stream/copy/n:1", "void stream::copy<float>(float *)", metrics)])
    (tree / "profile.csv").write_text(profile)


def validate(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_script(tree, "validate-gpu", "--out=out", *arguments)


def verdicts(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What came of each step, by the summary at the end."""
    lines = done.stdout.partition("== summary")[2].splitlines()[1:]
    return {line[9:33].strip(): (line[:8].strip(), line[34:]) for line in lines if line}


def calls(tree: Path) -> str:
    return (tree / "build/calls").read_text()


SANITIZERS = [f"sanitize-{tool}" for tool in ("memcheck", "racecheck", "synccheck", "initcheck")]
