"""The columns of a table of rows, for the terminal, for Markdown and for the page."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from gpubench_reports.common.units import si
from gpubench_reports.pages.answers import borrowed_words
from gpubench_reports.results.context import Context
from gpubench_reports.results.doubts import flags_of
from gpubench_reports.rules.verdicts.verdict import MODELLED, Verdict

NONE = "·"  # in a cell of which nothing is known
_MARK = "*"
BOUND_IN_PART = f"bound ({_MARK} {MODELLED})"  # the title of a column in which some cells are


@dataclass(frozen=True)
class Column:
    """One column: `texts` as shown, `numbers` to sort by (NaN: by the text)."""

    key: str
    title: str
    texts: list[str]
    numbers: list[float]
    parts: list[list[str]] | None = None  # what a text was joined from, where that is several

    @property
    def is_text(self) -> bool:
        return all(math.isnan(number) for number in self.numbers)

    @property
    def says_anything(self) -> bool:
        return any(text != NONE for text in self.texts)


def columns_of(
    rows: pd.DataFrame, verdicts: Mapping[str, Verdict], context: Context
) -> list[Column]:
    """The columns that say anything of `rows` (as the reader gives them); without `verdicts` those
    of the verdicts are left out."""
    judged = [verdicts.get(name) for name in rows["name"]]
    found = [_words("name", "name", list(rows["name"]))]
    if verdicts:
        grades = [
            v.grade if v else status for v, status in zip(judged, rows["status"], strict=True)
        ]
        found.append(_words("grade", "grade", grades))
    found += [
        _numbers("seconds", "time", rows["seconds"], _si("s")),
        _numbers("useful", "useful", rows["useful_bytes_per_second"], _si("B/s")),
        _of_arithmetic("arithmetic", "arithmetic", rows, "flops_per_second", str),
        _numbers("items", "items", rows["items_per_second"], _si("/s")),
        _numbers("bus", "bus", rows["bus_bytes_per_second"], _si("B/s")),
        _numbers("joules", "energy", rows["joules"], _si("J")),
        _of_arithmetic("per_flop", "energy per FLOP", rows, "joules_per_flop", _joules_per),
        _numbers("per_byte", "energy per byte", rows["joules_per_byte"], _si("J/B")),
        _numbers("per_token", "energy per token", rows["joules_per_token"], _si("J/token")),
        _numbers("power", "power", rows["average_power_w"], _si("W")),
        _numbers("law", "law ratio", rows["law_ratio"], lambda value: f"{value:.3f}"),
        _numbers("roof", "of roof", rows["roof_fraction"], percent),
    ]
    if not context.modelled:  # on the model the prediction is the result itself
        error = rows["model_seconds"] / rows["seconds"] - 1
        found += [
            _numbers("predicted", "predicted", rows["model_seconds"], _si("s")),
            _numbers("error", "its error", error, signed_percent),
        ]
    found.append(_bounds(judged, list(rows["label"])))
    if verdicts:
        found.append(_words("wall", "wall", [v.wall if v else "" for v in judged]))
    notes = [notes_of(row) for row in rows.to_dict("records")]
    found.append(replace(_words("note", "note", list(map("; ".join, notes))), parts=notes))
    return [column for column in found if column.says_anything]


def _bounds(verdicts: Sequence[Verdict | None], labels: Sequence[str]) -> Column:
    """What binds the rows. Where only some of it is modelled, these have a mark."""
    bound = [_bound(v, label) for v, label in zip(verdicts, labels, strict=True)]
    said = borrowed_words(filter(None, verdicts))
    if said in ("", MODELLED):
        return _words("bound", f"bound ({said})" if said else "bound", bound)
    marked = [
        f"{text}{_MARK}" if verdict and verdict.bound and verdict.borrowed else text
        for verdict, text in zip(verdicts, bound, strict=True)
    ]
    return _words("bound", BOUND_IN_PART, marked)


def _bound(verdict: Verdict | None, label: str) -> str:
    """What binds a row; where its figures say more than its label, the label behind it."""
    if verdict is None or verdict.bound == label:
        return label
    return f"{verdict.bound} ({label})" if label else verdict.bound


def notes_of(row: Mapping[str, Any]) -> list[str]:
    """What one must know before trusting a row: all that it says of itself in words."""
    notes = flags_of(row)
    if row["rule"]:
        notes.append(f"rule: {row['rule']}")
    if row["assuming"]:
        notes.append(f"assuming {row['assuming']}")
    if row["counts"] and row["counts"] != "exact":
        notes.append(f"counts: {row['counts']}")
    if row["registers"] > 0:
        notes.append(f"{row['registers']:.0f} registers")
    if row["local_bytes"] > 0:
        notes.append(f"{row['local_bytes']:.0f} bytes of local memory")
    notes += row["notes"]
    if row["reason"]:
        notes.append(row["reason"])
    return notes


def percent(value: float) -> str:
    return f"{value * 100:.1f} %"


def signed_percent(value: float) -> str:
    return f"{value * 100:+.1f} %"


def _si(unit: str) -> Callable[[float], str]:
    return lambda value: si(value, unit)


def _of_arithmetic(
    key: str, title: str, rows: pd.DataFrame, figure: str, unit: Callable[[str], str]
) -> Column:
    """A column of `figure`, in what `unit` makes of the unit of each row's arithmetic."""
    records = rows[[figure, "arithmetic_unit"]].to_dict("records")
    numbers = [float(row[figure]) for row in records]
    texts = [
        NONE if math.isnan(number) else si(number, unit(row["arithmetic_unit"]))
        for number, row in zip(numbers, records, strict=True)
    ]
    return Column(key, title, texts, numbers)


def _joules_per(rate: str) -> str:
    return f"J/{rate.removesuffix('/s')}"


def _numbers(key: str, title: str, values: pd.Series, shown: Callable[[float], str]) -> Column:
    numbers = [float(value) for value in values]
    texts = [NONE if math.isnan(number) else shown(number) for number in numbers]
    return Column(key, title, texts, numbers)


def _words(key: str, title: str, texts: list[str]) -> Column:
    return Column(key, title, [text or NONE for text in texts], [math.nan] * len(texts))
