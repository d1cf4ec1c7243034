"""The model against measurement: signed errors of predicted times. Numbers only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.json_text import json_text
from gpubench_reports.comparisons.fitted import Fitted
from gpubench_reports.results.baselines import baseline, baselines
from gpubench_reports.results.doubts import doubtful
from gpubench_reports.results.reader import ResultFile, reservations_of

# What we want of a time: on a GPU whose figures were fitted, and from the data sheet alone.
TARGET_FITTED, TARGET_PREDICTED = 0.10, 0.25

# By device, mode and name: modelled rows, and what of them was fitted.
_Modelled = dict[tuple[str, str, str], tuple[dict[str, Any], Fitted]]


@dataclass(frozen=True)
class Validation:
    """`rows`, one a measured benchmark that has a prediction, with the columns

    file, device, name, concept, kernel
    label      what bounds the row
    measured   median time [s]
    predicted  the model's time [s]
    error      predicted / measured - 1: above 0, the model is too slow
    fitted     whether a calibrated figure limits the row: the row tests the model's form, not its
               foresight; all others are held out
    doubts     what keeps the row from being a figure of the device at its stated clock, which the
               prediction supposes: it was throttled, did not converge, ...

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
    modelled: _Modelled = {}
    for result in [*_shipped(results), *results]:
        if result.context.modelled:
            fitted = Fitted(result.context)
            key = (result.context.device, result.context.mode)
            for row in result.timed:
                modelled[(*key, row["name"])] = (row, fitted)
    found = [line for result in measured for line in _lines(result, modelled)]
    lines = [line for line in found if line["predicted"] > 0]
    if not lines:
        raise ReportError(
            measured[0].path,
            "has no row with a prediction: measure with --predict, or add a modelled file of the "
            "same device and mode",
        )
    rows = pd.DataFrame(lines)
    rows["error"] = rows["predicted"] / rows["measured"] - 1
    return Validation(tuple(results), rows, len(found) - len(lines))


def _lines(result: ResultFile, modelled: _Modelled) -> Iterator[dict[str, Any]]:
    """The columns of the measured rows, except the error. The file that predicts a row's time
    decides whether the row is fitted."""
    context = result.context
    own = Fitted(context)
    doubts = doubtful(result, result.timed)
    for row in result.timed:
        name = row["name"]
        predicted, bound, fitted = row["model_seconds"], row, own
        if not predicted > 0 and (found := modelled.get((context.device, context.mode, name))):
            bound, fitted = found
            predicted = bound["seconds"]
        yield {
            "file": str(result.path),
            "device": context.device,
            **{key: row[key] for key in ("name", "concept", "kernel")},
            "label": row["label"] or bound["label"],
            "measured": row["seconds"],
            "predicted": predicted,
            "fitted": fitted.limits(bound),
            "doubts": doubts.get(name, []),
        }


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
            "reservations": reservations_of(validation.results),
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
