"""One HTML page that holds everything about a result file: no network, no other file.

The page reads without its script, which sorts, filters and opens raw values. All text goes through
markup.py, which escapes it; a Content-Security-Policy forbids every request and every script but
the page's own.
"""

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from gpubench_reports import __version__
from gpubench_reports.charts import compare_chart, devices_chart, speedup_chart, style
from gpubench_reports.charts.render import chart_names, charts_of, draw_all
from gpubench_reports.charts.roofs_chart import pairs
from gpubench_reports.common.units import si
from gpubench_reports.comparisons.compare import Comparison, changed, compare
from gpubench_reports.comparisons.ranges import Range
from gpubench_reports.comparisons.speedups import Table, table
from gpubench_reports.pages import paragraphs
from gpubench_reports.pages.columns import columns_of
from gpubench_reports.pages.inline_svg import png_element, to_inline_svg
from gpubench_reports.pages.markup import Markup, data_block, joined, tag, text
from gpubench_reports.results.device_files import Machine, of_result
from gpubench_reports.results.headlines import with_headline
from gpubench_reports.results.reader import Context, ResultFile
from gpubench_reports.rules.claims import (
    FAILS,
    HOLDS,
    PARTLY,
    Finding,
    judge_claims,
    tested_and_not,
)
from gpubench_reports.rules.verdicts import (
    EXPECTED,
    HIGH,
    LOW,
    UNGRADED,
    Verdict,
    headline_text,
    health,
    judge,
    rules,
    wall_means,
    worst,
)

# A chart larger than this as SVG becomes a picture; all together must leave room for the table.
_LARGEST_SVG, _ALL_CHARTS = 350_000, 5_500_000  # bytes
_MOST_ROWS = 1500  # of the table, and with raw values
_MOST_RATIOS = 60  # rows of a comparison that are drawn and listed
_WORST = 3  # rows that the summary tells, each of another concept
_ROOFLINES = ("roofline", "levels", "devices", "roofs")  # kinds of charts
_CLAIM_LOOKS = {HOLDS: "good", PARTLY: "doubt", FAILS: "bad"}
_GRADE_LOOKS = {EXPECTED: "good", LOW: "bad", HIGH: "doubt", UNGRADED: "small"}


@dataclass(frozen=True)
class Chart:
    """A drawn chart: `kind` and `concept` (empty: of the whole file) say where it stands."""

    stem: str
    kind: str
    concept: str
    content: Markup


def build(
    result: ResultFile, others: Sequence[ResultFile] = (), recorded: Sequence[Range] = ()
) -> bytes:
    """The page about `result`, compared with `others`; `recorded` are ranges of its device.

    Raises ReportError when another file has no row in common with this one.
    """
    comparisons = [compare(other, result) for other in others]
    verdicts = judge(result, recorded)
    means = table([result, *others]) if len(others) > 1 else None
    charts = _draw(result, others, comparisons, means)
    listed = _listed_rows(result, verdicts)
    sections = [
        _summary(result, verdicts),
        *_rooflines(result, charts),
        *_comparisons(comparisons, charts),
        *_how_to_read(charts),
        *_concepts(result, verdicts, charts),
        *_others(charts),
        *_claims(result),
        _table_section(result, verdicts, listed),
    ]
    return _page(result, sections, _raw(listed, verdicts)).encode("utf-8")


# --- charts ---------------------------------------------------------------------------------------


def _draw(
    result: ResultFile,
    others: Sequence[ResultFile],
    comparisons: Sequence[Comparison],
    means: Table | None,
) -> list[Chart]:
    """All charts of the page, no more bytes together than it has room for."""
    builders = charts_of(result)
    if any(other.context.device != result.context.device for other in others):
        builders["devices"] = partial(_devices, [of_result(r) for r in (result, *others)])
    if means is not None:
        builders["means"] = partial(_means, means)
    for number, comparison in enumerate(comparisons, start=1):
        if not changed(comparison.rows).empty:
            builders[f"compare-{number}"] = partial(_forest, comparison)
    drawn = draw_all(result, builders, partial(_embed, result.context))
    names = chart_names(list(dict.fromkeys(result.rows["concept"])))
    found = [Chart(stem, *_belongs(stem, names), content) for stem, content in drawn.items()]
    room = _ALL_CHARTS
    kept = []
    for chart in found:
        room -= len(chart.content)
        note = tag(
            "p",
            f"{chart.stem} is left out to keep this page small: gpubench-report render draws it.",
            class_="small",
        )
        kept.append(chart if room >= 0 else replace(chart, content=note))
    return kept


def _embed(context: Context, stem: str, figure: Figure) -> Markup:
    """The figure as an element of the page."""
    words = f"Chart {stem}, {context.verb}. Its figures are in the table of rows."
    content = to_inline_svg(figure, stem, stem.replace("-", ": ", 1), words)
    return content if len(content) <= _LARGEST_SVG else png_element(figure, words)


def _devices(machines: Sequence[Machine], _: ResultFile) -> Figure | None:
    stated = {roof.name for machine in machines for roof in machine.roofs if roof.kind == "compute"}
    dtypes = [dtype for dtype in ("fp32", "tensor_bf16") if dtype in stated]
    return devices_chart.build(machines, dtypes) if dtypes else None


def _means(means: Table, result: ResultFile) -> Figure | None:
    return speedup_chart.build(means, result.context.modelled)


def _forest(comparison: Comparison, _: ResultFile) -> Figure | None:
    return compare_chart.build(_largest(comparison))[0]


def _largest(comparison: Comparison) -> Comparison:
    """The comparison with its rows that changed most, in the file's order."""
    kept = changed(comparison.rows).index[:_MOST_RATIOS]
    return replace(comparison, rows=comparison.rows.loc[sorted(kept)])


def _belongs(stem: str, names: Mapping[str, str]) -> tuple[str, str]:
    """(kind, concept) of a chart by its name: ("wire", "all_reduce") of concept-all_reduce-wire."""
    first, _, rest = stem.partition("-")
    owners = {name.removeprefix("concept-"): concept for concept, name in names.items()}
    for name in sorted(owners, key=len, reverse=True):
        if rest == name:
            return first, owners[name]
        if rest.startswith(f"{name}-"):
            return rest.removeprefix(f"{name}-"), owners[name]
    return first, ""


def _figure(chart: Chart, words: str | Markup) -> Markup:
    scroll = tag(
        "div",
        chart.content,
        class_="scroll",
        tabindex="0",
        role="group",
        aria_label=f"Chart {chart.stem}",
    )
    hint = tag("p", "A wide chart scrolls sideways →", class_="small swipe")
    return tag("figure", tag("figcaption", words), hint, scroll, id=f"chart-{chart.stem}")


# --- summary --------------------------------------------------------------------------------------


def _summary(result: ResultFile, verdicts: Mapping[str, Verdict]) -> Markup:
    return tag(
        "section",
        tag("h2", "Summary"),
        tag(
            "div",
            tag("div", _health_card(result), _counts_card(result, verdicts), _device_card(result)),
            tag("div", _worst_card(result, verdicts)),
            tag("div", _roofs_card(result)),
            class_="first",
        ),
        id="summary",
    )


def _card(title: str, *content: object, look: str = "") -> Markup:
    return tag("section", tag("h3", title), *content, class_=f"card {look}".rstrip())


def _device_card(result: ResultFile) -> Markup:
    context, rows = result.context, result.rows
    counts = rows["status"].value_counts()
    found = [f"{counts.get('ok', 0)} {context.verb}"]
    found += [f"{counts[s]} {s}" for s in ("skipped", "failed") if s in counts]
    commit = context.git_commit[:10] + (" (modified)" if context.git_dirty else "")
    entries = (
        ("Device", context.device_title),
        ("Known as", f"{context.device} ({context.device_kind})"),
        ("Rows", ", ".join(found)),
        ("Date", context.date[:16].replace("T", " ")),
        ("Suite, mode", ", ".join(filter(None, (context.suite, context.mode)))),
        ("Driver", context.driver_version),
        ("CUDA", context.cuda_version),
        ("Compiler", context.compiler),
        ("Commit", commit if context.git_commit else ""),
        ("Imported from", context.imported_from),
        ("File", result.path.name),
    )
    known = [(tag("dt", name), tag("dd", value)) for name, value in entries if value]
    return _card("Device and run", tag("dl", known), look="run-card")


def _health_card(result: ResultFile) -> Markup:
    found = health(result)
    word, look = {
        True: ("✓ healthy", "good"),
        False: ("✗ not well", "bad"),
        None: ("? not observed", "doubt"),
    }[found.well]
    return _card(
        "Is it healthy?",
        tag("p", word, class_=f"state {look}"),
        tag("ul", [tag("li", sentence) for sentence in found.sentences], class_="plain"),
    )


def _roofs_card(result: ResultFile) -> Markup:
    """Every roof once: as this run has it, as the device file has it, and how the two compare."""
    context = result.context
    lines = []
    by_row = False
    for pair in pairs(context.roofs):
        name, known = pair.name, pair.filed
        own_row = pair.found or pair.kind == "bandwidth"
        row, best = ("", 0.0) if own_row else _best_row(result, name)
        by_row = by_row or best > 0
        reached = pair.found.value if pair.found else best
        shown: object = si(reached, pair.unit) if reached else "no row"
        if best:
            shown = tag("span", f"{shown} *", title=f"by {row}")
        share = f"{reached / known.value * 100:.0f} %" if reached and known else ""
        said = [
            tag(
                "div",
                si(roof.value, pair.unit),
                " ",
                tag("small", style.ROOF_WORDS[roof.provenance]),
            )
            for roof in pair.all_filed
        ]
        lines.append(
            tag(
                "tr",
                tag("th", pair.title, scope="row", class_="text"),
                tag("td", shown),
                tag("td", said),
                tag("td", share),
            )
        )
    if not lines:
        return _card("Its roofs", tag("p", "The file states no roof."))
    titles = ("roof", context.verb, "device file", "reached")
    head = tag(
        "tr",
        [
            tag("th", title, scope="col", class_="text" if title == "roof" else None)
            for title in titles
        ],
    )
    table = tag("table", tag("thead", head), tag("tbody", lines))
    words = f"The most that each part of the device can do: as {context.verb} by the rows made for "
    words += "it, and as its device file has it from the source named."
    if by_row:
        words += " * no row is made for it: the best row that it bounds, which may stay below."
    return _card(
        "Its roofs",
        tag("div", table, class_="scroll", tabindex="0", role="group", aria_label="Roofs"),
        tag("p", words, class_="small"),
    )


def _best_row(result: ResultFile, roof: str) -> tuple[str, float]:
    """The fastest of the rows that a compute roof bounds, and its rate; ("", 0) if none is."""
    rows = result.ok[(result.ok["roof"] == roof) & (result.ok["flops_per_second"] > 0)]
    if rows.empty:
        return "", 0.0
    best = rows.loc[rows["flops_per_second"].idxmax()]
    return best["name"], float(best["flops_per_second"])


def _counts_card(result: ResultFile, verdicts: Mapping[str, Verdict]) -> Markup:
    failed = int((result.rows["status"] == "failed").sum())
    grades = pd.Series([v.grade for v in verdicts.values()], dtype=object).value_counts()
    walls = pd.Series([v.wall or "unknown" for v in verdicts.values()], dtype=object)
    counts = [
        tag("li", _show(f"{grades[grade]} {grade}", "grade", grade), class_=look)
        for grade, look in _GRADE_LOOKS.items()
        if grade in grades
    ]
    if failed:
        counts.insert(0, tag("li", _show(f"{failed} failed", "grade", "failed"), class_="bad"))
    bound = [
        tag(
            "li",
            _show(f"{count} {'' if wall == 'unknown' else 'by '}{wall}", "wall", wall),
            title=wall_means(wall) or None,
        )
        for wall, count in walls.value_counts().items()
    ]
    return _card(
        "All rows",
        tag("ul", counts, class_="plain"),
        _ungraded(verdicts),
        tag("p", "What binds them:", class_="small"),
        tag("ul", bound, class_="plain"),
        look="counts-card",
    )


def _ungraded(verdicts: Mapping[str, Verdict]) -> Markup | None:
    labels = [v.label or "nothing known" for v in verdicts.values() if v.grade == UNGRADED]
    if not labels:
        return None
    what = ", ".join(dict.fromkeys(labels))
    return tag(
        "p",
        "Not graded: no law at their size, and no roof to hold them against (bound by "
        f"{what}); a row's name in the table says which.",
        class_="small",
    )


def _worst_card(result: ResultFile, verdicts: Mapping[str, Verdict]) -> Markup:
    """What failed, then the rows farthest from what is expected, one a concept."""
    modelled = result.context.modelled
    title = "Where the model is farthest from what is expected" if modelled else "Worst rows"
    entries = [
        tag(
            "li",
            _name(row["name"]),
            tag("p", tag("span", "failed", class_="state bad"), f": {row['reason']}"),
        )
        for row in result.rows[result.rows["status"] == "failed"][:_WORST].to_dict("records")
    ]
    found = worst(verdicts.values(), _WORST - len(entries))
    if any(verdict.grade != EXPECTED for verdict in found):
        found = [verdict for verdict in found if verdict.grade != EXPECTED]
    entries += [_told(result, verdict) for verdict in found]
    if not entries:
        words = "No row was graded: the file has neither laws, nor predictions, nor roofs."
        return _card(title, tag("p", words))
    off = sum(verdict.grade not in (EXPECTED, UNGRADED) for verdict in verdicts.values())
    lead = f"{off} rows are not as expected" if off != 1 else "One row is not as expected"
    if not off:
        lead = "All graded rows are as expected; the nearest to low, one a concept, "
        lead += "by the share of their tolerance that they use:"
    else:
        lead += "; the farthest, one a concept, by multiples of their tolerance:"
    if modelled:
        lead = (
            "Nothing was measured, so none of this is a fault of the device: "
            "it is where the model lies farthest from a row's law, its roof, or a figure that "
            "others published. "
        ) + lead
    return _card(title, tag("p", lead), tag("ol", entries, class_="worst"))


def _told(result: ResultFile, verdict: Verdict) -> Markup:
    """One row of the worst: how far it is from what it should reach, why, and what to do."""
    row = with_headline(result.ok[result.ok["name"] == verdict.name]).iloc[0]
    parts = [
        tag(
            "p",
            _name(verdict.name),
            f" at {headline_text(row)}: ",
            tag("span", verdict.grade, class_=f"state {_GRADE_LOOKS[verdict.grade]}"),
            f", {verdict.sentence}; {verdict.expectation} ({_tolerance_used(verdict)}).",
        ),
    ]
    if verdict.grade == EXPECTED:
        if verdict.means:
            parts.append(tag("p", tag("strong", "What binds it: "), f"{verdict.means}."))
        return tag("li", *parts)
    parts.append(tag("p", tag("strong", "Why: "), f"{verdict.why}."))
    if verdict.next_steps:
        parts.append(tag("p", tag("strong", "Next: "), f"{'; '.join(verdict.next_steps)}."))
    if verdict.no_help:
        parts.append(tag("p", tag("strong", "Would not help: "), f"{verdict.no_help}."))
    return tag("li", *parts)


def _tolerance_used(verdict: Verdict) -> str:
    """How far from 1 a row is, by the distance allowed: what the worst are sorted by."""
    used = verdict.severity
    return f"{used * 100:.0f} % of its tolerance" if used < 1 else f"{used:.1f} times its tolerance"


def _name(name: str) -> Markup:
    """A row's name that may be broken behind a slash."""
    parts = Markup("/<wbr>".join(text(part) for part in name.split("/")))
    return tag("span", parts, class_="row-name")


def _show(words: str, key: str, value: str) -> Markup:
    """A button that shows the rows of that kind."""
    return tag("button", words, class_="link", type="button", data_show=key, data_value=value)


# --- the charts' sections -------------------------------------------------------------------------


def _rooflines(result: ResultFile, charts: Sequence[Chart]) -> list[Markup]:
    whole = [chart for chart in charts if chart.kind in _ROOFLINES]
    parts = [_figure(chart, paragraphs.how_to_read(chart.kind)) for chart in whole]
    if not any(chart.kind == "roofline" for chart in whole):
        parts.insert(
            0, tag("p", "No roofline: no row has both an arithmetic intensity and FLOP/s.")
        )
    return [tag("section", tag("h2", "Rooflines"), *parts, id="rooflines")]


def _how_to_read(charts: Sequence[Chart]) -> list[Markup]:
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


def _others(charts: Sequence[Chart]) -> list[Markup]:
    """Charts of the whole file that have no section of their own, such as a warp's."""
    placed = (*_ROOFLINES, "compare", "means")
    own = [chart for chart in charts if not chart.concept and chart.kind not in placed]
    if not own:
        return []
    figures = [_figure(chart, paragraphs.how_to_read(chart.kind)) for chart in own]
    return [tag("section", tag("h2", "Explained"), *figures, id="explained")]


def _concepts(
    result: ResultFile, verdicts: Mapping[str, Verdict], charts: Sequence[Chart]
) -> list[Markup]:
    found = []
    for concept, stem in chart_names(list(dict.fromkeys(result.rows["concept"]))).items():
        rows = result.rows[result.rows["concept"] == concept]
        own = [chart for chart in charts if chart.concept == concept]
        kernels, rest = paragraphs.sentences_of(rows, verdicts)
        parts = [tag("p", " ".join([*kernels, *rest]))]
        if len(kernels) > 1:
            each = tag("ul", [tag("li", sentence) for sentence in kernels], class_="plain")
            parts = [each, tag("p", " ".join(rest))]
        parts += [_figure(chart, _caption(concept, chart)) for chart in own]
        if not own:
            why = "no row has a time" if (rows["status"] != "ok").all() else "it has too many rows"
            parts.append(tag("p", f"No chart: {why}.", class_="small"))
        words = f"Its {len(rows)} rows in the table" if len(rows) > 1 else "Its row in the table"
        parts.append(tag("p", _show(words, "concept", concept)))
        found.append(tag("section", tag("h2", concept), *parts, id=stem))
    return found


def _caption(concept: str, chart: Chart) -> Markup:
    """What the chart is, and where it is said how charts of its kind are read."""
    how = tag("a", "how to read it", href=f"#read-{chart.kind}")
    return joined(f"{concept}: {paragraphs.title_of(chart.kind)} (", how, ")")


def _comparisons(comparisons: Sequence[Comparison], charts: Sequence[Chart]) -> list[Markup]:
    if not comparisons:
        return []
    parts = [
        _figure(chart, paragraphs.how_to_read("means")) for chart in charts if chart.kind == "means"
    ]
    for number, comparison in enumerate(comparisons, start=1):
        own = [chart for chart in charts if chart.stem == f"compare-{number}"]
        rows, off = len(comparison.rows), len(changed(comparison.rows))
        drawn = f"{off}" if off <= _MOST_RATIOS else f"The {_MOST_RATIOS} largest of {off}"
        words = (
            f"B is this file, A is {comparison.a.path.name}. {paragraphs.how_to_read('compare')} "
            f"{drawn} changes are drawn; of {rows} rows in both, {rows - off} show none."
        )
        parts.append(tag("h3", f"Against {comparison.a.path.name}"))
        parts += [tag("p", warning, class_="banner") for warning in comparison.warnings]
        parts += [_figure(chart, words) for chart in own]
        if not off:
            parts.append(tag("p", f"None of the {rows} rows that are in both shows a difference."))
        for letter, names in (("the other file", comparison.only_a), ("this", comparison.only_b)):
            if names:
                parts.append(tag("p", f"{len(names)} rows only {letter} has.", class_="small"))
    return [tag("section", tag("h2", "Comparison"), *parts, id="comparison")]


def _claims(result: ResultFile) -> list[Markup]:
    """What is often said of GPUs and how this file answers; nothing where it answers none of it."""
    tested, others = tested_and_not(judge_claims(result))
    if not tested:
        return []
    lines = []
    for finding in tested:
        look = _CLAIM_LOOKS.get(finding.word)
        claim = f"{finding.claim.number}. {finding.claim.says}"
        figures = [
            tag(
                "div",
                tag("strong", one.text),
                f" {one.where}",
                f" ({one.beside})" if one.beside else None,
            )
            for one in finding.tried
        ]
        ranges = dict.fromkeys(one.case.claimed for one in finding.tried if one.case.judges)
        verdict = tag("span", finding.verdict, class_=f"state {look}" if look else "small")
        cells = (
            tag("td", tag("div", claim), tag("small", finding.notes)),
            tag("td", figures, class_="text"),
            tag("td", [tag("div", words) for words in ranges], class_="text"),
            tag("td", verdict, class_="text"),
        )
        lines.append(tag("tr", *cells))
    titles = ("claim", "our figure", "claimed", "verdict")
    head = tag("tr", [tag("th", title, scope="col", class_="text") for title in titles])
    table = tag("table", tag("thead", head), tag("tbody", lines))
    words = "What is often said of GPUs, the figure that the rows of this file give, and the range "
    words += "in which the claim holds."
    return [
        tag(
            "section",
            tag("h2", "Claims"),
            tag("p", words),
            tag("div", table, class_="scroll", tabindex="0", role="group", aria_label="Claims"),
            *_untested_claims(others),
            id="claims",
        )
    ]


def _untested_claims(findings: list[Finding]) -> list[Markup]:
    """A line for each of them."""
    if not findings:
        return []
    lines = [
        tag("li", f"{one.claim.number}. {one.claim.says}: {one.why_untested}") for one in findings
    ]
    return [tag("p", "Not tested:"), tag("ul", lines, class_="plain small")]


# --- the table ------------------------------------------------------------------------------------


def _listed_rows(result: ResultFile, verdicts: Mapping[str, Verdict]) -> pd.DataFrame:
    """The rows that the table has room for: of too many, those that are not as expected first."""
    rows = result.rows
    if len(rows) <= _MOST_ROWS:
        return rows
    order = {LOW: 1, HIGH: 1, EXPECTED: 3, UNGRADED: 3}
    rank = [
        0 if status == "failed" else order[verdicts[name].grade] if name in verdicts else 2
        for name, status in zip(rows["name"], rows["status"], strict=True)
    ]
    kept = pd.Series(rank, index=rows.index).sort_values(kind="stable").index[:_MOST_ROWS]
    return rows.loc[sorted(kept)]


def _table_section(
    result: ResultFile, verdicts: Mapping[str, Verdict], rows: pd.DataFrame
) -> Markup:
    columns = columns_of(rows, verdicts, result.context)
    head = [
        tag(
            "th",
            tag("button", column.title, type="button"),
            scope="col",
            class_="text" if column.is_text else None,
        )
        for column in columns
    ]
    lines = []
    cells = [zip(column.texts, column.numbers, strict=True) for column in columns]
    for index, (record, line) in enumerate(
        zip(rows.to_dict("records"), zip(*cells, strict=True), strict=True)
    ):
        verdict = verdicts.get(record["name"])
        grade = verdict.grade if verdict else record["status"]
        wall = (verdict.wall or "unknown") if verdict else ""
        written = []
        for column, (shown, number) in zip(columns, line, strict=True):
            if column.key == "name":
                content: object = tag(
                    "button", _name(shown), class_="link", type="button", data_row=index
                )
            else:
                content = shown
            value = None if math.isnan(number) else f"{number:.6g}"
            look = "text note" if column.key == "note" else "text" if column.is_text else None
            written.append(tag("td", content, data_v=value, class_=look))
        lines.append(
            tag("tr", *written, data_concept=record["concept"], data_wall=wall, data_grade=grade)
        )
    table = tag(
        "table",
        tag("caption", "A column's head sorts; a row's name opens its raw values and verdict."),
        tag("thead", tag("tr", head)),
        tag("tbody", lines),
    )
    legend = (
        "Time: the median. Law ratio: over what the concept's law says, 1 where theory holds. Of "
        "roof: the part reached of the roof that binds. A roof of this run is the best of the rows "
        "made for it, starts and ends included; a row that runs longer, or only reads, may pass it "
        f"by a little, and is as expected up to {rules()['limits']['roof_high'] * 100:.0f} %. "
        "Bound: what limits the row, and which of "
        "the three walls that is. Prefixes are powers of 1000."
    )
    more = len(result.rows) - len(rows)
    note = f"The file has {more} more rows than this table: gpubench-report csv lists them all."
    return tag(
        "section",
        tag("h2", "Rows", tabindex="-1", id="rows"),
        _filters(result, verdicts),
        tag("p", legend, class_="small"),
        tag("p", note, class_="banner") if more else None,
        tag(
            "div",
            table,
            class_="table",
            id="rows-table",
            tabindex="0",
            role="group",
            aria_label="Table of rows",
        ),
    )


def _filters(result: ResultFile, verdicts: Mapping[str, Verdict]) -> Markup:
    concepts = list(dict.fromkeys(result.rows["concept"]))
    walls = list(dict.fromkeys(v.wall or "unknown" for v in verdicts.values()))
    states = [s for s in ("failed", "skipped") if (result.rows["status"] == s).any()]
    grades = [*states, *dict.fromkeys(v.grade for v in verdicts.values())]

    def choice(title: str, key: str, values: Sequence[str]) -> Markup:
        options = [tag("option", "all", value="")]
        options += [tag("option", value, value=value) for value in values]
        return tag("label", title, tag("select", options, data_filter=key))

    words = tag(
        "input",
        type="search",
        id="words",
        autocomplete="off",
        placeholder="words, all of them in the row",
    )
    return tag(
        "div",
        tag("label", "Search", words),
        choice("Concept", "concept", concepts),
        choice("Wall", "wall", walls),
        choice("Grade", "grade", grades),
        tag("button", "Clear", type="button", id="clear"),
        tag("span", id="count", role="status", aria_live="polite"),
        class_="filters",
    )


def _raw(rows: pd.DataFrame, verdicts: Mapping[str, Verdict]) -> Markup:
    entries = []
    for record in rows.to_dict("records"):
        verdict = verdicts.get(record["name"])
        words = _words(verdict) if verdict else f"{record['status']}: {record['reason']}"
        entries.append({"raw": record["raw"], "words": words})
    return data_block("raw", entries)


def _words(verdict: Verdict) -> str:
    expected = f" ({verdict.expectation})" if verdict.expectation else ""
    parts = [f"{verdict.grade}: {verdict.sentence}{expected}."]
    if verdict.means:
        parts.append(f"That is: {verdict.means}.")
    for cause in verdict.causes:
        seen = f"seen ({cause.evidence})" if cause.seen else "usual"
        parts.append(f"{cause.says} [{seen}]: {cause.change}.")
    if verdict.change:
        parts.append(f"To be faster: {verdict.change}. Would not help: {verdict.no_help}.")
    return " ".join(parts)


# --- the page -------------------------------------------------------------------------------------


def _page(result: ResultFile, sections: Sequence[Markup], raw: Markup) -> str:
    context = result.context
    script = _asset("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    concepts = chart_names(list(dict.fromkeys(result.rows["concept"])))
    links = {
        "summary": "Summary",
        "rooflines": "Rooflines",
        "comparison": "Comparison",
        "how": "How to read",
        "explained": "Explained",
        "claims": "Claims",
        "rows": "Rows",
    }
    entries = [
        tag("li", tag("a", title, href=f"#{place}"))
        for place, title in links.items()
        if any(f'id="{place}"' in section for section in sections)
    ]
    menu = [tag("li", tag("a", name, href=f"#{stem}")) for name, stem in concepts.items()]
    entries.insert(
        -1,
        tag(
            "li",
            tag(
                "details", tag("summary", f"Concepts ({len(menu)})"), tag("ul", menu), id="concepts"
            ),
        ),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content=f"gpubench-report {__version__}"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{context.device_title}: gpubench"),
        tag("style", Markup(_asset("report.css"))),
    )
    run = style.run_line(context).removeprefix(f"{context.device_title} · ")
    banner = None
    if context.modelled:
        banner = tag(
            "p",
            f"{style.WATERMARK}: every figure here is a prediction. ",
            tag("span", paragraphs.caution(context)),
            class_="banner",
        )
    body = tag(
        "body",
        tag("a", "Skip to the summary", href="#summary", class_="skip"),
        tag(
            "header",
            tag("h1", context.device_title),
            tag("p", f"gpubench report · {run}", class_="run"),
            banner,
            class_="page",
        ),
        tag(
            "nav",
            tag(
                "div",
                tag("ul", entries),
                tag("button", "Theme", type="button", id="theme", hidden=True),
            ),
            aria_label="Sections",
        ),
        tag("main", *sections),
        tag("footer", _footer()),
        _dialog(),
        raw,
        tag("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _footer() -> str:
    limits = rules()["limits"]
    return (
        "Grades: against what was recorded or published for the row on this device (within "
        f"{limits['recorded'] * 100:.0f} %), else against its law (within the row's tolerance), "
        f"else the model's prediction (within {limits['prediction'] * 100:.0f} %), else its roof "
        f"(from {limits['roof_low'] * 100:.0f} to {limits['roof_high'] * 100:.0f} %). Prefixes "
        f"are powers of 1000. gpubench-report {__version__}."
    )


def _dialog() -> Markup:
    return tag(
        "dialog",
        tag("button", "Close", type="button", id="details-close"),
        tag("h2", id="details-name", class_="row-name"),
        tag("p", id="details-verdict"),
        tag("pre", id="details-raw", tabindex="0", aria_label="Raw values"),
        id="details",
        aria_labelledby="details-name",
    )


def _asset(name: str) -> str:
    return files("gpubench_reports.pages").joinpath("assets", name).read_text(encoding="utf-8")


def default_path(result: Path) -> Path:
    """Where the page of a result file goes unless told otherwise: NAME.html beside NAME.json."""
    return result.with_suffix(".html")
