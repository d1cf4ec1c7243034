"""nccl-tests: the table that all_reduce_perf and its sisters print."""

import re
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.plain_text import clean
from gpubench_reports.results.checking import number_of
from gpubench_reports.results.importers.imported import (
    TYPES,
    Imported,
    lines_of,
    lost,
    row_of,
    whole_of,
)

_NCCL_KERNELS = (
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "broadcast",
    "alltoall",
    "reduce",
    "gather",
    "scatter",
    "sendrecv",
    "hypercube",
)
# Where we say it otherwise.
_OUR_NAMES = {"alltoall": "all_to_all"}
AXES = {"ranks": "GPUs", "size": "bytes"}


def read(path: Path) -> Imported:
    found = Imported("nccl-tests")
    lines = lines_of(path)
    # mpirun --tag-output and kubectl put something before each line.
    bare = [re.sub(r"^\[[^]]*\]<std(?:out|err)>:\s?", "", line) for line in lines]
    kernel = next((k for k in _NCCL_KERNELS if any(f"{k}_perf" in line for line in bare)), "")
    ranks = set()
    for line in bare:
        if match := re.match(r"\s*#\s+Rank\s+(\d+)\s.*device\s+\d+\s+\[[^]]*\]\s+(.*)", line):
            ranks.add(match.group(1))
            found.title = clean(match.group(2).strip())
        elif match := re.match(r"\s*# nccl-tests version (\S+)", line):
            found.program = f"nccl-tests {clean(match.group(1))}"
    for line in bare:
        cells = line.split()
        size = whole_of(cells[0]) if len(cells) >= 12 else None
        if size is None or whole_of(cells[1]) is None:
            continue
        if not kernel:
            raise ReportError(
                path,
                "does not say which collective this was: put its command line, such as "
                "'# all_reduce_perf -g 8', above the table",
            )
        if not ranks:
            raise ReportError(path, "has no '# Rank' lines, so the number of GPUs is not known")
        # In place is the last four cells, out of place the four before them.
        for place, (time, algorithm, bus, wrong) in (
            ("out", cells[-8:-4]),
            ("in", cells[-4:]),
        ):
            arguments = {
                "dtype": TYPES.get(cells[2], cells[2]),
                "place": place,
                "ranks": len(ranks),
                "size": size,
            }
            seconds = number_of(time) * 1e-6
            if not seconds > 0:
                continue
            row = row_of(
                "all_reduce",
                _OUR_NAMES.get(kernel, kernel),
                arguments,
                seconds,
                judged_by="useful_bytes_per_second",
                useful_bytes_per_second=number_of(algorithm) * 1e9,
                algorithm_bytes_per_second=number_of(algorithm) * 1e9,
                bus_bytes_per_second=number_of(bus) * 1e9,
            )
            if number_of(wrong) > 0:
                row = lost(row, "failed", f"{wrong} wrong elements")
            found.rows.append(row)
    return found
