"""Geometric means of speed ratios: of many files, by concept, kernel or type. Numbers only."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.units import plural
from gpubench_reports.comparisons.compare import Comparison, compare, differences
from gpubench_reports.results.context import Context
from gpubench_reports.results.quantities import gain
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.results.roof_fractions import roof_fractions


def means(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """A line for each value of the column `by` of a comparison's rows, as they appear: `rows`,
    and the geometric mean of `ratio` with its 95 % interval `low` to `high` (NaN unless every row
    has one). The rows' deviations are independent, so the mean's is their root of squares over n.
    """
    lines = []
    for value, group in rows.groupby(by, sort=False):
        middle = float(np.log(group["ratio"]).mean())
        below = _deviation(np.log(group["ratio"] / group["low"]))
        above = _deviation(np.log(group["high"] / group["ratio"]))
        lines.append(
            {
                by: value,
                "rows": len(group),
                "ratio": math.exp(middle),
                "low": math.exp(middle - below),
                "high": math.exp(middle + above),
            }
        )
    return pd.DataFrame(lines, columns=[by, "rows", "ratio", "low", "high"])


def _deviation(widths: pd.Series) -> float:
    return float(np.sqrt(np.square(widths.to_numpy(float)).sum()) / len(widths))


@dataclass(frozen=True)
class Speedups:
    """Speed-ups: one block of `lines` (as means() gives them) for each other file, by its label."""

    reference: str
    by: str
    lines: dict[str, pd.DataFrame]
    warnings: list[str]
    of_roof: bool


def table(results: Sequence[ResultFile], by: str = "concept", of_roof: bool = False) -> Speedups:
    """How many times as fast as the first file each other one is, by concept, kernel or row.

    With `of_roof` a row's figure is the fraction of its roof that it reaches, so that devices of
    different size can be told apart by how well they are used; rows without one are left out.
    By dtype the files are not compared with each other but within: each type's speed over that of
    the file's first one, row by row with all other arguments the same.

    Raises ReportError when there is nothing in common.
    """
    names = labels([result.context for result in results])
    if by == "dtype":
        return _by_dtype(results, names, of_roof)
    reference, *others = results
    lines: dict[str, pd.DataFrame] = {}
    warnings: list[str] = []
    for name, other in zip(names[1:], others, strict=True):
        comparison = compare(reference, other)
        rows = of_roofs(comparison) if of_roof else comparison.rows
        unknown = len(comparison.rows) - len(rows)
        rows = rows.assign(row=rows["name"], kernel=rows["concept"] + "/" + rows["kernel"])
        lines[name] = means(rows, by)
        warnings += differences(reference, other, (names[0], name))
        warnings += _without_roof(name, unknown, f"it or {names[0]} does")
        alone = {row for row, _ in (*comparison.only_a, *comparison.only_b, *comparison.failed)}
        if alone:
            rows_alone = plural(len(alone), "row")
            warnings.append(f"{name}: without {rows_alone} that it or {names[0]} has no time for")
    return Speedups(names[0], by, lines, list(dict.fromkeys(warnings)), of_roof)


def _without_roof(name: str, rows: int, who: str) -> list[str]:
    said = f"{name}: without {plural(rows, 'row')} whose fraction of a roof {who} not know"
    return [said] if rows else []


def of_roofs(comparison: Comparison) -> pd.DataFrame:
    """The rows of `comparison` whose roof fractions both files know, with the ratio of those.

    Raises ReportError when there are none.
    """
    rows = comparison.rows
    a, b = (
        np.array([fractions[name] for name in rows["name"]])
        for fractions in map(roof_fractions, (comparison.a, comparison.b))
    )
    known = (a > 0) & (b > 0)
    if not known.any():
        raise ReportError(
            comparison.b.path, "has no row whose fraction of its roof both files know"
        )
    rows, ratio = rows[known].copy(), (b / a)[known]
    for column in ("low", "high"):
        rows[column] = rows[column] / rows["ratio"] * ratio
    return rows.assign(a=a[known], b=b[known], ratio=ratio)


def _by_dtype(results: Sequence[ResultFile], names: list[str], of_roof: bool) -> Speedups:
    lines: dict[str, pd.DataFrame] = {}
    unknown: dict[str, int] = {}
    first = ""
    for name, result in zip(names, results, strict=True):
        rows = result.ok
        typed = np.array([isinstance(a.get("dtype"), str) for a in rows["arguments"]], dtype=bool)
        rows = rows[typed]  # of no rows a list would choose columns
        if of_roof:
            fractions = roof_fractions(result)
            rows = rows.assign(value=[fractions[name] for name in rows["name"]], better="higher")
            unknown[name] = int((~(rows["value"] > 0)).sum())
            rows = rows[rows["value"] > 0]
        types = list(dict.fromkeys(a["dtype"] for a in rows["arguments"]))
        if len(types) < 2:
            continue
        first = first or types[0]
        by_key: dict[tuple[Any, ...], dict[str, pd.Series]] = {}
        for _, row in rows.iterrows():
            others = {k: v for k, v in row["arguments"].items() if k != "dtype"}
            key = (row["concept"], row["kernel"], row["headline"], *sorted(others.items()))
            by_key.setdefault(key, {})[row["arguments"]["dtype"]] = row
        found = []
        for group in by_key.values():
            base = group.get(types[0])
            if base is None:
                continue
            for dtype, row in group.items():
                if dtype != types[0]:
                    found.append(
                        {
                            "dtype": f"{dtype} over {types[0]}",
                            "ratio": gain(base["value"], row["value"], row["better"]),
                            "low": math.nan,
                            "high": math.nan,
                        }
                    )
        if found:
            lines[name] = means(pd.DataFrame(found), "dtype")
    if not lines:
        raise ReportError(
            results[0].path, "has no rows that differ in their dtype alone, so none can be compared"
        )
    warnings = []
    for name, context in zip(names, (result.context for result in results), strict=True):
        modelled = ["modelled: nothing was measured"] if context.modelled else []
        warnings += [f"{name}: {sentence}" for sentence in (*modelled, *context.reservations)]
        warnings += _without_roof(name, unknown.get(name, 0), "it does")
    return Speedups(first, "dtype", lines, warnings, of_roof)


def labels(contexts: Sequence[Context]) -> list[str]:
    """A short name a file, by what tells them apart: device, how, driver, CUDA, commit, mode,
    else the date; a number where nothing does."""
    parts = [
        [c.device_title for c in contexts],
        [c.verb for c in contexts],
        [f"driver {c.driver_version or '?'}" for c in contexts],
        [f"CUDA {c.cuda_version or '?'}" for c in contexts],
        [f"commit {c.git_commit[:8] or '?'}" for c in contexts],
        [c.mode for c in contexts],
        [c.date[:16].replace("T", " ") for c in contexts],
    ]
    chosen: list[list[str]] = []
    for part in parts:
        if len(set(part)) > 1:
            chosen.append(part)
        if len({tuple(p[i] for p in chosen) for i in range(len(contexts))}) == len(contexts):
            break
    names = [
        " ".join(part[i] for part in chosen) or contexts[i].device_title
        for i in range(len(contexts))
    ]
    if len(set(names)) < len(names):
        names = [f"{number}: {name}" for number, name in enumerate(names, start=1)]
    return names
