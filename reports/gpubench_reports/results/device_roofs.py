"""Device files as roofs: what a data sheet says, beside measured and modelled runs.

A device file is harness/devices/NAME.json, or one like it that the user wrote. Only its stated
peaks and its memory bandwidth are read: figures that end in `flops_per_second`, and
`dram_bytes_per_second`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.units import arithmetic_unit
from gpubench_reports.results.checking import Checker, parse
from gpubench_reports.results.context import PROVENANCES, Roof
from gpubench_reports.results.device_files import figure_value
from gpubench_reports.results.reader import ResultFile, read

_PEAK = "_flops_per_second"


@dataclass(frozen=True)
class DeviceRoofs:
    """A device on a chart: its roofs, and the rows that ran there (none of a device file)."""

    title: str
    roofs: tuple[Roof, ...]
    rows: pd.DataFrame | None
    modelled: bool


def read_device_roofs(path: Path) -> DeviceRoofs:
    """The result file or the device file at `path`. Raises ReportError."""
    document = parse(path)
    if isinstance(document, dict) and isinstance(document.get("figures"), dict):
        return _of_device_file(Checker(path), document)
    return roofs_of_result(read(path))


def roofs_of_result(result: ResultFile) -> DeviceRoofs:
    """The device of a result file, with the rows that ran on it."""
    context = result.context
    return DeviceRoofs(context.device_title, context.roofs, result.rows, context.modelled)


def _of_device_file(check: Checker, document: dict[str, Any]) -> DeviceRoofs:
    roofs = []
    for name, figure in document["figures"].items():
        is_peak = name.endswith(_PEAK)
        if not is_peak and name != "dram_bytes_per_second":
            continue
        value = figure_value(check, document["figures"], name)
        provenance = check.text(figure, "from", name)
        if provenance not in PROVENANCES:
            raise check.fail(name, f"'from' must be one of {', '.join(PROVENANCES)}")
        roof = name.removesuffix(_PEAK) if is_peak else "dram"
        roofs.append(
            Roof(
                name=roof,
                kind="compute" if is_peak else "bandwidth",
                value=value,
                unit=arithmetic_unit(roof) if is_peak else "B/s",
                provenance=provenance,
                source=check.text(figure, "source", name, ""),
            )
        )
    if not {"compute", "bandwidth"} <= {roof.kind for roof in roofs}:
        raise ReportError(check.path, "states no peak, or no memory bandwidth: no roofline follows")
    title = check.text(document, "title", "", check.text(document, "name", "", "device"))
    return DeviceRoofs(title, tuple(roofs), None, False)
