"""What happened when: a Gantt chart of one run of each row that is worth a picture.

A panel per row, with the host on top, then its other threads, and a lane for every engine of the
device below them. Lanes are
what can be busy or idle, so a gap in one is time lost; a bar's colour says which stream it is of.
"""

import bisect

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator

from gpubench_reports.charts import quick_ticks, style
from gpubench_reports.common.units import si, si_exponent
from gpubench_reports.results.context import Context
from gpubench_reports.results.traces import Operation, Trace

_WIDTH, _LEFT, _RIGHT = 10.0, 1.45, 0.25  # inches
_LANE, _TITLE, _AXIS, _TOP = 0.24, 0.30, 0.40, 0.92  # inches
_LETTER = 0.058  # inches, of the names in bars
# A longer program is drawn up to this many operations of its busiest engine: its pattern repeats.
_MOST, _ENOUGH = 20, 10
_HOST, _THREAD = "host", "thread "


def build(concept: str, traces: list[Trace], context: Context) -> Figure | None:
    """The figure for `traces`, all of one concept; None when there is none."""
    if not traces:
        return None
    lanes = [_lanes(trace) for trace in traces]
    heights = [_TITLE + _LANE * len(names) + _AXIS for names in lanes]
    height = _TOP + sum(heights) + 0.1
    figure = style.new_figure(_WIDTH, height)
    style.heading(figure, f"{concept}: one run on the timeline", context)
    top = _TOP
    most_streams = 1
    for trace, names, panel in zip(traces, lanes, heights, strict=True):
        base = height - top - panel + _AXIS
        axes = figure.add_axes(
            (
                _LEFT / _WIDTH,
                base / height,
                (_WIDTH - _LEFT - _RIGHT) / _WIDTH,
                _LANE * len(names) / height,
            )
        )
        most_streams = max(most_streams, _draw(axes, trace, names))
        top += panel
    _key(figure, most_streams)
    if context.modelled:
        style.watermark(figure)
    return figure


def _is_stream(track: str) -> bool:
    return "stream" in track


def _is_of_host(track: str) -> bool:
    return track == _HOST or track.startswith(_THREAD)


def _lanes(trace: Trace) -> list[str]:
    """The tracks to draw, from the top: the host, its threads, the engines in order of use."""
    engines = [t for t, bars in trace.tracks.items() if bars and t != _HOST and not _is_stream(t)]
    engines.sort(key=lambda track: (not _is_of_host(track), trace.tracks[track][0].begin))
    return [_HOST, *engines]


def window(trace: Trace) -> float:
    """Up to when the run is drawn [s]: all of it, or as much as shows its pattern."""
    engines = [trace.tracks[lane] for lane in _lanes(trace)[1:]]
    busiest = max(engines, key=len, default=[])
    return trace.end if len(busiest) <= _MOST else busiest[_ENOUGH].begin


def busy_share(bars: list[Operation], until: float) -> float:
    """The share of [0, until] in which at least one of `bars` runs."""
    busy = reached = 0.0
    for bar in sorted(bars, key=lambda b: b.begin):
        busy += max(0.0, min(bar.end, until) - max(bar.begin, reached))
        reached = max(reached, bar.end)
    return busy / until if until > 0 else 0.0


def _draw(axes: Axes, trace: Trace, lanes: list[str]) -> int:
    """Draws one panel; returns how many streams worked."""
    until = window(trace)
    engines = [lane for lane in lanes if not _is_of_host(lane)]
    streams = list(dict.fromkeys(o.stream for lane in engines for o in trace.tracks[lane]))
    order = list(trace.tracks)
    streams.sort(key=lambda stream: order.index(stream) if stream in order else len(order))
    per_inch = until / (_WIDTH - _LEFT - _RIGHT)
    for place, lane in enumerate(lanes):
        bars = trace.tracks.get(lane, [])
        last = bisect.bisect_left([bar.begin for bar in bars], until)
        for bar in bars[:last]:
            colour = style.GREY
            if lane in engines:
                colour = style.COLOURS[streams.index(bar.stream) % len(style.COLOURS)]
            width = min(bar.end, until) - bar.begin
            axes.add_artist(
                Rectangle(
                    (bar.begin, place - 0.37),
                    width,
                    0.74,
                    facecolor=colour,
                    lw=0.4,
                    edgecolor="white",
                    gid=f"bar {lane}",
                )
            )
            text = bar.name.removeprefix("cuda").rpartition("::")[2]
            if text != lane and len(text) * _LETTER < width / per_inch - 0.05:
                axes.text(
                    bar.begin + width / 2,
                    place,
                    text,
                    size=6.5,
                    color="white",
                    ha="center",
                    va="center",
                )
    axes.set_xlim(0, until)
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    axes.set_yticks(range(len(lanes)), [_lane_label(trace, lane) for lane in lanes])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    exponent = si_exponent(until)
    axes.xaxis.set_major_locator(MaxNLocator(8))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value / 10.0**exponent:.4g} {_unit(exponent)}")
    )
    quick_ticks.ask_for(axes.xaxis)
    drawn = "" if until == trace.end else f"the first {si(until, 's')} of "
    axes.set_title(style.shorten(trace.name.partition("/")[2], 70), pad=4)
    axes.set_title(
        f"{drawn}{si(trace.end, 's')}",
        loc="right",
        pad=4,
        size=8,
        color=style.GREY,
        weight="normal",
    )
    return len(streams)


def _lane_label(trace: Trace, lane: str) -> str:
    if lane == _HOST:
        return lane
    return f"{lane}  {100 * busy_share(trace.tracks[lane], trace.end):.0f} %"


def _unit(exponent: int) -> str:
    return si(10.0**exponent, "s").partition(" ")[2]


def _key(figure: Figure, streams: int) -> None:
    handles = [Patch(color=style.GREY, label="a call or a thread of the host")]
    for n in range(min(streams, len(style.COLOURS))):
        label = "of a stream" if streams == 1 else "of the first stream" if n == 0 else ""
        handles.append(Patch(color=style.COLOURS[n], label=label))
    if streams > 1:
        handles[-1].set_label("others in turn")
    handles.append(Patch(color="none", label="%: busy, of the whole run"))
    figure.legend(
        handles=handles,
        loc="upper left",
        ncols=len(handles),
        borderaxespad=0,
        borderpad=0,
        bbox_to_anchor=(0.012, 1 - 0.60 / figure.get_figheight()),
        handlelength=1.2,
        columnspacing=1.0,
    )
