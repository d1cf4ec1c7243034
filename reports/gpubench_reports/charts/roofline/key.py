"""What stands below the roofline: the looks of lines and points, and numbers resolved."""

import textwrap
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gpubench_reports.charts import style
from gpubench_reports.charts.roofline.labels import spans
from gpubench_reports.charts.roofline.lines import RIDGE, Line
from gpubench_reports.charts.roofline.sweeps import Sweep
from gpubench_reports.common.units import argument_text
from gpubench_reports.results.context import PROVENANCES_OF_RUN, Context

KEY_LINE = 0.155  # inches
_KEY_CHARACTERS = 88


def draw_styles(figure: Figure, context: Context, lines: list[Line]) -> None:
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
                marker=RIDGE,
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
class Sign:
    """What stands before an entry of the key; a Sweep has these attributes too."""

    marker: str
    colour: str


def key_entry(sweep: Sweep, spelled: bool) -> tuple[Sweep | Sign, list[str]]:
    """What a sweep is, wrapped to the key's column; with its numbers, where its points carry
    those."""
    text = sweep.kernel if spelled else f"{spans(list(sweep.numbers))}  {sweep.kernel}"
    if sweep.series.label:
        text += f" ({sweep.series.label})"
    if sweep.x_name:
        text += f", {sweep.x_name} " + ", ".join(argument_text(x) for x in sweep.series.x)
    return sweep, wrapped(text)


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _KEY_CHARACTERS, subsequent_indent="      ")


def draw_key(figure: Figure, key: list[tuple[Sweep | Sign, list[str]]], top: float) -> None:
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
        y = top - at * KEY_LINE
        figure.add_artist(
            Line2D(
                [x / width],
                [(y - 0.06) / height],
                marker=sign.marker,
                color=sign.colour,
                ms=5.5,
                ls="none",
                transform=figure.transFigure,
                mfc="white" if sign.marker == RIDGE else sign.colour,
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
