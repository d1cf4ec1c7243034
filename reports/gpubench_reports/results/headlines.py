"""The figures that rows are judged by, and what they are called."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from gpubench_reports.common.units import si
from gpubench_reports.results.quantities import BY_COLUMN, REQUEST_QUANTITIES, TIME, Quantity


def quantity_of(rows: pd.DataFrame) -> Quantity:
    """What alike rows are judged by: as they state it, and under its title where it has one. The
    unit is that of most of them: of rows of several types some count FLOPs, some whole numbers."""
    return _quantity(rows["headline"].iloc[0], rows["better"].iloc[0], rows["unit"])


def quantity_of_records(rows: Sequence[Mapping[str, Any]]) -> Quantity:
    """The same for alike records."""
    return _quantity(rows[0]["headline"], rows[0]["better"], [row["unit"] for row in rows])


def _quantity(column: str, better: str, units: Iterable[str]) -> Quantity:
    ((unit, _),) = Counter(units).most_common(1)
    named = BY_COLUMN.get(column) or replace(TIME, column=column, title=column.replace("_", " "))
    return replace(named, unit=unit, more_is_better=better == "higher")


def headline_text(row: Mapping[str, Any]) -> str:
    """The figure that a row is judged by, with its unit: "4.11 TB/s"."""
    return si(row["value"], row["unit"])


def with_request_cost(rows: pd.DataFrame) -> pd.DataFrame:
    """Those of `rows` whose law says what a request costs, judged by that: `law_value` is
    `law_per_request`. Counts have no interval."""
    columns = [quantity.column for quantity in REQUEST_QUANTITIES]
    counts = rows[columns].to_numpy(float)
    stated = (rows["law_per_request"] > 0).to_numpy() & np.isfinite(counts).any(axis=1)
    rows, counts = rows[stated].copy(), counts[stated]
    chosen = np.isfinite(counts).argmax(axis=1)
    rows["headline"] = [columns[index] for index in chosen]
    rows["value"] = counts[np.arange(len(rows)), chosen]
    rows["law_value"] = rows["law_per_request"]
    rows["better"], rows["unit"] = "lower", ""
    rows[["low", "high", "predicted"]] = np.nan
    return rows
