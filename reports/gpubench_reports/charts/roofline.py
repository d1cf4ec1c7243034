"""The roofline: every row with arithmetic intensity and arithmetic rate under the device's roofs.

After Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model", 2009:
attainable FLOP/s = min(peak, intensity x bandwidth).
"""

import math
import textwrap
from dataclasses import dataclass

import numpy as np
import pandas as pd
import textalloc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import offset_copy

from gpubench_reports.charts import style
from gpubench_reports.common.units import argument_text, arithmetic_unit, si
from gpubench_reports.results.headlines import with_headline
from gpubench_reports.results.reader import PROVENANCES_OF_RUN, Context, Roof
from gpubench_reports.results.sweeps import Series, sweeps

# Up to this many points carry their swept value; more carry numbers.
_SPELLED_OUT = 24
# Of more than this many, only the ends and knees of sweeps are labelled: others have no room.
_MOST_LABELLED = 200
_WIDTH, _PLOT_HEIGHT = 11.0, 6.0  # inches
_LEFT, _RIGHT = 0.75, 2.15  # inches beside the plot; the names of the flat roofs stand right of it
_KEY_LINE = 0.155  # inches
_KEY_CHARACTERS = 88
# Roofs closer than this are one line with two names: they could not be told apart.
_SAME = 0.005
_RIDGE = "d"  # the mark of a ridge point, hollow
_GAP = 6  # pixels before and after a name along a slope
# Points closer than this [points of print] share one label with all their numbers.
_ON_TOP = 4.5


# x, y, text and colour of a label.
_Label = tuple[float, float, str, str]


@dataclass
class Sweep:
    """Points of one kernel that a path joins: `numbers` are theirs, from 1 over the chart."""

    kernel: str
    x_name: str
    series: Series
    numbers: range
    colour: str
    marker: str

    @property
    def joined(self) -> bool:
        """Whether there is something between the points: an axis of names has nothing there."""
        return all(isinstance(x, int | float) for x in self.series.x)

    @property
    def intensity(self) -> np.ndarray:
        return self.series.rows["arithmetic_intensity"].to_numpy(float)

    @property
    def rate(self) -> np.ndarray:
        return self.series.rows["flops_per_second"].to_numpy(float)


def build(rows: pd.DataFrame, context: Context) -> Figure | None:
    """The roofline of all `rows`; None when no row has an intensity: roofs alone say nothing of the
    run."""
    found = find_sweeps(rows)
    if not found:
        return None
    bandwidths = merged([r for r in context.roofs if r.kind == "bandwidth"])
    peaks = merged([r for r in context.roofs if r.kind == "compute"])
    ridges = ridge_points(bandwidths, peaks)
    spelled = sum(len(sweep.numbers) for sweep in found) <= _SPELLED_OUT
    key = [_key_entry(sweep, spelled) for sweep in found]
    if ridges:
        names = "; ".join(name for _, _, name in ridges)
        key.append((_Sign(_RIDGE, style.INK), _wrapped(f"ridge points [FLOP per byte]  {names}")))
    key_lines = math.ceil(sum(len(lines) for _, lines in key) / 2) + 1
    top, bottom = 0.95, 0.55
    height = top + _PLOT_HEIGHT + bottom + key_lines * _KEY_LINE + 0.15
    figure = style.new_figure(_WIDTH, height)
    axes = figure.add_axes(
        (
            _LEFT / _WIDTH,
            (height - top - _PLOT_HEIGHT) / height,
            (_WIDTH - _LEFT - _RIGHT) / _WIDTH,
            _PLOT_HEIGHT / height,
        )
    )
    style.heading(figure, "Roofline", context)
    _limits(axes, found, bandwidths, peaks)
    segments = _draw_roofs(axes, bandwidths, peaks)
    names = _name_slopes(axes, bandwidths)
    name_flats(axes, peaks)
    for sweep in found:
        axes.plot(
            sweep.intensity,
            sweep.rate,
            color=sweep.colour,
            lw=0.9,
            alpha=0.8,
            ls="-" if sweep.joined else "none",
            marker=sweep.marker,
            ms=5.5,
            mec="white",
            mew=0.5,
            zorder=6,
            gid="row",
        )
    _label(axes, found, names, segments, ridges, spelled)
    _styles(figure, context, bandwidths + peaks)
    _draw_key(figure, key, height - top - _PLOT_HEIGHT - bottom)
    if context.modelled:
        style.watermark(figure)
    return figure


def find_sweeps(rows: pd.DataFrame) -> list[Sweep]:
    """The rows that a roofline can show, by kernel and sweep, numbered through."""
    ok = rows[rows["status"] == "ok"]
    ok = ok[(ok["arithmetic_intensity"] > 0) & (ok["flops_per_second"] > 0)]
    found: list[Sweep] = []
    number = 1
    kernels = list(dict.fromkeys(zip(ok["concept"], ok["kernel"], strict=True)))
    for concept, kernel in kernels:
        part = with_headline(ok[(ok["concept"] == concept) & (ok["kernel"] == kernel)])
        for x_name, series in sweeps(part):
            numbers = range(number, number + len(series.x))
            number = numbers.stop
            # 6 colours and 11 markers have no common factor: 66 sweeps before a pair repeats.
            colour = style.COLOURS[len(found) % len(style.COLOURS)]
            marker = style.MARKERS[len(found) % len(style.MARKERS)]
            found.append(Sweep(f"{concept}/{kernel}", x_name, series, numbers, colour, marker))
    return found


@dataclass
class Line:
    """Roofs of one kind and provenance with the same value."""

    names: list[str]
    kind: str
    value: float
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
            alike = arithmetic_unit(line.names[0]) == arithmetic_unit(roof.name)
            if close and alike and line.provenance == roof.provenance:
                line.names = sorted({*line.names, roof.name})
                break
        else:
            lines.append(Line([roof.name], roof.kind, roof.value, roof.provenance))
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


def _limits(axes: Axes, found: list[Sweep], bandwidths: list[Line], peaks: list[Line]) -> None:
    intensities = [v for sweep in found for v in sweep.intensity]
    rates = [v for sweep in found for v in sweep.rate]
    ridges = [p.value / b.value for p in peaks for b in bandwidths]
    x = [*intensities, *ridges] or [1.0]
    y = [*rates, *(p.value for p in peaks)] or [1.0]
    left, right = min(x) / 4, max(x) * 4
    low, high = min(y) / 4, max(y) * 2.2
    if bandwidths and peaks:
        # Room for the slopes: without it only their last decade would be seen.
        low = min(low, min(p.value for p in peaks) / 30)
        left = min(left, min(ridges) / 10)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    style.log_si_axis(axes, "x", "arithmetic intensity", "FLOP per byte moved")
    style.log_si_axis(axes, "y", "arithmetic rate", "FLOP/s")


def _draw_roofs(
    axes: Axes, bandwidths: list[Line], peaks: list[Line]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Draws the roofs; returns their (x, y), which labels keep clear of."""
    segments: list[tuple[np.ndarray, np.ndarray]] = []
    left, right = axes.get_xlim()
    low, high = axes.get_ylim()
    ceiling = max((p.value for p in peaks), default=high)
    steepest = max((b.value for b in bandwidths), default=None)
    for line in bandwidths:
        x = np.array([max(left, low / line.value), min(right, ceiling / line.value)])
        segments.append((x, x * line.value))
        axes.plot(*segments[-1], **_roof_style(line))
    for line in peaks:
        start = max(left, line.value / steepest) if steepest else left
        segments.append((np.array([start, right]), np.array([line.value] * 2)))
        axes.plot(*segments[-1], **_roof_style(line))
    return segments


def _roof_style(line: Line) -> dict:
    return {
        "ls": style.ROOF_LINES[line.provenance],
        "lw": 1.5 if line.of_run else 1.0,
        "color": style.INK if line.of_run else style.GREY,
        "zorder": 3 if line.of_run else 2,
        "gid": f"roof:{line.provenance}",
    }


def _by_name(lines: list[Line]) -> list[list[Line]]:
    """Lines of the same name together: they lie close and share one label."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(line.name, []).append(line)
    return list(groups.values())


def _roof_text(lines: list[Line], unit: str, separator: str) -> str:
    ordered = sorted(lines, key=lambda line: not line.of_run)
    values = separator.join(
        f"{si(line.value, unit)} {style.ROOF_WORDS[line.provenance]}" for line in ordered
    )
    return f"{lines[0].name}  {values}"


def _flat_text(lines: list[Line]) -> str:
    text = _roof_text(lines, arithmetic_unit(*lines[0].names), "\n")
    return text.replace("  ", "\n", 1)


def _name_slopes(axes: Axes, bandwidths: list[Line]) -> list[Text]:
    """Names along the slopes, each above its line and pushed along it clear of the others."""
    left, low = axes.get_xlim()[0], axes.get_ylim()[0]
    to_display = axes.transData.transform
    slope = to_display((10, 10)) - to_display((1, 1))
    angle = math.degrees(math.atan2(slope[1], slope[0]))
    above = offset_copy(axes.transData, axes.figure, -1.5, 2.0, units="points")
    placed: list[Text] = []
    renderer = axes.figure.canvas.get_renderer()
    for group in sorted(_by_name(bandwidths), key=lambda lines: -lines[0].value):
        upper = max(group, key=lambda line: line.value)
        start = max(left, low / upper.value) * 1.15
        text = axes.text(
            start,
            start * upper.value,
            _roof_text(group, "B/s", ", "),
            size=7.5,
            rotation=angle,
            rotation_mode="anchor",
            va="bottom",
            ha="left",
            color=style.INK,
            zorder=7,
            gid="roof-label",
            transform=above,
        )
        for _ in range(40):
            if not any(_cross(text, other, renderer) for other in placed):
                break
            start *= 1.2
            text.set_position((start, start * upper.value))
        placed.append(text)
    return placed


def _cross(one: Text, other: Text, renderer) -> bool:
    """Whether two labels of the same rotation overlap, as the slanted boxes that they are."""
    angle = math.radians(one.get_rotation())

    def band(text: Text) -> tuple[float, float, float, float]:
        x, y = text.get_transform().transform(text.get_position())
        along = x * math.cos(angle) + y * math.sin(angle)
        across = -x * math.sin(angle) + y * math.cos(angle)
        width, height, _ = renderer.get_text_width_height_descent(
            text.get_text(), text.get_fontproperties(), False
        )
        return along - _GAP, along + width + _GAP, across, across + height

    a, b = band(one), band(other)
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def name_flats(axes: Axes, peaks: list[Line]) -> None:
    """Names of the flat roofs in the margin at the right, spread where they would touch."""
    groups = _by_name(peaks)
    if not groups:
        return
    height = axes.bbox.height / axes.figure.dpi  # inches
    low, high = np.log(axes.get_ylim())
    lines = [len(group) for group in groups]
    wanted = [
        (np.mean([math.log(line.value) for line in group]) - low) / (high - low) * height
        for group in groups
    ]
    heights = [0.135 * (1 + count) + 0.05 for count in lines]
    for group, at, want in zip(groups, spread(wanted, heights, height), wanted, strict=True):
        axes.text(
            1.045,
            at / height,
            _flat_text(group),
            transform=axes.transAxes,
            size=7.5,
            va="center",
            color=style.INK,
            linespacing=1.15,
            gid="roof-label",
        )
        axes.plot(
            [1.0, 1.015, 1.038],
            [want / height, want / height, at / height],
            lw=0.6,
            color=style.GREY,
            transform=axes.transAxes,
            clip_on=False,
        )


def spread(wanted: list[float], heights: list[float], room: float) -> list[float]:
    """Centres near `wanted` (rising) for boxes of these heights, one over another without touching.

    The highest box stays below `room`; a box is only pushed as far as its neighbours force it.
    """
    centres = list(wanted)
    for index in range(1, len(centres)):
        gap = (heights[index] + heights[index - 1]) / 2
        centres[index] = max(centres[index], centres[index - 1] + gap)
    limit = room
    for index in reversed(range(len(centres))):
        centres[index] = min(centres[index], limit - heights[index] / 2)
        limit = centres[index] - heights[index] / 2
    return centres


def knee(x: np.ndarray, y: np.ndarray) -> int | None:
    """Index of the point farthest (in log-log) from the line between the ends; None if straight."""
    if len(x) < 3:
        return None
    px, py = np.log10(x), np.log10(y)
    dx, dy = px[-1] - px[0], py[-1] - py[0]
    length = math.hypot(dx, dy)
    if length == 0:
        return None
    distance = np.abs(dx * (py - py[0]) - dy * (px - px[0])) / length
    index = int(distance.argmax())
    return index if distance[index] > 0.05 else None


def _label(
    axes: Axes,
    found: list[Sweep],
    names: list[Text],
    segments: list[tuple[np.ndarray, np.ndarray]],
    ridges: list[tuple[float, float, str]],
    spelled: bool,
) -> None:
    """Names ridges and points, clear of the slopes' `names` and, where possible, of all lines.

    Ends and knees of sweeps come first; what has no room is left out and found by counting along
    the path, since the key lists every number.
    """
    for x, y, _ in ridges:
        axes.plot(
            [x],
            [y],
            marker=_RIDGE,
            ms=5,
            mfc="white",
            mec=style.INK,
            ls="none",
            zorder=5,
            gid="ridge",
        )
    first: list[_Label] = []
    later: list[_Label] = []
    for sweep in found:
        x, y = sweep.intensity, sweep.rate
        important = {0, len(x) - 1, knee(x, y)}
        for index, number in enumerate(sweep.numbers):
            text = _point_label(sweep, index) if spelled else str(number)
            label = (x[index], y[index], text, style.darker(sweep.colour))
            (first if index in important else later).append(label)
    if not spelled:
        first, later = _together(axes, first), _together(axes, later)
    if len(first) + len(later) > _MOST_LABELLED:
        first, later = first[:_MOST_LABELLED], []
    ridge_labels = [(x, y, name, style.INK) for x, y, name in ridges]
    points = [(x, y) for sweep in found for x, y in zip(sweep.intensity, sweep.rate, strict=True)]
    points += [(x, y) for x, y, _ in ridges]
    scatter = np.array(points)
    lines = [bar for text in names for bar in _bars(axes, text)]
    lines += segments
    lines += [(s.intensity, s.rate) for s in found if s.joined and len(s.series.x) > 1]
    for batch, gid in ((ridge_labels, "ridge-label"), ([*first, *later], "row-label")):
        if not batch:
            continue
        _, _, texts, _ = textalloc.allocate(
            axes,
            [label[0] for label in batch],
            [label[1] for label in batch],
            [label[2] for label in batch],
            x_scatter=scatter[:, 0],
            y_scatter=scatter[:, 1],
            x_lines=[x for x, _ in lines] or None,
            y_lines=[y for _, y in lines] or None,
            textsize=7.5,
            textcolor=[label[3] for label in batch],
            linecolor=[label[3] for label in batch],
            linewidth=0.5,
            margin=0.004,
            min_distance=0.008,
            max_distance=0.09,
            nbr_candidates=120,
            draw_all=False,
            avoid_label_lines_overlap=True,
            gid=gid,
            zorder=8,
        )
        lines += [bar for text in texts if text is not None for bar in _bars(axes, text)]


def _together(axes: Axes, labels: list[_Label]) -> list[_Label]:
    """Labels of numbers, those of points that lie on each other as one: "60–62, 65"."""
    if not labels:
        return []
    reach = _ON_TOP * axes.figure.dpi / 72
    places = axes.transData.transform([(x, y) for x, y, _, _ in labels])
    groups: list[list[int]] = []
    for index, place in enumerate(places):
        for group in groups:
            if np.hypot(*(place - places[group[0]])) < reach:
                group.append(index)
                break
        else:
            groups.append([index])
    found = []
    for group in groups:
        x, y, _, colour = labels[group[0]]
        numbers = sorted({int(labels[index][2]) for index in group})
        same = all(labels[index][3] == colour for index in group)
        found.append((x, y, spans(numbers), colour if same else style.INK))
    return found


def spans(numbers: list[int]) -> str:
    """Rising numbers in short: [1, 2, 3, 5] is "1–3, 5"."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in found)


def _point_label(sweep: Sweep, index: int) -> str:
    short = f"{sweep.kernel.partition('/')[2]} {sweep.series.values}".rstrip()
    if not sweep.x_name:
        return short
    value = argument_text(sweep.series.x[index])
    return f"{short} {sweep.x_name} {value}" if index == 0 else value


def _bars(axes: Axes, text: Text) -> list[tuple[np.ndarray, np.ndarray]]:
    """A label as lines [data coordinates] along its foot, middle and head: no other fits between.

    The placing library keeps labels clear of points and lines; it takes no slanted boxes.
    """
    renderer = axes.figure.canvas.get_renderer()
    angle = math.radians(text.get_rotation())
    along = np.array([math.cos(angle), math.sin(angle)])
    across = np.array([-along[1], along[0]])
    if angle:
        width, height, _ = renderer.get_text_width_height_descent(
            text.get_text(), text.get_fontproperties(), False
        )
        corner = text.get_transform().transform(text.get_position())
    else:
        box = text.get_window_extent(renderer)
        width, height, corner = box.width, box.height, np.array([box.x0, box.y0])
    bars = []
    for part in (0, 0.5, 1):
        start = corner + across * height * part
        ends = axes.transData.inverted().transform([start, start + along * width])
        bars.append((ends[:, 0], ends[:, 1]))
    return bars


def _styles(figure: Figure, context: Context, lines: list[Line]) -> None:
    present = [p for p in style.ROOF_LINES if any(line.provenance == p for line in lines)]
    handles = [
        Line2D(
            [],
            [],
            ls=style.ROOF_LINES[p],
            label=f"roof, {style.ROOF_WORDS[p]}",
            lw=1.5 if p in PROVENANCES_OF_RUN else 1.0,
            color=style.INK if p in PROVENANCES_OF_RUN else style.GREY,
        )
        for p in present
    ]
    if lines:
        handles.append(
            Line2D(
                [],
                [],
                ls="none",
                marker=_RIDGE,
                ms=5,
                mfc="white",
                mec=style.INK,
                label="ridge point",
            )
        )
    handles.append(
        Line2D(
            [],
            [],
            color=style.GREY,
            lw=0.9,
            marker="o",
            ms=5.5,
            mec="white",
            label=f"row, {context.verb}; paths join sweeps",
        )
    )
    figure.legend(
        handles=handles,
        loc="upper left",
        ncols=len(handles),
        borderaxespad=0,
        borderpad=0,
        bbox_to_anchor=(0.012, 1 - 0.62 / figure.get_figheight()),
        handlelength=2.6,
        columnspacing=1.6,
    )


@dataclass
class _Sign:
    """What stands before an entry of the key; a Sweep has these attributes too."""

    marker: str
    colour: str


def _key_entry(sweep: Sweep, spelled: bool) -> tuple[Sweep | _Sign, list[str]]:
    """What a sweep is, wrapped to the key's column; with its numbers, where its points carry
    those."""
    text = sweep.kernel if spelled else f"{spans(list(sweep.numbers))}  {sweep.kernel}"
    if sweep.series.label:
        text += f" ({sweep.series.label})"
    if sweep.x_name:
        text += f", {sweep.x_name} " + ", ".join(argument_text(x) for x in sweep.series.x)
    return sweep, _wrapped(text)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _KEY_CHARACTERS, subsequent_indent="      ")


def _draw_key(figure: Figure, key: list[tuple[Sweep | _Sign, list[str]]], top: float) -> None:
    """The key under the plot, in two columns of about the same length; `top` in inches."""
    if not key:
        return
    width, height = figure.get_size_inches()
    half = sum(len(lines) for _, lines in key) / 2
    column, at = 0, 0.0
    for sign, lines in key:
        if column == 0 and at >= half:
            column, at = 1, 0.0
        x = 0.2 + column * (width - 0.3) / 2
        y = top - at * _KEY_LINE
        figure.add_artist(
            Line2D(
                [x / width],
                [(y - 0.06) / height],
                marker=sign.marker,
                color=sign.colour,
                ms=5.5,
                ls="none",
                transform=figure.transFigure,
                mfc="white" if sign.marker == _RIDGE else sign.colour,
            )
        )
        figure.text(
            (x + 0.12) / width,
            y / height,
            "\n".join(lines),
            size=7,
            va="top",
            color=style.INK,
            linespacing=1.2,
            gid="key",
        )
        at += len(lines)
