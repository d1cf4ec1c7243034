"""The model against measurement: signed errors of predicted times. Numbers only."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.json_text import json_text
from gpubench_reports.results.baselines import baseline, baselines
from gpubench_reports.results.clock import clock_lowered, reference_clock
from gpubench_reports.results.intervals import is_unsure
from gpubench_reports.results.reader import ResultFile

# What we want of a time: on a GPU whose figures were fitted, and from the data sheet alone.
TARGET_FITTED, TARGET_PREDICTED = 0.10, 0.25

_COLUMNS = ("file", "device", "name", "concept", "kernel", "label", "measured", "predicted")


@dataclass(frozen=True)
class Validation:
    """`rows`, one a measured benchmark that has a prediction, with the columns

    file, device, name, concept, kernel
    label      what bounds the row
    measured   median time [s]
    predicted  the model's time [s]
    error      predicted / measured - 1: above 0, the model is too slow
    fitted     whether the roof that bounds the row was calibrated on this GPU: the row tests
               the model's form, not its foresight; all others are held out

    unsure     whether the row did not converge and its interval is wide, so that its error is
               partly noise
    lowered    whether the clock had fallen, which the prediction does not know

    `unmatched` counts measured rows without a prediction.
    """

    results: tuple[ResultFile, ...]
    rows: pd.DataFrame
    unmatched: int


def validate(results: Sequence[ResultFile]) -> Validation:
    """Measured rows with their `model_seconds`, or else with the time of the same row in a
    modelled file of the same device and mode among `results`, or in the one that ships if
    there is neither.

    Raises ReportError where nothing was measured, or nothing of it predicted.
    """
    measured = [result for result in results if not result.context.modelled]
    if not measured:
        raise ReportError(results[0].path, "is modelled: a validation needs a measured file")
    modelled: dict[tuple[str, str, str], float] = {}
    for result in [*_shipped(results), *results]:
        if result.context.modelled:
            key = (result.context.device, result.context.mode)
            for row in result.timed:
                modelled[(*key, row["name"])] = row["seconds"]
    found, unmatched = [], 0
    for result in measured:
        context = result.context
        calibrated = {roof.name for roof in context.roofs if roof.provenance == "calibrated"}
        rows = result.ok.copy()
        rows["file"] = str(result.path)
        rows["device"] = context.device
        rows["measured"] = rows["seconds"]
        from_file = [modelled.get((context.device, context.mode, n), np.nan) for n in rows["name"]]
        rows["predicted"] = rows["model_seconds"].fillna(pd.Series(from_file, index=rows.index))
        clock = reference_clock(result)
        rows["unsure"] = [is_unsure(row) for row in result.timed]
        rows["lowered"] = [clock_lowered(row, clock) for row in result.timed]
        rows["fitted"] = rows["label"].isin(calibrated)
        known = rows["predicted"] > 0
        unmatched += int((~known).sum())
        found.append(rows.loc[known, [*_COLUMNS, "fitted", "unsure", "lowered"]])
    rows = pd.concat(found, ignore_index=True)
    if rows.empty:
        raise ReportError(
            measured[0].path,
            "has no row with a prediction: measure with --predict, or add a modelled file of the "
            "same device and mode",
        )
    rows["error"] = rows["predicted"] / rows["measured"] - 1
    return Validation(tuple(results), rows, unmatched)


def _shipped(results: Sequence[ResultFile]) -> list[ResultFile]:
    """The modelled runs that ship, of the devices of which nothing here has a prediction."""
    known = {r.context.device for r in results if r.context.modelled or r.is_predicted}
    return [
        baseline(d) for d in sorted({r.context.device for r in results} - known) if d in baselines()
    ]


def as_json(validation: Validation) -> str:
    """The errors for other programs: of all rows, and of held-out and fitted ones by concept."""
    rows = validation.rows
    return json_text(
        {
            "files": [result.path for result in validation.results],
            "held_out": summary(rows[~rows["fitted"]], "concept"),
            "fitted": summary(rows[rows["fitted"]], "concept"),
            "rows": rows,
            "unmatched": validation.unmatched,
        }
    )


def summary(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """A line for each value of the column `by`, in order of appearance, of rows with `error` and
    `fitted`: rows, signed mean and mean of the absolute error (MAPE), the largest error with its
    sign, and how many rows meet their target."""
    target = np.where(rows["fitted"], TARGET_FITTED, TARGET_PREDICTED)
    table = rows.assign(size=rows["error"].abs(), met=rows["error"].abs() <= target)
    lines = []
    for value, group in table.groupby(by, sort=False):
        lines.append(
            {
                by: value,
                "rows": len(group),
                "mean": group["error"].mean(),
                "mape": group["size"].mean(),
                "worst": group.loc[group["size"].idxmax(), "error"],
                "met": int(group["met"].sum()),
            }
        )
    return pd.DataFrame(lines)


def worst(rows: pd.DataFrame, count: int = 10) -> pd.DataFrame:
    """The `count` rows with the largest errors, the largest first."""
    return rows.reindex(rows["error"].abs().sort_values(ascending=False, kind="stable").index)[
        :count
    ]
