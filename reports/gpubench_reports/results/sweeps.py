"""Finds the axes, panels and series of a concept in its rows alone.

Nothing here knows a concept's name: a benchmark dropped in under a new name is charted as it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from gpubench_reports.common.units import argument_text
from gpubench_reports.results.headlines import quantity_of
from gpubench_reports.results.quantities import Quantity

# More lines than this in one panel cannot be told apart; they are spread over more panels.
MAX_SERIES = 6

Argument = float | str


@dataclass
class Series:
    """Rows that differ in the x axis only, in the order of x; `others` are the other axes."""

    others: dict[str, Argument]
    x: list[Argument]
    rows: pd.DataFrame

    @property
    def values(self) -> str:
        """The other axes' values: "4" or "4, fp32"."""
        return ", ".join(argument_text(value) for value in self.others.values())

    @property
    def label(self) -> str:
        """The other axes and their values: "bytes 4, dtype fp32"."""
        return ", ".join(f"{name} {argument_text(value)}" for name, value in self.others.items())


@dataclass
class Panel:
    """One set of axes: a kernel, a quantity, an x axis."""

    kernel: str
    quantity: Quantity
    x_name: str  # empty: x are kernels
    numeric: bool
    series: list[Series]
    fixed: dict[str, Argument] = field(default_factory=dict)  # the same in every row

    @property
    def units(self) -> dict[str, str]:
        """What one step of each axis is, where the rows say so."""
        return axis_units(pd.concat([series.rows for series in self.series]))

    @property
    def title(self) -> str:
        fixed = ", ".join(f"{key} {argument_text(value)}" for key, value in self.fixed.items())
        return f"{self.kernel}  ({fixed})" if fixed and self.kernel else self.kernel or fixed


def distinct(values: Iterable[Argument]) -> list[Argument]:
    """The values without repeats: numbers in rising order, anything else as it came."""
    found = list(dict.fromkeys(values))
    return sorted(found) if _numeric(found) else found


def axes(rows: pd.DataFrame) -> dict[str, list[Argument]]:
    """The axes of rows that all have the same argument names: name -> distinct values."""
    return axes_of(list(rows["arguments"]))


def axes_of(arguments: Sequence[Mapping[str, Argument]]) -> dict[str, list[Argument]]:
    """The same from the rows' arguments alone."""
    return {name: distinct(one[name] for one in arguments) for name in arguments[0]}


def x_axis(swept: dict[str, list[Argument]]) -> str:
    """The axis to draw along: the longest numeric one, else the longest; the first of equals."""
    numeric = {name: values for name, values in swept.items() if _numeric(values)}
    candidates = numeric or swept
    return max(candidates, key=lambda name: len(candidates[name]))


def alike(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Splits rows by kernel, headline and set of argument names, in order of appearance."""
    columns = zip(rows["kernel"], rows["headline"], rows["arguments"], strict=True)
    keys = [_family(*row) for row in columns]
    return [rows[[key == other for other in keys]] for key in dict.fromkeys(keys)]


def alike_records(rows: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The same for records."""
    found: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        key = _family(row["kernel"], row["headline"], row["arguments"])
        found.setdefault(key, []).append(row)
    return list(found.values())


def _family(kernel: str, headline: str, arguments: Iterable[str]) -> tuple[str, ...]:
    return kernel, headline, *sorted(arguments)


def panels(rows: pd.DataFrame) -> list[Panel]:
    """The panels of one concept's rows that have a time."""
    found: list[Panel] = []
    alone: dict[str, list[pd.DataFrame]] = {}
    for group in alike(rows):
        all_axes = axes(group)
        swept = {name: values for name, values in all_axes.items() if len(values) > 1}
        if swept:
            found += _swept_panels(group, all_axes, swept)
        else:
            alone.setdefault(group["headline"].iloc[0], []).append(group)
    # Kernels with nothing to sweep stand side by side: a panel for one point says nothing.
    for groups in alone.values():
        together = pd.concat(groups)
        fixed = _common(together["arguments"])
        names = [
            " ".join(
                [kernel, *(f"{k} {argument_text(v)}" for k, v in args.items() if k not in fixed)]
            )
            for kernel, args in zip(together["kernel"], together["arguments"], strict=True)
        ]
        found.append(
            Panel(
                "",
                quantity_of(together),
                "",
                False,
                [Series({}, list(names), together)],
                fixed=fixed,
            )
        )
    return found


def sweeps(rows: pd.DataFrame) -> list[tuple[str, Series]]:
    """(x axis name, series) for every sweep of one concept's rows; no panels, no limit.

    Rows with nothing swept are series of one row with an empty axis name.
    """
    found: list[tuple[str, Series]] = []
    for group in alike(rows):
        swept = {name: values for name, values in axes(group).items() if len(values) > 1}
        if not swept:
            found.append(("", Series({}, [""] * len(group), group)))
            continue
        x_name = x_axis(swept)
        others = [name for name in swept if name != x_name]
        found += [(x_name, series) for series in _series(group, x_name, others)]
    return found


def _swept_panels(
    group: pd.DataFrame, all_axes: dict[str, list[Argument]], swept: dict[str, list[Argument]]
) -> list[Panel]:
    x_name = x_axis(swept)
    others = [name for name in swept if name != x_name]
    fixed = {name: values[0] for name, values in all_axes.items() if name not in swept}
    kernel = group["kernel"].iloc[0]
    series = _series(group, x_name, others)
    if len(series) > MAX_SERIES and len(others) > 1:
        facet = min(others, key=lambda name: len(swept[name]))
        found = []
        for value in swept[facet]:
            part = group[[arguments[facet] == value for arguments in group["arguments"]]]
            part_axes = axes(part)
            # An axis that only varies between facets is fixed within this one.
            part_swept = {n: v for n, v in part_axes.items() if len(v) > 1 or n == x_name}
            found += _swept_panels(part, part_axes, part_swept)
        return found
    return [Panel(kernel, quantity_of(group), x_name, _numeric(swept[x_name]), series, fixed)]


def _series(group: pd.DataFrame, x_name: str, others: list[str]) -> list[Series]:
    order = {value: place for place, value in enumerate(axes(group)[x_name])}
    keys = [tuple(row[name] for name in others) for row in group["arguments"]]
    found = []
    for key in list(dict.fromkeys(keys)) if len(others) != 1 else _single_axis_order(keys):
        rows = group[[key == other for other in keys]]
        places = [order[row[x_name]] for row in rows["arguments"]]
        rows = rows.iloc[sorted(range(len(places)), key=places.__getitem__)]
        x = [row[x_name] for row in rows["arguments"]]
        found.append(Series(dict(zip(others, key, strict=True)), x, rows))
    return found


def _single_axis_order(keys: list[tuple[Argument, ...]]) -> list[tuple[Argument, ...]]:
    return [(value,) for value in distinct(key[0] for key in keys)]


def _common(arguments: Iterable[dict[str, Argument]]) -> dict[str, Argument]:
    """The arguments that all rows have with the same value."""
    sets = list(arguments)
    return {
        key: value
        for key, value in sets[0].items()
        if len(sets) > 1 and all(other.get(key) == value for other in sets)
    }


def _numeric(values: Iterable[Argument]) -> bool:
    return all(isinstance(value, int | float) for value in values)


def axis_units(rows: pd.DataFrame) -> dict[str, str]:
    """What one step of each axis of `rows` is, where they say so."""
    return {axis: unit for units in rows["axes"] for axis, unit in units.items()}
