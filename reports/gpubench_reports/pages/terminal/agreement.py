"""Predictions beside measurements, and repetitions beside each other, in the terminal."""

from pathlib import Path

import pandas as pd
from rich.text import Text

from gpubench_reports.common.plain_text import clean
from gpubench_reports.common.units import plural
from gpubench_reports.comparisons.agree import NARROW, Agreement, by_concept
from gpubench_reports.comparisons.validate import (
    TARGET_FITTED,
    TARGET_PREDICTED,
    Validation,
    summary,
    worst,
)
from gpubench_reports.pages.columns import NONE
from gpubench_reports.pages.terminal.console import (
    Sheet,
    bold,
    new_console,
    percent_texts,
    print_doubts,
    print_reservations,
    run_text,
    si_texts,
    table_of,
)
from gpubench_reports.results.doubts import Doubts

# Rows of an agreement.
_FARTHEST = 20


def print_validation(validation: Validation) -> None:
    """Prints the errors by concept, of held-out and of fitted rows, and the worst rows."""
    console = new_console()
    for result in validation.results:
        console.print(Text(f"{clean(str(result.path))}  {run_text(result.context)}"))
        print_reservations(console, result.context)
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
            console.print(bold(title))
            console.print(_error_table(group))
    console.print(bold("the worst rows"))
    bad = worst(rows)
    console.print(
        table_of(
            [
                ("name", list(bad["name"])),
                ("device", list(bad["device"])),
                ("measured", si_texts(bad["measured"], "s")),
                ("predicted", si_texts(bad["predicted"], "s")),
                ("its error", percent_texts(bad["error"], signed=True)),
                ("bound", [label or NONE for label in bad["label"]]),
            ]
        )
    )
    console.print(
        Text(
            f"{plural(len(rows), 'row')} compared, "
            f"{validation.unmatched} measured without a prediction"
        )
    )
    print_doubts(console, _doubts(rows), len(rows))


def print_agreement(found: Agreement) -> None:
    """Prints how well the files agree by concept, the rows that lie farthest apart, and the rows
    that are not in all files."""
    console = new_console()
    for result in found.results:
        console.print(Text(f"{clean(str(result.path))}  {run_text(result.context)}"))
        print_reservations(console, result.context)
    lines = by_concept(found.rows)
    console.print(
        table_of(
            [
                ("concept", list(lines["concept"])),
                ("rows", [str(n) for n in lines["rows"]]),
                ("median spread", percent_texts(lines["median"], digits=2)),
                ("worst spread", percent_texts(lines["worst"], digits=2)),
                (f"interval within ± {NARROW * 100:.1f} %", percent_texts(lines["narrow"])),
                ("told apart", percent_texts(lines["told_apart"])),
            ]
        )
    )
    far = found.rows.sort_values("spread", ascending=False, kind="stable")[:_FARTHEST]
    console.print(bold("the rows that are farthest apart"))
    console.print(
        table_of(
            [
                ("name", list(far["name"])),
                ("time", si_texts(far["seconds"], "s")),
                ("spread", percent_texts(far["spread"], digits=2)),
                ("half width", percent_texts(far["half_width"], digits=2)),
            ]
        )
    )
    print_doubts(console, found.doubts, len(found.rows))
    if found.lost:
        console.print(bold(f"{len(found.lost)} not in all files"))
        for name, why in found.lost:
            console.print(Text(f"  {name}: {why}"))


def _doubts(rows: pd.DataFrame) -> Doubts:
    """Those of validated rows, which are of one file or several."""
    several = rows["file"].nunique() > 1
    return {
        f"{name} in {Path(file).name}" if several else name: doubts
        for file, name, doubts in zip(rows["file"], rows["name"], rows["doubts"], strict=True)
        if doubts
    }


def _error_table(rows: pd.DataFrame) -> Sheet:
    lines = summary(rows, "concept")
    if len(lines) > 1:
        everything = summary(rows.assign(concept="all"), "concept")
        lines = pd.concat([lines, everything], ignore_index=True)
    return table_of(
        [
            ("concept", list(lines["concept"])),
            ("rows", [str(n) for n in lines["rows"]]),
            ("mean error", percent_texts(lines["mean"], signed=True)),
            ("MAPE", percent_texts(lines["mape"])),
            ("worst", percent_texts(lines["worst"], signed=True)),
            (
                "within target",
                [f"{m} of {n}" for m, n in zip(lines["met"], lines["rows"], strict=True)],
            ),
        ]
    )
