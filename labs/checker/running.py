"""Runs a lab's program, and has another one judge what it has computed.

The program holds a submission. It runs in a box, knows neither what is expected nor where its
results are judged, and leaves what its memory holds in a folder of its own. The judge is a program
of the same rows in which there is no submission: it works out what is expected, from the same seed,
and looks at what was left only when nothing of the other is alive any more.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import timeline
from .box import Box
from .build import Program
from .course import LabError, MachineError
from .device import is_model
from .sandbox import Ended, Limits, run
from .temporary import temporary_folder

# In the judge's words: harness/bench/row_end.hpp, bench.cpp.
RIGHT, NONE_KEPT = "the results are right", "no results of it were kept"

# The program's own words where the machine has not what it needs: harness/system/exit_code.cpp,
# harness/program/program.cpp. A submission can say them too.
OF_THE_MACHINE = (
    "gpubench: not enough memory: ",
    "gpubench: the stack may take only ",
)


@dataclass(frozen=True)
class Ran:
    rows: dict[str, dict[str, Any]]  # by name; none if `why`
    why: str = ""
    diagnoses: tuple[str, ...] = ()  # the emulator's: what, where and who


KEEPS_EVERY_STEP = (
    ", in which the model keeps every step of a kernel: is there a loop without an end?"
)
USAGE = 2  # the exit code of a program that does not take its flags


@contextmanager
def _folder(here: Path) -> Iterator[Path]:
    """A new one, which the program may write to and nobody uses twice."""
    # What a killed program still writes goes with `here`.
    made = tempfile.TemporaryDirectory(prefix="run-", dir=here, ignore_cleanup_errors=True)
    with made as folder:
        (Path(folder) / "results").mkdir()
        yield Path(folder)


def _lacking(ended: Ended) -> str:
    """What the machine lacks, by the program's own words."""
    lines = ended.stderr.splitlines()
    return next((line for line in lines if line.startswith(OF_THE_MACHINE)), "")


def _run(
    program: Program, here: Path, device: str, seed: int, flags: tuple[str, ...], limits: Limits
) -> Ended:
    """MachineError: the machine lacks what the judge's program lacks as well."""
    command = [str(program.path), f"--device={device}", f"--seed={seed}", *flags]
    if is_model(device):
        command.append(f"--keep_results={here / 'results'}")
    box = Box((program.path,), (here,), devices=not is_model(device))
    if is_model(device):
        limits = replace(limits, memory_hint=KEEPS_EVERY_STEP)
    else:  # who waits for a GPU may sleep
        limits = replace(limits, patience=1)
    ended = run(command, here, limits, box=box)
    if ended.is_starved:
        raise MachineError(f"the solution {ended.why}")
    lacking = _lacking(ended).removeprefix("gpubench: ")
    if not lacking:
        return ended
    if program.judge is None or _lacking(_judged(program, here, device, seed, flags)):
        raise MachineError(lacking)
    return replace(ended, why=f"ended with {lacking!r}; without the solution, there is enough")


def _judged(program: Program, here: Path, device: str, seed: int, flags: tuple[str, ...]) -> Ended:
    if program.judge is None:
        raise LabError(f"{program.path.name}: there is nobody to judge its results")
    command = [str(program.judge), f"--device={device}", f"--seed={seed}", *flags]
    command.append(f"--judge_results={here / 'results'}")
    box = Box((program.judge, here))
    return run(command, here, Limits(seconds=200), box=box)


def require_taken(judge: Path, device: str, seed: int) -> None:
    """LabError where the programs do not take these, which is no submission's fault."""
    program = Program(judge, judge, judge=judge)
    with temporary_folder("gpubench-lab-") as name, _folder(name) as here:
        ended = _judged(program, here, device, seed, ("--benchmark_filter=lab/timed",))
    if ended.returncode == USAGE:
        raise LabError(ended.stderr.strip().removeprefix("gpubench: "))


def _rows_of(ended: Ended) -> dict[str, dict[str, Any]]:
    """ValueError."""
    try:
        return {row["name"]: row for row in json.loads(ended.stdout)["benchmarks"]}
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError from error


def run_rows(
    program: Program, here: Path, device: str, seed: int, *flags: str, limits: Limits | None = None
) -> Ran:
    flags = (*flags, "--benchmark_format=json")
    if is_model(device):
        flags = (*flags, "--whole_grids=counted")  # or a solution may know which blocks count
    limits = limits or Limits()
    with _folder(here) as folder:
        ended = _run(program, folder, device, seed, flags, limits)
        if ended.why:
            return Ran({}, ended.why)
        said = ended.stderr.strip().splitlines()
        mark = "model device: "
        diagnoses = tuple(line.removeprefix(mark) for line in said if line.startswith(mark))
        try:
            rows = _rows_of(ended)
        except ValueError:
            if diagnoses:
                return Ran({}, f"ended in {diagnoses[0]}")
            return Ran({}, f"broke off: {said[-1] if said else 'it wrote no results'}")
        if is_model(device):
            _judge(program, folder, device, seed, flags, rows)
    return Ran(rows, diagnoses=diagnoses)


def _judge(
    program: Program,
    folder: Path,
    device: str,
    seed: int,
    flags: tuple[str, ...],
    rows: dict[str, dict[str, Any]],
) -> None:
    """Marks every row whose results are not right, or not there, as failed."""
    ended = _judged(program, folder, device, seed, flags)
    try:
        judged = _rows_of(ended)
    except ValueError:
        raise LabError(f"{program.judge}: {ended.why or ended.stderr.strip()}") from None
    for name, row in rows.items():
        verdict = judged.get(name, {})
        told = verdict.get("error_message", NONE_KEPT)
        # What its later runs were stopped for says less than what its first one came to.
        if row.get("error_occurred") and told != NONE_KEPT:
            row["error_message"] = told
        if row.get("error_occurred") or row.get("skipped"):
            continue
        if verdict.get("skipped") and verdict.get("skip_reason") == RIGHT:
            continue
        row["error_occurred"] = True
        row["error_message"] = told


def traced(
    program: Program, here: Path, device: str, seed: int
) -> dict[str, list[timeline.Operation]]:
    """What the timed rows did when, by row. LabError."""
    with _folder(here) as folder:
        out = folder / "trace.json"
        flags = ("--benchmark_filter=lab/timed", "--whole_grids", f"--trace={out}")
        ended = _run(program, folder, device, seed, flags, Limits(seconds=100))
        try:
            return timeline.read(out)
        except (OSError, ValueError):
            raise LabError(f"--trace: {ended.why or ended.stderr.strip()}") from None


def explained(
    program: Program, here: Path, device: str, seed: int, row: str
) -> tuple[dict[str, Any], str]:
    """What one warp's accesses cost, line by line: as data, and as the text with the warp view."""
    with _folder(here) as folder:
        out = folder / "explained.json"
        flags = (f"--explain={row}", f"--benchmark_out={out}", "--benchmark_out_format=json")
        ended = _run(program, folder, device, seed, flags, Limits())
        beside = out.with_suffix(".explain.json")
        if ended.why or not beside.exists():
            raise LabError(f"--explain={row}: {ended.why or ended.stderr.strip()}")
        return json.loads(beside.read_text()), ended.stdout


def seconds_of(row: dict[str, Any]) -> float:
    return (
        float(row["real_time"]) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[row["time_unit"]]
    )
