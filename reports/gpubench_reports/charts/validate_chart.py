"""Draws a validation: predicted over measured time, and the signed error by concept."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gpubench_reports.charts import style
from gpubench_reports.comparisons.validate import TARGET_FITTED, TARGET_PREDICTED, Validation

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
_HEAD = 0.95  # inches


def build(validation: Validation) -> Figure:
    """Left: each row's predicted over its measured time, with the diagonal. Right: the signed
    error, a line a concept, with the band of the target. Hollow: fitted, not held out."""
    concepts = list(dict.fromkeys(validation.rows["concept"]))
    looks = {
        concept: (style.COLOURS[i % len(style.COLOURS)], _MARKERS[i % len(_MARKERS)])
        for i, concept in enumerate(concepts)
    }
    width, height = 10.5, max(5.2, _HEAD + 0.75 + 0.24 * len(concepts))
    figure = style.new_figure(width, height)
    depth = (height - _HEAD - 0.75) / height
    left = figure.add_axes((0.07, 0.62 / height, 0.36, depth))
    right = figure.add_axes((0.63, 0.62 / height, 0.34, depth))
    _scatter(left, validation, looks)
    _errors(right, validation, looks)
    _head(figure, validation)
    return figure


def _points(axes, validation: Validation, looks: dict, x, y) -> None:
    for concept, (colour, marker) in looks.items():
        for fitted in (False, True):
            chosen = (validation.rows["concept"] == concept) & (validation.rows["fitted"] == fitted)
            if chosen.any():
                axes.plot(
                    x[chosen],
                    y[chosen],
                    ls="",
                    marker=marker,
                    ms=5,
                    color=colour,
                    mfc="none" if fitted else colour,
                    mew=0.9,
                    gid=f"{'fitted' if fitted else 'held-out'}:{concept}",
                )


def _scatter(axes, validation: Validation, looks: dict) -> None:
    rows = validation.rows
    times = rows[["measured", "predicted"]].to_numpy(float)
    low, high = times.min() / 2, times.max() * 2
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.plot([low, high], [low, high], color=style.INK, lw=1.0, zorder=1, gid="diagonal")
    for factor in (1 - TARGET_PREDICTED, 1 + TARGET_PREDICTED):
        axes.plot(
            [low, high],
            [low * factor, high * factor],
            color=style.GREY,
            lw=0.8,
            ls="--",
            zorder=1,
            gid="target",
        )
    _points(axes, validation, looks, rows["measured"], rows["predicted"])
    style.log_si_axis(axes, "x", "measured time", "s")
    style.log_si_axis(axes, "y", "predicted time", "s")


def _errors(axes, validation: Validation, looks: dict) -> None:
    rows = validation.rows
    places = {concept: place for place, concept in enumerate(looks)}
    axes.set_ylim(len(places) - 0.5, -0.5)
    percent = rows["error"] * 100
    reach = max(1.15 * np.abs(percent).max(), TARGET_PREDICTED * 120)
    axes.set_xlim(-reach, reach)
    axes.axvspan(
        -TARGET_PREDICTED * 100,
        TARGET_PREDICTED * 100,
        color=style.GREY,
        alpha=0.15,
        lw=0,
        gid="target",
    )
    axes.axvline(0, color=style.INK, lw=1.0, zorder=1)
    _points(axes, validation, looks, percent, rows["concept"].map(places).astype(float))
    axes.set_yticks(range(len(places)), [style.shorten(concept, 34) for concept in places])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("error of the predicted time, %   (← too fast | too slow →)")


def _head(figure: Figure, validation: Validation) -> None:
    height = figure.get_figheight()
    figure.text(
        0.012,
        1 - 0.12 / height,
        "Model against measurement",
        size=13,
        weight="bold",
        va="top",
        color=style.INK,
        gid="title",
    )
    rows = validation.rows
    held_out = rows[~rows["fitted"]]
    line = (
        f"{len(rows)} rows of {', '.join(dict.fromkeys(rows['device']))}; {len(held_out)} held out"
    )
    if not held_out.empty:
        line += (
            f": mean error {held_out['error'].mean() * 100:+.1f} %, "
            f"MAPE {held_out['error'].abs().mean() * 100:.1f} %"
        )
    style.small_print(figure, 0.42, line, "subtitle")
    handles = [
        Line2D([], [], color=style.GREY, lw=0.8, ls="--", label=f"± {TARGET_PREDICTED * 100:.0f} %")
    ]
    if rows["fitted"].any():
        handles.append(
            Line2D(
                [],
                [],
                ls="",
                marker="o",
                mfc="none",
                color=style.INK,
                ms=5,
                label=f"hollow: fitted, target ± {TARGET_FITTED * 100:.0f} %",
            )
        )
    figure.legend(
        handles=handles,
        loc="upper left",
        ncols=3,
        borderaxespad=0,
        borderpad=0,
        bbox_to_anchor=(0.012, 1 - 0.66 / height),
    )
    style.watermark(figure, "MODEL against MEASUREMENT")
