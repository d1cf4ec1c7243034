"""Who talks to whom: a matrix for every kernel whose rows are pairs, `from` and `to`.

A cell is a row. White cells were not run; hatched ones were skipped or failed, and the foot says
why.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gpubench_reports.charts import style
from gpubench_reports.charts.heat_map import COLOURS
from gpubench_reports.common.units import si, si_exponent, si_prefix
from gpubench_reports.results.context import Context
from gpubench_reports.results.headlines import quantity_of
from gpubench_reports.results.quantities import TIME

_FROM, _TO = "from", "to"
_CELL, _LEFT = 0.46, 0.75  # inches
_SMALL_BYTES = 64  # of a row that is about time, not bandwidth


@dataclass
class Matrix:
    """One kernel's pairs: `value[i, j]` of members[i] to members[j], NaN where there is none."""

    kernel: str
    members: list[int]
    value: np.ndarray
    lost: np.ndarray  # skipped or failed
    title: str
    unit: str


def is_of_pairs(rows: pd.DataFrame) -> pd.Series:
    """Which rows are pairs and nothing else."""
    return pd.Series(
        [set(arguments) == {_FROM, _TO} for arguments in rows["arguments"]],
        index=rows.index,
        dtype=bool,
    )


def matrices(rows: pd.DataFrame) -> list[Matrix]:
    """A matrix for every kernel of pairs that has a time."""
    pairs = rows[is_of_pairs(rows)]
    found = []
    for kernel, group in pairs.groupby("kernel", sort=False):
        ok = group[group["status"] == "ok"]
        if ok.empty:
            continue
        # Few bytes: what is looked at is how long they take.
        moved = ok["useful_bytes_per_second"] * ok["seconds"]
        by_time = bool((moved <= _SMALL_BYTES).all())
        quantity = TIME if by_time else quantity_of(ok)
        members = sorted({int(a[end]) for a in group["arguments"] for end in (_FROM, _TO)})
        value = np.full((len(members), len(members)), np.nan)
        lost = np.zeros(value.shape, dtype=bool)
        for _, row in group[group["status"] != "ok"].iterrows():
            lost[_cell(members, row)] = True
        for _, row in ok.iterrows():
            value[_cell(members, row)] = row["seconds"] if by_time else row["value"]
        found.append(Matrix(str(kernel), members, value, lost, quantity.title, quantity.unit))
    return found


def _cell(members: list[int], row: pd.Series) -> tuple[int, int]:
    arguments = row["arguments"]
    return members.index(int(arguments[_FROM])), members.index(int(arguments[_TO]))


def build(concept: str, rows: pd.DataFrame, context: Context) -> Figure | None:
    """The figure for `rows`, all rows of one concept; None when none of its kernels is of pairs."""
    found = matrices(rows)
    if not found:
        return None
    size = max(len(matrix.members) for matrix in found) * _CELL
    side = max(size, 1.6)
    width = max(len(found) * (side + _LEFT + 0.35) + 0.1, 7.5)
    foot = _foot(rows)
    height = 0.95 + side + 0.85 + (0.35 if foot else 0)
    figure = style.new_figure(width, height)
    style.heading(figure, f"{concept}: from each to each", context)
    each = (width - 0.1) / len(found)
    base = (0.55 + (0.35 if foot else 0)) / height
    for index, matrix in enumerate(found):
        axes = figure.add_axes(((index * each + _LEFT) / width, base, side / width, side / height))
        _draw(axes, matrix)
    if foot:
        style.footnote(figure, foot, int(width * 16), 2)
    if context.modelled:
        style.watermark(figure)
    return figure


def _draw(axes: Axes, matrix: Matrix) -> None:
    known = matrix.value[np.isfinite(matrix.value)]
    exponent = si_exponent(float(known.max()))
    wide = known.max() > 30 * known.min()
    norm = LogNorm(known.min(), known.max()) if wide else Normalize(0, known.max())
    axes.imshow(matrix.value, norm=norm, cmap=COLOURS, gid="cells")
    axes.grid(False)
    for (row, column), value in np.ndenumerate(matrix.value):
        if np.isfinite(value):
            text = si(float(value)) if wide else f"{value / 10.0**exponent:.3g}"
            axes.text(
                column,
                row,
                text,
                size=7,
                ha="center",
                va="center",
                gid="cell",
                color="white" if norm(value) > 0.5 else style.INK,
            )
        elif matrix.lost[row, column]:
            axes.add_patch(
                Rectangle(
                    (column - 0.5, row - 0.5),
                    1,
                    1,
                    fill=False,
                    hatch="////",
                    lw=0,
                    edgecolor=style.LIGHT,
                    gid="lost",
                )
            )
    ticks = range(len(matrix.members))
    axes.set_xticks(ticks, [str(member) for member in matrix.members])
    axes.set_yticks(ticks, [str(member) for member in matrix.members])
    axes.tick_params(length=0)
    axes.set_xlabel("to GPU")
    axes.set_ylabel("from GPU")
    unit = matrix.unit if wide else f"{si_prefix(exponent)}{matrix.unit}"
    axes.set_title(f"{matrix.kernel}: {matrix.title} [{unit}]")


def _foot(rows: pd.DataFrame) -> str:
    lost = rows[is_of_pairs(rows) & (rows["status"] != "ok")]
    reasons = lost.groupby("reason", sort=False).size()
    parts = [f"{count} {reason}" for reason, count in reasons.items()]
    return "Hatched: " + "; ".join(parts) + "." if parts else ""
