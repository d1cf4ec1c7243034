"""What rules found, in the terminal: claims, goals, calibrated figures."""

import math
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from gpubench_reports.common.plain_text import clean
from gpubench_reports.common.units import si
from gpubench_reports.pages.columns import NONE
from gpubench_reports.pages.terminal.console import (
    bold,
    new_console,
    percent_texts,
    print_reservations,
    run_text,
    table_of,
)
from gpubench_reports.results.context import Context
from gpubench_reports.results.device_files import figure_rules
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.calibration import Calibration
from gpubench_reports.rules.claims import UNTESTED, Finding, tested_and_not
from gpubench_reports.rules.goals import Outcome

_HOLDS = {True: "yes", False: "no", None: ""}


def print_claims(result: ResultFile, findings: Sequence[Finding]) -> None:
    """Prints every claim that was tested with our figures and its verdict, a line a case, then what
    to know; then a line for each of the others."""
    console = new_console()
    console.print(bold(f"{clean(str(result.path))}  {run_text(result.context)}"))
    print_reservations(console, result.context)
    tested, others = tested_and_not(findings)
    if tested:
        _print_tested(console, tested)
    if others:
        console.print(bold(UNTESTED))
    for finding in others:
        claim = finding.claim
        console.print(Text(f"  {claim.number}  {claim.says}: {finding.why_untested}"))


def _print_tested(console: Console, findings: Sequence[Finding]) -> None:
    lines: list[tuple[str, ...]] = []
    for finding in findings:
        head = (str(finding.claim.number), finding.claim.says, finding.verdict)
        cases = [
            (one.where, one.text, one.case.claimed, _HOLDS[one.holds], one.beside)
            for one in finding.tried
        ]
        cases += [(where, NONE, NONE, UNTESTED, "") for where, _ in finding.untested]
        for case in cases:
            lines.append((*head, *(cell or NONE for cell in case)))
            head = ("", "", "")
    titles = ("#", "claim", "verdict", "where", "our result", "claimed", "holds", "beside it")
    console.print(table_of(list(zip(titles, map(list, zip(*lines, strict=True)), strict=True))))
    console.print(bold("what to know"))
    for finding in findings:
        console.print(Text(f"  {finding.claim.number}  {finding.notes}"))


def print_goals(context: Context, outcomes: Sequence[Outcome]) -> None:
    """Prints every goal with our figure, whether it is met, and what the figure is of or why there
    is none."""
    console = new_console()
    console.print(bold(run_text(context)))
    print_reservations(console, context)
    lines = [
        (one.goal.what, one.goal.wanted, one.text or NONE, one.verdict, one.words)
        for one in outcomes
    ]
    titles = ("goal", "wanted", "found", "verdict", "of")
    console.print(table_of(list(zip(titles, map(list, zip(*lines, strict=True)), strict=True))))
    counts = Counter(one.word for one in outcomes)
    console.print(bold(", ".join(f"{count} {word}" for word, count in counts.items())))


def print_calibration(found: Calibration, kept: dict[str, str]) -> None:
    """Prints every calibrated figure, old and new, then those that no row gave and why, and those
    that no row measures (`kept`: figure to reason)."""
    console = new_console()
    base, units = found.base, figure_rules()
    console.print(bold(f"{run_text(found.result.context)}, on top of {base.name}"))
    print_reservations(console, found.result.context)
    if found.result.context.modelled:
        console.print(bold("MODELLED, not measured: this tests the rules and calibrates nothing."))

    def shown(figure: str, value: float) -> str:
        unit = units[figure].unit
        return f"{value:.4g}" if unit == "1" else si(value, unit, 4)

    lines = []
    for one in found.figures:
        old = base.value(one.figure)
        row = one.rows[0]
        if len(one.rows) > 1:
            row = f"{one.rule.take} of {len(one.rows)} rows: {row}, ..."
        change = math.nan if old is None else one.value / old - 1
        lines.append(
            (
                one.figure,
                NONE if old is None else shown(one.figure, old),
                NONE if old is None else base.provenance(one.figure),
                shown(one.figure, one.value),
                change,
                row,
            )
        )
    names, olds, provenances, news, changes, rows = map(list, zip(*lines, strict=True))
    console.print(
        table_of(
            [
                ("figure", names),
                ("old", olds),
                ("from", provenances),
                ("new", news),
                ("change", percent_texts(changes, signed=True)),
                ("row", rows),
            ]
        )
    )
    taken = [f"{one.figure}: {', '.join(one.from_base)}" for one in found.figures if one.from_base]
    for title, entries in (
        ("computed with figures of the base, which no row gave", taken),
        ("not calibrated", [f"{figure}: {why}" for figure, why in found.missed.items()]),
    ):
        if entries:
            console.print(bold(title))
            for entry in entries:
                console.print(Text(f"  {entry}"))
    console.print(bold("measured by no row"))
    for why in dict.fromkeys(kept.values()):
        figures = [name for name, reason in kept.items() if reason == why and base.has(name)]
        console.print(Text(f"  {why}: {', '.join(figures)}"))
    console.print(Text(f"{len(found.figures)} calibrated, {len(found.missed)} not"))
