"""Draws the roofs of a run: each as it was found, beside what the device's file says."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from gpubench_reports import style
from gpubench_reports.reader import Context, Roof
from gpubench_reports.units import si

_FOUND = ("measured", "modelled")
_COLOURS = {"bandwidth": style.COLOURS[0], "compute": style.COLOURS[1]}  # in order
_WORDS = {"dram": "DRAM", "l2": "L2", "l1": "L1", "shared": "shared memory"}
# Whole numbers are no FLOPs.
_INTEGERS = ("int32", "tensor_int8")
_LINE = 0.27  # inches


@dataclass(frozen=True)
class Pair:
    """A roof's name, as this run found it and as the device's file has it; one may be missing."""

    name: str
    kind: str
    found: Roof | None
    filed: Roof | None

    @property
    def unit(self) -> str:
        """What its values count."""
        if self.kind == "bandwidth":
            return "B/s"
        return "OP/s" if self.name in _INTEGERS else "FLOP/s"

    @property
    def fraction(self) -> float:
        """Found over filed; NaN where there are not both."""
        if self.found is None or self.filed is None:
            return math.nan
        return self.found.value / self.filed.value


def pairs(roofs: Sequence[Roof]) -> list[Pair]:
    """The roofs by name, bandwidths first, each kind from the lowest on."""
    found = {roof.name: roof for roof in roofs if roof.provenance in _FOUND}
    filed = {roof.name: roof for roof in roofs if roof.provenance not in _FOUND}
    paired = [
        Pair(name, (found.get(name) or filed[name]).kind, found.get(name), filed.get(name))
        for name in dict.fromkeys([*found, *filed])
    ]
    order = list(_COLOURS)
    return sorted(paired, key=lambda pair: (order.index(pair.kind), _reach(pair)))


def build(context: Context) -> Figure | None:
    """The chart; None if this run found no roof by itself."""
    paired = pairs(context.roofs)
    if not any(pair.found for pair in paired):
        return None
    groups = [[pair for pair in paired if pair.kind == kind] for kind in _COLOURS]
    groups = [group for group in groups if group]
    top, between, bottom = 1.3, 0.75, 0.55
    lines = sum(len(group) for group in groups)
    height = top + lines * _LINE + between * (len(groups) - 1) + bottom
    width, left, right = 8.2, 1.35, 1.75
    figure = style.new_figure(width, height)
    at = height - top
    for group in groups:
        depth = len(group) * _LINE
        axes = figure.add_axes(
            (left / width, (at - depth) / height, (width - left - right) / width, depth / height)
        )
        _panel(axes, group)
        at -= depth + between
    style.heading(figure, "Roofs", context)
    _legend(figure, context)
    if context.modelled:
        style.watermark(figure)
    return figure


def _reach(pair: Pair) -> float:
    return max(roof.value for roof in (pair.found, pair.filed) if roof is not None)


def _panel(axes: Axes, group: list[Pair]) -> None:
    kind = group[0].kind
    values = [roof.value for pair in group for roof in (pair.found, pair.filed) if roof]
    lowest, highest = min(values) / 3, max(values) * 1.4
    axes.set_xscale("log")
    axes.set_xlim(lowest, highest)
    axes.set_ylim(len(group) - 0.5, -0.5)
    for line, pair in enumerate(group):
        if pair.found:
            axes.barh(line, pair.found.value - lowest, left=lowest, height=0.62, zorder=2,
                      color=_COLOURS[kind], gid="found",
                      hatch="" if pair.found.provenance == "measured" else "///",
                      edgecolor="white", linewidth=0)  # fmt: skip
        if pair.filed:
            axes.plot([pair.filed.value] * 2, [line - 0.42, line + 0.42], zorder=3, lw=2.2,
                      color=style.INK, gid="filed",
                      ls=style.ROOF_LINES[pair.filed.provenance])  # fmt: skip
        said = pair.found or pair.filed
        assert said is not None
        text = si(said.value, pair.unit)
        if math.isfinite(pair.fraction):
            text += f"   {pair.fraction * 100:.0f} %"
        axes.annotate(text, (1, line), xycoords=("axes fraction", "data"), xytext=(8, 0),
                      textcoords="offset points", va="center", size=8,
                      color=style.INK if pair.found else style.GREY)  # fmt: skip
    axes.set_yticks(range(len(group)), [_WORDS.get(pair.name, pair.name) for pair in group])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    title, unit = ("bandwidth", "B/s") if kind == "bandwidth" else ("arithmetic rate", "FLOP/s")
    style.log_si_axis(axes, "x", title, unit)


def _legend(figure: Figure, context: Context) -> None:
    verb = "modelled" if context.modelled else "measured"
    provenances = [
        word for word in style.ROOF_LINES
        if word not in _FOUND and any(roof.provenance == word for roof in context.roofs)
    ]  # fmt: skip
    handles = [
        Patch(facecolor=style.GREY, edgecolor="white", hatch="///" if context.modelled else "",
              label=f"{verb} in this run"),
        *(Line2D([], [], color=style.INK, lw=2.2, ls=style.ROOF_LINES[word],
                 label=f"device file: {style.ROOF_WORDS[word]}") for word in provenances),
    ]  # fmt: skip
    figure.legend(handles=handles, loc="upper left", ncol=len(handles), frameon=False,
                  bbox_to_anchor=(0.005, 1 - 0.58 / figure.get_figheight()))  # fmt: skip
