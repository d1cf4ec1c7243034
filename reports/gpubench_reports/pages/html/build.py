"""One HTML page that holds everything about a result file: no network, no other file.

The page reads without its script, which sorts, filters and opens raw values. All text goes through
markup.py, which escapes it; a Content-Security-Policy forbids every request and every script but
the page's own.
"""

from collections.abc import Sequence
from pathlib import Path

from gpubench_reports.comparisons.ranges import Range
from gpubench_reports.pages.html.chart_sections import (
    comparisons,
    concepts,
    how_to_read,
    others_explained,
    rooflines,
)
from gpubench_reports.pages.html.claims_section import claims
from gpubench_reports.pages.html.document import page_of
from gpubench_reports.pages.html.drawing import draw
from gpubench_reports.pages.html.facts import gather
from gpubench_reports.pages.html.rows_section import links_to, listed_rows, raw_values, rows_section
from gpubench_reports.pages.html.steps_section import steps
from gpubench_reports.pages.html.summary import summary
from gpubench_reports.results.reader import ResultFile

LARGEST = 4_000_000  # bytes of a page
_WORDS = 250_000  # of them for all but rows and charts


def build(
    result: ResultFile,
    others: Sequence[ResultFile] = (),
    recorded: Sequence[Range] = (),
    explained: Sequence[Path] = (),
) -> bytes:
    """The page about `result`, compared with `others`; `recorded` are ranges of its device, and
    `explained` what other runs explain of its rows.

    Raises ReportError when another file has no row in common with this one.
    """
    facts = gather(result, others, recorded, explained)
    listed = listed_rows(facts)
    rows, raw = rows_section(facts, listed), raw_values(facts, listed)
    taken = sum(len(part.encode("utf-8")) for part in (rows, raw))
    drawn = draw(facts, links_to(listed), LARGEST - _WORDS - taken)
    charts = drawn.charts
    sections = [
        summary(facts),
        rooflines(charts),
        *comparisons(facts, charts),
        *steps(result),
        *how_to_read(charts),
        *concepts(facts, charts),
        *others_explained(charts),
        *claims(facts.findings),
        rows,
    ]
    return page_of(result, sections, raw, drawn.sheet).encode("utf-8")


def default_path(result: Path) -> Path:
    """Where the page of a result file goes unless told otherwise: NAME.html beside NAME.json, and
    NAME-report.html beside a NAME of another kind."""
    if result.suffix == ".json":
        return result.with_suffix(".html")
    return result.with_name(f"{result.name}-report.html")
