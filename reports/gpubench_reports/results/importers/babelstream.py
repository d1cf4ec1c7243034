"""BabelStream: --csv."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpubench_reports.common.plain_text import clean
from gpubench_reports.results.checking import number_of
from gpubench_reports.results.importers.imported import Imported, lines_of, lost, row_of

_BABEL_KERNELS = {"copy": "copy", "mul": "scale", "add": "add", "triad": "triad", "dot": "dot"}
AXES = {"bytes": "bytes per lane", "unroll": "accesses in flight per thread"}
# Up to version 5 and after it: the device, a check that failed, and a column's unit.
_DEVICE = re.compile(r'(?:Using \S+ device |\w+ Device \d+: ")([^"]*)')
_WRONG = re.compile(r"Validation failed.*|FAILED validation of.*", re.IGNORECASE)
_RATES = {
    "max_mbytes_per_sec": 1e6,
    "max_mibytes_per_sec": 2**20,
    "max_MB_per_sec": 1e6,
    "max_GB_per_sec": 1e9,
    "max_TB_per_sec": 1e12,
    "max_MiB_per_sec": 2**20,
    "max_GiB_per_sec": 2**30,
    "max_TiB_per_sec": 2**40,
}


def read(path: Path) -> Imported:
    found = Imported(path, "BabelStream")
    titles: list[str] = []
    tables, device, table = 0, "", ""
    lines = lines_of(path)
    wrong = _wrong(lines)
    for line in lines:
        cells = [cell.strip() for cell in line.split(",")]
        if match := _DEVICE.match(line):
            device = clean(match.group(1).strip())
            found.measured_on(device)
        elif cells[0] in ("function", "phase"):
            titles = cells
            if cells[0] == "function":
                tables += 1
                # Tables of which nothing says the device need not be of one.
                table, device = "" if device else f" in table {tables}", ""
        elif titles[:1] == ["function"] and len(cells) == len(titles):
            of_line = dict(zip(titles, cells, strict=True))
            for row in _babel_row(of_line):
                kept = lost(row, "failed", wrong) if wrong else row
                found.add(kept, f"{_elements(of_line)}{table}")
    return found


def _wrong(lines: list[str]) -> str:
    """What it says of results that its check found wrong; empty if it says nothing. It checks the
    arrays once, after all kernels, so none of these is known to be right; and the errors' stream
    has its own place in a log, so they may be of any run in it."""
    found = (_WRONG.search(line) for line in lines)
    return "; ".join(dict.fromkeys(clean(match.group().strip()) for match in found if match))


def _elements(cells: dict[str, str]) -> str:
    return f"{cells.get('n_elements', '?')} elements"


def _babel_row(cells: dict[str, str]) -> Iterator[dict[str, Any]]:
    kernel = _BABEL_KERNELS.get(cells["function"].lower())
    size, least = number_of(cells.get("sizeof")), number_of(cells.get("min_runtime"))
    rates = [number_of(cells[title]) * unit for title, unit in _RATES.items() if title in cells]
    rate = rates[0] if rates else math.nan
    mean = number_of(cells.get("avg_runtime"))
    if not kernel or not size > 0:
        return
    arguments = {
        "dtype": {4: "fp32", 8: "fp64"}.get(int(size), f"{size:.0f}_bytes"),
        "bytes": int(size),
        "unroll": 1,
    }
    if not (least > 0 and rate > 0 and mean > 0):
        yield row_of("stream", kernel, arguments, math.nan, notes=(_elements(cells),))
        return
    useful = rate * least / mean  # its rate is that of the fastest run
    yield row_of(
        "stream",
        kernel,
        arguments,
        mean,
        judged_by="useful_bytes_per_second",
        notes=(_elements(cells),),
        min_seconds=least,
        label="dram",
        useful_bytes_per_second=useful,
    )
