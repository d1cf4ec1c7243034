"""Other programs' results as result files, so that an old number can stand beside a new one.

Rows are named as the suite's own where they do the same work (collectives, BabelStream's kernels
with one word a thread), else after the program. Every format is read as its program writes it:

  nccl-tests   the table that all_reduce_perf and its sisters print
  babelstream  --csv
  gpu-benches  what its gpu-stream prints
  mixbench     what it prints, of which the lines of its CSV block are read
  nvbandwidth  --json
  nvbench      --json
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import reason
from gpubench_reports.results.reader import SCHEMA_VERSION, Checker, clean, parse

_TYPES = {
    "float": "fp32",
    "double": "fp64",
    "half": "fp16",
    "bfloat16": "bf16",
    "fp8_e4m3": "fp8_e4m3",
    "fp8_e5m2": "fp8_e5m2",
}
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
_BABEL_KERNELS = {"copy": "copy", "mul": "scale", "add": "add", "triad": "triad", "dot": "dot"}
_NVBANDWIDTH_BUFFER = 512 * 2**20  # bytes, its default


@dataclass
class Imported:
    """What a file holds: rows as result files have them, and what is known of the device."""

    program: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    title: str = ""
    context: dict[str, Any] = field(default_factory=dict)


def convert(path: Path, program: str, device: str = "") -> dict[str, Any]:
    """The result document of the file at `path`, which `program` (a key of PROGRAMS) wrote.

    `device` is the name that the suite has for the device, such as h200-sxm; without it the name
    that the file gives stands there too. Raises ReportError.
    """
    found = PROGRAMS[program](path)
    if not found.rows:
        raise ReportError(path, f"holds no results of {program}")
    title = found.title or device or "unknown"
    return {
        "context": {
            "schema_version": SCHEMA_VERSION,
            "device_kind": "cuda",
            "device": device or title,
            "device_title": title,
            "imported_from": found.program,
            **found.context,
            "roofs": [],
        },
        "benchmarks": found.rows,
    }


def _row(
    concept: str, kernel: str, arguments: dict[str, Any], seconds: float, **more: Any
) -> dict[str, Any]:
    """A row that took `seconds`; `more` are counters in SI units, of which those below 0 or not
    finite are left out, as are those of 0: the file had no digits for them."""
    name = "/".join(
        [_part(concept), _part(kernel), *(f"{_part(k)}:{_part(v)}" for k, v in arguments.items())]
    )
    known = {
        key: value
        for key, value in more.items()
        if isinstance(value, str) or (math.isfinite(value) and value > 0)
    }
    return {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "repetitions": 1,
        "repetition_index": 0,
        "threads": 1,
        "iterations": 1,
        "real_time": seconds * 1e6,
        "cpu_time": seconds * 1e6,
        "time_unit": "us",
        "concept": concept,
        "kernel": kernel,
        "arguments": arguments,
        **known,
    }


def _part(value: object) -> str:
    """A value as a part of a row's name, in which slashes and colons have a meaning."""
    return re.sub(r"[/:\s]+", "_", clean(str(value))) or "_"


def _lost(row: dict[str, Any], state: str, why: str) -> dict[str, Any]:
    kept = {k: v for k, v in row.items() if k not in ("real_time", "cpu_time", "time_unit")}
    if state == "skipped":
        return kept | {"skipped": True, "skip_reason": why}
    return kept | {"error_occurred": True, "error_message": why}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise ReportError(path, f"cannot read: {reason(error)}") from None
    except ValueError:
        raise ReportError(clean(str(path)), "cannot read: not a file name") from None


def _number(text: object) -> float:
    """A number or its digits; NaN for anything else."""
    try:
        return float(text) if isinstance(text, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return math.nan


# --- nccl-tests -----------------------------------------------------------------------------------


def _nccl_tests(path: Path) -> Imported:
    found = Imported("nccl-tests")
    lines = _lines(path)
    # mpirun --tag-output and kubectl put something before each line.
    bare = [re.sub(r"^\[[^]]*\]<std(?:out|err)>:\s?", "", line) for line in lines]
    kernel = next((k for k in _NCCL_KERNELS if any(f"{k}_perf" in line for line in bare)), "")
    ranks = set()
    for line in bare:
        if match := re.match(r"\s*#\s+Rank\s+(\d+)\s.*device\s+\d+\s+\[[^]]*\]\s+(.*)", line):
            ranks.add(int(match.group(1)))
            found.title = clean(match.group(2).strip())
        elif match := re.match(r"\s*# nccl-tests version (\S+)", line):
            found.program = f"nccl-tests {clean(match.group(1))}"
    for line in bare:
        cells = line.split()
        if len(cells) < 12 or not cells[0].isdigit() or not cells[1].isdigit():
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
                "dtype": _TYPES.get(cells[2], cells[2]),
                "place": place,
                "ranks": len(ranks),
                "size": int(cells[0]),
            }
            seconds = _number(time) * 1e-6
            if not seconds > 0:
                continue
            row = _row(
                "all_reduce",
                kernel,
                arguments,
                seconds,
                useful_bytes_per_second=_number(algorithm) * 1e9,
                algorithm_bytes_per_second=_number(algorithm) * 1e9,
                bus_bytes_per_second=_number(bus) * 1e9,
            )
            if _number(wrong) > 0:
                row = _lost(row, "failed", f"{wrong} wrong elements")
            found.rows.append(row)
    return found


# --- BabelStream ----------------------------------------------------------------------------------


def _babelstream(path: Path) -> Imported:
    found = Imported("BabelStream")
    titles: list[str] = []
    for line in _lines(path):
        cells = [cell.strip() for cell in line.split(",")]
        if match := re.match(r"Using \S+ device (.*)", line):
            found.title = clean(match.group(1).strip())
        elif cells[0] in ("function", "phase"):
            titles = cells
        elif titles[:1] == ["function"] and len(cells) == len(titles):
            found.rows += _babel_row(dict(zip(titles, cells, strict=True)))
    return found


def _babel_row(cells: dict[str, str]) -> Iterator[dict[str, Any]]:
    kernel = _BABEL_KERNELS.get(cells["function"].lower())
    size, least = _number(cells.get("sizeof")), _number(cells.get("min_runtime"))
    rate = _number(cells.get("max_mbytes_per_sec")) * 1e6
    if "max_mibytes_per_sec" in cells:
        rate = _number(cells["max_mibytes_per_sec"]) * 2**20
    mean = _number(cells.get("avg_runtime"))
    if not kernel or not (size > 0 and least > 0 and rate > 0 and mean > 0):
        return
    arguments = {
        "dtype": {4: "fp32", 8: "fp64"}.get(int(size), f"{size:.0f}_bytes"),
        "bytes": int(size),
        "unroll": 1,
    }
    useful = rate * least / mean  # its rate is that of the fastest run
    yield _row(
        "stream",
        kernel,
        arguments,
        mean,
        min_seconds=least,
        label="dram",
        useful_bytes_per_second=useful,
        note=f"{cells.get('n_elements', '?')} elements",
    )


# --- gpu-benches ----------------------------------------------------------------------------------

_GPU_STREAM = {
    "init": ("write", 1),
    "read": ("read", 1),
    "scale": ("scale", 2),
    "triad": ("triad", 3),
}  # our kernel, and its arrays
_GPU_STREAM_ARRAY = 8 * (128 * 2**20 + 2)  # bytes


def _gpu_stream(path: Path) -> Imported:
    found = Imported("gpu-benches gpu-stream")
    kernels: list[str] = []
    for line in _lines(path):
        left, _, right = line.partition("|")
        if left.split()[:1] == ["blockSize"]:
            kernels = right.split()
        elif kernels and right.split()[:1] == ["GB/s:"] and left.split()[0].isdigit():
            block = int(left.split()[0])
            for name, cell in zip(kernels, right.split()[1:], strict=False):
                rate = _number(cell) * 1e9
                if name not in _GPU_STREAM or not rate > 0:
                    continue
                kernel, arrays = _GPU_STREAM[name]
                arguments = {"dtype": "fp64", "bytes": 8, "unroll": 1, "block": block}
                found.rows.append(
                    _row(
                        "stream",
                        kernel,
                        arguments,
                        arrays * _GPU_STREAM_ARRAY / rate,
                        label="dram",
                        useful_bytes_per_second=rate,
                    )
                )
    return found


# --- mixbench -------------------------------------------------------------------------------------

_MIX_TYPES = ("fp32", "fp64", "fp16", "int32")  # in the order of its columns


def _mixbench(path: Path) -> Imported:
    found = Imported("mixbench")
    for line in _lines(path):
        if match := re.match(r"mixbench\S*\s+\(([^)]*)\)", line):
            found.program = f"mixbench {clean(match.group(1))}"
        elif match := re.match(r"Device:\s+(.*)", line):
            found.title = clean(match.group(1).strip())
        cells = [cell.strip() for cell in line.split(",")]
        if not cells[0].isdigit() or len(cells) < 5:
            continue
        for place, dtype in enumerate(_MIX_TYPES):
            group = [_number(cell) for cell in cells[1 + 4 * place : 5 + 4 * place]]
            if len(group) < 4 or not (group[1] > 0 and group[2] > 0 and group[3] > 0):
                continue
            intensity, milliseconds, rate, bandwidth = group
            seconds = milliseconds * 1e-3
            if dtype == "int32":
                more = {"items_per_second": rate * 1e9}
            else:
                more = {"flops_per_second": rate * 1e9, "arithmetic_intensity": intensity}
            found.rows.append(
                _row(
                    "roofline",
                    "mixbench",
                    {"dtype": dtype, "iterations": int(cells[0])},
                    seconds,
                    useful_bytes_per_second=bandwidth * 1e9,
                    **more,
                )
            )
    return found


# --- nvbandwidth ----------------------------------------------------------------------------------


def _nvbandwidth(path: Path) -> Imported:
    document = parse(path)
    root = document.get("nvbandwidth") if isinstance(document, dict) else None
    if not isinstance(root, dict) or not isinstance(root.get("testcases"), list):
        raise ReportError(path, "not the JSON of nvbandwidth: it needs 'nvbandwidth'.'testcases'")
    check = Checker(path)
    version = check.text(root, "version", "nvbandwidth", "")
    found = Imported(f"nvbandwidth {version}".strip())
    driver = root.get("Driver Version")
    if isinstance(driver, str):
        found.context["driver_version"] = clean(driver)
    size = _number(root.get("bufferSize")) * 2**20
    size = size if size > 0 else float(_NVBANDWIDTH_BUFFER)
    for number, test in enumerate(root["testcases"], start=1):
        where = f"testcase {number}"
        if not isinstance(test, dict):
            raise check.fail(where, "must be an object")
        name = check.text(test, "name", where)
        status = check.text(test, "status", where, "Passed")
        if status != "Passed":
            state = "failed" if status == "Error" else "skipped"
            row = _row("nvbandwidth", name, {}, 1.0)
            found.rows.append(_lost(row, state, f"nvbandwidth: {status}"))
            continue
        said = check.text(test, "bandwidth_description", where, "")
        matrix = test.get("bandwidth_matrix", [])
        if not isinstance(matrix, list) or any(not isinstance(line, list) for line in matrix):
            raise check.fail(where, "'bandwidth_matrix' must be a list of lists")
        for y, line in enumerate(matrix):
            for x, cell in enumerate(line):
                value = _number(cell)  # "N/A" of a GPU with itself
                if value > 0 and math.isfinite(value):
                    found.rows.append(_pair(name, said, y, x, value, size))
    return found


def _pair(name: str, said: str, y: int, x: int, value: float, size: float) -> dict[str, Any]:
    """A cell of a matrix: a latency in ns, or GB/s, whose time is that of one buffer."""
    arguments = {"row": y, "column": x}
    if "latency" in name or "(ns)" in said:
        return _row("nvbandwidth", name, arguments, value * 1e-9, label="latency", note=said)
    rate = value * 1e9
    note = f"{said}; the time is that of a buffer of {size / 2**20:.0f} MiB at this rate"
    return _row(
        "nvbandwidth",
        name,
        arguments,
        size / rate,
        label="link",
        useful_bytes_per_second=rate,
        note=note,
    )


# --- nvbench --------------------------------------------------------------------------------------


def _nvbench(path: Path) -> Imported:
    document = parse(path)
    if not isinstance(document, dict) or not all(
        isinstance(document.get(key), list) for key in ("benchmarks", "devices")
    ):
        raise ReportError(path, "not the JSON of nvbench: it needs 'devices' and 'benchmarks'")
    found = Imported("nvbench")
    version = document.get("meta")
    for key in ("version", "nvbench", "string"):
        version = version.get(key) if isinstance(version, dict) else None
    if isinstance(version, str):
        found.program = f"nvbench {clean(version)}"
    devices = [device for device in document["devices"] if isinstance(device, dict)]
    if devices:
        found.title = clean(str(devices[0].get("name", "")))
    check = Checker(path)
    for bench in document["benchmarks"]:
        if not isinstance(bench, dict) or not isinstance(bench.get("states"), list | type(None)):
            raise check.fail("benchmarks", "each must be an object with a list of 'states'")
        name = check.text(bench, "name", "benchmark")
        for state in bench["states"] or []:
            if not isinstance(state, dict):
                raise check.fail(name, "each of its 'states' must be an object")
            found.rows += _state(name, state, several=len(devices) > 1)
    return found


def _state(name: str, state: dict[str, Any], several: bool) -> Iterator[dict[str, Any]]:
    arguments: dict[str, Any] = {}
    for axis in _objects(state.get("axis_values")):
        value = axis.get("value")
        number = _number(value)
        if math.isfinite(number) and axis.get("type") != "string":
            arguments[_part(axis.get("name"))] = int(number) if number == int(number) else number
        else:
            arguments[_part(axis.get("name"))] = _part(value)
    if several:
        arguments["device"] = int(_number(state.get("device")) or 0)
    if state.get("is_skipped") is True:
        why = clean(str(state.get("skip_reason") or "no reason given"))
        yield _lost(_row("nvbench", name, arguments, 1.0), "skipped", why)
        return
    values = {
        str(summary.get("tag")): _number(entry.get("value"))
        for summary in _objects(state.get("summaries"))
        for entry in _objects(summary.get("data"))
        if entry.get("name") == "value"
    }

    def of(*tags: str) -> float:
        return next((values[tag] for tag in tags if tag in values), math.nan)

    seconds = of(
        "nv/cold/time/gpu/median",
        "nv/cold/time/gpu/mean",
        "nv/batch/time/gpu/mean",
        "nv/cpu_only/time/cpu/mean",
    )
    if seconds > 0 and math.isfinite(seconds):
        yield _row(
            "nvbench",
            name,
            arguments,
            seconds,
            min_seconds=of("nv/cold/time/gpu/min"),
            samples=of("nv/cold/sample_size"),
            items_per_second=of("nv/cold/bw/item_rate"),
            useful_bytes_per_second=of("nv/cold/bw/global/bytes_per_second"),
            sm_clock_hz=of("nv/cold/sm_clock_rate/mean"),
        )


def _objects(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


PROGRAMS: dict[str, Callable[[Path], Imported]] = {
    "nccl-tests": _nccl_tests,
    "babelstream": _babelstream,
    "gpu-benches": _gpu_stream,
    "mixbench": _mixbench,
    "nvbandwidth": _nvbandwidth,
    "nvbench": _nvbench,
}


def to_bytes(document: dict[str, Any]) -> bytes:
    """A result document as the bytes of its file."""
    return (json.dumps(document, indent=1, allow_nan=False) + "\n").encode("utf-8")
