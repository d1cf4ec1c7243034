"""Noise for a rehearsal: every process models a device whose constants differ a little.

Nothing is done to a result file. The device file is what varies, as a real machine does.
"""

import json
import random
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.checking import parse
from gpubench_reports.results.device_files import device_path

# Figures that rows follow from. A device that is faster by a factor has rates that are larger
# by it, and times that are shorter.
_RATES = (
    "dram_bytes_per_second",
    "l2_bytes_per_second",
    "sm_clock_hz",
    "pcie_h2d_bytes_per_second",
    "pcie_d2h_bytes_per_second",
)
_TIMES = (
    "launch_stream_seconds",
    "launch_graph_seconds",
    "launch_programmatic_seconds",
    "launch_host_seconds",
    "launch_latency_seconds",
    "kernel_floor_seconds",
    "sync_host_seconds",
    "pcie_latency_seconds",
)


def device_file(device: str) -> Path:
    """The file of `device`, the value of --device. Raises ReportError if it is not that of a model
    whose file there is."""
    kind, _, which = device.partition(":")
    if kind != "model" or not which:
        raise ReportError(device, "noise needs a modelled device: --device=model:h200-sxm")
    path = device_path(which)
    if not path.is_file():
        raise ReportError(path, "no such device file")
    return path


def varied_device(device: str, noise: float, night: str, process: str, folder: Path) -> str:
    """`--device` for one process: a copy in `folder` of the device file, varied by two factors of
    relative deviation `noise`, one of the night and one of the process.

    Raises ReportError as `device_file` does.
    """
    path = device_file(device)
    document = parse(path)
    factor = 1.0
    for seed in (night, f"{night}/{process}"):
        factor *= 1 + noise * random.Random(seed).gauss()
    figures = document["figures"]
    for names, change in ((_RATES, factor), (_TIMES, 1 / factor)):
        for name in names:
            if name in figures:  # not every device has every figure
                figures[name]["value"] *= change
    varied = folder / path.name  # a device file is called what its device is called
    varied.write_text(json.dumps(document))
    return f"model:{varied}"
