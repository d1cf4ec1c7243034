"""The simulation against published trainings, as Markdown."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from gpubench_reports.comparisons.published import signed_percent
from gpubench_reports.comparisons.validate import TARGET_FITTED, TARGET_PREDICTED, summary
from gpubench_reports.jobs.forecast import split_text
from gpubench_reports.jobs.ranges import Range
from gpubench_reports.pages.columns import NONE
from gpubench_reports.pages.markdown_table import markdown_table

_QUANTITIES = {
    "step_seconds": (1.0, "s per step"),
    "tokens_per_second_per_gpu": (1.0, "tokens/s"),
    "model_flops_per_second_per_gpu": (1e12, "TFLOP/s"),
    "executed_flops_per_second_per_gpu": (1e12, "TFLOP/s executed"),
}
_SHARDED = {"none": "nothing", "optimizer": "the optimizer", "full": "everything"}


def errors_markdown(compared: pd.DataFrame) -> str:
    """Errors of the simulated tokens per second, by publication and by group."""
    predicted, fitted = compared[~compared["fitted"]], compared[compared["fitted"]]
    again = fitted["recompute"] == "full"
    stated = predicted["free"] == ""
    urls = dict(zip(compared["name"], compared["url"], strict=True))
    slowest = predicted[~stated].assign(error=predicted["error_slowest"])
    groups = [
        *((f"[{name}]({urls[name]})", group) for name, group in predicted.groupby("name")),
        (f"**all predicted** (target ± {TARGET_PREDICTED * 100:.0f} %)", predicted),
        ("predicted, all settings stated", predicted[stated]),
        ("predicted, the fastest of what is not stated", predicted[~stated]),
        ("the same, the slowest", slowest),
        (f"**fitted** (target ± {TARGET_FITTED * 100:.0f} %)", fitted),
        ("fitted, with recomputation", fitted[again]),
        ("fitted, without", fitted[~again]),
    ]
    titles = ["trainings", "points", "MAPE", "bias", "worst", "within target"]
    lines = [_summary_cells(name, group) for name, group in groups if len(group)]
    return "\n".join(markdown_table(titles, lines)) + "\n"


def _summary_cells(name: str, rows: pd.DataFrame) -> tuple[str, ...]:
    [line] = summary(rows.assign(all=True), "all").to_dict("records")
    return (
        name,
        str(line["rows"]),
        f"{line['mape'] * 100:.1f} %",
        signed_percent(line["mean"]),
        signed_percent(line["worst"]),
        str(line["met"]),
    )


def ranges_markdown(ranges: Sequence[Range]) -> str:
    titles = ["device", "sharded", "trainings", "published / simulated tokens per second"]
    lines = [
        (
            one.device,
            _SHARDED[one.sharding],
            str(one.trainings),
            f"{one.least:.2f} to {one.most:.2f}",
        )
        for one in ranges
    ]
    return "\n".join(markdown_table(titles, lines)) + "\n"


def trainings_markdown(compared: pd.DataFrame) -> str:
    """Where the trainings are from, then every one of them."""
    publications = compared.drop_duplicates("name").to_dict("records")
    lines = [line for one in publications for line in _publication_lines(one)]
    titles = ["training", "device", "split", "published, per GPU", "MFU from it", "simulated MFU"]
    titles += ["error of tokens/s", "if slowest", "kind"]
    rows = compared.to_dict("records")
    return "\n".join([*lines, "", *markdown_table(titles, map(_cells, rows))]) + "\n"


def _publication_lines(one: dict[str, Any]) -> Iterator[str]:
    yield f"- **[{one['name']}]({one['url']})**: {one['source']}. {one['unlike']}"
    yield f"  *Left out:* {one['left_out']}"


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    unit, name = _QUANTITIES[row["quantity"]]
    return (
        f"{row['name']}: {row['what']}",
        row["device"],
        split_text(row["job"], row["free"].split(", ")),
        f"{row['value'] / unit:g} {name}",
        f"{row['published_mfu'] * 100:.1f} %",
        f"{row['simulated_mfu'] * 100:.1f} %",
        signed_percent(row["error"]),
        signed_percent(row["error_slowest"]) if row["free"] else NONE,
        ("fitted" if row["fitted"] else "predicted") + (" (memory!)" if row["memory"] > 1 else ""),
    )
