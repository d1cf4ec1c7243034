"""A checkout of stand-ins around one of the scripts, and a way to run it there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from reports.factory import make_document

ROOT = Path(__file__).resolve().parents[2]
# What scripts/lib.sh does is tested by using it; here it has done its work already.
LIBRARY = """
root="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)"
venv="$root/.venv"
build_packages=()
for name in answer_help {un,}lock_checkout ensure_{packages,build_packages,built,python}; do
  eval "$name() { :; }"
done
has_gpu() { [[ -e "$root/gpu" ]]; }
find_nvcc() { [[ -e "$root/nvcc" ]] && echo "$root/nvcc"; }
say() { printf '%s: %s\\n' "$program" "$*" >&2; }
die() { say "$*"; exit 1; }
mistake() { say "$*"; exit 2; }
"""


def stand_ins(tree: Path, script: str, program: str, rows: Sequence[dict[str, Any]]) -> Path:
    """Makes `tree` a checkout whose scripts/`script` is the real one. Its build/gpubench is
    `program`, a shell script, which finds a result file of `rows` as document.json beside it."""
    for folder in ("scripts", "build", ".venv/bin"):
        (tree / folder).mkdir(parents=True)
    (tree / f"scripts/{script}").write_text((ROOT / f"scripts/{script}").read_text())
    (tree / "scripts/lib.sh").write_text(LIBRARY)
    (tree / "build/gpubench").write_text(program)
    (tree / "build/document.json").write_text(json.dumps(make_document(list(rows))))
    reporter = tree / ".venv/bin/gpubench-report"
    reporter.write_text(f'#!/bin/sh\nexec {sys.executable} -m gpubench_reports "$@"\n')
    for file in (f"scripts/{script}", "build/gpubench", ".venv/bin/gpubench-report"):
        (tree / file).chmod(0o755)
    return tree


def run_script(tree: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [f"scripts/{script}", *arguments],
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


# Mounts an empty folder over each folder that is named before `--`, then runs what comes after it.
HIDE = """
set -eu
while [ "$1" != -- ]; do mount -t tmpfs none "$1"; shift; done
shift
exec "$@"
"""


def run_hidden(
    hidden: Sequence[Path], words: Sequence[str | Path], place: Path
) -> subprocess.CompletedProcess[str]:
    """Runs `words` in `place`, without a network, where the folders `hidden` are empty: what was
    installed has to do without them. Skips the test where no namespace can be made."""
    alone = ["unshare", "--user", "--map-root-user", "--mount", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no namespaces here")
    return subprocess.run(
        [*alone, "sh", "-c", HIDE, "sh", *map(str, [*hidden, "--", *words])],
        cwd=place,
        env={"PATH": "/usr/bin:/bin", "HOME": str(place), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
