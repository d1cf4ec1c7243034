"""Roofs as lines, and where they meet."""

import math
from dataclasses import dataclass
from typing import Any

from gpubench_reports.charts import style
from gpubench_reports.common.units import si
from gpubench_reports.results.context import PROVENANCES_OF_RUN, Roof

# Roofs closer than this are one line with two names: they could not be told apart.
_SAME = 0.005
RIDGE = "d"  # the mark of a ridge point, hollow


@dataclass
class Line:
    """Roofs of one kind and provenance with the same value."""

    names: list[str]
    kind: str
    value: float
    unit: str
    provenance: str

    @property
    def of_run(self) -> bool:
        """Whether the run stated it, not the device file."""
        return self.provenance in PROVENANCES_OF_RUN

    @property
    def name(self) -> str:
        """ "tensor_bf16" and "tensor_fp16" together read "tensor bf16, fp16"."""
        first, *rest = self.names
        stem = first.partition("_")[0] + "_"
        short = [name.removeprefix(stem) for name in rest]
        return ", ".join([first, *short]).replace("_", " ")


def merged(roofs: list[Roof]) -> list[Line]:
    """Roofs as lines, lowest first; those that would lie on each other share a line."""
    lines: list[Line] = []
    for roof in sorted(roofs, key=lambda r: r.value):
        for line in lines:
            close = abs(math.log(line.value / roof.value)) < _SAME
            alike = line.unit == roof.unit
            if close and alike and line.provenance == roof.provenance:
                line.names = sorted({*line.names, roof.name})
                break
        else:
            lines.append(Line([roof.name], roof.kind, roof.value, roof.unit, roof.provenance))
    return lines


def ridge_points(bandwidths: list[Line], peaks: list[Line]) -> list[tuple[float, float, str]]:
    """(intensity, FLOP/s, name) where each peak meets the bandwidth of DRAM, else the lowest.

    Measured or modelled roofs where there are any, else the device file's: two ridges a peak, a
    few percent apart, would not be read.
    """
    if not bandwidths:
        return []
    tops = [p for p in peaks if p.of_run] or peaks
    drams = [b for b in bandwidths if "dram" in b.names]
    # A data sheet promises more than is known to be reached.
    known = [(not b.of_run, b.provenance == "data_sheet", b.value) for b in drams or bandwidths]
    slow = (drams or bandwidths)[known.index(min(known))]
    seen: dict[str, tuple[float, float, str]] = {}
    for peak in tops:
        ridge = peak.value / slow.value
        name = f"{slow.name} × {peak.name}: {ridge:.3g}"
        seen.setdefault(peak.name, (ridge, peak.value, name))
    return list(seen.values())


def roof_style(line: Line) -> dict[str, Any]:
    return {
        "ls": style.ROOF_LINES[line.provenance],
        "lw": 1.5 if line.of_run else 1.0,
        "color": style.INK if line.of_run else style.GREY,
        "zorder": 3 if line.of_run else 2,
        "gid": f"roof:{line.provenance}",
    }


def by_name(lines: list[Line]) -> list[list[Line]]:
    """Lines of the same name together: they lie close and share one label."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(line.name, []).append(line)
    return list(groups.values())


def roof_text(lines: list[Line], unit: str, separator: str) -> str:
    ordered = sorted(lines, key=lambda line: not line.of_run)
    values = separator.join(
        f"{si(line.value, unit)} {style.ROOF_WORDS[line.provenance]}" for line in ordered
    )
    return f"{lines[0].name}  {values}"


def flat_text(lines: list[Line]) -> str:
    text = roof_text(lines, lines[0].unit, "\n")
    return text.replace("  ", "\n", 1)
