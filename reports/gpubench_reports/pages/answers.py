"""The questions that somebody opens a report with, answered from a file's facts: in words, which
the page and the terminal show alike."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from gpubench_reports.common.units import plural
from gpubench_reports.comparisons.compare import Comparison, changed
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.verdicts.verdict import (
    EXPECTED,
    GRADES,
    MEANT,
    MODELLED,
    UNGRADED,
    Verdict,
)


@dataclass(frozen=True)
class Wall:
    """How many rows a wall binds, by what (the commonest first), and the share of the roof that
    they reach in the middle; NaN where most have none."""

    name: str
    rows: int
    by: Sequence[tuple[str, int]]
    of_roof: float


@dataclass(frozen=True)
class Moved:
    """What became of a concept's rows since another run."""

    concept: str
    slower: int
    faster: int
    rows: int
    middle: float  # speed over that before, of the rows that moved
    worst: float


def all_as_expected(count: int, which: str = "graded") -> str:
    """That all of so many rows are, without a full stop."""
    rows = f"The one {which} row is" if count == 1 else f"All {count} {which} rows are"
    return f"{rows} as expected"


def grades_of(verdicts: Mapping[str, Verdict]) -> str:
    """How many rows have which grade, or that all are as expected."""
    counts = pd.Series([v.grade for v in verdicts.values()], dtype=object).value_counts()
    graded = len(verdicts) - counts.get(UNGRADED, 0)
    if not graded:
        return "no row was graded"
    fine = counts.get(EXPECTED, 0)
    if fine + counts.get(MEANT, 0) == graded:
        words = all_as_expected(graded)
        words = words[0].lower() + words[1:]
        return f"{words} ({counts[MEANT]} of them low on purpose)" if MEANT in counts else words
    others = [f"{counts[g]} {g}" for g in GRADES if g in counts and g not in (EXPECTED, UNGRADED)]
    return f"{fine} of {graded} rows as expected, {', '.join(others)}"


def walls_of(result: ResultFile, verdicts: Mapping[str, Verdict]) -> list[Wall]:
    """What binds the rows, the wall of most rows first; rows bound by nothing known come last."""
    ok = result.ok[result.ok["name"].isin(verdicts)]
    table = pd.DataFrame(
        {
            "wall": [verdicts[name].wall for name in ok["name"]],
            "label": [verdicts[name].label for name in ok["name"]],
            "of_roof": ok["roof_fraction"].to_numpy(),
        }
    )
    found = []
    for name, rows in table.groupby("wall"):
        labels = rows["label"].value_counts()
        by = [(str(label), int(count)) for label, count in labels.items() if label]
        known = rows["of_roof"].dropna()
        middle = float(known.median()) if 2 * len(known) >= len(rows) else math.nan
        found.append(Wall(str(name), len(rows), by, middle))
    return sorted(found, key=lambda wall: (not wall.name, -wall.rows))


def binds(walls: Sequence[Wall], verdicts: Mapping[str, Verdict]) -> str:
    """The walls in a line: "memory bandwidth 193 rows, compute 77"."""
    words = ", ".join(f"{wall.name or 'unknown'} {wall.rows}" for wall in walls)
    borrowed = borrowed_words(verdicts.values())
    return f"{words} ({borrowed})" if borrowed else words


def borrowed_words(verdicts: Iterable[Verdict]) -> str:
    """That what binds the rows, or so many of them, is a prediction of the modelled run that
    ships; empty where it is of none."""
    borrowed = [verdict.borrowed for verdict in verdicts if verdict.bound]
    if not any(borrowed):
        return ""
    rows = plural(sum(borrowed), "row")
    return MODELLED if all(borrowed) else f"{MODELLED} for {rows} of {len(borrowed)}"


def concepts_moved(comparison: Comparison) -> list[Moved]:
    """Only the concepts of which a row changed, the one that lost most first."""
    found = []
    sizes = comparison.rows["concept"].value_counts()
    for concept, rows in changed(comparison.rows).groupby("concept"):
        slower = rows[rows["ratio"] < 1]
        worst = slower["ratio"].min() if len(slower) else rows["ratio"].max()
        found.append(
            Moved(
                str(concept),
                len(slower),
                len(rows) - len(slower),
                int(sizes[concept]),
                float(rows["ratio"].median()),
                float(worst),
            )
        )
    return sorted(found, key=lambda one: one.worst)
