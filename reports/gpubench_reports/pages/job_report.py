"""What a job is predicted to do, in words: cells of tables, Markdown, and JSON."""

from collections.abc import Sequence
from typing import Any

from gpubench_reports.common.json_text import json_text
from gpubench_reports.common.units import si
from gpubench_reports.jobs.forecast import PARTS, Forecast, memory_text, plan_text, range_text
from gpubench_reports.jobs.search import Plan
from gpubench_reports.pages.columns import NONE
from gpubench_reports.pages.markdown_table import markdown_table

_DAY, _HOUR = 86400.0, 3600.0  # seconds


def columns_of(forecast: Forecast) -> list[tuple[str, list[str]]]:
    """One line per plan. Shares are of the step."""
    lines = [_cells(forecast, plan) for plan in forecast.plans]
    titles = ["model", "GPUs", "tokens/s", "published range", "per GPU", "MFU"]
    titles += ["days", "GPU-hours"] if forecast.tokens else []
    titles += [*PARTS, "memory", "split"]
    return [(title, [line[place] for line in lines]) for place, title in enumerate(titles)]


def _cells(forecast: Forecast, plan: Plan) -> list[str]:
    head = [plan.model.name, str(plan.gpus)]
    costs = 2 if forecast.tokens else 0
    if plan.choice is None:
        return [*head, *[NONE] * (8 + costs), memory_text(plan) or NONE, plan.why]
    step = plan.choice.step
    shares = [f"{getattr(step, part) / step.seconds * 100:.0f} %" for part in PARTS]
    return [
        *head,
        si(step.tokens_per_second),
        range_text(forecast, plan) or NONE,
        si(step.tokens_per_second / plan.gpus),
        f"{step.mfu * 100:.1f} %",
        *_cost_cells(forecast, plan),
        *shares,
        memory_text(plan),
        plan_text(plan),
    ]


def _cost_cells(forecast: Forecast, plan: Plan) -> list[str]:
    """Days and GPU-hours of the whole training, in brackets for the published range."""
    if plan.choice is None or not forecast.tokens:
        return []
    seconds = forecast.tokens / plan.choice.step.tokens_per_second
    found = forecast.range_of(plan)
    cells = []
    for whole in (seconds / _DAY, seconds * plan.gpus / _HOUR):
        text = _three_digits(whole)
        if found:
            ends = whole / found.most, whole / found.least
            text += f" ({' to '.join(map(_three_digits, ends))})"
        cells.append(text)
    return cells


def _three_digits(value: float) -> str:
    return f"{float(f'{value:.3g}'):,g}"


def batch_text(forecast: Forecast) -> str:
    return f"{forecast.batch} tokens per step"


def plans_markdown(forecasts: Sequence[Forecast]) -> str:
    lines: list[str] = []
    for forecast in forecasts:
        columns = columns_of(forecast)
        context = forecast.context
        lines += [f"{context.device_title}, {context.verb}, {batch_text(forecast)}:", ""]
        cells = zip(*(column for _, column in columns), strict=True)
        lines += [*markdown_table([title for title, _ in columns], cells), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def plans_json(forecasts: Sequence[Forecast]) -> str:
    return json_text(
        [
            {
                "device": forecast.context.device,
                "modelled": forecast.context.modelled,
                "reservations": forecast.context.reservations,
                "batch_tokens": forecast.batch,
                "rows": forecast.rows,
                "doubtful_rows": forecast.doubts,
                "plans": [_plain(forecast, plan) for plan in forecast.plans],
            }
            for forecast in forecasts
        ]
    )


def _plain(forecast: Forecast, plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = {"model": plan.model.name, "gpus": plan.gpus}
    found |= {"needed_bytes": plan.needed_bytes, "why": plan.why}
    if plan.choice is None:
        return found
    job, step = plan.choice.job, plan.choice.step
    split = ("data", "tensor", "pipeline", "interleave", "microbatch", "microbatches")
    found |= {name: getattr(job, name) for name in (*split, "sharding", "recompute", "batch")}
    found |= {f"{part}_seconds": getattr(step, part) for part in PARTS}
    rate = step.tokens_per_second
    found |= {"step_seconds": step.seconds, "tokens_per_second": rate, "mfu": step.mfu}
    seen = forecast.range_of(plan)
    ends = {"_least": seen.least * rate, "_most": seen.most * rate} if seen else {}
    found |= {f"tokens_per_second{end}": value for end, value in ends.items()}
    if seen:
        found["range_trainings"] = seen.trainings
    if forecast.tokens:
        found["training_seconds"] = forecast.tokens / rate
        if ends:
            found["training_seconds_least"] = forecast.tokens / ends["_most"]
            found["training_seconds_most"] = forecast.tokens / ends["_least"]
    return found
