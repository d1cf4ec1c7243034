"""Several devices on one roofline: of each its memory bandwidth and its peak in chosen types."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gpubench_reports.charts import style
from gpubench_reports.charts.roofline import find_sweeps, spread
from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.units import arithmetic_unit, si
from gpubench_reports.results.device_files import Machine
from gpubench_reports.results.reader import PROVENANCES_OF_RUN, Roof

# What stands in for a type that a device does not state: the one of the same width.
_STAND_INS = {"tensor_bf16": "tensor_fp16", "tensor_fp16": "tensor_bf16"}
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 11.0, 7.4, 0.75, 3.3, 0.75, 0.6  # inches
_DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1, 2)))


@dataclass(frozen=True)
class _Line:
    """One device in one type: attainable FLOP/s = min(peak, intensity x bandwidth)."""

    place: int  # of the device
    title: str
    dtype: str
    peak: Roof
    memory: Roof

    @property
    def ridge(self) -> float:
        return self.peak.value / self.memory.value


def build(machines: Sequence[Machine], dtypes: Sequence[str]) -> Figure:
    """The chart. Raises ReportError when no device states a peak in any of `dtypes`."""
    lines = [
        line
        for place, machine in enumerate(machines)
        for dtype in dtypes
        if (line := _line(place, machine, dtype)) is not None
    ]
    if not lines:
        known = sorted({r.name for m in machines for r in m.roofs if r.kind == "compute"})
        raise ReportError(
            ", ".join(dtypes),
            f"no device states such a peak; {'known are ' + ', '.join(known) if known else 'none'}",
        )
    figure = style.new_figure(_WIDTH, _HEIGHT)
    axes = figure.add_axes(
        (
            _LEFT / _WIDTH,
            _BOTTOM / _HEIGHT,
            (_WIDTH - _LEFT - _RIGHT) / _WIDTH,
            (_HEIGHT - _TOP - _BOTTOM) / _HEIGHT,
        )
    )
    figure.text(
        0.012,
        1 - 0.12 / _HEIGHT,
        "Rooflines of several devices",
        size=13,
        weight="bold",
        va="top",
        color=style.INK,
        gid="title",
    )
    formula = "attainable FLOP/s = min(peak, intensity × DRAM bandwidth)"
    style.small_print(figure, 0.42, f"{formula}; a mark is the ridge point", "subtitle")
    axes.set_xscale("log")
    axes.set_yscale("log")
    points = [_points(machine) for machine in machines]
    xs = [line.ridge for line in lines] + [x for x, _ in points for x in x]
    ys = [line.peak.value for line in lines] + [y for _, ys in points for y in ys]
    axes.set_xlim(min(xs) / 12, max(xs) * 6)
    axes.set_ylim(min(min(ys), min(line.peak.value for line in lines) / 15) / 1.5, max(ys) * 2)
    style.log_si_axis(axes, "x", "arithmetic intensity", "FLOP per byte moved")
    style.log_si_axis(axes, "y", "arithmetic rate", "FLOP/s")
    left, right = axes.get_xlim()
    for line in lines:
        colour = style.COLOURS[line.place % len(style.COLOURS)]
        # Devices beyond the sixth repeat a colour; the mark of their ridge tells them apart.
        mark = style.MARKERS[(line.place // len(style.COLOURS)) + 3]
        axes.plot(
            [left, line.ridge, right],
            [left * line.memory.value, line.peak.value, line.peak.value],
            color=colour,
            lw=1.6,
            ls=_DASHES[dtypes.index(line.dtype) % len(_DASHES)],
            gid=f"roof:{line.place}",
        )
        axes.plot(
            [line.ridge],
            [line.peak.value],
            marker=mark,
            ms=6,
            mfc="white",
            mec=colour,
            ls="none",
            zorder=5,
            gid="ridge",
        )
    for place, (x, y) in enumerate(points):
        if len(x):
            axes.plot(
                x,
                y,
                ls="none",
                marker="o",
                ms=4,
                mec="white",
                mew=0.4,
                zorder=6,
                gid="row",
                color=style.COLOURS[place % len(style.COLOURS)],
            )
    _name(figure, axes, lines)
    _key(axes, dtypes, any(len(x) for x, _ in points))
    if any(machine.modelled for machine in machines):
        style.watermark(figure)
    return figure


def _line(place: int, machine: Machine, dtype: str) -> _Line | None:
    """The device's best-known peak and bandwidth: the run's own before the data sheet's."""

    def best(kind: str, name: str) -> Roof | None:
        found = [roof for roof in machine.roofs if roof.kind == kind and roof.name == name]
        return min(found, key=lambda r: r.provenance not in PROVENANCES_OF_RUN, default=None)

    peak = best("compute", dtype) or best("compute", _STAND_INS.get(dtype, ""))
    memory = best("bandwidth", "dram")
    return _Line(place, machine.title, dtype, peak, memory) if peak and memory else None


def _points(machine: Machine) -> tuple[np.ndarray, np.ndarray]:
    if machine.rows is None:
        return np.array([]), np.array([])
    sweeps = find_sweeps(machine.rows)
    return (
        np.concatenate([sweep.intensity for sweep in sweeps] or [[]]),
        np.concatenate([sweep.rate for sweep in sweeps] or [[]]),
    )


def _name(figure: Figure, axes, lines: Sequence[_Line]) -> None:
    """Names at the right, each at its peak's height or pushed clear of its neighbours."""
    height = axes.bbox.height / figure.dpi
    low, high = np.log(axes.get_ylim())
    ordered = sorted(lines, key=lambda line: line.peak.value)
    wanted = [(math.log(line.peak.value) - low) / (high - low) * height for line in ordered]
    places = spread(wanted, [0.33] * len(ordered), height)
    for line, at, want in zip(ordered, places, wanted, strict=True):
        colour = style.COLOURS[line.place % len(style.COLOURS)]
        words = style.ROOF_WORDS[line.peak.provenance]
        peak = si(line.peak.value, arithmetic_unit(line.peak.name))
        # A type that stands in for another is named as what it is.
        text = (
            f"{style.shorten(line.title, 40)}\n{line.peak.name.replace('_', ' ')} "
            f"{peak} {words}, ridge {line.ridge:.3g}"
        )
        axes.text(
            1.05,
            at / height,
            text,
            transform=axes.transAxes,
            size=7,
            va="center",
            color=style.darker(colour),
            linespacing=1.15,
            gid="device",
        )
        axes.plot(
            [1.0, 1.015, 1.042],
            [want / height, want / height, at / height],
            lw=0.7,
            color=colour,
            transform=axes.transAxes,
            clip_on=False,
        )


def _key(axes, dtypes: Sequence[str], has_rows: bool) -> None:
    handles = [
        Line2D(
            [],
            [],
            color=style.INK,
            lw=1.6,
            ls=_DASHES[place % len(_DASHES)],
            label=dtype.replace("_", " "),
        )
        for place, dtype in enumerate(dtypes)
    ]
    if has_rows:
        handles.append(Line2D([], [], color=style.INK, ls="none", marker="o", ms=4, label="row"))
    axes.legend(handles=handles, loc="lower right")
