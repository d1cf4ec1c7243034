"""The sections that are made of charts."""

import re
from collections.abc import Sequence

from gpubench_reports.common.plain_text import clean
from gpubench_reports.common.units import plural
from gpubench_reports.comparisons.compare import changed
from gpubench_reports.pages import paragraphs
from gpubench_reports.pages.html.concept_words import sections_of
from gpubench_reports.pages.html.drawing import MOST_RATIOS
from gpubench_reports.pages.html.facts import Facts
from gpubench_reports.pages.html.markup import Markup, joined, tag
from gpubench_reports.pages.html.order import in_order
from gpubench_reports.pages.html.pieces import Chart, figure_of, show_rows

_HOW_TO_READ = "How to read it"  # the section of a concept's page that is open
_CONCEPT = re.compile(r'<g data-of="([^"]*)"')
ROOFLINES = ("roofline", "levels", "devices", "roofs")  # kinds of charts


def rooflines(charts: Sequence[Chart]) -> Markup:
    whole = [chart for chart in charts if chart.kind in ROOFLINES]
    parts = [
        figure_of(chart, paragraphs.how_to_read(chart.kind), _switches(chart)) for chart in whole
    ]
    if not any(chart.kind == "roofline" for chart in whole):
        parts.insert(
            0, tag("p", "No roofline: no row has both an arithmetic intensity and FLOP/s.")
        )
    return tag("section", tag("h2", "Rooflines"), *parts, id="rooflines")


def _switches(chart: Chart) -> Markup | None:
    """Buttons that switch the chart's concepts on and off; the script shows them."""
    concepts = list(dict.fromkeys(_CONCEPT.findall(chart.content)))
    if len(concepts) < 2:
        return None
    buttons = [
        tag("button", Markup(name), type="button", data_of=Markup(name), aria_pressed="true")
        for name in concepts
    ]
    every = tag("button", "all", type="button", class_="every")
    return tag(
        "div", every, *buttons, class_="concepts", role="group", aria_label="Concepts", hidden=True
    )


def comparisons(facts: Facts, charts: Sequence[Chart]) -> list[Markup]:
    if not facts.comparisons:
        return []
    parts = [
        figure_of(chart, paragraphs.how_to_read("means"))
        for chart in charts
        if chart.kind == "means"
    ]
    for number, comparison in enumerate(facts.comparisons, start=1):
        own = [chart for chart in charts if chart.stem == f"compare-{number}"]
        rows, off = len(comparison.rows), len(changed(comparison.rows))
        drawn = f"{off}" if off <= MOST_RATIOS else f"The {MOST_RATIOS} largest of {off}"
        words = (
            f"B is this file, A is {clean(comparison.a.path.name)}. "
            f"{paragraphs.how_to_read('compare')} "
            f"{drawn} changes are drawn; of {rows} rows in both, {rows - off} show none."
        )
        parts.append(tag("h3", f"Against {clean(comparison.a.path.name)}"))
        parts += [tag("p", words, class_="banner") for words in comparison.cautions]
        parts += [figure_of(chart, words) for chart in own]
        if not off:
            parts.append(tag("p", f"None of the {rows} rows that are in both shows a difference."))
        for letter, names in (("the other file", comparison.only_a), ("this", comparison.only_b)):
            if names:
                parts.append(tag("p", f"{len(names)} rows only {letter} has.", class_="small"))
        if comparison.failed:
            words = f"{plural(len(comparison.failed), 'row')} without a time in A failed in B."
            parts.append(tag("p", words, class_="small"))
    return [tag("section", tag("h2", "Comparison"), *parts, id="comparison")]


def how_to_read(charts: Sequence[Chart]) -> list[Markup]:
    """How each kind of the concepts' charts is read, once."""
    kinds = dict.fromkeys(chart.kind for chart in charts if chart.concept)
    if not kinds:
        return []
    entries = [
        (
            tag("dt", paragraphs.title_of(kind), id=f"read-{kind}"),
            tag("dd", paragraphs.how_to_read(kind)),
        )
        for kind in kinds
    ]
    title = tag("h2", "How to read the concepts' charts")
    return [tag("section", title, tag("dl", entries, class_="card kinds"), id="how")]


def concepts(facts: Facts, charts: Sequence[Chart]) -> list[Markup]:
    """A section for each concept, those that people come for first."""
    return [
        _section(facts, concept, stem, [chart for chart in charts if chart.concept == concept])
        for concept, stem in in_order(facts.result).items()
    ]


def _section(facts: Facts, concept: str, stem: str, charts: Sequence[Chart]) -> Markup:
    """The concept's question, what was found in a line, its charts, how to read them, and what
    each kernel reached."""
    result = facts.result
    rows = [row for row in result.records if row["concept"] == concept]
    question = result.context.concepts.get(concept)
    parts = [
        tag("p", question[:1].upper() + question[1:], class_="question") if question else None,
        tag("p", paragraphs.in_a_line(rows, facts.verdicts), class_="found"),
        *[figure_of(chart, _caption(concept, chart)) for chart in charts],
    ]
    if not charts:
        why = (
            "no row has a time"
            if all(row["status"] != "ok" for row in rows)
            else "it has too many rows"
        )
        parts.append(tag("p", f"No chart: {why}.", class_="small"))
    parts += [
        tag("details", tag("summary", title), words, open=title == _HOW_TO_READ)
        for title, words in sections_of(concept).items()
    ]
    kernels, rest = paragraphs.sentences_of(rows, facts.verdicts)
    each = tag("ul", [tag("li", sentence) for sentence in [*kernels, *rest]], class_="plain")
    parts.append(tag("details", tag("summary", "What each kernel reached"), each))
    words = f"Its {len(rows)} rows in the table" if len(rows) > 1 else "Its row in the table"
    parts.append(tag("p", show_rows(words, "concept", concept)))
    return tag("section", tag("h2", concept), *parts, id=stem)


def _caption(concept: str, chart: Chart) -> Markup:
    """What the chart is, and where it is said how charts of its kind are read."""
    how = tag("a", "how to read it", href=f"#read-{chart.kind}")
    return joined(f"{concept}: {paragraphs.title_of(chart.kind)} (", how, ")")


def others_explained(charts: Sequence[Chart]) -> list[Markup]:
    """Charts of the whole file that have no section of their own, such as a warp's."""
    placed = (*ROOFLINES, "compare", "means")
    own = [chart for chart in charts if not chart.concept and chart.kind not in placed]
    if not own:
        return []
    figures = [figure_of(chart, paragraphs.how_to_read(chart.kind)) for chart in own]
    return [tag("section", tag("h2", "Explained"), *figures, id="explained")]
