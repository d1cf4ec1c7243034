"""Noise for a rehearsal: every process models a device whose constants differ a little.

Nothing is done to a result file. The device file is what varies, as a real machine does.
"""

import json
import random
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.reader import parse

# Figures that most rows' times follow from.
_VARIED = ("dram_bytes_per_second", "l2_bytes_per_second", "sm_clock_hz")


def varied_device(device: str, noise: float, night: str, process: str, folder: Path) -> str:
    """`--device` for one process: a copy in `folder` of the device file, varied by two factors of
    relative deviation `noise`, one of the night and one of the process.

    Raises ReportError if `device` names no file.
    """
    path = Path(device.removeprefix("model:"))
    if not path.is_file():
        raise ReportError(device, "noise needs a device file: --device=model:path/to/it.json")
    document = parse(path)
    factor = 1.0
    for seed in (night, f"{night}/{process}"):
        factor *= 1 + noise * random.Random(seed).gauss()
    for name in _VARIED:
        document["figures"][name]["value"] *= factor
    varied = folder / path.name  # a device file is called what its device is called
    varied.write_text(json.dumps(document))
    return f"model:{varied}"
