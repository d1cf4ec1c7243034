"""The model's counts beside Nsight Compute's, launch by launch. Numbers only.

A result file of `gpubench --profile` (on a GPU with --predict) holds for each row its `launches`:
what the model counts in each. `ncu --nvtx --csv --page raw` of the same rows has a line a launch,
in an NVTX range that is called as the row.
"""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import file_bytes, reason
from gpubench_reports.common.plain_text import clean
from gpubench_reports.results.checking import Checker, is_in_range, numbers_of, shown, words_of
from gpubench_reports.results.reader import ResultFile

# For each figure of a launch, the metrics whose sum it is. Metrics of instrumented instructions
# (smsp__sass_...) where there is a choice: what else goes through a unit is not among them.
METRICS: dict[str, tuple[str, ...]] = {
    "blocks": ("launch__grid_size",),
    "threads_per_block": ("launch__block_size",),
    "registers": ("launch__registers_per_thread",),
    "shared_bytes": ("launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic"),
    "global_load_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",),
    "global_load_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",),
    "global_load_bytes": ("smsp__sass_data_bytes_mem_global_op_ld.sum",),
    "global_store_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",),
    "global_store_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",),
    "global_store_bytes": ("smsp__sass_data_bytes_mem_global_op_st.sum",),
    "global_atomic_requests": (
        "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
        "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    ),
    "global_atomic_sectors": (
        "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    ),
    "shared_load_requests": ("smsp__sass_inst_executed_op_shared_ld.sum",),
    "shared_load_wavefronts": ("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",),
    "shared_load_bytes": ("smsp__sass_data_bytes_mem_shared_op_ld.sum",),
    "shared_store_requests": ("smsp__sass_inst_executed_op_shared_st.sum",),
    "shared_store_wavefronts": ("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",),
    "shared_store_bytes": ("smsp__sass_data_bytes_mem_shared_op_st.sum",),
    "shared_atomic_requests": ("smsp__sass_inst_executed_op_shared_atom.sum",),
    "fma_fp32": ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",),
    "fma_fp64": ("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum",),
    "fma_16x2": ("smsp__sass_thread_inst_executed_op_hfma_pred_on.sum",),
    "local_moved_bytes": (
        "smsp__sass_data_bytes_mem_local_op_ld.sum",
        "smsp__sass_data_bytes_mem_local_op_st.sum",
    ),
}
# How many blocks of a launch fit on one SM: the least of these.
_BLOCK_LIMITS = tuple(
    f"launch__occupancy_limit_{what}" for what in ("blocks", "registers", "shared_mem", "warps")
)
_OCCUPANCY = "sm__maximum_warps_per_active_cycle_pct"
_DURATION, _CYCLES = "gpu__time_duration.sum", "sm__cycles_elapsed.max"
# From the compiled kernel or the launch: absent means unknown. All others are counts: absent is 0.
_NOT_COUNTS = {
    "blocks",
    "threads_per_block",
    "registers",
    "shared_bytes",
    "local_moved_bytes",
    "resident_blocks",
    "occupancy",
}

# What a timed row may differ from the profiler's duration, and the time from which it counts [s].
TIME_TOLERANCE, LEAST_SECONDS = 0.02, {"hot": 50e-6, "cold": 500e-6}

# Limit per row: far beyond any suite's, and few enough to compare one by one.
MOST_LAUNCHES = 100_000

_SAMPLED_TOLERANCE, _EXACT_TOLERANCE = 0.01, 1e-6
_SECONDS_IN = {
    "ns": 1e-9,
    "nsecond": 1e-9,
    "us": 1e-6,
    "usecond": 1e-6,
    "ms": 1e-3,
    "msecond": 1e-3,
    "s": 1.0,
    "second": 1.0,
}


def metrics() -> list[str]:
    """All metrics that ncu has to be asked for."""
    return [
        *(m for group in METRICS.values() for m in group),
        *_BLOCK_LIMITS,
        _OCCUPANCY,
        _DURATION,
        _CYCLES,
    ]


@dataclass(frozen=True)
class Profiled:
    """A launch as ncu lists it: the row whose range it is in ("": none), its kernel, and its
    metrics, times in seconds; a metric that was not collected is absent."""

    row: str
    kernel: str
    metrics: dict[str, float]

    def figures(self) -> dict[str, float]:
        found = {
            figure: sum(self.metrics[m] for m in group)
            for figure, group in METRICS.items()
            if all(m in self.metrics for m in group)
        }
        if all(limit in self.metrics for limit in _BLOCK_LIMITS):
            found["resident_blocks"] = min(self.metrics[limit] for limit in _BLOCK_LIMITS)
        if _OCCUPANCY in self.metrics:
            found["occupancy"] = self.metrics[_OCCUPANCY] / 100
        return found


@dataclass(frozen=True)
class Counted:
    """A launch as a row of a result file lists it: what the model counted in it."""

    kernel: str
    times: int
    figures: dict[str, float]
    departures: dict[str, str]  # by kind of access: why the profiler may count otherwise


@dataclass(frozen=True)
class Difference:
    """A figure of a launch on which the two do not agree. `why`: "" if nobody knows."""

    row: str
    kernel: str
    figure: str
    model: float
    profiler: float
    why: str


@dataclass
class CountComparison:
    """`equal`: by figure, how many launches agree. `differences`: every one that does not.
    `alone`: launches of one side only, in words. `rows`: those compared; `unprofiled`: others."""

    launches: int = 0
    rows: int = 0
    unprofiled: list[str] = field(default_factory=list)
    equal: Counter[str] = field(default_factory=Counter[str])
    differences: list[Difference] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Timed:
    """A row's median beside the profiler's duration of its only launch. `ratio`: in cycles where
    the row's clock is known and the profiler's was another one, else in seconds."""

    row: str
    seconds: float
    profiler_seconds: float
    ratio: float
    in_cycles: bool
    expected: bool  # long enough to be held to TIME_TOLERANCE


def read_profile(path: Path) -> list[Profiled]:
    """The launches in a CSV of ncu's raw page, in order. Raises ReportError: no such file, or
    nothing was profiled, with ncu's own reason."""
    try:
        lines = file_bytes(path).decode("utf-8-sig", "replace").splitlines()
    except OSError as error:
        raise ReportError(path, f"cannot read: {reason(error)}") from None
    begin = next((i for i, line in enumerate(lines) if re.match('"?ID"?,', line)), None)
    if begin is None:
        raise ReportError(path, why_nothing(lines))
    # What ncu says of itself stands between the lines.
    table = [line for line in lines[begin:] if line and not line.startswith("==")]
    try:
        titles, *rest = csv.reader(table)
    except csv.Error as error:
        raise ReportError(path, f"is no raw page of ncu: {error}") from None
    for title in ("ID", "Kernel Name"):
        if title not in titles:
            raise ReportError(path, f"is no raw page of ncu: it has no column '{title}'")
    ranges = [title for title in titles if "Push/Pop_Range" in title]
    units: dict[str, str] = {}
    found = []
    for cells in rest:
        line = dict(zip(titles, cells, strict=False))
        if "Kernel Name" not in line:
            raise ReportError(path, "is no raw page of ncu: a line ends before 'Kernel Name'")
        if not line["ID"]:  # the line of units
            units = line
            continue
        known = {title: _value(line.get(title, ""), units.get(title, "")) for title in titles}
        found.append(
            Profiled(
                _range_of(line.get(ranges[0], "")) if ranges else "",
                kernel_of(line["Kernel Name"]),
                {title: value for title, value in known.items() if value is not None},
            )
        )
    return found


def why_nothing(lines: Sequence[str]) -> str:
    """What ncu says where it profiled nothing."""
    text = "\n".join(lines)
    if "ERR_NVGPUCTRPERM" in text:
        return (
            "counters are not permitted here (ERR_NVGPUCTRPERM): run as root, or load the driver "
            "with NVreg_RestrictProfilingToAdminUsers=0"
        )
    for line in lines:
        if match := re.match(r"==(?:ERROR|WARNING)==\s*(.*)", line):
            return f"ncu profiled nothing: {clean(match.group(1))}"
    return "holds no line of ncu's raw page"


def _value(text: str, unit: str) -> float | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value * _SECONDS_IN.get(unit, 1.0) if is_in_range(value) else None


def _range_of(cell: str) -> str:
    """The innermost range of the default domain. A cell holds, for each range, in quotes:
    DOMAIN:NAME:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg; the name may have colons itself."""
    found = re.findall(r"<default domain>:([^\"]*)", cell)
    return found[-1].rsplit(":", 6)[0] if found else ""


def kernel_of(signature: str) -> str:
    """A kernel's name without what comes before it, its template arguments and its parameters,
    which demanglers spell differently."""
    anonymous = "(anonymous namespace)"
    kept, depth = "", 0
    text = signature.replace(anonymous, "@").replace("<unnamed>", "@")
    for c in text:
        if c == "<":
            depth += 1
        elif c == ">":
            depth -= 1
        elif depth == 0:
            if c == "(":
                break
            kept = "" if c == " " else kept + c
    return kept.replace("@", anonymous)


def compare(result: ResultFile, profiled: Sequence[Profiled]) -> CountComparison:
    """Every launch of every row of `result` beside ncu's. Raises ReportError where the two have
    no launch of a row in common."""
    by_row: dict[str, list[Profiled]] = {}
    for launch in profiled:
        by_row.setdefault(launch.row, []).append(launch)
    found = CountComparison()
    for row in result.timed:
        name, raw = row["name"], row["raw"]
        if name in by_row:
            launches = launches_of(Checker(result.path), raw, name)
            _compare_row(name, raw, launches, by_row[name], found)
            found.rows += 1
        elif raw.get("launches"):
            found.unprofiled.append(name)
    if not found.launches:
        raise ReportError(
            result.path,
            "has no launch in common with the profile: it must come from --profile (on a GPU with "
            "--predict), and ncu must run with --nvtx",
        )
    if not found.equal.total() and not found.differences:
        raise ReportError(
            result.path, "has no figure in common with the profile: counters --metrics names them"
        )
    return found


def launches_of(check: Checker, raw: dict[str, Any], name: str) -> list[Counted]:
    """The launches of a row, which is `raw` in its file. Raises ReportError."""
    launches = raw.get("launches", [])
    if not isinstance(launches, list):
        raise check.fail(name, f"'launches' must be a list, not {shown(launches)}")
    found = [_launch(check, launch, f"{name}, launch {n}") for n, launch in enumerate(launches, 1)]
    if sum(launch.times for launch in found) > MOST_LAUNCHES:
        raise check.fail(name, f"has over {MOST_LAUNCHES} launches")
    return found


def _launch(check: Checker, launch: Any, where: str) -> Counted:
    if not isinstance(launch, dict):
        raise check.fail(where, f"must be an object, not {shown(launch)}")
    times = check.number(launch.get("times", 1), "times", where)
    if times != int(times) or not 1 <= times <= MOST_LAUNCHES:
        raise check.fail(where, f"'times' must be a whole number from 1 to {MOST_LAUNCHES}")
    return Counted(
        check.text(launch, "kernel", where),
        int(times),
        numbers_of(check, launch, "figures", where),
        words_of(check, launch, "departures", where),
    )


def _compare_row(
    name: str,
    raw: dict[str, Any],
    launches: Sequence[Counted],
    profiled: Sequence[Profiled],
    found: CountComparison,
) -> None:
    counted = [launch for launch in launches for _ in range(launch.times)]
    here = Counter(kernel_of(launch.kernel) for launch in counted)
    there = Counter(launch.kernel for launch in profiled)
    for kernel, times in (here - there).items():
        found.alone.append(f"{name}: {times} of {kernel} only on the model")
    for kernel, times in (there - here).items():
        found.alone.append(f"{name}: {times} of {kernel} only in the profile")
    seen: dict[str, Iterator[Profiled]] = {
        kernel: iter([p for p in profiled if p.kernel == kernel]) for kernel in there
    }
    for launch in counted:
        kernel = kernel_of(launch.kernel)
        other = next(seen.get(kernel, iter(())), None)
        if other is None:
            continue
        found.launches += 1
        figures = launch.figures
        whole = figures.get("traced_blocks") == figures.get("blocks")
        for figure, profiler in other.figures().items():
            if figure in _NOT_COUNTS and figure not in figures:
                continue
            model = figures.get(figure, 0.0)
            exact = whole or figure in _NOT_COUNTS - {"local_moved_bytes"}
            tolerance = _EXACT_TOLERANCE if exact else _SAMPLED_TOLERANCE
            if abs(model - profiler) <= tolerance * max(abs(model), abs(profiler)):
                if model or profiler:
                    found.equal[figure] += 1
                continue
            why = _why(figure, launch, raw, whole)
            difference = Difference(name, kernel, figure, model, profiler, why)
            # Launches of one row that are all alike differ alike.
            if difference not in found.differences[-len(METRICS) :]:
                found.differences.append(difference)


def _why(figure: str, launch: Counted, raw: dict[str, Any], whole: bool) -> str:
    """What is known of a difference beforehand, in one line."""
    figures = launch.figures
    kind = " ".join(figure.split("_")[:2])
    if departure := launch.departures.get(kind):
        return departure
    if kind in ("global load", "shared store", "shared load"):
        if figures.get("async_copies"):
            return "asynchronous copies are counted apart by the profiler"
        if figures.get("bulk_copies"):
            return "what the copy engine brings is no warp's request"
    if figure.startswith("fma_"):
        return "the model counts multiply-adds that are called by name, not a * b + c"
    if figure == "local_moved_bytes":
        return "the model takes local memory to be moved once through the code"
    if figure.endswith("_wavefronts") and raw.get("rule") == "unconfirmed":
        return "the rule for 8 and 16 bytes per lane is documented only for earlier GPUs"
    if figure not in _NOT_COUNTS and not whole:
        traced, blocks = (figures.get(key, math.nan) for key in ("traced_blocks", "blocks"))
        return f"the model traced {traced:.0f} of {blocks:.0f} blocks"
    return ""


def timings(timed: ResultFile, profiled: Sequence[Profiled]) -> list[Timed]:
    """The rows of `timed` that are one launch, beside its duration under ncu (with its clock and
    cache control off)."""
    times = Counter(launch.row for launch in profiled)
    only = {launch.row: launch.metrics for launch in profiled if times[launch.row] == 1}
    least = LEAST_SECONDS.get(timed.context.mode, math.inf)
    found = []
    for row in timed.timed:
        metrics_of_it = only.get(row["name"], {})
        duration = metrics_of_it.get(_DURATION)
        if not duration:
            continue
        ratio, in_cycles = row["seconds"] / duration, False
        cycles, clock = metrics_of_it.get(_CYCLES), row["sm_clock_hz"]
        if cycles and clock > 0 and abs(cycles / duration / clock - 1) > TIME_TOLERANCE / 2:
            ratio, in_cycles = row["seconds"] * clock / cycles, True
        found.append(
            Timed(row["name"], row["seconds"], duration, ratio, in_cycles, row["seconds"] >= least)
        )
    return found
