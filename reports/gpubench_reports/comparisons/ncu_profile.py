"""Nsight Compute's raw page, as `ncu --nvtx --csv --page raw` prints it: a line a launch, in an
NVTX range that is called as the row."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import file_bytes, reason
from gpubench_reports.common.plain_text import clean
from gpubench_reports.results.checking import is_in_range

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
DURATION, CYCLES = "gpu__time_duration.sum", "sm__cycles_elapsed.max"
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
        DURATION,
        CYCLES,
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
            _require_base_units(path, units)
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


def _require_base_units(path: Path, units: Mapping[str, str]) -> None:
    """Raises ReportError where ncu chose units itself: it rounds to a few of their digits."""
    for metric in metrics():
        if re.match("[KMGTP]", unit := units.get(metric, "")):
            raise ReportError(
                path, f"{metric} is in {clean(unit)} and rounded: ncu needs --print-units base"
            )


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
    which demanglers spell differently, and without namespaces, which ncu leaves out."""
    kept, depth = "", 0
    for c in signature.replace("(anonymous namespace)", "").replace("<unnamed>", ""):
        if c == "<":
            depth += 1
        elif c == ">":
            depth -= 1
        elif depth == 0:
            if c == "(":
                break
            kept = "" if c == " " else kept + c
    return kept.rsplit("::", 1)[-1]
