"""Tables and lines for a terminal."""

import math
import sys

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from gpubench_reports.common.units import si
from gpubench_reports.pages.columns import NONE
from gpubench_reports.results.context import Context

# The titles of columns that hold words.
_TEXT = (
    "device",
    "grade",
    "bound",
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


def rows_text(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


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
    return " · ".join(part for part in parts if part)


def table_of(columns: list[tuple[str, list[str]]]) -> Table:
    """A table of the columns that say anything; the first is text, the rest are numbers."""
    used = [column for column in columns if any(cell != NONE for cell in column[1])]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for index, (title, _) in enumerate(used):
        text = index == 0 or title in _TEXT
        table.add_column(
            title,
            justify="left" if text else "right",
            overflow="fold",
            no_wrap=index > 0 and title not in _LONG,
        )
    for line in zip(*(cells for _, cells in used), strict=True):
        table.add_row(*(escape(cell) for cell in line))
    return table


def si_texts(values: pd.Series, unit: str) -> list[str]:
    return [NONE if math.isnan(value) else si(value, unit) for value in values]


def percent_texts(values: pd.Series, signed: bool = False, digits: int = 1) -> list[str]:
    form = f"{'+' if signed else ''}.{digits}f"
    return [NONE if math.isnan(value) else f"{value * 100:{form}} %" for value in values]
