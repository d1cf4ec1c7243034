"""gpu-benches: what its gpu-stream prints."""

import math
import re
from pathlib import Path

from gpubench_reports.results.checking import number_of
from gpubench_reports.results.importers.imported import (
    Imported,
    lines_of,
    row_of,
    whole_of,
)

_GPU_STREAM = {
    "init": ("write", 1),
    "read": ("read", 1),
    "scale": ("scale", 2),
    "triad": ("triad", 3),
}  # our kernel, and its arrays
_GPU_STREAM_ARRAY = 8 * (128 * 2**20 + 2)  # bytes
# What it says between two figures of a line, where more blocks fit than it means to run.
_REMARK = re.compile(r"! \d+ blocks per SM")
AXES = {"bytes": "bytes per lane", "unroll": "accesses in flight per thread", "block": "threads"}


def read(path: Path) -> Imported:
    found = Imported(path, "gpu-benches gpu-stream")
    kernels: list[str] = []
    tables = 0
    for line in lines_of(path):
        left, _, right = line.partition("|")
        if left.split()[:1] == ["blockSize"]:
            kernels = right.split()
            tables += 1
            continue
        block = whole_of((left.split() or [""])[0])
        unit, *rates = _REMARK.sub("", right).split() or [""]
        # A line that was cut short has fewer figures, and the last of them need not be whole.
        if kernels and unit == "GB/s:" and len(rates) == len(kernels) and block is not None:
            for name, cell in zip(kernels, rates, strict=True):
                rate = number_of(cell) * 1e9
                if name not in _GPU_STREAM:
                    continue
                kernel, arrays = _GPU_STREAM[name]
                arguments = {"dtype": "fp64", "bytes": 8, "unroll": 1, "block": block}
                found.add(
                    row_of(
                        "stream",
                        kernel,
                        arguments,
                        arrays * _GPU_STREAM_ARRAY / rate if rate > 0 else math.nan,
                        judged_by="useful_bytes_per_second",
                        label="dram",
                        useful_bytes_per_second=rate,
                    ),
                    # It names no device, so two tables need not be of one.
                    f"table {tables}",
                )
    return found
