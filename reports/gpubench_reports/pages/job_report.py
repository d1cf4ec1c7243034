"""What a job is predicted to do, in words: cells of tables, Markdown, and JSON."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from gpubench_reports.common.json_text import json_text
from gpubench_reports.common.units import si
from gpubench_reports.comparisons.published import signed_percent
from gpubench_reports.comparisons.validate import TARGET_FITTED, TARGET_PREDICTED, summary
from gpubench_reports.jobs.forecast import PARTS, Forecast, memory_text, split_text
from gpubench_reports.jobs.search import Plan
from gpubench_reports.pages.columns import NONE

_KINDS = {
    False: f"**all predicted** (target ± {TARGET_PREDICTED * 100:.0f} %)",
    True: f"fitted (target ± {TARGET_FITTED * 100:.0f} %)",
}


def columns_of(plans: Sequence[Plan]) -> list[tuple[str, list[str]]]:
    """One line per plan. Shares are of the step."""
    lines = [_cells(plan) for plan in plans]
    titles = ["model", "GPUs", "tokens/s", "per GPU", "MFU", *PARTS, "memory", "split"]
    return [(title, [line[place] for line in lines]) for place, title in enumerate(titles)]


def _cells(plan: Plan) -> list[str]:
    head = [plan.model.name, str(plan.gpus)]
    if plan.choice is None:
        return [*head, *[NONE] * 7, memory_text(plan) or NONE, plan.why]
    step = plan.choice.step
    shares = [f"{getattr(step, part) / step.seconds * 100:.0f} %" for part in PARTS]
    return [
        *head,
        si(step.tokens_per_second),
        si(step.tokens_per_second / plan.gpus),
        f"{step.mfu * 100:.1f} %",
        *shares,
        memory_text(plan),
        split_text(plan),
    ]


def plans_markdown(forecasts: Sequence[Forecast]) -> str:
    lines: list[str] = []
    for forecast in forecasts:
        columns = columns_of(forecast.plans)
        lines += [f"{forecast.context.device_title}, {forecast.context.verb}:", ""]
        lines += _table([title for title, _ in columns], zip(*(c for _, c in columns), strict=True))
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def plans_json(forecasts: Sequence[Forecast]) -> str:
    return json_text(
        [
            {
                "device": forecast.context.device,
                "modelled": forecast.context.modelled,
                "plans": [_plain(plan) for plan in forecast.plans],
            }
            for forecast in forecasts
        ]
    )


def _plain(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = {"model": plan.model.name, "gpus": plan.gpus}
    found |= {"needed_bytes": plan.needed_bytes, "why": plan.why}
    if plan.choice is None:
        return found
    job, step = plan.choice.job, plan.choice.step
    split = ("data", "tensor", "pipeline", "interleave", "microbatch", "microbatches")
    found |= {name: getattr(job, name) for name in (*split, "sharding", "recompute", "batch")}
    found |= {f"{part}_seconds": getattr(step, part) for part in PARTS}
    return found | {
        "step_seconds": step.seconds,
        "tokens_per_second": step.tokens_per_second,
        "mfu": step.mfu,
    }


def trainings_markdown(compared: pd.DataFrame) -> str:
    """The errors by source, then every training."""
    predicted = compared[~compared["fitted"]]
    urls = dict(zip(compared["name"], compared["url"], strict=True))
    lines = _table(
        ["trainings", "points", "MAPE", "bias", "worst", "within target"],
        [
            *(
                _summary_cells(line, f"[{line['name']}]({urls[line['name']]})")
                for line in _summed_up(predicted, "name")
            ),
            *(
                _summary_cells(line, _KINDS[line["fitted"]])
                for line in sorted(_summed_up(compared, "fitted"), key=lambda one: one["fitted"])
            ),
        ],
    )
    lines += [""]
    lines += _table(
        ["training", "device", "published MFU", "simulated MFU", "time error", ""],
        (
            (
                f"{row['name']}: {row['what']}",
                row["device"],
                f"{row['published_mfu'] * 100:.1f} %",
                f"{row['simulated_mfu'] * 100:.1f} %",
                signed_percent(row["error"]),
                ("fitted" if row["fitted"] else "predicted")
                + ("" if row["fits"] else " (memory!)"),
            )
            for _, row in compared.iterrows()
        ),
    )
    return "\n".join(lines) + "\n"


def _summed_up(rows: pd.DataFrame, by: str) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = summary(rows, by).to_dict("records")
    return lines


def _summary_cells(line: dict[str, Any], name: str) -> tuple[str, ...]:
    return (
        name,
        str(line["rows"]),
        f"{line['mape'] * 100:.1f} %",
        signed_percent(line["mean"]),
        signed_percent(line["worst"]),
        str(line["met"]),
    )


def _table(titles: Sequence[str], lines: Any) -> list[str]:
    return [
        f"| {' | '.join(titles)} |",
        f"|{'---|' * len(titles)}",
        *(f"| {' | '.join(line)} |" for line in lines),
    ]
