"""The legend that all panels share, and what stands at the foot."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gpubench_reports.charts import style
from gpubench_reports.charts.concept.axes import alignments
from gpubench_reports.charts.concept.panel import MARK, RING, doubtful_rows
from gpubench_reports.charts.concept.scales import claimed_columns
from gpubench_reports.charts.heat_map import Plane
from gpubench_reports.common.units import argument_text
from gpubench_reports.results.context import Context
from gpubench_reports.results.sweeps import Panel
from gpubench_reports.results.sweeps import axes as axes_of


def draw_key(
    figure: Figure,
    ok: pd.DataFrame,
    drawn: list[Panel],
    planes: list[Plane],
    context: Context,
    prediction: bool,
    covered: bool,
) -> None:
    """One legend for the figure: what points and lines are."""
    handles = [*_rows_handles(ok, context, prediction), *_mark_handles(drawn, planes, covered)]
    labels = [(h[0] if isinstance(h, tuple) else h).get_label() for h in handles]
    figure.legend(
        handles=handles,
        labels=labels,
        loc="upper left",
        ncols=4,
        borderaxespad=0,
        borderpad=0,
        bbox_to_anchor=(0.012, 1 - 0.62 / figure.get_figheight()),
        handlelength=2.6,
        columnspacing=1.6,
    )


# A line of the legend: a mark, or one mark on another.
_Handle = Line2D | tuple[Line2D, Line2D]


def _line(label: str, color: str = style.INK, **looks: Any) -> Line2D:
    return Line2D([], [], color=color, label=label, **looks)


def _rows_handles(ok: pd.DataFrame, context: Context, prediction: bool) -> list[_Handle]:
    """The rows' own figures, their law and their prediction."""
    has_interval = (ok["high"] > ok["low"]).any()
    shown = context.verb + (" (bar: 95 % interval)" if has_interval else "")
    handles: list[_Handle] = [_line(shown, marker="o", ms=5.2, lw=1.2)]
    if ok["law_value"].notna().any():
        handles.append(_line("law", alpha=0.45, ls=(0, (5, 2)), lw=2.4))
    if prediction:
        handles.append(_line("predicted by the model", ls=":", lw=1.3, marker="x", ms=4.5))
    return handles


def _mark_handles(drawn: list[Panel], planes: list[Plane], covered: bool) -> list[_Handle]:
    """Marks that only some charts have."""
    handles: list[_Handle] = []
    if any(doubtful_rows(series.rows).any() for panel in drawn for series in panel.series):
        text = "not converged or throttled"
        handles.append(_line(text, ls="none", marker="o", ms=5.2, mfc="white"))
    if any(claimed_columns(panel) for panel in drawn):
        dashes = (0, (1, 2))
        text = "claimed, not synchronised"
        ring = _line(text, ls=dashes, lw=0.8, marker="o", ms=7, mfc="white")
        handles.append((ring, _line("", ls="none", marker="x", ms=5)))
    if covered:
        text = "larger: others lie on it"
        ring = _line(text, ls="none", marker="o", ms=MARK + RING, mfc="white")
        handles.append((ring, _line("", style.GREY, ls="none", marker="s", ms=MARK)))
    if any(alignments(panel) for panel in drawn):
        text = "multiples of 8, 16 (broader), 64 (broadest)"
        handles.append(_line(text, style.GREY, ls="-", lw=0.9, marker="|"))
    if planes:
        text = "from here on the law is flat"
        handles.append(_line(text, style.COLOURS[1], ls=(0, (5, 2)), lw=2.2))
    return handles


def footnotes(figure: Figure, rows: pd.DataFrame) -> None:
    """Says which rows are not in the chart and why, and which rest on a rule nobody confirmed."""
    parts = []
    for status, word in (("skipped", "skipped"), ("failed", "FAILED")):
        lost = rows[rows["status"] == status]
        for why, group in lost.groupby("reason", sort=False):
            names = ", ".join(name.partition("/")[2] or name for name in group["name"][:3])
            more = f" and {len(group) - 3} more" if len(group) > 3 else ""
            parts.append(f"{word}: {names}{more} ({why})")
    notes = ["Not drawn. " + "; ".join(parts)] if parts else []
    doubtful = rows[rows["rule"] == "unconfirmed"]
    if not doubtful.empty:
        notes.append(f"Counted by a rule that no profiler has confirmed: {_in_short(doubtful)}.")
    if notes:
        style.footnote(figure, "  ".join(notes), int(figure.get_figwidth() * 16))


def _in_short(rows: pd.DataFrame) -> str:
    """Kernels, each with the arguments that tell its rows from its others: "strided bytes 8"."""
    found = []
    for kernel, group in rows.groupby("kernel", sort=False):
        few = {name: values for name, values in axes_of(group).items() if 1 <= len(values) <= 2}
        words = [
            f"{name} {' and '.join(map(argument_text, values))}" for name, values in few.items()
        ]
        found.append(" ".join([str(kernel), *words]))
    return "; ".join(found)
