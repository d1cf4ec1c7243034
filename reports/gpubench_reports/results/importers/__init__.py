"""Other programs' results as result files, so that an old number can stand beside a new one.

Rows are named as the suite's own where they do the same work (collectives, BabelStream's kernels
with one word per thread), else after the program. Every format is read as its program writes it:

  nccl-tests   the table that all_reduce_perf and its sisters print
  babelstream  --csv
  gpu-benches  what its gpu-stream prints
  mixbench     what it prints, of which the lines of its CSV block are read
  nvbandwidth  --json
  nvbench      --json
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.checking import is_in_range
from gpubench_reports.results.context import SCHEMA_VERSION
from gpubench_reports.results.importers import (
    babelstream,
    gpu_benches,
    mixbench,
    nccl_tests,
    nvbandwidth,
    nvbench,
)
from gpubench_reports.results.importers.imported import Imported, lost, numbered

NO_TIME = "its program states no time above 0, or none of any size"


@dataclass(frozen=True)
class Program:
    """A program whose output can be read, and what one step of its rows' axes is."""

    read: Callable[[Path], Imported]
    axes: Mapping[str, str]


PROGRAMS = {
    "nccl-tests": Program(nccl_tests.read, nccl_tests.AXES),
    "babelstream": Program(babelstream.read, babelstream.AXES),
    "gpu-benches": Program(gpu_benches.read, gpu_benches.AXES),
    "mixbench": Program(mixbench.read, mixbench.AXES),
    "nvbandwidth": Program(nvbandwidth.read, nvbandwidth.AXES),
    "nvbench": Program(nvbench.read, nvbench.AXES),
}


def convert(path: Path, program: str, device: str = "") -> dict[str, Any]:
    """The result document of the file at `path`, which `program` (a key of PROGRAMS) wrote.

    `device` is the name that the suite has for the device, such as h200-sxm; without it the name
    that the file gives stands there too. Raises ReportError, also if the file names a GPU that is
    known to be another device.
    """
    found = PROGRAMS[program].read(path)
    if device:
        found.require_device(device)
    rows = [
        row if _has_plausible_time(row) else lost(row, "skipped", NO_TIME) for row in found.rows
    ]
    timed = {row["name"] for row in rows if "real_time" in row}
    rows = [row for row in rows if row["name"] not in timed or row.get("skip_reason") != NO_TIME]
    if all(row.get("skip_reason") == NO_TIME for row in rows):
        raise ReportError(path, f"holds no results of {program}")
    program_text = " ".join(filter(None, (found.program, found.version)))
    title = found.title or device or "unknown"
    return {
        "context": {
            "schema_version": SCHEMA_VERSION,
            "device_kind": "cuda",
            "device": device or title,
            "device_title": title,
            "imported_from": program_text,
            **found.context,
            "concepts": {},
            "axes": dict(PROGRAMS[program].axes),
            "roofs": [],
        },
        "benchmarks": numbered(rows),
    }


def _has_plausible_time(row: dict[str, Any]) -> bool:
    """Whether a result file may hold the row's time; a row that is lost has none."""
    time = row.get("real_time", 1.0)
    return time > 0 and is_in_range(time)


def to_bytes(document: dict[str, Any]) -> bytes:
    """A result document as the bytes of its file."""
    return (json.dumps(document, indent=1, allow_nan=False) + "\n").encode("utf-8")
