"""What a row's headline number is, and its interval, law and prediction in the same unit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gpubench_reports.common.units import arithmetic_unit


@dataclass(frozen=True)
class Figure:
    """A quantity that a row can be judged by: its column, its name and its SI unit."""

    column: str
    title: str
    unit: str
    is_rate: bool  # rates grow as time shrinks


FIGURES = (
    Figure("latency_seconds", "latency of a load", "s", False),
    Figure("load_cycles", "SM clocks a load", "clocks", False),
    Figure("items_per_second", "items a second", "/s", True),
    Figure("useful_bytes_per_second", "useful bandwidth", "B/s", True),
    Figure("flops_per_second", "arithmetic rate", "FLOP/s", True),
    Figure("seconds", "time", "s", False),
)
# What a request to memory cost; no row is judged by these alone.
REQUEST_FIGURES = (
    Figure("wavefronts_per_request", "wavefronts a request", "", False),
    Figure("sectors_per_request", "sectors a request", "", False),
)
BY_COLUMN = {figure.column: figure for figure in (*FIGURES, *REQUEST_FIGURES)}
_LAW_TOLERANCE = 0.02


def unit_of(row: Mapping[str, Any]) -> str:
    """The unit of the figure that a row of with_headline() is judged by."""
    figure = BY_COLUMN[row["headline"]]
    return arithmetic_unit_of(row) if figure.unit == "FLOP/s" else figure.unit


def arithmetic_unit_of(row: Mapping[str, Any]) -> str:
    """What the row's arithmetic is counted in: FLOP/s, or OP/s of whole numbers."""
    return arithmetic_unit(row["roof"], row["label"], row["arguments"].get("dtype"))


def with_headline(rows: pd.DataFrame) -> pd.DataFrame:
    """`rows` (one line a benchmark, as the reader gives them) with these columns added:

    headline    the column of FIGURES that the row is judged by: the first that it has, unless its
                law (law * law_ratio is the measured figure) says that it is another one; of
                two figures that fit, the one of the kernel's other rows
    value       the headline figure [its unit]
    low, high   95 % interval of `value`, from the interval of the time; NaN where there is none
    law_value   the law [the same unit]; NaN where there is none in that unit
    predicted   the figure if the row took `model_seconds`; NaN where there is no prediction
    """
    rows = rows.copy()
    columns = [figure.column for figure in FIGURES]
    values = rows[columns].to_numpy(float)
    present = values > 0
    target = (rows["law"] * rows["law_ratio"]).to_numpy(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        fits = present & (np.abs(values / target[:, None] - 1) < _LAW_TOLERANCE)
    chosen = np.where(fits.any(axis=1), fits.argmax(axis=1), present.argmax(axis=1))
    # At one FLOP a byte both figures fit: such a row is judged as the others of its kernel are.
    clear = fits.sum(axis=1) == 1
    kernels = pd.MultiIndex.from_frame(rows[["concept", "kernel"]])
    for line in np.flatnonzero(fits.sum(axis=1) > 1):
        votes = np.bincount(chosen[clear & (kernels == kernels[line])], minlength=len(columns))
        chosen[line] = np.where(fits[line], votes, -1).argmax()
    lines = np.arange(len(rows))
    rows["headline"] = [columns[index] for index in chosen]
    rows["value"] = values[lines, chosen]
    states_law = (rows["law"] > 0).to_numpy()
    comparable = ~np.isfinite(target) | fits[lines, chosen]
    rows["law_value"] = np.where(states_law & comparable, rows["law"].to_numpy(float), np.nan)
    seconds = rows["seconds"].to_numpy(float)
    rate = np.array([FIGURES[index].is_rate for index in chosen], dtype=bool)
    for column, time in (
        ("predicted", "model_seconds"),
        ("low", "ci_high_seconds"),
        ("high", "ci_low_seconds"),
    ):
        slowdown = rows[time].to_numpy(float) / seconds
        rows[column] = np.where(rate, rows["value"] / slowdown, rows["value"] * slowdown)
    # For a time, the longer end of the interval is the upper one.
    rows[["low", "high"]] = np.sort(rows[["low", "high"]].to_numpy(float), axis=1)
    return rows


def with_request_cost(rows: pd.DataFrame) -> pd.DataFrame:
    """Of `rows`, those whose law says what a request costs, judged by that: the columns of
    with_headline(), of which `law_value` is `law_per_request`. Counts have no interval."""
    columns = [figure.column for figure in REQUEST_FIGURES]
    counts = rows[columns].to_numpy(float)
    stated = (rows["law_per_request"] > 0).to_numpy() & np.isfinite(counts).any(axis=1)
    rows, counts = rows[stated].copy(), counts[stated]
    chosen = np.isfinite(counts).argmax(axis=1)
    rows["headline"] = [columns[index] for index in chosen]
    rows["value"] = counts[np.arange(len(rows)), chosen]
    rows["law_value"] = rows["law_per_request"]
    rows[["low", "high", "predicted"]] = np.nan
    return rows
