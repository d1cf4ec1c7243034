"""The chart of jobs: what share of a training step each part takes, by model and number of GPUs."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from gpubench_reports.charts import style
from gpubench_reports.common.units import si
from gpubench_reports.jobs.forecast import PARTS, Forecast, memory_text, plan_text, range_text
from gpubench_reports.jobs.job import BATCH, GPUS
from gpubench_reports.jobs.machine import machine_of
from gpubench_reports.jobs.model_files import shipped_models
from gpubench_reports.jobs.search import Plan, plans
from gpubench_reports.results.reader import ResultFile

_WIDTH, _HEAD, _FOOT, _BAR = 11.0, 0.78, 0.45, 0.235  # inches
_GAP = 0.8  # inches between devices: the name of one, the scale of the other
_LEFT, _BARS = 0.125, 0.28  # of the width
# Where the figures stand, right of the bars, in widths of the bars.
_COLUMNS = (
    (1.03, "tokens/s"),
    (1.21, "published range"),
    (1.56, "MFU"),
    (1.70, "memory"),
    (1.88, "split"),
)


def of_result(result: ResultFile) -> Figure:
    """The chart of one result file. Raises ReportError where it lacks rows."""
    found = plans(machine_of(result), shipped_models(), GPUS, BATCH)
    return build([Forecast(result.context, found, BATCH)])


def build(forecasts: Sequence[Forecast]) -> Figure:
    depths = [_BAR * len(forecast.plans) for forecast in forecasts]
    height = _HEAD + _FOOT + sum(depths) + _GAP * len(depths)
    figure = style.new_figure(_WIDTH, height)
    figure.text(
        0.012,
        1 - 0.12 / height,
        "Where a training step goes",
        size=13,
        weight="bold",
        color=style.INK,
        va="top",
        gid="title",
    )
    style.small_print(
        figure, 0.42, "one step of the fastest split that fits; bf16; dp x tp x pp", "subtitle"
    )
    top = height - _HEAD
    for forecast, depth in zip(forecasts, depths, strict=True):
        top -= _GAP / 2 + depth
        axes = figure.add_axes((_LEFT, top / height, _BARS, depth / height))
        _draw(axes, forecast)
        top -= _GAP / 2
    handles = [
        Patch(color=colour, label=part) for part, colour in zip(PARTS, style.COLOURS, strict=False)
    ]
    figure.legend(handles=handles, loc="lower left", ncols=len(PARTS), bbox_to_anchor=(0.11, 0.0))
    if any(forecast.context.modelled for forecast in forecasts):
        style.watermark(figure)
    return figure


def _draw(axes: Axes, forecast: Forecast) -> None:
    axes.set_title(style.run_line(forecast.context), pad=17)
    axes.set_xlim(0, 1)
    axes.set_ylim(len(forecast.plans) - 0.5, -0.5)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    axes.grid(axis="y", visible=False)
    axes.set_yticks(
        range(len(forecast.plans)),
        [f"{plan.model.name}, {plan.gpus} GPU{'s' * (plan.gpus > 1)}" for plan in forecast.plans],
    )
    for x, title in _COLUMNS:
        _write(axes, x, -0.9, title, weight="bold")
    for place, plan in enumerate(forecast.plans):
        _bar(axes, place, forecast, plan)


def _bar(axes: Axes, place: int, forecast: Forecast, plan: Plan) -> None:
    figures = ["", "", "", memory_text(plan), plan_text(plan)]
    if plan.choice is not None:
        step = plan.choice.step
        left = 0.0
        for part, colour in zip(PARTS, style.COLOURS, strict=False):
            share = getattr(step, part) / step.seconds
            axes.barh(place, share, left=left, height=0.72, color=colour, gid=f"part:{part}")
            left += share
        expected = range_text(forecast, plan)
        figures[:3] = [si(step.tokens_per_second), expected, f"{step.mfu * 100:.1f} %"]
    else:
        _write(axes, 0.02, place, plan.why)
        figures[-1] = ""
    for (x, _), text in zip(_COLUMNS, figures, strict=True):
        _write(axes, x, place, text)


def _write(axes: Axes, x: float, y: float, text: str, weight: str = "normal") -> None:
    axes.text(x, y, text, size=7.5, va="center", color=style.INK, weight=weight, gid="figure")
