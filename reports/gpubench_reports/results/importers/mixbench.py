"""mixbench: what it prints, of which the lines of its CSV block are read."""

import math
import re
from pathlib import Path

from gpubench_reports.common.plain_text import clean
from gpubench_reports.results.checking import number_of
from gpubench_reports.results.importers.imported import (
    Imported,
    lines_of,
    part,
    row_of,
    whole_of,
)

# What a group of four columns is headed, in the order that CUDA's has. Other variants lack one, or
# have one more.
_MIX_TYPES = {
    "single precision ops": "fp32",
    "double precision ops": "fp64",
    "half precision ops": "fp16",
    "integer operations": "int32",
}
_SETTING = re.compile(
    r"(Buffer size|Buffer allocation|Trade-off type|Elements per \w+|\w+ fusion degree"
    r"|Workgroup size|Workitem stride|Timer|Total threads|Working memory size):\s+(.*)"
)
AXES: dict[str, str] = {}


def read(path: Path) -> Imported:
    found = Imported(path, "mixbench")
    settings: dict[str, str] = {}
    types = tuple(_MIX_TYPES.values())
    for line in lines_of(path):
        if match := re.match(r"(mixbench\S*)\s+\(([^)]*)\)", line):
            found.made_by(clean(match.group(2)))
            settings = {"program": match.group(1)}
        elif match := re.match(r"Device:\s+(.*)", line):
            found.measured_on(clean(match.group(1).strip()))
        elif match := _SETTING.match(line):
            settings[match.group(1).lower()] = match.group(2).strip()
        cells = [cell.strip() for cell in line.split(",")]
        if cells[0] == "Experiment ID":
            types = tuple(_type_of(cell) for cell in cells[1:] if cell)
        iterations = whole_of(cells[0])
        if iterations is None or len(cells) < 5:
            continue
        for place, dtype in enumerate(types):
            group = [number_of(cell) for cell in cells[1 + 4 * place : 5 + 4 * place]]
            if len(group) < 4 or not (group[1] > 0 and group[2] > 0 and group[3] > 0):
                continue
            intensity, milliseconds, rate, bandwidth = group
            seconds = milliseconds * 1e-3
            whole = dtype == "int32"  # no FLOPs
            found.add(
                row_of(
                    "roofline",
                    "mixbench",
                    {"dtype": dtype, "iterations": iterations},
                    seconds,
                    judged_by="items_per_second" if whole else "useful_bytes_per_second",
                    useful_bytes_per_second=bandwidth * 1e9,
                    items_per_second=rate * 1e9 if whole else math.nan,
                    flops_per_second=math.nan if whole else rate * 1e9,
                    arithmetic_intensity=math.nan if whole else intensity,
                ),
                clean(", ".join(f"{name} {value}" for name, value in settings.items())),
            )
    return found


def _type_of(heading: str) -> str:
    """ "packed single precision ops" are of two numbers at a time: rows of their own."""
    words = heading.lower()
    packed = words.removeprefix("packed ")
    dtype = _MIX_TYPES.get(packed, part(packed))
    return dtype if words == packed else f"{dtype}x2"
