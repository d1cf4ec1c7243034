"""Tables and lines for a terminal."""

import math
import sys
from collections.abc import Iterator

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from gpubench_reports.common.units import si
from gpubench_reports.pages.columns import BOUND_IN_PART, NONE
from gpubench_reports.results.context import Context
from gpubench_reports.results.doubts import Doubts, doubts_line
from gpubench_reports.rules.verdicts.verdict import MODELLED

# The titles of columns that hold words.
_TEXT = (
    "device",
    "grade",
    "bound",
    f"bound ({MODELLED})",
    BOUND_IN_PART,
    "verdict",
    "note",
    "from",
    "row",
    "kernel",
    "figure",
    "program",
    "claim",
    "where",
    "holds",
    "beside it",
    "wanted",
    "of",
)
_LONG = ("claim", "where", "of")  # those that may be broken into lines
_NARROWEST = 20  # characters to which they are


class _Console(Console):
    """One that leaves a closed pipe to whoever called: rich would end the command with code 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def new_console(stderr: bool = False) -> Console:
    # A pipe has no width: nothing may be cut there.
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else 10_000
    return _Console(width=width, highlight=False, soft_wrap=False, stderr=stderr)


def bold(text: str) -> Text:
    return Text(text, style="bold")


def run_text(context: Context) -> str:
    parts = [context.device_title, context.verb, context.date[:16].replace("T", " "), context.mode]
    parts.append("interrupted" if context.interrupted else "")
    return " · ".join(part for part in parts if part)


def print_reservations(console: Console, context: Context) -> None:
    """Prints what to know of the run before its figures, a line each."""
    for sentence in context.reservations:
        console.print(bold(f"!  {sentence}"))


def print_doubts(console: Console, doubts: Doubts, rows: int, of: str = "") -> None:
    """Prints which of the `rows` that the answer rests on were held back or did not converge."""
    if line := doubts_line(doubts, rows):
        console.print(bold(f"!  {of}{line}"))


class Sheet:
    """A table of columns; where the terminal is too narrow for it, one block per row, so that every
    name keeps its figures and every figure its title and unit."""

    def __init__(self, columns: list[tuple[str, list[str]]]) -> None:
        self._columns = columns

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._least_width() <= options.max_width:
            yield self._table()
        else:
            yield from self._blocks()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self._table()).with_maximum(options.max_width)

    def _least_width(self) -> int:
        """That of the table when what may be broken into lines is."""
        gaps = 2 * len(self._columns)
        widths = [max(map(cell_len, (title, *cells))) for title, cells in self._columns]
        return gaps + sum(
            min(width, _NARROWEST) if _may_fold(index, title) else width
            for index, ((title, _), width) in enumerate(zip(self._columns, widths, strict=True))
        )

    def _table(self) -> Table:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for index, (title, _) in enumerate(self._columns):
            text = index == 0 or title in _TEXT
            table.add_column(
                title,
                justify="left" if text else "right",
                overflow="fold",
                no_wrap=not _may_fold(index, title),
            )
        for line in zip(*(cells for _, cells in self._columns), strict=True):
            table.add_row(*(escape(cell) for cell in line))
        return table

    def _blocks(self) -> Iterator[Text]:
        titles = [title for title, _ in self._columns]
        for name, *cells in zip(*(cells for _, cells in self._columns), strict=True):
            yield bold(name)
            for title, cell in zip(titles[1:], cells, strict=True):
                if cell != NONE:
                    yield Text(f"  {title}: {cell}")


def _may_fold(index: int, title: str) -> bool:
    return index == 0 or title in _LONG


def table_of(columns: list[tuple[str, list[str]]]) -> Sheet:
    """A table of the columns that say anything; the first is text, the rest are numbers."""
    return Sheet([column for column in columns if any(cell != NONE for cell in column[1])])


def si_texts(values: pd.Series, unit: str) -> list[str]:
    return [NONE if math.isnan(value) else si(value, unit) for value in values]


def percent_texts(values: pd.Series, signed: bool = False, digits: int = 1) -> list[str]:
    form = f"{'+' if signed else ''}.{digits}f"
    return [NONE if math.isnan(value) else f"{value * 100:{form}} %" for value in values]
