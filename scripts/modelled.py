#!/usr/bin/env python3
"""Writes results/modelled/NAME.json: the default suite on each device that the model knows.

  scripts/modelled.py PROGRAM            all devices; a minute of processor time each
  scripts/modelled.py PROGRAM h200-sxm   only these
  scripts/modelled.py --check PROGRAM h200-sxm   says whether the file is what the program gives

PROGRAM is gpubench-model. The files are result files like any other, with fewer keys and digits:
something to compare a first run with, `gpubench-report compare run.json --against=h200-sxm`.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "results/modelled"
DIGITS = 5
# About the machine that ran the model, or of no use without a measurement.
LEFT_OUT_OF_CONTEXT = (
    "caches",
    "cpu_scaling_enabled",
    "date",
    "executable",
    "git_commit",
    "git_dirty",
    "host_name",
    "load_avg",
    "mhz_per_cpu",
    "num_cpus",
    "run_seconds",
)
LEFT_OUT = (
    "assuming",
    "ci_high_seconds",
    "ci_low_seconds",
    "converged",
    "counts",
    "cpu_time",
    "family_index",
    "instructions",
    "iterations",
    "launches",
    "min_seconds",
    "model_seconds",
    "per_family_instance_index",
    "repetition_index",
    "repetitions",
    "samples",
    "source",
    "threads",
    "verified",
)


def devices() -> list[str]:
    """Those that the model runs."""
    files = (ROOT / "harness/devices").glob("*.json")
    known = {path.stem: json.loads(path.read_text()) for path in files if path.stem != "schema"}
    return sorted(name for name, spec in known.items() if spec["kind"] == "gpu")


def run(program: Path, device: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.json"
        command = [str(program), f"--device=model:{device}", f"--benchmark_out={out}"]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        except OSError as error:
            sys.exit(f"scripts/modelled.py: {program} does not start: {error.strerror}")
        if done.returncode != 0:
            sys.exit(f"scripts/modelled.py: {program} ended with {done.returncode} on {device}")
        found: dict[str, Any] = json.loads(out.read_text())
    return found


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        short = float(f"{value:.{DIGITS}g}")
        return int(short) if short.is_integer() and abs(short) < 1e15 else short
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def text_of(document: dict[str, Any]) -> str:
    """A line a row."""
    context = {k: v for k, v in document["context"].items() if k not in LEFT_OUT_OF_CONTEXT}
    rows = [
        rounded({k: v for k, v in row.items() if k not in LEFT_OUT})
        for row in document["benchmarks"]
    ]
    for row in rows:
        if "terms" in row:
            row["terms"] = {term: seconds for term, seconds in row["terms"].items() if seconds > 0}
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    head = json.dumps(rounded(context), separators=(",", ":"))
    return f'{{"context":{head},\n"benchmarks":[\n{lines}\n]}}\n'


def alike(a: Any, b: Any) -> bool:
    """Whether two documents say the same, but for the last digits of a number: the model's threads
    add up in any order."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=1e-3)
    return bool(a == b)


def same_as(path: Path, text: str) -> bool:
    """Whether the file says what `text` does; one that was damaged does not."""
    try:
        return alike(json.loads(path.read_text()), json.loads(text))
    except (OSError, ValueError):
        return False


def write(path: Path, text: str) -> None:
    """Whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text)
        part.replace(path)
    except OSError as error:
        sys.exit(f"scripts/modelled.py: cannot write {path}: {error.strerror}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if a file differs")
    parser.add_argument("program", type=Path)
    parser.add_argument("device", nargs="*", default=devices())
    options = parser.parse_args()
    for device in options.device:
        if device not in devices():
            parser.error(f"no GPU is called '{device}'; known are {', '.join(devices())}")
    stale = []
    for device in options.device:
        path = FOLDER / f"{device}.json"
        # Absolute: of a name without a slash, the system would look in PATH.
        text = text_of(run(options.program.absolute(), device))
        if same_as(path, text):
            continue
        stale.append(device)
        if not options.check:
            write(path, text)
            print(path.relative_to(ROOT))
    if options.check and stale:
        print(f"scripts/modelled.py: not what {options.program} gives: {', '.join(stale)}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
