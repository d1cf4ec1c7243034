"""nvbandwidth: --json."""

import math
import re
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.plain_text import clean
from gpubench_reports.results.checking import Checker, number_of, parse
from gpubench_reports.results.importers.imported import Imported, lost, row_of

_NVBANDWIDTH_BUFFER = 512 * 2**20  # bytes, its default
AXES: dict[str, str] = {}
# "0: NVIDIA H100 80GB HBM3 (00000000:1b:00): (host)"
_DEVICE = re.compile(r"\d+: (.*?) \([0-9a-fA-F]+:[0-9a-fA-F]+:[0-9a-fA-F]+\)")


def read(path: Path) -> Imported:
    document = parse(path)
    root = document.get("nvbandwidth") if isinstance(document, dict) else None
    if not isinstance(root, dict) or not isinstance(root.get("testcases"), list):
        raise ReportError(path, "not the JSON of nvbandwidth: it needs 'nvbandwidth'.'testcases'")
    check = Checker(path)
    version = check.text(root, "version", "nvbandwidth", "")
    found = Imported(path, "nvbandwidth", version=version)
    driver = root.get("Driver Version")
    if isinstance(driver, str):
        found.context["driver_version"] = clean(driver)
    found.measured_on(*_gpus(root.get("GPU Device list")))
    size = number_of(root.get("bufferSize")) * 2**20
    size = size if size > 0 else float(_NVBANDWIDTH_BUFFER)
    for number, test in enumerate(root["testcases"], start=1):
        where = f"testcase {number}"
        if not isinstance(test, dict):
            raise check.fail(where, "must be an object")
        name = check.text(test, "name", where)
        status = check.text(test, "status", where, "Passed")
        if status != "Passed":
            state = "failed" if status == "Error" else "skipped"
            row = row_of("nvbandwidth", name, {}, 1.0)
            found.add(lost(row, state, f"nvbandwidth: {status}"))
            continue
        said = check.text(test, "bandwidth_description", where, "")
        matrix = test.get("bandwidth_matrix", [])
        if not isinstance(matrix, list) or any(not isinstance(line, list) for line in matrix):
            raise check.fail(where, "'bandwidth_matrix' must be a list of lists")
        for y, line in enumerate(matrix):
            for x, cell in enumerate(line):
                value = number_of(cell)  # "N/A" of a GPU with itself
                if value > 0 and math.isfinite(value):
                    found.add(_pair(name, said, y, x, value, size))
    return found


def _gpus(listed: Any) -> list[str]:
    """The names of the GPUs, each once."""
    lines = listed if isinstance(listed, list) else []
    matches = (_DEVICE.match(line) for line in lines if isinstance(line, str))
    return list(dict.fromkeys(clean(match.group(1).strip()) for match in matches if match))


def _pair(name: str, said: str, y: int, x: int, value: float, size: float) -> dict[str, Any]:
    """A cell of a matrix: a latency in ns, or GB/s, whose time is that of one buffer."""
    arguments = {"row": y, "column": x}
    if "latency" in name or "(ns)" in said:
        return row_of("nvbandwidth", name, arguments, value * 1e-9, label="latency", notes=(said,))
    rate = value * 1e9
    time = f"the time is that of a buffer of {size / 2**20:.0f} MiB at this rate"
    return row_of(
        "nvbandwidth",
        name,
        arguments,
        size / rate,
        judged_by="useful_bytes_per_second",
        notes=(said, time),
        label="link",
        useful_bytes_per_second=rate,
    )
