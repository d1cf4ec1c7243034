"""Which rows a calibrated figure limits: their predictions test the model's form alone."""

import re
from collections.abc import Mapping
from typing import Any

from gpubench_reports.results.baselines import baseline, baselines
from gpubench_reports.results.context import Context
from gpubench_reports.results.device_files import figure_rules, read_device, shipped_devices

_CALIBRATED = "calibrated"
_PINNED = r"(?!.*\bpageable\b)"
_TO_DEVICE = (
    _PINNED + r"(?!.*\bdirection:d2h)"
    r"(.*\b(h2d|both)\b|(stream_overlap|memory_hierarchy|data_pipeline)/)"
)
# The figures of a device file (whole names) that limit rows of a label, and which rows (from their
# names' beginning) where it is not all of them. A label that is not here is that of a roof of
# arithmetic.
_LIMITS = (
    ("dram", "", r"dram_(bytes_per_second|\w+_efficiency|fetch_bytes|jump_bytes|queue_cycles)"),
    ("l2", "", r"l2_(bytes_per_second|fetch_bytes|partial_write_bytes)"),
    ("l1", "", r"l1_(bytes|tags)_per_clock_per_sm|global_requests_per_clock_per_sm"),
    ("shared", "", r"shared_bytes_per_clock_per_sm"),
    ("dsm", "", r"dsm_\w*bytes_per_clock_per_sm"),
    ("tensor", "", r"tensor_\w+_per_clock_per_sm|mma_sync_efficiency"),
    ("tensor", r".*/library\b|tile_alignment/", r"gemm_(fp8_)?efficiency|gemm_clock_hz"),
    ("fp32", r".*/library\b", r"fp32_\w+_per_clock_per_sm|gemm_fp32_clock_hz"),
    # Those of its operands whose rows begin at no multiple of 16 bytes, and what is beside them.
    ("tensor", r"tile_alignment/(odd_|leading_dimension|vocabulary)", r"gemm_unaligned_efficiency"),
    # Latencies of collectives are NCCL's own constants.
    (
        "latency",
        r"(?!all_reduce/)",
        r"\w+_latency_cycles|cluster_barrier_cycles|block_turnaround_cycles",
    ),
    ("launch", "", r"launch_\w+_seconds|kernel_floor_seconds"),
    ("host", "", r"launch_(host|latency)_seconds|sync_\w*host_seconds"),
    ("link", r".*\bpageable\b", r"pageable_bytes_per_second"),
    ("link", _TO_DEVICE, r"pcie_h2d_bytes_per_second"),
    (
        "link",
        _PINNED + r"(?!.*\bdirection:h2d)(.*\b(d2h|both)\b|stream_overlap/)",
        r"pcie_d2h_bytes_per_second",
    ),
    ("link", r"all_reduce/|topology/|transfer/peer", r"nvlink_\w*bytes_per_second"),
    ("network", "", r"network_bytes_per_second"),
)


class Fitted:
    """What is known of the figures by which the file with this context was predicted."""

    def __init__(self, context: Context) -> None:
        self._roofs = _roofs(context)
        self._figures = _figures(context, self._roofs)

    def limits(self, row: Mapping[str, Any]) -> bool:
        """Whether a calibrated figure limits the row, which has a name and a label."""
        name, label = row["name"], row["label"]
        if label in self._roofs:
            return True
        patterns = [
            figures
            for of_label, rows, figures in _LIMITS
            if of_label == label and re.match(rows, name)
        ] or [rf"{re.escape(label)}_\w+_per_clock_per_sm"]
        return any(
            re.fullmatch(pattern, figure) for pattern in patterns for figure in self._figures
        )


def _roofs(context: Context) -> set[str]:
    return {roof.name for roof in context.roofs if roof.provenance == _CALIBRATED}


def _figures(context: Context, roofs: set[str]) -> set[str]:
    """The calibrated figures. A result file names only those that are roofs: the others are those
    of the shipped device file, if the roofs are as it has them. Of somebody's own device file, all
    may be, if a roof is."""
    device = context.device
    if context.own_device_file:
        return set(figure_rules()) if roofs else set()
    if device not in shipped_devices() or device not in baselines():
        return set()
    if roofs != _roofs(baseline(device).context):
        return set()
    file = read_device(device)
    known = filter(file.has, figure_rules())
    return {name for name in known if file.provenance(name) == _CALIBRATED}
