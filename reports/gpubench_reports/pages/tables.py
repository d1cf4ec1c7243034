"""Terminal tables of one result file and of a comparison."""

import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from gpubench_reports.common.units import si
from gpubench_reports.comparisons.agree import NARROW, Agreement, by_concept
from gpubench_reports.comparisons.compare import Comparison, changed
from gpubench_reports.comparisons.counters import METRICS, TIME_TOLERANCE, Timed
from gpubench_reports.comparisons.counters import Comparison as Counted
from gpubench_reports.comparisons.peers import WIDTH, Answer
from gpubench_reports.comparisons.peers import Comparison as Beside
from gpubench_reports.comparisons.speedups import Table as Speedups
from gpubench_reports.comparisons.validate import (
    TARGET_FITTED,
    TARGET_PREDICTED,
    Validation,
    summary,
    worst,
)
from gpubench_reports.pages.columns import NONE, columns_of
from gpubench_reports.results.reader import Context, ResultFile
from gpubench_reports.rules.calibration import Calibration, figure_rules
from gpubench_reports.rules.claims import UNTESTED, Finding, tested_and_not
from gpubench_reports.rules.goals import Outcome
from gpubench_reports.rules.verdicts import Verdict

# A terminal table longer than this is read by nobody, and takes minutes to lay out.
MOST_ROWS = 5000
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
_HOLDS = {True: "yes", False: "no", None: ""}
# Rows of a comparison that are printed unless all are asked for.
_MOST_CHANGED, _MOST_ALONE = 40, 10
# Rows of an agreement.
_FARTHEST = 20


def print_result(result: ResultFile, verdicts: Mapping[str, Verdict]) -> None:
    """Prints all rows of `result`: grades, times and figures, then what was skipped or failed and
    why."""
    console = _console()
    context = result.context
    console.print(_bold(_run(context)))
    if context.modelled:
        console.print(_bold("MODELLED, not measured: these figures are predictions."))
    if not result.ok.empty:
        table, notes = _result_table(result.ok[:MOST_ROWS], verdicts, context)
        console.print(table)
        if notes:
            console.print(_bold("notes"))
        for number, note in enumerate(notes, start=1):
            console.print(Text(f"  {number}  {note}"))
    more = len(result.ok) - MOST_ROWS
    if more > 0:
        console.print(_bold(f"and {_rows(more)} more: gpubench-report csv lists them all"))
    for status, word in (("skipped", "skipped"), ("failed", "FAILED")):
        lost = result.rows[result.rows["status"] == status]
        if not lost.empty:
            console.print(_bold(f"{len(lost)} {word}"))
            for name, why in zip(lost["name"], lost["reason"], strict=True):
                console.print(Text(f"  {name}: {why}"))


def print_comparison(comparison: Comparison, everything: bool = False) -> None:
    """Prints what the two files are, how they are unlike, the rows that changed, most first, and
    how many did not; with `everything` all rows in A's order, and all that one file lacks."""
    console = _console()
    for letter, result in (("A", comparison.a), ("B", comparison.b)):
        console.print(Text(f"{letter}  {result.path}  {_run(result.context)}"))
    for warning in comparison.warnings:
        console.print(_bold(f"!  {warning}"))
    shown = comparison.rows if everything else changed(comparison.rows)[:_MOST_CHANGED]
    if not shown.empty:
        console.print(_comparison_table(shown))
    counts = comparison.rows["verdict"].value_counts()
    words = {
        "faster": "B faster",
        "slower": "B slower",
        "same": "no difference shown",
        "unknown": "without an interval",
    }
    parts = [f"{counts[key]} {text}" for key, text in words.items() if key in counts]
    console.print(Text(f"{_rows(len(comparison.rows))} in both: " + ", ".join(parts)))
    hidden = len(comparison.rows) - len(shown)
    if hidden:
        lead = "the rows that changed most are above, " if len(shown) else ""
        console.print(Text(f"{lead}{_rows(hidden)} not printed: --all prints them"))
    for letter, names in (("A", comparison.only_a), ("B", comparison.only_b)):
        if names:
            console.print(_bold(f"{len(names)} only in {letter}"))
            kept = names if everything else names[:_MOST_ALONE]
            for name, why in kept:
                console.print(Text(f"  {name}: {why}"))
            if len(kept) < len(names):
                console.print(Text(f"  and {len(names) - len(kept)} more: --all prints them"))


def print_speedups(table: Speedups) -> None:
    """Prints the means of every group, a column a file, with their intervals."""
    console = _console()
    for warning in table.warnings:
        console.print(_bold(f"!  {warning}"))
    what = "of the fraction of the roof reached" if table.of_roof else "of speed"
    over = "" if table.by == "dtype" else f", over {table.reference}"
    console.print(Text(f"geometric means {what}{over}"))
    groups = list(dict.fromkeys(g for lines in table.lines.values() for g in lines[table.by]))
    columns = [(table.by, groups)]
    for name, lines in table.lines.items():
        by_group = {line[table.by]: line for line in lines.to_dict("records")}
        columns.append((name, [_mean(by_group.get(group)) for group in groups]))
    console.print(_table(columns))


def _mean(line: dict | None) -> str:
    if line is None:
        return NONE
    interval = ""
    if math.isfinite(line["low"]):
        interval = f" ({line['low']:.3f} … {line['high']:.3f})"
    return f"{line['ratio']:.3f}{interval}, {_rows(line['rows'])}"


def print_validation(validation: Validation) -> None:
    """Prints the errors by concept, of held-out and of fitted rows, and the worst rows."""
    console = _console()
    for result in validation.results:
        console.print(Text(f"{result.path}  {_run(result.context)}"))
    rows = validation.rows
    for fitted, title in (
        (False, f"held out: predicted, target ± {TARGET_PREDICTED * 100:.0f} %"),
        (
            True,
            f"fitted: bound by a calibrated figure, target ± {TARGET_FITTED * 100:.0f} %",
        ),
    ):
        group = rows[rows["fitted"] == fitted]
        if not group.empty:
            console.print(_bold(title))
            console.print(_error_table(group))
    console.print(_bold("the worst rows"))
    bad = worst(rows)
    console.print(
        _table(
            [
                ("name", list(bad["name"])),
                ("device", list(bad["device"])),
                ("measured", _si(bad["measured"], "s")),
                ("predicted", _si(bad["predicted"], "s")),
                ("its error", _percent(bad["error"], signed=True)),
                ("bound", [label or NONE for label in bad["label"]]),
            ]
        )
    )
    console.print(
        Text(f"{_rows(len(rows))} compared, {validation.unmatched} measured without a prediction")
    )


def print_agreement(found: Agreement) -> None:
    """Prints how well the files agree by concept, the rows that lie farthest apart, and the rows
    that are not in all files."""
    console = _console()
    for result in found.results:
        console.print(Text(f"{result.path}  {_run(result.context)}"))
    lines = by_concept(found.rows)
    console.print(
        _table(
            [
                ("concept", list(lines["concept"])),
                ("rows", [str(n) for n in lines["rows"]]),
                ("median spread", _percent(lines["median"], digits=2)),
                ("worst spread", _percent(lines["worst"], digits=2)),
                (f"interval within ± {NARROW * 100:.1f} %", _percent(lines["narrow"])),
                ("told apart", _percent(lines["told_apart"])),
            ]
        )
    )
    far = found.rows.sort_values("spread", ascending=False, kind="stable")[:_FARTHEST]
    console.print(_bold("the rows that lie farthest apart"))
    console.print(
        _table(
            [
                ("name", list(far["name"])),
                ("time", _si(far["seconds"], "s")),
                ("spread", _percent(far["spread"], digits=2)),
                ("half width", _percent(far["half_width"], digits=2)),
            ]
        )
    )
    if found.lost:
        console.print(_bold(f"{len(found.lost)} not in all files"))
        for name, why in found.lost:
            console.print(Text(f"  {name}: {why}"))


def print_counters(found: Counted) -> None:
    """Prints, for each figure, how many launches agree, and every difference."""
    console = _console()
    by_figure: dict[str, list[bool]] = {}
    for one in found.differences:
        by_figure.setdefault(one.figure, []).append(bool(one.why))
    figures = [
        f for f in (*METRICS, "resident_blocks", "occupancy") if found.equal[f] or f in by_figure
    ]
    known = [sum(by_figure.get(f, [])) for f in figures]
    console.print(Text(f"{found.launches} launches compared"))
    console.print(
        _table(
            [
                ("figure", figures),
                ("launches equal", [str(found.equal[f]) for f in figures]),
                ("differ, explained", [str(n) for n in known]),
                (
                    "differ",
                    [
                        str(len(by_figure.get(f, [])) - n)
                        for f, n in zip(figures, known, strict=True)
                    ],
                ),
            ]
        )
    )
    if found.differences:
        console.print(_bold("every difference"))
        console.print(
            _table(
                [
                    ("name", [d.row for d in found.differences]),
                    ("kernel", [d.kernel for d in found.differences]),
                    ("figure", [d.figure for d in found.differences]),
                    ("model", [f"{d.model:.6g}" for d in found.differences]),
                    ("profiler", [f"{d.profiler:.6g}" for d in found.differences]),
                    ("note", [d.why or "not explained" for d in found.differences]),
                ]
            )
        )
    for words in found.alone:
        console.print(Text(words))


def print_timings(timed: Sequence[Timed]) -> None:
    """Prints the rows whose time is not the profiler's, of those that are long enough."""
    console = _console()
    held = [one for one in timed if one.expected]
    off = [one for one in held if abs(one.ratio - 1) > TIME_TOLERANCE]
    console.print(
        Text(
            f"times: {len(held) - len(off)} of {len(held)} rows within "
            f"{TIME_TOLERANCE * 100:.0f} % of the profiler's; {len(timed) - len(held)} too short"
        )
    )
    if off:
        console.print(
            _table(
                [
                    ("name", [one.row for one in off]),
                    ("time", [si(one.seconds, "s") for one in off]),
                    ("profiler", [si(one.profiler_seconds, "s") for one in off]),
                    ("over it", [f"{one.ratio:.3f}" for one in off]),
                    ("note", ["in cycles" if one.in_cycles else NONE for one in off]),
                ]
            )
        )


def print_peers(found: Sequence[Beside]) -> None:
    """Prints every program's answers beside ours."""

    def seconds(answer: Answer | None) -> str:
        known = answer is not None and math.isfinite(answer.seconds)
        return si(answer.seconds, "s") if answer and known else NONE

    def value(one: Beside, answer: Answer | None) -> str:
        return NONE if answer is None else si(answer.value, one.what.unit)

    console = _console()
    console.print(
        _table(
            [
                ("what", [one.what.name for one in found]),
                ("program", [one.theirs.program for one in found]),
                ("finds", [value(one, one.theirs) for one in found]),
                ("gpubench", [value(one, one.ours) for one in found]),
                ("over it", [f"{one.ratio:.3f}" if one.ratio else NONE for one in found]),
                (f"needs for ± {WIDTH * 100:.1f} %", [seconds(one.theirs) for one in found]),
                ("gpubench needs", [seconds(one.ours) for one in found]),
                (
                    "note",
                    [
                        one.what.note
                        or ("" if one.ours else "gpubench has no such row yet")
                        or NONE
                        for one in found
                    ],
                ),
            ]
        )
    )


def print_claims(result: ResultFile, findings: Sequence[Finding]) -> None:
    """Prints every claim that was tested with our figures and its verdict, a line a case, then what
    to know; then a line for each of the others."""
    console = _console()
    console.print(_bold(f"{result.path}  {_run(result.context)}"))
    tested, others = tested_and_not(findings)
    if tested:
        _print_tested(console, tested)
    if others:
        console.print(_bold(UNTESTED))
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
    titles = ("#", "claim", "verdict", "where", "our figure", "claimed", "holds", "beside it")
    console.print(_table(list(zip(titles, map(list, zip(*lines, strict=True)), strict=True))))
    console.print(_bold("what to know"))
    for finding in findings:
        console.print(Text(f"  {finding.claim.number}  {finding.notes}"))


def print_goals(context: Context, outcomes: Sequence[Outcome]) -> None:
    """Prints every goal with our figure, whether it is met, and what the figure is of or why there
    is none."""
    console = _console()
    console.print(_bold(_run(context)))
    lines = [
        (one.goal.what, one.goal.wanted, one.text or NONE, one.verdict, one.words)
        for one in outcomes
    ]
    titles = ("goal", "wanted", "found", "verdict", "of")
    console.print(_table(list(zip(titles, map(list, zip(*lines, strict=True)), strict=True))))
    counts = Counter(one.word for one in outcomes)
    console.print(_bold(", ".join(f"{count} {word}" for word, count in counts.items())))


def print_calibration(found: Calibration, kept: dict[str, str]) -> None:
    """Prints every calibrated figure, old and new, then those that no row gave and why, and those
    that no row measures (`kept`: figure to reason)."""
    console = _console()
    base, units = found.base, figure_rules()
    console.print(_bold(f"{_run(found.result.context)}, on top of {base.name}"))
    if found.result.context.modelled:
        console.print(_bold("MODELLED, not measured: this tests the rules and calibrates nothing."))

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
        _table(
            [
                ("figure", names),
                ("old", olds),
                ("from", provenances),
                ("new", news),
                ("change", _percent(changes, signed=True)),
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
            console.print(_bold(title))
            for entry in entries:
                console.print(Text(f"  {entry}"))
    console.print(_bold("measured by no row"))
    for why in dict.fromkeys(kept.values()):
        figures = [name for name, reason in kept.items() if reason == why and base.has(name)]
        console.print(Text(f"  {why}: {', '.join(figures)}"))
    console.print(Text(f"{len(found.figures)} calibrated, {len(found.missed)} not"))


def _error_table(rows: pd.DataFrame) -> Table:
    lines = summary(rows, "concept")
    if len(lines) > 1:
        everything = summary(rows.assign(concept="all"), "concept")
        lines = pd.concat([lines, everything], ignore_index=True)
    return _table(
        [
            ("concept", list(lines["concept"])),
            ("rows", [str(n) for n in lines["rows"]]),
            ("mean error", _percent(lines["mean"], signed=True)),
            ("MAPE", _percent(lines["mape"])),
            ("worst", _percent(lines["worst"], signed=True)),
            (
                "within target",
                [f"{m} of {n}" for m, n in zip(lines["met"], lines["rows"], strict=True)],
            ),
        ]
    )


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _console() -> Console:
    # A pipe has no width: nothing may be cut there.
    width = None if sys.stdout.isatty() else 10_000
    return Console(width=width, highlight=False, soft_wrap=False)


def _bold(text: str) -> Text:
    return Text(text, style="bold")


def _run(context: Context) -> str:
    parts = [context.device_title, context.verb, context.date[:16].replace("T", " "), context.mode]
    return " · ".join(part for part in parts if part)


def _table(columns: list[tuple[str, list[str]]]) -> Table:
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


def _result_table(
    rows: pd.DataFrame, verdicts: Mapping[str, Verdict], context: Context
) -> tuple[Table, list[str]]:
    """The table and, since many rows have the same and they are long, its notes by number."""
    columns = columns_of(rows, verdicts, context)
    numbers: dict[str, int] = {}

    def short(notes: str) -> str:
        if notes == NONE:
            return NONE
        found = [numbers.setdefault(note, len(numbers) + 1) for note in notes.split("; ")]
        return " ".join(map(str, found))

    shown = [
        (column.title, [short(text) for text in column.texts])
        if column.key == "note"
        else (column.title, column.texts)
        for column in columns
        if column.key != "wall"
    ]
    return _table(shown), list(numbers)


def _comparison_table(rows: pd.DataFrame) -> Table:
    units = list(rows["unit"])
    interval = [
        f"{low:.3f} … {high:.3f}" if math.isfinite(low) else NONE
        for low, high in zip(rows["low"], rows["high"], strict=True)
    ]
    return _table(
        [
            ("name", list(rows["name"])),
            ("A", [si(v, unit) for v, unit in zip(rows["a"], units, strict=True)]),
            ("B", [si(v, unit) for v, unit in zip(rows["b"], units, strict=True)]),
            ("speed B/A", [f"{ratio:.3f}" for ratio in rows["ratio"]]),
            ("95 % interval", interval),
            ("verdict", list(rows["verdict"])),
        ]
    )


def _si(values: pd.Series, unit: str) -> list[str]:
    return [NONE if math.isnan(value) else si(value, unit) for value in values]


def _percent(values: pd.Series, signed: bool = False, digits: int = 1) -> list[str]:
    form = f"{'+' if signed else ''}.{digits}f"
    return [NONE if math.isnan(value) else f"{value * 100:{form}} %" for value in values]
