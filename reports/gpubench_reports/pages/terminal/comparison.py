"""Comparisons in the terminal: of two files, and of many."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
from rich.console import Console
from rich.text import Text

from gpubench_reports.common.plain_text import clean
from gpubench_reports.common.units import plural, si
from gpubench_reports.comparisons.compare import (
    Comparison,
    changed,
    counted,
    look_first,
    other_versions,
    signed,
)
from gpubench_reports.comparisons.speedups import Speedups, labels
from gpubench_reports.pages.answers import Moved, concepts_moved
from gpubench_reports.pages.columns import NONE
from gpubench_reports.pages.terminal.console import (
    Sheet,
    bold,
    new_console,
    run_text,
    table_of,
)
from gpubench_reports.pages.terminal.result import fault_lines, health_line, observed_health
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.diagnosis.diagnose import why_changed

# Rows of a comparison that are printed unless all are asked for.
_MOST_CHANGED, _MOST_ALONE = 40, 10


def print_comparison(comparison: Comparison, everything: bool = False) -> None:
    """Prints what the two files are, how they are unlike, what changed in a line and by concept,
    the rows that changed, most first, and how many did not; with `everything` the others too, in
    A's order, and all that one file lacks."""
    console = new_console()
    for letter, result in (("A", comparison.a), ("B", comparison.b)):
        console.print(Text(f"{letter}  {clean(str(result.path))}  {run_text(result.context)}"))
    for warning in comparison.cautions:
        console.print(bold(f"!  {warning}"))
    for versions in other_versions(comparison.a, comparison.b):
        console.print(Text(f"!  {versions}"))
    _print_why(console, comparison)
    moved = concepts_moved(comparison)
    if len(moved) > 1:
        console.print(_concepts_table(moved))
    first = changed(comparison.rows)
    shown = first[:_MOST_CHANGED]
    if everything:
        shown = pd.concat([first, comparison.rows.drop(first.index)])
    if not shown.empty:
        console.print(_comparison_table(shown, comparison.modelled))
    counts = comparison.rows["verdict"].value_counts()
    words = {
        "faster": "B is faster in {}",
        "slower": "B is slower in {}",
        "same": "{} show no difference",
        "unknown": "{} without an interval",
    }
    parts = [text.format(counts[key]) for key, text in words.items() if key in counts]
    console.print(Text(f"{plural(len(comparison.rows), 'row')} in both: " + ", ".join(parts)))
    hidden = len(comparison.rows) - len(shown)
    if hidden:
        lead = "the rows that changed most are above, " if len(shown) else ""
        console.print(Text(f"{lead}{plural(hidden, 'row')} not printed: --all prints them"))
    lists = (
        ("only in A", comparison.only_a),
        ("only in B", comparison.only_b),
        ("without a time in A, and failed in B", comparison.failed),
    )
    for title, names in lists:
        if names:
            console.print(bold(f"{len(names)} {title}"))
            kept = names if everything else names[:_MOST_ALONE]
            for name, why in kept:
                console.print(Text(f"  {name}: {why}"))
            if len(kept) < len(names):
                console.print(Text(f"  and {len(names) - len(kept)} more: --all prints them"))


def _print_why(console: Console, comparison: Comparison) -> None:
    """Whether B is healthy, what changed, and why: the fault that B has since A, or else the one
    that B has by itself."""
    since = next(iter(why_changed(comparison.a, comparison.b)), None)
    if state := observed_health(comparison.b):
        console.print(Text(f"B  {health_line(state)}"))
        if state.fault and not since:
            console.print(Text(f"B  {fault_lines(state.fault)[0]}"))
    console.print(bold(": ".join(filter(None, counted(comparison)))))
    if since:
        probably, look = fault_lines(since, look_first(comparison.a, comparison.b))
        console.print(bold(probably))
        console.print(Text(look))


def print_failures(lines: list[str], limit: float) -> None:
    """Prints to standard error what --fail-on does not allow."""
    console = new_console(stderr=True)
    console.print(bold(f"{plural(len(lines), 'row')} of B beyond --fail-on={limit * 100:g}%:"))
    for line in lines[:_MOST_CHANGED]:
        console.print(Text(f"  {line}"))
    if len(lines) > _MOST_CHANGED:
        console.print(Text(f"  and {len(lines) - _MOST_CHANGED} more"))


def print_speedups(table: Speedups, results: Sequence[ResultFile]) -> None:
    """Prints whether each device was healthy, and the means of every group, one column per file,
    with their intervals."""
    console = new_console()
    names = labels([result.context for result in results])
    for name, result in zip(names, results, strict=True):
        if state := observed_health(result):
            console.print(Text(f"{name}  {health_line(state)}"))
            if state.fault:
                console.print(Text(f"{name}  {fault_lines(state.fault)[0]}"))
    for warning in table.warnings:
        console.print(bold(f"!  {warning}"))
    what = "of the fraction of the roof reached" if table.of_roof else "of speed"
    over = "" if table.by == "dtype" else f", over {table.reference}"
    console.print(Text(f"geometric means {what}{over}"))
    groups = list(dict.fromkeys(g for lines in table.lines.values() for g in lines[table.by]))
    columns = [(table.by, groups)]
    for name, lines in table.lines.items():
        by_group = {line[table.by]: line for line in lines.to_dict("records")}
        columns.append((name, [_mean(by_group.get(group)) for group in groups]))
    console.print(table_of(columns))


def _mean(line: dict[str, Any] | None) -> str:
    if line is None:
        return NONE
    interval = ""
    if math.isfinite(line["low"]):
        interval = f" ({line['low']:.3f} … {line['high']:.3f})"
    return f"{line['ratio']:.3f}{interval}, {plural(line['rows'], 'row')}"


def _concepts_table(moved: Sequence[Moved]) -> Sheet:
    """Only the concepts of which a row changed."""
    return table_of(
        [
            ("concept", [one.concept for one in moved]),
            ("slower", [str(one.slower) for one in moved]),
            ("faster", [str(one.faster) for one in moved]),
            ("of rows", [str(one.rows) for one in moved]),
            ("typically", [signed(one.middle) for one in moved]),
            ("most", [signed(one.worst) for one in moved]),
        ]
    )


def _comparison_table(rows: pd.DataFrame, modelled: bool) -> Sheet:
    units = list(rows["unit"])
    interval = [
        NONE if modelled or not low < high else f"{low:.3f} … {high:.3f}"
        for low, high in zip(rows["low"], rows["high"], strict=True)
    ]
    return table_of(
        [
            ("name", list(rows["name"])),
            ("A", [si(v, unit) for v, unit in zip(rows["a"], units, strict=True)]),
            ("B", [si(v, unit) for v, unit in zip(rows["b"], units, strict=True)]),
            ("speed B/A", [f"{ratio:.3f}" for ratio in rows["ratio"]]),
            ("95 % interval", interval),
            ("verdict", list(rows["verdict"])),
        ]
    )
