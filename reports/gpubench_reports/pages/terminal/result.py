"""A result file in the terminal."""

import re
from collections.abc import Iterable, Mapping

import pandas as pd
from rich.text import Text

from gpubench_reports.common.units import plural
from gpubench_reports.pages.answers import binds, walls_of
from gpubench_reports.pages.columns import NONE, columns_of
from gpubench_reports.pages.goodness import goodness, roofs_reached
from gpubench_reports.pages.terminal.console import (
    Sheet,
    bold,
    new_console,
    print_reservations,
    run_text,
    table_of,
)
from gpubench_reports.results.context import Context
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.diagnosis.diagnose import Diagnosis
from gpubench_reports.rules.verdicts.health import Health, health
from gpubench_reports.rules.verdicts.verdict import FINE, Verdict, worst

# A terminal table longer than this is read by nobody, and takes minutes to lay out.
MOST_ROWS = 5000
_MOST_ALIKE = 3  # notes that differ in their numbers alone; more are one note, with ranges
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def print_result(result: ResultFile, verdicts: Mapping[str, Verdict]) -> None:
    """Prints all rows of `result`: grades, times and figures, then what was skipped or failed and
    why."""
    console = new_console()
    context = result.context
    console.print(bold(run_text(context)))
    if context.modelled:
        console.print(bold("MODELLED, not measured: these figures are predictions."))
    print_reservations(console, context)
    for line in _answers(result, verdicts):
        console.print(Text(line))
    if not result.ok.empty:
        table, notes = _result_table(result.ok[:MOST_ROWS], verdicts, context)
        console.print(table)
        if notes:
            console.print(bold("notes"))
        for number, note in enumerate(notes, start=1):
            console.print(Text(f"  {number}  {note}"))
    more = len(result.ok) - MOST_ROWS
    if more > 0:
        console.print(bold(f"and {plural(more, 'row')} more: gpubench-report csv lists them all"))
    for status, word in (("skipped", "skipped"), ("failed", "FAILED")):
        lost = result.rows[result.rows["status"] == status]
        if not lost.empty:
            console.print(bold(f"{len(lost)} {word}"))
            for name, why in zip(lost["name"], lost["reason"], strict=True):
                console.print(Text(f"  {name}: {why}"))


def observed_health(result: ResultFile) -> Health | None:
    """None for a modelled run, which is neither healthy nor not."""
    return None if result.context.modelled else health(result)


def health_line(state: Health) -> str:
    """Whether the device is healthy, and what was seen unless a fault comes first."""
    word = {True: state.word, False: "NOT HEALTHY", None: "health not observed"}[state.well]
    return word if state.fault else f"{word} ({_seen(state)})"


def fault_lines(fault: Diagnosis, first: str = "") -> tuple[str, str]:
    """What the fault is, and where to look: `first` at what is known to be otherwise."""
    return f"probably: {fault.sentence}", f"look at:  {first}{fault.look}"


def _seen(state: Health) -> str:
    return "; ".join(state.sentences) or "nothing is known"


def _answers(result: ResultFile, verdicts: Mapping[str, Verdict]) -> list[str]:
    """Is it healthy, is it good, what is the worst, what binds it?"""
    lines = []
    if state := observed_health(result):
        lines.append(health_line(state))
        if state.fault:
            lines += [*fault_lines(state.fault), f"also:     {_seen(state)}"]
    if verdicts:
        found = goodness(result, verdicts, state or health(result), roofs_reached(result))
        lines.append(" ".join(filter(None, (f"good?     {found.words}.", found.more))))
    off = [verdict for verdict in worst(verdicts.values(), 3) if verdict.grade not in FINE]
    for n, verdict in enumerate(off):
        lines.append(f"{'worst: ' if n == 0 else '       '}{verdict.name}: {verdict.sentence}")
    if walls := walls_of(result, verdicts):
        lines.append(f"bound by {binds(walls, verdicts)}")
    return lines


def _result_table(
    rows: pd.DataFrame, verdicts: Mapping[str, Verdict], context: Context
) -> tuple[Sheet, list[str]]:
    """The table and, since many rows have the same and they are long, its notes by number."""
    columns = columns_of(rows, verdicts, context)
    told = _told(note for column in columns for notes in column.parts or [] for note in notes)
    numbers: dict[str, int] = {}

    def short(notes: list[str]) -> str:
        found = [numbers.setdefault(told[note], len(numbers) + 1) for note in notes]
        return " ".join(map(str, found)) or NONE

    shown = [
        (column.title, column.texts if column.parts is None else list(map(short, column.parts)))
        for column in columns
        if column.key != "wall"
    ]
    return table_of(shown), list(numbers)


def _told(notes: Iterable[str]) -> dict[str, str]:
    """What the table says for each note: many that differ in their numbers alone become one."""
    alike: dict[str, dict[str, None]] = {}
    for note in notes:
        alike.setdefault(_NUMBER.sub("#", note), {})[note] = None
    found: dict[str, str] = {}
    for some in alike.values():
        one = _with_ranges(list(some)) if len(some) > _MOST_ALIKE else ""
        found |= {note: one or note for note in some}
    return found


def _with_ranges(notes: list[str]) -> str:
    """One note for those that differ in their numbers: "measured at 1.3-1.9 GHz"."""
    ranges = []
    for numbers in zip(*map(_NUMBER.findall, notes), strict=True):
        least, most = min(numbers, key=float), max(numbers, key=float)
        ranges.append(least if least == most else f"{least}-{most}")
    return _NUMBER.sub(lambda _: ranges.pop(0), notes[0])
