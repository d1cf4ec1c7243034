"""How every chart looks: colours, markers, headings, the watermark, and the bytes of its files.

Colours are Okabe and Ito's, which colour-blind readers can tell apart; markers and line styles
repeat what colour says, so that a chart also works in grey print.
"""

import io
import textwrap
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from gpubench_reports.charts import quick_ticks
from gpubench_reports.common.units import si_exponent, si_prefix, si_short
from gpubench_reports.results.context import Context

# Okabe-Ito without the yellow, which vanishes on paper, and the black, which is the roofs'.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
INK, GREY, LIGHT = "#222222", "#6B6B6B", "#D9D9D9"
# How a roof is known, by its line.
ROOF_LINES = {
    "measured": "-",
    "modelled": "-.",
    "data_sheet": (0, (6, 3)),
    "published": (0, (3, 1.5)),
    "calibrated": (0, (10, 3)),
    "derived": ":",
    "assumed": (0, (1, 4)),
}
# And where roofs are points, by its mark.
ROOF_MARKS = {
    "measured": "o",
    "modelled": "o",
    "data_sheet": "|",
    "published": "D",
    "calibrated": "s",
    "derived": "^",
    "assumed": "v",
}
ROOF_WORDS = {name: name.replace("_", " ") for name in ROOF_LINES}
WATERMARK = "MODELLED, not measured"
DPI = 150

_SETTINGS = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib: the same letters everywhere
    "font.size": 9,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titley": 1.0,  # where it is anyway; found by measuring all texts, it costs a tenth
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": LIGHT,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.hashsalt": "gpubench",  # the same ids in every run
    "svg.fonttype": "path",
}


def renderer_of(axes: Axes) -> Any:
    """What measures texts, as every figure of new_figure() has it."""
    canvas: Any = axes.figure.canvas
    return canvas.get_renderer()


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that size [inches], with this module's settings in force."""
    settings: Any = mpl.rcParams  # whose type knows no names but those written out
    settings.update(_SETTINGS)
    figure = Figure(figsize=(width, height), dpi=DPI)
    FigureCanvasAgg(figure)
    return figure


def to_files(figure: Figure) -> dict[str, bytes]:
    """The figure as {"png": bytes, "svg": bytes}; equal figures give equal bytes."""
    png, svg = io.BytesIO(), io.BytesIO()
    quick_ticks.draw_in(figure)
    figure.savefig(png, format="png", metadata={"Software": None})
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return {"png": png.getvalue(), "svg": svg.getvalue()}


def heading(figure: Figure, title: str, context: Context, note: str = "") -> None:
    """Title, then the line that says where the numbers come from, at the top left."""
    height = figure.get_figheight()
    figure.text(
        0.012,
        1 - 0.12 / height,
        shorten(title, 60),
        size=13,
        weight="bold",
        color=INK,
        va="top",
        gid="title",
    )
    small_print(figure, 0.40, run_line(context) + (f" · {note}" if note else ""), "subtitle")


def small_print(figure: Figure, below: float, text: str, gid: str, **looks: Any) -> None:
    """One line of small print `below` inches under the top edge, shrunk to the figure's width."""
    width, height = figure.get_size_inches()
    # A letter of DejaVu Sans is 0.58 of its size wide on average, of the bold face 0.66.
    share = 0.66 if looks.get("weight") == "bold" else 0.58
    size = width * 72 * 0.97 / (share * max(len(text), 1))
    if size < 6:
        text, size = shorten(text, int(len(text) * size / 6)), 6.0
    figure.text(
        0.012,
        1 - below / height,
        text,
        size=min(size, 8.5),
        va="top",
        gid=gid,
        **{"color": GREY, **looks},
    )


def run_line(context: Context) -> str:
    """Device, how the numbers came about, date, mode, software and commit, in one line."""
    commit = context.git_commit[:10] + (" (modified)" if context.git_dirty else "")
    return " · ".join(
        part
        for part in (
            context.device_title,
            f"{context.verb} by {context.imported_from}" if context.imported_from else context.verb,
            context.date[:16].replace("T", " "),
            f"{context.mode} caches" if context.mode in ("cold", "hot") else context.mode,
            f"driver {context.driver_version}" if context.driver_version else "",
            f"CUDA {context.cuda_version}" if context.cuda_version else "",
            f"commit {commit}" if context.git_commit else "",
            "interrupted" if context.interrupted else "",
        )
        if part
    )


def watermark(figure: Figure, text: str = WATERMARK) -> None:
    """`text` across the whole figure, over everything, faint enough to read through."""
    width, height = figure.get_size_inches()
    size = min(width / len(text) * 105, height * 16, 64)
    figure.text(
        0.5,
        0.47,
        text,
        size=size,
        color=GREY,
        alpha=0.15,
        weight="bold",
        ha="center",
        va="center",
        rotation=min(22.0, 60 * height / width / 2),
        zorder=50,
        gid="watermark",
    )


def footnote(figure: Figure, text: str, width: int = 150, lines: int = 4) -> None:
    """Small print at the bottom left, wrapped at `width` characters, at most `lines` lines."""
    wrapped = textwrap.wrap(text, width)
    if len(wrapped) > lines:
        wrapped = [*wrapped[: lines - 1], wrapped[lines - 1][: width - 2] + " …"]
    figure.text(
        0.012,
        0.06 / figure.get_figheight(),
        "\n".join(wrapped),
        size=7.5,
        color=GREY,
        va="bottom",
        gid="footnote",
    )


def shorten(text: str, length: int) -> str:
    """`text`, cut to `length` characters with an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"


def darker(colour: str) -> str:
    """`colour` mixed with black, so that thin letters in it can be read on white."""
    return "#" + "".join(f"{int(int(colour[i : i + 2], 16) * 0.68):02x}" for i in (1, 3, 5))


def linear_si_axis(axes: Axes, title: str, unit: str, largest: float) -> None:
    """A y axis from zero, in the one SI prefix that suits `largest`."""
    exponent = si_exponent(largest)
    scale = 10.0**exponent
    axes.set_ylim(0, largest * 1.12)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:.4g}"))
    axes.set_ylabel(f"{title} [{si_prefix(exponent)}{unit}]")
    quick_ticks.ask_for(axes.yaxis)


def log_si_axis(axes: Axes, which: str, title: str, unit: str) -> None:
    """A logarithmic axis ("x" or "y") with a prefix on every tick."""
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    steps = (1.0, 2.0, 5.0) if high < 300 * low else (1.0,)
    axis.set_major_locator(LogLocator(10, subs=steps, numticks=9))
    on_ticks = unit if unit == "s" else ""  # "10 µs" reads better than "10 µ"
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: si_short(value) + on_ticks if value > 0 else "")
    )
    axis.set_minor_formatter(NullFormatter())
    if high > 1e6 * low:
        axis.set_minor_locator(NullLocator())
    label = title if on_ticks else f"{title} [{unit}]"
    axes.set_xlabel(label) if which == "x" else axes.set_ylabel(label)
    quick_ticks.ask_for(axis)
